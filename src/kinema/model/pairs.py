"""Which shapes may touch: pairs per kind of world, expanded only when somebody asks.

Two shapes may touch if both collide with shapes, they belong to different bodies (all static shapes to the same one,
-1), their groups meet, they share a world or one of them is global, and no filter forbids the pair. Identical worlds
have identical pairs up to an offset, so pairs are found and kept once per kind of world.

Groups: 0 meets nothing; a > 0 meets a and every negative group; a < 0 meets all but a (and 0).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .enums import ShapeFlags


@dataclass
class PairBlock:
    """Pairs of all worlds of one kind: with global shapes (global, local) and within the world (local, local)."""

    starts: np.ndarray  # first shape of each world
    with_global: np.ndarray
    within: np.ndarray

    def expand(self) -> np.ndarray:
        """Pairs of global indices, lower first, shape (worlds * pairs, 2)."""
        pairs = np.empty((len(self.starts), len(self.with_global) + len(self.within), 2), np.int32)
        n = len(self.with_global)
        pairs[:, :n, 0] = self.with_global[:, 0]
        pairs[:, :n, 1] = self.with_global[:, 1] + self.starts[:, None]
        pairs[:, n:] = self.within + self.starts[:, None, None]
        pairs[:, :n].sort(axis=2)
        return pairs.reshape(-1, 2)


@dataclass
class ContactPairs:
    """All pairs of shapes that may touch, stored per kind of world."""

    global_pairs: np.ndarray
    blocks: list[PairBlock]

    def __len__(self) -> int:
        per_block = (len(b.starts) * (len(b.with_global) + len(b.within)) for b in self.blocks)
        return len(self.global_pairs) + sum(per_block)

    def expand(self) -> np.ndarray:
        """Every pair, shape (count, 2)."""
        return np.concatenate([self.global_pairs.reshape(-1, 2), *(block.expand() for block in self.blocks)]).astype(
            np.int32
        )


def groups_meet(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether collision groups interact."""
    positive = (a > 0) & ((a == b) | (b < 0))
    return (a != 0) & (b != 0) & (positive | ((a < 0) & (a != b)))


@dataclass
class Shapes:
    """The columns the rule needs, of some shapes."""

    index: np.ndarray
    body: np.ndarray
    group: np.ndarray

    def meet(self, i: np.ndarray, other: Shapes, j: np.ndarray) -> np.ndarray:
        """Whether shape i of this set may touch shape j of the other, filters aside."""
        a, b = self.body[i], other.body[j]
        return (a != b) & groups_meet(self.group[i], other.group[j])


def _colliding(columns: dict[str, np.ndarray], rows: np.ndarray) -> Shapes:
    rows = rows[(columns["shape_flags"][rows] & ShapeFlags.COLLIDE_SHAPES) != 0]
    return Shapes(rows, columns["shape_body"][rows], columns["shape_collision_group"][rows])


def _unfiltered(pairs: np.ndarray, filtered: np.ndarray, count: int) -> np.ndarray:
    """Pairs (any order inside) that no filter names."""
    if len(filtered) == 0 or len(pairs) == 0:
        return pairs
    low, high = pairs.min(axis=1).astype(np.int64), pairs.max(axis=1)
    return pairs[~np.isin(low * count + high, filtered[:, 0].astype(np.int64) * count + filtered[:, 1])]


def _triangle(shapes: Shapes) -> np.ndarray:
    """Pairs within one set that may touch."""
    n, found = len(shapes.index), []
    step = max(1, 4_000_000 // max(n, 1))  # rows at a time, so that big worlds do not need n² memory
    for first in range(0, n, step):
        i, j = np.meshgrid(np.arange(first, min(first + step, n)), np.arange(n), indexing="ij")
        i, j = i[j > i], j[j > i]
        keep = shapes.meet(i, shapes, j)
        found.append(np.stack([shapes.index[i[keep]], shapes.index[j[keep]]], axis=1))
    return np.concatenate(found) if found else np.empty((0, 2), np.int64)


def find_pairs(columns: dict[str, np.ndarray], starts: np.ndarray, kinds: np.ndarray) -> ContactPairs:
    """Pairs of a whole model.

    Args:
        columns: shape_flags, shape_body, shape_collision_group, shape_world, shape_filter_pairs and their worlds
            (`filter_world`).
        starts: Start of each world in the shapes.
        kinds: Kind of each world; worlds of one kind hold the same shapes.
    """
    count = len(columns["shape_world"])
    filters = np.sort(columns["shape_filter_pairs"].reshape(-1, 2), axis=1)
    order = np.argsort(columns["filter_world"], kind="stable")
    filter_worlds = columns["filter_world"][order]
    free = _colliding(columns, np.flatnonzero(columns["shape_world"] < 0))
    global_pairs = _unfiltered(_triangle(free), filters[columns["filter_world"] < 0], count)
    blocks = []
    for kind in np.unique(kinds):
        worlds = np.flatnonzero(kinds == kind)
        first, last = int(starts[worlds[0]]), int(starts[worlds[0] + 1])
        if first == last:
            continue
        mine = _colliding(columns, np.arange(first, last))
        span = slice(*np.searchsorted(filter_worlds, [worlds[0], worlds[0] + 1]))
        own = filters[order[span]]
        within = _unfiltered(_triangle(mine), own, count) - first
        g, l = (axis.reshape(-1) for axis in np.meshgrid(np.arange(len(free.index)), np.arange(len(mine.index)),
                                                         indexing="ij"))  # fmt: skip
        keep = free.meet(g, mine, l)
        crossing = _unfiltered(np.stack([free.index[g[keep]], mine.index[l[keep]]], axis=1), own, count)
        crossing[:, 1] -= first
        blocks.append(PairBlock(starts[worlds].astype(np.int64), crossing, within))
    return ContactPairs(global_pairs, blocks)
