"""Which columns of J a row fills, and the zeros between them.

A row lives in the columns of one or two trees, and most numbers there are zero: friction of a dof has one, a contact
those of the dofs its bodies hang on. On CUDA a lane owns columns and writes each once. One CPU thread clears the row
at a stroke and then visits only the columns that have something to say; sums run in the same order, so bits are the
same.
"""

import warp as wp

from kinema.math.lanes import lane_count, sync
from kinema.math.touches import touches

ANY_TREE = wp.constant(wp.vec2i(-1, -1))

CLEAR = """
    for (int q = 0; q < 2; ++q) {
        const int t = trees[q];
        if (q == 1 && t < 0) break;
        const int from = t < 0 ? 0 : dofadr.data[t], count = t < 0 ? J.shape[2] : dofnum.data[t];
        for (int k = 0; k < rows; ++k) {
            float* row = wp::address(J, w, r + k, from);
            for (int i = 0; i < count; ++i) row[i] = 0.0f;
        }
    }
"""
"""On the CPU, where the numbers of a row follow each other."""


@wp.func
def column_count(trees: wp.vec2i, dofnum: wp.array(dtype=int), nv: int) -> int:
    """How many columns of J a row may fill."""
    if trees[0] < 0:
        return nv
    n = dofnum[trees[0]]
    if trees[1] >= 0:
        n += dofnum[trees[1]]
    return n


@wp.func
def column(trees: wp.vec2i, dofadr: wp.array(dtype=int), dofnum: wp.array(dtype=int), k: int) -> int:
    """The k-th of those columns."""
    if trees[0] < 0:
        return k
    n = dofnum[trees[0]]
    if k < n:
        return dofadr[trees[0]] + k
    return dofadr[trees[1]] + k - n


@wp.func_native(f"""
#if !defined(__CUDA_ARCH__)
{CLEAR}
#endif
""")
@touches(reads="dofadr dofnum", writes="J[w]")
def clear_rows(
    J: wp.array3d(dtype=float), w: int, r: int, rows: int, trees: wp.vec2i, dofadr: wp.array(dtype=int),
    dofnum: wp.array(dtype=int),
):  # fmt: skip
    """On the CPU zeros in the columns of some rows, for there `next_moved` passes over columns."""
    ...


@wp.func_native("""
#if !defined(__CUDA_ARCH__)
for (; k < count; ++k) {
    const int n = trees[0] < 0 ? count : dofnum.data[trees[0]];
    const int i = trees[0] < 0 ? k : k < n ? dofadr.data[trees[0]] + k : dofadr.data[trees[1]] + k - n;
    const int first = bodyid.data[i], end = bodyend.data[i];
    if ((b1 >= first && b1 < end) || (b2 >= first && b2 < end)) break;
}
#endif
return k;
""")
def next_moved(
    trees: wp.vec2i, dofadr: wp.array(dtype=int), dofnum: wp.array(dtype=int), bodyid: wp.array(dtype=int),
    bodyend: wp.array(dtype=int), b1: int, b2: int, k: int, count: int,
) -> int:  # fmt: skip
    """The next column of a row, from the k-th on, whose dof moves one of two bodies; on CUDA the k-th itself."""
    ...


touches(reads="dofadr dofnum bodyid bodyend")(next_moved.func)


@wp.func_native(f"""
#if defined(__CUDA_ARCH__)
const int n = trees[0] < 0 ? J.shape[2] : dofnum.data[trees[0]];
const int count = n + (trees[1] < 0 ? 0 : dofnum.data[trees[1]]);
for (int k = lane; k < count; k += 32) {{
    const int i = trees[0] < 0 ? k : k < n ? dofadr.data[trees[0]] + k : dofadr.data[trees[1]] + k - n;
    float entry = 0.0f;
    for (int q = 0; q < 3; ++q) if (at[q] == i) entry += value[q];
    wp::index(J, w, r, i) = entry;
}}
#else
const int rows = 1;
{CLEAR}
float* row = wp::address(J, w, r, 0);
for (int q = 0; q < 3; ++q) if (at[q] >= 0) row[at[q]] += value[q];
#endif
""")
@touches(reads="dofadr dofnum", writes="J[w]")
def put_few(
    J: wp.array3d(dtype=float), w: int, lane: int, r: int, trees: wp.vec2i, dofadr: wp.array(dtype=int),
    dofnum: wp.array(dtype=int), at: wp.vec3i, value: wp.vec3,
):  # fmt: skip
    """A row with up to three numbers, in columns `at`, -1: none; what falls into one column is added up."""
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
for (int i = lane; i < J.shape[2]; i += 32) wp::index(J, w, r, i) = 0.0f;
#else
float* row = wp::address(J, w, r, 0);
for (int i = 0; i < J.shape[2]; ++i) row[i] = 0.0f;
#endif
""")
@touches(writes="J[w]")
def clear_row(J: wp.array3d(dtype=float), w: int, lane: int, r: int):
    """Zeros in all columns of a row."""
    ...


@wp.func
def put_sparse(
    J: wp.array3d(dtype=float), jac: wp.array2d(dtype=float), colind: wp.array(dtype=int), w: int, lane: int, r: int,
    adr: int, nnz: int, scale: float,
):  # fmt: skip
    """Row r as the scaled Jacobian of a tendon, stored sparsely from adr on."""
    clear_row(J, w, lane, r)
    sync()
    for k in range(lane, nnz, lane_count()):
        J[w, r, colind[adr + k]] = scale * jac[w, adr + k]
    sync()


@wp.func
def add_sparse(
    J: wp.array3d(dtype=float), jac: wp.array2d(dtype=float), colind: wp.array(dtype=int), w: int, lane: int, r: int,
    adr: int, nnz: int, scale: float,
):  # fmt: skip
    """Another one added to it."""
    for k in range(lane, nnz, lane_count()):
        i = colind[adr + k]
        J[w, r, i] = J[w, r, i] + scale * jac[w, adr + k]
    sync()
