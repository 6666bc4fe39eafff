"""Distance of two convex shapes (Gilbert, Johnson, Keerthi).

The shapes A, B touch when their Minkowski difference A - B contains the origin; their distance is that of A - B to it.
GJK keeps a simplex of support points of A - B, moves to its point x nearest to the origin, and looks for a support
point s along -x. The gap x.(x - s) bounds the error of |x|^2 (Frank-Wolfe); x.s > 0 proves that the shapes are apart.
"""

import warp as wp

from kinema.collide.bundles import Meshes
from kinema.collide.precision import HALF, ONE, TINY, ZERO, mat43r, real, vec3r, vec4r
from kinema.collide.simplex import combine, nearest_weights
from kinema.collide.support import Shape, is_discrete, support

FAR = wp.constant(wp.float64(1e30))  # distance of shapes known only to be apart


@wp.struct
class Gjk:
    """What GJK found: distance, witness points, and the simplex it ended with."""

    separated: bool
    dist: real  # 0 inside, FAR when beyond the cutoff
    x1: vec3r  # nearest points on either shape
    x2: vec3r
    n: int  # number of vertices of the simplex
    p: mat43r  # vertices, and the points of either shape that made them
    p1: mat43r
    p2: mat43r
    id1: wp.vec4i  # features of those points
    id2: wp.vec4i
    warm1: int  # where the next support search may start
    warm2: int


@wp.func
def gjk(m: Meshes, s1: Shape, s2: Shape, x1: vec3r, x2: vec3r, tolerance: real, iterations: int, cutoff: real) -> Gjk:
    """Distance from the points x1, x2 inside the shapes; shapes farther apart than the cutoff are only called apart."""
    r = Gjk()
    r.warm1 = -1
    r.warm2 = -1
    discrete = is_discrete(s1, s2)
    epsilon = wp.where(discrete, ZERO, HALF * tolerance * tolerance)
    smallest = wp.where(discrete, TINY, tolerance)

    l = vec4r(ONE, ZERO, ZERO, ZERO)
    n = int(0)
    x = x1 - x2
    norm = wp.length(x)
    previous = ZERO
    for k in range(iterations):
        if norm < smallest or wp.abs(previous - norm) < TINY:
            break
        d = x / norm
        a, id1, warm1 = support(m, s1, -d, r.warm1)
        b, id2, warm2 = support(m, s2, d, r.warm2)
        r.warm1 = warm1
        r.warm2 = warm2
        s = a - b
        if wp.dot(x, x - s) < epsilon:
            break
        lower = wp.dot(x, s)
        if lower > ZERO and lower >= cutoff * norm:
            r.separated = True
            r.dist = FAR
            return r

        r.p[n] = s
        r.p1[n] = a
        r.p2[n] = b
        r.id1[n] = id1
        r.id2[n] = id2
        l = nearest_weights(n + 1, r.p)
        if n < 3:  # rows beyond the simplex are stale
            for i in range(n + 1, 4):
                l[i] = ZERO
        n = int(0)
        for i in range(4):
            if l[i] != ZERO:
                r.p[n] = r.p[i]
                r.p1[n] = r.p1[i]
                r.p2[n] = r.p2[i]
                r.id1[n] = r.id1[i]
                r.id2[n] = r.id2[i]
                l[n] = l[i]
                n += 1
        for i in range(n, 4):
            l[i] = ZERO
        x = combine(l, r.p)
        previous = wp.where(k == 0, ZERO, norm)
        norm = wp.length(x)
        if n == 4:
            break

    r.n = n
    r.x1 = x1
    r.x2 = x2
    if n > 0:
        r.x1 = combine(l, r.p1)
        r.x2 = combine(l, r.p2)
    if norm > ZERO:
        d = x / norm
        a, id1, warm1 = support(m, s1, -d, r.warm1)
        b, id2, warm2 = support(m, s2, d, r.warm2)
        r.separated = wp.dot(x, a - b) > ZERO
    r.dist = norm
    if n == 4 and not r.separated:
        r.dist = ZERO
    return r
