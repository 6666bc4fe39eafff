"""Rays against shapes: where the line p + t v first enters a shape, in the shape's own frame.

A picture shows only faces that look at the eye, so what counts is where a ray goes in; whoever is inside looks out
unhindered. |v| = 1. The origin is moved to the point nearest to the centre before a quadratic is solved, so that
float32 loses nothing over long distances. All return t, or MISS; t may be negative, the caller knows its limits.
"""

import warp as wp

MISS = wp.constant(-1.0e30)
TINY = wp.constant(1.0e-12)


@wp.func
def enter_ellipsoid(p: wp.vec3, v: wp.vec3, size: wp.vec3) -> float:
    """Sphere or ellipsoid: a unit sphere in scaled coordinates."""
    q = wp.cw_div(p, size)
    u = wp.cw_div(v, size)
    uu = wp.dot(u, u)
    t0 = -wp.dot(q, u) / uu
    q = q + u * t0
    c = 1.0 - wp.dot(q, q)
    if c < 0.0:
        return MISS
    return t0 - wp.sqrt(c / uu)


@wp.func
def enter_sphere(p: wp.vec3, v: wp.vec3, radius: float) -> float:
    t0 = -wp.dot(p, v)
    q = p + v * t0
    c = radius * radius - wp.dot(q, q)
    if c < 0.0:
        return MISS
    return t0 - wp.sqrt(c)


@wp.func
def enter_tube(p: wp.vec3, v: wp.vec3, radius: float) -> wp.vec2:
    """Both ends of the stay in an endless cylinder along z; (1, 0) where there is none."""
    a = v[0] * v[0] + v[1] * v[1]
    if a < TINY:
        if p[0] * p[0] + p[1] * p[1] <= radius * radius:
            return wp.vec2(-1.0e30, 1.0e30)
        return wp.vec2(1.0, 0.0)
    t0 = -(p[0] * v[0] + p[1] * v[1]) / a
    x = p[0] + v[0] * t0
    y = p[1] + v[1] * t0
    c = radius * radius - x * x - y * y
    if c < 0.0:
        return wp.vec2(1.0, 0.0)
    half = wp.sqrt(c / a)
    return wp.vec2(t0 - half, t0 + half)


@wp.func
def enter_capsule(p: wp.vec3, v: wp.vec3, size: wp.vec3) -> float:
    """Capsule: into the tube between the ends, or else into the nearer ball."""
    tube = enter_tube(p, v, size[0])
    if tube[0] > tube[1]:
        return MISS
    half = size[2]
    z = p[2] + v[2] * tube[0]
    if wp.abs(z) <= half:
        return tube[0]
    end = wp.where(z > half, half, -half)
    if wp.abs(z) > 1.0e29:  # along the axis: the end it comes from
        end = wp.where(v[2] < 0.0, half, -half)
    return enter_sphere(p - wp.vec3(0.0, 0.0, end), v, size[0])


@wp.func
def enter_slab(p: float, v: float, half: float) -> wp.vec2:
    """Both ends of the stay in |x| <= half."""
    if wp.abs(v) < TINY:
        if wp.abs(p) <= half:
            return wp.vec2(-1.0e30, 1.0e30)
        return wp.vec2(1.0e30, -1.0e30)
    a = (-half - p) / v
    b = (half - p) / v
    return wp.vec2(wp.min(a, b), wp.max(a, b))


@wp.func
def enter_cylinder(p: wp.vec3, v: wp.vec3, size: wp.vec3) -> float:
    tube = enter_tube(p, v, size[0])
    ends = enter_slab(p[2], v[2], size[2])
    t = wp.max(tube[0], ends[0])
    if tube[0] > tube[1] or t > wp.min(tube[1], ends[1]):
        return MISS
    return t


@wp.func
def enter_box(p: wp.vec3, v: wp.vec3, size: wp.vec3) -> float:
    x = enter_slab(p[0], v[0], size[0])
    y = enter_slab(p[1], v[1], size[1])
    z = enter_slab(p[2], v[2], size[2])
    t = wp.max(x[0], wp.max(y[0], z[0]))
    if t > wp.min(x[1], wp.min(y[1], z[1])):
        return MISS
    return t


@wp.func
def enter_plane(p: wp.vec3, v: wp.vec3, size: wp.vec3) -> float:
    """Plane z = 0 from either side, within its half sizes (0: infinite)."""
    if wp.abs(v[2]) < TINY:
        return MISS
    t = -p[2] / v[2]
    x = p + v * t
    if (size[0] > 0.0 and wp.abs(x[0]) > size[0]) or (size[1] > 0.0 and wp.abs(x[1]) > size[1]):
        return MISS
    return t


@wp.func
def normal_of_ellipsoid(x: wp.vec3, size: wp.vec3) -> wp.vec3:
    return wp.normalize(wp.cw_div(wp.cw_div(x, size), size))


@wp.func
def normal_of_capsule(x: wp.vec3, size: wp.vec3) -> wp.vec3:
    return wp.normalize(wp.vec3(x[0], x[1], x[2] - wp.clamp(x[2], -size[2], size[2])))


@wp.func
def normal_of_cylinder(x: wp.vec3, size: wp.vec3) -> wp.vec3:
    """The end or the side, whichever is nearer."""
    r = wp.sqrt(x[0] * x[0] + x[1] * x[1])
    if size[2] - wp.abs(x[2]) < size[0] - r:
        return wp.vec3(0.0, 0.0, wp.sign(x[2]))
    return wp.vec3(x[0], x[1], 0.0) / wp.max(r, TINY)


@wp.func
def normal_of_box(x: wp.vec3, size: wp.vec3) -> wp.vec3:
    """The nearest face."""
    gx = size[0] - wp.abs(x[0])
    gy = size[1] - wp.abs(x[1])
    gz = size[2] - wp.abs(x[2])
    if gx <= gy and gx <= gz:
        return wp.vec3(wp.sign(x[0]), 0.0, 0.0)
    if gy <= gz:
        return wp.vec3(0.0, wp.sign(x[1]), 0.0)
    return wp.vec3(0.0, 0.0, wp.sign(x[2]))
