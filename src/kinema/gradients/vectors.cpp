// Numbers of a column, or of eight columns at once; loops that lanes share out.
#undef KN_V
#undef KN_COLUMNS
#undef KN_INT
#undef KN_EACH
#undef KN_ROLLED
#undef KN_APART
#if defined(__CUDA_ARCH__)
typedef float V, V_anywhere;  // a lane takes a column
#define KN_V 1
#define KN_ROLLED _Pragma("unroll 1")  // a lane has an item or two: more copies of a body would only crowd the cache
#define KN_APART __attribute__((noinline))  // one copy, whoever calls it
#else
typedef float V __attribute__((vector_size(32)));  // eight columns at once
typedef V V_anywhere __attribute__((aligned(4)));  // in memory; a generic function forgets it of its arguments
#define KN_V 8
#define KN_ROLLED
#define KN_APART
#endif
#define KN_EACH(i, n) KN_ROLLED for (int i = lane; i < (n); i += KN_LANES)
#define KN_COLUMNS(k, n) KN_ROLLED for (int k = lane * KN_V; k < (n); k += KN_LANES * KN_V)
#define KN_INT(a, i) (*(int*)((char*)(a).data + (size_t)w * (a).strides[0] + (size_t)(i) * (a).strides[1]))

auto load = [](const float* p) -> V { return *(const V_anywhere*)p; };
auto store = [](float* p, V x) { *(V_anywhere*)p = x; };
const int nb = m.size.nbody, na = m.size.na, nc = 2 * nv + na + m.size.nu, nalone = alone.shape[0];
const bool discrete = m.opt.integrator == Integrator::DISCRETE;
