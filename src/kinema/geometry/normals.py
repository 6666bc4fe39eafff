"""Vertex normals where a mesh has none: the mean of the faces around a vertex, weighted by area.

Unless ``smooth`` is asked for, faces that lean away from that mean (cosine below 0.8) are taken out again, so that
sharp edges stay sharp.
"""

from __future__ import annotations

import numpy as np

from kinema.geometry.inertia import cross, dot3
from kinema.geometry.mesh import Float32, Float64, Int32
from kinema.mujoco_enums import MINVAL

SHARP_COSINE = 0.8
_TINY_SQUARED = 1e-14  # MuJoCo gives shorter vectors the length zero


def _normalized(vector: Float64) -> tuple[Float64, Float64]:
    """Unit vectors and lengths; vectors of squared length below 1e-14 stay as they are, with length 0."""
    squared = dot3(vector, vector)
    length = np.where(squared < _TINY_SQUARED, 0.0, np.sqrt(squared))
    return vector / np.where(length == 0, 1.0, length)[:, None], length


def vertex_normals(vert: Float64, face: Int32, *, smooth: bool) -> Float32:
    """(nvert, 3) unit normals; a vertex with no face left gets (0, 0, 1)."""
    a = vert[face[:, 0]]
    direction, area = _normalized(cross(vert[face[:, 1]] - a, vert[face[:, 2]] - a))
    weighted = direction * area[:, None]
    total = _scatter(weighted, face, len(vert), np.ones(face.shape, bool))
    if not smooth:
        mean, _ = _normalized(total.astype(np.float64))
        sharp = dot3(direction[:, None, :], mean[face]) < SHARP_COSINE
        total = total - _scatter(weighted, face, len(vert), sharp)
    return unit_or_up(total)


def _scatter(value: Float64, face: Int32, nvert: int, mask: np.ndarray) -> Float32:
    """Sum face values at their (masked) corners, in face order, rounding to float32 after each as MuJoCo does."""
    corner = face[mask]
    row = np.repeat(np.arange(len(face)), 3).reshape(-1, 3)[mask]
    by_vertex = np.argsort(corner, kind="stable")
    count = np.bincount(corner, minlength=nvert)
    start = np.cumsum(count) - count
    total = np.zeros((nvert, 3), np.float32)
    vertex = np.flatnonzero(count)
    # one round a face around the vertex: all vertices take their first, then their second, ...
    for turn in range(int(count.max(initial=0))):
        vertex = vertex[count[vertex] > turn]
        total[vertex] += value[row[by_vertex[start[vertex] + turn]]]
    return total


def unit_or_up(normal: Float32) -> Float32:
    """Rows scaled to unit length; (0, 0, 1) where there is no length."""
    length = np.sqrt(dot3(normal, normal))
    good = length > MINVAL
    result = normal / np.where(good, length, np.float32(1))[:, None]
    result[~good] = (0, 0, 1)
    return result.astype(np.float32)
