// Dual numbers: a value and its derivatives along KN_WIDTH directions, with all that Warp's templates ask of a number.
//
//   (a, a') + (b, b') = (a + b, a' + b')       (a, a') (b, b') = (a b, a b' + b a')       f(a, a') = (f(a), f'(a) a')
//
// Values are the very operations of single (or double) numbers, so a program of duals takes the branches of the program it
// was made from: which of two is greater, values say alone. Equal are duals whose derivatives are equal as well: what is
// skipped where it is 0 must not be where it is about to change. Slopes that are not finite (a root at 0, an arc at 1) count
// as 0: what stands there is a corner, and a choice of side is as good as another.

#if defined(__clang__) && !defined(__CUDA_ARCH__)
#define KN_VECTOR 1
#endif

// native functions of duals take the way of the CPU; what is said here is not edited
#if defined(__CUDA_ARCH__)
#define KN_MEET() __syncwarp()
#define __builtin_popcount __popc  // octet.py
#else
#define KN_MEET()
#endif

namespace wp {

typedef float kn_plain;
typedef double kn_real;

#ifdef KN_VECTOR
typedef float kn_tangent __attribute__((ext_vector_type(KN_WIDTH), aligned(4)));
inline kn_tangent kn_zero() { return (kn_tangent)(0.0f); }
inline kn_tangent kn_scaled(float s, kn_tangent a) { return s * a; }
inline kn_tangent kn_both(float s, kn_tangent a, float r, kn_tangent b) { return s * a + r * b; }
inline bool kn_differ(kn_tangent a, kn_tangent b)
{
    for (int k = 0; k < KN_WIDTH; ++k)
        if (a[k] != b[k]) return true;
    return false;
}
#else
struct kn_tangent {
    float c[KN_WIDTH];
    CUDA_CALLABLE inline float& operator[](int k) { return c[k]; }
    CUDA_CALLABLE inline float operator[](int k) const { return c[k]; }
};
inline CUDA_CALLABLE kn_tangent kn_zero()
{
    kn_tangent r;
#pragma unroll
    for (int k = 0; k < KN_WIDTH; ++k) r.c[k] = 0.0f;
    return r;
}
inline CUDA_CALLABLE kn_tangent kn_scaled(float s, const kn_tangent& a)
{
    kn_tangent r;
#pragma unroll
    for (int k = 0; k < KN_WIDTH; ++k) r.c[k] = s * a.c[k];
    return r;
}
inline CUDA_CALLABLE kn_tangent kn_both(float s, const kn_tangent& a, float t, const kn_tangent& b)
{
    kn_tangent r;
#pragma unroll
    for (int k = 0; k < KN_WIDTH; ++k) r.c[k] = s * a.c[k] + t * b.c[k];
    return r;
}
inline CUDA_CALLABLE kn_tangent operator+(const kn_tangent& a, const kn_tangent& b) { return kn_both(1.0f, a, 1.0f, b); }
inline CUDA_CALLABLE kn_tangent operator-(const kn_tangent& a, const kn_tangent& b) { return kn_both(1.0f, a, -1.0f, b); }
inline CUDA_CALLABLE kn_tangent operator-(const kn_tangent& a) { return kn_scaled(-1.0f, a); }
inline CUDA_CALLABLE bool kn_differ(const kn_tangent& a, const kn_tangent& b)
{
    for (int k = 0; k < KN_WIDTH; ++k)
        if (a.c[k] != b.c[k]) return true;
    return false;
}
#endif

template <typename R> struct dual_t {
    R v;
    kn_tangent t;

    dual_t() = default;
    CUDA_CALLABLE inline dual_t(R value, const kn_tangent& tangent) : v(value), t(tangent) { }
    CUDA_CALLABLE inline dual_t(float value) : v(R(value)), t(kn_zero()) { }
    CUDA_CALLABLE inline dual_t(double value) : v(R(value)), t(kn_zero()) { }
    CUDA_CALLABLE inline dual_t(int value) : v(R(value)), t(kn_zero()) { }
    CUDA_CALLABLE inline explicit dual_t(unsigned value) : v(R(value)), t(kn_zero()) { }
    CUDA_CALLABLE inline explicit dual_t(long long value) : v(R(value)), t(kn_zero()) { }
    CUDA_CALLABLE inline explicit dual_t(long value) : v(R(value)), t(kn_zero()) { }
    CUDA_CALLABLE inline explicit dual_t(unsigned long long value) : v(R(value)), t(kn_zero()) { }
    CUDA_CALLABLE inline explicit dual_t(unsigned long value) : v(R(value)), t(kn_zero()) { }
    CUDA_CALLABLE inline explicit dual_t(bool value) : v(R(value)), t(kn_zero()) { }
    template <typename Q> CUDA_CALLABLE inline explicit dual_t(const dual_t<Q>& other) : v(R(other.v)), t(other.t) { }

    template <typename Q> CUDA_CALLABLE inline dual_t& operator=(const dual_t<Q>& other)
    {
        v = R(other.v);
        t = other.t;
        return *this;
    }

    CUDA_CALLABLE inline explicit operator int() const { return int(v); }
    CUDA_CALLABLE inline explicit operator unsigned() const { return unsigned(v); }
    CUDA_CALLABLE inline explicit operator long() const { return long(v); }
    CUDA_CALLABLE inline explicit operator long long() const { return (long long)v; }
    CUDA_CALLABLE inline explicit operator bool() const { return v != R(0); }

    CUDA_CALLABLE inline dual_t& operator+=(const dual_t& b) { v += b.v; t = t + b.t; return *this; }
    CUDA_CALLABLE inline dual_t& operator-=(const dual_t& b) { v -= b.v; t = t - b.t; return *this; }
    CUDA_CALLABLE inline dual_t& operator*=(const dual_t& b)
    {
        t = kn_both(float(b.v), t, float(v), b.t);
        v *= b.v;
        return *this;
    }
    CUDA_CALLABLE inline dual_t& operator/=(const dual_t& b)
    {
        const R q = v / b.v;
        t = kn_both(float(R(1) / b.v), t, -float(q / b.v), b.t);
        v = q;
        return *this;
    }

    friend CUDA_CALLABLE inline dual_t operator+(const dual_t& a) { return a; }
    friend CUDA_CALLABLE inline dual_t operator-(const dual_t& a) { return dual_t(-a.v, -a.t); }
    friend CUDA_CALLABLE inline dual_t operator+(const dual_t& a, const dual_t& b) { return dual_t(a.v + b.v, a.t + b.t); }
    friend CUDA_CALLABLE inline dual_t operator-(const dual_t& a, const dual_t& b) { return dual_t(a.v - b.v, a.t - b.t); }
    friend CUDA_CALLABLE inline dual_t operator*(const dual_t& a, const dual_t& b)
    {
        return dual_t(a.v * b.v, kn_both(float(b.v), a.t, float(a.v), b.t));
    }
    friend CUDA_CALLABLE inline dual_t operator/(const dual_t& a, const dual_t& b)
    {
        const R q = a.v / b.v;
        return dual_t(q, kn_both(float(R(1) / b.v), a.t, -float(q / b.v), b.t));
    }
    friend CUDA_CALLABLE inline bool operator<(const dual_t& a, const dual_t& b) { return a.v < b.v; }
    friend CUDA_CALLABLE inline bool operator>(const dual_t& a, const dual_t& b) { return a.v > b.v; }
    friend CUDA_CALLABLE inline bool operator<=(const dual_t& a, const dual_t& b) { return a.v <= b.v; }
    friend CUDA_CALLABLE inline bool operator>=(const dual_t& a, const dual_t& b) { return a.v >= b.v; }
    friend CUDA_CALLABLE inline bool operator==(const dual_t& a, const dual_t& b) { return !(a != b); }
    friend CUDA_CALLABLE inline bool operator!=(const dual_t& a, const dual_t& b)
    {
        return a.v != b.v || kn_differ(a.t, b.t);
    }
};

typedef dual_t<float> dual32;
typedef dual_t<double> dual64;

// f(a) of value and slope
template <typename R> inline CUDA_CALLABLE dual_t<R> kn_chain(const dual_t<R>& a, R value, R slope)
{
    return dual_t<R>(value, kn_scaled(::isfinite(float(slope)) ? float(slope) : 0.0f, a.t));
}

#define KN_FUNCTION(NAME, VALUE, SLOPE) \
    template <typename R> inline CUDA_CALLABLE dual_t<R> NAME(const dual_t<R>& a) \
    { \
        const R x = a.v, y = R(VALUE); \
        (void)x; \
        return kn_chain<R>(a, y, R(SLOPE)); \
    }
KN_FUNCTION(sqrt, wp::sqrt(x), R(0.5) / y)
KN_FUNCTION(cbrt, wp::cbrt(x), R(1) / (R(3) * y * y))
KN_FUNCTION(sin, wp::sin(x), wp::cos(x))
KN_FUNCTION(cos, wp::cos(x), -wp::sin(x))
KN_FUNCTION(tan, wp::tan(x), R(1) + y * y)
KN_FUNCTION(asin, wp::asin(x), R(1) / wp::sqrt(R(1) - x * x))
KN_FUNCTION(acos, wp::acos(x), R(-1) / wp::sqrt(R(1) - x * x))
KN_FUNCTION(atan, wp::atan(x), R(1) / (R(1) + x * x))
KN_FUNCTION(sinh, wp::sinh(x), wp::cosh(x))
KN_FUNCTION(cosh, wp::cosh(x), wp::sinh(x))
KN_FUNCTION(tanh, wp::tanh(x), R(1) - y * y)
KN_FUNCTION(exp, wp::exp(x), y)
KN_FUNCTION(log, wp::log(x), R(1) / x)
KN_FUNCTION(log2, wp::log2(x), R(1.4426950408889634) / x)
KN_FUNCTION(log10, wp::log10(x), R(0.4342944819032518) / x)
KN_FUNCTION(abs, wp::abs(x), x < R(0) ? R(-1) : R(1))
KN_FUNCTION(floor, wp::floor(x), R(0))
KN_FUNCTION(ceil, wp::ceil(x), R(0))
KN_FUNCTION(round, wp::round(x), R(0))
KN_FUNCTION(rint, wp::rint(x), R(0))
KN_FUNCTION(trunc, wp::trunc(x), R(0))
KN_FUNCTION(sign, x < R(0) ? R(-1) : R(1), R(0))
KN_FUNCTION(radians, x * R(0.017453292519943295), R(0.017453292519943295))
KN_FUNCTION(degrees, x * R(57.29577951308232), R(57.29577951308232))
#undef KN_FUNCTION

template <typename R> inline CUDA_CALLABLE dual_t<R> sqrtf(const dual_t<R>& a) { return sqrt(a); }
template <typename R> inline CUDA_CALLABLE dual_t<R> fabsf(const dual_t<R>& a) { return abs(a); }
template <typename R> inline CUDA_CALLABLE dual_t<R> atan2(const dual_t<R>& y, const dual_t<R>& x)
{
    const R n = x.v * x.v + y.v * y.v;
    const float s = n > R(0) ? float(x.v / n) : 0.0f, c = n > R(0) ? -float(y.v / n) : 0.0f;
    return dual_t<R>(wp::atan2(y.v, x.v), kn_both(s, y.t, c, x.t));
}
template <typename R> inline CUDA_CALLABLE dual_t<R> pow(const dual_t<R>& a, const dual_t<R>& b)
{
    const R y = wp::pow(a.v, b.v);
    const float s = float(b.v * wp::pow(a.v, b.v - R(1))), l = a.v > R(0) ? float(y * wp::log(a.v)) : 0.0f;
    return dual_t<R>(y, kn_both(::isfinite(s) ? s : 0.0f, a.t, l, b.t));
}
template <typename R> inline CUDA_CALLABLE dual_t<R> copysign(const dual_t<R>& a, const dual_t<R>& b)
{
    return (a.v < R(0)) == (b.v < R(0)) ? a : -a;
}
template <typename R> inline CUDA_CALLABLE dual_t<R> min(const dual_t<R>& a, const dual_t<R>& b) { return b.v < a.v ? b : a; }
template <typename R> inline CUDA_CALLABLE dual_t<R> max(const dual_t<R>& a, const dual_t<R>& b) { return b.v > a.v ? b : a; }
template <typename R> inline CUDA_CALLABLE dual_t<R> min(float a, const dual_t<R>& b) { return min(dual_t<R>(a), b); }
template <typename R> inline CUDA_CALLABLE dual_t<R> max(float a, const dual_t<R>& b) { return max(dual_t<R>(a), b); }
template <typename R> inline CUDA_CALLABLE dual_t<R> min(const dual_t<R>& a, float b) { return min(a, dual_t<R>(b)); }
template <typename R> inline CUDA_CALLABLE dual_t<R> max(const dual_t<R>& a, float b) { return max(a, dual_t<R>(b)); }
// on a bound it counts as inside: a control at its limit can still be drawn back
template <typename R> inline CUDA_CALLABLE dual_t<R> clamp(const dual_t<R>& x, const dual_t<R>& low, const dual_t<R>& high)
{
    return x.v < low.v ? low : x.v > high.v ? high : x;
}
template <typename R> inline CUDA_CALLABLE dual_t<R> add(const dual_t<R>& a, const dual_t<R>& b) { return a + b; }
template <typename R> inline CUDA_CALLABLE dual_t<R> sub(const dual_t<R>& a, const dual_t<R>& b) { return a - b; }
template <typename R> inline CUDA_CALLABLE dual_t<R> mul(const dual_t<R>& a, const dual_t<R>& b) { return a * b; }
template <typename R> inline CUDA_CALLABLE dual_t<R> div(const dual_t<R>& a, const dual_t<R>& b) { return a / b; }
template <typename R> inline CUDA_CALLABLE dual_t<R> neg(const dual_t<R>& a) { return -a; }
template <typename R> inline CUDA_CALLABLE dual_t<R> approx_rcp(const dual_t<R>& a) { return dual_t<R>(1.0f) / a; }
template <typename R> inline CUDA_CALLABLE dual_t<R> floordiv(const dual_t<R>& a, const dual_t<R>& b)
{
    return dual_t<R>(wp::floor(a.v / b.v));
}
template <typename R> inline CUDA_CALLABLE dual_t<R> mod(const dual_t<R>& a, const dual_t<R>& b)
{
    return dual_t<R>(wp::mod(a.v, b.v), a.t);
}
template <typename R> inline CUDA_CALLABLE bool isfinite(const dual_t<R>& a) { return ::isfinite(a.v); }
template <typename R> inline CUDA_CALLABLE bool isnan(const dual_t<R>& a) { return ::isnan(a.v); }
template <typename R> inline CUDA_CALLABLE bool isinf(const dual_t<R>& a) { return ::isinf(a.v); }
// adjoints of structs of duals are compiled, though nothing calls them
template <typename R> inline CUDA_CALLABLE dual_t<R> atomicAdd(dual_t<R>* to, const dual_t<R>& more)
{
    const dual_t<R> before = *to;
    *to += more;
    return before;
}
template <typename T> inline CUDA_CALLABLE dual32 kn_cast(const T& a) { return dual32(a); }
template <typename R> inline CUDA_CALLABLE int cast_int(const dual_t<R>& a) { return int(a.v); }

// Where a ray p + t v hits a mesh, which stays: the face it hits is a plane, n . (p + t v) is constant on it, and
//   t' = -n . (p' + t v') / n . v
// Only what is differentiated here can be asked for.
struct kn_mesh_ray {
    bool result;
    int face;
    dual32 t;
    vec_t<3, dual32> normal;

    CUDA_CALLABLE inline kn_mesh_ray() : result(false), face(0), t(0.0f), normal() { }
    CUDA_CALLABLE inline kn_mesh_ray& operator+=(const kn_mesh_ray&) { return *this; }  // of adjoints that nothing calls
};
inline CUDA_CALLABLE kn_mesh_ray mesh_query_ray(
    uint64_t mesh, const vec_t<3, dual32>& p, const vec_t<3, dual32>& v, const dual32& far, int root)
{
    const vec3 from(p[0].v, p[1].v, p[2].v), along(v[0].v, v[1].v, v[2].v);
    const mesh_query_ray_t plain = mesh_query_ray(mesh, from, along, far.v, root);
    kn_mesh_ray hit;
    hit.result = plain.result;
    hit.face = plain.face;
    kn_tangent across = kn_zero();
    for (int c = 0; c < 3; ++c) {
        across = across + kn_both(plain.normal[c], p[c].t, plain.normal[c] * plain.t, v[c].t);
        hit.normal[c] = dual32(plain.normal[c]);
    }
    const float slope = -1.0f / dot(plain.normal, along);
    hit.t = dual32(plain.t, kn_scaled(::isfinite(slope) ? slope : 0.0f, across));
    return hit;
}

}  // namespace wp
