"""Sparse factor of an inertia-like matrix, without fill-in: M = L^T D L.

L is unit lower triangular with the sparsity of M, for row i holds dof i and its ancestors (Featherstone 2005).

    factor  k from the last dof to the first:  M_ij -= M_ki M_kj / M_kk  over ancestors i, j of k;  L_k = M_k / M_kk
    solve   x <- L^-T x,  x <- D^-1 x,  x <- L^-1 x

The two inner loops are native: through plain pointers they run three times as fast on the CPU.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.math.touches import touches

FACTOR = """
    const float* S = (const float*)((const char*)source.data + w * (size_t)source.strides[0]);
    // rows of a world are contiguous on the CPU, interleaved with those of other worlds on CUDA
#if defined(__CUDA_ARCH__)
    const int step = mat.strides[1] / sizeof(float);
#else
    const int step = 1;
#endif
    float* L = (float*)((char*)mat.data + w * (size_t)mat.strides[0]);
    const int* nnz = rownnz.data;
    const int* adr = rowadr.data;
    const int* col = colind.data;
    if (S != L) {
        const int size = END > 0 ? adr[END - 1] + nnz[END - 1] : 0;
        for (int a = START; a < size; a++) L[a * step] = S[a * step];
    }
    for (int k = END - 1; k >= FIRST; k--) {
        float* row = L + adr[k] * step;
        const int* ancestor = col + adr[k];
        const int diag = nnz[k] - 1;
        if (shifted) row[diag * step] += wp::index(shift, w, k);
        if (row[diag * step] < 1e-15f) row[diag * step] = 1e-15f;  // singular: mjMINVAL, as MuJoCo does
        const float inv = 1.0f / row[diag * step];
        wp::index(diaginv, w, k) = inv;
        for (int a = diag - 1; a >= 0; a--) {
            const int i = ancestor[a];
            const float scale = row[a * step] * inv;
            float* __restrict__ target = L + adr[i] * step;
            const int n = nnz[i];
#if defined(__clang__) && !defined(__CUDA_ARCH__)
#pragma clang loop vectorize(disable)
#endif
            for (int c = 0; c < n; c++) target[c * step] -= scale * row[c * step];
        }
#if defined(__clang__) && !defined(__CUDA_ARCH__)
#pragma clang loop vectorize(disable)
#endif
        for (int a = 0; a < diag; a++) row[a * step] *= inv;
    }
"""


def over(text: str, first: str, end: str, start: str) -> str:
    """The code for rows first to end - 1, whose entries begin at `start`: of all dofs, or of one tree."""
    return text.replace("FIRST", first).replace("END", end).replace("START", start)


@wp.func_native(over(FACTOR, "0", "nv", "0"))
@touches(reads="source[w] shift[w] mat[w] rownnz rowadr colind", writes="mat[w] diaginv[w]")
def factor_rows(
    source: wp.array2d(dtype=float),
    shift: wp.array2d(dtype=float),
    shifted: bool,
    mat: wp.array2d(dtype=float),
    diaginv: wp.array2d(dtype=float),
    rownnz: wp.array(dtype=int),
    rowadr: wp.array(dtype=int),
    colind: wp.array(dtype=int),
    nv: int,
    w: int,
):
    """mat = factor of source (+ diag(shift)): D on the diagonal, L beside it; diaginv = 1/D (mj_factorI).

    source may be mat itself, and shift may be diaginv.
    """


SOLVE = """
#if defined(__CUDA_ARCH__)
    const int step = mat.strides[1] / sizeof(float);
    const int xstep = x.strides[1] / sizeof(float);
#else
    const int step = 1;
    const int xstep = 1;
#endif
    const float* L = (const float*)((const char*)mat.data + w * (size_t)mat.strides[0]);
    float* y = (float*)((char*)x.data + w * (size_t)x.strides[0]);
    const int* nnz = rownnz.data;
    const int* adr = rowadr.data;
    const int* col = colind.data;
    for (int i = END - 1; i >= FIRST; i--) {
        const float* row = L + adr[i] * step;
        const int* ancestor = col + adr[i];
        const float value = y[i * xstep];
        for (int a = 0; a < nnz[i] - 1; a++) y[ancestor[a] * xstep] -= row[a * step] * value;
    }
    for (int i = FIRST; i < END; i++) {
        const float* row = L + adr[i] * step;
        const int* ancestor = col + adr[i];
        float value = y[i * xstep] * wp::index(diaginv, w, i);
        for (int a = 0; a < nnz[i] - 1; a++) value -= row[a * step] * y[ancestor[a] * xstep];
        y[i * xstep] = value;
    }
"""


NOTHING = "if (first >= end) return;\n"
"""A tree that another has taken in has no dofs (metric_pattern.py), and no first row."""


@wp.func_native(over(SOLVE, "0", "nv", "0"))
@touches(reads="x[w] mat[w] diaginv[w] rownnz rowadr colind", writes="x[w]")
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


@wp.func_native(NOTHING + over(FACTOR, "first", "end", "adr[first]"))
@touches(reads="source[w] shift[w] mat[w] rownnz rowadr colind", writes="mat[w] diaginv[w]")
def factor_range(
    source: wp.array2d(dtype=float),
    shift: wp.array2d(dtype=float),
    shifted: bool,
    mat: wp.array2d(dtype=float),
    diaginv: wp.array2d(dtype=float),
    rownnz: wp.array(dtype=int),
    rowadr: wp.array(dtype=int),
    colind: wp.array(dtype=int),
    first: int,
    end: int,
    w: int,
):
    """`factor_rows` of the dofs of one tree, first to end - 1."""


@wp.func_native(NOTHING + over(SOLVE, "first", "end", ""))
@touches(reads="x[w] mat[w] diaginv[w] rownnz rowadr colind", writes="x[w]")
def solve_range(
    x: wp.array2d(dtype=float),
    mat: wp.array2d(dtype=float),
    diaginv: wp.array2d(dtype=float),
    rownnz: wp.array(dtype=int),
    rowadr: wp.array(dtype=int),
    colind: wp.array(dtype=int),
    first: int,
    end: int,
    w: int,
):
    """`solve_rows` of the dofs of one tree."""


@wp.func
def factor_like_mass(
    m: Model, source: wp.array2d(dtype=float), shift: wp.array2d(dtype=float), shifted: bool,
    mat: wp.array2d(dtype=float), diaginv: wp.array2d(dtype=float), w: int,
):  # fmt: skip
    """`factor_rows` of a matrix that is kept as M is."""
    factor_rows(
        source, shift, shifted, mat, diaginv, m.dof.M_rownnz, m.dof.M_rowadr, m.dof.M_colind, m.size.nv, w
    )  # fmt: skip


@wp.func
def solve_like_mass(
    m: Model, x: wp.array2d(dtype=float), mat: wp.array2d(dtype=float), diaginv: wp.array2d(dtype=float), w: int
):
    """`solve_rows` of a matrix that is kept as M is."""
    solve_rows(x, mat, diaginv, m.dof.M_rownnz, m.dof.M_rowadr, m.dof.M_colind, m.size.nv, w)


@wp.func
def factor_mass(m: Model, d: Data, w: int):
    """qLD, qLDiagInv from M (mj_factorM)."""
    factor_like_mass(m, d.inertia.M, d.inertia.qLDiagInv, False, d.inertia.qLD, d.inertia.qLDiagInv, w)


@wp.func
def tree_dofs(m: Model, t: int) -> wp.vec2i:
    """The first dof of a tree, and the one after its last."""
    return wp.vec2i(m.tree.dofadr[t], m.tree.dofadr[t] + m.tree.dofnum[t])


@wp.func
def factor_tree_like_mass(
    m: Model, source: wp.array2d(dtype=float), shift: wp.array2d(dtype=float), shifted: bool,
    mat: wp.array2d(dtype=float), diaginv: wp.array2d(dtype=float), w: int, t: int,
):  # fmt: skip
    """`factor_like_mass` of one tree: trees are apart, so many threads may do them at once."""
    dofs = tree_dofs(m, t)
    factor_range(
        source, shift, shifted, mat, diaginv, m.dof.M_rownnz, m.dof.M_rowadr, m.dof.M_colind, dofs[0], dofs[1], w
    )  # fmt: skip


@wp.func
def solve_tree_like_mass(
    m: Model, x: wp.array2d(dtype=float), mat: wp.array2d(dtype=float), diaginv: wp.array2d(dtype=float), w: int,
    t: int,
):  # fmt: skip
    """`solve_like_mass` of one tree."""
    dofs = tree_dofs(m, t)
    solve_range(x, mat, diaginv, m.dof.M_rownnz, m.dof.M_rowadr, m.dof.M_colind, dofs[0], dofs[1], w)


@wp.func
def factor_tree_mass(m: Model, d: Data, w: int, t: int):
    """`factor_mass` of one tree."""
    factor_tree_like_mass(m, d.inertia.M, d.inertia.qLDiagInv, False, d.inertia.qLD, d.inertia.qLDiagInv, w, t)
