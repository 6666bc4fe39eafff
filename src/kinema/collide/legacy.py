"""Convex pairs as MuJoCo treats them when nativeccd is disabled: one contact by a portal, more by tilting the shapes.

The normal of a round shape is taken from its surface at the contact. If neither shape is a sphere or an ellipsoid, both
are turned against each other about the contact by +-1e-3 rad about either tangent, and what touches then, away from the
contacts so far, is a contact of the first one's depth.
"""

import warp as wp

from kinema.collide.bundles import Geoms, Meshes, Options, Touch
from kinema.collide.emit import emit
from kinema.collide.portal import portal_overlap
from kinema.collide.precision import HALF, ONE, TINY, TWO, ZERO, mat33r, mat43r, real, unit, vec3r
from kinema.collide.support import Shape, geom_shape
from kinema.collide.workspace import Workspace
from kinema.mujoco_enums import Geom

ANGLE = wp.constant(wp.float64(1e-3))  # by which shapes are tilted [rad]
DISTINCT = wp.constant(wp.float64(1e-3))  # distance of contacts, over the smaller bounding radius
ITERATIONS = wp.constant(30)  # for the normal of an ellipsoid
TOLERANCE = wp.constant(wp.float64(1e-6))


@wp.func
def ellipsoid_normal(p: vec3r, n: vec3r, size: vec3r):
    """Normal of an ellipsoid next to the point p, by a ray from inside or by projection from outside; and if found."""
    s2 = wp.cw_mul(size, size)
    c = wp.dot(p, wp.cw_div(p, s2)) - ONE
    found = bool(True)
    searching = bool(True)
    most = int(ITERATIONS)  # a loop, not thirty copies
    if c <= ZERO:
        n = unit(n)
        for k in range(most):
            if searching:
                a = wp.dot(n, wp.cw_div(n, s2))
                b = wp.dot(p, wp.cw_div(n, s2))
                det = b * b - a * c
                x = -ONE
                if det >= TINY and a >= TINY:
                    x = (-b + wp.sqrt(det)) / a
                if x < ZERO:
                    found = k > 0
                    searching = False
                else:
                    new = unit(wp.cw_div(p + n * x, s2))
                    searching = wp.length(new - n) >= TOLERANCE
                    n = new
        return n, found
    la = ZERO
    for _k in range(most):
        if searching:
            q = vec3r(s2[0] + la, s2[1] + la, s2[2] + la)
            e = wp.cw_div(wp.cw_mul(p, size), q)
            value = wp.dot(e, e) - ONE
            slope = -TWO * wp.dot(wp.cw_mul(e, e), wp.cw_div(vec3r(ONE, ONE, ONE), q))
            step = ZERO
            if value >= TOLERANCE and slope <= -TINY:
                step = -value / slope
            searching = step >= TOLERANCE
            if searching:
                la += step
    return unit(wp.cw_div(p, vec3r(s2[0] + la, s2[1] + la, s2[2] + la))), True


@wp.func
def surface_normal(s: Shape, pos: vec3r, normal: vec3r):
    """Outward normal of a round shape at a contact, from a first guess; and whether it was changed."""
    p = wp.transpose(s.mat) * (pos - s.pos)
    n = wp.transpose(s.mat) * normal
    changed = bool(True)
    if s.type == Geom.SPHERE:
        n = p
    elif s.type == Geom.CAPSULE:
        n = vec3r(p[0], p[1], p[2] - wp.clamp(p[2], -s.size[1], s.size[1]))
    elif s.type == Geom.ELLIPSOID:
        n, changed = ellipsoid_normal(p, n, s.size)
    elif s.type == Geom.CYLINDER:
        flat = wp.abs(s.size[1] - wp.abs(p[2]))
        side = wp.abs(s.size[0] - wp.sqrt(p[0] * p[0] + p[1] * p[1]))
        changed = wp.abs(p[2]) <= real(0.95) * s.size[1] and flat >= real(0.25) * side
        if changed:
            n = vec3r(p[0], p[1], ZERO)
    else:
        changed = False
    if not changed:
        return normal, False
    return s.mat * unit(n), True


@wp.func
def fixed_normal(s1: Shape, s2: Shape, pos: vec3r, normal: vec3r) -> vec3r:
    """The normal of a contact, from the surfaces of round shapes where there are any."""
    n1, one = surface_normal(s1, pos, normal)
    n2, two = surface_normal(s2, pos, -normal)
    if one and two:
        return unit(n1 - n2)
    if one:
        return n1
    if two:
        return -n2
    return normal


@wp.func
def turn(axis: vec3r, angle: real) -> mat33r:
    """Rotation about a unit axis."""
    half = HALF * angle
    w = wp.cos(half)
    v = axis * wp.sin(half)
    x = v[0]
    y = v[1]
    z = v[2]
    return mat33r(
        ONE - TWO * (y * y + z * z), TWO * (x * y - w * z), TWO * (x * z + w * y),
        TWO * (x * y + w * z), ONE - TWO * (x * x + z * z), TWO * (y * z - w * x),
        TWO * (x * z - w * y), TWO * (y * z + w * x), ONE - TWO * (x * x + y * y),
    )  # fmt: skip


@wp.func
def turned(s: Shape, rotation: mat33r, about: vec3r) -> Shape:
    """A shape turned about a point."""
    s.pos = about + rotation * (s.pos - about)
    s.mat = rotation * s.mat
    return s


@wp.func
def collide_portal(
    w: int,
    g1: int,
    g2: int,
    margin: float,
    geoms: Geoms,
    meshes: Meshes,
    options: Options,
    touch: Touch,
    base: int,
    _work: Workspace,
) -> int:
    """Write the contacts of geoms g1, g2 of world w from slot ``base`` on; return their number."""
    s1 = geom_shape(geoms, w, g1, real(margin))
    s2 = geom_shape(geoms, w, g2, real(margin))
    near = DISTINCT * real(wp.min(geoms.rbound[w, g1], geoms.rbound[w, g2]))
    smooth = s1.type == Geom.SPHERE or s2.type == Geom.SPHERE or s1.type == Geom.ELLIPSOID or s2.type == Geom.ELLIPSOID
    trials = wp.where(options.multiccd != 0 and not smooth, 5, 1)
    t1 = s1
    t2 = s2
    places = mat43r()  # of the contacts so far
    depth = ZERO
    tangent = vec3r()
    bitangent = vec3r()
    count = int(0)
    for k in range(trials):
        if k == 0 or count > 0:
            if k > 0:
                axis = bitangent
                if k < 3:
                    axis = tangent
                rotation = turn(axis, wp.where(k % 2 == 1, -ANGLE, ANGLE))
                t1 = turned(s1, rotation, places[0])
                t2 = turned(s2, wp.transpose(rotation), places[0])
            r = portal_overlap(meshes.hull, t1, t2, real(options.ccd_tolerance), options.ccd_iterations)
            if r.found:
                normal = fixed_normal(s1, s2, r.pos, r.dir)
                fresh = bool(True)
                if k == 0:
                    depth = r.depth
                    tangent = vec3r(ZERO, ONE, ZERO)
                    if wp.abs(normal[1]) >= HALF:
                        tangent = vec3r(ZERO, ZERO, ONE)
                    tangent = unit(tangent - normal * wp.dot(normal, tangent))
                    bitangent = wp.cross(normal, tangent)
                for i in range(count):
                    fresh = fresh and wp.length(places[i] - r.pos) > near
                if fresh:
                    if count < 4:
                        places[count] = r.pos
                    dist = float(real(margin) - depth)
                    emit(touch, w, base + count, dist, wp.vec3(r.pos), wp.vec3(normal), wp.vec3())
                    count += 1
    return count
