// Lane groups of sparse.cpp: one CPU thread, or a block of KN_TEAM threads on CUDA; sums of doubles, up a fixed tree.
#undef KN_WIDE_SUM
#if defined(__CUDA_ARCH__)
#undef KN_LANES
#undef KN_SYNC
#define KN_LANES KN_TEAM
#define KN_SYNC() __syncthreads()
__shared__ double wide_sums[2][5][32];  // two sets take turns: whoever writes the one, nobody reads it any more
int wide_turn = 0;
auto wide_sum = [&](auto&... sums) {  // up to five at one meeting
    const int count = sizeof...(sums), own = lane & 31;
    double s[] = {sums...};
    for (int k = 0; k < count; ++k)
        for (int o = 16; o > 0; o >>= 1) s[k] += __shfl_xor_sync(0xffffffffu, s[k], o);
    wide_turn ^= 1;
    if (own == 0) for (int k = 0; k < count; ++k) wide_sums[wide_turn][k][lane >> 5] = s[k];
    __syncthreads();
    for (int k = 0; k < count; ++k) {
        s[k] = own < (KN_LANES + 31) / 32 ? wide_sums[wide_turn][k][own] : 0.0;
        for (int o = 16; o > 0; o >>= 1) s[k] += __shfl_xor_sync(0xffffffffu, s[k], o);
    }
    int k = 0;
    ((sums = s[k++]), ...);
};
#define KN_WIDE_SUM(...) wide_sum(__VA_ARGS__)
#else
#define KN_WIDE_SUM(...)
#endif
