"""Sparse factor of an inertia-like matrix, without fill-in: M = L^T D L.

L is unit lower triangular with the sparsity of M, for row i holds dof i and its ancestors (Featherstone 2005).

    factor  k from the last dof to the first:  M_ij -= M_ki M_kj / M_kk  over ancestors i, j of k;  L_k = M_k / M_kk
    solve   x <- L^-T x,  x <- D^-1 x,  x <- L^-1 x
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model


@wp.func
def factor_rows(
    mat: wp.array2d(dtype=float),
    diaginv: wp.array2d(dtype=float),
    rownnz: wp.array(dtype=int),
    rowadr: wp.array(dtype=int),
    colind: wp.array(dtype=int),
    nv: int,
    w: int,
):
    """Replace mat by its factor: D on the diagonal, L beside it; diaginv = 1/D (mj_factorI)."""
    for r in range(nv):
        k = nv - 1 - r
        start = rowadr[k]
        last = start + rownnz[k] - 1
        inv = 1.0 / mat[w, last]
        diaginv[w, k] = inv
        for q in range(last - start):
            a = last - 1 - q
            i = colind[a]
            scale = -mat[w, a] * inv
            row = rowadr[i]
            for c in range(rownnz[i]):
                mat[w, row + c] = mat[w, row + c] + scale * mat[w, start + c]
        for a in range(start, last):
            mat[w, a] = mat[w, a] * inv


@wp.func
def solve_rows(
    x: wp.array2d(dtype=float),
    mat: wp.array2d(dtype=float),
    diaginv: wp.array2d(dtype=float),
    rownnz: wp.array(dtype=int),
    rowadr: wp.array(dtype=int),
    colind: wp.array(dtype=int),
    nv: int,
    w: int,
):
    """Replace x by the solution of L^T D L y = x (mj_solveLD)."""
    for r in range(nv):
        i = nv - 1 - r
        start = rowadr[i]
        xi = x[w, i]
        for a in range(start, start + rownnz[i] - 1):
            j = colind[a]
            x[w, j] = x[w, j] - mat[w, a] * xi
    for i in range(nv):
        start = rowadr[i]
        sum = x[w, i] * diaginv[w, i]
        for a in range(start, start + rownnz[i] - 1):
            sum -= mat[w, a] * x[w, colind[a]]
        x[w, i] = sum


@wp.func
def factor_mass(m: Model, d: Data, w: int):
    """qLD, qLDiagInv from M (mj_factorM)."""
    for a in range(m.size.nC):
        d.inertia.qLD[w, a] = d.inertia.M[w, a]
    factor_rows(d.inertia.qLD, d.inertia.qLDiagInv, m.dof.M_rownnz, m.dof.M_rowadr, m.dof.M_colind, m.size.nv, w)
