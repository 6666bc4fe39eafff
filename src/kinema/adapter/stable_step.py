"""The longest time step in which the forces of soft bodies stay stable.

Forces of a step are those of its beginning, velocities move positions (semi-implicit Euler). A mode of frequency w with
damping rate c,  v+ = v - h (w^2 x + c v),  x+ = x + h v+,  stays bounded while

    h^2 w^2 + 2 h c < 4

w^2 and c are at most the largest eigenvalues of M^-1 K and M^-1 C, with K and C of the rest shape. Stretched cloth is
stiffer than at rest, so only part of the limit is used. A step that is longer is made of several.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.linalg import eigsh

from kinema.convex.flex import elastic, tables

SHARE = 0.35
"""Of the limit 4: room for elements that are stretched by a third."""
TOLERANCE = 0.02
SMALL = 12
"""Dofs from which on an iteration finds the largest eigenvalue."""


def largest_step(m: Any, contact: float = 0.0) -> float:
    """The longest stable time step [s] of a model whose flexes are of particles; infinite without elasticity.

    Args:
        m: The model.
        contact: Stiffness per unit of mass [1/s^2] that contacts were given; MuJoCo's rules hold in their damping.
    """
    stiffness, damping = _rates(m) if tables.has_flexes(m) else (0.0, 0.0)
    stiffness = max(stiffness, contact)
    if stiffness <= 0.0 and damping <= 0.0:
        return np.inf
    limit = 4.0 * SHARE
    # h^2 w2 + 2 h c = limit, written so that neither may vanish on its own
    return float(limit / (damping + np.sqrt(damping**2 + limit * stiffness)))


def _rates(m: Any) -> tuple[float, float]:
    """Largest eigenvalues of M^-1 K and M^-1 C, at rest."""
    x = _rest(m)
    body = np.asarray(m.flex_vertbodyid)
    moves = np.asarray(m.body_dofnum)[np.maximum(body, 0)] == 3
    mass = np.asarray(m.body_mass, dtype=float)[np.maximum(body, 0)]
    # vertices of several flexes that are one body are one point
    points, number = np.unique(body, return_inverse=True)
    scale = np.zeros(len(points))
    scale[number.reshape(-1)] = np.where(moves & (body > 0), 1.0 / np.sqrt(np.where(mass > 0.0, mass, 1.0)), 0.0)
    parts = [_stretch(m, x), _bend(m), _edges(m, x)]
    found = []
    for column in (0, 1):
        blocks = [(vertices, matrices[:, None, None] * form) for vertices, form, *numbers in parts
                  for matrices in [numbers[column]]]  # fmt: skip
        found.append(_largest(blocks, number.reshape(-1), scale))
    return found[0], found[1]


def _rest(m: Any) -> np.ndarray:
    """Where vertices are at the reference: particles are bodies on the world."""
    return np.asarray(m.body_pos, dtype=float)[np.maximum(np.asarray(m.flex_vertbodyid), 0)]


Blocks = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Vertices (n, k) of elements, forms (n, 3k, 3k), and what they are multiplied by in K and in C."""


def _stretch(m: Any, x: np.ndarray) -> Blocks:
    """Elements: K = sum over edges i, j of K_ij (2 a_i) a_j', with a_e the edge, + at one end and - at the other."""
    corners = tables.element_vertices(m)
    adr = elastic.element_stiffness(m)
    flex = tables.owner(m, "elem")
    vertices, forms, factors, drags = [], [], [], []
    for dim, pairs in ((2, [(1, 2), (2, 0), (0, 1)]), (3, [(0, 1), (1, 2), (2, 0), (2, 3), (0, 3), (1, 3)])):
        mine = np.flatnonzero((adr >= 0) & (np.asarray(m.flex_dim)[flex] == dim))
        if not len(mine):
            continue
        n, k = len(pairs), dim + 1
        row, column = np.triu_indices(n)
        numbers = np.asarray(m.flex_stiffness)[adr[mine][:, None] + np.arange(len(row))]
        metric = np.zeros((len(mine), n, n))
        metric[:, row, column] = metric[:, column, row] = numbers
        at = corners[mine, :k]
        gradient = np.zeros((len(mine), n, k, 3))
        for e, (a, b) in enumerate(pairs):
            along = x[at[:, a]] - x[at[:, b]]
            gradient[:, e, a], gradient[:, e, b] = along, -along
        flat = gradient.reshape(len(mine), n, 3 * k)
        form = 2.0 * np.einsum("neu,nef,nfv->nuv", flat, metric, flat)
        padded = np.zeros((len(mine), 12, 12))
        padded[:, : 3 * k, : 3 * k] = form
        vertices.append(np.where(np.arange(4) < k, corners[mine], corners[mine, :1]))
        forms.append(padded)
        factors.append(np.ones(len(mine)))
        drags.append(np.asarray(m.flex_damping, dtype=float)[flex[mine]])
    return _joined(vertices, forms, factors, drags)


def _bend(m: Any) -> Blocks:
    """Hinges: the same 4 by 4 form for each axis."""
    if not elastic.is_elastic(m) or not np.any(elastic.is_bendy(m)):
        return _joined([], [], [], [])
    flex, adr = elastic.hinge_list(m).T
    form = np.asarray(m.flex_bending)[(adr - len(m.flex_stiffness))[:, None] + np.arange(16)].reshape(-1, 4, 4)
    wide = np.einsum("nij,ab->niajb", form, np.eye(3)).reshape(-1, 12, 12)
    return elastic.hinge_vertices(m), wide, np.ones(len(flex)), np.asarray(m.flex_damping, dtype=float)[flex]


def _edges(m: Any, x: np.ndarray) -> Blocks:
    """Springs along edges."""
    _, _, stiffness, damping = tables.edge_numbers(m).T
    ends = tables.edge_vertices(m)
    live = (stiffness != 0.0) | (damping != 0.0)
    along = x[ends[live, 0]] - x[ends[live, 1]]
    unit = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-30)
    gradient = np.concatenate([unit, -unit, np.zeros((len(unit), 6))], axis=1)
    form = gradient[:, :, None] * gradient[:, None, :]
    four = ends[live][:, [0, 1, 0, 0]]
    return four, form, stiffness[live], damping[live]


def _joined(vertices: list, forms: list, factors: list, drags: list) -> Blocks:
    if not vertices:
        return np.zeros((0, 4), int), np.zeros((0, 12, 12)), np.zeros(0), np.zeros(0)
    return np.concatenate(vertices), np.concatenate(forms), np.concatenate(factors), np.concatenate(drags)


def _largest(blocks: list[tuple[np.ndarray, np.ndarray]], number: np.ndarray, scale: np.ndarray) -> float:
    """Largest eigenvalue of the sum of the blocks, scaled by 1 / sqrt(m) on both sides."""
    rows, columns, values = [], [], []
    for vertices, form in blocks:
        if not len(vertices) or not form.any():
            continue
        point = number[vertices]
        dof = (3 * point[:, :, None] + np.arange(3)).reshape(len(point), 12)
        weight = np.repeat(scale[point], 3, axis=1)
        scaled = form * weight[:, :, None] * weight[:, None, :]
        rows.append(np.broadcast_to(dof[:, :, None], form.shape).ravel())
        columns.append(np.broadcast_to(dof[:, None, :], form.shape).ravel())
        values.append(scaled.ravel())
    if not values:
        return 0.0
    size = 3 * len(scale)
    index = np.concatenate(rows), np.concatenate(columns)
    matrix = coo_matrix((np.concatenate(values), index), shape=(size, size)).tocsr()
    if not matrix.nnz or not np.any(matrix.data):
        return 0.0
    if size <= SMALL:
        return float(np.linalg.eigvalsh(matrix.toarray())[-1])
    start = np.cos(np.arange(size, dtype=float))  # any vector that is not smooth
    found = eigsh(matrix, k=1, which="LA", v0=start, tol=TOLERANCE, return_eigenvectors=False)
    return float(found[0]) * (1.0 + TOLERANCE)
