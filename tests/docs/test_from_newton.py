"""The page for people who come from Newton says of every public name of its what stands for it, or why nothing."""

import importlib
import inspect
from enum import EnumType
from pathlib import Path
from types import ModuleType

import pytest

from kinema.closed import attributes_of

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


NOT_TAKEN = {
    "ModelBuilder.CustomFrequency": {"articulation_owner_attribute", "articulation_owner_resolver"},
    "ModelBuilder.ShapeConfig": {"force_sdf", "sdf_padding"},
    "newton.Contacts": {
        "clear_buffers", "contact_matching", "contact_report", "edge_count", "particle_count",
        "per_contact_shape_properties", "rigid_contact_surface_velocity", "soft_contact_tids_size", "soft_self_contact",
        "soft_self_contact_edge_buffer_pre_alloc", "soft_self_contact_record_triangle_vertices",
        "soft_self_contact_vertex_buffer_pre_alloc", "tri_count",
    },
    "newton.ModelBuilder": {"sdf_texture_paired_samples"}, "newton.TetMesh": {"custom_attributes"},
    "newton.actuators.Actuator": {"controller"},
    "newton.actuators.ActuatorParsed": {"controller_class", "controller_kwargs"},
    "newton.sensors.SensorTiledCamera": {"config"},
    "newton.usd.get_tetmesh": {"_load_custom_attributes", "compat_namespaces"},
    "newton.viewer.ViewerFile": {"max_history_size", "save_interval"},
    "newton.viewer.ViewerNull": {"benchmark", "benchmark_start_frame", "benchmark_timeout"},
    "newton.viewer.ViewerUSD": {"points_as_spheres", "scaling", "up_axis"},
}  # fmt: skip
"""Arguments of Newton's that a name does not take: the page has them in its list."""


def _found(name: str, library: str) -> object:
    """What a name of the page means in a library."""
    first, *rest = name.split(".")
    if first != "newton":
        rest = ["solvers", *name.split(".")] if first.startswith("Solver") else name.split(".")
    found: object = importlib.import_module(library)
    for part in rest:
        if isinstance(found, ModuleType) and not hasattr(found, part):
            importlib.import_module(f"{found.__name__}.{part}")
        if isinstance(found, type) and not hasattr(found, part):
            assert part in attributes_of(found), f"{found.__name__} has no {part}"  # what methods assign
            return None
        found = getattr(found, part)
    return found


SAME = sorted(
    name.strip("` ") for first, second in ROWS if second.strip().startswith("the same") for name in first.split(",")
    if name.strip("` ") in NAMES
)  # fmt: skip


def _lacking(theirs: object, ours: object) -> set[str]:
    """Arguments that ours does not take."""
    try:
        wanted, taken = (inspect.signature(each).parameters for each in (theirs, ours))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return set()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values()):
        return set()
    return {name for name, each in wanted.items() if name not in taken and not each.kind.name.startswith("VAR")}


@pytest.mark.parametrize("name", SAME)
def test_what_is_called_the_same_is_there_and_takes_the_same(name):
    theirs = _found(name, "newton")
    ours = _found(name, "kinema")
    if callable(theirs) and not isinstance(theirs, (EnumType, ModuleType)):
        assert callable(ours), name
        assert _lacking(theirs, ours) == NOT_TAKEN.get(name, set())


def test_arguments_that_are_not_taken_are_told():
    for name, words in NOT_TAKEN.items():
        for word in words:
            assert word.startswith("_") or f"`{word}`" in PAGE, f"docs/from-newton.md says nothing of {word} of {name}"
