"""How hard the compiler works on kernels of the tests: less than for users, where KINEMA_TEST_LEVEL=1 asks for it.

More than half the time of all tests is Clang's. With that variable kernels are compiled at that level of optimisation,
and functions are laid into others only where that costs nothing, which halves it. No number depends on that: Clang is
run without contraction and may not reassociate, so all of it computes the same bits (tests/convex/test_levels.py
compares them). What is lost is speed. So

    @pytest.mark.optimised      compiles as users do: tests that run long, or that are about what the compiler made

and so does everything where the variable is not set, everything for CUDA, and all of `pytest -m gpu`. Kernels have
names of their own for every choice: no user's program finds those of a test.

Two things that a compiler may do with a value nobody has computed are only right as long as it sees through every call:

    x, y = a[i], b[i]       in both branches of an `if`: Warp joins the two names afterwards by reading both addresses,
                            though one was never computed, and nobody uses what it read;
    ZERO                    a constant first named inside branches: Warp joins it afterwards too, as if it were assigned
                            there, so that a path through neither branch reads a variable that was never set.

So here such addresses begin as that of a place that holds zeros, and constants are written out wherever they are named.
`make test` compiles as users do: duals (tests/gradients) crash at that level.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "KINEMA_TEST_LEVEL"
FLAGS = "-march=native -mllvm=-inline-threshold=0 -mllvm=-inline-cold-callsite-threshold=0"
INCLUDE = '#include "builtin.h"'
NOWHERE = "alignas(64) static char kn_nowhere[1 << 16];"
ADDRESS = re.compile(r"^( +[\w:<>, ]+\* )(var_\w+);$", re.MULTILINE)
EDITED = "-DKN_NOWHERE"  # in the flags, which name a kernel: its text was edited

AS_USERS_DO: tuple[int | None, str | None] | None = None
"""Level and flags of users; None: that is how everything is compiled."""


def begin() -> None:
    """Compile for the CPU at the level of tests from now on, where there is one."""
    global AS_USERS_DO
    import warp as wp
    from warp._src import build, codegen

    if not os.environ.get(VARIABLE):
        return
    AS_USERS_DO = wp.config.optimization_level, wp.config.cpu_compiler_flags
    wp.config.optimization_level, wp.config.cpu_compiler_flags = int(os.environ[VARIABLE]), f"{FLAGS} {EDITED}"
    compile_cpu, compile_cuda, name = build.build_cpu, build.build_cuda, codegen.Adjoint.emit_Name

    def build_cpu(target, source, *args, **options):
        if EDITED not in options.get("extra_flags", ""):
            return compile_cpu(target, source, *args, **options)
        edited = Path(f"{target}.cpp")  # the text itself stays: parts for eight worlds are made from it
        edited.write_text(addresses_begin_nowhere(Path(source).read_text(encoding="utf-8")), encoding="utf-8")
        try:
            return compile_cpu(target, str(edited), *args, **options)
        finally:
            edited.unlink()

    def build_cuda(*args, **options):
        return compile_cuda(*args, **options | {"optimization_level": 3})

    def emit_name(adj, node):
        assigned = getattr(node, "id", None) in adj.symbols
        found = name(adj, node)
        if not assigned and EDITED in (wp.config.cpu_compiler_flags or ""):
            adj.symbols.pop(getattr(node, "id", None), None)
        return found

    build.build_cpu, build.build_cuda, codegen.Adjoint.emit_Name = build_cpu, build_cuda, emit_name


def addresses_begin_nowhere(text: str) -> str:
    """C++ of Warp in which an address that was never computed is that of zeros."""
    if INCLUDE not in text or NOWHERE in text:
        return text
    text = text.replace(INCLUDE, f"{INCLUDE}\n{NOWHERE}", 1)
    return ADDRESS.sub(r"\1\2 = (decltype(\2))kn_nowhere;", text)


@contextmanager
def optimised() -> Iterator[None]:
    """Compile as users do, whatever is not compiled yet."""
    import warp as wp

    if AS_USERS_DO is None:
        yield
        return
    before = wp.config.optimization_level, wp.config.cpu_compiler_flags
    wp.config.optimization_level, wp.config.cpu_compiler_flags = AS_USERS_DO
    try:
        yield
    finally:
        wp.config.optimization_level, wp.config.cpu_compiler_flags = before
