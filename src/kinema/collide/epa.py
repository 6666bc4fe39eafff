"""Penetration depth of two overlapping convex shapes: the expanding polytope algorithm (van den Bergen).

A polytope inside A - B that contains the origin grows by support points along the normal of its face nearest to the
origin, until that face lies on the surface of A - B. Its distance is the depth, its barycentric coordinates give the
witness points. The polytope lives in small arrays (workspace.py); slots of deleted faces are used again.

A face holds the ids of its vertices, the projection v of the origin on its plane (which is also its normal) and |v|^2.
A face is seen from a new vertex w when v.w > |v|^2. The seen faces are removed; their boundary, the edges that occur
once, is joined to w by new faces. As MuJoCo does, the bound of the current face (not the best so far) ends the search.
"""

from functools import cache

import warp as wp

from kinema.collide.bundles import Hulls
from kinema.collide.gjk import Gjk, difference_support
from kinema.collide.precision import HALF, ONE, TINY, ZERO, mat33r, real, unit, vec3r
from kinema.collide.support import Shape, is_discrete
from kinema.collide.workspace import ASK, LENT, Sizes, Workspace, crew_row

UNUSED = wp.constant(-1)  # state of a free slot
IDLE = wp.constant(0)  # part of the polytope, but too far to be the nearest face
READY = wp.constant(1)
FOUND = wp.constant(0)
LOST = wp.constant(1)
TOUCHING = wp.constant(2)
TINY_SQUARE = wp.constant(wp.float64(1e-300))  # squared distance of a face without a plane
ON_ORIGIN = wp.constant(wp.float64(1e-30))  # squared distance below which a face contains the origin
SIN_120 = wp.constant(wp.float64(0.8660254037844386))


@wp.struct
class Polytope:
    """Vertices (as points of either shape) and faces."""

    nvert: int
    nface: int  # slots in use, free ones included
    center: vec3r
    p1: wp.array(dtype=vec3r)
    p2: wp.array(dtype=vec3r)
    id: wp.array(dtype=wp.vec2i)
    face: wp.array(dtype=wp.vec3i)
    state: wp.array(dtype=int)
    v: wp.array(dtype=vec3r)
    dist2: wp.array(dtype=real)
    edge: wp.array(dtype=wp.vec2i)  # horizon


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
def bundle_polytope(
    p1: wp.array(dtype=vec3r),
    p2: wp.array(dtype=vec3r),
    id: wp.array(dtype=wp.vec2i),
    face: wp.array(dtype=wp.vec3i),
    state: wp.array(dtype=int),
    v: wp.array(dtype=vec3r),
    dist2: wp.array(dtype=real),
    edge: wp.array(dtype=wp.vec2i),
) -> Polytope:
    """An empty polytope over given storage."""
    pt = Polytope()
    pt.p1 = p1
    pt.p2 = p2
    pt.id = id
    pt.face = face
    pt.state = state
    pt.v = v
    pt.dist2 = dist2
    pt.edge = edge
    return pt


@wp.func
def vertex(pt: Polytope, i: int) -> vec3r:
    """Vertex i of the Minkowski difference."""
    return pt.p1[i] - pt.p2[i]


@wp.func
def project_origin(a: vec3r, b: vec3r, c: vec3r):
    """Projection of the origin on the plane of a triangle, and whether the triangle has a plane."""
    n = wp.cross(b - a, c - a)
    nn = wp.dot(n, n)
    if nn == ZERO:
        return vec3r(), False
    # of the three vertices take the one nearest to the origin: least cancellation
    p = a
    if wp.dot(b, b) < wp.dot(p, p):
        p = b
    if wp.dot(c, c) < wp.dot(p, p):
        p = c
    return n * (wp.dot(n, p) / nn), True


@wp.func
def attach_face(pt: Polytope, slot: int, f: wp.vec3i) -> real:
    """Store a face and return its squared distance from the origin, zero for a degenerate one."""
    pt.face[slot] = f
    pt.state[slot] = READY
    pa = vertex(pt, f[0])
    v, ok = project_origin(pa, vertex(pt, f[1]), vertex(pt, f[2]))
    if not ok:
        return ZERO
    if wp.dot(v, pa - pt.center) < ZERO:  # outwards
        v = -v
    pt.v[slot] = v
    pt.dist2[slot] = wp.dot(v, v)
    return pt.dist2[slot]


@wp.func
def copy_vertex(pt: Polytope, i: int, g: Gjk, k: int):
    """Store vertex k of GJK's simplex as vertex i."""
    pt.p1[i] = g.p1[k]
    pt.p2[i] = g.p2[k]
    pt.id[i] = wp.vec2i(g.id1[k], g.id2[k])


@wp.func
def keep_triangle(pt: Polytope, g: Gjk, f: wp.vec3i) -> Gjk:
    """GJK's simplex replaced by one face of the polytope."""
    three = int(3)
    for k in range(three):
        g.p1[k] = pt.p1[f[k]]
        g.p2[k] = pt.p2[f[k]]
        g.p[k] = vertex(pt, f[k])
        id = pt.id[f[k]]
        g.id1[k] = id[0]
        g.id2[k] = id[1]
    g.n = 3
    return g


@wp.func
def same_side(a: vec3r, b: vec3r, c: vec3r, d: vec3r) -> bool:
    """Whether d and the origin are strictly on the same side of the plane a, b, c."""
    n = wp.cross(b - a, c - a)
    e = wp.dot(n, d - a)
    o = -wp.dot(n, a)
    return (e > ZERO and o > ZERO) or (e < ZERO and o < ZERO)


@wp.func
def contains_origin(a: vec3r, b: vec3r, c: vec3r, d: vec3r) -> bool:
    """Whether a tetrahedron contains the origin."""
    return same_side(a, b, c, d) and same_side(b, c, d, a) and same_side(c, d, a, b) and same_side(d, a, b, c)


@wp.func
def line_meets_triangle(p: vec3r, q: vec3r, a: vec3r, b: vec3r, c: vec3r) -> bool:
    """Whether the line p, q passes through the triangle a, b, c."""
    d = q - p
    va = wp.dot(a - p, wp.cross(b - p, d))
    vb = wp.dot(b - p, wp.cross(c - p, d))
    vc = wp.dot(c - p, wp.cross(a - p, d))
    return (va >= ZERO and vb >= ZERO and vc >= ZERO) or (va <= ZERO and vb <= ZERO and vc <= ZERO)


@wp.func
def on_triangle(a: vec3r, b: vec3r, c: vec3r, p: vec3r) -> bool:
    """Whether p lies on the triangle."""
    l = affine_coordinates(a, b, c, p)
    if l[0] < ZERO or l[1] < ZERO or l[2] < ZERO:
        return False
    return wp.length(a * l[0] + b * l[1] + c * l[2] - p) < TINY


@wp.func
def affine_coordinates(a: vec3r, b: vec3r, c: vec3r, p: vec3r) -> vec3r:
    """Weights of a, b, c that give the projection of p on their plane."""
    n = wp.cross(b - a, c - a)
    nn = wp.dot(n, n)
    la = wp.dot(n, wp.cross(b - p, c - p)) / nn
    lb = wp.dot(n, wp.cross(c - p, a - p)) / nn
    return vec3r(la, lb, ONE - la - lb)


@wp.func
def start(pt: Polytope, g: Gjk):
    """Begin with GJK's simplex. Returns the polytope and the directions in which vertices are still wanted.

    A segment wants three around it, 120 degrees apart; a triangle one on either side; a tetrahedron none.
    """
    n = int(g.n)
    pt.center = vec3r()
    for k in range(n):
        copy_vertex(pt, k, g, k)
        pt.center = pt.center + g.p[k] / real(n)
    pt.nvert = n
    pt.nface = 0
    dirs = mat33r()
    if n == 2:
        d = g.p[1] - g.p[0]
        small = int(0)
        if wp.abs(d[1]) < wp.abs(d[small]):
            small = 1
        if wp.abs(d[2]) < wp.abs(d[small]):
            small = 2
        e = vec3r()
        e[small] = ONE
        across = unit(wp.cross(e, d))
        side = wp.cross(unit(d), across)
        dirs[0] = across
        dirs[1] = -HALF * across + SIN_120 * side
        dirs[2] = -HALF * across - SIN_120 * side
    elif n == 3:
        normal = unit(wp.cross(g.p[1] - g.p[0], g.p[2] - g.p[0]))
        dirs[0] = -normal
        dirs[1] = normal
    return pt, dirs


@wp.func
def start_face(n: int, k: int) -> wp.vec3i:
    """Vertices of face k of the polytope that a simplex of n vertices begins with."""
    if n == 4:
        return wp.vec3i(
            wp.where(k == 3, 3, 0),
            wp.where(k == 0, 1, wp.where(k == 1, 3, 2)),
            wp.where(k == 0, 2, wp.where(k == 2, 3, 1)),
        )
    i = k % 3
    j = (i + 1) % 3
    if n == 3:
        return wp.vec3i(wp.where(k < 3, 4, 3), i, j)
    return wp.vec3i(wp.where(k < 3, 0, 1), 2 + i, 2 + j)


@wp.func
def is_valid_triangle(pt: Polytope, dist: real) -> bool:
    """Whether the two vertices beside a triangle lie off it and the origin is in one of the tetrahedra."""
    a = vertex(pt, 0)
    b = vertex(pt, 1)
    c = vertex(pt, 2)
    if wp.length(wp.cross(b - a, c - a)) < TINY:
        return False
    inside = dist <= real(10.0) * TINY
    two = int(2)
    for k in range(two):
        d = vertex(pt, 3 + k)
        if on_triangle(a, b, c, d):
            return False
        if contains_origin(a, b, c, d):
            inside = True
    return inside


@wp.func
def is_valid_start(pt: Polytope, n: int) -> bool:
    """Whether the polytope begun from a segment is convex, or that from a tetrahedron contains the origin."""
    a = vertex(pt, 0)
    b = vertex(pt, 1)
    if n == 2:
        return line_meets_triangle(a, b, vertex(pt, 2), vertex(pt, 3), vertex(pt, 4))
    return n == 3 or contains_origin(a, b, vertex(pt, 2), vertex(pt, 3))


@wp.func
def add_edge(pt: Polytope, n: int, a: int, b: int) -> int:
    """Add an edge of a removed face to the horizon, or remove it when the neighbour across it is removed too."""
    for i in range(n):
        e = pt.edge[i]
        if (e[0] == b and e[1] == a) or (e[0] == a and e[1] == b):
            pt.edge[i] = pt.edge[n - 1]
            return n - 1
    if n < pt.edge.shape[0]:
        pt.edge[n] = wp.vec2i(a, b)
    return n + 1


@wp.func
def find_horizon(pt: Polytope, nearest: int, w: vec3r) -> int:
    """Remove the nearest face and all others seen from w; their boundary goes to pt.edge. Returns its length."""
    n = int(0)
    three = int(3)
    for i in range(pt.nface):
        if pt.state[i] != UNUSED and (i == nearest or wp.dot(pt.v[i], w) - pt.dist2[i] > TINY):
            pt.state[i] = UNUSED
            f = pt.face[i]
            for k in range(three):
                n = add_edge(pt, n, f[k], f[(k + 1) % 3])
    return n


@wp.func
def is_repeated(pt: Polytope, w: int) -> bool:
    """Whether vertex w is made of the same features as an earlier one."""
    for i in range(w):
        if pt.id[i] == pt.id[w]:
            return True
    return False


@wp.func
def expand(pt: Polytope, m: Hulls, s1: Shape, s2: Shape, g: Gjk, tolerance: real, iterations: int):
    """Build and grow the polytope. Returns it, a status, and the face nearest to the origin: vertices and projection.

    Status: FOUND, LOST (numerics), TOUCHING (no polytope around the origin could be begun). Beginning and growing share
    one loop, so that the large support function is compiled once: a turn adds the wanted vertices, then their faces.
    """
    discrete = is_discrete(s1, s2)
    epsilon = wp.where(discrete, TINY, tolerance)
    upper = real(1e30)
    lower = ZERO
    nearest = int(-1)
    face = wp.vec3i()
    v = vec3r()
    warm = g.warm
    pt, dirs = start(pt, g)
    wanted = wp.where(g.n == 4, 0, 5 - g.n)
    growing = bool(False)
    k = int(0)
    room = pt.p1.shape[0] - 5
    for _turn in range(iterations + 2):
        for i in range(wanted):
            a, b, id, next = difference_support(m, s1, s2, dirs[i], warm)
            pt.p1[pt.nvert] = a
            pt.p2[pt.nvert] = b
            pt.id[pt.nvert] = id
            pt.nvert += 1
            warm = next

        # which faces to add
        w = pt.nvert - 1
        count = wp.where(g.n == 4, 4, 6)
        if growing:
            pw = vertex(pt, w)
            here = wp.dot(v, pw) / lower
            upper = wp.min(upper, here)
            if here - lower < epsilon:
                return pt, wp.where(k > 0 or here >= lower - real(1e-10), FOUND, LOST), face, v
            if discrete and is_repeated(pt, w):
                return pt, FOUND, face, v
            count = find_horizon(pt, nearest, pw)
            if count < 3:
                return pt, LOST, face, v
            if count > pt.edge.shape[0]:
                return pt, FOUND, face, v  # out of room: the last face is the best answer there is
            k += 1
        elif g.n == 3 and not is_valid_triangle(pt, g.dist):
            return pt, TOUCHING, face, v

        # add them
        flat = wp.vec3i(-1, -1, -1)
        slot = int(0)
        for i in range(count):
            f = start_face(g.n, i)
            if growing:
                e = pt.edge[i]
                f = wp.vec3i(w, e[0], e[1])
            while slot < pt.nface and pt.state[slot] != UNUSED:
                slot += 1
            if slot >= pt.state.shape[0]:
                return pt, FOUND, face, v
            d2 = attach_face(pt, slot, f)
            pt.nface = wp.max(pt.nface, slot + 1)
            if d2 < wp.where(growing, TINY_SQUARE, ON_ORIGIN) and flat[0] < 0:
                flat = f
            elif growing and (d2 < lower * lower or d2 > upper * upper):
                pt.state[slot] = IDLE
        if flat[0] >= 0:
            if growing:
                return pt, LOST, face, v
            if g.n == 3:
                return pt, TOUCHING, face, v
            g = keep_triangle(pt, g, flat)  # the origin is on this face: begin again with it
            pt, dirs = start(pt, g)
            wanted = 2
        else:
            if not growing and not is_valid_start(pt, g.n):
                return pt, TOUCHING, face, v
            growing = True
            if k >= wp.min(iterations, room):
                return pt, FOUND, face, v

            nearest = int(-1)
            lower2 = real(1e30)
            for i in range(pt.nface):
                if pt.state[i] == READY and pt.dist2[i] < lower2:
                    nearest = i
                    lower2 = pt.dist2[i]
            if nearest < 0 or lower2 > upper * upper:
                return pt, wp.where(k > 0, FOUND, LOST), face, v  # no better face than the last one
            face = pt.face[nearest]
            v = pt.v[nearest]
            if lower2 <= ZERO:
                return pt, FOUND, face, v
            lower = wp.sqrt(lower2)
            dirs[0] = v / lower
            wanted = 1
    return pt, FOUND, face, v


@wp.func
def polytope_depth(
    pt: Polytope, m: Hulls, s1: Shape, s2: Shape, g: Gjk, tolerance: real, iterations: int
) -> Depth:
    """Depth of two shapes from the simplex GJK found around the origin."""
    r = Depth()
    pt, status, f, nearest = expand(pt, m, s1, s2, g, tolerance, iterations)
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


@wp.func
def lent_penetration(
    m: Hulls, s1: Shape, s2: Shape, g: Gjk, tolerance: real, iterations: int, work: Workspace
) -> Depth:
    """Depth of two shapes, with a polytope in a workspace."""
    t = crew_row()
    pt = bundle_polytope(
        work.p1[t], work.p2[t], work.id[t], work.face[t], work.state[t], work.v[t], work.dist2[t], work.edge[t]
    )
    return polytope_depth(pt, m, s1, s2, g, tolerance, iterations)


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
    """EPA with room for ``capacity`` new vertices on the stack; LENT: in a workspace; ASK: it is only asked for."""
    if capacity == ASK:
        return no_penetration
    if capacity == LENT:
        return lent_penetration
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
        edge = wp.zeros(shape=(wp.static(nedge),), dtype=wp.vec2i)
        pt = bundle_polytope(p1, p2, id, face, state, v, dist2, edge)
        return polytope_depth(pt, m, s1, s2, g, tolerance, iterations)

    return penetration
