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


@lru_cache(maxsize=64)
def _shape(count: int) -> tuple[list[np.ndarray], Int32, Int32]:
    """The tree over ``count`` elements: per level the (node, begin, end) rows, then child and depth of all nodes."""
    child = np.full((2 * count - 1, 2), -1, np.int32)
    depth = np.zeros(2 * count - 1, np.int32)
    rows = np.array([[0, 0, count]])
    levels = []
    level = 0
    while len(rows):
        levels.append(rows)
        depth[rows[:, 0]] = level
        node, begin, end = rows[rows[:, 2] - rows[:, 1] > 1].T
        half = (end - begin) // 2
        left, right = node + 1, node + 2 * half  # the left subtree takes 2 half - 1 nodes
        child[node, 0], child[node, 1] = left, right
        rows = np.stack(
            [np.stack([left, right], 1), np.stack([begin, begin + half], 1), np.stack([begin + half, end], 1)], axis=2
        ).reshape(-1, 3)
        level += 1
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
    nodes = 2 * count - 1
    aabb, nodeid = np.empty((nodes, 6)), np.full(nodes, -1, np.int32)
    order = np.arange(count)  # elements, grouped by node of the current level
    center = np.ascontiguousarray(center)
    for rows in levels:
        node, begin, end = rows.T
        size = end - begin
        low, high = _reduce(np.minimum, lower[order], begin, end), _reduce(np.maximum, upper[order], begin, end)
        flat = np.abs(low - high) < EPS
        low, high = np.where(flat, low - EPS, low), np.where(flat, high + EPS, high)
        aabb[node, :3], aabb[node, 3:] = (high + low) / 2, (high - low) / 2
        leaf = size == 1
        nodeid[node[leaf]] = order[begin[leaf]]
        inner = ~leaf
        if not inner.any():
            continue
        edge = high - low
        axis = np.where(edge[:, 1] >= edge[:, 0] + EPS, 1, 0)
        axis = np.where(edge[:, 2] >= edge[np.arange(len(edge)), axis] + EPS, 2, axis)
        order = _sorted_within(order, center, begin, size, axis, inner)
    if ids is not None:
        leaf = nodeid >= 0
        nodeid[leaf] = np.asarray(ids, np.int32)[nodeid[leaf]]
    return BoundingVolumes(child.copy(), nodeid, depth.copy(), aabb)


def _reduce(operation: np.ufunc, values: Float64, begin: np.ndarray, end: np.ndarray) -> Float64:
    """``operation`` over rows begin:end of each node; nodes of one level do not overlap and stand in order."""
    bounds = np.stack([begin, end], 1).ravel()
    if bounds[-1] == len(values):
        bounds = bounds[:-1]
    return operation.reduceat(values, bounds, axis=0)[::2]


def _sorted_within(
    order: np.ndarray, center: Float64, begin: np.ndarray, size: np.ndarray, axis: np.ndarray, inner: np.ndarray
) -> np.ndarray:
    """Elements of each inner node sorted along the node's axis; values closer than EPS go by element number."""
    begin, size, axis = begin[inner], size[inner], axis[inner]
    group = np.repeat(np.arange(len(begin)), size)
    offset = np.repeat(begin - np.concatenate(([0], np.cumsum(size)[:-1])), size)
    place = np.arange(len(group)) + offset
    element = order[place]
    key = center[element, axis[group]]
    by_key = np.lexsort((element, key, group))
    element, key, group = element[by_key], key[by_key], group[by_key]
    same = (group[1:] == group[:-1]) & (np.abs(key[1:] - key[:-1]) <= EPS) & (key[1:] != key[:-1])
    if same.any():
        near = (group[1:] == group[:-1]) & ~(np.abs(key[1:] - key[:-1]) > EPS)
        run = np.concatenate(([0], np.cumsum(~near)))
        element = element[np.lexsort((element, run))]
    result = order.copy()
    result[place] = element
    return result


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
