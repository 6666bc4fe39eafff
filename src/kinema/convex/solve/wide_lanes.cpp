// Lane groups of sparse.cpp: one CPU thread, or a block of KN_TEAM threads on CUDA; sums of doubles, up a fixed tree.
#undef KN_WIDE_SUM
#if defined(__CUDA_ARCH__)
#undef KN_LANES
#undef KN_SYNC
#define KN_LANES KN_TEAM
#define KN_SYNC() __syncthreads()
__shared__ double wide_sums[32];
auto wide_sum = [&](double s) -> double {
    for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
    __syncthreads();  // whoever still reads the sums of before
    if ((lane & 31) == 0) wide_sums[lane >> 5] = s;
    __syncthreads();
    double total = 0.0;
    for (int q = 0; q < (KN_LANES + 31) / 32; ++q) total += wide_sums[q];
    return total;
};
#define KN_WIDE_SUM(x) x = wide_sum(x)
#else
#define KN_WIDE_SUM(x)
#endif
