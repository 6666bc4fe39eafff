"""Capsule against capsule and box.

Two capsules are two spheres at the nearest points of their segments p + a x, |x| <= 1. With a1, a2 the half axes and
d = p1 - p2, the nearest points of the lines solve

    [ a1.a1  -a1.a2 ] [x1]   [-a1.d]
    [-a1.a2   a2.a2 ] [x2] = [ a2.d]      determinant |a1 x a2|^2 (Lagrange)

Parallel capsules touch in up to two points. A capsule on a box touches in up to two points: the nearest one, and the
farthest point of the segment that still lies over the same face or edge.
"""

import warp as wp

from kinema.collide.plane import NO_CONTACT, mat23
from kinema.collide.sphere import sphere_box, sphere_sphere
from kinema.math.vector import column
from kinema.mujoco_enums import MINVAL

PARALLEL_CAPSULES = wp.constant(1e-8)  # squared sine below which capsules count as parallel
PARALLEL_EDGE = wp.constant(1e-12)  # the same for a capsule and an edge of a box


@wp.func
def resolve(x1: float, x2: float, low: float, high: float) -> wp.vec2:
    """Parameters clamped to the segments; low and high are the solutions for x1 at the ends of segment 2."""
    if x2 < -1.0:
        return wp.vec2(wp.clamp(low, -1.0, 1.0), -1.0)
    if x2 > 1.0:
        return wp.vec2(wp.clamp(high, -1.0, 1.0), 1.0)
    return wp.vec2(x1, x2)


@wp.func
def capsule_capsule(p1: wp.vec3, mat1: wp.mat33, size1: wp.vec3, p2: wp.vec3, mat2: wp.mat33, size2: wp.vec3):
    """Two distances, positions and normals; the second is absent unless the axes are parallel.

    Parallel capsules touch at the two ends of the overlap of their segments.
    """
    z1 = column(mat1, 2)
    z2 = column(mat2, 2)
    a1 = z1 * size1[1]
    a2 = z2 * size2[1]
    d = p1 - p2
    ma = wp.dot(a1, a1)
    mb = wp.dot(a1, a2)
    mc = wp.dot(a2, a2)
    u = -wp.dot(a1, d)
    v = wp.dot(a2, d)
    low = (u - mb) / ma
    high = (u + mb) / ma
    cross = wp.cross(a1, a2)
    det = wp.dot(cross, cross)

    parallel = det <= PARALLEL_CAPSULES * ma * mc
    x = wp.vec2()
    if parallel:
        x = resolve(-1.0, (v - mb) / mc, low, high)
    else:
        # x1 = (cross . (a2 x d)) / det, the solution without cancellation
        x1 = wp.clamp(wp.dot(cross, wp.cross(a2, d)) / det, -1.0, 1.0)
        x = resolve(x1, (v + mb * x1) / mc, low, high)

    dists = wp.vec2(NO_CONTACT, NO_CONTACT)
    pos = mat23()
    normal = mat23()
    dist, at, n = sphere_sphere(p1 + a1 * x[0], size1[0], p2 + a2 * x[1], size2[0], z1, z2)
    dists[0] = dist
    pos[0] = at
    normal[0] = n
    if parallel:
        x = resolve(1.0, (v + mb) / mc, low, high)
        dist, at, n = sphere_sphere(p1 + a1 * x[0], size1[0], p2 + a2 * x[1], size2[0], z1, z2)
        dists[1] = dist
        pos[1] = at
        normal[1] = n
    return dists, pos, normal


@wp.func
def nearest_on_edge(pos: wp.vec3, a: wp.vec3, start: wp.vec3, j: int, half: float):
    """Nearest points of the segment pos + a x2 and the box edge start + e_j half x1, |x| <= 1.

    Returns the squared distance, x1, x2 and a code 3 s1 + s2, s = 0, 1, 2 for the lower end, the middle, the upper end.
    A code of -1 marks parallel segments, which have no single nearest pair.
    """
    d = start - pos
    length2 = wp.dot(a, a)
    k = (j + 1) % 3
    l = (j + 2) % 3
    across = a[k] * a[k] + a[l] * a[l]
    ma = half * half
    mb = -half * a[j]
    mc = length2
    u = -half * d[j]
    v = wp.dot(a, d)
    det = ma * across
    if det < wp.max(MINVAL, PARALLEL_EDGE * ma * mc):
        return float(0.0), float(0.0), float(0.0), int(-1)
    x1 = (mc * u - mb * v) / det
    x2 = (ma * v - mb * u) / det
    s1 = int(1)
    s2 = int(1)
    if x1 > 1.0:
        x1 = 1.0
        s1 = 2
        x2 = (v - mb) / mc
    elif x1 < -1.0:
        x1 = -1.0
        s1 = 0
        x2 = (v + mb) / mc
    if x2 > 1.0 or x2 < -1.0:
        if x2 > 1.0:
            x2 = 1.0
            s2 = 2
            x1 = (u - mb) / ma
        else:
            x2 = -1.0
            s2 = 0
            x1 = (u + mb) / ma
        if x1 > 1.0:
            x1 = 1.0
            s1 = 2
        elif x1 < -1.0:
            x1 = -1.0
            s1 = 0
    gap = d - a * x2
    gap[j] = gap[j] + half * x1
    return wp.dot(gap, gap), x1, x2, s1 * 3 + s2


@wp.func
def bit_axis(bits: int) -> int:
    """Index of the single bit set in 1, 2 or 4."""
    return bits // 2


@wp.func
def capsule_box_segment(pos: wp.vec3, axis: wp.vec3, half_length: float, size: wp.vec3):
    """Where on its segment a capsule touches a box: the nearest parameter, and the step from it to a second one.

    Everything is in the box frame. A step below -3 means that there is no second contact; a nearest parameter below -3
    that there is none at all.
    """
    a = axis * half_length
    direction = int(0)  # one bit per positive component
    for j in range(3):
        if a[j] > 0.0:
            direction += 1 << j

    best = float(1e10)
    nearest = float(-4.0)
    kind = int(-4)  # -3, -1: an end over a face; 0..8: code of an edge
    face = int(-1)
    corner = int(0)
    edge = int(0)
    on_edge = float(0.0)

    # ends of the segment over a face (outside in at most one coordinate)
    for e in range(2):
        x = wp.where(e == 0, -1.0, 1.0)
        p = pos + a * x
        outside = int(0)
        last = int(-1)
        d2 = float(0.0)
        for j in range(3):
            over = wp.abs(p[j]) - size[j]
            if over > 0.0:
                outside += 1
                last = j
                d2 += over * over
        if outside <= 1 and d2 < best:
            best = d2
            nearest = x
            kind = wp.where(e == 0, -3, -1)
            face = last

    # the twelve edges
    for j in range(3):
        for i in range(8):
            if (i & (1 << j)) == 0:
                start = wp.vec3(
                    wp.where((i & 1) != 0, size[0], -size[0]),
                    wp.where((i & 2) != 0, size[1], -size[1]),
                    wp.where((i & 4) != 0, size[2], -size[2]),
                )
                start[j] = 0.0
                d2, x1, x2, code = nearest_on_edge(pos, a, start, j, size[j])
                # corners are met once by each of three edges: later ones must be better by more than rounding
                if code >= 0 and d2 < best * (1.0 - 1e-6) - MINVAL:
                    best = d2
                    nearest = x2
                    on_edge = x1
                    corner = i + (1 << j) * (code // 6)
                    edge = j
                    kind = code

    step = float(-4.0)
    if kind >= 0 and kind // 3 != 1:
        step = step_from_corner(a, axis, size, direction ^ corner, nearest)
    elif kind >= 0:
        step = step_from_edge(
            a, axis, size, direction, (direction ^ corner) & (7 - (1 << edge)), edge, nearest, on_edge
        )
    elif kind > -4 and face >= 0:
        step = step_from_face(pos, a, size, wp.where(kind == -3, 1.0, -1.0), face)
    return nearest, step


@wp.func
def step_from_corner(a: wp.vec3, axis: wp.vec3, size: wp.vec3, relation: int, nearest: float) -> float:
    """Step along the segment when a corner is nearest: along the box edge or across a face, but not off it."""
    if relation == 0 or relation == 7:
        return -4.0  # the segment points into or away from the corner
    sign = float(1.0)
    if relation == 3 or relation == 5 or relation == 6:
        sign = -1.0
        relation = 7 - relation
    ax = bit_axis(relation)
    if axis[ax] * axis[ax] > 0.5:
        return sign * wp.min(1.0 - sign * nearest, 2.0 * size[ax] / wp.abs(a[ax]))
    ax1 = (ax + 1) % 3
    ax2 = (ax + 2) % 3
    step = wp.min(1.0 + sign * nearest, 2.0 * size[ax1] / wp.abs(a[ax1]))
    return -sign * wp.min(step, 2.0 * size[ax2] / wp.abs(a[ax2]))


@wp.func
def step_from_edge(
    a: wp.vec3, axis: wp.vec3, size: wp.vec3, direction: int, relation: int, edge: int, nearest: float, on_edge: float
) -> float:
    """Step along the segment when the middle of an edge is nearest: over the face that is closest to parallel."""
    if relation != 1 and relation != 2 and relation != 4:
        return -4.0  # a T: the segment crosses the edge from outside to outside
    ax1 = (edge + 1) % 3
    ax2 = (edge + 2) % 3
    if wp.abs(axis[ax1]) > wp.abs(axis[ax2]):
        ax1 = ax2
    ax2 = 3 - edge - ax1
    forward = (relation & (1 << ax2)) != 0
    sign = wp.where(forward, 1.0, -1.0)
    step = wp.min(1.0 - sign * nearest, 2.0 * size[ax2] / wp.abs(a[ax2]))
    room = wp.where(((direction & (1 << edge)) != 0) == forward, 1.0 - on_edge, 1.0 + on_edge)
    return sign * wp.min(step, size[edge] * room / wp.abs(a[edge]))


@wp.func
def step_from_face(pos: wp.vec3, a: wp.vec3, size: wp.vec3, sign: float, face: int) -> float:
    """Step along the segment when one end is over a face: to the other end, or to the border of the face."""
    p = pos - a * sign
    step = float(2.0)
    for i in range(3):
        if i != face:
            for s in range(2):
                border = wp.where(s == 0, size[i], -size[i])
                e = (border - p[i]) / a[i] * sign
                if e > 0.0 and e < step:
                    step = e
    return sign * step


@wp.func
def capsule_box(p1: wp.vec3, mat1: wp.mat33, size1: wp.vec3, p2: wp.vec3, mat2: wp.mat33, size2: wp.vec3):
    """Two distances, positions and normals; absent ones have the distance NO_CONTACT."""
    to_box = wp.transpose(mat2)
    axis1 = column(mat1, 2)
    nearest, step = capsule_box_segment(to_box * (p1 - p2), to_box * axis1, size1[1], size2)
    dists = wp.vec2(NO_CONTACT, NO_CONTACT)
    pos = mat23()
    normal = mat23()
    if nearest > -3.0:
        dist, x, n = sphere_box(p1 + axis1 * (size1[1] * nearest), size1[0], p2, mat2, size2)
        dists[0] = dist
        pos[0] = x
        normal[0] = n
        if step > -3.0:
            dist, x, n = sphere_box(p1 + axis1 * (size1[1] * (nearest + step)), size1[0], p2, mat2, size2)
            dists[1] = dist
            pos[1] = x
            normal[1] = n
    return dists, pos, normal
