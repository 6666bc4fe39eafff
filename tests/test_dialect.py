"""How Warp writes our kernels: constants are values, several names copy, indices count from the beginning."""

import ast
import functools
import os
import pathlib
import subprocess
import sys
import types

import numpy as np
import pytest
import warp as wp
from warp._src import context

from kinema import dialect

SOURCE = pathlib.Path(dialect.__file__).parent
LIMIT = wp.constant(3.0)
OTHER = wp.constant(5.0)

dialect.mend()


def constants(x: wp.array[float], out: wp.array[float]):
    i = wp.tid()
    if x[i] > 0.0:
        if x[i] > 1.0:
            out[i] = LIMIT
        else:
            out[i] = LIMIT + 1.0
    if x[i] < 0.0:
        out[i] = LIMIT + OTHER


def elements(x: wp.array[float], out: wp.array[float]):
    i = wp.tid()
    if x[i] > 0.0:
        a, b = x[0], x[1]
    else:
        a, b = x[1], x[0]
    x[0] = 7.0
    for _ in range(int(x[2])):
        a, b = b, a
    out[i] = 10.0 * a + b


def as_ours(function):
    """The function, as one of this package."""
    twin = types.FunctionType(function.__code__, function.__globals__, function.__name__)
    twin.__annotations__, twin.__module__ = function.__annotations__, "kinema.tested"
    return twin


def ours(function):
    """The function as a kernel of this package."""
    return wp.Kernel(as_ours(function), module=wp.Module(f"tested_{function.__name__}", None))


def chosen(x: wp.array[float]) -> float:
    if x[0] > 0.0:
        a, b = x[0], x[1]
    else:
        a, b = x[2], x[0]
    return 10.0 * a + b


def text(kernel) -> str:
    options = kernel.module.resolve_options(wp.config, 1) | {"output_arch": None}
    return context.ModuleBuilder(kernel.module, options).codegen("cpu")


def test_a_constant_is_one_variable_with_a_value():
    assert "wp::where(" not in text(ours(constants))
    x, out = wp.array([2.0, 0.5, -1.0], dtype=float, device="cpu"), wp.zeros(3, dtype=float, device="cpu")
    wp.launch(ours(constants), 3, [x, out], device="cpu")
    np.testing.assert_array_equal(out.numpy(), [3.0, 4.0, 8.0])


@pytest.mark.parametrize("first", [2.0, -2.0])
def test_several_names_take_values(first):
    """What is written to the array afterwards does not reach them, and they may be exchanged."""
    x, out = wp.array([first, 4.0, 2.0], dtype=float, device="cpu"), wp.zeros(1, dtype=float, device="cpu")
    wp.launch(ours(elements), 1, [x, out], device="cpu")
    a, b = (first, 4.0) if first > 0 else (4.0, first)
    assert out.numpy()[0] == 10.0 * a + b


def test_functions_of_ours_in_kernels_of_others():
    """A kernel of a user, or of a test, that calls a function of this package: no address is read that may be unset."""
    function = wp.Function(as_ours(chosen), "chosen", "", module=wp.Module("tested_chosen", None))

    def theirs(x: wp.array[float], out: wp.array[float]):
        out[0] = function(x)

    written = text(wp.Kernel(theirs, module=wp.Module("tested_theirs", None)))
    body = written[written.index("static wp::float32 chosen_") :].partition("\n}\n")[0]
    before, joined = body[: body.index("wp::where(")], body[body.index("wp::where(") :]
    assert joined.count("wp::where(") == 2 and "wp::load(" not in before[before.rindex("}") :] + joined


def test_hash_tells_the_rules():
    """A kernel of others keeps its hash; one of ours does not find what was compiled without the rules."""
    theirs = wp.Kernel(constants, module=wp.Module("theirs", None))
    assert dialect._is_ours(ours(constants).func) and not dialect._is_ours(theirs.func)
    hasher = context.ModuleHasher([theirs], {})
    assert hasher.hash_adjoint(theirs.adj) == dialect._their_hash(hasher, theirs.adj)
    mine = ours(constants)
    assert hasher.hash_adjoint(mine.adj) != dialect._their_hash(hasher, mine.adj)


@functools.cache
def imported(path: pathlib.Path) -> frozenset[pathlib.Path]:
    """Files of this package that a file imports when it is imported, packages around it included."""
    names = set()
    package = path.relative_to(SOURCE.parent).with_suffix("").parts[:-1]
    names |= {package[: k + 1] for k in range(len(package))}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else ()
            module = (*base, *(node.module or "").split(".")) if node.module else base
            names |= {module, *((*module, alias.name) for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {tuple(alias.name.split(".")) for alias in node.names}
    found = {SOURCE.parent.joinpath(*name).with_suffix(".py") for name in names if name}
    found |= {SOURCE.parent.joinpath(*name, "__init__.py") for name in names if name}
    return frozenset(file for file in found if file.is_file() and SOURCE in file.parents)


def test_every_kernel_is_written_so():
    """Whoever declares a kernel imports the rules, directly or through others."""
    missing = []
    for path in sorted(SOURCE.rglob("*.py")):
        if "@wp.kernel" not in path.read_text(encoding="utf-8"):
            continue
        reached, open_ = {path}, [path]
        while open_:
            new = imported(open_.pop()) - reached
            reached |= new
            open_ += new
        if not any("\nmend()\n" in file.read_text(encoding="utf-8") for file in reached):
            missing.append(str(path.relative_to(SOURCE)))
    assert not missing


def beyond(x: wp.array[float], out: wp.array[float]):
    out[0] = x[-1]


def test_others_may_count_from_the_end():
    """A kernel of others is written as ever; beside a function of ours it keeps Warp's indices."""
    x, out = wp.array([1.0, 2.0], dtype=float, device="cpu"), wp.zeros(1, dtype=float, device="cpu")
    theirs = wp.Kernel(beyond, module=wp.Module("beyond", None))
    assert "_of_any" not in text(theirs)
    wp.launch(theirs, 1, [x, out], device="cpu")
    assert out.numpy()[0] == 2.0

    helper = wp.Function(as_ours(doubled), "doubled", "", module=wp.Module("doubled", None))

    def mixed(x: wp.array[float], out: wp.array[float]):
        out[0] = helper(x[-1])

    both = wp.Kernel(mixed, module=wp.Module("mixed", None))
    assert "wp::address_of_any(" in text(both)
    wp.launch(both, 1, [x, out], device="cpu")
    assert out.numpy()[0] == 4.0


def doubled(x: float) -> float:
    return 2.0 * x


CHECKED = """
import warp as wp
from kinema.dialect import mend
from tests.test_dialect import beyond, ours
mend()
x, out = wp.ones(2, dtype=float, device="cpu"), wp.zeros(1, dtype=float, device="cpu")
wp.launch(ours(beyond), 1, [x, out], device="cpu")
"""


def test_indices_are_checked_when_asked(tmp_path):
    root = pathlib.Path(__file__).parents[1]
    told = subprocess.run(
        [sys.executable, "-c", CHECKED], cwd=root, capture_output=True, text=True,
        env=os.environ | {"KINEMA_CHECK_INDICES": "1", "PYTHONPATH": f"{SOURCE.parent}{os.pathsep}{root}"},
    )  # fmt: skip
    assert "beyond, line" in told.stdout and "index -1 of axis 0, which has 2" in told.stdout, told.stderr
