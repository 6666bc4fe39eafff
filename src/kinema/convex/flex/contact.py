"""Contacts of flexes, as a stage over a world: geoms against vertices and elements, elements against each other.

A plane meets vertices, every other geom elements, which a tree of boxes finds (tree.py). Contacts stand pair by pair,
and within a pair by element, or as a sweep finds them where that is what MuJoCo does; then they are put among those of
geoms (order.py). Elements that have a vertex on the body of the geom are passed over, as are pairs of elements with
vertices on one body, and of an interpolated flex pairs of elements in the same or in neighbouring cells. What pairs
there are is decided on the host (pairs.py), so is what has to be compiled. On CUDA many threads share a world: near.py.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import warp as wp

from kinema.collide.asleep import KEEP
from kinema.collide.bound import ROUNDING
from kinema.collide.bundles import Touch
from kinema.collide.narrow import finish_world
from kinema.collide.sdf import Fields
from kinema.collide.table import uses_native
from kinema.convex.bundle import vec6
from kinema.convex.data import Data
from kinema.convex.flex import near
from kinema.convex.flex.meeting import (
    boxes_meet,
    elements_apart,
    is_field,
    is_near,
    pair_function,
    pair_reach,
    passed_over,
    plane_vertex,
)
from kinema.convex.flex.order import interleave, keep_few, put_contact, sort_contacts
from kinema.convex.flex.pairs import kinds, pair_lists
from kinema.convex.flex.sweep import is_first, longest
from kinema.convex.flex.tables import has_flexes
from kinema.convex.flex.tree import (
    around,
    build_tree,
    do_meet,
    element_around,
    find_elements,
    high_of,
    leaf_element,
    low_of,
    root_box,
    sort_found,
)
from kinema.convex.model import Model
from kinema.convex.sleep.flexes import flex_pair_is_awake
from kinema.convex.sleep.sleepers import sleeps
from kinema.convex.stage import Stage
from kinema.math.lanes import lane_count
from kinema.mujoco_enums import Geom


@cache
def meeting_of(found: frozenset[tuple[int, int]], capacity: int, portal: bool, solids: tuple):
    """``meet(m, d, w, p, g, one, two, reach, axis, touch, base)``: contacts of two of a pair, if they are near."""
    collide = pair_function(found, capacity, portal, solids)
    flexes = any(kind < 0 for kind, _ in found)

    @wp.func
    def meet(
        m: Model, d: Data, w: int, p: int, g: int, one: int, two: int, reach: float, axis: int, touch: Touch, base: int
    ) -> int:
        pair = m.flex.pair[p]
        first = int(one)
        second = int(two)
        before = int(0)  # elements before those of the first flex
        if g >= 0:
            if not is_near(m, d, w, g, two, reach):
                return 0
        if not is_field(m, g):
            if passed_over(m, p, g, one, two):
                return 0
        if wp.static(flexes):
            if g < 0:
                if not boxes_meet(d, w, one, two, reach):
                    return 0
                if elements_apart(m, d, w, one, two, reach):
                    return 0
                before = m.flex.span[pair[1]][2]
                if pair[1] == pair[2]:
                    if not is_first(m, d, w, p, one, two, axis):
                        first = two
                        second = one
        count = collide(m, d, w, g, first, second, reach, touch, base)
        elem = wp.vec2i(wp.where(g >= 0, -1, first - before), second - m.flex.span[pair[2]][2])
        for k in range(base, wp.min(base + count, d.con.dist.shape[1])):
            put_contact(m, d, w, k, p, elem, wp.vec2i(-1, -1))
        return count

    return meet


@wp.func
def box_within(box: vec6, reach: float) -> vec6:
    """Where everything is that comes within reach of a box, whatever rounding does."""
    more = wp.vec3(reach + ROUNDING * (wp.max(wp.abs(low_of(box))) + wp.max(wp.abs(high_of(box))) + reach))
    return around(low_of(box) - more, high_of(box) + more)


@wp.func
def geom_around(m: Model, d: Data, w: int, g: int) -> vec6:
    """The box around a geom along the axes of the world, by its ends."""
    mat = d.pose.geom_xmat[w, g]
    center = d.pose.geom_xpos[w, g] + mat * m.collision.geoms.aabb_center[w, g]
    half = wp.vec3()
    for i in range(3):
        half[i] = wp.dot(wp.abs(mat[i]), m.collision.geoms.aabb_half[w, g])
    return around(center - half, center + half)


@wp.func
def plane_contacts(m: Model, d: Data, w: int, p: int, touch: Touch, base: int) -> int:
    """Contacts of a plane with the vertices of a flex."""
    n = int(0)
    for v in range(m.flex.span[m.flex.pair[p][2]][1]):
        count = plane_vertex(m, d, w, p, v, touch, base + n)
        for k in range(base + n, wp.min(base + n + count, d.con.dist.shape[1])):
            put_contact(m, d, w, k, p, wp.vec2i(-1, -1), wp.vec2i(-1, v))
        n += count
    return n


@cache
def geom_contacts_of(meet: wp.Function):
    """``contacts(m, d, w, p, touch, base)``: of a geom with the elements of a flex."""

    @wp.func
    def geom_contacts(m: Model, d: Data, w: int, p: int, touch: Touch, base: int) -> int:
        pair = m.flex.pair[p]
        g = pair[0]
        first = m.flex.span[pair[2]][2]
        reach = pair_reach(m, d, w, p)
        n = int(0)
        if is_field(m, g):  # in the order of the tree of boxes
            for i in range(m.flex.span[pair[2]][3]):
                e = m.flex.elemlist[first + i][9]
                if e >= 0:
                    n += meet(m, d, w, p, g, 0, first + e, reach, 0, touch, base + n)
            return n
        count = find_elements(m, d, w, pair[2], box_within(geom_around(m, d, w, g), reach), -1)
        sort_found(d, w, first, count)
        for k in range(count):
            n += meet(m, d, w, p, g, 0, d.flex.order[w, first + k], reach, 0, touch, base + n)
        return n

    return geom_contacts


@cache
def element_contacts_of(meet: wp.Function):
    """``contacts(m, d, w, p, touch, base)``: of the elements of two flexes, or of one with each other."""

    @wp.func
    def element_contacts(m: Model, d: Data, w: int, p: int, touch: Touch, base: int) -> int:
        pair = m.flex.pair[p]
        itself = pair[1] == pair[2]
        reach = pair_reach(m, d, w, p)
        whole = root_box(m, d, w, pair[2])
        axis = longest(high_of(whole) - low_of(whole))
        span = m.flex.span[pair[1]]
        first = m.flex.span[pair[2]][2]
        n = int(0)
        if do_meet(box_within(root_box(m, d, w, pair[1]), reach), whole):
            for i in range(span[3]):
                one = span[2] + i
                if itself:
                    one = leaf_element(m, first, i)
                elif m.flex.elemlist[one][1] == 0:
                    one = -1
                if one >= 0:
                    box = box_within(element_around(d, w, one), reach)
                    count = find_elements(m, d, w, pair[2], box, wp.where(itself, i, -1))
                    if not itself:
                        sort_found(d, w, first, count)
                    for k in range(count):
                        n += meet(m, d, w, p, -1, one, d.flex.order[w, first + k], reach, axis, touch, base + n)
        if itself:
            swept = wp.where((pair[5] & 1) != 0, axis, -1)
            sort_contacts(m, d, w, base, wp.min(base + n, d.con.dist.shape[1]), swept)
        return n

    return element_contacts


@cache
def detect_flexes(
    found: frozenset[tuple[int, int]], capacity: int, fresh: bool, few: bool, sleeps: bool = False,
    portal: bool = False, solids: tuple = (None, None),
) -> wp.Function:  # fmt: skip
    """The stage on the CPU, for what was found to meet.

    Args:
        fresh: Nobody has looked for contacts of geoms before.
        few: Of some pairs not all contacts are kept.
        sleeps: Trees may sleep: pairs of which neither side is awake are passed over, and the world may want to keep
            what it has (collide/asleep.py).
        portal: Convex shapes meet as without nativeccd.
        solids: Distance and gradient of the signed distance fields that come from outside.
    """
    planes = any(kind == Geom.PLANE for kind, _ in found)
    geoms = any(kind >= 0 and kind != Geom.PLANE for kind, _ in found)
    flexes = any(kind < 0 for kind, _ in found)
    meet = meeting_of(found, capacity, portal, solids) if geoms or flexes else None
    geom_contacts = geom_contacts_of(meet) if geoms else None
    element_contacts = element_contacts_of(meet) if flexes else None

    @wp.func
    def detect_flex_contacts(m: Model, d: Data, w: int, lane: int):
        touch = Touch()
        touch.dist = d.con.dist
        touch.pos = d.con.pos
        touch.frame = d.con.frame
        before = int(0)
        if wp.static(not fresh):
            before = d.con.found[w]
        if wp.static(sleeps):
            if d.sleep.look[w] == KEEP:
                return
        for k in range(wp.min(before, d.con.dist.shape[1])):  # contacts of geoms
            d.fcon.flex[w, k] = wp.vec2i(-1, -1)
            d.fcon.elem[w, k] = wp.vec2i(-1, -1)
            d.fcon.vert[w, k] = wp.vec2i(-1, -1)
        if wp.static(meet is not None):
            for f in range(wp.where(d.flex.tree.shape[1] > 0, m.flex.span.shape[0], 0)):
                build_tree(m, d, w, f)
        n = int(before)
        for p in range(m.size.nflexpair):
            if wp.static(sleeps):
                if not flex_pair_is_awake(m, d, w, p):
                    continue
            g = m.flex.pair[p][0]
            flat = g >= 0 and m.geom.type[wp.max(g, 0)] == Geom.PLANE
            begin = int(n)
            if wp.static(planes):
                if flat:
                    n += plane_contacts(m, d, w, p, touch, n)
            if wp.static(geoms):
                if g >= 0 and not flat:
                    n += geom_contacts(m, d, w, p, touch, n)
            if wp.static(flexes):
                if g < 0:
                    n += element_contacts(m, d, w, p, touch, n)
            if wp.static(few):
                n = begin + keep_few(m, d, w, p, begin, n - begin, begin)
        if wp.static(not fresh):
            if before < d.con.dist.shape[1]:
                interleave(m, d, w, 0, 1, before, wp.min(n, d.con.dist.shape[1]))
        finish_world(d.con, w, n)

    return detect_flex_contacts


@wp.func
def leave_to_geoms(m: Model, d: Data, w: int, lane: int):
    """No contact is of a flex: what couples, turns and bears them asks."""
    for k in range(lane, d.con.ncon[w], lane_count()):
        d.fcon.flex[w, k] = wp.vec2i(-1, -1)
        d.fcon.elem[w, k] = wp.vec2i(-1, -1)
        d.fcon.vert[w, k] = wp.vec2i(-1, -1)


class Meets(NamedTuple):
    """What is compiled for who may meet whom.

    Attributes:
        found: Kinds of geoms and dims of flexes (pairs.kinds).
        capacity: Of EPA iterations.
        portal: Convex shapes meet as without nativeccd.
        solids: Distance and gradient of the signed distance fields that come from outside.
    """

    found: frozenset[tuple[int, int]]
    capacity: int
    portal: bool
    solids: tuple


def meets(m: Any, fields: Fields | None = None) -> Meets:
    """That of a model; `fields`: signed distance fields that come from outside."""
    found = kinds(m)
    rounded = 36 if m.opt.ccd_iterations <= 36 else max(64, 1 << (int(m.opt.ccd_iterations) - 1).bit_length())
    solid = fields is not None and any(kind == Geom.SDF for kind, _ in found)
    solids = (fields.distance, fields.gradient) if fields is not None and solid else (None, None)
    return Meets(found, rounded, not uses_native(m), solids)


def stages(m: Any, fresh: bool, cuda: bool = False, fields: Fields | None = None) -> list[Stage]:
    """Detection of the contacts of flexes; `fields`: signed distance fields that come from outside."""
    found, rounded, portal, solids = meets(m, fields)
    if not found:
        return [Stage(leave_to_geoms, lanes=True)] if has_flexes(m) and not fresh else []
    few = bool(pair_lists(m)[0][:, 4].any())
    asked: dict[str, Any] = {"fresh": fresh, "few": few, "sleeps": sleeps(m), "portal": portal, "solids": solids}
    if cuda:
        return near.stages(m, found, rounded, **asked)
    return [Stage(detect_flexes(found, rounded, **asked), lanes=True, alone=True)]
