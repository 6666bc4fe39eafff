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
