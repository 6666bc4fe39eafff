"""Distance of two convex shapes (Gilbert, Johnson, Keerthi).

The shapes A, B touch when their Minkowski difference A - B contains the origin; their distance is that of A - B to it.
GJK keeps a simplex of support points of A - B, moves to its point x nearest to the origin, and looks for a support
point s along -x. The gap x.(x - s) bounds the error of |x|^2 (Frank-Wolfe); x.s > 0 proves that the shapes are apart.

The first x is the difference of the centres. Where these coincide it only says where to look: a unit vector takes its
place, or any where not even a direction is left.
"""

import warp as wp

from kinema.collide.bundles import Hulls
from kinema.collide.precision import HALF, ONE, TINY, ZERO, mat33r, mat43r, real, unit, vec3r, vec4r
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
    warm: wp.vec2i  # where the next support search may start
    axis: vec3r  # beyond the cutoff: along it the shapes are apart, from the second to the first


@wp.func
def difference_support(m: Hulls, s1: Shape, s2: Shape, d: vec3r, warm: wp.vec2i):
    """Support point of s1 - s2 along the unit direction d: points on s1 and s2, their features, where to search next.

    One loop over both shapes: the support function is large, and compiled in place wherever it is called.
    """
    x = mat33r()
    id = wp.vec2i()
    s = s1
    e = d
    both = int(2)
    for i in range(both):
        p, feature, start = support(m, s, e, warm[i])
        x[i] = p
        id[i] = feature
        warm[i] = start
        s = s2
        e = -d
    return x[0], x[1], id, warm


@wp.func
def gjk(m: Hulls, s1: Shape, s2: Shape, x1: vec3r, x2: vec3r, tolerance: real, iterations: int, cutoff: real) -> Gjk:
    """Distance from the points x1, x2 inside the shapes; shapes farther apart than the cutoff are only called apart."""
    r = Gjk()
    r.warm = wp.vec2i(-1, -1)
    discrete = is_discrete(s1, s2)
    epsilon = wp.where(discrete, ZERO, HALF * tolerance * tolerance)
    smallest = wp.where(discrete, TINY, tolerance)

    l = vec4r(ONE, ZERO, ZERO, ZERO)
    n = int(0)
    x = x1 - x2
    norm = wp.length(x)
    if norm < smallest:
        x = unit(x)
        norm = ONE
    previous = ZERO
    for k in range(iterations + 1):
        if norm == ZERO:
            break
        last = k == iterations or n == 4 or norm < smallest or wp.abs(previous - norm) < TINY
        a, b, id, warm = difference_support(m, s1, s2, -x / norm, r.warm)
        r.warm = warm
        s = a - b
        lower = wp.dot(x, s)
        if last or wp.dot(x, x - s) < epsilon:
            r.separated = lower > ZERO
            break
        if lower > ZERO and lower >= cutoff * norm:
            r.separated = True
            r.dist = FAR
            r.axis = x
            return r

        r.p[n] = s
        r.p1[n] = a
        r.p2[n] = b
        r.id1[n] = id[0]
        r.id2[n] = id[1]
        l = nearest_weights(n + 1, r.p)

        # keep the vertices that carry weight
        n = int(0)
        four = int(4)
        for i in range(four):
            if l[i] != ZERO:
                r.p[n] = r.p[i]
                r.p1[n] = r.p1[i]
                r.p2[n] = r.p2[i]
                r.id1[n] = r.id1[i]
                r.id2[n] = r.id2[i]
                l[n] = l[i]
                n += 1
        for i in range(n, four):
            l[i] = ZERO
        x = combine(l, r.p)
        previous = wp.where(k == 0, ZERO, norm)
        norm = wp.length(x)

    r.n = n
    r.x1 = x1
    r.x2 = x2
    if n > 0:
        r.x1 = combine(l, r.p1)
        r.x2 = combine(l, r.p2)
    r.dist = norm
    if n == 4 and not r.separated:
        r.dist = ZERO
    return r
