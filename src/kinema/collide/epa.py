"""Penetration depth of two overlapping convex shapes: the expanding polytope algorithm (van den Bergen).

A polytope inside A - B that contains the origin grows by support points along the normal of its face nearest to the
origin, until that face lies on the surface of A - B. Its distance is the depth, its barycentric coordinates give the
witness points. The polytope lives in small arrays on the stack; slots of deleted faces are used again.

A face holds the ids of its vertices, the projection v of the origin on its plane (which is also its normal) and |v|^2.
A face is seen from a new vertex w when v.w > |v|^2. The seen faces are removed; their boundary, the edges that occur
once, is joined to w by new faces. As MuJoCo does, the bound of the current face (not the best so far) ends the search.
"""

from functools import cache

import warp as wp

from kinema.collide.bundles import Meshes
from kinema.collide.gjk import Gjk
from kinema.collide.precision import HALF, ONE, TINY, ZERO, mat33r, real, unit, vec3r
from kinema.collide.support import Shape, is_discrete, support

UNUSED = wp.constant(-1)  # state of a free slot
IDLE = wp.constant(0)  # part of the polytope, but too far to be the nearest face
READY = wp.constant(1)
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
def attach_face(pt: Polytope, slot: int, a: int, b: int, c: int) -> real:
    """Store a face and return its squared distance from the origin, zero for a degenerate one."""
    pa = vertex(pt, a)
    v, ok = project_origin(pa, vertex(pt, b), vertex(pt, c))
    if not ok:
        return ZERO
    if wp.dot(v, pa - pt.center) < ZERO:  # outwards
        v = -v
    pt.face[slot] = wp.vec3i(a, b, c)
    pt.v[slot] = v
    pt.dist2[slot] = wp.dot(v, v)
    pt.state[slot] = READY
    return pt.dist2[slot]


@wp.func
def add_support(pt: Polytope, i: int, m: Meshes, s1: Shape, s2: Shape, d: vec3r, warm: wp.vec2i) -> wp.vec2i:
    """Store the support point along the unit direction d as vertex i."""
    a, id1, warm1 = support(m, s1, d, warm[0])
    b, id2, warm2 = support(m, s2, -d, warm[1])
    pt.p1[i] = a
    pt.p2[i] = b
    pt.id[i] = wp.vec2i(id1, id2)
    return wp.vec2i(warm1, warm2)


@wp.func
def copy_vertex(pt: Polytope, i: int, g: Gjk, k: int):
    """Store vertex k of GJK's simplex as vertex i."""
    pt.p1[i] = g.p1[k]
    pt.p2[i] = g.p2[k]
    pt.id[i] = wp.vec2i(g.id1[k], g.id2[k])


@wp.func
def keep_triangle(pt: Polytope, g: Gjk, a: int, b: int, c: int) -> Gjk:
    """GJK's simplex replaced by one face of the polytope."""
    p1 = mat33r()
    p2 = mat33r()
    ids = wp.vec3i(a, b, c)
    for k in range(3):
        p1[k] = pt.p1[ids[k]]
        p2[k] = pt.p2[ids[k]]
    for k in range(3):
        g.p1[k] = p1[k]
        g.p2[k] = p2[k]
        g.p[k] = p1[k] - p2[k]
        i = pt.id[ids[k]]
        g.id1[k] = i[0]
        g.id2[k] = i[1]
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
def start_from_segment(pt: Polytope, g: Gjk, m: Meshes, s1: Shape, s2: Shape):
    """Two tetrahedra around a segment through the origin. Returns the polytope, the simplex, and a status.

    Status: 0 done, 1 failed, 2 continue with the triangle in the simplex.
    """
    a = g.p[0]
    b = g.p[1]
    pt.center = HALF * (a + b)
    d = b - a
    small = int(0)
    for i in range(1, 3):
        if wp.abs(d[i]) < wp.abs(d[small]):
            small = i
    e = vec3r()
    e[small] = ONE
    u = unit(d)
    d1 = unit(wp.cross(e, d))
    side = wp.cross(u, d1)
    copy_vertex(pt, 0, g, 0)
    copy_vertex(pt, 1, g, 1)
    warm = wp.vec2i(g.warm1, g.warm2)
    warm = add_support(pt, 2, m, s1, s2, d1, warm)
    warm = add_support(pt, 3, m, s1, s2, -HALF * d1 + SIN_120 * side, warm)
    warm = add_support(pt, 4, m, s1, s2, -HALF * d1 - SIN_120 * side, warm)
    pt.nvert = 5
    pt.nface = 6
    for k in range(6):
        i = k % 3
        j = (i + 1) % 3
        tip = wp.where(k < 3, 0, 1)
        if attach_face(pt, k, tip, 2 + i, 2 + j) < ON_ORIGIN:
            return pt, keep_triangle(pt, g, tip, 2 + i, 2 + j), 2
    if not line_meets_triangle(a, b, vertex(pt, 2), vertex(pt, 3), vertex(pt, 4)):
        return pt, g, 1
    return pt, g, 0


@wp.func
def start_from_triangle(pt: Polytope, g: Gjk, m: Meshes, s1: Shape, s2: Shape):
    """A tetrahedron on either side of a triangle through the origin. Returns the polytope and whether it failed."""
    a = g.p[0]
    b = g.p[1]
    c = g.p[2]
    pt.center = (a + b + c) / real(3.0)
    n = wp.cross(b - a, c - a)
    length = wp.length(n)
    if length < TINY:
        return pt, True
    n = n / length
    for k in range(3):
        copy_vertex(pt, k, g, k)
    warm = wp.vec2i(g.warm1, g.warm2)
    warm = add_support(pt, 3, m, s1, s2, -n, warm)
    warm = add_support(pt, 4, m, s1, s2, n, warm)
    d = vertex(pt, 3)
    e = vertex(pt, 4)
    if on_triangle(a, b, c, d) or on_triangle(a, b, c, e):
        return pt, True
    if g.dist > real(10.0) * TINY and not contains_origin(a, b, c, d) and not contains_origin(a, b, c, e):
        return pt, True
    pt.nvert = 5
    pt.nface = 6
    for k in range(6):
        i = k % 3
        if attach_face(pt, k, wp.where(k < 3, 4, 3), i, (i + 1) % 3) < ON_ORIGIN:
            return pt, True
    return pt, False


@wp.func
def start_from_tetrahedron(pt: Polytope, g: Gjk):
    """The tetrahedron around the origin. Returns as start_from_segment does."""
    pt.center = (g.p[0] + g.p[1] + g.p[2] + g.p[3]) * real(0.25)
    for k in range(4):
        copy_vertex(pt, k, g, k)
    pt.nvert = 4
    pt.nface = 4
    for k in range(4):
        a = wp.where(k == 3, 3, 0)
        b = wp.where(k == 0, 1, wp.where(k == 1, 3, 2))
        c = wp.where(k == 0, 2, wp.where(k == 2, 3, 1))
        if attach_face(pt, k, a, b, c) < ON_ORIGIN:
            return pt, keep_triangle(pt, g, a, b, c), 2
    if not contains_origin(g.p[0], g.p[1], g.p[2], g.p[3]):
        return pt, g, 1
    return pt, g, 0


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
def expand(pt: Polytope, m: Meshes, s1: Shape, s2: Shape, tolerance: real, iterations: int, warm: wp.vec2i):
    """Grow the polytope. Returns whether it succeeded, and the face nearest to the origin: vertices and projection."""
    discrete = is_discrete(s1, s2)
    epsilon = wp.where(discrete, TINY, tolerance)
    upper = real(1e30)
    face = wp.vec3i()
    v = vec3r()
    limit = wp.min(iterations, pt.p1.shape[0] - pt.nvert)
    for k in range(limit):
        nearest = int(-1)
        lower2 = real(1e30)
        for i in range(pt.nface):
            if pt.state[i] == READY and pt.dist2[i] < lower2:
                nearest = i
                lower2 = pt.dist2[i]
        if nearest < 0 or lower2 > upper * upper:
            return k > 0, face, v  # no better face than the last one
        face = pt.face[nearest]
        v = pt.v[nearest]
        if lower2 <= ZERO:
            return True, face, v

        lower = wp.sqrt(lower2)
        w = pt.nvert
        warm = add_support(pt, w, m, s1, s2, v / lower, warm)
        pt.nvert += 1
        pw = vertex(pt, w)
        here = wp.dot(v, pw) / lower
        upper = wp.min(upper, here)
        if here - lower < epsilon:
            return k > 0 or here >= lower - real(1e-10), face, v
        if discrete:
            for i in range(w):
                if pt.id[i] == pt.id[w]:
                    return True, face, v

        # remove the faces seen from w, keep their boundary
        n = int(0)
        for i in range(pt.nface):
            if pt.state[i] != UNUSED and (i == nearest or wp.dot(pt.v[i], pw) - pt.dist2[i] > TINY):
                pt.state[i] = UNUSED
                f = pt.face[i]
                n = add_edge(pt, n, f[0], f[1])
                n = add_edge(pt, n, f[1], f[2])
                n = add_edge(pt, n, f[2], f[0])
        if n < 3:
            return False, face, v
        if n > pt.edge.shape[0]:
            return True, face, v  # out of room: the last face is the best answer there is

        slot = int(0)
        for i in range(n):
            while slot < pt.nface and pt.state[slot] != UNUSED:
                slot += 1
            if slot >= pt.state.shape[0]:
                return True, face, v
            pt.nface = wp.max(pt.nface, slot + 1)
            e = pt.edge[i]
            d2 = attach_face(pt, slot, w, e[0], e[1])
            if d2 == ZERO:
                return False, face, v
            if d2 < lower2 or d2 > upper * upper:
                pt.state[slot] = IDLE
    return True, face, v


@cache
def epa(capacity: int):
    """EPA with room for ``capacity`` new vertices."""
    nvert = capacity + 5
    nface = 2 * nvert + 8

    @wp.func
    def penetration(m: Meshes, s1: Shape, s2: Shape, g: Gjk, tolerance: real, iterations: int) -> Depth:
        """Depth of two shapes from the simplex GJK found around the origin."""
        p1 = wp.zeros(shape=(wp.static(nvert),), dtype=vec3r)
        p2 = wp.zeros(shape=(wp.static(nvert),), dtype=vec3r)
        id = wp.zeros(shape=(wp.static(nvert),), dtype=wp.vec2i)
        face = wp.zeros(shape=(wp.static(nface),), dtype=wp.vec3i)
        state = wp.zeros(shape=(wp.static(nface),), dtype=int)
        v = wp.zeros(shape=(wp.static(nface),), dtype=vec3r)
        dist2 = wp.zeros(shape=(wp.static(nface),), dtype=real)
        edge = wp.zeros(shape=(48,), dtype=wp.vec2i)
        pt = bundle_polytope(p1, p2, id, face, state, v, dist2, edge)

        r = Depth()
        status = int(2)
        if g.n == 2:
            pt, g, status = start_from_segment(pt, g, m, s1, s2)
        elif g.n == 4:
            pt, g, status = start_from_tetrahedron(pt, g)
        if status == 2:
            pt, failed = start_from_triangle(pt, g, m, s1, s2)
            status = wp.where(failed, 1, 0)
        if status == 1:
            r.failed = True
            return r

        found, f, nearest = expand(pt, m, s1, s2, tolerance, iterations, wp.vec2i(g.warm1, g.warm2))
        if not found:
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

    return penetration
