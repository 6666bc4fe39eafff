"""Contact of rods with a box section: a segment is a box along its axis, turned with its material frame (rod_chain.py).

    axes m1, m2, t; half sizes a >= b of the section and half the length of the segment

Spheres, capsules, boxes and other rods meet that box as they meet boxes of geoms. A plane meets the section at each
vertex, turned as the segment that leaves it: the two deepest of its four corners. All else meets a capsule as thick as
the smaller half size, which is the radius of the flex.

A bend between segments knows b, and its stiffnesses go with the squares of both: k2 / k1 = (a / b)^2.
"""

from __future__ import annotations

import warp as wp

from kinema.collide.bound import ROUNDING
from kinema.collide.box import box_box
from kinema.collide.bundles import Touch
from kinema.collide.capsule import capsule_box
from kinema.collide.element import segment_axis
from kinema.collide.emit import emit
from kinema.collide.sphere import sphere_box
from kinema.convex.data import Data
from kinema.convex.flex.rod_chain import material_axis, tangent, turn_of
from kinema.convex.model import Model
from kinema.math.vector import column
from kinema.mujoco_enums import Geom

PRESENT = wp.constant(1.0e9)  # distances below are those of contacts: box.py


@wp.func
def section_of_segment(m: Model, w: int, s: int) -> wp.vec2:
    """Half sizes of a segment's section, the larger one first; 0: it is round."""
    segment = m.flex.rod[m.size.nflexrod + s]
    if m.flex.rod[segment[4]][8] == 0:
        return wp.vec2()
    at = m.flex.rod[m.size.nflexrod + m.size.nflexsegment + wp.max(segment[5], segment[6])][5]
    small = wp.abs(m.flex.elastic[w, at + 9])
    return wp.vec2(small * wp.sqrt(1.0 + m.flex.elastic[w, at + 5] / m.flex.elastic[w, at + 4]), small)


@wp.func
def segment_of_element(m: Model, e: int) -> int:
    """The segment of a chain that an element is; -1: none."""
    entry = m.flex.elemlist[e]
    if m.size.nflexsegment == 0 or entry[2] >= 0:
        return -1
    return entry[3]


@wp.func
def section_of(m: Model, w: int, e: int) -> wp.vec2:
    """Half sizes of an element's section; 0: it has none, or it is round."""
    s = segment_of_element(m, e)
    if s < 0:
        return wp.vec2()
    return section_of_segment(m, w, s)


@wp.func
def segment_box(m: Model, d: Data, w: int, e: int):
    """An element as a box: centre, axes, half sizes."""
    s = segment_of_element(m, e)
    segment = m.flex.rod[m.size.nflexrod + s]
    x0 = d.flex.vert_xpos[w, segment[0]]
    x1 = d.flex.vert_xpos[w, segment[1]]
    t = tangent(d, w, s)
    m1 = material_axis(d, w, s, turn_of(m, d, w, s))
    m2 = wp.cross(t, m1)
    section = section_of_segment(m, w, s)
    mat = wp.mat33(m1[0], m2[0], t[0], m1[1], m2[1], t[1], m1[2], m2[2], t[2])
    return 0.5 * (x0 + x1), mat, wp.vec3(section[0], section[1], 0.5 * wp.length(x1 - x0))


@wp.func
def plane_section(m: Model, d: Data, w: int, p: int, v: int, touch: Touch, base: int) -> int:
    """Contacts of a plane with the section at a vertex: the deepest corner, then the next."""
    pair = m.flex.pair[p]
    at = m.flex.span[pair[2]][0] + v
    s = -2 - m.flex.point[at][6]
    x = d.flex.vert_xpos[w, at]
    normal = column(d.pose.geom_xmat[w, pair[0]], 2)
    section = section_of_segment(m, w, s)
    m1 = material_axis(d, w, s, turn_of(m, d, w, s))
    m2 = wp.cross(tangent(d, w, s), m1)
    reach = m.flex.pairnumber[w, p][0] + m.flex.pairnumber[w, p][1]
    reach += ROUNDING * (wp.max(wp.abs(x)) + section[0])
    height = wp.dot(x - d.pose.geom_xpos[w, pair[0]], normal)
    along = wp.vec2(section[0] * wp.dot(m1, normal), section[1] * wp.dot(m2, normal))
    taken = int(-1)
    n = int(0)
    for _turn in range(2):
        best = int(-1)
        least = reach
        for k in range(4):
            dist = height + wp.where((k & 2) != 0, along[0], -along[0]) + wp.where((k & 1) != 0, along[1], -along[1])
            if k != taken and (dist < least or (best < 0 and dist <= least)):
                best = k
                least = dist
        if best >= 0:
            one = wp.where((best & 2) != 0, section[0], -section[0])
            two = wp.where((best & 1) != 0, section[1], -section[1])
            emit(touch, w, base + n, least, x + one * m1 + two * m2 - (0.5 * least) * normal, normal, wp.vec3())
            n += 1
        taken = best
    return n


@wp.func
def emit_boxes(
    p1: wp.vec3, mat1: wp.mat33, size1: wp.vec3, p2: wp.vec3, mat2: wp.mat33, size2: wp.vec3, reach: float,
    touch: Touch, w: int, base: int,
) -> int:  # fmt: skip
    """Contacts of two boxes."""
    dist, pos, normal = box_box(p1, mat1, size1, p2, mat2, size2, reach)
    n = int(0)
    for k in range(8):
        if dist[k] < PRESENT:
            emit(touch, w, base + n, dist[k], pos[k], normal, wp.vec3())
            n += 1
    return n


@wp.func
def emit_capsule_box(
    p1: wp.vec3, mat1: wp.mat33, size1: wp.vec3, p2: wp.vec3, mat2: wp.mat33, size2: wp.vec3, sign: float,
    reach: float, touch: Touch, w: int, base: int,
) -> int:  # fmt: skip
    """Contacts of a capsule with a box; their normals lead to the capsule where the sign is negative."""
    dist, pos, normal = capsule_box(p1, mat1, size1, p2, mat2, size2)
    n = int(0)
    for k in range(2):
        if dist[k] <= reach:
            emit(touch, w, base + n, dist[k], pos[k], sign * normal[k], wp.vec3())
            n += 1
    return n


@wp.func
def geom_section(m: Model, d: Data, w: int, g: int, e: int, reach: float, touch: Touch, base: int) -> int:
    """Contacts of a sphere, a capsule or a box with an element that is a box; -1: of another geom."""
    kind = m.geom.type[g]
    pos = d.pose.geom_xpos[w, g]
    mat = d.pose.geom_xmat[w, g]
    size = m.geom.size[w, g]
    if kind != Geom.SPHERE and kind != Geom.CAPSULE and kind != Geom.BOX:
        return -1
    x, axes, half = segment_box(m, d, w, e)
    if kind == Geom.SPHERE:
        dist, at, normal = sphere_box(pos, size[0], x, axes, half)
        if dist > reach:
            return 0
        emit(touch, w, base, dist, at, normal, wp.vec3())
        return 1
    if kind == Geom.CAPSULE:
        return emit_capsule_box(pos, mat, size, x, axes, half, 1.0, reach, touch, w, base)
    return emit_boxes(pos, mat, size, x, axes, half, reach, touch, w, base)


@wp.func
def tube(m: Model, d: Data, w: int, e: int):
    """An element of a round rod as a capsule: centre, axes, radius and half its length."""
    corners = m.flex.elemvert[e]
    x, mat, half = segment_axis(d.flex.vert_xpos[w, corners[0]], d.flex.vert_xpos[w, corners[1]])
    return x, mat, wp.vec3(m.flex.number[w, m.flex.elemlist[e][0]][0], half, 0.0)


@wp.func
def section_section(m: Model, d: Data, w: int, one: int, two: int, reach: float, touch: Touch, base: int) -> int:
    """Contacts of elements of rods, of which one is a box at least."""
    if section_of(m, w, one)[0] == 0.0:
        x1, mat1, size1 = tube(m, d, w, one)
        x2, mat2, size2 = segment_box(m, d, w, two)
        return emit_capsule_box(x1, mat1, size1, x2, mat2, size2, 1.0, reach, touch, w, base)
    p1, axes1, half1 = segment_box(m, d, w, one)
    if section_of(m, w, two)[0] == 0.0:
        p2, axes2, half2 = tube(m, d, w, two)
        return emit_capsule_box(p2, axes2, half2, p1, axes1, half1, -1.0, reach, touch, w, base)
    p3, axes3, half3 = segment_box(m, d, w, two)
    return emit_boxes(p1, axes1, half1, p3, axes3, half3, reach, touch, w, base)
