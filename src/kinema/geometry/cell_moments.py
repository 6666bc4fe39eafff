"""How much of each cell of a lattice lies inside a closed surface: exact integrals of polynomials over cut cells.

    moment[c, i, j, k] = ∫ over (inside ∩ cell c) of s^i t^j u^k,   s, t, u in [0, 1] along the cell

By the divergence theorem, ∫ p dV over what lies in a cell is the flux through the surface of P = ∫₀^s p ds, a vector
along x. Triangles are first cut along the planes of the lattice; a piece inside cell c adds its own flux to c and, as
everything in the cells before c in its row is behind it, the flux of the whole cell to those. Gauss points of a
triangle integrate the polynomials exactly.
"""

from __future__ import annotations

import numpy as np

from kinema.geometry.mesh import Float64, Int32

EPS = 1e-14


def cell_moments(
    point: Float64, face: Int32, weight: Float64, low: Float64, size: Float64, cells: tuple[int, int, int], degree: int
) -> Float64:
    """Moments of all cells, (nx, ny, nz, degree + 1, degree + 1, degree + 1).

    Args:
        point, face: The surface, wound outwards.
        weight: How often each face counts.
        low, size: Corner of the lattice, and sizes of a cell.
        cells: How many there are along each axis.
        degree: Greatest power of each coordinate.
    """
    corner = ((point - low) / size)[face]  # (n, 3, 3), a unit a cell
    weight = np.asarray(weight, float)
    for axis in range(3):
        for plane in range(1, cells[axis]):
            corner, weight = _cut(corner, weight, axis, float(plane))
    where = np.clip(np.floor(corner.mean(axis=1)).astype(int), 0, np.array(cells) - 1)
    number = degree + 1
    own, passed = np.zeros((*cells, number, number, number)), np.zeros((*cells, number, number))
    barycentric, share = _triangle_rule((3 * degree + 4) // 2)
    area = 0.5 * weight * np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])[:, 0]
    for part in np.array_split(np.flatnonzero(area), max(1, len(area) // 2000)):
        at = np.einsum("qb,nbk->nqk", barycentric, corner[part]) - where[part, None]
        power = np.power(at[..., None], np.arange(number + 1))  # (n, q, 3, number + 1)
        flux = area[part, None] * share
        across = np.einsum("nq,nqj,nqk->njk", flux, power[:, :, 1, :number], power[:, :, 2, :number])
        depth = power[:, :, 0, 1:] / np.arange(1, number + 1)
        inside = np.einsum("nq,nqi,nqj,nqk->nijk", flux, depth, power[:, :, 1, :number], power[:, :, 2, :number])
        np.add.at(own, tuple(where[part].T), inside)
        np.add.at(passed, tuple(where[part].T), across)
    behind = np.cumsum(passed[::-1], axis=0)[::-1] - passed  # of all cells further along x
    return own + behind[:, :, :, None] / np.arange(1, number + 1)[:, None, None]


def full_moments(degree: int) -> Float64:
    """Moments of a whole cell."""
    one = 1.0 / np.arange(1, degree + 2)
    return one[:, None, None] * one[:, None] * one


def _cut(corner: Float64, weight: Float64, axis: int, plane: float) -> tuple[Float64, Float64]:
    """Triangles cut in pieces that do not cross a plane."""
    side = corner[:, :, axis] - plane
    crossing = (side.min(axis=1) < -EPS) & (side.max(axis=1) > EPS)
    if not crossing.any():
        return corner, weight
    whole, split = corner[~crossing], corner[crossing]
    side = side[crossing]
    # turn each so that its first corner is alone on its side (or the others are on the plane)
    above = side > 0
    lone = np.where(above.sum(axis=1) == 1, np.argmax(above, axis=1), np.argmin(above, axis=1))
    turn = (lone[:, None] + np.arange(3)) % 3
    a, b, c = np.take_along_axis(split, turn[:, :, None], axis=1).transpose(1, 0, 2)
    da, db, dc = np.take_along_axis(side, turn, axis=1).T
    ab, ac = (a + (da / (da - d))[:, None] * (x - a) for x, d in ((b, db), (c, dc)))
    pieces = [np.stack(piece, axis=1) for piece in ((a, ab, ac), (ab, b, c), (ab, c, ac))]
    return np.concatenate([whole, *pieces]), np.concatenate([weight[~crossing], *([weight[crossing]] * 3)])


def _triangle_rule(number: int) -> tuple[Float64, Float64]:
    """Barycentric points (n², 3) and weights (sum 1) exact to the degree 2 n - 2."""
    x, w = np.polynomial.legendre.leggauss(number)
    x, w = (x + 1) / 2, w / 2
    a, b = np.meshgrid(x, x, indexing="ij")
    weight = 2 * np.outer(w * (1 - x), w)
    b = b * (1 - a)
    return np.stack([a, b, 1 - a - b], axis=-1).reshape(-1, 3), weight.ravel()
