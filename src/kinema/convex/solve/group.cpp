// A group of KN_TEAM threads on CUDA that works on one system: part of a warp, a warp, or a team of warps that has a block
// to itself. Where a group is no more than a warp, a block has KN_GROUPS of them. Sums go up a fixed tree, so they give the
// same bits on every run.
#undef KN_AT
#undef KN_ROW
#undef KN_SYNC
#undef KN_MEET
// element i of world w, and the row of world w of an array whose rows are contiguous
#define KN_AT(a, i) (*(float*)((char*)(a).data + (size_t)w * (a).strides[0] + (size_t)(i) * (a).strides[1]))
#define KN_ROW(T, a) ((T*)((char*)(a).data + (size_t)w * (a).strides[0]))
#undef KN_COPY
#undef KN_COPIED
#undef KN_INVERSE_ROOT
#if defined(KN_FIBRES)
#define KN_COPY(to, from, is) (*(to) = (is) ? *(from) : 0.0f)
#define KN_COPIED()
#define KN_INVERSE_ROOT(square) (1.0f / sqrtf(square))
#else
// a number from global to shared memory, or 0 where there is none; no thread waits for it, nor keeps a register, until
// KN_COPIED
#define KN_COPY(to, from, is) \
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" \
                 ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"((is) ? 4 : 0) : "memory")
#define KN_COPIED() asm volatile("cp.async.wait_all;" ::: "memory")
#define KN_INVERSE_ROOT(square) inverse_root(square)
auto inverse_root = [](float square) -> float {  // of a normal number
    float root;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(square));
    return root;
};
#endif
constexpr int T = KN_TEAM, G = KN_GROUPS;
constexpr int CHUNK = T < 32 ? T : 32;  // threads that can ask each other
const int part = threadIdx.x / T % G;  // which group of the block
const int here = threadIdx.x % CHUNK;
const int away = (threadIdx.x & 31) - here;  // lanes of the warp before the group
const unsigned mates = CHUNK == 32 ? 0xffffffffu : ((1u << (CHUNK % 32)) - 1u) << away;
#if KN_TEAM > 32
#define KN_SYNC() __syncthreads()
#define KN_MEET()  // a sum is a meeting
__shared__ float sums[2][4][T / 32];
int turn = 0;  // two buffers: nobody can still be reading the one written now
#else
#define KN_SYNC() __syncwarp(mates)
#define KN_MEET() __syncwarp(mates)
#endif
auto add_up = [&](float* part_of, int n) {  // each of n numbers, at most four, summed over the group
    #pragma unroll
    for (int o = CHUNK / 2; o > 0; o >>= 1)
        #pragma unroll
        for (int k = 0; k < n; ++k) part_of[k] += __shfl_xor_sync(mates, part_of[k], o);
#if KN_TEAM > 32
    if (here == 0)
        for (int k = 0; k < n; ++k) sums[turn][k][threadIdx.x / 32] = part_of[k];
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < n; ++k) {
        part_of[k] = sums[turn][k][0];
        #pragma unroll
        for (int q = 1; q < T / 32; ++q) part_of[k] += sums[turn][k][q];
    }
    turn ^= 1;
#endif
};
auto sum = [&](float mine) -> float { float s[1] = {mine}; add_up(s, 1); return s[0]; };
