// x <- A^-1 x for the matrices of a product. On CUDA a warp holds a matrix of up to 32 dofs in registers, a column a lane,
// and factors it with every solve (solve/cholesky.cpp): three of these take less time than one factor in memory.
#if defined(__CUDA_ARCH__)
#undef KN_INVERSE_ROOT
#define KN_INVERSE_ROOT(square) rsqrtf(square)
const bool in_registers = nv <= 32;
auto hold = [=](const float* A, float* x) KN_APART {
    constexpr int T = 32, N = 32, Q = 8, X = 0;
    const int i = lane;
    float4 *pivot = (float4*)pivots, *pivot_rhs = pivot + 3 * T, *factors = pivot_rhs + 3;
    float h[N], y = i < nv ? x[i] : 0.0f, y2 = 0.0f, corner[1];
    KN_SYNC();
    #pragma unroll
    for (int r = 0; r < N; ++r)
        h[r] = i < nv && r < nv ? A[wp::max(i, r) * n8 + wp::min(i, r)] : i == r ? 1.0f : 0.0f;
#include "cholesky.cpp"
    if (i < nv) x[i] = y;
    KN_SYNC();
};
auto prepare = [&](float* A) { if (!in_registers) factor(A); };
auto apply_inverse = [&](const float* A, float* x) { if (in_registers) hold(A, x); else solve_one(A, x); };
#else
auto prepare = [&](float* A) { factor(A); };
auto apply_inverse = [&](const float* A, float* x) { solve_one(A, x); };
#endif
