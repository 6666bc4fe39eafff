"""Bytes of an engine's arrays, by what they are for: the bundles of its data, the model, collision, plugins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import warp as wp

from kinema.convex.bundle import bundles_of, fields_of
from kinema.convex.data import Data

if TYPE_CHECKING:
    from kinema.convex.engine import Engine

TITLES = {
    "state": "state", "pose": "poses", "inertia": "inertia", "metric": "inertia", "vel": "velocities", "ten": "tendons",
    "act": "actuation", "frc": "forces", "con": "contacts", "crow": "contacts", "efc": "constraint rows",
    "solver": "solver", "island": "solver", "sensor": "sensors", "scratch": "scratch",
    "dual": "solver", "rk": "scratch",
}  # fmt: skip
"""Groups that the bundles of the engine's data belong to; one that is not here is a group of its own."""


def measure(engine: Engine) -> tuple[dict[str, int], dict[str, int]]:
    """Bytes by group: those that worlds share, and those of each world."""
    shared: dict[str, int] = {}
    per_world: dict[str, int] = {}
    seen: set[int] = set()

    def add(group: str, array: wp.array, a_row_a_world: bool) -> None:
        owner = getattr(array, "stored", array)
        if owner.ptr is None or owner.ptr in seen or not owner.size:
            return
        seen.add(owner.ptr)
        count = _bytes(owner)
        if owner is array and a_row_a_world:
            per_world[group] = per_world.get(group, 0) + count // engine.nworld
        else:
            shared[group] = shared.get(group, 0) + count

    groups = _groups()
    for name, array in engine.layout.arrays.items():
        add(groups.get(name, "model"), array, name in groups or name in engine.layout.expanded)
    parts = (("collision", engine.collider), ("plugins", engine.extension),
             ("kept", (engine.guard, engine._putters, engine.kept)))  # fmt: skip
    crew = {array.ptr for array in _arrays(getattr(engine.collider.detector, "work", None), set())}  # of threads
    for group, part in parts:
        for array in _arrays(part, set()):
            mine = array.ptr not in crew and engine.nworld in (array.shape[0], array.shape[-1])  # as far as can be told
            add(group, array, mine)
    if not engine.guard._saved:  # the first step makes them
        count = sum(_bytes(engine.array(name)) for name in engine.guard.kept_names())
        per_world["kept"] = per_world.get("kept", 0) + count // engine.nworld
    return shared, per_world


def _bytes(array: wp.array) -> int:
    return array.size * wp.types.type_size_in_bytes(array.dtype)


def _groups() -> dict[str, str]:
    """Group of each array of the engine's data."""
    found: dict[str, str] = {}
    for name, bundle in bundles_of(Data).items():
        for field in fields_of(bundle).values():
            found.setdefault(field.name, TITLES.get(name, name))
    return found


def _arrays(thing: Any, seen: set[int]) -> Iterator[wp.array]:
    """All arrays that an object of Kinema's holds, directly or further down; engines are counted elsewhere."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, wp.array):
        yield thing
        return
    if isinstance(thing, Mapping):
        inner: Any = thing.values()
    elif isinstance(thing, list | tuple | set):
        inner = thing
    elif isinstance(thing, wp._src.codegen.StructInstance):
        inner = [getattr(thing, name) for name in thing._cls.vars]  # type: ignore[attr-defined]
    elif type(thing).__module__.startswith("kinema.") and hasattr(thing, "__dict__"):
        inner = [value for name, value in vars(thing).items() if name not in ("engine", "source", "layout", "model")]
    else:
        return
    for item in inner:
        yield from _arrays(item, seen)
