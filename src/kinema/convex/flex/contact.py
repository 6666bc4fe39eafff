"""Contacts of flexes, as a stage over a world: geoms against vertices and elements, elements against each other.

A plane meets vertices, every other geom elements. Contacts follow those of geoms, pair by pair, and within a pair by
element. Elements that have a vertex on the body of the geom are passed over, as are pairs of elements with vertices on
one body, and of an interpolated flex pairs of elements in the same or in neighbouring cells. What pairs there are is
decided on the host (pairs.py), so is what has to be compiled.

Where many contacts would hold few dofs, some are kept: the deepest, then again and again the one farthest from all
that are kept, which spreads them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import warp as wp

from kinema.collide.bound import ROUNDING
from kinema.collide.bundles import Touch
from kinema.collide.capsule import capsule_box, capsule_capsule
from kinema.collide.detect import finish_world
from kinema.collide.element import (
    box_triangle,
    capsule_tetrahedron,
    capsule_triangle,
    segment_axis,
    sphere_tetrahedron,
    sphere_triangle,
)
from kinema.collide.element_convex import convex_element, element_shape
from kinema.collide.emit import emit
from kinema.collide.sphere import sphere_capsule
from kinema.collide.support import geom_shape
from kinema.collide.workspace import Workspace
from kinema.convex.bundle import vec5
from kinema.convex.data import Data
from kinema.convex.flex.pairs import kinds, pair_lists
from kinema.convex.model import Model
from kinema.convex.stage import WARP_LANES, Stage
from kinema.math.lanes import block_sync, team_count, team_scan
from kinema.math.vector import column
from kinema.mujoco_enums import Geom

TEAM = 256  # threads that share a world on CUDA
PRIMITIVE = {
    1: (Geom.SPHERE, Geom.CAPSULE, Geom.BOX),
    2: (Geom.SPHERE, Geom.CAPSULE, Geom.BOX),
    3: (Geom.SPHERE, Geom.CAPSULE),
}
"""Geoms that meet elements analytically, by dim of the flex."""


@wp.func
def put_contact(m: Model, d: Data, w: int, k: int, p: int, elem: wp.vec2i, vert: wp.vec2i):
    """Complete contact k of pair p, whose geometry is there already."""
    pair = m.flex.pair[p]
    number = m.flex.pairnumber[w, p]
    margin = number[0]
    adhesion = number[14]
    beyond = d.con.dist[w, k] >= margin
    d.con.includemargin[w, k] = margin
    d.con.friction[w, k] = vec5(number[2], number[3], number[4], number[5], number[6])
    d.con.solref[w, k] = wp.vec2(number[7], number[8])
    d.con.solreffriction[w, k] = wp.vec2()
    d.con.solimp[w, k] = vec5(number[9], number[10], number[11], number[12], number[13])
    d.con.adhesion[w, k] = adhesion
    d.con.geom[w, k] = wp.vec2i(pair[0], -1)
    d.con.pair[w, k] = -1
    d.con.exclude[w, k] = wp.where(beyond and adhesion == 0.0, 1, 0)
    d.con.dim[w, k] = wp.where(beyond and adhesion != 0.0, 1, pair[3])
    d.fcon.flex[w, k] = wp.vec2i(pair[1], pair[2])
    d.fcon.elem[w, k] = elem
    d.fcon.vert[w, k] = vert


@wp.func
def plane_vertex(m: Model, d: Data, w: int, p: int, v: int, touch: Touch, base: int) -> int:
    """Contact of a plane with a vertex of a flex, if there is one."""
    pair = m.flex.pair[p]
    radius = m.flex.number[w, pair[2]][0]
    normal = column(d.pose.geom_xmat[w, pair[0]], 2)
    reach = m.flex.pairnumber[w, p][0] + m.flex.pairnumber[w, p][1]
    x = d.flex.vert_xpos[w, m.flex.span[pair[2]][0] + v]
    dist = wp.dot(x - d.pose.geom_xpos[w, pair[0]], normal) - radius
    if dist > reach + ROUNDING * (wp.max(wp.abs(x)) + radius):
        return 0
    emit(touch, w, base, dist, x - normal * (radius + 0.5 * dist), normal, wp.vec3())
    return 1


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
def geom_element(found: frozenset[tuple[int, int]], capacity: int):
    """``collide(m, d, w, g, e, radius, reach, touch, base)``: contacts of a geom with an element."""

    def has(kind: Geom, dim: int) -> bool:
        return (int(kind), dim) in found

    general = any(kind >= 0 and kind != Geom.PLANE and kind not in PRIMITIVE[dim] for kind, dim in found)
    collide_shapes = convex_element(capacity) if general else None

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
        if wp.static(general):
            s1 = geom_shape(m.collision.geoms, w, g, wp.float64(reach))
            s2 = element_shape(a, b, c, f, dim + 1, radius, reach)
            return collide_shapes(
                w, s1, s2, reach, dim == 2, m.collision.meshes.hull, m.collision.settings.options, touch, base,
                Workspace(),
            )  # fmt: skip
        return 0

    return collide_geom_element


@wp.func
def low_end(m: Model, d: Data, w: int, e: int, axis: int) -> float:
    """Where an element begins along an axis, its radius left out; equal ends are equal to the bit."""
    corners = m.flex.elemvert[e]
    low = d.flex.vert_xpos[w, corners[0]][axis]
    for k in range(1, 4):
        if corners[k] >= 0:
            low = wp.min(low, d.flex.vert_xpos[w, corners[k]][axis])
    return low


@wp.func
def comes_before(m: Model, d: Data, w: int, one: int, two: int, axis: int) -> bool:
    """The order of a sweep: by where boxes begin, then by number."""
    a = low_end(m, d, w, one, axis)
    b = low_end(m, d, w, two, axis)
    return a < b or (a == b and one < two)


@wp.func
def sift(m: Model, d: Data, w: int, start: int, count: int, base: int, axis: int):
    """Let an element sink to its place in a heap whose last comes first."""
    root = int(start)
    child = 2 * root + 1
    while child < count:
        if child + 1 < count:
            if comes_before(m, d, w, d.flex.order[w, base + child], d.flex.order[w, base + child + 1], axis):
                child += 1
        if not comes_before(m, d, w, d.flex.order[w, base + root], d.flex.order[w, base + child], axis):
            return
        swap = d.flex.order[w, base + root]
        d.flex.order[w, base + root] = d.flex.order[w, base + child]
        d.flex.order[w, base + child] = swap
        root = child
        child = 2 * root + 1


@wp.func
def longest_axis(m: Model, d: Data, w: int, f: int) -> int:
    """The axis along which the active elements of a flex extend farthest."""
    span = m.flex.span[f]
    low = wp.vec3(1.0e30)
    high = wp.vec3(-1.0e30)
    for e in range(span[2], span[2] + span[3]):
        if m.flex.elemlist[e][1] != 0:
            box = d.flex.elem_aabb[w, e]
            center = wp.vec3(box[0], box[1], box[2])
            half = wp.vec3(box[3], box[4], box[5])
            low = wp.min(low, center - half)
            high = wp.max(high, center + half)
    size = high - low
    if size[0] > size[1] and size[0] > size[2]:
        return 0
    return wp.where(size[1] > size[2], 1, 2)


@wp.func
def sort_elements(m: Model, d: Data, w: int, f: int) -> wp.vec2i:
    """Sort the active elements of a flex along the axis it is longest in; returns their number, and the axis."""
    span = m.flex.span[f]
    axis = longest_axis(m, d, w, f)
    count = int(0)
    for e in range(span[2], span[2] + span[3]):
        if m.flex.elemlist[e][1] != 0:
            d.flex.order[w, span[2] + count] = e
            count += 1
    for k in range(count, span[3]):
        d.flex.order[w, span[2] + k] = -1
    for k in range(count / 2):
        sift(m, d, w, count / 2 - 1 - k, count, span[2], axis)
    for k in range(count - 1):
        last = span[2] + count - 1 - k
        swap = d.flex.order[w, span[2]]
        d.flex.order[w, span[2]] = d.flex.order[w, last]
        d.flex.order[w, last] = swap
        sift(m, d, w, 0, count - 1 - k, span[2], axis)
    return wp.vec2i(count, axis)


@wp.func
def boxes_meet(d: Data, w: int, one: int, two: int, reach: float) -> bool:
    """Do the boxes of two elements come within reach of each other?"""
    a = d.flex.elem_aabb[w, one]
    b = d.flex.elem_aabb[w, two]
    meet = bool(True)
    for k in range(3):
        meet = meet and wp.abs(a[k] - b[k]) <= a[k + 3] + b[k + 3] + reach
    return meet


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


@cache
def element_pair(dims: frozenset[int], capacity: int):
    """``collide(m, d, w, p, one, two, reach, touch, base)``: contacts of two elements, for flexes of such dims."""
    collide_shapes = convex_element(capacity) if dims != {1} else None

    @wp.func
    def collide_elements(
        m: Model, d: Data, w: int, p: int, one: int, two: int, reach: float, touch: Touch, base: int
    ) -> int:
        first = m.flex.elemvert[one]
        second = m.flex.elemvert[two]
        if share_body(m, first, second):
            return 0
        if m.flex.pair[p][1] == m.flex.pair[p][2] and share_cell(m, first, second):
            return 0
        radius1 = m.flex.number[w, m.flex.elemlist[one][0]][0]
        radius2 = m.flex.number[w, m.flex.elemlist[two][0]][0]
        n = int(0)
        if wp.static(1 in dims):
            if first[2] < 0 and second[2] < 0:
                x1, mat1, half1 = segment_axis(d.flex.vert_xpos[w, first[0]], d.flex.vert_xpos[w, first[1]])
                x2, mat2, half2 = segment_axis(d.flex.vert_xpos[w, second[0]], d.flex.vert_xpos[w, second[1]])
                tube1 = wp.vec3(radius1, half1, 0.0)
                tube2 = wp.vec3(radius2, half2, 0.0)
                dists, at, normals = capsule_capsule(x1, mat1, tube1, x2, mat2, tube2)
                for k in range(2):
                    if dists[k] <= reach:
                        emit(touch, w, base + n, dists[k], at[k], normals[k], wp.vec3())
                        n += 1
                return n
        if wp.static(dims != {1}):
            shape1 = element_shape(
                corner_position(d, w, first, 0), corner_position(d, w, first, 1), corner_position(d, w, first, 2),
                corner_position(d, w, first, 3), corner_count(first), radius1, reach,
            )  # fmt: skip
            shape2 = element_shape(
                corner_position(d, w, second, 0), corner_position(d, w, second, 1), corner_position(d, w, second, 2),
                corner_position(d, w, second, 3), corner_count(second), radius2, reach,
            )  # fmt: skip
            n = collide_shapes(
                w, shape1, shape2, reach, False, m.collision.meshes.hull, m.collision.settings.options, touch, base,
                Workspace(),
            )  # fmt: skip
        return n

    return collide_elements


@wp.func
def corner_count(corners: wp.vec4i) -> int:
    """Corners of an element."""
    return wp.where(corners[3] >= 0, 4, wp.where(corners[2] >= 0, 3, 2))


@cache
def items_of(found: frozenset[tuple[int, int]], capacity: int):
    """``meet(m, d, w, p, i, touch, base)``: contacts of item i of a pair: a vertex, an element, or a sweep from one."""
    planes = any(kind == Geom.PLANE for kind, _ in found)
    elements = any(kind >= 0 and kind != Geom.PLANE for kind, _ in found)
    collide_geom_element = geom_element(found, capacity) if elements else None
    among = frozenset(dim for kind, dim in found if kind < 0)
    collide_elements = element_pair(among, capacity) if among else None

    @wp.func
    def meet(m: Model, d: Data, w: int, p: int, i: int, axis: int, sorted: bool, touch: Touch, base: int) -> int:
        pair = m.flex.pair[p]
        g = pair[0]
        span = m.flex.span[pair[2]]
        reach = m.flex.pairnumber[w, p][0] + m.flex.pairnumber[w, p][1]
        room = d.con.dist.shape[1]
        stores = touch.dist.shape[1] > 0
        n = int(0)
        if g >= 0:
            if wp.static(planes):
                if m.geom.type[g] == Geom.PLANE:
                    n = plane_vertex(m, d, w, p, i, touch, base)
                    if stores and n > 0 and base < room:
                        put_contact(m, d, w, base, p, wp.vec2i(-1, -1), wp.vec2i(-1, i))
            if wp.static(elements):
                e = span[2] + i
                if m.geom.type[g] != Geom.PLANE and m.flex.elemlist[e][1] != 0:
                    reach += ROUNDING * (wp.max(wp.abs(d.pose.geom_xpos[w, g])) + m.geom.rbound[w, g])
                    if is_near(m, d, w, g, e, reach):
                        if not has_vertex_on(m, m.flex.elemvert[e], m.geom.bodyid[g]):
                            radius = m.flex.number[w, pair[2]][0]
                            n = collide_geom_element(m, d, w, g, e, radius, reach, touch, base)
                            if stores:
                                for k in range(base, wp.min(base + n, room)):
                                    put_contact(m, d, w, k, p, wp.vec2i(-1, i), wp.vec2i(-1, -1))
        if wp.static(bool(among)):
            if g < 0:
                other = m.flex.span[pair[1]]
                itself = pair[1] == pair[2]
                one = other[2] + i
                end = float(1.0e30)
                if sorted:
                    one = d.flex.order[w, other[2] + i]
                    end = low_end(m, d, w, one, axis) + 2.0 * d.flex.elem_aabb[w, one][axis + 3]
                j = wp.where(itself, i + 1, 0)
                while j < span[3] and m.flex.elemlist[one][1] != 0:
                    two = span[2] + j
                    if sorted:
                        two = d.flex.order[w, span[2] + j]
                        if two < 0:
                            break
                        if low_end(m, d, w, two, axis) > end:
                            break
                    if m.flex.elemlist[two][1] != 0 and boxes_meet(d, w, one, two, reach):
                        first = one
                        second = two
                        if itself and not comes_before(m, d, w, one, two, axis):
                            first = two
                            second = one
                        count = collide_elements(m, d, w, p, first, second, reach, touch, base + n)
                        if stores:
                            for k in range(base + n, wp.min(base + n + count, room)):
                                ids = wp.vec2i(first - other[2], second - span[2])
                                put_contact(m, d, w, k, p, ids, wp.vec2i(-1, -1))
                        n += count
                    j += 1
        return n

    return meet


@wp.func
def keep_few(m: Model, d: Data, w: int, p: int, base: int, count: int) -> int:
    """Keep so many contacts of a pair, in their order; returns how many are left.

    Meanwhile solreffriction, which contacts of flexes do not use, holds the squared distance to the nearest one kept,
    and whether it is kept itself.
    """
    most = m.flex.pair[p][4]
    if most == 0 or count <= most or base + count > d.con.dist.shape[1]:
        return count
    best = base
    for k in range(base, base + count):
        d.con.solreffriction[w, k] = wp.vec2(1.0e20, 0.0)
        if d.con.dist[w, k] < d.con.dist[w, best]:
            best = k
    for _turn in range(most):
        d.con.solreffriction[w, best] = wp.vec2(0.0, 1.0)
        x = d.con.pos[w, best]
        farthest = float(-1.0)
        for k in range(base, base + count):
            mark = d.con.solreffriction[w, k]
            if mark[1] == 0.0:
                gap = d.con.pos[w, k] - x
                near = wp.min(mark[0], wp.dot(gap, gap))
                d.con.solreffriction[w, k] = wp.vec2(near, 0.0)
                if near > farthest:
                    farthest = near
                    best = k
    n = base
    for k in range(base, base + count):
        if d.con.solreffriction[w, k][1] != 0.0:
            d.con.dist[w, n] = d.con.dist[w, k]
            d.con.pos[w, n] = d.con.pos[w, k]
            d.con.frame[w, n] = d.con.frame[w, k]
            put_contact(m, d, w, n, p, d.fcon.elem[w, k], d.fcon.vert[w, k])
            n += 1
    return n - base


@cache
def detect_flexes(
    found: frozenset[tuple[int, int]], capacity: int, fresh: bool, alone: bool, few: bool
) -> wp.Function:
    """The stage, for what was found to meet.

    Args:
        fresh: Nobody has looked for contacts of geoms before.
        alone: One thread takes the world, and sweeps. On CUDA a block does: every thread counts the contacts of its
            item, and once all know how many come before their own, writes them.
        few: Of some pairs not all contacts are kept.
    """
    meet = items_of(found, capacity)
    sweeps = any(kind < 0 for kind, _ in found)

    @wp.func
    def detect_flex_contacts(m: Model, d: Data, w: int, lane: int):
        touch = Touch()
        touch.dist = d.con.dist
        touch.pos = d.con.pos
        touch.frame = d.con.frame
        before = int(0)
        if wp.static(not fresh):
            before = d.con.found[w]
        for k in range(lane, wp.min(before, d.con.dist.shape[1]), team_count()):  # contacts of geoms
            d.fcon.flex[w, k] = wp.vec2i(-1, -1)
            d.fcon.elem[w, k] = wp.vec2i(-1, -1)
            d.fcon.vert[w, k] = wp.vec2i(-1, -1)
        n = int(before)
        for p in range(m.size.nflexpair):
            pair = m.flex.pair[p]
            items = m.flex.span[pair[2]][3]
            axis = int(0)
            sorted = bool(False)
            if pair[0] >= 0:
                if m.geom.type[pair[0]] == Geom.PLANE:
                    items = m.flex.span[pair[2]][1]
            if wp.static(sweeps):
                if pair[0] < 0:
                    items = m.flex.span[pair[1]][3]
                    if pair[1] == pair[2]:
                        if wp.static(alone):
                            swept = sort_elements(m, d, w, pair[2])
                            items = swept[0]
                            axis = swept[1]
                            sorted = True
                        else:
                            axis = longest_axis(m, d, w, pair[2])
            begin = int(n)
            if wp.static(alone):
                for i in range(items):
                    n += meet(m, d, w, p, i, axis, sorted, touch, n)
                if wp.static(few):
                    n = begin + keep_few(m, d, w, p, begin, n - begin)
            else:
                for first in range(0, items, team_count()):
                    i = first + lane
                    own = wp.where(i < items, 1, 0)
                    placed = wp.vec2i()
                    into = Touch()  # without room, contacts are only counted
                    both = int(2)
                    for _turn in range(both):
                        if own > 0:
                            own = meet(m, d, w, p, i, axis, False, into, n + placed[0])
                        if into.dist.shape[1] == 0:
                            placed = team_scan(own)
                        into = touch
                    n += placed[1]
                if wp.static(few):
                    block_sync()
                    if lane == 0:
                        d.con.found[w] = begin + keep_few(m, d, w, p, begin, n - begin)
                    block_sync()
                    n = d.con.found[w]
                    block_sync()
        if lane == 0:
            finish_world(d.con, w, n)

    return detect_flex_contacts


def stages(m: Any, fresh: bool, cuda: bool = False) -> list[Stage]:
    """Detection of the contacts of flexes."""
    found = kinds(m)
    if not found:
        return []
    rounded = 36 if m.opt.ccd_iterations <= 36 else max(64, 1 << (int(m.opt.ccd_iterations) - 1).bit_length())
    function = detect_flexes(found, rounded, fresh, alone=not cuda, few=bool(pair_lists(m)[0][:, 4].any()))
    return [Stage(function, lanes=True, alone=True, threads=TEAM if cuda else WARP_LANES)]
