// Lane groups in native code: a CUDA warp, or one CPU thread, works on one world. Sums go up a fixed tree, so they give the
// same bits on every run.
#undef KN_LANES
#undef KN_SYNC
#undef KN_SUM
#undef KN_SUM3
#undef KN_AT
#undef KN_ROW
#undef KN_EACH
#if defined(__CUDA_ARCH__)
#define KN_LANES 32
#define KN_SYNC() __syncwarp()
#define KN_SUM(x) do { for (int o = 16; o > 0; o >>= 1) x += __shfl_xor_sync(0xffffffffu, x, o); } while (0)
#else
#define KN_LANES 1
#define KN_SYNC()
#define KN_SUM(x)
#endif
#define KN_SUM3(x, y, z) do { KN_SUM(x); KN_SUM(y); KN_SUM(z); } while (0)
// element i of world w, and the row of world w of an array whose rows are contiguous
#define KN_AT(a, i) (*(float*)((char*)(a).data + (size_t)w * (a).strides[0] + (size_t)(i) * (a).strides[1]))
#define KN_ROW(T, a) ((T*)((char*)(a).data + (size_t)w * (a).strides[0]))
#define KN_EACH(i, n) for (int i = lane; i < (n); i += KN_LANES)

const int nv = m.size.nv;
const int nefc = KN_ROW(int, d.efc.nefc)[0];
const int ne = KN_ROW(int, d.efc.ne)[0];
const int nef = ne + KN_ROW(int, d.efc.nf)[0];

