"""The point of a simplex nearest to the origin, as barycentric coordinates (Johnson; Montanari et al., ToG 2017).

The projection p of the origin on the affine hull is inside when its coordinates, ratios of signed volumes, are
positive. Otherwise the nearest point lies on one of the sides whose coordinate is not.
"""

import warp as wp

from kinema.collide.precision import ONE, ZERO, mat43r, real, vec3r, vec4r


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
    l = vec3r(wp.dot(n, wp.cross(b, c)), wp.dot(n, wp.cross(c, a)), wp.dot(n, wp.cross(a, b)))
    flat = wp.dot(n, n) == ZERO
    if not flat and l[0] > ZERO and l[1] > ZERO and l[2] > ZERO:
        return l / (l[0] + l[1] + l[2])

    best = real(1e30)
    res = vec3r(ONE, ZERO, ZERO)
    p = b
    q = c
    three = int(3)
    for k in range(three):  # sides bc, ac, ab: opposite a, b, c
        if l[k] <= ZERO or flat:
            t = nearest_on_segment(p, q)
            e = wp.length_sq(p * t[0] + q * t[1])
            if e < best:
                best = e
                res = vec3r()
                res[wp.where(k == 0, 1, 0)] = t[0]
                res[wp.where(k == 2, 1, 2)] = t[1]
        p = a
        q = wp.where(k == 0, c, b)
    return res


@wp.func
def nearest_on_tetrahedron(p: mat43r) -> vec4r:
    """Weights of the four rows of p."""
    cd = wp.cross(p[2], p[3])
    ab = wp.cross(p[0], p[1])
    vol = vec4r(-wp.dot(p[1], cd), wp.dot(p[0], cd), -wp.dot(ab, p[3]), wp.dot(ab, p[2]))
    v = vol[0] + vol[1] + vol[2] + vol[3]
    best = real(1e30)
    res = vol / v
    four = int(4)
    for k in range(four):  # the side opposite vertex k
        beyond = not ((v > ZERO and vol[k] > ZERO) or (v < ZERO and vol[k] < ZERO))
        if beyond:
            i = wp.where(k == 0, 1, 0)
            j = wp.where(k < 2, 2, 1)
            h = wp.where(k < 3, 3, 2)
            l = nearest_on_triangle(p[i], p[j], p[h])
            e = wp.length_sq(p[i] * l[0] + p[j] * l[1] + p[h] * l[2])
            if e < best:
                best = e
                res = vec4r()
                res[i] = l[0]
                res[j] = l[1]
                res[h] = l[2]
    return res


@wp.func
def nearest_weights(n: int, p: mat43r) -> vec4r:
    """Weights of the first n rows of p."""
    if n == 4:
        return nearest_on_tetrahedron(p)
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
