"""How much memory a simulation takes, by what it is for.

    bytes = shared + worlds * per_world

Both sums are over groups: the bundles of the engine's data (state, poses, contacts, constraint rows, ...), the model,
collision detection, plugins, and what is kept to go back to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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


def extrapolate(one: Memory, two: Memory, worlds: int) -> Memory:
    """Bytes of any number of worlds, from those of one and of two."""
    names = {*one.groups, *two.groups}
    per_world = {n: two.groups.get(n, 0) - one.groups.get(n, 0) for n in names}
    return Memory(worlds, {n: one.groups.get(n, 0) - per_world[n] for n in names}, per_world)
