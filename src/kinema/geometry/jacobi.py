"""Eigenvectors of many symmetric matrices at once by cyclic Jacobi rotations.

Every pair (p, q) is turned to zero in turn, sweep after sweep, until nothing is left off the diagonal. The order in
which values come out, and which vectors stand for a value that occurs several times, follow from the order of the
turns; so they are MuJoCo's, which goes the same way.
"""

from __future__ import annotations

import numpy as np

from kinema.geometry.mesh import Float64

SWEEPS = 200
TOLERANCE = 1e-12
SMALLEST = 1e-8
"""Modes softer than this share of the stiffest are rigid motions."""


def eigenvectors(stiffness: Float64) -> tuple[Float64, np.ndarray]:
    """Modes √λ v of -K for each K (m, n, n): rows [number, modes...] (m, n²), and the numbers."""
    m, n, _ = stiffness.shape
    value, vector = decompose(stiffness)
    value = -value
    out, number = np.zeros((m, n * n)), np.zeros(m, int)
    for row, lam, v, i in zip(out, value, vector, range(m), strict=True):
        kept = np.flatnonzero(lam > np.abs(lam).max() * SMALLEST)
        number[i] = row[0] = len(kept)
        modes = (np.sqrt(lam[kept]) * v[:, kept]).T.ravel()
        row[1 : 1 + len(modes)] = modes
    return out, number


def decompose(matrix: Float64) -> tuple[Float64, Float64]:
    """Eigenvalues (m, n) and eigenvectors as columns (m, n, n)."""
    mat = matrix.copy()
    m, n, _ = mat.shape
    vec = np.broadcast_to(np.eye(n), (m, n, n)).copy()
    upper = np.triu_indices(n, 1)
    for _ in range(SWEEPS):
        busy = np.flatnonzero((mat[:, upper[0], upper[1]] ** 2).sum(axis=1) >= TOLERANCE**2)
        if not len(busy):
            break
        part, turned = mat[busy], vec[busy]
        for p in range(n):
            for q in range(p + 1, n):
                _turn(part, turned, p, q)
        mat[busy], vec[busy] = part, turned
    return np.diagonal(mat, axis1=1, axis2=2).copy(), vec


def _turn(mat: Float64, vec: Float64, p: int, q: int) -> None:
    """Rotate the plane (p, q) of every matrix so that its entry there vanishes."""
    entry = mat[:, p, q]
    chosen = np.flatnonzero(np.abs(entry) >= TOLERANCE * 1e-3)
    if not len(chosen):
        return
    entry = entry[chosen].copy()
    first, second = mat[chosen, p, p], mat[chosen, q, q]
    tau = (second - first) / (2.0 * entry)
    t = np.where(tau >= 0, 1.0, -1.0) / (np.abs(tau) + np.sqrt(1.0 + tau * tau))
    c = 1.0 / np.sqrt(1.0 + t * t)
    s = t * c
    c, s = c[:, None], s[:, None]
    rows_p, rows_q = mat[chosen, :, p], mat[chosen, :, q]
    new_p, new_q = c * rows_p - s * rows_q, s * rows_p + c * rows_q
    mat[chosen, :, p] = mat[chosen, p, :] = new_p
    mat[chosen, :, q] = mat[chosen, q, :] = new_q
    mat[chosen, p, p], mat[chosen, q, q] = first - t * entry, second + t * entry
    mat[chosen, p, q] = mat[chosen, q, p] = 0.0
    left, right = vec[chosen, :, p], vec[chosen, :, q]
    vec[chosen, :, p], vec[chosen, :, q] = c * left - s * right, s * left + c * right
