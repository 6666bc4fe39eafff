// x = (M + diag(shift))^-1 b for a small system, by a lane group: lane i keeps column i in registers on CUDA.
// M is given by its sparse rows: ancestors of dof i, dof i last.

#define KN_AT(a, i) (*(float*)((char*)(a).data + (size_t)w * (a).strides[0] + (size_t)(i) * (a).strides[1]))
constexpr int N = KN_COLUMNS;
#if defined(__CUDA_ARCH__)
constexpr int Q = N / 4;
__shared__ __align__(16) float S_[KN_WARPS][N * N];
__shared__ __align__(16) float vec_[KN_WARPS][64];
float *S = S_[threadIdx.x >> 5], *vec = vec_[threadIdx.x >> 5];
const unsigned all = 0xffffffffu;
const bool own = lane < nv;
const int i = lane < N ? lane : N - 1;
for (int t = lane; t < N * N; t += 32) S[t] = t / N == t % N && t / N >= nv ? 1.0f : 0.0f;
__syncwarp();
if (own) {
    const int adr = rowadr.data[lane], nnz = rownnz.data[lane];
    for (int k = 0; k < nnz; ++k) {
        const int j = colind.data[adr + k];
        const float value = KN_AT(mat, adr + k) + (shifted && k == nnz - 1 ? KN_AT(shift, lane) : 0.0f);
        S[lane * N + j] = value;
        S[j * N + lane] = value;
    }
}
__syncwarp();
float h[N], inv = 0.0f, y = own ? KN_AT(b, lane) : 0.0f;
#pragma unroll
for (int j = 0; j < N; ++j) h[j] = S[j * N + i];
#pragma unroll
for (int k = 0; k < N; ++k) {
    float* now = vec + 32 * (k & 1);  // two buffers: no lane can still be reading the one written now
    now[lane] = h[k];
    __syncwarp();
    const float s = rsqrtf(wp::max(now[k], 1e-15f)), l = h[k] * s, e = lane > k ? l * s : 0.0f;
    if (lane == k) inv = s;
    #pragma unroll
    for (int t = k / 4; t < Q; ++t) {
        const float4 c = ((const float4*)now)[t];
        if (4 * t > k) h[4 * t] -= e * c.x;
        if (4 * t + 1 > k) h[4 * t + 1] -= e * c.y;
        if (4 * t + 2 > k) h[4 * t + 2] -= e * c.z;
        if (4 * t + 3 > k) h[4 * t + 3] -= e * c.w;
    }
    const float z = __shfl_sync(all, y, k) * s;
    if (lane == k) y = z; else if (lane > k) y -= l * z;
}
#pragma unroll
for (int k = N - 1; k > 0; --k) {  // lane k stopped at step k and so kept column k of the factor, unscaled
    const float z = __shfl_sync(all, y * inv, k);
    if (lane < k) y -= h[k] * inv * z;
}
if (own) KN_AT(x, lane) = y * inv;
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
