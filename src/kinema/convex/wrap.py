"""Wrapping of a tendon around a sphere or an infinite cylinder: from two end points to two tangent points.

Both reduce to a circle in a plane: for the cylinder its cross-section, for the sphere the plane through its centre and
the two ends. There, with radius r and ends a, b,

    tangent points   t_a = (r^2 a + s r sqrt(|a|^2 - r^2) (a_y, -a_x)) / |a|^2
                     t_b = (r^2 b - s r sqrt(|b|^2 - r^2) (b_y, -b_x)) / |b|^2        s = +1: clockwise, -1: counter-

Without a side site the tendon wraps only if the straight segment meets the circle, on the shorter way. With one, it
goes around as the polyline a -> side -> b does: w = angle(a, side) + angle(side, b), each in (-pi, pi], is the winding
of that polyline; the straight segment is right when it is clear of the circle and winds alike, otherwise the sign of w
says the way around, and the arc is what the two straight pieces leave of w.

A side site inside the geom asks for wrapping inside: one point on the circle where the path touches it from within the
hollow, at which both pieces make equal angles with the circle.
"""

import warp as wp

from kinema.math.vector import normalize_with_length
from kinema.mujoco_enums import MINVAL, Wrap

NO_WRAP = wp.constant(-1.0)

_TOUCHING = wp.constant(1e-6)  # arcs below this angle are roundoff of a tendon that only touches
_PARALLEL = wp.constant(1e-7)  # cross product of unit vectors, below which they have no plane


@wp.func
def winding(p: wp.vec2, q: wp.vec2) -> float:
    """Signed angle swept from p to q about the origin, in (-pi, pi]."""
    return wp.atan2(p[0] * q[1] - p[1] * q[0], wp.dot(p, q))


@wp.func
def segments_cross(a: wp.vec2, b: wp.vec2, c: wp.vec2, d: wp.vec2) -> bool:
    """Whether the segments ab and cd intersect.

    The parameters of the intersection are compared without division, so that ends that lie on the other segment, which
    happens when a wrap begins, do not depend on roundoff.
    """
    u = b - a
    v = d - c
    det = v[1] * u[0] - v[0] * u[1]
    crossing = bool(False)
    if wp.abs(det) >= MINVAL:
        s = wp.sign(det)
        ac = a - c
        bd = b - d
        crossing = (
            (v[0] * ac[1] - v[1] * ac[0]) * s >= 0.0
            and (v[0] * bd[1] - v[1] * bd[0]) * s < 0.0
            and (u[0] * ac[1] - u[1] * ac[0]) * s >= 0.0
            and (u[0] * bd[1] - u[1] * bd[0]) * s < 0.0
        )
    return crossing


@wp.func
def tangent(p: wp.vec2, radius: float, side: float) -> wp.vec2:
    """Where the tangent through p touches the circle; side = +1 or -1 chooses one of the two."""
    pp = wp.dot(p, p)
    reach = side * radius * wp.sqrt(wp.max(pp - radius * radius, 0.0))
    return (radius * radius * p + reach * wp.vec2(p[1], -p[0])) / pp


@wp.func
def is_clear(a: wp.vec2, b: wp.vec2, radius: float) -> bool:
    """Whether the segment ab stays outside the circle."""
    ab = b - a
    s = wp.clamp(-wp.dot(ab, a) / wp.dot(ab, ab), 0.0, 1.0)
    nearest = a + s * ab
    return wp.dot(nearest, nearest) > radius * radius


@wp.func
def arc_angle(p: wp.vec2, q: wp.vec2, side: float) -> float:
    """Angle from p to q on the way round that `side` chose, in [0, 2 pi)."""
    cross = p[1] * q[0] - p[0] * q[1]
    angle = wp.atan2(wp.abs(cross), wp.dot(p, q))
    if angle > _TOUCHING and cross * side < 0.0:
        angle = 2.0 * wp.PI - angle
    return angle


@wp.func
def wrap_outside(a: wp.vec2, b: wp.vec2, side: wp.vec2, has_side: bool, radius: float):
    """Path around the outside of a circle: arc length (NO_WRAP: straight), and the two tangent points."""
    none = wp.vec2(0.0)
    ab = b - a
    rr = radius * radius
    if wp.dot(a, a) < rr or wp.dot(b, b) < rr or radius < MINVAL or wp.dot(ab, ab) < MINVAL:
        return NO_WRAP, none, none
    clear = is_clear(a, b, radius)
    turn = float(0.0)
    if has_side:
        turn = winding(a, side) + winding(side, b)
        if clear and wp.abs(turn - winding(a, b)) < wp.PI:
            return NO_WRAP, none, none
    elif clear:
        return NO_WRAP, none, none

    a0 = tangent(a, radius, 1.0)
    b0 = tangent(b, radius, -1.0)
    a1 = tangent(a, radius, -1.0)
    b1 = tangent(b, radius, 1.0)
    crossing0 = segments_cross(a, a0, b, b0)
    crossing1 = segments_cross(a, a1, b, b1)
    first = turn <= 0.0
    if not has_side:  # the shorter way; a way whose straight pieces cross is no way
        good0 = -wp.length_sq(a0 - b0)
        good1 = -wp.length_sq(a1 - b1)
        if crossing0:
            good0 = -10000.0
        if crossing1:
            good1 = -10000.0
        first = good0 > good1
    way = wp.where(first, 1.0, -1.0)
    ta = wp.where(first, a0, a1)
    tb = wp.where(first, b0, b1)
    if (first and crossing0) or (not first and crossing1):
        return NO_WRAP, none, none
    angle = float(0.0)
    if has_side:
        angle = wp.abs(turn - winding(a, ta) - winding(tb, b))
    else:
        angle = arc_angle(ta, tb, way)
    return radius * angle, ta, tb


@wp.func
def wrap_inside(a: wp.vec2, b: wp.vec2, radius: float):
    """Path that touches a circle from inside: 0 (NO_WRAP: straight), and the point of contact.

    With A = r/|a|, B = r/|b| and G the angle between a and b, the contact point is found from the root of
    asin(A sin phi) + asin(B sin phi) - 2 phi + G, by Newton's method from phi = pi/2, where it converges from the left.
    """
    none = wp.vec2(0.0)
    la = wp.length(a)
    lb = wp.length(b)
    ab = b - a
    dd = wp.dot(ab, ab)
    if la <= radius or lb <= radius or radius < MINVAL:
        return NO_WRAP, none
    if dd > MINVAL:
        s = -wp.dot(ab, a) / dd
        if s > 0.0 and s < 1.0 and wp.length(a + s * ab) <= radius:
            return NO_WRAP, none
    middle = a + b
    size = wp.length(middle)
    default = wp.vec2(radius, 0.0)
    if size > MINVAL:
        default = middle * (radius / size)

    ka = radius / la
    kb = radius / lb
    gap = wp.abs(winding(a, b))
    if wp.PI - gap < _TOUCHING:  # opposite ends: the path passes through the centre
        return NO_WRAP, none
    if gap < _TOUCHING:
        return 0.0, default

    phi = float(wp.HALF_PI)
    asin_a = wp.asin(ka)
    asin_b = wp.asin(kb)
    f = asin_a + asin_b - wp.PI + gap
    if f > 0.0:
        return 0.0, default
    found = bool(True)
    iteration = int(0)
    while found and wp.abs(f) > 1e-6:
        z = wp.sin(phi)
        slope = wp.cos(phi) * (
            ka / wp.max(MINVAL, wp.sqrt(1.0 - z * z * ka * ka)) + kb / wp.max(MINVAL, wp.sqrt(1.0 - z * z * kb * kb))
        ) - 2.0  # fmt: skip
        step = f / wp.min(slope, -MINVAL)
        found = slope < -MINVAL and step >= 0.0 and iteration < 20
        if found:
            phi -= step
            z = wp.sin(phi)
            asin_a = wp.asin(ka * z)
            asin_b = wp.asin(kb * z)
            f = asin_a + asin_b - 2.0 * phi + gap
            found = f <= 1e-6
            iteration += 1
    if not found:
        return 0.0, default
    axis = a / la
    angle = phi - asin_a
    if a[0] * b[1] - a[1] * b[0] <= 0.0:
        axis = b / lb
        angle = phi - asin_b
    c = wp.cos(angle)
    s = wp.sin(angle)
    return 0.0, radius * wp.vec2(c * axis[0] - s * axis[1], s * axis[0] + c * axis[1])


@wp.func
def wrap_plane(p0: wp.vec3, p1: wp.vec3, kind: int):
    """The two axes of the plane of a wrap, in the geom's frame."""
    e0 = wp.vec3(1.0, 0.0, 0.0)
    e1 = wp.vec3(0.0, 1.0, 0.0)
    if kind == Wrap.SPHERE:
        e0, _length0 = normalize_with_length(p0)
        along1, _length1 = normalize_with_length(p1)
        normal, size = normalize_with_length(wp.cross(e0, along1))
        if size < _PARALLEL:  # any plane through the line will do: MuJoCo's choice
            big = wp.abs(e0)
            other = wp.vec3(0.0, 1.0, 1.0)
            if big[1] > big[0] and big[1] > big[2]:
                other = wp.vec3(1.0, 0.0, 1.0)
            if big[2] > big[0] and big[2] > big[1]:
                other = wp.vec3(1.0, 1.0, 0.0)
            normal, size = normalize_with_length(wp.cross(e0, other))
        e1, _length2 = normalize_with_length(wp.cross(normal, e0))
    return e0, e1


@wp.func
def wrap(
    x0: wp.vec3, x1: wp.vec3, pos: wp.vec3, mat: wp.mat33, radius: float, kind: int, side: wp.vec3, has_side: bool
):
    """Path from x0 to x1 around a geom: length on the geom (NO_WRAP: straight), and where it touches and leaves.

    Args:
        x0: First end, global.
        x1: Second end, global.
        pos: Position of the geom.
        mat: Orientation of the geom.
        radius: Radius of the geom.
        kind: SPHERE or CYLINDER (around the geom's z axis).
        side: Position of the side site, global.
        has_side: Whether there is one.
    """
    none = wp.vec3(0.0)
    local = wp.transpose(mat)
    p0 = local * (x0 - pos)
    p1 = local * (x1 - pos)
    if wp.length(p0) < MINVAL or wp.length(p1) < MINVAL:
        return NO_WRAP, none, none
    e0, e1 = wrap_plane(p0, p1, kind)
    a = wp.vec2(wp.dot(p0, e0), wp.dot(p0, e1))
    b = wp.vec2(wp.dot(p1, e0), wp.dot(p1, e1))
    side_local = local * (side - pos)
    side_plane = wp.vec2(wp.dot(side_local, e0), wp.dot(side_local, e1))
    side_length = wp.length(side_plane)
    if side_length < MINVAL:
        side_plane = wp.vec2(radius, 0.0)
    else:
        side_plane = side_plane * (radius / side_length)

    arc = float(0.0)
    ta = wp.vec2(0.0)
    tb = wp.vec2(0.0)
    if has_side and wp.length(side_local) < radius:
        arc, ta = wrap_inside(a, b, radius)
        tb = ta
    else:
        arc, ta, tb = wrap_outside(a, b, side_plane, has_side, radius)
    if arc < 0.0:
        return NO_WRAP, none, none

    t0 = ta[0] * e0 + ta[1] * e1
    t1 = tb[0] * e0 + tb[1] * e1
    if kind == Wrap.CYLINDER:  # heights grow evenly along the unrolled path
        l0 = wp.length(a - ta)
        l1 = wp.length(b - tb)
        total = wp.max(l0 + arc + l1, MINVAL)
        rise = p1[2] - p0[2]
        z0 = p0[2] + rise * l0 / total
        z1 = p0[2] + rise * (l0 + arc) / total
        t0 = wp.vec3(t0[0], t0[1], z0)
        t1 = wp.vec3(t1[0], t1[1], z1)
        arc = wp.sqrt(arc * arc + (z1 - z0) * (z1 - z0))
    return arc, mat * t0 + pos, mat * t1 + pos
