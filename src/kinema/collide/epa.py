"""Penetration depth of two overlapping convex shapes: the expanding polytope algorithm (van den Bergen).

A polytope inside A - B that contains the origin grows by support points along the normal of its face nearest to the
origin, until that face lies on the surface of A - B. Its distance is the depth, its barycentric coordinates give the
witness points.

A face with projection v of the origin on its plane is seen from a new vertex w when v.w > |v|^2. The seen faces are
removed; their boundary, the edges that occur once, is joined to w by new faces, which take the slots of the seen ones
and some more. As MuJoCo does, the bound of the current face (not the best so far) ends the search.

A search is a chain of a few dozen turns, each of which looks at all faces: on CUDA it is waiting for memory that costs,
not the arithmetic. So there an octet takes a pair (octet.py), with the polytope in shared memory: its lanes share out
faces and edges, and all of them compute the support points, which takes no longer than if one did. A thread by itself
runs the same text, and finds the same bits: lists are in the order of faces whoever writes them.
"""

from functools import cache

import warp as wp

from kinema.collide.bundles import Hulls
from kinema.collide.gjk import Gjk, difference_support
from kinema.collide.polytope import (
    IDLE,
    READY,
    UNUSED,
    Polytope,
    affine_coordinates,
    attach_face,
    bundle_polytope,
    center_of,
    copy_simplex,
    directions,
    is_valid_start,
    is_valid_triangle,
    start_face,
    triangle_points,
    turn_dents,
    vertex,
)
from kinema.collide.precision import TINY, ZERO, mat33r, real, vec3r
from kinema.collide.support import Shape, is_discrete
from kinema.collide.workspace import ASK, IN_ROOM, LENT, ROOM, SHARED, Sizes, Workspace, lanes_of, octet_room
from kinema.math.octet import ALONE, Lanes, bits_below, count_bits, lowest_bit, octet_row

FOUND = wp.constant(0)
LOST = wp.constant(1)
TOUCHING = wp.constant(2)
TINY_SQUARE = wp.constant(wp.float64(1e-300))  # squared distance of a face without a plane
ON_ORIGIN = wp.constant(wp.float64(1e-30))  # squared distance below which a face contains the origin
FAR_SQUARE = wp.constant(wp.float64(1e30))  # beyond the distance of any face


@wp.struct
class Depth:
    """What EPA found: signed distance, witness points, and the features of the face they lie on."""

    found: bool
    dist: real
    x1: vec3r
    x2: vec3r
    p1: vec3r  # first vertex of the face
    p2: vec3r
    id1: wp.vec3i
    id2: wp.vec3i
    failed: bool  # the initial polytope could not be made: the shapes only touch
    wanted: bool  # the shapes overlap, and there was no room for a polytope to tell how deep
    axis: vec3r  # not found: along it the shapes are apart, from the second to the first


@wp.func
def seen_edge(pt: Polytope, k: int) -> wp.vec2i:
    """Edge k % 3 of seen face k / 3."""
    f = pt.face[pt.seen[k // 3]]
    return wp.vec2i(f[k % 3], f[(k + 1) % 3])


@wp.func
def has_corner(f: wp.vec3i, i: int) -> bool:
    """Whether a vertex is one of a face."""
    return f[0] == i or f[1] == i or f[2] == i


@wp.func
def is_horizon(pt: Polytope, nseen: int, k: int) -> bool:
    """Whether an edge of a seen face has no other seen face across it; of an odd number of them, the last counts."""
    e = seen_edge(pt, k)
    number = int(0)
    last = int(0)
    for i in range(nseen):
        f = pt.face[pt.seen[i]]
        if has_corner(f, e[0]) and has_corner(f, e[1]):
            number += 1
            last = i
    return number % 2 == 1 and last == k // 3


@wp.func
def toggle_edge(pt: Polytope, n: int, a: int, b: int) -> int:
    """Add an edge of a seen face to the horizon, or take it out when the face across it is seen too."""
    for i in range(wp.min(n, pt.edge.shape[0])):
        e = pt.edge[i]
        if (e[0] == b and e[1] == a) or (e[0] == a and e[1] == b):
            for j in range(i + 1, wp.min(n, pt.edge.shape[0])):
                pt.edge[j - 1] = pt.edge[j]
            return n - 1
    if n < pt.edge.shape[0]:
        pt.edge[n] = wp.vec2i(a, b)
    return n + 1


@wp.func
def find_horizon_alone(pt: Polytope, nface: int, nearest: int, w: vec3r) -> wp.vec2i:
    """What `horizon` finds, edge by edge: for a thread this is less work."""
    nseen = int(0)
    nedge = int(0)
    three = int(3)
    for i in range(nface):
        if pt.state[i] != UNUSED and (i == nearest or wp.dot(pt.v[i], w) - pt.dist2[i] > TINY):
            pt.state[i] = UNUSED
            pt.seen[nseen] = i
            nseen += 1
            f = pt.face[i]
            for k in range(three):
                nedge = toggle_edge(pt, nedge, f[k], f[(k + 1) % 3])
    return wp.vec2i(nseen, nedge)


@cache
def horizon(by: Lanes):
    """The search for the horizon of a new vertex."""
    if by == ALONE:
        return find_horizon_alone
    lane, lanes, meet, votes, _least = by

    @wp.func
    def find_horizon(pt: Polytope, nface: int, nearest: int, w: vec3r) -> wp.vec2i:
        """Remove the nearest face and all others seen from w: they go to pt.seen, their boundary to pt.edge, both in
        order. Returns how many there are of either."""
        nseen = int(0)
        for first in range(0, nface, lanes()):
            i = first + lane()
            is_seen = bool(False)
            if i < nface:
                if pt.state[i] != UNUSED:
                    is_seen = i == nearest or wp.dot(pt.v[i], w) - pt.dist2[i] > TINY
            bits = votes(is_seen)
            if is_seen:
                pt.state[i] = UNUSED
                pt.seen[nseen + bits_below(bits, lane())] = i
            nseen += count_bits(bits)
        meet()
        nedge = int(0)
        for first in range(0, 3 * nseen, lanes()):
            k = first + lane()
            is_open = bool(False)
            if k < 3 * nseen:
                is_open = is_horizon(pt, nseen, k)
            bits = votes(is_open)
            place = nedge + bits_below(bits, lane())
            if is_open and place < pt.edge.shape[0]:
                pt.edge[place] = seen_edge(pt, k)
            nedge += count_bits(bits)
        meet()
        return wp.vec2i(nseen, nedge)

    return find_horizon


@cache
def scans(by: Lanes):
    """Searches over all vertices, and over all faces."""
    lane, lanes, _meet, votes, least = by

    @wp.func
    def is_repeated(pt: Polytope, w: int) -> bool:
        """Whether vertex w is made of the same features as an earlier one."""
        found = bool(False)
        for i in range(lane(), w, lanes()):
            if pt.id[i] == pt.id[w]:
                found = True
        return votes(found) != 0

    @wp.func
    def nearest_face(pt: Polytope, nface: int) -> int:
        """The face nearest to the origin, the first of equals; -1 without any."""
        nearest = int(-1)
        least2 = FAR_SQUARE
        for i in range(lane(), nface, lanes()):
            if pt.state[i] == READY and pt.dist2[i] < least2:
                nearest = i
                least2 = pt.dist2[i]
        return least(least2, nearest)

    return is_repeated, nearest_face


@cache
def attachment(by: Lanes):
    """The making of faces."""
    lane, lanes, meet, votes, _least = by

    @wp.func
    def attach_faces(
        pt: Polytope, center: vec3r, n: int, nface: int, count: int, nseen: int, w: int, lower: real, upper: real,
        growing: bool,
    ) -> int:  # fmt: skip
        """Join the horizon to vertex w, or make the faces that a simplex of n vertices begins with; what is beyond the
        bounds is idle. Returns the first face that has no plane, or contains the origin at the beginning; -1: none."""
        flat = int(-1)
        for first in range(0, count, lanes()):
            i = first + lane()
            is_flat = bool(False)
            if i < count:
                f = start_face(n, i)
                if growing:
                    e = pt.edge[i]
                    f = wp.vec3i(w, e[0], e[1])
                slot = nface + i - nseen
                if i < nseen:
                    slot = pt.seen[i]
                d2 = attach_face(pt, slot, f, center)
                is_flat = d2 < wp.where(growing, TINY_SQUARE, ON_ORIGIN)
                if growing and (d2 < lower * lower or d2 > upper * upper):
                    pt.state[slot] = IDLE
            bits = votes(is_flat)
            if bits != 0 and flat < 0:
                flat = first + lowest_bit(bits)
        meet()
        return flat

    return attach_faces


@cache
def expansion(by: Lanes):
    """The growth of a polytope."""
    meet = by.meet
    find_horizon, attach_faces = horizon(by), attachment(by)
    is_repeated, nearest_face = scans(by)

    @wp.func
    def keep_triangle(pt: Polytope, f: wp.vec3i):
        """Three of the vertices become the first."""
        x1 = triangle_points(pt.p1, f)
        x2 = triangle_points(pt.p2, f)
        id0 = pt.id[f[0]]
        id1 = pt.id[f[1]]
        id2 = pt.id[f[2]]
        meet()
        pt.id[0] = id0
        pt.id[1] = id1
        pt.id[2] = id2
        for k in range(3):
            pt.p1[k] = x1[k]
            pt.p2[k] = x2[k]

    @wp.func
    def expand(pt: Polytope, m: Hulls, s1: Shape, s2: Shape, g: Gjk, tolerance: real, iterations: int):
        """Build and grow the polytope. Returns a status, and the face nearest to the origin: vertices and projection.

        Status: FOUND, LOST (numerics), TOUCHING (no polytope around the origin could be begun). Beginning and growing
        share one loop, so that the large support function is compiled once: a turn adds the wanted vertices, then their
        faces.
        """
        discrete = is_discrete(s1, s2)
        epsilon = wp.where(discrete, TINY, tolerance)
        upper = real(1e30)
        lower = ZERO
        nearest = int(-1)
        face = wp.vec3i()
        v = vec3r()
        warm = g.warm
        meet()  # whoever still reads the polytope of another pair
        copy_simplex(pt, g)
        n = int(g.n)  # vertices that the polytope begins with
        nvert = int(0)
        nface = int(0)  # slots in use
        center = vec3r()
        dirs = mat33r()
        wanted = int(0)
        growing = bool(False)
        k = int(0)
        room = pt.p1.shape[0] - 5
        for _turn in range(iterations + 2):
            if nvert == 0:
                center = center_of(pt, n)
                dirs = directions(pt, n)
                nvert = n
                wanted = wp.where(n == 4, 0, 5 - n)
            for i in range(wanted):
                a, b, id, next = difference_support(m, s1, s2, dirs[i], warm)
                pt.p1[nvert] = a
                pt.p2[nvert] = b
                pt.id[nvert] = id
                nvert += 1
                warm = next

            # which faces to add
            w = nvert - 1
            nseen = int(0)
            count = wp.where(n == 4, 4, 6)
            if growing:
                pw = vertex(pt, w)
                here = wp.dot(v, pw) / lower
                upper = wp.min(upper, here)
                if here - lower < epsilon:
                    return wp.where(k > 0 or here >= lower - real(1e-10), FOUND, LOST), face, v
                if discrete and is_repeated(pt, w):
                    return FOUND, face, v
                both = find_horizon(pt, nface, nearest, pw)
                nseen = both[0]
                count = both[1]
                if count < 3:
                    return LOST, face, v
                if count > pt.edge.shape[0] or nface + count - nseen > pt.state.shape[0]:
                    return FOUND, face, v  # out of room: the last face is the best answer there is
                k += 1
            elif n == 3 and not is_valid_triangle(pt, g.dist):
                return TOUCHING, face, v

            # add them
            flat = attach_faces(pt, center, n, nface, count, nseen, w, lower, upper, growing)
            nface = wp.max(nface, nface + count - nseen)
            if flat >= 0:
                if growing:
                    return LOST, face, v
                if n == 3:
                    return TOUCHING, face, v
                keep_triangle(pt, start_face(n, flat))  # the origin is on this face: begin again with it
                n = 3
                nvert = 0
                nface = 0
            else:
                if not growing and not is_valid_start(pt, n):
                    return TOUCHING, face, v
                if not growing and n == 3:
                    turn_dents(pt, center)
                    meet()
                growing = True
                if k >= wp.min(iterations, room):
                    return FOUND, face, v

                nearest = nearest_face(pt, nface)
                lower2 = FAR_SQUARE
                if nearest >= 0:
                    lower2 = pt.dist2[nearest]
                if nearest < 0 or lower2 > upper * upper:
                    return wp.where(k > 0, FOUND, LOST), face, v  # no better face than the last one
                face = pt.face[nearest]
                v = pt.v[nearest]
                if lower2 <= ZERO:
                    return FOUND, face, v
                lower = wp.sqrt(lower2)
                dirs[0] = v / lower
                wanted = 1
        return FOUND, face, v

    return expand


@cache
def depth_by(by: Lanes):
    """Depths that a thread or an octet finds."""
    expand = expansion(by)

    @wp.func
    def polytope_depth(
        pt: Polytope, m: Hulls, s1: Shape, s2: Shape, g: Gjk, tolerance: real, iterations: int
    ) -> Depth:
        """Depth of two shapes from the simplex GJK found around the origin."""
        r = Depth()
        status, f, nearest = expand(pt, m, s1, s2, g, tolerance, iterations)
        r.failed = status == TOUCHING
        if status != FOUND:
            return r
        l = affine_coordinates(vertex(pt, f[0]), vertex(pt, f[1]), vertex(pt, f[2]), nearest)
        r.found = True
        r.dist = -wp.length(nearest)
        r.x1 = pt.p1[f[0]] * l[0] + pt.p1[f[1]] * l[1] + pt.p1[f[2]] * l[2]
        r.x2 = pt.p2[f[0]] * l[0] + pt.p2[f[1]] * l[1] + pt.p2[f[2]] * l[2]
        r.p1 = pt.p1[f[0]]
        r.p2 = pt.p2[f[0]]
        i0 = pt.id[f[0]]
        i1 = pt.id[f[1]]
        i2 = pt.id[f[2]]
        r.id1 = wp.vec3i(i0[0], i1[0], i2[0])
        r.id2 = wp.vec3i(i0[1], i1[1], i2[1])
        return r

    return polytope_depth


@wp.func
def lent_polytope(work: Workspace) -> Polytope:
    """A polytope in the row of a workspace that is this octet's."""
    t = octet_row()
    return bundle_polytope(
        work.p1[t], work.p2[t], work.id[t], work.face[t], work.state[t], work.v[t], work.dist2[t], work.seen[t],
        work.edge[t],
    )  # fmt: skip


@wp.func
def shared_polytope(work: Workspace) -> Polytope:
    """A polytope in the shared memory of this octet."""
    at = octet_room(work.room)
    return bundle_polytope(
        wp.array(ptr=at + wp.static(IN_ROOM["p1"]), shape=(wp.static(ROOM["p1"]),), dtype=vec3r),
        wp.array(ptr=at + wp.static(IN_ROOM["p2"]), shape=(wp.static(ROOM["p2"]),), dtype=vec3r),
        wp.array(ptr=at + wp.static(IN_ROOM["id"]), shape=(wp.static(ROOM["id"]),), dtype=wp.vec2i),
        wp.array(ptr=at + wp.static(IN_ROOM["face"]), shape=(wp.static(ROOM["face"]),), dtype=wp.vec3i),
        wp.array(ptr=at + wp.static(IN_ROOM["state"]), shape=(wp.static(ROOM["state"]),), dtype=int),
        wp.array(ptr=at + wp.static(IN_ROOM["v"]), shape=(wp.static(ROOM["v"]),), dtype=vec3r),
        wp.array(ptr=at + wp.static(IN_ROOM["dist2"]), shape=(wp.static(ROOM["dist2"]),), dtype=real),
        wp.array(ptr=at + wp.static(IN_ROOM["seen"]), shape=(wp.static(ROOM["seen"]),), dtype=int),
        wp.array(ptr=at + wp.static(IN_ROOM["edge"]), shape=(wp.static(ROOM["edge"]),), dtype=wp.vec2i),
    )


@wp.func
def no_penetration(
    _m: Hulls, _s1: Shape, _s2: Shape, _g: Gjk, _tolerance: real, _iterations: int, _work: Workspace
) -> Depth:
    """Only say that the depth is wanted."""
    r = Depth()
    r.wanted = True
    return r


@cache
def epa(capacity: int):
    """EPA with room for ``capacity`` new vertices on the stack; or SHARED, LENT, ASK, as workspace.py has them."""
    if capacity == ASK:
        return no_penetration
    polytope_depth = depth_by(lanes_of(capacity))
    if capacity in (SHARED, LENT):
        polytope = shared_polytope if capacity == SHARED else lent_polytope

        @wp.func
        def penetration_by_octet(
            m: Hulls, s1: Shape, s2: Shape, g: Gjk, tolerance: real, iterations: int, work: Workspace
        ) -> Depth:
            """Depth of two shapes, by an octet that has room for a polytope."""
            return polytope_depth(polytope(work), m, s1, s2, g, tolerance, iterations)

        return penetration_by_octet
    nvert, nface, nedge = Sizes.of(capacity)[:3]

    @wp.func
    def penetration(
        m: Hulls, s1: Shape, s2: Shape, g: Gjk, tolerance: real, iterations: int, _work: Workspace
    ) -> Depth:
        """Depth of two shapes, with a polytope on the stack."""
        p1 = wp.zeros(shape=(wp.static(nvert),), dtype=vec3r)
        p2 = wp.zeros(shape=(wp.static(nvert),), dtype=vec3r)
        id = wp.zeros(shape=(wp.static(nvert),), dtype=wp.vec2i)
        face = wp.zeros(shape=(wp.static(nface),), dtype=wp.vec3i)
        state = wp.zeros(shape=(wp.static(nface),), dtype=int)
        v = wp.zeros(shape=(wp.static(nface),), dtype=vec3r)
        dist2 = wp.zeros(shape=(wp.static(nface),), dtype=real)
        seen = wp.zeros(shape=(wp.static(nface),), dtype=int)
        edge = wp.zeros(shape=(wp.static(nedge),), dtype=wp.vec2i)
        pt = bundle_polytope(p1, p2, id, face, state, v, dist2, seen, edge)
        return polytope_depth(pt, m, s1, s2, g, tolerance, iterations)

    return penetration
