"""How hard the compiler works on kernels of the tests: less than for users, where KINEMA_TEST_LEVEL asks for it.

More than half the time of all tests is Clang's. With KINEMA_TEST_LEVEL=0 kernels for the CPU are compiled without
optimisation, in about a quarter of the time (level 1: half of it). No number depends on that: Clang is run without
contraction and may not reassociate, and kernels of this package read no value that nobody has set (kinema/dialect.py),
so all of it computes the same bits (tests/convex/test_levels.py compares them). What is lost is speed. So

    @pytest.mark.optimised      compiles as users do: tests that run long, or that are about what the compiler made

and so does everything where the variable is not set, everything for CUDA, programs that tests start, and all of
`pytest -m gpu`. Kernels have names of their own for every choice: no user's program finds those of a test.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE = "KINEMA_TEST_LEVEL"
FLAGS = "-march=native -mllvm=-inline-threshold=0 -mllvm=-inline-cold-callsite-threshold=0"  # at level 1

AS_USERS_DO: tuple[int | None, str | None] | None = None
"""Level and flags of users; None: that is how everything is compiled."""


def begin() -> None:
    """Compile for the CPU at the level of tests from now on, where there is one."""
    global AS_USERS_DO
    import warp as wp
    from warp._src import build

    if not os.environ.get(VARIABLE):
        return
    AS_USERS_DO = wp.config.optimization_level, wp.config.cpu_compiler_flags
    wp.config.optimization_level, wp.config.cpu_compiler_flags = int(os.environ[VARIABLE]), FLAGS
    compile_cuda = build.build_cuda

    def build_cuda(*args, **options):
        return compile_cuda(*args, **options | {"optimization_level": 3})

    build.build_cuda = build_cuda


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
