// y <- H^-1 y on CUDA: thread i of a group keeps column i of H in its registers h[N], and number i of y.
//
// H = L D L' by blocks of four: D has blocks A of four pivots. All threads publish what stands in the four columns, b; every
// thread factors A for itself, and takes c'b_j, c = A^-1 b, off its own column. Threads of the block stop there and so keep
// their columns of L A. What comes next is taken off first, and published: while its pivots wait for their square roots,
// each thread takes the rest off. One meeting for four pivots. The right hand side is solved along the way, then the way
// back:
//
//     forwards    y_i -= c_i' y_block                for i behind the block
//     backwards   x_block = A^-1 (y_block - sum of b_j x_j over j behind the block)
//
// A warp may hold one block more than it has threads for, X = 4 columns: of these only the block itself, the corner, is kept,
// column q of it by thread q in corner[4], with y2; for all else of them is in the last rows of the other columns.
//
// Shared memory, of each group: pivot (three times T + X quadruples), pivot_rhs (three), factors (three for each block).
// Three buffers: one is being read for the rest, one for its pivots, and nobody can still be reading the one written now.
{
constexpr float TINY = 1e-15f;
struct Four { float s0, s1, s2, s3, l10, l20, l30, l21, l31, l32; };  // A = K K': inverse diagonal of K, and K below it
auto factor4 = [&](const float4& a0, const float4& a1, const float4& a2, const float4& a3) -> Four {
    Four k;
    k.s0 = KN_INVERSE_ROOT(fmaxf(a0.x, TINY));
    k.l10 = a1.x * k.s0; k.l20 = a2.x * k.s0; k.l30 = a3.x * k.s0;
    k.s1 = KN_INVERSE_ROOT(fmaxf(a1.y - k.l10 * k.l10, TINY));
    k.l21 = (a2.y - k.l20 * k.l10) * k.s1; k.l31 = (a3.y - k.l30 * k.l10) * k.s1;
    k.s2 = KN_INVERSE_ROOT(fmaxf(a2.z - k.l20 * k.l20 - k.l21 * k.l21, TINY));
    k.l32 = (a3.z - k.l30 * k.l20 - k.l31 * k.l21) * k.s2;
    k.s3 = KN_INVERSE_ROOT(fmaxf(a3.w - k.l30 * k.l30 - k.l31 * k.l31 - k.l32 * k.l32, TINY));
    return k;
};
auto solve4 = [](const Four& k, const float4& b) -> float4 {  // A^-1 b
    const float z0 = b.x * k.s0, z1 = (b.y - k.l10 * z0) * k.s1, z2 = (b.z - k.l20 * z0 - k.l21 * z1) * k.s2;
    const float z3 = (b.w - k.l30 * z0 - k.l31 * z1 - k.l32 * z2) * k.s3;
    float4 c;
    c.w = z3 * k.s3;
    c.z = (z2 - k.l32 * c.w) * k.s2;
    c.y = (z1 - k.l21 * c.z - k.l31 * c.w) * k.s1;
    c.x = (z0 - k.l10 * c.y - k.l20 * c.z - k.l30 * c.w) * k.s0;
    return c;
};
auto publish_block = [&](int k) {
    float4* to = pivot + k % 3 * (T + X);
    float* rhs = (float*)(pivot_rhs + k % 3);
    if (X == 0 || k < Q - 1) {
        to[i] = make_float4(h[4 * k], h[4 * k + 1], h[4 * k + 2], h[4 * k + 3]);
        if (i >> 2 == k) {
            rhs[i & 3] = y;
            if (X)
                #pragma unroll
                for (int q = 0; q < X; ++q) ((float*)(to + T + q))[i & 3] = h[N - X + q];
        }
    } else if (i < X) {
        to[T + i] = make_float4(corner[0], corner[X ? 1 : 0], corner[X ? 2 : 0], corner[X ? 3 : 0]);
        rhs[i] = y2;
    }
};
publish_block(0);
KN_SYNC();
#pragma unroll
for (int k = 0; k < Q; ++k) {
    const float4* now = pivot + k % 3 * (T + X);
    const Four e = factor4(now[4 * k], now[4 * k + 1], now[4 * k + 2], now[4 * k + 3]);
    if (i == (X && k == Q - 1 ? 0 : 4 * k)) {
        factors[3 * k] = make_float4(e.s0, e.s1, e.s2, e.s3);
        factors[3 * k + 1] = make_float4(e.l10, e.l20, e.l30, e.l21);
        factors[3 * k + 2] = make_float4(e.l31, e.l32, 0.0f, 0.0f);
    }
    if (k == Q - 1) break;
    float4 c = solve4(e, make_float4(h[4 * k], h[4 * k + 1], h[4 * k + 2], h[4 * k + 3]));
    if (i >> 2 <= k) c = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const float4 z = pivot_rhs[k % 3];
    y = y - c.x * z.x - c.y * z.y - c.z * z.z - c.w * z.w;
    if (X) {
        const float4 t = solve4(e, now[T + (i & 3)]);
        y2 = y2 - t.x * z.x - t.y * z.y - t.z * z.z - t.w * z.w;
        #pragma unroll
        for (int q = 0; q < X; ++q) {
            const float4 p = now[T + q];
            corner[q] = corner[q] - t.x * p.x - t.y * p.y - t.z * p.z - t.w * p.w;
        }
    }
    auto take_off = [&](int from, int to) {
        #pragma unroll
        for (int j = from; j < to; ++j) {
            const float4 p = now[j];
            h[j] = h[j] - c.x * p.x - c.y * p.y - c.z * p.z - c.w * p.w;
        }
    };
    take_off(4 * k + 4, 4 * k + 8);
    if (k + 2 < Q) take_off(N - X, N);
    publish_block(k + 1);
    KN_SYNC();
    take_off(4 * k + 8, N - X);
}
auto factors_of = [&](int k) -> Four {
    const float4 f0 = factors[3 * k], f1 = factors[3 * k + 1], f2 = factors[3 * k + 2];
    return {f0.x, f0.y, f0.z, f0.w, f1.x, f1.y, f1.z, f1.w, f2.x, f2.y};
};
#pragma unroll
for (int k = Q - 1; k >= 0; --k) {
    float* rhs = (float*)(pivot_rhs + k % 3);
    if (X && k == Q - 1) {
        if (i < X) rhs[i] = y2;
    } else if (i >> 2 == k) {
        rhs[i & 3] = y;
    }
    KN_SYNC();
    const float4 z = solve4(factors_of(k), pivot_rhs[k % 3]);
    const float one = (i & 2) ? (i & 1 ? z.w : z.z) : (i & 1 ? z.y : z.x);
    if (X && k == Q - 1) y2 = one;
    if (i >> 2 == k) y = one;
    else if (i >> 2 < k) y = y - h[4 * k] * z.x - h[4 * k + 1] * z.y - h[4 * k + 2] * z.z - h[4 * k + 3] * z.w;
}
KN_SYNC();
}
