"""A layer imports only from layers below it.

The order is that of the house: data moves one way, and a file can be understood from those below it. Imports are read
from the syntax tree, so nothing is imported by this test, and packages that do not exist yet cost nothing. Imports for
type checkers only are free. Plugins are loaded while a program runs, so anyone may import them inside a function.
"""

import ast
import pathlib

import pytest

SOURCE = pathlib.Path(__file__).parents[1] / "src" / "kinema"

# Each row may import from the rows above it and, inside one package, from itself. Two packages of one row do not mix.
ORDER = [
    {"errors", "mujoco_enums", "collector", "unread"},
    {"devices", "building", "dialect"},
    {"arrays", "headers"},
    {"closed"},
    {"archive"},
    {"draws"},
    {"resources", "mjcf.lenient", "mjcf.source", "mjcf.schema"},
    {"mjcf"},
    {"model"},
    {"engine", "actuators"},
    {"geometry", "math"},
    {"compile"},
    {"collide", "usd"},
    {"convex"},
    {"adapter"},
    {"soft"},
    {"bridge"},
    {"functions"},
    {"gradients"},
    {"solvers", "plugins", "sensors"},
    {"recording"},
    {"simulation"},
    {"render"},
    {"physics"},
    {"viewer", "envs", "cluster", "control", "sysid"},
    {"cli"},
    {"__main__"},
]
LAZY = {"plugins"}

# Methods that lead up, inside a function only: what a user finds on a lower object and a higher layer does.
DOORS = {
    ("model", "compile"): "ModelBuilder.add_mjcf",
    ("model", "usd"): "ModelBuilder.add_usd, Model.save_usd",
    ("model", "actuators"): "ModelBuilder.add_actuator",
    ("model", "adapter"): "Model.collide",
    ("model", "simulation"): "Model.save_mjcf",
    ("mjcf", "physics"): "mjcf.Physics",
    ("mjcf", "compile"): "mjcf.from_urdf",
    ("simulation", "render"): "Simulation.render",
    ("simulation", "viewer"): "Simulation.view",
    ("sensors", "render"): "sensors.SensorTiledCamera",
}

RANK = {name: rank for rank, row in enumerate(ORDER) for name in row}


def layer_of(module: str) -> str | None:
    """The layer a module such as ``kinema.mjcf.source`` belongs to; None for the package itself."""
    parts = module.split(".")[1:]
    for length in (2, 1):
        name = ".".join(parts[:length])
        if name in RANK:
            return name
    return ".".join(parts[:1]) or None


def imports_of(tree: ast.AST, package: str) -> list[tuple[str, int, bool]]:
    """What a file of a package imports from kinema: (module, line, whether it happens inside a function)."""
    found = []

    def visit(node: ast.AST, inside: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            if isinstance(child, ast.Import):
                found.extend((alias.name, child.lineno, inside) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                base = _absolute(child, package)
                found.extend((f"{base}.{alias.name}", child.lineno, inside) for alias in child.names)
            visit(child, inside or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))

    visit(tree, False)
    return [entry for entry in found if entry[0].split(".")[0] == "kinema"]


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    above = parts[: len(parts) - node.level + 1]
    return ".".join([*above, node.module] if node.module else above)


def allowed(importer: str, imported: str, inside_function: bool) -> bool:
    """Whether a layer may import another."""
    if importer.split(".")[0] == imported.split(".")[0]:
        return importer not in ("mjcf.lenient", "mjcf.source", "mjcf.schema") or RANK[imported] <= RANK[importer]
    if inside_function and (imported in LAZY or (importer, imported) in DOORS):
        return True
    return RANK[imported] < RANK[importer]


def modules() -> list[tuple[str, pathlib.Path]]:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = ["kinema", *path.relative_to(SOURCE).with_suffix("").parts]
        found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


@pytest.mark.parametrize(("module", "path"), modules(), ids=[name for name, _ in modules()])
def test_imports_go_down(module, path):
    layer = layer_of(module)
    if layer is None:
        return  # the table of contents may name everything
    assert layer in RANK, f"{module} belongs to no layer: give it a row in ORDER"
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for imported, line, inside in imports_of(ast.parse(path.read_text(encoding="utf-8")), package):
        target = layer_of(imported)
        if target in (None, "__version__"):
            continue
        assert target in RANK, f"{path}:{line}: {imported} belongs to no layer"
        assert allowed(layer, target, inside), f"{path}:{line}: {layer} must not import {imported}"


@pytest.mark.parametrize(
    ("text", "module", "wrong"),
    [
        ("import kinema.mjcf", "kinema.model.builder", False),
        ("import kinema.convex", "kinema.model.builder", True),
        ("from kinema import convex", "kinema.model.builder", True),
        ("from kinema.collide.gjk import distance", "kinema.compile.geom", True),
        ("from ..convex import step", "kinema.model.builder", True),
        ("def f():\n    from kinema.plugins import pid", "kinema.convex.step", False),
        ("from kinema.plugins import pid", "kinema.convex.step", True),
        ("def f():\n    from kinema.simulation import run", "kinema.convex.step", True),
        ("if TYPE_CHECKING:\n    import kinema.convex", "kinema.model.builder", False),
        ("from kinema.mjcf.write import to_source", "kinema.mjcf.source", True),
        ("from kinema.mjcf.source import Node", "kinema.mjcf.write", False),
        ("from kinema.math import quat", "kinema.geometry.mesh", True),
        ("import numpy", "kinema.errors", False),
        ("def f():\n    from kinema.compile import add_mjcf", "kinema.model.builder", False),
        ("from kinema.compile import add_mjcf", "kinema.model.builder", True),
    ],
)
def test_the_rule_itself(text, module, wrong):
    layer = layer_of(module)
    targets = [(layer_of(name), inside) for name, _, inside in imports_of(ast.parse(text), module.rpartition(".")[0])]
    assert wrong != all(allowed(layer, target, inside) for target, inside in targets)
