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
    try:
        aabb, nodeid = _filled(levels, lower, upper, _Sorter(center))
    except _NoOrder:
        aabb, nodeid = _filled(levels, lower, upper, _Selector(center))
    if ids is not None:
        leaf = nodeid >= 0
        nodeid[leaf] = np.asarray(ids, np.int32)[nodeid[leaf]]
    return BoundingVolumes(child.copy(), nodeid, depth.copy(), aabb)


def leaf_boxes(lower: Float64, upper: Float64) -> Float64:
    """Centre and half size of n boxes that are trees of one leaf each, (n, 6)."""
    low, high = _thickened(lower, upper)
    return np.concatenate(((high + low) / 2, (high - low) / 2), axis=1)


def _thickened(low: Float64, high: Float64) -> tuple[Float64, Float64]:
    """Boxes that are not flat."""
    flat = np.abs(low - high) < EPS
    return np.where(flat, low - EPS, low), np.where(flat, high + EPS, high)


def _filled(levels: list[_Level], lower: Float64, upper: Float64, sort: _Sorter | _Selector) -> tuple[Float64, Int32]:
    """Boxes of all nodes and elements of leaves, from the root down."""
    count = len(lower)
    aabb, nodeid = np.empty((2 * count - 1, 6)), np.full(2 * count - 1, -1, np.int32)
    element = np.arange(count)
    low_of, high_of = np.ascontiguousarray(lower.T), np.ascontiguousarray(upper.T)
    for level in levels:
        node, begin = level.node, level.begin
        low = np.stack([np.minimum.reduceat(low_of[k][element], begin) for k in range(3)])
        high = np.stack([np.maximum.reduceat(high_of[k][element], begin) for k in range(3)])
        low, high = _thickened(low, high)
        aabb[node, :3], aabb[node, 3:] = ((high + low) / 2).T, ((high - low) / 2).T
        leaf = level.size == 1
        nodeid[node[leaf]] = element[begin[leaf]]
        edge = high - low
        axis = np.where(edge[1] >= edge[0] + EPS, 1, 0)
        axis = np.where(edge[2] >= edge[axis, np.arange(len(axis))] + EPS, 2, axis)
        element = sort(element, level, axis)
        if leaf.any():  # leaves are done
            element = element[~leaf[level.owner]]
    return aabb, nodeid


class _NoOrder(ValueError):
    """Values that "closer than EPS goes by number" does not put in an order: not finite, or a chain of close ones."""


class _Sorter:
    """Sorts the elements of all nodes of a level at once, each along its node's axis; close values by number."""

    def __init__(self, center: Float64):
        if not np.isfinite(center).all():
            raise _NoOrder
        self.center = center
        self.by_axis = np.argsort(center.T, axis=1, kind="stable")
        value = np.take_along_axis(center.T, self.by_axis, axis=1)
        self.has_chains = not all(self._close_by_number_along(k, value[k]) for k in range(3))
        self.rank = np.empty_like(self.by_axis)
        place = np.broadcast_to(np.arange(len(center)), self.by_axis.shape)
        np.put_along_axis(self.rank, self.by_axis, place, axis=1)

    def _close_by_number_along(self, k: int, value: Float64) -> bool:
        """Put close values of one axis in order of number; False where they form a chain and that must wait."""
        step = np.diff(value)
        if not ((step > 0) & (step <= EPS)).any():
            return True
        run = np.concatenate(([0], np.cumsum(step > EPS)))
        if _wider_than_eps(value, run):
            return False
        self.by_axis[k] = self.by_axis[k][np.lexsort((self.by_axis[k], run))]
        return True

    def __call__(self, element: np.ndarray, level: _Level, axis: np.ndarray) -> np.ndarray:
        along = axis[level.owner]
        first = level.owner * self.rank.shape[1]
        key = np.sort(first + self.rank[along, element])  # by node, then by place along its axis; keys are distinct
        element = self.by_axis[along, key - first]
        return self._close_by_number(element, along, level.owner) if self.has_chains else element

    def _close_by_number(self, element: np.ndarray, along: np.ndarray, owner: np.ndarray) -> np.ndarray:
        """The same inside every node: what is a chain among all elements may be none there."""
        value = self.center[element, along]
        run = np.concatenate(([0], np.cumsum((owner[1:] != owner[:-1]) | (np.abs(np.diff(value)) > EPS))))
        if _wider_than_eps(value, run):
            raise _NoOrder
        return element[np.lexsort((element, run))]


def _wider_than_eps(value: Float64, run: np.ndarray) -> bool:
    """Whether some run of consecutive values spans more than EPS."""
    start = np.flatnonzero(np.diff(run, prepend=-1))
    return bool((np.maximum.reduceat(value, start) - np.minimum.reduceat(value, start) > EPS).any())


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
