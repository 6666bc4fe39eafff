"""How much memory a simulation takes, by what it is for.

    bytes = shared + worlds * per_world

Both sums are over groups: the bundles of the engine's data (state, poses, contacts, constraint rows, ...), the model,
collision detection, plugins, and what is kept to go back to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import warp as wp

from kinema.convex.bundle import fields_of
from kinema.convex.data import Data

if TYPE_CHECKING:
    from kinema.simulation.simulation import Simulation

TITLES = {
    "state": "state", "pose": "poses", "inertia": "inertia", "vel": "velocities", "ten": "tendons", "act": "actuation",
    "frc": "forces", "con": "contacts", "crow": "contacts", "efc": "constraint rows", "solver": "solver",
    "dual": "solver", "sensor": "sensors", "scratch": "scratch", "rk": "scratch",
}  # fmt: skip
"""Groups that the bundles of the engine's data belong to."""


@dataclass(frozen=True)
class Memory:
    """Bytes of a simulation on its device.

    Attributes:
        worlds: Number of worlds.
        shared: Bytes by group that do not grow with worlds.
        per_world: Bytes by group of each world.
    """

    worlds: int
    shared: Mapping[str, int]
    per_world: Mapping[str, int]

    @property
    def groups(self) -> dict[str, int]:
        """Bytes by group, all worlds together, the largest first."""
        names = {*self.shared, *self.per_world}
        sums = {n: self.shared.get(n, 0) + self.worlds * self.per_world.get(n, 0) for n in names}
        return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))

    @property
    def total(self) -> int:
        """All bytes."""
        return sum(self.groups.values())

    def __str__(self) -> str:
        lines = [f"{'':18}{'a world':>12}{'shared':>12}{f'{self.worlds} worlds':>16}"]
        for name, count in self.groups.items():
            parts = (self.per_world.get(name, 0), self.shared.get(name, 0), count)
            lines.append(f"{name:18}{_human(parts[0]):>12}{_human(parts[1]):>12}{_human(parts[2]):>16}")
        each, once = sum(self.per_world.values()), sum(self.shared.values())
        return "\n".join([*lines, f"{'total':18}{_human(each):>12}{_human(once):>12}{_human(self.total):>16}"])


def _human(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.2f} GB"


def measure(sim: Simulation) -> Memory:
    """Bytes of the arrays of a simulation."""
    engine = sim.engine
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
    parts = (("collision", engine.collider), ("plugins", engine.extension), ("kept", (engine.guard, engine._putters)),
             ("kept", sim.last_good))  # fmt: skip
    for group, part in parts:
        for array in _arrays(part, set()):
            add(group, array, engine.nworld in (array.shape[0], array.shape[-1]))  # as far as that can be told
    if engine.guard._saved is None:  # the first step makes them
        count = sum(_bytes(engine.array(name)) for name in engine.guard.kept_names())
        per_world["kept"] = per_world.get("kept", 0) + count // engine.nworld
    return Memory(engine.nworld, shared, per_world)


def _bytes(array: wp.array) -> int:
    return array.size * wp.types.type_size_in_bytes(array.dtype)


def extrapolate(one: Memory, two: Memory, worlds: int) -> Memory:
    """Bytes of any number of worlds, from those of one and of two."""
    names = {*one.groups, *two.groups}
    per_world = {n: two.groups.get(n, 0) - one.groups.get(n, 0) for n in names}
    return Memory(worlds, {n: one.groups.get(n, 0) - per_world[n] for n in names}, per_world)


def _groups() -> dict[str, str]:
    """Group of each array of the engine's data."""
    found: dict[str, str] = {}
    for bundle, var in Data.vars.items():
        for field in fields_of(var.type).values():
            found.setdefault(field.name, TITLES[bundle])
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
        inner = [getattr(thing, name) for name in thing._cls.vars]
    elif type(thing).__module__.startswith("kinema.") and hasattr(thing, "__dict__"):
        inner = [value for name, value in vars(thing).items() if name not in ("engine", "source", "layout", "model")]
    else:
        return
    for item in inner:
        yield from _arrays(item, seen)
