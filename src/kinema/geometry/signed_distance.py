"""Signed distance from points to a mesh: the nearest face, and the side of the surface the point is on.

Distances are those of Ericson, Real-Time Collision Detection, 5.1.5: the plane of a triangle is divided into regions
nearest to a corner, an edge or the inside. The sign comes from the normal of whatever is nearest: of the face, the sum
of both faces' at an edge, the sum of all faces' at a corner, weighted by their angles there. With these the sign is
right on every closed surface (Baerentzen and Aanaes, Signed distance computation using the angle weighted pseudonormal,
2005).
"""

from __future__ import annotations

import numpy as np

from kinema.geometry.bvh import BoundingVolumes
from kinema.geometry.inertia import cross, dot3
from kinema.geometry.mesh import Float64, Int32

# Regions of a triangle: corners a and b, edge ab, corner c, edges ac and bc, inside.
_CORNERS = {0: 0, 1: 1, 3: 2}
_EDGES = {2: 0, 5: 1, 4: 2}  # as edges ab, bc, ca
_INSIDE = 6


def closest_on_triangle(p: Float64, a: Float64, b: Float64, c: Float64) -> tuple[Float64, Float64, np.ndarray]:
    """Squared distance (n,), nearest point (n, 3) and its region (n,) of n points on n triangles."""
    ab, ac, ap = b - a, c - a, p - a
    d1, d2 = dot3(ab, ap), dot3(ac, ap)
    bp, cp = p - b, p - c
    d3, d4, d5, d6 = dot3(ab, bp), dot3(ac, bp), dot3(ab, cp), dot3(ac, cp)
    vc, vb, va = d1 * d4 - d3 * d2, d5 * d2 - d1 * d6, d3 * d6 - d5 * d4
    with np.errstate(divide="ignore", invalid="ignore"):
        total = 1.0 / (va + vb + vc)
        on_ab, on_ac = d1 / (d1 - d3), d2 / (d2 - d6)
        on_bc = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        inside_u, inside_v = vb * total, vc * total
    zero, one = np.zeros_like(d1), np.ones_like(d1)
    regions = [
        (d1 <= 0) & (d2 <= 0),
        (d3 >= 0) & (d4 <= d3),
        (vc <= 0) & (d1 >= 0) & (d3 <= 0),
        (d6 >= 0) & (d5 <= d6),
        (vb <= 0) & (d2 >= 0) & (d6 <= 0),
        (va <= 0) & (d4 - d3 >= 0) & (d5 - d6 >= 0),
    ]
    u = np.select(regions, [zero, one, on_ab, zero, zero, 1 - on_bc], inside_u)[:, None]
    v = np.select(regions, [zero, zero, zero, one, on_ac, on_bc], inside_v)[:, None]
    nearest = a + u * ab + v * ac
    away = p - nearest
    region = np.select(regions, list(range(6)), _INSIDE)
    # corners and the edge bc are measured from their own points: equally near faces must give the same number
    for number, vector in ((0, ap), (1, bp), (3, cp), (5, p - (b + v * (c - b)))):
        away[region == number] = vector[region == number]
    return dot3(away, away), nearest, region


def _pseudonormals(vert: Float64, face: Int32) -> Float64:
    """(nface, 7, 3) normal to judge the side by, for each region of each face."""
    corner = vert[face]
    normal = _unit(cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]))
    result = np.repeat(normal[:, None], 7, axis=1)
    ahead, back = _unit(corner[:, [1, 2, 0]] - corner), _unit(corner[:, [2, 0, 1]] - corner)
    angle = np.arccos(np.clip(dot3(ahead, back), -1, 1))
    at_vertex = np.zeros_like(vert)
    np.add.at(at_vertex, face, angle[:, :, None] * normal[:, None])
    edge = np.sort(np.stack([face, face[:, [1, 2, 0]]], axis=-1).reshape(-1, 2), axis=1).astype(np.int64)
    _, which = np.unique(edge[:, 0] * len(vert) + edge[:, 1], return_inverse=True)
    which = which.reshape(-1, 3)
    at_edge = np.zeros((int(which.max()) + 1, 3))
    np.add.at(at_edge, which, np.broadcast_to(normal[:, None], (len(face), 3, 3)))
    for region, k in _CORNERS.items():
        result[:, region] = at_vertex[face[:, k]]
    for region, k in _EDGES.items():
        result[:, region] = at_edge[which[:, k]]
    return result


def _unit(vector: Float64) -> Float64:
    length = np.sqrt(dot3(vector, vector))
    return vector / np.where(length > 0, length, 1.0)[..., None]


def _subtree_sizes(bvh: BoundingVolumes) -> np.ndarray:
    """How many nodes each subtree has; nodes stand in depth-first order, so this is how far to jump to skip it."""
    size = np.ones(len(bvh.nodeid), np.int64)
    for depth in range(int(bvh.depth.max()), -1, -1):
        inner = np.flatnonzero((bvh.depth == depth) & (bvh.nodeid < 0))
        size[inner] += size[bvh.child[inner, 0]] + size[bvh.child[inner, 1]]
    return size


def signed_distance(point: Float64, vert: Float64, face: Int32, bvh: BoundingVolumes) -> Float64:
    """(n,) distance from each point to the mesh, negative inside.

    All points walk through the tree together, each at its own node: down where the box is nearer than the best face so
    far, past the subtree where it is not.
    """
    low, high = bvh.aabb[:, :3] - bvh.aabb[:, 3:], bvh.aabb[:, :3] + bvh.aabb[:, 3:]
    size, corner = _subtree_sizes(bvh), vert[face]
    from scipy.spatial import cKDTree  # imported on use: it takes a second

    reach, _ = cKDTree(vert[np.unique(face)]).query(point)
    best = reach * reach * (1 + 1e-6) + 1e-300  # a corner is a bound from the start
    chosen, region, nearest = np.zeros(len(point), np.int64), np.full(len(point), _INSIDE), point.copy()
    current, active = np.zeros(len(point), np.int64), np.arange(len(point))
    while len(active):
        node, here = current[active], point[active]
        outside = np.maximum(np.maximum(low[node] - here, here - high[node]), 0)
        near = dot3(outside, outside) < best[active]
        current[active] = node + np.where(near, 1, size[node])
        at_leaf = near & (bvh.nodeid[node] >= 0)
        who, which = active[at_leaf], bvh.nodeid[node[at_leaf]]
        squared, foot, part = closest_on_triangle(point[who], corner[which, 0], corner[which, 1], corner[which, 2])
        better = squared < best[who]
        who = who[better]
        best[who], chosen[who], nearest[who], region[who] = squared[better], which[better], foot[better], part[better]
        active = active[current[active] < len(size)]
    normal = _pseudonormals(vert, face)[chosen, region]
    height = dot3(point - nearest, normal)
    distance, length = np.sqrt(best), np.sqrt(dot3(normal, normal))
    return np.where(height > 1e-12 * length * distance, 1.0, -1.0) * distance
