"""Bounding volume hierarchies, built as MuJoCo builds them: split at the median along the longest axis.

A node over n elements has the first n//2 of them (in order along its longest axis) on the left, the rest on the right;
nodes are numbered depth first. So the *shape* of the tree depends on n alone, and only who goes where depends on the
geometry: all nodes of one level are split together, with one sort of the whole array.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from kinema.geometry.inertia import cross, dot3
from kinema.geometry.mesh import Float64, Int32
from kinema.geometry.nth_element import nth_element

EPS = 1e-14


@dataclass(frozen=True)
class BoundingVolumes:
    """A tree as mjModel stores it.

    Attributes:
        child: (n, 2) node numbers from the root of this tree, -1 for none.
        nodeid: (n,) element of a leaf, -1 inside.
        depth: (n,) level, 0 at the root.
        aabb: (n, 6) centre and half size.
    """

    child: Int32
    nodeid: Int32
    depth: Int32
    aabb: Float64


@dataclass(frozen=True)
class _Level:
    """The nodes of one level of a tree that hold elements: which they are, how many elements each has."""

    node: np.ndarray
    size: np.ndarray
    begin: np.ndarray  # first element of each, among the elements still in play
    owner: np.ndarray  # of each element in play, the position of its node in `node`


@lru_cache(maxsize=64)
def _shape(count: int) -> tuple[list[_Level], Int32, Int32]:
    """The tree over ``count`` elements: its levels, then child and depth of all nodes."""
    child = np.full((2 * count - 1, 2), -1, np.int32)
    depth = np.zeros(2 * count - 1, np.int32)
    node, size = np.array([0]), np.array([count])
    levels: list[_Level] = []
    while len(node):
        depth[node] = len(levels)
        levels.append(_Level(node, size, np.cumsum(size) - size, np.repeat(np.arange(len(node)), size)))
        node, size = node[size > 1], size[size > 1]
        half = size // 2
        left, right = node + 1, node + 2 * half  # the left subtree takes 2 half - 1 nodes
        child[node, 0], child[node, 1] = left, right
        node, size = np.stack([left, right], 1).ravel(), np.stack([half, size - half], 1).ravel()
    return levels, child, depth


def build(center: Float64, lower: Float64, upper: Float64, ids: Int32 | None = None) -> BoundingVolumes:
    """The hierarchy over n boxes.

    Args:
        center: (n, 3) the point each element is sorted by.
        lower, upper: (n, 3) corners of each element's box.
        ids: (n,) what leaves refer to; the element's own number where absent.
    """
    count = len(center)
    if count == 0:
        none = np.zeros(0, np.int32)
        return BoundingVolumes(none.reshape(0, 2), none, none, np.zeros((0, 6)))
    levels, child, depth = _shape(count)
    aabb, nodeid = np.empty((2 * count - 1, 6)), np.full(2 * count - 1, -1, np.int32)
    low_of, high_of = np.ascontiguousarray(lower.T), np.ascontiguousarray(upper.T)
    sort: _Sorter | _Selector = _Sorter(center)
    element = np.arange(count)
    if not sort.is_order:
        sort = _Selector(center)
    for level in levels:
        node, begin = level.node, level.begin
        low = np.stack([np.minimum.reduceat(low_of[k][element], begin) for k in range(3)])
        high = np.stack([np.maximum.reduceat(high_of[k][element], begin) for k in range(3)])
        flat = np.abs(low - high) < EPS
        low, high = np.where(flat, low - EPS, low), np.where(flat, high + EPS, high)
        aabb[node, :3], aabb[node, 3:] = ((high + low) / 2).T, ((high - low) / 2).T
        leaf = level.size == 1
        nodeid[node[leaf]] = element[begin[leaf]]
        edge = high - low
        axis = np.where(edge[1] >= edge[0] + EPS, 1, 0)
        axis = np.where(edge[2] >= edge[axis, np.arange(len(axis))] + EPS, 2, axis)
        element = sort(element, level, axis)
        if leaf.any():  # leaves are done
            element = element[~leaf[level.owner]]
    if ids is not None:
        leaf = nodeid >= 0
        nodeid[leaf] = np.asarray(ids, np.int32)[nodeid[leaf]]
    return BoundingVolumes(child.copy(), nodeid, depth.copy(), aabb)


class _Sorter:
    """Sorts the elements of all nodes of a level at once, each along its node's axis.

    Values closer than EPS go by element number. That is an order as long as such values come in groups no wider than
    EPS; ``is_order`` says so, for all values together, which is more than every node needs.
    """

    def __init__(self, center: Float64):
        self.by_axis = np.argsort(center.T, axis=1, kind="stable")
        value = np.take_along_axis(center.T, self.by_axis, axis=1)
        step = np.diff(value, axis=1)
        self.is_order = bool(np.isfinite(center).all())
        if self.is_order and ((step > 0) & (step <= EPS)).any():
            for k in range(3):
                run = np.concatenate(([0], np.cumsum(step[k] > EPS)))
                start = np.flatnonzero(np.diff(run, prepend=-1))
                width = np.maximum.reduceat(value[k], start) - np.minimum.reduceat(value[k], start)
                self.is_order &= bool((width <= EPS).all())
                self.by_axis[k] = self.by_axis[k][np.lexsort((self.by_axis[k], run))]
        self.rank = np.empty_like(self.by_axis)
        place = np.broadcast_to(np.arange(len(center)), self.by_axis.shape)
        np.put_along_axis(self.rank, self.by_axis, place, axis=1)

    def __call__(self, element: np.ndarray, level: _Level, axis: np.ndarray) -> np.ndarray:
        along = axis[level.owner]
        first = level.owner * self.rank.shape[1]
        key = np.sort(first + self.rank[along, element])  # by node, then by place along its axis; keys are distinct
        return self.by_axis[along, key - first]


class _Selector:
    """The same, one node and one comparison at a time, as MuJoCo does it: for values that have no order."""

    def __init__(self, center: Float64):
        self.value = center.T.tolist()

    def __call__(self, element: np.ndarray, level: _Level, axis: np.ndarray) -> np.ndarray:
        result = element.tolist()
        for begin, size, k in zip(level.begin.tolist(), level.size.tolist(), axis.tolist(), strict=True):
            if size < 2:
                continue
            value = self.value[k]

            def less(a: int, b: int, value: list[float] = value) -> bool:
                difference = value[a] - value[b]
                return difference < 0 if abs(difference) > EPS else a < b

            nth_element(result, begin, begin + size // 2, begin + size, less)
        return np.array(result)


def mesh_bvh(vert: Float64, face: Int32) -> BoundingVolumes:
    """The hierarchy of a mesh's triangles, sorted by their circumcentres."""
    a, b, c = vert[face[:, 0]], vert[face[:, 1]], vert[face[:, 2]]
    lower, upper = np.minimum(np.minimum(a, b), c), np.maximum(np.maximum(a, b), c)
    # MuJoCo keeps boxes as centre and half size and comes back from there
    middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
    return build(circumcenter(a, b, c), middle - half, middle + half)


def circumcenter(a: Float64, b: Float64, c: Float64) -> Float64:
    """Circumcentres of triangles (n, 3); not finite for degenerate ones."""
    p, q = a - c, b - c
    normal = cross(p, q)
    pp, qq = dot3(p, p)[:, None], dot3(q, q)[:, None]
    area = np.sqrt(dot3(normal, normal))[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        return cross(pp * q - qq * p, normal) / (2 * area * area) + c
