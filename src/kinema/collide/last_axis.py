"""Pairs of convex geoms that are still apart along the axis along which they were apart before.

Most pairs whose bounds overlap are apart, and GJK takes some steps to find a direction that proves it:

    n.(a - b) > 0,    a and b the points of either shape farthest towards the other along n

From step to step shapes move little, so the direction that proved it once proves it again: one support point of each
shape instead of a search (Rabbitz 1994; van den Bergen 2003). A CPU thread that looks at listed pairs keeps a direction
for each of them, and none for pairs that touch.

Contacts do not know of it. GJK never comes nearer to the origin than the distance of the shapes is, whatever its
rounding, for all its points lie beyond the plane along n. So a pair whose gap along n is more than GJK's tolerance
would have no contact either way, and a world without its past, one just loaded, steps to the same bits.
"""

from functools import cache

import warp as wp

from kinema.collide.bundles import Cull, Geoms, Meshes, Options, Pairs, Touch
from kinema.collide.convex import convex_contacts, convex_distance, cores
from kinema.collide.gjk import difference_support
from kinema.collide.precision import ZERO, real, vec3r
from kinema.collide.support import Shape, geom_shape
from kinema.collide.workspace import Workspace


@wp.func
def apart_along(m: Meshes, s1: Shape, s2: Shape, axis: vec3r, tolerance: real) -> bool:
    """Whether two shapes are apart along an axis, which points from the second to the first, by more than GJK's
    tolerance."""
    norm = wp.length(axis)
    if norm == ZERO:
        return False
    n = axis / norm
    c1, c2, taken1, taken2 = cores(s1, s2)
    a, b, _id, _warm = difference_support(m.hull, c1, c2, -n, wp.vec2i(-1, -1))
    return wp.dot(n, a - b) > taken1 + taken2 + real(2.0) * tolerance


@cache
def remembering_pair(capacity: int, polygon_max: int, degree_max: int):
    """Contacts of two convex geoms, as `convex_pair`; what is found apart is remembered."""
    signed_distance = convex_distance(capacity)
    write_contacts = convex_contacts(capacity, polygon_max, degree_max)

    @wp.func
    def collide_again(
        w: int,
        pair: int,
        geoms: Geoms,
        meshes: Meshes,
        pairs: Pairs,
        cull: Cull,
        options: Options,
        touch: Touch,
        base: int,
    ) -> int:
        """Write the contacts of a pair of world w from slot ``base`` on; return how many."""
        g = pairs.geom[w, pair]
        margin = real(pairs.margin[w, pair] + pairs.gap[w, pair])
        s1 = geom_shape(geoms, w, g[0], margin)
        s2 = geom_shape(geoms, w, g[1], margin)
        tolerance = real(options.ccd_tolerance)
        place = cull.convex[pair]
        if apart_along(meshes, s1, s2, vec3r(cull.axis[w, place]), tolerance):
            return 0
        work = Workspace()
        r = signed_distance(meshes.hull, s1, s2, tolerance, options.ccd_iterations, ZERO, True, work)
        cull.axis[w, place] = wp.vec3(r.axis)
        return write_contacts(w, s1, s2, r, meshes, options, touch, base, work)

    return collide_again
