// Lane groups in native code: a CUDA warp, a team of several warps that has a block to itself, or one CPU thread, works
// on one world. KN_TEAM says how many threads a group has on CUDA; sums go up a fixed tree, so they give the same bits.
#undef KN_LANES
#undef KN_SYNC
#undef KN_SUM
#undef KN_SUM3
#undef KN_TEAMED
#undef KN_AT
#undef KN_ROW
#undef KN_EACH
#if defined(__CUDA_ARCH__)
#define KN_LANES KN_TEAM
#define KN_TEAMED (KN_TEAM > 32)
#else
#define KN_LANES 1
#define KN_TEAMED 0
#endif
#if KN_LANES == 1
#define KN_SYNC()
#define KN_SUM(x)
#define KN_SUM3(x, y, z)
#elif KN_LANES == 32
#define KN_SYNC() __syncwarp()
#define KN_SUM(x) do { for (int o = 16; o > 0; o >>= 1) x += __shfl_xor_sync(0xffffffffu, x, o); } while (0)
#define KN_SUM3(x, y, z) do { KN_SUM(x); KN_SUM(y); KN_SUM(z); } while (0)
#else
#define KN_SYNC() __syncthreads()
#define KN_SUM(x) do { float s_[1] = {x}; team_sum(s_, 1); x = s_[0]; } while (0)
#define KN_SUM3(x, y, z) do { float s_[3] = {x, y, z}; team_sum(s_, 3); x = s_[0]; y = s_[1]; z = s_[2]; } while (0)
#endif
// element i of world w, and the row of world w of an array whose rows are contiguous
#define KN_AT(a, i) (*(float*)((char*)(a).data + (size_t)w * (a).strides[0] + (size_t)(i) * (a).strides[1]))
#define KN_ROW(T, a) ((T*)((char*)(a).data + (size_t)w * (a).strides[0]))
#define KN_EACH(i, n) for (int i = lane; i < (n); i += KN_LANES)

const int nv = m.size.nv;
const int nefc = KN_ROW(int, d.efc.nefc)[0];
const int ne = KN_ROW(int, d.efc.ne)[0];
const int nef = ne + KN_ROW(int, d.efc.nf)[0];

#if KN_TEAMED
__shared__ float sums[2][3][KN_LANES / 32];
int turn = 0;  // two buffers: nobody can still be reading the one written now
auto team_sum = [&](float* x, int n) {
    for (int k = 0; k < n; ++k) {
        for (int o = 16; o > 0; o >>= 1) x[k] += __shfl_xor_sync(0xffffffffu, x[k], o);
        if ((lane & 31) == 0) sums[turn][k][lane >> 5] = x[k];
    }
    __syncthreads();
    for (int k = 0; k < n; ++k) {
        x[k] = sums[turn][k][0];
        for (int q = 1; q < KN_LANES / 32; ++q) x[k] += sums[turn][k][q];
    }
    turn ^= 1;
};
#endif
