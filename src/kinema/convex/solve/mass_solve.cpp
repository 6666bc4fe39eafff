// x = (M + diag(shift))^-1 b by a lane group: thread i keeps column i in registers on CUDA.
// M is given by its sparse rows: ancestors of dof i, dof i last.

#define KN_AT(a, i) (*(float*)((char*)(a).data + (size_t)w * (a).strides[0] + (size_t)(i) * (a).strides[1]))
constexpr int N = KN_COLUMNS;
#if defined(__CUDA_ARCH__)
#undef KN_LANES
#undef KN_TEAMED
#undef KN_SYNC
#undef KN_PIVOT
#define KN_LANES KN_TEAM
#define KN_TEAMED (KN_TEAM > 32)
#undef KN_WORKS
#define KN_PIVOT(k) true
#define KN_WORKS true
#if KN_TEAMED
#define KN_SYNC() __syncthreads()
constexpr int SLOTS = 1;
__shared__ float pivot_rhs[2];
#else
#define KN_SYNC() __syncwarp()
constexpr int SLOTS = KN_WARPS;
#endif
constexpr int Q = N / 4, ROOM = N * (N + 1) / 2;
__shared__ float S_[SLOTS][ROOM];  // lower triangle, row by row
__shared__ __align__(16) float pivot_[SLOTS][2 * KN_LANES];
const int slot = KN_TEAMED ? 0 : threadIdx.x >> 5;
float *S = S_[slot], *pivot = pivot_[slot];
const bool own = lane < nv;
for (int t = lane; t < ROOM; t += KN_LANES) S[t] = 0.0f;
KN_SYNC();
if (own) {
    const int adr = rowadr.data[lane], nnz = rownnz.data[lane];
    #pragma unroll 4
    for (int k = 0; k < nnz; ++k)
        S[lane * (lane + 1) / 2 + colind.data[adr + k]] =
            KN_AT(mat, adr + k) + (shifted && k == nnz - 1 ? KN_AT(shift, lane) : 0.0f);
}
KN_SYNC();
float h[N], y = own ? KN_AT(b, lane) : 0.0f;
#pragma unroll
for (int j = 0; j < N; ++j)
    h[j] = own && j < nv ? S[j <= lane ? lane * (lane + 1) / 2 + j : j * (j + 1) / 2 + lane] : j == lane ? 1.0f : 0.0f;
#include "cholesky.cpp"
if (own) KN_AT(x, lane) = y;
#else
float U[N * N] = {}, y[N];
for (int i = 0; i < nv; ++i) {
    const int adr = rowadr.data[i], nnz = rownnz.data[i];
    for (int k = 0; k < nnz; ++k) U[colind.data[adr + k] * N + i] = KN_AT(mat, adr + k);
    if (shifted) U[i * N + i] += KN_AT(shift, i);
    y[i] = KN_AT(b, i);
}
for (int k = 0; k < nv; ++k) {
    const float s = 1.0f / sqrtf(wp::max(U[k * N + k], 1e-15f));
    for (int j = k; j < nv; ++j) U[k * N + j] *= s;
    y[k] *= s;
    for (int i = k + 1; i < nv; ++i) {
        for (int j = i; j < nv; ++j) U[i * N + j] -= U[k * N + i] * U[k * N + j];
        y[i] -= U[k * N + i] * y[k];
    }
}
for (int k = nv - 1; k >= 0; --k) {
    for (int j = k + 1; j < nv; ++j) y[k] -= U[k * N + j] * y[j];
    y[k] /= U[k * N + k];
    KN_AT(x, k) = y[k];
}
#endif
#undef KN_AT
