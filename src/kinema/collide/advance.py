"""When two geoms that move within a step meet: directed conservative advancement (Mirtich; MuJoCo's speculative.rst).

Over a step a geom travels by dx and turns by dw about its centre c, so a point p of it moves with dx + dw x (p - c) as
the fraction t of the step goes from 0 to 1. With the nearest points x1, x2 at a distance d along n no two points close
faster than

    bound = n.(dx1 - dx2) + |dw1| r1 + |dw2| r2        r: radius of the bounding sphere

so (d - target) / bound is safe to go on by, where target = margin + 0.02 (d0 - margin) lies just above the margin.
Steps end once d is within one and a half times that clearance. Turning makes them small; after sixteen the rest of the
way is guessed from the speed C at which the two nearest points close now. What the rest of the step cannot reach,
however the geoms turn, or at the speed C where that was the guess, is no impact. The speed of impact is the larger of C
and the mean (d0 - d) / t.
"""

import warp as wp

from kinema.collide.bundles import Ahead, Geoms, Hulls, Options
from kinema.collide.convex import core, simplex_features
from kinema.collide.epa import Depth
from kinema.collide.gjk import gjk
from kinema.collide.precision import HUGE, ONE, TINY, ZERO, axis_of, mat33r, real, unit, vec3r
from kinema.collide.support import Shape, center, support
from kinema.mujoco_enums import Geom

MOST = wp.constant(16)  # safe steps
CLEARANCE = wp.constant(wp.float64(0.02))  # of the first distance: what steps aim at
ARRIVED = wp.constant(wp.float64(0.03))  # and where they end


@wp.struct
class Motion:
    """What a geom does within a step."""

    travel: vec3r  # [m]
    turn: vec3r  # [rad]
    radius: real  # of its bounding sphere [m]
    reach: real  # the farthest that a point of it may move [m]


@wp.struct
class Impact:
    """Two geoms just before they meet."""

    found: bool
    t: real  # fraction of the step after which they are where this says
    when: real  # fraction of the step after which they meet
    closing: real  # how much nearer they would come in a whole step at the speed of impact [m]
    normal: vec3r  # from the first to the second
    near: Depth  # distance, nearest points and features at t


@wp.func
def motion_of(geoms: Geoms, ahead: Ahead, w: int, g: int) -> Motion:
    """The motion of geom g of world w."""
    m = Motion()
    m.travel = vec3r(ahead.travel[w, g])
    m.turn = vec3r(ahead.turn[w, g])
    m.radius = real(geoms.rbound[w, g])
    m.reach = real(ahead.reach[w, g])
    return m


@wp.func
def rotation(v: vec3r) -> mat33r:
    """The rotation about v by |v| (Rodrigues)."""
    angle = wp.length(v)
    if angle < TINY:
        return wp.identity(3, dtype=real)
    a = v / angle
    c = wp.cos(angle)
    return wp.identity(3, dtype=real) * c + wp.skew(a) * wp.sin(angle) + wp.outer(a, a) * (ONE - c)


@wp.func
def moved(s: Shape, m: Motion, t: real) -> Shape:
    """A shape after a fraction of the step."""
    s.pos = s.pos + m.travel * t
    s.mat = rotation(m.turn * t) * s.mat
    return s


@wp.func
def moved_back(x: vec3r, s: Shape, m: Motion, t: real) -> vec3r:
    """Where a point, fixed to a shape that began as s, was at the beginning if it is at x after a fraction t."""
    return s.pos + wp.transpose(rotation(m.turn * t)) * (x - s.pos - m.travel * t)


@wp.func
def separation(hulls: Hulls, s1: Shape, s2: Shape, tolerance: real, iterations: int) -> Depth:
    """Distance, nearest points and features of two shapes, of which the first may be a plane; 0 where they overlap."""
    r = Depth()
    if s1.type == Geom.PLANE:
        n = axis_of(s1.mat, 2)
        x, feature, _warm = support(hulls, s2, -n, -1)
        r.dist = wp.dot(x - s1.pos, n)
        r.x1 = x - n * r.dist
        r.x2 = x
        r.id2 = wp.vec3i(feature, feature, feature)
        return r
    c1, taken1 = core(s1, False)
    c2, taken2 = core(s2, False)
    g = gjk(hulls, c1, c2, center(s1), center(s2), tolerance, iterations, HUGE)
    n = unit(g.x2 - g.x1)
    r = simplex_features(g, r)
    r.dist = g.dist - taken1 - taken2
    r.x1 = g.x1 + n * taken1
    r.x2 = g.x2 - n * taken2
    return r


@wp.func
def point_travel(x: vec3r, s: Shape, m: Motion) -> vec3r:
    """How far a point of a moved shape would go in a whole step."""
    return m.travel + wp.cross(m.turn, x - s.pos)


@wp.func
def advance(hulls: Hulls, s1: Shape, s2: Shape, m1: Motion, m2: Motion, margin: real, options: Options) -> Impact:
    """When two shapes come within the margin of each other in this step, if they do and are not yet."""
    hit = Impact()
    tolerance = real(options.ccd_tolerance)
    turning = wp.length(m1.turn) * m1.radius + wp.length(m2.turn) * m2.radius
    first = ZERO
    t = ZERO
    steps = int(MOST) + 1
    for k in range(steps):
        a = moved(s1, m1, t)
        b = moved(s2, m2, t)
        r = separation(hulls, a, b, tolerance, options.ccd_iterations)
        if k == 0:
            first = r.dist - margin
        if r.dist <= ZERO or first <= ZERO:
            return hit
        n = unit(r.x2 - r.x1)
        rest = r.dist - margin - CLEARANCE * first
        arrived = r.dist - margin < ARRIVED * first
        if arrived or k == MOST:
            speed = wp.dot(n, point_travel(r.x1, a, m1) - point_travel(r.x2, b, m2))
            hit.t = t
            hit.when = t
            hit.normal = n
            hit.near = r
            hit.closing = wp.max(speed, (first + margin - r.dist) / t)
            fastest = m1.reach + m2.reach
            if not arrived:
                fastest = speed
                hit.when = t + rest / speed
            hit.found = r.dist - margin < (ONE - t) * fastest
            return hit
        bound = wp.dot(n, m1.travel - m2.travel) + turning
        if bound <= ZERO:
            return hit
        t = t + rest / bound
        if t >= ONE:
            return hit
    return hit
