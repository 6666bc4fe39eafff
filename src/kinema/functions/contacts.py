"""Contacts of all worlds as one table: which geoms touch where, how deep, and with which force.

A row is one contact of one world; rows are in the order of worlds, and of contacts within a world.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import warp as wp

from kinema.convex.contact_force import contact_forces
from kinema.engine import Engine
from kinema.errors import UnknownKey


class ContactTable:
    """Contacts as columns; `table[k]`, `table.of_world(w)` and `table[mask]` are tables of fewer rows.

    Attributes:
        world: World of each row.
        index: Number of the contact in its world, as in `sim.d.contact`.
        geom: Ids of the two geoms, (n, 2); -1: a flex.
        names: Names of the two geoms, (n, 2); of one without a name its id in brackets, of a flex `[flex 0]`.
        pos: Where it is, (n, 3) [m].
        dist: Distance of the surfaces, negative when they overlap, (n,) [m].
        frame: Rows are the normal, from the first geom to the second, and two tangents, (n, 3, 3).
        force: Force and torque on the second geom in that frame, normal first, (n, 6) [N, Nm].
        world_force: The force in the world's axes, (n, 3) [N].
    """

    COLUMNS = ("world", "index", "geom", "names", "pos", "dist", "frame", "force")

    def __init__(self, columns: dict[str, np.ndarray]):
        for name in self.COLUMNS:
            setattr(self, name, columns[name])

    world: np.ndarray
    index: np.ndarray
    geom: np.ndarray
    names: np.ndarray
    pos: np.ndarray
    dist: np.ndarray
    frame: np.ndarray
    force: np.ndarray

    @property
    def world_force(self) -> np.ndarray:
        """The force on the second geom in the world's axes, (n, 3) [N]."""
        return np.einsum("nij,ni->nj", self.frame, self.force[:, :3])

    def __len__(self) -> int:
        return len(self.world)

    def __getitem__(self, rows: int | slice | Sequence | np.ndarray) -> ContactTable:
        chosen = [rows] if isinstance(rows, int | np.integer) else rows
        return ContactTable({name: getattr(self, name)[chosen] for name in self.COLUMNS})

    def __iter__(self) -> Iterator[ContactTable]:
        return (self[k] for k in range(len(self)))

    def of_world(self, world: int) -> ContactTable:
        """The contacts of one world."""
        return self[self.world == world]

    def between(self, first: int | str, second: int | str | None = None) -> ContactTable:
        """The contacts of a geom, or of a pair in either order, by name or id."""

        def has(geom: int | str, side: int) -> np.ndarray:
            column = self.names if isinstance(geom, str) else self.geom
            return column[:, side] == geom

        if second is None:
            return self[has(first, 0) | has(first, 1)]
        return self[(has(first, 0) & has(second, 1)) | (has(first, 1) & has(second, 0))]

    def __repr__(self) -> str:
        head = f"{'world':>5} {'contact':>7}  {'geoms':<32} {'dist [m]':>10}  {'pos [m]':<26} {'normal force [N]':>16}"
        lines = [head]
        for k in range(min(len(self), 20)):
            names, pos = " ".join(self.names[k]), " ".join(f"{x:8.4f}" for x in self.pos[k])
            lines.append(
                f"{self.world[k]:>5} {self.index[k]:>7}  {names:<32} {self.dist[k]:>10.6f}  {pos:<26} "
                f"{self.force[k, 0]:>16.4f}"
            )
        if len(self) > 20:
            lines.append(f"... {len(self)} contacts")
        return "\n".join(lines)


def forces(engine: Engine) -> wp.array:
    """Forces of all contacts in their frames, [world, contact] of 6-vectors."""
    if "contact_dist" not in engine.names:
        raise UnknownKey("contacts are not brought over from the program that runs these worlds: use solver='convex'")
    return contact_forces(engine)


def contact_table(engine: Engine, names: Sequence[str]) -> ContactTable:
    """The table of all worlds; `names` are those of the geoms in id order."""
    force = forces(engine).numpy()
    count = np.asarray(engine.read("ncon"))
    longest = int(count.max(initial=0))
    used = np.arange(longest) < count[:, None]
    world, index = np.nonzero(used)
    geom = engine.in_use("contact_geom")[used].reshape(-1, 2)
    called = np.array([*(name or f"[{k}]" for k, name in enumerate(names)), ""], dtype=object)[geom].reshape(-1, 2)
    if "contact_flex" in engine.names and np.any(geom < 0):
        flex = engine.in_use("contact_flex")[used].reshape(-1, 2)
        called = np.where(geom < 0, np.array([f"[flex {f}]" for f in flex.ravel()], object).reshape(-1, 2), called)
    return ContactTable({
        "world": world, "index": index, "geom": geom, "names": called,
        "pos": engine.in_use("contact_pos")[used].reshape(-1, 3),
        "dist": engine.in_use("contact_dist")[used].reshape(-1),
        "frame": engine.in_use("contact_frame")[used].reshape(-1, 3, 3),
        "force": np.array(force[:, :longest][used]).reshape(-1, 6),
    })  # fmt: skip
