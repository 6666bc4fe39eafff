"""Geoms against elements of flexes: segments, triangles and tetrahedra, rounded by a radius.

    sphere     nearest point of the element; from within a tetrahedron, out of the nearest face
    capsule    on a triangle: its ends, and the triangle's corners beside its axis; on a tetrahedron one contact, where
               its axis is nearest or, if it enters the tetrahedron, the shortest way out of it: through a face, or
               past an edge
    box        on a triangle: the triangle's corners against the faces, the box's corners against the triangle
    segments   are capsules: sphere.py, capsule.py

Other geoms meet elements as convex shapes do, in one contact (element_convex). Normals point from the geom to the flex.
Of a tetrahedron the nearest face is told in doubles: floats would take a corner for a point 1e-4 of an edge beside it,
and that share of a contact may be all that moves, beside a pinned vertex.
"""

import warp as wp

from kinema.collide.barycentric import triangle_weights
from kinema.collide.bundles import Touch
from kinema.collide.emit import emit
from kinema.collide.precision import HALF, ONE, TINY, TWO, ZERO, mat43r, real, unit, vec2r, vec3r
from kinema.collide.simplex import combine, nearest_weights
from kinema.math.vector import column, normalize_with_length
from kinema.mujoco_enums import MINVAL

FAR = wp.constant(wp.float64(1e30))  # beyond any distance
INNER = wp.constant(1.0e-7)  # how far from its ends a place on a segment counts as between them


@wp.func
def sphere_triangle(
    touch: Touch, w: int, k: int, center: wp.vec3, r: float, a: wp.vec3, b: wp.vec3, c: wp.vec3, radius: float,
    reach: float,
) -> int:  # fmt: skip
    """Contact of a sphere with a triangle, if they are within reach."""
    s = triangle_weights(a, b, c, center)
    nearest = a + s[1] * (b - a) + s[2] * (c - a)
    normal, length = normalize_with_length(nearest - center)
    dist = length - r - radius
    if dist > reach:
        return 0
    emit(touch, w, k, dist, center + normal * (r + 0.5 * dist), normal, wp.vec3())
    return 1


@wp.func
def capsule_triangle(
    touch: Touch, w: int, k: int, pos: wp.vec3, mat: wp.mat33, size: wp.vec3, a: wp.vec3, b: wp.vec3, c: wp.vec3,
    radius: float, reach: float,
) -> int:  # fmt: skip
    """Contacts of a capsule with a triangle."""
    half = column(mat, 2) * size[1]
    low = pos - half
    n = sphere_triangle(touch, w, k, low, size[0], a, b, c, radius, reach)
    n += sphere_triangle(touch, w, k + n, pos + half, size[0], a, b, c, radius, reach)
    for i in range(3):
        corner = wp.where(i == 0, a, wp.where(i == 1, b, c))
        t = wp.dot(corner - low, half) / (2.0 * wp.max(MINVAL, wp.dot(half, half)))
        if t > INNER and t < 1.0 - INNER:
            nearest = low + 2.0 * t * half
            normal, length = normalize_with_length(corner - nearest)
            dist = length - size[0] - radius
            if dist <= reach:
                at = 0.5 * (nearest + corner + normal * (size[0] - radius))
                emit(touch, w, k + n, dist, at, normal, wp.vec3())
                n += 1
    return n


@wp.func
def box_triangle(
    touch: Touch, w: int, k: int, pos: wp.vec3, mat: wp.mat33, size: wp.vec3, a: wp.vec3, b: wp.vec3, c: wp.vec3,
    radius: float, reach: float,
) -> int:  # fmt: skip
    """Contacts of a box with a triangle."""
    n = int(0)
    for i in range(3):
        corner = wp.where(i == 0, a, wp.where(i == 1, b, c))
        local = wp.transpose(mat) * (corner - pos)
        beyond = wp.abs(local) - size
        axis = int(0)
        for j in range(1, 3):
            if beyond[j] > beyond[axis]:
                axis = j
        dist = beyond[axis] - radius
        if dist <= reach:
            normal = column(mat, axis) * wp.where(local[axis] > 0.0, 1.0, -1.0)
            emit(touch, w, k + n, dist, corner - normal * (radius + 0.5 * dist), normal, wp.vec3())
            n += 1
    for i in range(8):
        corner = pos + mat * wp.vec3(
            wp.where((i & 1) != 0, size[0], -size[0]),
            wp.where((i & 2) != 0, size[1], -size[1]),
            wp.where((i & 4) != 0, size[2], -size[2]),
        )
        n += sphere_triangle(touch, w, k + n, corner, 0.0, a, b, c, radius, reach)
    return n


@wp.func
def tetrahedron_about(a: wp.vec3, b: wp.vec3, c: wp.vec3, e: wp.vec3, x: vec3r) -> mat43r:
    """The corners of a tetrahedron, from a point on."""
    p = mat43r()
    p[0] = vec3r(a) - x
    p[1] = vec3r(b) - x
    p[2] = vec3r(c) - x
    p[3] = vec3r(e) - x
    return p


@wp.func
def face_corner(p: mat43r, face: int, i: int) -> vec3r:
    """Corner i of the face opposite to a corner of a tetrahedron."""
    return p[wp.where(i < face, i, i + 1)]


@wp.func
def inward_normal(p: mat43r, face: int) -> vec3r:
    """Unit normal of a face, towards the corner opposite to it."""
    x = face_corner(p, face, 0)
    n = unit(wp.cross(face_corner(p, face, 1) - x, face_corner(p, face, 2) - x))
    return n * wp.where(wp.dot(n, p[face] - x) >= ZERO, ONE, -ONE)


@wp.func
def sphere_tetrahedron(
    touch: Touch, w: int, k: int, center: wp.vec3, r: float, a: wp.vec3, b: wp.vec3, c: wp.vec3, e: wp.vec3,
    radius: float, reach: float,
) -> int:  # fmt: skip
    """Contact of a sphere with a tetrahedron."""
    p = tetrahedron_about(a, b, c, e, vec3r(center))
    l = nearest_weights(4, p)
    toward = combine(l, p)
    normal = unit(toward)
    away = wp.length(toward)
    if wp.min(l) > ZERO:  # from within
        away = -FAR
        for face in range(4):
            n = inward_normal(p, face)
            depth = -wp.dot(face_corner(p, face, 0), n)
            if -depth > away:
                away = -depth
                normal = n
    dist = float(away) - r - radius
    if dist > reach:
        return 0
    emit(touch, w, k, dist, center + wp.vec3(normal) * (r + 0.5 * dist), wp.vec3(normal), wp.vec3())
    return 1


@wp.func
def segment_pair(p: vec3r, d: vec3r, q: vec3r, e: vec3r) -> vec2r:
    """Places s on p + s d and t on q + t e, both in [0, 1], that are nearest to each other (Ericson 2005, 5.1.9)."""
    r = p - q
    a = wp.dot(d, d)
    f = wp.dot(e, r)
    g = wp.dot(e, e)
    c = wp.dot(d, r)
    b = wp.dot(d, e)
    det = a * g - b * b
    s = ZERO
    if det > TINY * a * g:
        s = wp.clamp((b * f - c * g) / det, ZERO, ONE)
    t = wp.clamp((b * s + f) / wp.max(TINY, g), ZERO, ONE)
    s = wp.clamp((b * t - c) / wp.max(TINY, a), ZERO, ONE)
    return vec2r(s, t)


@wp.func
def edge_end(p: mat43r, edge: int, i: int) -> vec3r:
    """End i of an edge of a tetrahedron: 01, 02, 03, 12, 13, 23."""
    if i == 0:
        return p[wp.where(edge < 3, 0, wp.where(edge < 5, 1, 2))]
    return p[wp.where(edge == 0, 1, wp.where(edge == 1 or edge == 3, 2, 3))]


@wp.func
def way_out(along: vec3r, first: real, last: real, p: mat43r):
    """The shortest way by which a segment leaves a tetrahedron that it is in from place `first` to `last`: its length,
    against its direction, and the place on the segment that leaves last. Corners are from the beginning of the segment.

    A segment and a tetrahedron are apart along the normal of a face, or along one of an edge and the segment. A segment
    that is parallel to the face leaves in the middle of what is inside.
    """
    depth = FAR
    normal = vec3r(ONE, ZERO, ZERO)
    place = ZERO
    for face in range(4):
        n = inward_normal(p, face)
        x = face_corner(p, face, 0)
        one = -wp.dot(x, n)
        other = wp.dot(along - x, n)
        if wp.max(one, other) < depth:
            depth = wp.max(one, other)
            normal = n
            place = wp.where(one > other, ZERO, wp.where(one < other, ONE, HALF * (first + last)))
    for edge in range(6):
        x = edge_end(p, edge, 0)
        y = edge_end(p, edge, 1)
        across = wp.cross(y - x, along)
        if wp.length(across) > real(1.0e-9) * wp.length(y - x) * wp.length(along):
            n = unit(across)
            for _side in range(2):
                n = -n
                far = wp.max(wp.max(wp.dot(p[0], n), wp.dot(p[1], n)), wp.max(wp.dot(p[2], n), wp.dot(p[3], n)))
                if far < depth:
                    depth = far
                    normal = -n
                    place = segment_pair(vec3r(), along, x, y - x)[0]
    return depth, normal, place


@wp.func
def capsule_tetrahedron(
    touch: Touch, w: int, k: int, pos: wp.vec3, mat: wp.mat33, size: wp.vec3, a: wp.vec3, b: wp.vec3, c: wp.vec3,
    e: wp.vec3, radius: float, reach: float,
) -> int:  # fmt: skip
    """Contact of a capsule with a tetrahedron: where its axis is nearest, or leaves it soonest."""
    half = vec3r(column(mat, 2)) * real(size[1])
    low = vec3r(pos) - half
    along = TWO * half
    p = tetrahedron_about(a, b, c, e, low)
    first = ZERO  # the part of the axis inside
    last = ONE
    for face in range(4):
        n = inward_normal(p, face)
        h0 = -wp.dot(face_corner(p, face, 0), n)
        slope = wp.dot(along, n)
        if wp.abs(slope) > TINY * wp.length(along):
            t = -h0 / slope
            if slope > ZERO:
                first = wp.max(first, t)
            else:
                last = wp.min(last, t)
        elif h0 < ZERO:
            last = -ONE
    place = ZERO
    normal = vec3r(ONE, ZERO, ZERO)
    away = FAR
    if first <= last:
        depth, normal, place = way_out(along, first, last, p)
        away = -depth
    else:
        for side in range(2):
            t = wp.where(side == 0, ONE, ZERO)
            q = tetrahedron_about(a, b, c, e, low + t * along)
            toward = combine(nearest_weights(4, q), q)
            if wp.length(toward) < away:
                away = wp.length(toward)
                normal = unit(toward)
                place = t
        for edge in range(6):
            x = edge_end(p, edge, 0)
            y = edge_end(p, edge, 1)
            st = segment_pair(vec3r(), along, x, y - x)
            toward = x + st[1] * (y - x) - st[0] * along
            if wp.length(toward) < away:
                away = wp.length(toward)
                normal = unit(toward)
                place = st[0]
    dist = float(away) - size[0] - radius
    if dist > reach:
        return 0
    at = low + place * along + normal * (real(size[0]) + HALF * real(dist))
    emit(touch, w, k, dist, wp.vec3(at), wp.vec3(normal), wp.vec3())
    return 1


@wp.func
def segment_axis(a: wp.vec3, b: wp.vec3):
    """A segment as the axis of a capsule: its middle, a matrix whose third column points along it, half its length."""
    axis, length = normalize_with_length(a - b)
    mat = wp.mat33(0.0, 0.0, axis[0], 0.0, 0.0, axis[1], 0.0, 0.0, axis[2])
    return 0.5 * (a + b), mat, 0.5 * length
