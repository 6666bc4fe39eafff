// x = (M + diag(shift))^-1 b, tree by tree: on CUDA a group of threads a tree, thread i with column i in registers; on the
// CPU one thread, one tree after the other. M is given by its sparse rows: ancestors of dof i, dof i last.
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
auto entry = [&](int p, int j) -> float {  // of the matrix; beyond the tree, of the identity
    return p < n && j < n ? S[j <= p ? p * (p + 1) / 2 + j : j * (j + 1) / 2 + p] : j == p ? 1.0f : 0.0f;
};
float h[N], y = own ? KN_AT(b, first + i) : 0.0f;
#pragma unroll
for (int j = 0; j < N; ++j) h[j] = entry(i, j);
float corner[X ? X : 1], y2 = T + i < n ? KN_AT(b, first + T + i) : 0.0f;  // of a block more (cholesky.cpp)
#pragma unroll
for (int q = 0; q < X; ++q) corner[q] = entry(T + (i & 3), T + q);
#include "cholesky.cpp"
if (own) KN_AT(x, first + i) = y;
if (T + i < n) KN_AT(x, first + T + i) = y2;
#else
#define KN_AT(a, i) (*(float*)((char*)(a).data + (size_t)w * (a).strides[0] + (size_t)(i) * (a).strides[1]))
constexpr int N = KN_COLUMNS;
for (int tree = 0; tree < ntree; ++tree) {
#if KN_SLEEPS
    if (*(const int*)(is_awake + tree * to_next) == 0) continue;
#endif
    const int first = tree_adr.data[tree], n = tree_num.data[tree];
    float U[N * N] = {}, y[N];
    for (int i = 0; i < n; ++i) {
        const int adr = rowadr.data[first + i], nnz = rownnz.data[first + i];
        for (int k = 0; k < nnz; ++k) U[(colind.data[adr + k] - first) * N + i] = KN_AT(mat, adr + k);
        if (shifted) U[i * N + i] += KN_AT(shift, first + i);
        y[i] = KN_AT(b, first + i);
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
        KN_AT(x, first + k) = y[k];
    }
}
#undef KN_AT
#endif
