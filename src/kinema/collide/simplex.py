"""The point of a simplex nearest to the origin, as barycentric coordinates (Johnson; Montanari et al., ToG 2017).

The projection p of the origin on the affine hull is inside when its coordinates, ratios of signed volumes, are
positive. Otherwise the nearest point lies on one of the sides whose coordinate is not.
"""

import warp as wp

from kinema.collide.precision import HUGE, ONE, ZERO, mat43r, real, vec3r, vec4r


@wp.func
def nearest_on_segment(a: vec3r, b: vec3r) -> wp.vec2d:
    """Weights of a and b."""
    d = b - a
    dd = wp.dot(d, d)
    if dd == ZERO:
        return wp.vec2d(ONE, ZERO)
    t = wp.clamp(-wp.dot(a, d) / dd, ZERO, ONE)
    return wp.vec2d(ONE - t, t)


@wp.func
def nearest_on_triangle(a: vec3r, b: vec3r, c: vec3r) -> vec3r:
    """Weights of a, b and c."""
    n = wp.cross(b - a, c - a)
    la = wp.dot(n, wp.cross(b, c))
    lb = wp.dot(n, wp.cross(c, a))
    lc = wp.dot(n, wp.cross(a, b))
    nn = wp.dot(n, n)
    if nn > ZERO and la > ZERO and lb > ZERO and lc > ZERO:
        return vec3r(la, lb, lc) / (la + lb + lc)

    best = real(1e30)
    res = vec3r(ONE, ZERO, ZERO)
    if la <= ZERO or nn == ZERO:
        l = nearest_on_segment(b, c)
        x = b * l[0] + c * l[1]
        d = wp.dot(x, x)
        if d < best:
            best = d
            res = vec3r(ZERO, l[0], l[1])
    if lb <= ZERO or nn == ZERO:
        l = nearest_on_segment(a, c)
        x = a * l[0] + c * l[1]
        d = wp.dot(x, x)
        if d < best:
            best = d
            res = vec3r(l[0], ZERO, l[1])
    if lc <= ZERO or nn == ZERO:
        l = nearest_on_segment(a, b)
        x = a * l[0] + b * l[1]
        d = wp.dot(x, x)
        if d < best:
            res = vec3r(l[0], l[1], ZERO)
    return res


@wp.func
def same_sign(a: real, b: real) -> bool:
    """Whether both are positive or both negative."""
    return (a > ZERO and b > ZERO) or (a < ZERO and b < ZERO)


@wp.func
def nearest_on_tetrahedron(a: vec3r, b: vec3r, c: vec3r, d: vec3r) -> vec4r:
    """Weights of a, b, c and d."""
    va = -wp.dot(b, wp.cross(c, d))
    vb = wp.dot(a, wp.cross(c, d))
    vc = -wp.dot(a, wp.cross(b, d))
    vd = wp.dot(a, wp.cross(b, c))
    v = va + vb + vc + vd
    in_a = same_sign(v, va)
    in_b = same_sign(v, vb)
    in_c = same_sign(v, vc)
    in_d = same_sign(v, vd)
    if in_a and in_b and in_c and in_d:
        return vec4r(va, vb, vc, vd) / v

    best = HUGE * HUGE
    res = vec4r(ONE, ZERO, ZERO, ZERO)
    if not in_a:
        l = nearest_on_triangle(b, c, d)
        x = b * l[0] + c * l[1] + d * l[2]
        e = wp.dot(x, x)
        if e < best:
            best = e
            res = vec4r(ZERO, l[0], l[1], l[2])
    if not in_b:
        l = nearest_on_triangle(a, c, d)
        x = a * l[0] + c * l[1] + d * l[2]
        e = wp.dot(x, x)
        if e < best:
            best = e
            res = vec4r(l[0], ZERO, l[1], l[2])
    if not in_c:
        l = nearest_on_triangle(a, b, d)
        x = a * l[0] + b * l[1] + d * l[2]
        e = wp.dot(x, x)
        if e < best:
            best = e
            res = vec4r(l[0], l[1], ZERO, l[2])
    if not in_d:
        l = nearest_on_triangle(a, b, c)
        x = a * l[0] + b * l[1] + c * l[2]
        e = wp.dot(x, x)
        if e < best:
            res = vec4r(l[0], l[1], l[2], ZERO)
    return res


@wp.func
def nearest_weights(n: int, p: mat43r) -> vec4r:
    """Weights of the first n rows of p."""
    if n == 4:
        return nearest_on_tetrahedron(p[0], p[1], p[2], p[3])
    if n == 3:
        l = nearest_on_triangle(p[0], p[1], p[2])
        return vec4r(l[0], l[1], l[2], ZERO)
    if n == 2:
        t = nearest_on_segment(p[0], p[1])
        return vec4r(t[0], t[1], ZERO, ZERO)
    return vec4r(ONE, ZERO, ZERO, ZERO)


@wp.func
def combine(l: vec4r, p: mat43r) -> vec3r:
    """The point with the given weights; unused rows have weight zero."""
    return p[0] * l[0] + p[1] * l[1] + p[2] * l[2] + p[3] * l[3]
