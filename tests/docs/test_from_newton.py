"""The page for people who come from Newton says of every public name of its what stands for it, or why nothing."""

import importlib
from pathlib import Path

import pytest

newton = pytest.importorskip("newton")
PAGE = (Path(__file__).parents[2] / "docs" / "from-newton.md").read_text(encoding="utf-8")
ROWS = [line.split("|")[1:3] for line in PAGE.splitlines() if line.startswith("| `")]


def _methods(owner: type) -> list[str]:
    """Public methods and nested classes; not the columns that were removed, which raise."""
    found = []
    for name in dir(owner):
        try:
            if not name.startswith("_") and callable(getattr(owner, name)):
                found.append(name)
        except AttributeError:
            continue
    return found


MODULES = (
    "solvers", "sensors", "geometry", "ik", "math", "utils", "usd", "viewer", "selection", "actuators", "controllers",
)  # fmt: skip
CLASSES = ("State", "Control", "Contacts", "CollisionPipeline", "Mesh", "TetMesh", "Heightfield")


def _of_module(name: str) -> list[str]:
    module = importlib.import_module(f"newton.{name}")
    return [f"newton.{name}.{public}" for public in module.__all__]


def _members(name: str, owner: type) -> list[str]:
    return [f"{name}.{member}" for member in dir(owner) if not member.startswith("_")]


NAMES = [
    *(f"newton.{name}" for name in newton.__all__ if name not in ("solvers", "sensors", "__version__")),
    *(name for module in MODULES for name in _of_module(module)),
    *(f"ModelBuilder.{name}" for name in _methods(newton.ModelBuilder)),
    *(f"Model.{name}" for name in _methods(newton.Model)),
    *(member for name in CLASSES for member in _members(name, getattr(newton, name))),
    *_members("SolverBase", newton.solvers.SolverBase),
]


def test_every_name_is_in_a_table():
    told = {name for first, second in ROWS if second.strip() for name in first.replace(",", " ").split()}
    missing = [name for name in NAMES if f"`{name}`" not in told]
    assert len(NAMES) > 400 and not missing, f"docs/from-newton.md says nothing of {', '.join(missing)}"
