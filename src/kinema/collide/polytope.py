"""The polytope of EPA: its vertices, its faces, and the simplex it begins with.

A face holds the ids of its vertices, the projection v of the origin on its plane (which is also its normal) and |v|^2.
It lives in small arrays (workspace.py); slots of deleted faces are used again. Several lanes may attach faces side by
side (epa.py); what a function here writes otherwise, each of them writes alike.
"""

import warp as wp

from kinema.collide.gjk import Gjk
from kinema.collide.precision import HALF, ONE, TINY, ZERO, mat33r, real, unit, vec3r

UNUSED = wp.constant(-1)  # state of a free slot
IDLE = wp.constant(0)  # part of the polytope, but too far to be the nearest face
READY = wp.constant(1)
SIN_120 = wp.constant(wp.float64(0.8660254037844386))


@wp.struct
class Polytope:
    """Vertices (as points of either shape) and faces: where they are kept. How many there are, others know."""

    p1: wp.array(dtype=vec3r)
    p2: wp.array(dtype=vec3r)
    id: wp.array(dtype=wp.vec2i)
    face: wp.array(dtype=wp.vec3i)
    state: wp.array(dtype=int)
    v: wp.array(dtype=vec3r)
    dist2: wp.array(dtype=real)
    seen: wp.array(dtype=int)  # faces that a new vertex sees
    edge: wp.array(dtype=wp.vec2i)  # horizon


@wp.func
def bundle_polytope(
    p1: wp.array(dtype=vec3r),
    p2: wp.array(dtype=vec3r),
    id: wp.array(dtype=wp.vec2i),
    face: wp.array(dtype=wp.vec3i),
    state: wp.array(dtype=int),
    v: wp.array(dtype=vec3r),
    dist2: wp.array(dtype=real),
    seen: wp.array(dtype=int),
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
    pt.seen = seen
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
def attach_face(pt: Polytope, slot: int, f: wp.vec3i, center: vec3r) -> real:
    """Store a face, outwards from the center; return its squared distance from the origin, zero for a flat one."""
    pt.face[slot] = f
    pt.state[slot] = READY
    pa = vertex(pt, f[0])
    v, ok = project_origin(pa, vertex(pt, f[1]), vertex(pt, f[2]))
    if not ok:
        return ZERO
    if wp.dot(v, pa - center) < ZERO:
        v = -v
    pt.v[slot] = v
    pt.dist2[slot] = wp.dot(v, v)
    return pt.dist2[slot]


@wp.func
def copy_simplex(pt: Polytope, g: Gjk):
    """Store GJK's simplex as the first vertices."""
    for k in range(g.n):
        pt.p1[k] = g.p1[k]
        pt.p2[k] = g.p2[k]
        pt.id[k] = wp.vec2i(g.id1[k], g.id2[k])


@wp.func
def triangle_points(p: wp.array(dtype=vec3r), f: wp.vec3i) -> mat33r:
    """The points of three vertices."""
    x = mat33r()
    x[0] = p[f[0]]
    x[1] = p[f[1]]
    x[2] = p[f[2]]
    return x


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
def directions(pt: Polytope, n: int) -> mat33r:
    """Directions in which a simplex of n vertices still wants some.

    A segment wants three around it, 120 degrees apart; a triangle one on either side; a tetrahedron none.
    """
    dirs = mat33r()
    a = vertex(pt, 0)
    d = vertex(pt, 1) - a
    if n == 2:
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
        normal = unit(wp.cross(d, vertex(pt, 2) - a))
        dirs[0] = -normal
        dirs[1] = normal
    return dirs


@wp.func
def center_of(pt: Polytope, n: int) -> vec3r:
    """The middle of the first n vertices."""
    c = vec3r()
    for k in range(n):
        c = c + vertex(pt, k) / real(n)
    return c


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
def turn_dents(pt: Polytope, center: vec3r):
    """Make the polytope begun from a triangle convex: where the two vertices beside it see each other past one of its
    edges, the two faces at that edge become those at the edge between the two."""
    a = vertex(pt, 3)
    b = vertex(pt, 4)
    three = int(3)
    for i in range(three):
        j = (i + 1) % 3
        if wp.dot(pt.v[i], a - vertex(pt, i)) > ZERO and wp.dot(pt.v[3 + i], b - vertex(pt, i)) > ZERO:
            attach_face(pt, i, wp.vec3i(4, i, 3), center)
            attach_face(pt, 3 + i, wp.vec3i(3, j, 4), center)


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
