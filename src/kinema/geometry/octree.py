"""Octrees of signed distance to a mesh, as MuJoCo builds them for geoms of type sdf.

Cells that touch the surface are cut in eight, down to a fixed depth; then cells next to much smaller ones are cut too,
until neighbours across a face differ by one level at most. Every corner of a cell holds the signed distance to the
mesh, except hanging ones (in the middle of a larger neighbour's edge or face), which hold the mean of the corners they
lie between, so that the interpolated field is continuous.

Cells are integer boxes: cell (i, j, k) of level L in a grid of 2^L cells a side. Positions are compared in units of
half the smallest cell, where everything is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kinema.geometry.bvh import BoundingVolumes
from kinema.geometry.inertia import cross, dot3
from kinema.geometry.mesh import Float64, Int32
from kinema.geometry.signed_distance import signed_distance

MAX_DEPTH = 6
MARGIN = 1.1  # the root is the mesh's bounding box, this much larger
_SLOTS = np.array([[(s >> k) & 1 for k in range(3)] for s in range(8)])


@dataclass(frozen=True)
class Octree:
    """A tree as mjModel stores it: (n, 8) children from this tree's root, depth, (n, 6) boxes, (n, 8) corner values."""

    child: Int32
    depth: Int32
    aabb: Float64
    coeff: Float64


def no_octree() -> Octree:
    """The octree of a mesh that needs none."""
    none = np.zeros(0, np.int32)
    return Octree(none.reshape(0, 8), none, np.zeros((0, 6)), np.zeros((0, 8)))


@dataclass
class _Cells:
    """The cells while the tree grows, in order of creation."""

    level: list[np.ndarray] = field(default_factory=list)
    place: list[np.ndarray] = field(default_factory=list)
    low: list[np.ndarray] = field(default_factory=list)
    high: list[np.ndarray] = field(default_factory=list)
    child: np.ndarray = field(default_factory=lambda: np.zeros((0, 8), np.int32))

    def add(self, level: np.ndarray, place: np.ndarray, low: Float64, high: Float64) -> None:
        for store, values in zip((self.level, self.place, self.low, self.high), (level, place, low, high), strict=True):
            store[:] = [np.concatenate([*store, values])]
        self.child = np.concatenate([self.child, np.full((len(level), 8), -1, np.int32)])

    def subdivide(self, cells: np.ndarray) -> np.ndarray:
        """Cut cells in eight; the numbers of the new ones, (n, 8)."""
        level, place, low, high = (store[0] for store in (self.level, self.place, self.low, self.high))
        middle = (high[cells] + low[cells]) / 2
        new = len(level) + np.arange(8 * len(cells)).reshape(-1, 8)
        upper = _SLOTS[None] == 1
        child_low = np.where(upper, middle[:, None], low[cells][:, None])
        child_high = np.where(upper, high[cells][:, None], middle[:, None])
        child_place = 2 * place[cells][:, None] + _SLOTS
        self.add(np.repeat(level[cells] + 1, 8), *(a.reshape(-1, 3) for a in (child_place, child_low, child_high)))
        self.child[cells] = new
        return new


def build(vert: Float64, face: Int32, aamm: Float64, bvh: BoundingVolumes, *, max_depth: int = MAX_DEPTH) -> Octree:
    """The octree of a processed mesh.

    Args:
        vert, face: The mesh.
        aamm: (6,) minimum and maximum of its vertices.
        bvh: Its bounding volumes, used to find the nearest face.
        max_depth: Levels below the root.
    """
    cells = _Cells()
    center, half = (aamm[:3] + aamm[3:]) / 2, (aamm[3:] - aamm[:3]) / 2
    root_low, root_high = (center - MARGIN * half)[None], (center + MARGIN * half)[None]
    cells.add(np.zeros(1, np.int64), np.zeros((1, 3), np.int64), root_low, root_high)
    _refine(cells, vert[face], max_depth)
    _balance(cells)
    level, place, low, high = cells.level[0], cells.place[0], cells.low[0], cells.high[0]
    corner, position = _corners(level, place, low, high)
    hanging = _hanging(cells, corner)
    value = np.zeros(len(position))
    free = np.flatnonzero(hanging[:, 0] < 0)
    value[free] = signed_distance(position[free], vert, face, bvh)
    _interpolate(value, hanging, corner, level)
    return Octree(
        child=cells.child,
        depth=level.astype(np.int32),
        aabb=np.concatenate([(low + high) / 2, (high - low) / 2], axis=1),
        coeff=value[corner],
    )


def _refine(cells: _Cells, triangle: Float64, max_depth: int) -> None:
    """Cut all cells that touch a triangle, level by level."""
    current = np.zeros(1, np.int64)
    owner, element = np.zeros(len(triangle), np.int64), np.arange(len(triangle))
    for _ in range(max_depth):
        touching = _touch(triangle[element], cells.low[0][current[owner]], cells.high[0][current[owner]])
        owner, element = owner[touching], element[touching]
        split = np.unique(owner)
        if len(split) == 0:
            return
        new = cells.subdivide(current[split])
        among = np.searchsorted(split, owner)
        # every child is tested against all its parent's triangles; triangles of a child stay together and in order
        order = np.argsort(among, kind="stable")
        among, element = among[order], element[order]
        count = np.bincount(among, minlength=len(split))
        begin = np.cumsum(count) - count
        child_count = np.repeat(count, 8)
        owner = np.repeat(np.arange(8 * len(split)), child_count)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(child_count) - child_count, child_count)
        element = element[begin[owner // 8] + within]
        current = new.ravel()


def _touch(v: Float64, low: Float64, high: Float64) -> np.ndarray:
    """Which of n triangles (n, 3, 3) touch their boxes (Schwarz and Seidel 2010): box, plane and three projections."""
    beside: np.ndarray = np.all(v < low[:, None], axis=1) | np.all(v > high[:, None], axis=1)
    hit: np.ndarray = ~np.any(beside, axis=1)
    index = np.flatnonzero(hit)
    v, low, size = v[index], low[index], (high - low)[index]
    edge = v[:, [1, 2, 0]] - v
    normal = cross(edge[:, 0], edge[:, 1])
    critical = np.where(normal > 0, size, 0)
    base = dot3(normal, low)
    one = base + dot3(normal, critical - v[:, 0])
    two = base + dot3(normal, size - critical - v[:, 0])
    good = ~(one * two > 0)
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        sign = np.where(normal[:, a] >= 0, 1.0, -1.0)[:, None]
        across, along = -edge[:, :, c] * sign, edge[:, :, b] * sign
        offset = -(across * v[:, :, b] + along * v[:, :, c])
        offset = offset + np.maximum(0, size[:, None, b] * across) + np.maximum(0, size[:, None, c] * along)
        good &= ~(across * low[:, None, b] + along * low[:, None, c] + offset < 0).any(axis=1)
    hit[index[~good]] = False
    return hit


class _LeafIndex:
    """Finds the leaf that holds a point given in units of half the smallest cell."""

    def __init__(self, level: np.ndarray, place: np.ndarray, child: np.ndarray):
        self.bits = int(level.max()) + 1
        leaf = np.flatnonzero(child[:, 0] < 0)
        self.by_level = []
        for depth in range(self.bits):
            at = leaf[level[leaf] == depth]
            key = self._key(place[at], depth)
            order = np.argsort(key)
            self.by_level.append((depth, key[order], at[order]))

    @staticmethod
    def _key(place: np.ndarray, depth: int) -> np.ndarray:
        return ((place[:, 0] << depth) + place[:, 1] << depth) + place[:, 2]

    def find(self, point: np.ndarray) -> np.ndarray:
        """The leaf of each point, -1 outside the root."""
        result = np.full(len(point), -1)
        inside = ((point >= 0) & (point < 1 << self.bits)).all(axis=1)
        for depth, keys, cell in self.by_level:
            if len(keys) == 0:
                continue
            wanted = self._key(point >> (self.bits - depth), depth)
            where = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            found = inside & (keys[where] == wanted)
            result[found] = cell[where[found]]
        return result


def _neighbors(cells: _Cells) -> tuple[np.ndarray, np.ndarray, int]:
    """Leaves, and the leaf across each of their six faces (-x, +x, -y, ...), -1 for none.

    A finer neighbour is the one at the middle of the face, a hair towards the origin.
    """
    level, place, child = cells.level[0], cells.place[0], cells.child
    index = _LeafIndex(level, place, child)
    leaf = np.flatnonzero(child[:, 0] < 0)
    size = 1 << (index.bits - level[leaf])
    origin = place[leaf] * size[:, None]
    result = np.empty((len(leaf), 6), np.int64)
    for direction in range(6):
        axis, side = direction // 2, direction % 2
        point = origin + size[:, None] // 2 - 1
        point[:, axis] = origin[:, axis] + (size if side else -1)
        result[:, direction] = index.find(point)
    return leaf, result, index.bits


def _balance(cells: _Cells) -> None:
    """Cut leaves until face neighbours differ by one level at most."""
    while True:
        leaf, neighbor, _ = _neighbors(cells)
        level = cells.level[0]
        here, there = level[leaf][:, None], np.where(neighbor >= 0, level[neighbor], level[leaf][:, None])
        coarse = np.where(there > here + 1, leaf[:, None], -1)
        other = np.where(here > there + 1, neighbor, -1)
        sequence = np.stack([coarse, other], axis=-1).ravel()
        sequence = sequence[sequence >= 0]
        if len(sequence) == 0:
            return
        distinct, first = np.unique(sequence, return_index=True)
        cells.subdivide(distinct[np.argsort(first)])


def _corners(level: np.ndarray, place: np.ndarray, low: Float64, high: Float64) -> tuple[np.ndarray, Float64]:
    """(n, 8) number of each corner in order of first appearance, and the position of each number."""
    bits = int(level.max()) + 1
    point = (place[:, None] + _SLOTS) << (bits - level)[:, None, None]
    point = point.reshape(-1, 3)
    key = ((point[:, 0] << bits + 1) + point[:, 1] << bits + 1) + point[:, 2]
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    position = np.where(_SLOTS == 1, high[:, None], low[:, None]).reshape(-1, 3)[first[order]]
    return rank[inverse.ravel()].reshape(-1, 8), position


def _hanging(cells: _Cells, corner: np.ndarray) -> np.ndarray:
    """(corners, 4) the corners each hanging one lies between, two or four of them; -1 elsewhere."""
    level, place = cells.level[0], cells.place[0]
    leaf, neighbor, bits = _neighbors(cells)
    # one candidate for each corner of a face with a larger cell behind it, in order: leaf, face, corner
    rows = []
    for direction in range(6):
        axis, side = direction // 2, direction % 2
        b, c = (axis + 1) % 3, (axis + 2) % 3
        behind = neighbor[:, direction]
        at = np.flatnonzero((behind >= 0) & (level[np.maximum(behind, 0)] < level[leaf]))
        for k in range(4):
            slot = (side << axis) | ((k & 1) << b) | ((k >> 1) << c)
            priority = (at * 6 + direction) * 4 + k
            rows.append(np.stack([priority, leaf[at], behind[at], np.full(len(at), slot)], axis=1))
    result = np.full((int(corner.max()) + 1, 4), -1)
    if not rows:
        return result
    table = np.concatenate(rows)
    table = table[np.argsort(table[:, 0])]
    _, small, large, slot = table.T
    number = corner[small, slot]
    point = (place[small] + _SLOTS[slot]) << (bits - level[small])[:, None]
    start = place[large] << (bits - level[large])[:, None]
    end = start + (1 << (bits - level[large]))[:, None]
    at_min, at_max = point == start, point == end
    planes = (at_min | at_max).sum(axis=1)
    weight = np.array([1, 2, 4])
    depends = np.full((len(number), 4), -1)
    fixed = (at_max * weight).sum(axis=1)
    on_edge = np.flatnonzero(planes == 2)
    free_axis = np.argmin(at_min[on_edge] | at_max[on_edge], axis=1)
    for k in range(2):
        depends[on_edge, k] = corner[large[on_edge], fixed[on_edge] + k * weight[free_axis]]
    on_face = np.flatnonzero(planes == 1)
    face_axis = np.argmax(at_min[on_face] | at_max[on_face], axis=1)
    for k in range(4):
        b, c = weight[(face_axis + 1) % 3], weight[(face_axis + 2) % 3]
        depends[on_face, k] = corner[large[on_face], fixed[on_face] + (k & 1) * b + (k >> 1) * c]
    marked = np.flatnonzero(depends[:, 0] >= 0)
    distinct, first = np.unique(number[marked], return_index=True)
    result[distinct] = depends[marked[first]]
    return result


def _interpolate(value: Float64, hanging: np.ndarray, corner: np.ndarray, level: np.ndarray) -> None:
    """Give hanging corners the mean of those they lie between, coarse levels first."""
    first_level = np.full(len(value), 1 << 30)
    np.minimum.at(first_level, corner.ravel(), np.repeat(level, 8))
    for depth in range(int(level.max()) + 1):
        here = np.flatnonzero((first_level == depth) & (hanging[:, 0] >= 0))
        known = hanging[here] >= 0
        value[here] = np.where(known, value[hanging[here]], 0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
