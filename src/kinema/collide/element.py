"""Geoms against elements of flexes: segments, triangles and tetrahedra, rounded by a radius.

    sphere     nearest point of the element; from within a tetrahedron, out of the nearest face
    capsule    on a triangle: its ends, and the triangle's corners beside its axis; on a tetrahedron one contact, where
               its axis is nearest or, if it enters the tetrahedron, the shortest way out of it: through a face, or
               past an edge
    box        on a triangle: the triangle's corners against the faces, the box's corners against the triangle
    segments   are capsules: sphere.py, capsule.py

Other geoms meet elements as convex shapes do, in one contact (element_convex). Normals point from the geom to the flex.
"""

import warp as wp

from kinema.collide.barycentric import tetrahedron_weights, triangle_weights
from kinema.collide.bundles import Touch
from kinema.collide.emit import emit
from kinema.math.vector import column, normalize, normalize_with_length
from kinema.mujoco_enums import MINVAL

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
def face_corner(a: wp.vec3, b: wp.vec3, c: wp.vec3, e: wp.vec3, face: int, i: int) -> wp.vec3:
    """Corner i of the face opposite to a corner of a tetrahedron."""
    which = wp.where(i < face, i, i + 1)
    return wp.where(which == 0, a, wp.where(which == 1, b, wp.where(which == 2, c, e)))


@wp.func
def inward_normal(a: wp.vec3, b: wp.vec3, c: wp.vec3, e: wp.vec3, face: int) -> wp.vec3:
    """Unit normal of a face, towards the corner opposite to it."""
    x = face_corner(a, b, c, e, face, 0)
    y = face_corner(a, b, c, e, face, 1)
    z = face_corner(a, b, c, e, face, 2)
    opposite = wp.where(face == 0, a, wp.where(face == 1, b, wp.where(face == 2, c, e)))
    n = normalize(wp.cross(y - x, z - x))
    return n * wp.where(wp.dot(n, opposite - x) >= 0.0, 1.0, -1.0)


@wp.func
def sphere_tetrahedron(
    touch: Touch, w: int, k: int, center: wp.vec3, r: float, a: wp.vec3, b: wp.vec3, c: wp.vec3, e: wp.vec3,
    radius: float, reach: float,
) -> int:  # fmt: skip
    """Contact of a sphere with a tetrahedron."""
    inside = wp.min(tetrahedron_weights(a, b, c, e, center)) >= 0.0
    least = float(1.0e30)
    normal = wp.vec3(1.0, 0.0, 0.0)
    for face in range(4):
        x = face_corner(a, b, c, e, face, 0)
        y = face_corner(a, b, c, e, face, 1)
        z = face_corner(a, b, c, e, face, 2)
        if inside:
            n = inward_normal(a, b, c, e, face)
            depth = wp.dot(center - x, n)
            if depth < least:
                least = depth
                normal = n
        else:
            s = triangle_weights(x, y, z, center)
            toward, length = normalize_with_length(x + s[1] * (y - x) + s[2] * (z - x) - center)
            if length < least:
                least = length
                normal = toward
    dist = wp.where(inside, -least, least) - r - radius
    if dist > reach:
        return 0
    emit(touch, w, k, dist, center + normal * (r + 0.5 * dist), normal, wp.vec3())
    return 1


@wp.func
def segment_pair(p: wp.vec3, d: wp.vec3, q: wp.vec3, e: wp.vec3) -> wp.vec2:
    """Places s on p + s d and t on q + t e, both in [0, 1], that are nearest to each other (Ericson 2005, 5.1.9)."""
    r = p - q
    a = wp.dot(d, d)
    f = wp.dot(e, r)
    g = wp.dot(e, e)
    c = wp.dot(d, r)
    b = wp.dot(d, e)
    det = a * g - b * b
    s = float(0.0)
    if det > 1.0e-12 * a * g:
        s = wp.clamp((b * f - c * g) / det, 0.0, 1.0)
    t = wp.clamp((b * s + f) / wp.max(MINVAL, g), 0.0, 1.0)
    s = wp.clamp((b * t - c) / wp.max(MINVAL, a), 0.0, 1.0)
    return wp.vec2(s, t)


@wp.func
def edge_end(a: wp.vec3, b: wp.vec3, c: wp.vec3, e: wp.vec3, edge: int, i: int) -> wp.vec3:
    """End i of an edge of a tetrahedron: ab, ac, ae, bc, be, ce."""
    if i == 0:
        return wp.where(edge < 3, a, wp.where(edge < 5, b, c))
    return wp.where(edge == 0, b, wp.where(edge == 1 or edge == 3, c, e))


@wp.func
def way_out(
    low: wp.vec3, along: wp.vec3, first: float, last: float, a: wp.vec3, b: wp.vec3, c: wp.vec3, e: wp.vec3
):  # fmt: skip
    """The shortest way by which a segment that is in a tetrahedron from place `first` to `last` leaves it: its length,
    against its direction, and the point of the segment that leaves last.

    A segment and a tetrahedron are apart along the normal of a face, or along one of an edge and the segment. A segment
    that is parallel to the face leaves in the middle of what is inside.
    """
    depth = float(1.0e30)
    normal = wp.vec3(1.0, 0.0, 0.0)
    point = low
    for face in range(4):
        n = inward_normal(a, b, c, e, face)
        x = face_corner(a, b, c, e, face, 0)
        one = wp.dot(low - x, n)
        other = wp.dot(low + along - x, n)
        if wp.max(one, other) < depth:
            depth = wp.max(one, other)
            normal = n
            point = low + wp.where(one > other, 0.0, wp.where(one < other, 1.0, 0.5 * (first + last))) * along
    for edge in range(6):
        x = edge_end(a, b, c, e, edge, 0)
        y = edge_end(a, b, c, e, edge, 1)
        n, length = normalize_with_length(wp.cross(y - x, along))
        if length > 1.0e-6 * wp.length(y - x) * wp.length(along):
            for _side in range(2):
                n = -n
                far = wp.max(
                    wp.max(wp.dot(a - low, n), wp.dot(b - low, n)), wp.max(wp.dot(c - low, n), wp.dot(e - low, n))
                )
                if far < depth:
                    depth = far
                    normal = -n
                    point = low + segment_pair(low, along, x, y - x)[0] * along
    return depth, normal, point


@wp.func
def capsule_tetrahedron(
    touch: Touch, w: int, k: int, pos: wp.vec3, mat: wp.mat33, size: wp.vec3, a: wp.vec3, b: wp.vec3, c: wp.vec3,
    e: wp.vec3, radius: float, reach: float,
) -> int:  # fmt: skip
    """Contact of a capsule with a tetrahedron: where its axis is nearest, or leaves it soonest."""
    half = column(mat, 2) * size[1]
    low = pos - half
    along = 2.0 * half
    first = float(0.0)  # the part of the axis inside
    last = float(1.0)
    for face in range(4):
        x = face_corner(a, b, c, e, face, 0)
        n = inward_normal(a, b, c, e, face)
        h0 = wp.dot(low - x, n)
        slope = wp.dot(along, n)
        if wp.abs(slope) > 1.0e-9 * wp.length(along):
            t = -h0 / slope
            if slope > 0.0:
                first = wp.max(first, t)
            else:
                last = wp.min(last, t)
        elif h0 < 0.0:
            last = -1.0
    point = low
    normal = wp.vec3(1.0, 0.0, 0.0)
    dist = float(1.0e30)
    if first <= last:
        depth, normal, point = way_out(low, along, first, last, a, b, c, e)
        dist = -depth
    else:
        for side in range(2):
            end = wp.where(side == 0, low + along, low)
            for face in range(4):
                x = face_corner(a, b, c, e, face, 0)
                y = face_corner(a, b, c, e, face, 1)
                z = face_corner(a, b, c, e, face, 2)
                s = triangle_weights(x, y, z, end)
                toward, length = normalize_with_length(x + s[1] * (y - x) + s[2] * (z - x) - end)
                if length < dist:
                    dist = length
                    normal = toward
                    point = end
        for edge in range(6):
            x = edge_end(a, b, c, e, edge, 0)
            y = edge_end(a, b, c, e, edge, 1)
            st = segment_pair(low, along, x, y - x)
            toward, length = normalize_with_length(x + st[1] * (y - x) - low - st[0] * along)
            if length < dist:
                dist = length
                normal = toward
                point = low + st[0] * along
    dist = dist - size[0] - radius
    if dist > reach:
        return 0
    emit(touch, w, k, dist, point + normal * (size[0] + 0.5 * dist), normal, wp.vec3())
    return 1


@wp.func
def segment_axis(a: wp.vec3, b: wp.vec3):
    """A segment as the axis of a capsule: its middle, a matrix whose third column points along it, half its length."""
    axis, length = normalize_with_length(a - b)
    mat = wp.mat33(0.0, 0.0, axis[0], 0.0, 0.0, axis[1], 0.0, 0.0, axis[2])
    return 0.5 * (a + b), mat, 0.5 * length
