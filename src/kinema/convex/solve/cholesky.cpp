// y <- H^-1 y on CUDA: thread i of a warp or a team keeps column i of H in its registers h[N], and number i of y.
//
// Right-looking Cholesky, H = L L': the pivot's column goes through shared memory (`pivot`, room for two), and every
// thread takes it off its own column; thread k stops at step k and so keeps column k of L, unscaled. The right hand side
// is solved along the way, then the way back. KN_PIVOT(k) says whether dof k takes part, KN_WORKS whether this warp has
// any that does.
{
float inv = 1.0f;
int flip = 0;  // two buffers: no thread can still be reading the one written now
#pragma unroll
for (int k = 0; k < N; ++k) {
    if (!(KN_PIVOT(k))) continue;
    float* now = pivot + flip * KN_LANES;
    now[lane] = h[k];
#if KN_TEAMED
    if (lane == k) pivot_rhs[flip] = y;
    KN_SYNC();
    const float yk = pivot_rhs[flip];
#else
    KN_SYNC();
    const float yk = __shfl_sync(0xffffffffu, y, k);
#endif
    const float s = rsqrtf(wp::max(now[k], 1e-15f)), l = h[k] * s, e = lane > k ? l * s : 0.0f, z = yk * s;
    if (lane == k) { inv = s; y = z; } else if (lane > k) y -= l * z;
    if (KN_WORKS)
    #pragma unroll
    for (int t = k / 4; t < Q; ++t) {
        const float4 b = ((const float4*)now)[t];
        if (4 * t > k) h[4 * t] -= e * b.x;
        if (4 * t + 1 > k) h[4 * t + 1] -= e * b.y;
        if (4 * t + 2 > k) h[4 * t + 2] -= e * b.z;
        if (4 * t + 3 > k) h[4 * t + 3] -= e * b.w;
    }
    flip ^= 1;
}
#pragma unroll
for (int k = N - 1; k > 0; --k) {
    if (!(KN_PIVOT(k))) continue;
#if KN_TEAMED
    if (lane == k) pivot_rhs[flip] = y * inv;
    KN_SYNC();
    const float z = pivot_rhs[flip];
    flip ^= 1;
#else
    const float z = __shfl_sync(0xffffffffu, y * inv, k);
#endif
    if (lane < k) y -= h[k] * inv * z;
}
y *= inv;
KN_SYNC();
}
