"""Overlap of two convex shapes by a portal (minkowski portal refinement; Snethen, Game Programming Gems 7).

From a point v0 inside the Minkowski difference A - B a ray leads through the origin. A triangle v1, v2, v3 of support
points that the ray passes through is a portal; support points along its normal push it outwards. If the origin stays
behind it the shapes overlap, and the portal, pushed on until it lies on the surface, tells depth and direction. This is
what MuJoCo runs when nativeccd is disabled (libccd); the depth is along the ray's exit, not the least one.
"""

import warp as wp

from kinema.collide.bundles import Hulls
from kinema.collide.gjk import difference_support
from kinema.collide.precision import HALF, ZERO, mat43r, real, unit, vec3r
from kinema.collide.simplex import nearest_on_triangle
from kinema.collide.support import Shape, center

EPS = wp.constant(wp.float64(2.220446049250313e-16))
TURNS = wp.constant(500)  # support points, at most: rounding must not keep a search alive
SECOND = wp.constant(1)  # stages of the search: what the next support point is wanted for
THIRD = wp.constant(2)
REFINE = wp.constant(3)
DEEPEN = wp.constant(4)


@wp.struct
class Portal:
    """Four vertices of A - B, the first inside, and the points of either shape that made them."""

    v: mat43r
    p1: mat43r
    p2: mat43r


@wp.struct
class Overlap:
    """Whether the shapes overlap, how deep, along which direction, and the place."""

    found: bool
    depth: real
    dir: vec3r
    pos: vec3r


@wp.func
def put(t: Portal, i: int, a: vec3r, b: vec3r) -> Portal:
    t.v[i] = a - b
    t.p1[i] = a
    t.p2[i] = b
    return t


@wp.func
def outward(t: Portal) -> vec3r:
    """Unit normal of the portal."""
    return unit(wp.cross(t.v[2] - t.v[1], t.v[3] - t.v[1]))


@wp.func
def behind(x: real) -> bool:
    """Whether a distance along a direction says that the origin is beyond reach."""
    return x < EPS


@wp.func
def replaced(t: Portal, v4: vec3r) -> int:
    """The vertex that a new support point takes the place of, so that the ray still passes through the portal."""
    c = wp.cross(v4, t.v[0])
    if wp.dot(t.v[1], c) > ZERO:
        return wp.where(wp.dot(t.v[2], c) > ZERO, 1, 3)
    return wp.where(wp.dot(t.v[3], c) > ZERO, 2, 1)


@wp.func
def reached(t: Portal, v4: vec3r, dir: vec3r, tolerance: real) -> bool:
    """Whether a support point lies no farther out than a vertex of the portal."""
    x = wp.dot(v4, dir)
    gap = wp.min(x - wp.dot(t.v[1], dir), wp.min(x - wp.dot(t.v[2], dir), x - wp.dot(t.v[3], dir)))
    return gap <= tolerance


@wp.func
def place(t: Portal, dir: vec3r) -> vec3r:
    """The point between the shapes, with the weights that the origin has in the tetrahedron, or else on the portal."""
    b0 = wp.dot(wp.cross(t.v[1], t.v[2]), t.v[3])
    b1 = wp.dot(wp.cross(t.v[3], t.v[2]), t.v[0])
    b2 = wp.dot(wp.cross(t.v[0], t.v[1]), t.v[3])
    b3 = wp.dot(wp.cross(t.v[2], t.v[1]), t.v[0])
    total = b0 + b1 + b2 + b3
    if total < EPS:
        b0 = ZERO
        b1 = wp.dot(wp.cross(t.v[2], t.v[3]), dir)
        b2 = wp.dot(wp.cross(t.v[3], t.v[1]), dir)
        b3 = wp.dot(wp.cross(t.v[1], t.v[2]), dir)
        total = b1 + b2 + b3
    one = t.p1[0] * b0 + t.p1[1] * b1 + t.p1[2] * b2 + t.p1[3] * b3
    two = t.p2[0] * b0 + t.p2[1] * b1 + t.p2[2] * b2 + t.p2[3] * b3
    return (one + two) * (HALF / total)


@wp.func
def portal_overlap(m: Hulls, s1: Shape, s2: Shape, tolerance: real, iterations: int) -> Overlap:
    """Overlap of two inflated shapes; not found when they are apart, or only touch."""
    r = Overlap()
    t = put(Portal(), 0, center(s1), center(s2))
    if wp.length(t.v[0]) < EPS:
        t.v[0] = vec3r(real(10.0) * EPS, ZERO, ZERO)
    warm = wp.vec2i(-1, -1)
    stage = int(0)
    count = int(0)
    dir = unit(-t.v[0])
    for _turn in range(TURNS):
        a, b, _id, next = difference_support(m, s1, s2, dir, warm)
        warm = next
        v = a - b
        ahead = wp.dot(v, dir)
        if stage < DEEPEN and behind(ahead) and (stage < REFINE or ahead <= -EPS):
            return r
        if stage == 0:
            t = put(t, 1, a, b)
            dir = wp.cross(t.v[0], v)
            if wp.length_sq(dir) < EPS:  # the origin is on the ray to v
                r.found = wp.length(v) >= EPS
                r.depth = wp.length(v)
                r.dir = unit(v)
                r.pos = HALF * (a + b)
                return r
            dir = unit(dir)
            stage = SECOND
        elif stage == SECOND:
            t = put(t, 2, a, b)
            dir = unit(wp.cross(t.v[1] - t.v[0], v - t.v[0]))
            if wp.dot(dir, t.v[0]) > ZERO:
                a = t.p1[1]
                b = t.p2[1]
                t = put(t, 1, t.p1[2], t.p2[2])
                t = put(t, 2, a, b)
                dir = -dir
            stage = THIRD
        elif stage == THIRD:
            t = put(t, 3, a, b)
            if wp.dot(wp.cross(t.v[1], v), t.v[0]) <= -EPS:
                t = put(t, 2, a, b)
                dir = unit(wp.cross(t.v[1] - t.v[0], t.v[2] - t.v[0]))
            elif wp.dot(wp.cross(v, t.v[2]), t.v[0]) <= -EPS:
                t = put(t, 1, a, b)
                dir = unit(wp.cross(t.v[1] - t.v[0], t.v[2] - t.v[0]))
            else:
                stage = REFINE
        else:
            done = reached(t, v, dir, tolerance)
            if stage == REFINE and done:
                return r
            if stage == DEEPEN:
                if done or count > iterations:
                    l = nearest_on_triangle(t.v[1], t.v[2], t.v[3])
                    w = t.v[1] * l[0] + t.v[2] * l[1] + t.v[3] * l[2]
                    r.depth = wp.length(w)
                    r.found = r.depth >= EPS
                    r.dir = unit(w)
                    r.pos = place(t, dir)
                    return r
                count += 1
            t = put(t, replaced(t, v), a, b)
        if stage >= REFINE:
            dir = outward(t)
            if stage == REFINE and wp.dot(dir, t.v[1]) > -EPS:
                stage = DEEPEN
    return r
