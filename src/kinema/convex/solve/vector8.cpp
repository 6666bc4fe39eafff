// Vectors of eight floats on the CPU, the width of its registers, for rows that begin anywhere.
//
// The compiler's own loops are made for long arrays: rows of 6 to 40 numbers fall through to their scalar ends. Here the
// width is fixed, four numbers and then single ones are the end, and the order of a sum is written out.

typedef float vec8 __attribute__((vector_size(32), aligned(4)));
typedef float vec4 __attribute__((vector_size(16), aligned(4)));
typedef int ivec8 __attribute__((vector_size(32), aligned(4)));
typedef bool bvec8 __attribute__((ext_vector_type(8)));

auto block_of = [](float* row, int b) -> vec8& { return *(vec8*)(row + 8 * b); };
auto all_zero = [](vec8 x) -> bool { return !__builtin_reduce_or((ivec8)(x != 0.0f)); };
auto which_differ = [](const float* p) -> unsigned {  // from zero: bit i of number i
    const bvec8 mask = __builtin_convertvector(*(const vec8*)p != 0.0f, bvec8);
    return __builtin_bit_cast(unsigned char, mask);
};
auto sum4 = [](vec4 s) -> float { return (s[0] + s[2]) + (s[1] + s[3]); };
auto sum8 = [&](vec8 s) -> float {
    return sum4(__builtin_shufflevector(s, s, 0, 1, 2, 3) + __builtin_shufflevector(s, s, 4, 5, 6, 7));
};
auto dot = [&](const float* p, const float* q, int n) -> float {
    vec8 s = {};
    int i = 0;
    for (; i + 8 <= n; i += 8) s += *(const vec8*)(p + i) * *(const vec8*)(q + i);
    vec4 t = __builtin_shufflevector(s, s, 0, 1, 2, 3) + __builtin_shufflevector(s, s, 4, 5, 6, 7);
    if (i + 4 <= n) { t += *(const vec4*)(p + i) * *(const vec4*)(q + i); i += 4; }
    float rest = 0.0f;
    for (; i < n; ++i) rest += p[i] * q[i];
    return sum4(t) + rest;
};
auto add_scaled = [](float* y, const float* x, float s, int n) {  // y += s x
    int i = 0;
    for (; i + 8 <= n; i += 8) *(vec8*)(y + i) += s * *(const vec8*)(x + i);
    if (i + 4 <= n) { *(vec4*)(y + i) += s * *(const vec4*)(x + i); i += 4; }
    for (; i < n; ++i) y[i] += s * x[i];
};
auto copy = [](float* y, const float* x, int n) {
    int i = 0;
    for (; i + 8 <= n; i += 8) *(vec8*)(y + i) = *(const vec8*)(x + i);
    if (i + 4 <= n) { *(vec4*)(y + i) = *(const vec4*)(x + i); i += 4; }
    for (; i < n; ++i) y[i] = x[i];
};
auto copy_scaled = [](float* y, const float* x, float s, int n) {  // y = s x
    int i = 0;
    for (; i + 8 <= n; i += 8) *(vec8*)(y + i) = s * *(const vec8*)(x + i);
    if (i + 4 <= n) { *(vec4*)(y + i) = s * *(const vec4*)(x + i); i += 4; }
    for (; i < n; ++i) y[i] = s * x[i];
};
