"""Lane groups: one world worked on by 32 lanes of a CUDA warp, or by one CPU thread.

Code written for a group strides over its items, `for i in range(lane, n, lane_count())`, and meets at `sync()` where
one lane reads what another wrote. On the CPU a group has one lane: the strides become plain loops, the rest nothing.
Sums go up a fixed tree, so that they give the same bits on every run.
"""

import warp as wp


@wp.func_native("""
#if defined(__CUDA_ARCH__)
return 32;
#else
return 1;
#endif
""")
def lane_count() -> int: ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
__syncwarp();
#endif
""")
def sync(): ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
__syncthreads();
#endif
""")
def block_sync():
    """Where all threads of a block meet."""


@wp.func_native("""
#if defined(__CUDA_ARCH__)
return blockDim.x;
#else
return 1;
#endif
""")
def team_count() -> int:
    """Threads of a group that has a block to itself."""


@wp.func_native("""
#if defined(__CUDA_ARCH__)
return count;
#else
return 1;
#endif
""")
def spread_count(count: int) -> int:
    """Threads of a group that is spread over blocks: so many on CUDA."""


@wp.func_native("""
#if defined(__CUDA_ARCH__)
__shared__ int warp_sums[32];
const int lane = threadIdx.x;
int sum = own;
for (int o = 1; o < 32; o <<= 1) {
    const int left = __shfl_up_sync(0xffffffffu, sum, o);
    if ((lane & 31) >= o) sum += left;
}
__syncthreads();  // whoever still reads the sums of before
if ((lane & 31) == 31) warp_sums[lane >> 5] = sum;
__syncthreads();
int before = sum - own, total = 0;
for (int q = 0; q < (blockDim.x + 31) / 32; ++q) {
    if (q < lane >> 5) before += warp_sums[q];
    total += warp_sums[q];
}
return wp::vec_t<2, int>(before, total);
#else
return wp::vec_t<2, int>(0, own);
#endif
""")
def team_scan(own: int) -> wp.vec2i:
    """Sum over the threads of a block before this one, and over all of them."""


@wp.func_native("""
#if defined(__CUDA_ARCH__)
for (int o = 16; o > 0; o >>= 1) x += __shfl_xor_sync(0xffffffffu, x, o);
#endif
return x;
""")
def lane_sum(x: float) -> float: ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
return __shfl_sync(0xffffffffu, x, source);
#else
return x;
#endif
""")
def lane_get(x: float, source: int) -> float:
    """x of another lane of the group."""


@wp.func_native("""
#if defined(__CUDA_ARCH__)
return __shfl_sync(0xffffffffu, x, source);
#else
return x;
#endif
""")
def lane_get(x: int, source: int) -> int:  # noqa: F811
    """x of another lane of the group."""


NO_VECTORS = "defined(__CUDA_ARCH__) || defined(KN_WIDTH)"
"""Where native code may not use vectors of floats: on CUDA, and where numbers are duals (gradients/dual.cpp)."""


@wp.func_native(f"""
#if {NO_VECTORS}
return false;
#else
return true;
#endif
""")
def has_vectors() -> bool:
    """Is this a CPU thread whose native code may use vectors of floats?"""
    ...
