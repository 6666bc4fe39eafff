// x = (M + diag(shift))^-1 b, tree by tree: on CUDA a group of threads a tree, thread i with a column in registers; on the
// CPU one thread, one tree after the other. M is given by its sparse rows: ancestors of dof i, dof i last.
//
// The last dof is eliminated first, as MuJoCo does: of a singular M it is the pivot that comes last that is nothing, and
// where that stands decides the answer.
//
//     KN_COLUMNS   dofs of a tree at most, a multiple of four
//     KN_SLEEPS    1: trees may sleep, and those that do are passed over

#if KN_SLEEPS
const char* is_awake = (const char*)awake.data + (size_t)w * awake.strides[0];
const size_t to_next = awake.strides[1];
#endif

#if defined(__CUDA_ARCH__)
#include "group.cpp"
constexpr int N = KN_COLUMNS, Q = N / 4, X = N > T ? N - T : 0, ROOM = N * (N + 1) / 2;
__shared__ float S_[G][ROOM];  // lower triangle, row by row
__shared__ float4 pivot_[G][3 * (T + X)], pivot_rhs_[G][3], factors_[G][3 * Q];
float* S = S_[part];
float4 *pivot = pivot_[part], *pivot_rhs = pivot_rhs_[part], *factors = factors_[part];
const int i = lane % T, tree = lane / T;
#if KN_SLEEPS
if (*(const int*)(is_awake + tree * to_next) == 0) return;
#endif
const int first = tree_adr.data[tree], n = tree_num.data[tree];
const bool own = i < n;
static_assert(X == 0 || X == 4, "one block more than threads");
for (int t = i; t < ROOM; t += T) S[t] = 0.0f;
KN_SYNC();
for (int p = i; p < n; p += T) {
    const int adr = rowadr.data[first + p], nnz = rownnz.data[first + p];
    #pragma unroll 4
    for (int k = 0; k < nnz; ++k)
        S[p * (p + 1) / 2 + colind.data[adr + k] - first] =
            KN_AT(mat, adr + k) + (shifted && k == nnz - 1 ? KN_AT(shift, first + p) : 0.0f);
}
KN_SYNC();
const int last = n - 1;
auto entry = [&](int p, int j) -> float {  // of the matrix, from its end; beyond the tree, of the identity
    const int r = last - wp::min(p, j), c = last - wp::max(p, j);
    return c >= 0 ? S[r * (r + 1) / 2 + c] : j == p ? 1.0f : 0.0f;
};
float h[N], y = own ? KN_AT(b, first + last - i) : 0.0f;
#pragma unroll
for (int j = 0; j < N; ++j) h[j] = entry(i, j);
float corner[X ? X : 1], y2 = T + i < n ? KN_AT(b, first + last - T - i) : 0.0f;  // of a block more (cholesky.cpp)
#pragma unroll
for (int q = 0; q < X; ++q) corner[q] = entry(T + (i & 3), T + q);
#include "cholesky.cpp"
if (own) KN_AT(x, first + last - i) = y;
if (T + i < n) KN_AT(x, first + last - T - i) = y2;
#else
#define KN_AT(a, i) (*(float*)((char*)(a).data + (size_t)w * (a).strides[0] + (size_t)(i) * (a).strides[1]))
constexpr int N = KN_COLUMNS;
for (int tree = 0; tree < ntree; ++tree) {
#if KN_SLEEPS
    if (*(const int*)(is_awake + tree * to_next) == 0) continue;
#endif
    const int first = tree_adr.data[tree], n = tree_num.data[tree], last = first + n - 1;
    float U[N * N] = {}, y[N];
    for (int i = 0; i < n; ++i) {
        const int adr = rowadr.data[last - i], nnz = rownnz.data[last - i];
        for (int k = 0; k < nnz; ++k) U[i * N + last - colind.data[adr + k]] = KN_AT(mat, adr + k);
        if (shifted) U[i * N + i] += KN_AT(shift, last - i);
        y[i] = KN_AT(b, last - i);
    }
    for (int k = 0; k < n; ++k) {
        const float s = 1.0f / sqrtf(wp::max(U[k * N + k], 1e-15f));
        for (int j = k; j < n; ++j) U[k * N + j] *= s;
        y[k] *= s;
        for (int i = k + 1; i < n; ++i) {
            for (int j = i; j < n; ++j) U[i * N + j] -= U[k * N + i] * U[k * N + j];
            y[i] -= U[k * N + i] * y[k];
        }
    }
    for (int k = n - 1; k >= 0; --k) {
        for (int j = k + 1; j < n; ++j) y[k] -= U[k * N + j] * y[j];
        y[k] /= U[k * N + k];
        KN_AT(x, last - k) = y[k];
    }
}
#undef KN_AT
#endif
