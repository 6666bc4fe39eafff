"""Storing vectors and matrices so that a warp's stores fall together.

On CUDA neighbouring lanes are neighbouring worlds, and the elements of neighbouring worlds lie next to each other, each
with its components together. If every lane stores its own component by component, each instruction touches as many
memory sectors as there are lanes, and writes four bytes to each. So the lanes of a warp first swap their components in
shared memory: then one instruction stores 32 neighbouring numbers.

Where the lanes are not all there, or not neighbours, and on the CPU, `put(a, w, i, value)` is `a[w, i] = value`.
"""

import warp as wp

from kinema.math.touches import touches

vec10 = wp.types.vector(length=10, dtype=float)
WARPS = 16  # of a block, at most

TILE = """
#if defined(__CUDA_ARCH__)
    __shared__ float tile[WARPS][32 * 10];
    return (wp::uint64)tile[threadIdx.x >> 5];
#else
    return 0;
#endif
""".replace("WARPS", str(WARPS))

TOGETHER = """
    auto* mine = (decltype(value)*)((char*)a.data + w * (size_t)a.strides[0] + i * (size_t)a.strides[1]);
#if defined(__CUDA_ARCH__)
    constexpr int N = sizeof(value) / sizeof(float);
    const unsigned all = 0xffffffffu;
    if (__activemask() == all) {
        const int lane = threadIdx.x & 31;
        auto* first = (decltype(value)*)__shfl_sync(all, (unsigned long long)mine, 0);
        if (__all_sync(all, mine == first + lane)) {
            float* t = (float*)tile;
            const float* v = (const float*)&value;
            #pragma unroll
            for (int k = 0; k < N; ++k) t[lane * N + k] = v[k];
            __syncwarp();
            float* out = (float*)first;
            #pragma unroll
            for (int k = 0; k < N; ++k) out[k * 32 + lane] = t[k * 32 + lane];
            __syncwarp();
            return;
        }
    }
#endif
    *mine = value;
"""

ALIGNED = """
    auto* mine = (char*)a.data + w * (size_t)a.strides[0] + i * (size_t)a.strides[1];
#if defined(__CUDA_ARCH__)
    *(float4*)mine = make_float4(value[0], value[1], value[2], value[3]);
#else
    *(decltype(value)*)mine = value;
#endif
"""


@wp.func_native(TILE)
def tile() -> wp.uint64:
    """Shared memory of this warp."""


@wp.func_native(TOGETHER)
@touches(writes="a[w, i]")
def _put_vec3(tile: wp.uint64, a: wp.array2d(dtype=wp.vec3), w: int, i: int, value: wp.vec3): ...


@wp.func_native(TOGETHER)
@touches(writes="a[w, i]")
def _put_mat33(tile: wp.uint64, a: wp.array2d(dtype=wp.mat33), w: int, i: int, value: wp.mat33): ...


@wp.func_native(TOGETHER)
@touches(writes="a[w, i]")
def _put_spatial_vector(
    tile: wp.uint64, a: wp.array2d(dtype=wp.spatial_vector), w: int, i: int, value: wp.spatial_vector
): ...


@wp.func_native(TOGETHER)
@touches(writes="a[w, i]")
def _put_vec10(tile: wp.uint64, a: wp.array2d(dtype=vec10), w: int, i: int, value: vec10): ...


@wp.func_native(ALIGNED)
@touches(writes="a[w, i]")
def put(a: wp.array2d(dtype=wp.vec4), w: int, i: int, value: wp.vec4): ...


@wp.func
def put(a: wp.array2d(dtype=wp.vec3), w: int, i: int, value: wp.vec3):  # noqa: F811
    _put_vec3(tile(), a, w, i, value)


@wp.func
def put(a: wp.array2d(dtype=wp.mat33), w: int, i: int, value: wp.mat33):  # noqa: F811
    _put_mat33(tile(), a, w, i, value)


@wp.func
def put(a: wp.array2d(dtype=wp.spatial_vector), w: int, i: int, value: wp.spatial_vector):  # noqa: F811
    _put_spatial_vector(tile(), a, w, i, value)


@wp.func
def put(a: wp.array2d(dtype=vec10), w: int, i: int, value: vec10):  # noqa: F811
    _put_vec10(tile(), a, w, i, value)
