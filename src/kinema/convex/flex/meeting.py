"""A geom, or an element of a flex, and an element: may they touch, and where do they?

Formulas are tried first (PRIMITIVE); what has none are convex shapes, searched in one place whatever they are of.
"""

from __future__ import annotations

from functools import cache

import warp as wp

from kinema.collide.apart import are_apart
from kinema.collide.bound import ROUNDING
from kinema.collide.bundles import Touch
from kinema.collide.capsule import capsule_box, capsule_capsule
from kinema.collide.element import (
    box_triangle,
    capsule_tetrahedron,
    capsule_triangle,
    segment_axis,
    sphere_tetrahedron,
    sphere_triangle,
)
from kinema.collide.element_convex import convex_element, element_shape
from kinema.collide.element_hfield import beside, element_over, hfield_element
from kinema.collide.element_sdf import field_triangle
from kinema.collide.emit import emit
from kinema.collide.sphere import sphere_capsule
from kinema.collide.support import Shape, geom_shape
from kinema.collide.workspace import Workspace
from kinema.convex.bundle import vec6
from kinema.convex.data import Data
from kinema.convex.flex.pairs import BOX_ROD
from kinema.convex.flex.section import geom_section, plane_section, section_of, section_of_segment, section_section
from kinema.convex.model import Model
from kinema.math.vector import column
from kinema.mujoco_enums import Geom

PRIMITIVE = {
    BOX_ROD: (Geom.SPHERE, Geom.CAPSULE, Geom.BOX),
    1: (Geom.SPHERE, Geom.CAPSULE, Geom.BOX),
    2: (Geom.SPHERE, Geom.CAPSULE, Geom.BOX),
    3: (Geom.SPHERE, Geom.CAPSULE),
}
"""Geoms that meet elements by formulas, by dim of the flex."""


@wp.func
def is_near(m: Model, d: Data, w: int, g: int, e: int, reach: float) -> bool:
    """May a geom touch an element? By the sphere around the geom, then by its box."""
    box = d.flex.elem_aabb[w, e]
    center = wp.vec3(box[0], box[1], box[2])
    half = wp.vec3(box[3], box[4], box[5])
    away = wp.abs(d.pose.geom_xpos[w, g] - center) - half
    outside = wp.max(away, wp.vec3())
    radius = m.geom.rbound[w, g] + reach
    if m.geom.rbound[w, g] > 0.0 and wp.dot(outside, outside) > radius * radius:
        return False
    mat = d.pose.geom_xmat[w, g]
    geoms = m.collision.geoms
    offset = center - d.pose.geom_xpos[w, g] - mat * geoms.aabb_center[w, g]
    size = geoms.aabb_half[w, g]
    for i in range(3):  # the three axes of the world, then those of the geom
        extent = wp.abs(mat[i, 0]) * size[0] + wp.abs(mat[i, 1]) * size[1] + wp.abs(mat[i, 2]) * size[2]
        if wp.abs(offset[i]) > extent + half[i] + reach:
            return False
    for i in range(3):
        axis = column(mat, i)
        if wp.abs(wp.dot(axis, offset)) > size[i] + wp.dot(wp.abs(axis), half) + reach:
            return False
    return True


@wp.func
def vertex_body(m: Model, v: int) -> int:
    """The body a vertex is part of; of interpolated vertices -1."""
    return m.flex.point[v][1]


@wp.func
def has_vertex_on(m: Model, corners: wp.vec4i, body: int) -> bool:
    """Is any corner part of a body?"""
    found = bool(False)
    for k in range(4):
        if corners[k] >= 0:
            found = found or vertex_body(m, corners[k]) == body
    return found


@wp.func
def corner_position(d: Data, w: int, corners: wp.vec4i, k: int) -> wp.vec3:
    """Where corner k of an element is; that of its first where it has no such corner."""
    return d.flex.vert_xpos[w, wp.where(corners[k] >= 0, corners[k], corners[0])]


@cache
def primitive_element(found: frozenset[tuple[int, int]]):
    """``collide(m, d, w, g, e, radius, reach, touch, base)``: contacts of a geom with an element; -1: by no formula."""

    def has(kind: Geom, dim: int) -> bool:
        return (int(kind), dim) in found

    @wp.func
    def collide_geom_element(
        m: Model, d: Data, w: int, g: int, e: int, radius: float, reach: float, touch: Touch, base: int
    ) -> int:
        corners = m.flex.elemvert[e]
        a = corner_position(d, w, corners, 0)
        b = corner_position(d, w, corners, 1)
        c = corner_position(d, w, corners, 2)
        f = corner_position(d, w, corners, 3)
        dim = wp.where(corners[3] >= 0, 3, wp.where(corners[2] >= 0, 2, 1))
        kind = m.geom.type[g]
        pos = d.pose.geom_xpos[w, g]
        mat = d.pose.geom_xmat[w, g]
        size = m.geom.size[w, g]
        none = wp.vec3()
        if wp.static(has(Geom.SPHERE, 1) or has(Geom.CAPSULE, 1) or has(Geom.BOX, 1)):
            if dim == 1 and (kind == Geom.SPHERE or kind == Geom.CAPSULE or kind == Geom.BOX):
                middle, frame, half = segment_axis(a, b)
                tube = wp.vec3(radius, half, 0.0)
                if wp.static(has(Geom.SPHERE, 1)):
                    if kind == Geom.SPHERE:
                        dist, x, normal = sphere_capsule(
                            pos, size[0], column(mat, 2), middle, column(frame, 2), radius, half
                        )
                        if dist > reach:
                            return 0
                        emit(touch, w, base, dist, x, normal, none)
                        return 1
                n = int(0)
                dists = wp.vec2()
                if wp.static(has(Geom.CAPSULE, 1)):
                    if kind == Geom.CAPSULE:
                        dists, at, normals = capsule_capsule(pos, mat, size, middle, frame, tube)
                        for k in range(2):
                            if dists[k] <= reach:
                                emit(touch, w, base + n, dists[k], at[k], normals[k], none)
                                n += 1
                if wp.static(has(Geom.BOX, 1)):
                    if kind == Geom.BOX:
                        dists, at, normals = capsule_box(middle, frame, tube, pos, mat, size)
                        for k in range(2):
                            if dists[k] <= reach:
                                emit(touch, w, base + n, dists[k], at[k], -normals[k], none)
                                n += 1
                return n
        if wp.static(has(Geom.SPHERE, 2)):
            if dim == 2 and kind == Geom.SPHERE:
                return sphere_triangle(touch, w, base, pos, size[0], a, b, c, radius, reach)
        if wp.static(has(Geom.CAPSULE, 2)):
            if dim == 2 and kind == Geom.CAPSULE:
                return capsule_triangle(touch, w, base, pos, mat, size, a, b, c, radius, reach)
        if wp.static(has(Geom.BOX, 2)):
            if dim == 2 and kind == Geom.BOX:
                return box_triangle(touch, w, base, pos, mat, size, a, b, c, radius, reach)
        if wp.static(has(Geom.SPHERE, 3)):
            if dim == 3 and kind == Geom.SPHERE:
                return sphere_tetrahedron(touch, w, base, pos, size[0], a, b, c, f, radius, reach)
        if wp.static(has(Geom.CAPSULE, 3)):
            if dim == 3 and kind == Geom.CAPSULE:
                return capsule_tetrahedron(touch, w, base, pos, mat, size, a, b, c, f, radius, reach)
        return -1

    return collide_geom_element


@wp.func
def is_field(m: Model, g: int) -> bool:
    """Is it a geom, and a signed distance field?"""
    return g >= 0 and m.geom.type[wp.max(g, 0)] == Geom.SDF


@wp.func
def boxes_meet(d: Data, w: int, one: int, two: int, reach: float) -> bool:
    """Do the boxes of two elements come within reach of each other?"""
    return are_close(d.flex.elem_aabb[w, one], d.flex.elem_aabb[w, two], reach)


@wp.func
def are_close(a: vec6, b: vec6, reach: float) -> bool:
    """Do two boxes come within reach of each other? Centre, then half sizes."""
    meet = bool(True)
    for k in range(3):
        meet = meet and wp.abs(a[k] - b[k]) <= a[k + 3] + b[k + 3] + reach
    return meet


@wp.func
def elements_apart(m: Model, d: Data, w: int, one: int, two: int, reach: float) -> bool:
    """Are two elements, whose boxes meet, certainly out of reach of each other? Of segments, met by formulas: no."""
    first = m.flex.elemvert[one]
    second = m.flex.elemvert[two]
    if first[2] < 0 or second[2] < 0:
        return False
    rounded = m.flex.number[w, m.flex.elemlist[one][0]][0] + m.flex.number[w, m.flex.elemlist[two][0]][0]
    return are_apart(
        corner_position(d, w, first, 0), corner_position(d, w, first, 1), corner_position(d, w, first, 2),
        corner_position(d, w, first, 3), corner_position(d, w, second, 0), corner_position(d, w, second, 1),
        corner_position(d, w, second, 2), corner_position(d, w, second, 3), reach + rounded,
    )  # fmt: skip


@wp.func
def share_body(m: Model, one: wp.vec4i, two: wp.vec4i) -> bool:
    """Do two elements have vertices on one body?"""
    found = bool(False)
    for k in range(4):
        if one[k] >= 0:
            body = vertex_body(m, one[k])
            found = found or (body >= 0 and has_vertex_on(m, two, body))
    return found


@wp.func
def axis_cell(code: int, axis: int) -> int:
    """The number of a cell along an axis: cells.vertex_cells."""
    return (code >> (10 * axis)) & 1023


@wp.func
def share_cell(m: Model, one: wp.vec4i, two: wp.vec4i) -> bool:
    """Do two elements have vertices in the same or in neighbouring cells?"""
    found = bool(False)
    for i in range(4):
        for j in range(4):
            if one[i] >= 0 and two[j] >= 0:
                a = m.flex.point[one[i]][6]
                b = m.flex.point[two[j]][6]
                near = a >= 0 and b >= 0
                for axis in range(3):
                    near = near and wp.abs(axis_cell(a, axis) - axis_cell(b, axis)) <= 1
                found = found or near
    return found


@wp.func
def corner_count(corners: wp.vec4i) -> int:
    """Corners of an element."""
    return wp.where(corners[3] >= 0, 4, wp.where(corners[2] >= 0, 3, 2))


@wp.func
def shape_of_element(m: Model, d: Data, w: int, e: int, reach: float) -> Shape:
    """An element as a convex shape."""
    corners = m.flex.elemvert[e]
    return element_shape(
        corner_position(d, w, corners, 0), corner_position(d, w, corners, 1), corner_position(d, w, corners, 2),
        corner_position(d, w, corners, 3), corner_count(corners), m.flex.number[w, m.flex.elemlist[e][0]][0], reach,
    )  # fmt: skip


@wp.func
def capsule_elements(m: Model, d: Data, w: int, one: int, two: int, reach: float, touch: Touch, base: int) -> int:
    """Contacts of two segments: capsules."""
    first = m.flex.elemvert[one]
    second = m.flex.elemvert[two]
    x1, mat1, half1 = segment_axis(d.flex.vert_xpos[w, first[0]], d.flex.vert_xpos[w, first[1]])
    x2, mat2, half2 = segment_axis(d.flex.vert_xpos[w, second[0]], d.flex.vert_xpos[w, second[1]])
    tube1 = wp.vec3(m.flex.number[w, m.flex.elemlist[one][0]][0], half1, 0.0)
    tube2 = wp.vec3(m.flex.number[w, m.flex.elemlist[two][0]][0], half2, 0.0)
    dists, at, normals = capsule_capsule(x1, mat1, tube1, x2, mat2, tube2)
    n = int(0)
    for k in range(2):
        if dists[k] <= reach:
            emit(touch, w, base + n, dists[k], at[k], normals[k], wp.vec3())
            n += 1
    return n


@wp.func
def passed_over(m: Model, p: int, g: int, one: int, two: int) -> bool:
    """Is an element too close kin of a geom, or of another element, to touch it?"""
    second = m.flex.elemvert[two]
    if g >= 0:
        return has_vertex_on(m, second, m.geom.bodyid[g])
    first = m.flex.elemvert[one]
    if share_body(m, first, second):
        return True
    pair = m.flex.pair[p]
    itself = pair[1] == pair[2] and m.flex.span[pair[2]][4] != 0  # only interpolated flexes have cells
    return itself and share_cell(m, first, second)


@wp.func
def slack(m: Model, p: int) -> float:
    """What rounding may take from a distance, of the places it is between; springs act both ways: they get none."""
    return wp.where((m.flex.pair[p][5] & 2) != 0, 0.0, ROUNDING)


@wp.func
def pair_reach(m: Model, d: Data, w: int, p: int) -> float:
    """How far apart the two of a pair may be to touch; of a geom with what rounding may take from it."""
    reach = m.flex.pairnumber[w, p][0] + m.flex.pairnumber[w, p][1]
    g = m.flex.pair[p][0]
    if g >= 0:
        reach += slack(m, p) * (wp.max(wp.abs(d.pose.geom_xpos[w, g])) + m.geom.rbound[w, g])
    return reach


@wp.func
def plane_vertex(m: Model, d: Data, w: int, p: int, v: int, touch: Touch, base: int) -> int:
    """Contacts of a plane with a vertex of a flex: one, or two of a rod with a box section."""
    pair = m.flex.pair[p]
    radius = m.flex.number[w, pair[2]][0]
    segment = -2 - m.flex.point[m.flex.span[pair[2]][0] + v][6]
    if segment >= 0:
        if section_of_segment(m, w, segment)[0] > 0.0:
            return plane_section(m, d, w, p, v, touch, base)
    normal = column(d.pose.geom_xmat[w, pair[0]], 2)
    reach = m.flex.pairnumber[w, p][0] + m.flex.pairnumber[w, p][1]
    x = d.flex.vert_xpos[w, m.flex.span[pair[2]][0] + v]
    dist = wp.dot(x - d.pose.geom_xpos[w, pair[0]], normal) - radius
    if dist > reach + slack(m, p) * (wp.max(wp.abs(x)) + radius):
        return 0
    emit(touch, w, base, dist, x - normal * (radius + 0.5 * dist), normal, wp.vec3())
    return 1


@cache
def pair_function(found: frozenset[tuple[int, int]], capacity: int, portal: bool, solids: tuple = (None, None)):
    """``collide(m, d, w, g, one, two, reach, touch, base)``: contacts of a geom, or an element, with an element.

    Convex shapes are searched in one place, whatever they are of: that is most of what there is to compile. `portal`:
    they meet as without nativeccd. `solids`: the distance and the gradient of signed distance fields that come from
    outside.
    """
    among = frozenset(dim for kind, dim in found if kind < 0)
    boxes = any(dim == BOX_ROD for _, dim in found)
    formulas = frozenset((kind, dim) for kind, dim in found if kind >= 0 and kind in PRIMITIVE[dim])
    fields = any(kind == Geom.HFIELD for kind, _ in found)
    sheets = any(kind == Geom.SDF for kind, _ in found)
    collide_sheet = field_triangle(*solids) if sheets else None
    hulls = any(kind not in (-1, Geom.PLANE, Geom.HFIELD, Geom.SDF) for kind, _ in found - formulas)
    collide_field = hfield_element(capacity, portal) if fields else None
    collide_geom_element = primitive_element(formulas) if formulas else None
    collide_shapes = convex_element(capacity, portal) if hulls or among - {BOX_ROD, 1} else None

    @wp.func
    def first_shape(m: Model, d: Data, w: int, g: int, one: int, reach: float) -> Shape:
        if wp.static(hulls):
            if g >= 0:
                return geom_shape(m.collision.geoms, w, g, wp.float64(reach))
        return shape_of_element(m, d, w, one, reach)

    @wp.func
    def collide(
        m: Model, d: Data, w: int, g: int, one: int, two: int, reach: float, touch: Touch, base: int
    ) -> int:
        second = m.flex.elemvert[two]
        radius = m.flex.number[w, m.flex.elemlist[two][0]][0]
        n = int(0)
        if wp.static(boxes):
            box = section_of(m, w, two)[0] > 0.0
            if g >= 0 and box:
                n = geom_section(m, d, w, g, two, reach, touch, base)
                if n >= 0:
                    return n
            if g < 0 and m.flex.elemvert[one][2] < 0 and second[2] < 0:
                if box or section_of(m, w, one)[0] > 0.0:
                    return section_section(m, d, w, one, two, reach, touch, base)
        if wp.static(len(formulas) > 0):
            if g >= 0:
                n = collide_geom_element(m, d, w, g, two, radius, reach, touch, base)
                if n >= 0:
                    return n
        if wp.static(1 in among):
            if g < 0:
                first = m.flex.elemvert[one]
                if first[2] < 0 and second[2] < 0:
                    return capsule_elements(m, d, w, one, two, reach, touch, base)
        n = 0
        if wp.static(sheets):
            if is_field(m, g):
                return collide_sheet(
                    w, g, corner_position(d, w, second, 0), corner_position(d, w, second, 1),
                    corner_position(d, w, second, 2), m.collision.geoms, m.collision.meshes,
                    m.collision.settings.options, touch, base,
                )  # fmt: skip
        if wp.static(fields):
            if g >= 0 and m.geom.type[wp.max(g, 0)] == Geom.HFIELD:
                s = shape_of_element(m, d, w, two, 0.0)
                over = element_over(m.geom.dataid[g], d.pose.geom_xpos[w, g], d.pose.geom_xmat[w, g], s, reach)
                collision = m.collision
                return collide_field(
                    w, over, beside(over, s), collision.meshes.hull, collision.hfields, collision.settings.options,
                    touch, base, Workspace(),
                )  # fmt: skip
        if wp.static(collide_shapes is not None):
            s1 = first_shape(m, d, w, g, one, reach)
            s2 = shape_of_element(m, d, w, two, reach)
            flat = g >= 0 and second[2] >= 0 and second[3] < 0
            n = collide_shapes(
                w, s1, s2, reach, flat, m.collision.meshes.hull, m.collision.settings.options, touch, base, Workspace()
            )
        return n

    return collide
