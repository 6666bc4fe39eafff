"""What each cell of a lattice around a mesh holds of it: which cells are empty, and the moments of the others.

    empty     no element reaches into the cell (a fiftieth of it left out on every side), and it is not inside
    closed    every edge of the surface is gone along as often one way as the other: moments are exact
              (cell_moments.py). Tetrahedra bound what they fill
    open      otherwise: a cell is cut in eight, and Gauss points in each count where the surface winds around them
              (the solid angle it fills is more than half of all), and where they lie on it

A surface that holds nothing at all fills its cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinema.geometry.cell_moments import cell_moments, full_moments
from kinema.geometry.flex_topology import SIDES
from kinema.geometry.mesh import Float64, Int32

LEFT_OUT = 0.02
ON_SURFACE = 1e-12
"""How flat a tetrahedron of a triangle and a point on it is, its volume over the product of three of its edges."""
Cells = tuple[int, int, int]
AT_ONCE = 1 << 15


@dataclass(frozen=True)
class Filling:
    """Contents of the cells.

    Attributes:
        empty: (nx, ny, nz) bool.
        moments: (nx, ny, nz, n, n, n) of what lies inside, powers up to n - 1 = 2 order of each coordinate.
    """

    empty: np.ndarray
    moments: Float64


def filling(
    point: Float64, element: Int32, dim: int, cells: Cells, order: int, low: Float64, high: Float64
) -> Filling:
    """What lies in the cells of the lattice that fills the box from `low` to `high`."""
    degree = 2 * order
    whole = full_moments(degree)
    wide = np.where(high > low, high - low, 1.0)
    unit = (point - low) / wide * np.array(cells)  # a unit a cell
    reached = _reached(unit, element, cells)
    if (high <= low).any() or dim == 1:
        return Filling(~reached, np.broadcast_to(whole, (*cells, *whole.shape)).copy())
    face, weight = (element, np.ones(len(element))) if dim == 2 else _boundary(unit, element)
    if dim == 3 or _closed(face):
        moments = cell_moments(unit, face, weight, np.zeros(3), np.ones(3), cells, degree)
        moments = moments if moments[..., 0, 0, 0].sum() >= 0 else -moments
        moments = np.where(moments[..., :1, :1, :1] > 1.0, whole, moments)
    else:
        moments = _sampled(point, face, low, wide / np.array(cells), cells, order)
    if moments[..., 0, 0, 0].sum() <= 0:
        return Filling(~reached, np.broadcast_to(whole, moments.shape).copy())
    return Filling(~reached & (moments[..., 0, 0, 0] < 0.5), moments)


# ---- cells that elements reach into


def _reached(unit: Float64, element: Int32, cells: Cells) -> np.ndarray:
    """Cells that some element reaches into."""
    corner = unit[element]
    last = np.array(cells) - 1
    first = np.clip(np.floor(corner.min(axis=1) + LEFT_OUT).astype(int), 0, last)
    number = np.maximum(np.clip(np.floor(corner.max(axis=1) - LEFT_OUT).astype(int), 0, last) - first + 1, 0)
    reached = np.zeros(cells, bool)
    single = (number == 1).all(axis=1)
    pairs = number.prod(axis=1)
    who = np.repeat(np.arange(len(element)), pairs)
    place = np.arange(len(who)) - np.repeat(np.cumsum(pairs) - pairs, pairs)
    for part in np.array_split(np.arange(len(who)), max(1, len(who) // 100_000)):
        mine, size = who[part], number[who[part]]
        offset = np.stack([place[part] // (size[:, 1] * size[:, 2]), place[part] // size[:, 2] % size[:, 1]], axis=1)
        cell = first[mine] + np.concatenate([offset, (place[part] % size[:, 2])[:, None]], axis=1)
        touching = single[mine] | _meet(corner[mine] - (cell[:, None] + 0.5), 0.5 - LEFT_OUT)
        reached[tuple(cell[touching].T)] = True
    return reached


def _meet(corner: Float64, half: float) -> np.ndarray:
    """Whether simplices (n, k, 3) reach into the cube of half size `half` around the origin: no plane parts them.

    Planes to try are normal to the cube's sides, to the simplex's faces, and to pairs of their edges.
    """
    number = corner.shape[1]
    edge = [corner[:, b] - corner[:, a] for a in range(number) for b in range(a + 1, number)]
    faces = {2: (), 3: ((0, 1),), 4: ((0, 1), (0, 2), (1, 2), (3, 4))}[number]
    normals = [np.cross(edge[i], edge[j]) for i, j in faces]
    axes = [np.broadcast_to(one, edge[0].shape) for one in np.eye(3)]
    crossed = [np.cross(one, side) for one in np.eye(3) for side in edge]
    meets = np.ones(len(corner), bool)
    for axis in (*axes, *normals, *crossed):
        along = np.einsum("nki,ni->nk", corner, axis)
        reach = half * np.abs(axis).sum(axis=1)
        meets &= (along.min(axis=1) <= reach) & (along.max(axis=1) >= -reach)
    return meets


# ---- surfaces


def _boundary(point: Float64, element: Int32) -> tuple[Int32, Float64]:
    """Faces of tetrahedra wound outwards and how often each counts; those that two share cancel."""
    x = point[element]
    inward = (np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 0])).sum(axis=1) > 0
    element = np.where(inward[:, None], element[:, [0, 2, 1, 3]], element)
    face = element[:, SIDES[3]].reshape(-1, 3)
    a, b, c = face.T
    sign = np.where((a < b).astype(int) + (b < c) + (c < a) == 2, 1.0, -1.0)  # even permutations of the sorted face
    ordered, inverse = np.unique(np.sort(face, axis=1), axis=0, return_inverse=True)
    count = np.bincount(inverse.reshape(-1), weights=sign, minlength=len(ordered))
    return ordered[count != 0].astype(np.int32), count[count != 0]


def _closed(face: Int32) -> bool:
    number = int(face.max()) + 1
    start, end = face.ravel().astype(np.int64), face[:, [1, 2, 0]].ravel().astype(np.int64)
    return bool((np.sort(start * number + end) == np.sort(end * number + start)).all())


# ---- open surfaces


def _sampled(point: Float64, face: Int32, low: Float64, size: Float64, cells: Cells, order: int) -> Float64:
    """Moments from Gauss points, 2 (order + 1) along each axis of a cell."""
    x, w = np.polynomial.legendre.leggauss(order + 1)
    x = np.concatenate([(x + 1) / 4, (x + 3) / 4])
    w = np.concatenate([w, w]) / 4
    grid = np.stack(np.meshgrid(*(np.add.outer(np.arange(n), x).ravel() for n in cells), indexing="ij"), axis=-1)
    winding, on = _winding(low + grid.reshape(-1, 3) * size, point[face])
    inside = (np.abs(winding) > 0.5) | on
    shape = tuple(size for n in cells for size in (n, len(x)))
    counts = inside.reshape(shape).transpose(0, 2, 4, 1, 3, 5).astype(float)
    power = w[:, None] * x[:, None] ** np.arange(2 * order + 1)
    return np.einsum("...abc,ai,bj,ck->...ijk", counts, power, power, power, optimize=True)


def _winding(point: Float64, triangle: Float64) -> tuple[Float64, np.ndarray]:
    """How often a surface winds around points: the solid angle of its triangles over 4 π; and which lie on it.

    tan(Ω / 2) = a · (b × c) / (|a||b||c| + (a · b)|c| + (b · c)|a| + (c · a)|b|) for corners seen from the point. On
    the triangle the one above is zero and the one below negative, on its edges zero, and only rounding has a side.
    """
    out, on = np.zeros(len(point)), np.zeros(len(point), bool)
    step = max(1, AT_ONCE // len(triangle))
    corners = [[np.ascontiguousarray(triangle[:, k, axis]) for axis in range(3)] for k in range(3)]
    for start in range(0, len(point), step):
        at = point[start : start + step].T[:, :, None]
        a, b, c = ([corner[axis] - at[axis] for axis in range(3)] for corner in corners)
        la, lb, lc = (np.sqrt(_dot(v, v)) for v in (a, b, c))
        cross = [b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]]
        volume, product = _dot(a, cross), la * lb * lc
        around = product + _dot(a, b) * lc + _dot(b, c) * la + _dot(c, a) * lb
        out[start : start + step] = np.arctan2(volume, around).sum(axis=1)
        flat = ON_SURFACE * product
        on[start : start + step] = ((np.abs(volume) <= flat) & (around <= flat)).any(axis=1)
    return out / (2 * np.pi), on


def _dot(a: list[Float64], b: list[Float64]) -> Float64:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
