"""Speculative contacts: of two geoms that do not touch yet, but would pass through each other within the step.

    advance.py        when they meet (a fraction t of the step), along which normal and how fast
    multicontact.py   several contacts there, where faces or edges lie on each other; plane_manifold.py with planes
    hidden.py         those whose way is blocked by something else are dropped

A contact must stop so much of the approach that the rest ends the step at the surface: (1 - t) of the closing speed v.
A row asks for the acceleration -b v - k r, so with b0 = h b d, k0 = h^2 k d^2 and the impedance d far from the surface

    dist = margin - h v (1 - t - b0) / k0                      springs and dampers at the beginning of the step
    dist = margin - h v (1 - t - t (b0 + k0)) / k0             at its end: the discrete integrator

which has little to do with where the geoms are, and is often positive. Without stiffness no distance does it: then the
damper is left to act, at its full impedance.

The place of a contact is between its two points, taken back to where they are at the beginning of the step: nearer to
that of the geom that moves more.
"""

from functools import cache

import warp as wp

from kinema.collide.advance import Impact, advance, motion_of, moved, moved_back
from kinema.collide.bundles import Ahead, Geoms, Meshes, Options, Pairs, Touch, vec5
from kinema.collide.emit import emit
from kinema.collide.hidden import is_hidden
from kinema.collide.multicontact import Manifold, may_have_several, multicontact
from kinema.collide.plane_manifold import plane_manifold
from kinema.collide.precision import HALF, ONE, TWO, ZERO, real, unit, vec3r
from kinema.collide.support import Shape, geom_shape
from kinema.collide.workspace import ROW, Sizes, Workspace, crew_row
from kinema.math.impedance import damping, resolvable, safe_solimp, safe_solref, stiffness
from kinema.mujoco_enums import MINVAL, Geom


@wp.func
def effective_distance(
    solref: wp.vec2, solimp: vec5, margin: float, time: wp.vec4, when: float, closing: float
) -> float:
    """The distance at which rows stop just enough of the approach.

    Args:
        time: step, and what rows know of the integrator (convex/ahead.py).
        when: time of impact, as a fraction of the step.
        closing: speed of impact times the step [m].
    """
    imp = safe_solimp(solimp)
    ref = safe_solref(solref, time[1])
    d = imp[1]
    k = stiffness(ref, d)
    b = damping(ref, d)
    h = time[0]
    if time[3] > 0.0 and ref[0] > 0.0:
        softened = resolvable(k, b, d, h)
        k = softened[0]
        b = softened[1]
    b0 = h * b * d
    k0 = h * h * k * d * d
    if k0 < MINVAL:
        return margin - imp[2]
    part = 1.0 - when - b0
    if time[2] > 0.0:
        part = 1.0 - when - when * (b0 + k0)
    return margin - part / k0 * closing


@wp.func
def inflated(s: Shape, margin: real) -> Shape:
    """The same shape with a margin."""
    s.margin = margin
    return s


@wp.func
def single(hit: Impact) -> Manifold:
    """The nearest points as the only contact."""
    r = Manifold()
    r.n = 1
    r.x1[0] = hit.near.x1
    r.x2[0] = hit.near.x2
    return r


@wp.func
def lent_plane_contacts(meshes: Meshes, b: Shape, hit: Impact, reach: real, work: Workspace) -> Manifold:
    """Contacts with a plane, with the polygon in a workspace."""
    near = hit.near
    t = crew_row()
    return plane_manifold(meshes, b, near.x1, hit.normal, near.x2, near.id2[0], reach, work.polygon[t])


@cache
def plane_contacts(polygon_max: int):
    """Contacts with a plane, for faces of at most so many vertices on the stack; ROW: in a workspace."""
    if polygon_max == ROW:
        return lent_plane_contacts
    room = Sizes.of(0, polygon_max).polygons["polygon"]

    @wp.func
    def contacts_on_plane(meshes: Meshes, b: Shape, hit: Impact, reach: real, _work: Workspace) -> Manifold:
        near = hit.near
        polygon = wp.zeros(shape=(wp.static(room),), dtype=vec3r)
        return plane_manifold(meshes, b, near.x1, hit.normal, near.x2, near.id2[0], reach, polygon)

    return contacts_on_plane


@cache
def impact_manifold(polygon_max: int, degree_max: int):
    """The points that two geoms would touch in, with room for polygons as multicontact.py has."""
    several_contacts = multicontact(polygon_max, degree_max)
    on_plane = plane_contacts(polygon_max)

    @wp.func
    def contact_points(meshes: Meshes, a: Shape, b: Shape, hit: Impact, options: Options, work: Workspace) -> Manifold:
        """Points on either geom where they would touch; what the rest of the step does not reach is left out."""
        reach = (ONE - hit.t) * hit.closing + TWO * hit.near.dist + real(options.ccd_tolerance)
        r = Manifold()
        if a.type == Geom.PLANE:
            r = on_plane(meshes, b, hit, reach, work)
        elif options.multiccd != 0 and may_have_several(a, b):
            # as shapes inflated until they overlap, by half the reach each
            more = hit.normal * (HALF * reach)
            x1 = hit.near.x1 + more
            x2 = hit.near.x2 - more
            s1 = inflated(a, reach)
            s2 = inflated(b, reach)
            near = hit.near
            r = several_contacts(meshes, s1, s2, x1, x2, near.id1, near.id2, near.p1, near.p2, work)
            for k in range(r.n):
                r.x1[k] = r.x1[k] - more
                r.x2[k] = r.x2[k] + more
        if r.n == 0:
            r = single(hit)
        return r

    return contact_points


@cache
def speculative_pair(polygon_max: int, degree_max: int):
    """Speculative contacts of one pair, with room for polygons as multicontact.py has."""
    contact_points = impact_manifold(polygon_max, degree_max)

    @wp.func
    def collide_ahead(
        w: int,
        pair: int,
        geoms: Geoms,
        meshes: Meshes,
        pairs: Pairs,
        ahead: Ahead,
        options: Options,
        touch: Touch,
        base: int,
        work: Workspace,
    ) -> int:
        """Write the contacts of a pair of world w that is about to meet, from slot ``base`` on; return their number."""
        g = pairs.geom[w, pair]
        margin = pairs.margin[w, pair]
        s1 = geom_shape(geoms, w, g[0], ZERO)
        s2 = geom_shape(geoms, w, g[1], ZERO)
        m1 = motion_of(geoms, ahead, w, g[0])
        m2 = motion_of(geoms, ahead, w, g[1])
        hit = advance(meshes.hull, s1, s2, m1, m2, real(margin), options)
        if not hit.found:
            return 0
        when = float(hit.when)
        closing = float(hit.closing)
        solref = pairs.solref[w, pair]
        dist = effective_distance(solref, pairs.solimp[w, pair], margin, ahead.clock[w, 0], when, closing)
        c = contact_points(meshes, moved(s1, m1, hit.t), moved(s2, m2, hit.t), hit, options, work)

        share = m1.reach / (m1.reach + m2.reach)
        n = int(0)
        for k in range(c.n):
            x1 = moved_back(c.x1[k], s1, m1, hit.t)
            x2 = moved_back(c.x2[k], s2, m2, hit.t)
            blocked = bool(False)
            two = int(2)
            for side in range(two):
                start = x1
                way = c.x1[k] - x1
                faster = m1.reach >= m2.reach
                if side == 1:
                    start = x2
                    way = c.x2[k] - x2
                    faster = not faster
                if faster:  # all the way to the other geom
                    way = way + unit(way) * hit.near.dist
                if not blocked:
                    blocked = is_hidden(
                        w, g[side], g[1 - side], start, start + way, geoms, meshes.hull, pairs, ahead, options
                    )
            if not blocked:
                pos = wp.vec3(x1 * share + x2 * (ONE - share))
                emit(touch, w, base + n, dist, pos, wp.vec3(hit.normal), wp.vec3())
                n += 1
        return n

    return collide_ahead
