"""Two convex shapes: distance by GJK, depth by EPA, several contacts where faces meet.

Spheres and capsules, and with a margin all shapes that may touch in several points, are first shrunk to their core. If
the cores are apart, their distance less the radii and margins is the answer, exact and cheap. Only overlapping cores
need EPA on the full shapes. Elements of flexes, which touch in one point, keep their radius and margin. Distances are
those of shapes inflated by the margin m, and are reported with m added back.
"""

from functools import cache

import warp as wp

from kinema.collide.bundles import Geoms, Hulls, Meshes, Options, Touch
from kinema.collide.emit import emit
from kinema.collide.epa import Depth, epa
from kinema.collide.gjk import FAR, Gjk, gjk
from kinema.collide.multicontact import may_have_several, multicontact
from kinema.collide.precision import HALF, ZERO, real, unit
from kinema.collide.support import POINT, SEGMENT, SIMPLEX, Shape, center, geom_shape
from kinema.collide.workspace import ASK, Workspace, lanes_of
from kinema.mujoco_enums import Geom


@wp.func
def core(s: Shape, all: bool):
    """The shape without its radius (and without its margin, if all are shrunk), and what was taken away."""
    taken = ZERO
    if s.type == Geom.SPHERE or s.type == Geom.CAPSULE:
        s.type = wp.where(s.type == Geom.SPHERE, POINT, SEGMENT)
        taken = s.size[0] + HALF * s.margin
        s.margin = ZERO
    elif all:
        taken = HALF * s.margin
        s.margin = ZERO
    return s, taken


@wp.func
def cores(s1: Shape, s2: Shape):
    """Both without what is round about them, and what was taken away from each."""
    inflated = (s1.margin > ZERO or s2.margin > ZERO) and s1.type != SIMPLEX and s2.type != SIMPLEX
    c1, taken1 = core(s1, inflated)
    c2, taken2 = core(s2, inflated)
    return c1, c2, taken1, taken2


@wp.func
def simplex_features(g: Gjk, d: Depth) -> Depth:
    """Features of the nearest points GJK found."""
    second = wp.where(g.n > 1, 1, 0)
    third = wp.where(g.n > 2, 2, 0)
    d.id1 = wp.vec3i(g.id1[0], g.id1[second], g.id1[third])
    d.id2 = wp.vec3i(g.id2[0], g.id2[second], g.id2[third])
    d.p1 = g.p1[0]
    d.p2 = g.p2[0]
    return d


@cache
def convex_distance(capacity: int):
    """Signed distance of two shapes; ``capacity``: of EPA iterations, or how else they find room."""
    penetration = epa(capacity)

    @wp.func
    def signed_distance(
        m: Hulls,
        s1: Shape,
        s2: Shape,
        tolerance: real,
        iterations: int,
        cutoff: real,
        need_depth: bool,
        work: Workspace,
    ) -> Depth:
        """Distance, witness points and features of two inflated shapes. Not found: beyond the cutoff, or numerics."""
        r = Depth()
        x1 = center(s1)
        x2 = center(s2)
        c1, c2, taken1, taken2 = cores(s1, s2)
        taken = taken1 + taken2
        g = Gjk()
        # first the cores, if there is anything to take away, then the shapes
        for k in range(wp.where(taken > ZERO, 0, 1), 2):
            g = gjk(m, c1, c2, x1, x2, tolerance, iterations, cutoff + taken)
            if g.dist == FAR:
                r.axis = g.axis
                return r
            apart = g.dist > tolerance or (k == 1 and (g.n < 2 or g.separated))
            if apart or not need_depth:
                n = unit(g.x2 - g.x1)
                r.found = True
                r.dist = g.dist - taken
                r.x1 = g.x1 + n * taken1
                r.x2 = g.x2 - n * taken2
                return simplex_features(g, r)
            c1 = s1
            c2 = s2
            taken1 = ZERO
            taken2 = ZERO
            taken = ZERO
        r = penetration(m, s1, s2, g, tolerance, iterations, work)
        if r.failed:  # the origin is on the boundary: touching, not penetrating
            r.found = True
            r.dist = ZERO
            r.x1 = g.x1
            r.x2 = g.x2
        return r

    return signed_distance


@cache
def convex_contacts(capacity: int, polygon_max: int, degree_max: int):
    """Contacts of two convex shapes whose distance is known, with room as `convex_pair` says."""
    several_contacts = multicontact(polygon_max, degree_max) if capacity != ASK else None

    @wp.func
    def write_contacts(
        w: int,
        s1: Shape,
        s2: Shape,
        r: Depth,
        meshes: Meshes,
        options: Options,
        touch: Touch,
        base: int,
        work: Workspace,
    ) -> int:
        """Write the contacts of two shapes of world w from slot ``base`` on; return how many; -1 asks for scratch."""
        if r.wanted:
            return -1
        if not r.found or r.dist >= ZERO:
            return 0
        m = s1.margin
        none = wp.vec3()
        if options.multiccd != 0 and may_have_several(s1, s2):
            if wp.static(capacity == ASK):
                return -1
            if wp.static(capacity != ASK):
                c = several_contacts(meshes, s1, s2, r.x1, r.x2, r.id1, r.id2, r.p1, r.p2, work)
                if c.n > 0:
                    for k in range(c.n):
                        pos = wp.vec3(HALF * (c.x1[k] + c.x2[k]))
                        emit(touch, w, base + k, float(m + c.dist[k]), pos, wp.vec3(c.normal), none)
                    return c.n
        pos = wp.vec3(HALF * (r.x1 + r.x2))
        emit(touch, w, base, float(m + r.dist), pos, wp.vec3(unit(r.x1 - r.x2)), none)
        return 1

    return write_contacts


@cache
def convex_pair(capacity: int, polygon_max: int, degree_max: int):
    """Contacts of two convex geoms, with room for EPA iterations, polygon vertices and polygons at a vertex.

    Octets have it as SHARED or LENT; with ASK it is asked for where it is needed (workspace.py).
    """
    lane, _lanes, meet, _votes, _least = lanes_of(capacity)
    signed_distance = convex_distance(capacity)
    write_contacts = convex_contacts(capacity, polygon_max, degree_max)

    @wp.func
    def collide_convex(
        w: int,
        g1: int,
        g2: int,
        margin: float,
        geoms: Geoms,
        meshes: Meshes,
        options: Options,
        touch: Touch,
        base: int,
        work: Workspace,
    ) -> int:
        """Write the contacts of geoms g1, g2 of world w from slot ``base`` on; return how many; -1 asks for scratch."""
        s1 = geom_shape(geoms, w, g1, real(margin))
        s2 = geom_shape(geoms, w, g2, real(margin))
        tolerance = real(options.ccd_tolerance)
        r = signed_distance(meshes.hull, s1, s2, tolerance, options.ccd_iterations, ZERO, True, work)
        meet()  # polygons take the place of the polytope
        n = int(0)
        if lane() == 0:
            n = write_contacts(w, s1, s2, r, meshes, options, touch, base, work)
        return n

    return collide_convex
