// Numbers of eight neighbouring worlds, one a vector lane: what the widened text of a stage (widen.py) is made of.
//
// lanes, counts and flags are a float, an int and a bool of eight worlds. Arithmetic is lane by lane and in the order of
// the text, so a world gets the bits it gets alone. What a world does under a condition that others do not share is
// masked: `on` says for which lanes a store counts; All, a type of its own, that it counts for every one.
//
// Worlds lie a row a world. A vector of N numbers is read from eight places and turned, four of its numbers at a time,
// which costs half an instruction a number.

namespace wp {

typedef float float8 __attribute__((ext_vector_type(8)));
typedef int int8v __attribute__((ext_vector_type(8)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef float float2v __attribute__((ext_vector_type(2)));
typedef float4v float4u __attribute__((aligned(4)));
typedef float2v float2u __attribute__((aligned(4)));

struct lanes {
    float8 v;
    lanes() = default;
    lanes(float8 x) : v(x) {}
    lanes(float x) : v(x) {}
    lanes(double x) : v((float)x) {}
    lanes(int x) : v((float)x) {}
    lanes& operator+=(lanes b) { v += b.v; return *this; }
    lanes& operator-=(lanes b) { v -= b.v; return *this; }
    lanes& operator*=(lanes b) { v *= b.v; return *this; }
    lanes& operator/=(lanes b) { v /= b.v; return *this; }
};
struct counts {
    int8v v;
    counts() = default;
    counts(int8v x) : v(x) {}
    counts(int x) : v(x) {}
};
struct flags {  // 0 or -1
    int8v v;
    flags() = default;
    flags(int8v x) : v(x) {}
    flags(bool x) : v(x ? -1 : 0) {}
};
struct All {};

inline lanes operator+(lanes a, lanes b) { return a.v + b.v; }
inline lanes operator-(lanes a, lanes b) { return a.v - b.v; }
inline lanes operator*(lanes a, lanes b) { return a.v * b.v; }
inline lanes operator/(lanes a, lanes b) { return a.v / b.v; }
inline lanes operator-(lanes a) { return -a.v; }
inline flags operator<(lanes a, lanes b) { return a.v < b.v; }
inline flags operator>(lanes a, lanes b) { return a.v > b.v; }
inline flags operator<=(lanes a, lanes b) { return a.v <= b.v; }
inline flags operator>=(lanes a, lanes b) { return a.v >= b.v; }
inline flags operator==(lanes a, lanes b) { return a.v == b.v; }
inline flags operator!=(lanes a, lanes b) { return a.v != b.v; }
inline flags operator<(counts a, counts b) { return a.v < b.v; }
inline flags operator>(counts a, counts b) { return a.v > b.v; }
inline flags operator<=(counts a, counts b) { return a.v <= b.v; }
inline flags operator>=(counts a, counts b) { return a.v >= b.v; }
inline flags operator==(counts a, counts b) { return a.v == b.v; }
inline flags operator!=(counts a, counts b) { return a.v != b.v; }
inline flags operator==(flags a, flags b) { return ~(a.v ^ b.v); }
inline flags operator!=(flags a, flags b) { return a.v ^ b.v; }
inline flags operator&(flags a, flags b) { return a.v & b.v; }
inline flags operator|(flags a, flags b) { return a.v | b.v; }
inline flags operator~(flags a) { return ~a.v; }
inline flags operator&(All, flags b) { return b; }

inline lanes choose(flags c, lanes a, lanes b) { return c.v ? a.v : b.v; }
inline counts choose(flags c, counts a, counts b) { return c.v ? a.v : b.v; }
inline flags choose(flags c, flags a, flags b) { return c.v ? a.v : b.v; }
template <unsigned N> inline vec_t<N, lanes> choose(flags c, const vec_t<N, lanes>& a, const vec_t<N, lanes>& b)
{
    vec_t<N, lanes> r;
    for (unsigned i = 0; i < N; ++i) r.c[i] = choose(c, a.c[i], b.c[i]);
    return r;
}
template <unsigned R, unsigned C>
inline mat_t<R, C, lanes> choose(flags c, const mat_t<R, C, lanes>& a, const mat_t<R, C, lanes>& b)
{
    mat_t<R, C, lanes> r;
    for (unsigned i = 0; i < R; ++i)
        for (unsigned j = 0; j < C; ++j) r.data[i][j] = choose(c, a.data[i][j], b.data[i][j]);
    return r;
}

// Warp's functions of numbers, as builtin.h has them for float
inline lanes add(lanes a, lanes b) { return a + b; }
inline lanes sub(lanes a, lanes b) { return a - b; }
inline lanes mul(lanes a, lanes b) { return a * b; }
inline lanes div(lanes a, lanes b) { return a / b; }
inline lanes neg(lanes a) { return lanes(0.0f) - a; }
inline lanes min(lanes a, lanes b) { return choose(a <= b, a, choose(b == b, b, a)); }
inline lanes max(lanes a, lanes b) { return choose(a >= b, a, choose(b == b, b, a)); }
inline lanes clamp(lanes x, lanes a, lanes b) { return min(max(a, x), b); }
inline lanes abs(lanes a) { return __builtin_elementwise_abs(a.v); }
inline lanes sqrt(lanes a) { return __builtin_elementwise_sqrt(a.v); }
template <> inline lanes muladd(lanes a, lanes b, lanes c) { return __builtin_elementwise_fma(a.v, b.v, c.v); }
inline lanes cast_float(lanes a) { return a; }

}  // namespace wp

namespace kn {

using wp::All;
using wp::choose;
using wp::counts;
using wp::flags;
using wp::lanes;
const int WIDTH = 8;

struct World { int first; };  // and the seven after it

inline bool any(All) { return true; }
inline bool all(All) { return true; }
inline bool any(flags c) { return __builtin_reduce_or(c.v) != 0; }
inline bool all(flags c) { return __builtin_reduce_and(c.v) != 0; }
inline bool active(All, int) { return true; }
inline bool active(flags c, int k) { return c.v[k] != 0; }
template <class On, class F> inline void each(On on, F f)
{
    for (int k = 0; k < WIDTH; ++k)
        if (active(on, k)) f(k);
}

// one world's part of a value, and a value from its parts
inline float lane(const lanes& a, int k) { return a.v[k]; }
inline int lane(const counts& a, int k) { return a.v[k]; }
inline bool lane(const flags& a, int k) { return a.v[k] != 0; }
template <unsigned N> inline wp::vec_t<N, float> lane(const wp::vec_t<N, lanes>& a, int k)
{
    wp::vec_t<N, float> r;
    for (unsigned i = 0; i < N; ++i) r.c[i] = a.c[i].v[k];
    return r;
}
template <unsigned R, unsigned C> inline wp::mat_t<R, C, float> lane(const wp::mat_t<R, C, lanes>& a, int k)
{
    wp::mat_t<R, C, float> r;
    for (unsigned i = 0; i < R; ++i)
        for (unsigned j = 0; j < C; ++j) r.data[i][j] = a.data[i][j].v[k];
    return r;
}
inline void set(lanes& a, int k, float x) { a.v[k] = x; }
inline void set(counts& a, int k, int x) { a.v[k] = x; }
inline void set(flags& a, int k, bool x) { a.v[k] = x ? -1 : 0; }
template <unsigned N> inline void set(wp::vec_t<N, lanes>& a, int k, const wp::vec_t<N, float>& x)
{
    for (unsigned i = 0; i < N; ++i) a.c[i].v[k] = x.c[i];
}
template <unsigned R, unsigned C> inline void set(wp::mat_t<R, C, lanes>& a, int k, const wp::mat_t<R, C, float>& x)
{
    for (unsigned i = 0; i < R; ++i)
        for (unsigned j = 0; j < C; ++j) a.data[i][j].v[k] = x.data[i][j];
}

inline lanes widen(float x) { return lanes(x); }
inline counts widen(int x) { return counts(x); }
template <unsigned N> inline wp::vec_t<N, lanes> widen(const wp::vec_t<N, float>& x) { return wp::vec_t<N, lanes>(x); }
template <unsigned R, unsigned C> inline wp::mat_t<R, C, lanes> widen(const wp::mat_t<R, C, float>& x)
{
    wp::mat_t<R, C, lanes> r;
    for (unsigned i = 0; i < R; ++i)
        for (unsigned j = 0; j < C; ++j) r.data[i][j] = lanes(x.data[i][j]);
    return r;
}
inline int whole(const int* a)  // bits that any of eight has
{
    typedef wp::int8v int8u __attribute__((aligned(4)));
    return __builtin_reduce_or(*(const int8u*)a);
}

// ------------------------------------------------------------------------------------------ memory

#define KN_MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

inline void turn(wp::float8& a, wp::float8& b, wp::float8& c, wp::float8& d)  // 4 x 4 in each half
{
    const wp::float8 p = KN_MIX(a, b, 0, 8, 1, 9, 4, 12, 5, 13), q = KN_MIX(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
    const wp::float8 r = KN_MIX(c, d, 0, 8, 1, 9, 4, 12, 5, 13), s = KN_MIX(c, d, 2, 10, 3, 11, 6, 14, 7, 15);
    a = KN_MIX(p, r, 0, 1, 8, 9, 4, 5, 12, 13);
    b = KN_MIX(p, r, 2, 3, 10, 11, 6, 7, 14, 15);
    c = KN_MIX(q, s, 0, 1, 8, 9, 4, 5, 12, 13);
    d = KN_MIX(q, s, 2, 3, 10, 11, 6, 7, 14, 15);
}
inline wp::float8 join(wp::float4v a, wp::float4v b) { return KN_MIX(a, b, 0, 1, 2, 3, 4, 5, 6, 7); }

inline void read4(lanes* out, const char* p, size_t s)
{
    wp::float8 r[4];
    for (int k = 0; k < 4; ++k) r[k] = join(*(const wp::float4u*)(p + k * s), *(const wp::float4u*)(p + (k + 4) * s));
    turn(r[0], r[1], r[2], r[3]);
    for (int k = 0; k < 4; ++k) out[k].v = r[k];
}
inline void read2(lanes* out, const char* p, size_t s)
{
    wp::float4v r[4];
    for (int k = 0; k < 4; ++k)
        r[k] = KN_MIX(*(const wp::float2u*)(p + 2 * k * s), *(const wp::float2u*)(p + (2 * k + 1) * s), 0, 1, 2, 3);
    const wp::float8 a = join(r[0], r[2]), b = join(r[1], r[3]);
    out[0].v = KN_MIX(a, b, 0, 2, 8, 10, 4, 6, 12, 14);
    out[1].v = KN_MIX(a, b, 1, 3, 9, 11, 5, 7, 13, 15);
}
inline void read1(lanes* out, const char* p, size_t s)
{
    for (int k = 0; k < WIDTH; ++k) out->v[k] = *(const float*)(p + k * s);
}
inline void read(lanes* out, int n, const char* p, size_t s)  // n neighbouring numbers; world k's are at p + k s
{
    int i = 0;
    for (; i + 4 <= n; i += 4) read4(out + i, p + 4 * i, s);
    if (i + 2 <= n) { read2(out + i, p + 4 * i, s); i += 2; }
    if (i < n) read1(out + i, p + 4 * i, s);
}
inline void write(const lanes* from, int n, char* p, size_t s)
{
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        wp::float8 r[4];
        for (int k = 0; k < 4; ++k) r[k] = from[i + k].v;
        turn(r[0], r[1], r[2], r[3]);
        for (int k = 0; k < 4; ++k) {
            *(wp::float4u*)(p + 4 * i + k * s) = KN_MIX(r[k], r[k], 0, 1, 2, 3);
            *(wp::float4u*)(p + 4 * i + (k + 4) * s) = KN_MIX(r[k], r[k], 4, 5, 6, 7);
        }
    }
    if (i + 2 <= n) {
        const wp::float8 a = from[i].v, b = from[i + 1].v;
        const wp::float8 low = KN_MIX(a, b, 0, 8, 1, 9, 4, 12, 5, 13), high = KN_MIX(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
        *(wp::float2u*)(p + 4 * i) = KN_MIX(low, low, 0, 1);
        *(wp::float2u*)(p + 4 * i + s) = KN_MIX(low, low, 2, 3);
        *(wp::float2u*)(p + 4 * i + 2 * s) = KN_MIX(high, high, 0, 1);
        *(wp::float2u*)(p + 4 * i + 3 * s) = KN_MIX(high, high, 2, 3);
        *(wp::float2u*)(p + 4 * i + 4 * s) = KN_MIX(low, low, 4, 5);
        *(wp::float2u*)(p + 4 * i + 5 * s) = KN_MIX(low, low, 6, 7);
        *(wp::float2u*)(p + 4 * i + 6 * s) = KN_MIX(high, high, 4, 5);
        *(wp::float2u*)(p + 4 * i + 7 * s) = KN_MIX(high, high, 6, 7);
        i += 2;
    }
    if (i < n)
        for (int k = 0; k < WIDTH; ++k) *(float*)(p + 4 * i + k * s) = from[i].v[k];
}

// An element of eight worlds, s bytes apart; Common: 0 apart, mostly, for worlds share it
template <class T> struct Spread { char* p; size_t s; };
template <class T> struct Common { char* p; size_t s; };

template <class T> struct Wide;
template <> struct Wide<float> { typedef lanes type; enum { COUNT = 1 }; };
template <unsigned N> struct Wide<wp::vec_t<N, float>> { typedef wp::vec_t<N, lanes> type; enum { COUNT = N }; };
template <unsigned R, unsigned C> struct Wide<wp::mat_t<R, C, float>> {
    typedef wp::mat_t<R, C, lanes> type;
    enum { COUNT = R * C };
};

template <class T> inline typename Wide<T>::type load(Spread<T> a)
{
    typename Wide<T>::type r;
    read((lanes*)&r, Wide<T>::COUNT, a.p, a.s);
    return r;
}
inline counts load(Spread<int> a)
{
    counts r;
    for (int k = 0; k < WIDTH; ++k) r.v[k] = *(const int*)(a.p + k * a.s);
    return r;
}
template <class T> inline typename Wide<T>::type load(Common<T> a)
{
    if (__builtin_expect(a.s != 0, 0)) return load(Spread<T>{a.p, a.s});
    typename Wide<T>::type r;
    for (int i = 0; i < Wide<T>::COUNT; ++i) ((lanes*)&r)[i] = lanes(((const float*)a.p)[i]);
    return r;
}
inline counts load(Common<int> a) { return load(Spread<int>{a.p, a.s}); }

template <class T> inline char* place(const wp::array_t<T>& a, World w) { return (char*)a.data + w.first * (size_t)a.strides[0]; }
template <class T> inline char* place(const wp::array_t<T>& a, World w, int i) { return place(a, w) + i * (size_t)a.strides[1]; }
template <class T> inline char* place(const wp::array_t<T>& a, World w, int i, int j)
{
    return place(a, w, i) + j * (size_t)a.strides[2];
}
template <class T, class... I> inline Spread<T> spread(const wp::array_t<T>& a, World w, I... i)
{
    return {place(a, w, i...), (size_t)a.strides[0]};
}
template <class T, class... I> inline Common<T> common(const wp::array_t<T>& a, World w, I... i)
{
    return {place(a, w, i...), (size_t)a.strides[0]};
}

template <class T, class On> inline void store(On on, Spread<T> a, const typename Wide<T>::type& value)
{
    if (all(on)) write((const lanes*)&value, Wide<T>::COUNT, a.p, a.s);
    else each(on, [&](int k) { *(T*)(a.p + k * a.s) = lane(value, k); });
}
template <class On> inline void store(On on, Spread<int> a, const counts& value)
{
    each(on, [&](int k) { *(int*)(a.p + k * a.s) = value.v[k]; });
}
template <unsigned N, class On> inline void store(On on, Spread<wp::vec_t<N, int>> a, const wp::vec_t<N, int>& value)
{
    each(on, [&](int k) { *(wp::vec_t<N, int>*)(a.p + k * a.s) = value; });  // integers of a vector are the same in all
}

// ------------------------------------------------------------------------------------------ native functions of stages

const int MOST = 2048;  // numbers of a matrix that are turned at once, on the stack

// factor.py: mat = L'DL of source, and solve with it
template <class On, class Alone, class A, class I>
inline void factor_rows(On on, Alone alone, A source, A shift, bool shifted, A mat, A diaginv, I rownnz, I rowadr, I colind,
                        int nv, World w)
{
    const int *nnz = rownnz.data, *adr = rowadr.data, *col = colind.data;
    const int size = nv > 0 ? adr[nv - 1] + nnz[nv - 1] : 0;
    if (size > MOST || !all(on)) { each(on, alone); return; }
    lanes L[MOST];
    read(L, size, place(source, w), source.strides[0]);
    for (int k = nv - 1; k >= 0; --k) {
        lanes* row = L + adr[k];
        const int* ancestor = col + adr[k];
        const int diag = nnz[k] - 1;
        if (shifted) row[diag] += load(spread(shift, w, k));
        row[diag] = choose(row[diag] < 1e-15f, lanes(1e-15f), row[diag]);
        const lanes inv = lanes(1.0f) / row[diag];
        store(on, spread(diaginv, w, k), inv);
        for (int a = diag - 1; a >= 0; --a) {
            const int i = ancestor[a];
            const lanes scale = row[a] * inv;
            lanes* target = L + adr[i];
            const int n = nnz[i];
            for (int c = 0; c < n; ++c) target[c] -= scale * row[c];
        }
        for (int a = 0; a < diag; ++a) row[a] *= inv;
    }
    write(L, size, place(mat, w), mat.strides[0]);
}
template <class On, class Alone, class A, class I>
inline void solve_rows(On on, Alone alone, A x, A mat, A diaginv, I rownnz, I rowadr, I colind, int nv, World w)
{
    const int *nnz = rownnz.data, *adr = rowadr.data, *col = colind.data;
    const int size = nv > 0 ? adr[nv - 1] + nnz[nv - 1] : 0;
    if (size > MOST || nv > MOST / 8 || !all(on)) { each(on, alone); return; }
    lanes L[MOST], y[MOST / 8], inverse[MOST / 8];
    read(L, size, place(mat, w), mat.strides[0]);
    read(y, nv, place(x, w), x.strides[0]);
    read(inverse, nv, place(diaginv, w), diaginv.strides[0]);
    for (int i = nv - 1; i >= 0; --i) {
        const lanes value = y[i];
        for (int a = 0; a < nnz[i] - 1; ++a) y[col[adr[i] + a]] -= L[adr[i] + a] * value;
    }
    for (int i = 0; i < nv; ++i) {
        lanes value = y[i] * inverse[i];
        for (int a = 0; a < nnz[i] - 1; ++a) value -= L[adr[i] + a] * y[col[adr[i] + a]];
        y[i] = value;
    }
    write(y, nv, place(x, w), x.strides[0]);
}
// mass.py: mat[w, start + a] = cdof_colind[start + a] . force
template <class On, class Alone, class A, class V, class I>
inline void project(On on, Alone alone, A mat, V cdof, I colind, int start, int count, World w, const wp::vec_t<6, lanes>& force)
{
    if (!all(on)) { each(on, alone); return; }
    const int* col = colind.data + start;
    for (int a = 0; a < count; a += 4) {
        lanes out[4];
        const int n = count - a < 4 ? count - a : 4;
        for (int q = 0; q < n; ++q) {
            const wp::vec_t<6, lanes> c = load(spread(cdof, w, col[a + q]));
            out[q] = force.c[0] * c.c[0] + force.c[1] * c.c[1] + force.c[2] * c.c[2] + force.c[3] * c.c[3]
                + force.c[4] * c.c[4] + force.c[5] * c.c[5];
        }
        write(out, n, place(mat, w, start + a), mat.strides[0]);
    }
}
// math/store.py
template <class On, class Alone, class T>
inline void put(On on, Alone, const wp::array_t<T>& a, World w, int i, const typename Wide<T>::type& value)
{
    store(on, spread(a, w, i), value);
}
template <class On, class Alone, class T>
inline void put(On on, Alone, wp::uint64, const wp::array_t<T>& a, World w, int i, const typename Wide<T>::type& value)
{
    store(on, spread(a, w, i), value);
}

}  // namespace kn
