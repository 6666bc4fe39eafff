"""Contacts of flexes, as a stage over a world: geoms against vertices and elements, elements against each other.

A plane meets vertices, every other geom elements. Contacts are found pair by pair, and within a pair by element, or
as a sweep finds them where that is what MuJoCo does; then they are put among those of geoms (order.py). Elements that
have a vertex on the body of the geom are passed over, as are pairs of elements with vertices on one body, and of an
interpolated flex pairs of elements in the same or in neighbouring cells. What pairs there are is decided on the host
(pairs.py), so is what has to be compiled. On CUDA many threads share a world: near.py.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import warp as wp

from kinema.collide.asleep import KEEP
from kinema.collide.bundles import Touch
from kinema.collide.narrow import finish_world
from kinema.collide.sdf import Fields
from kinema.collide.table import uses_native
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
from kinema.convex.flex.order import interleave, keep_few, put_contact, sort_by_elements
from kinema.convex.flex.pairs import kinds, pair_lists
from kinema.convex.flex.sweep import begun_since, is_first, low_end, sort_elements, widest_element
from kinema.convex.model import Model
from kinema.convex.sleep.flexes import flex_pair_is_awake
from kinema.convex.sleep.sleepers import sleeps
from kinema.convex.stage import Stage
from kinema.mujoco_enums import Geom


@cache
def items_of(found: frozenset[tuple[int, int]], capacity: int, portal: bool, solids: tuple):
    """``meet(m, d, w, p, i, touch, base)``: contacts of item i of a pair: a vertex, an element, or a sweep from one."""
    planes = any(kind == Geom.PLANE for kind, _ in found)
    elements = any(kind != Geom.PLANE for kind, _ in found)
    sheets = any(kind == Geom.SDF for kind, _ in found)
    collide = pair_function(found, capacity, portal, solids) if elements else None

    @wp.func
    def meet(
        m: Model, d: Data, w: int, p: int, i: int, axis: int, sorted: bool, widest: float, touch: Touch, base: int
    ) -> int:
        pair = m.flex.pair[p]
        g = pair[0]
        span = m.flex.span[pair[2]]
        room = d.con.dist.shape[1]
        n = int(0)
        if wp.static(planes):
            if g >= 0 and m.geom.type[wp.max(g, 0)] == Geom.PLANE:
                n = plane_vertex(m, d, w, p, i, touch, base)
                for k in range(base, wp.min(base + n, room)):
                    put_contact(m, d, w, k, p, wp.vec2i(-1, -1), wp.vec2i(-1, i))
                return n
        if wp.static(elements):
            reach = pair_reach(m, d, w, p)
            itself = pair[1] == pair[2]
            other = m.flex.span[wp.max(pair[1], 0)]
            one = int(0)
            j = int(i)  # a geom meets element i, an element i those from j on
            last = i + 1
            if g < 0:
                one = other[2] + i
                j = wp.where(itself, i + 1, 0)
                last = wp.where(m.flex.elemlist[one][1] != 0, span[3], 0)
                if sorted:  # those that have begun, and not all have ended
                    one = d.flex.order[w, other[2] + i]
                    j = begun_since(m, d, w, other[2], i, low_end(m, d, w, one, axis) - widest, axis)
                    last = i
            while j < last:
                two = span[2] + j
                if sorted:
                    two = d.flex.order[w, span[2] + j]
                field = bool(False)
                if wp.static(sheets):
                    field = is_field(m, g)
                    if field:  # in the order of the tree of boxes
                        two = span[2] + wp.max(m.flex.elemlist[span[2] + i][9], 0)
                first = int(one)
                second = int(two)
                near = m.flex.elemlist[two][1] != 0 or field
                if field:
                    near = m.flex.elemlist[span[2] + i][9] >= 0
                if near:
                    if g >= 0:
                        near = is_near(m, d, w, g, two, reach)
                    else:
                        near = boxes_meet(d, w, one, two, reach)
                if near and not field:
                    near = not passed_over(m, p, g, one, two)
                if near and g < 0:
                    near = not elements_apart(m, d, w, one, two, reach)
                if near and itself:
                    if not is_first(m, d, w, p, one, two, axis):
                        first = two
                        second = one
                if near:
                    count = collide(m, d, w, g, first, second, reach, touch, base + n)
                    ids = wp.vec2i(wp.where(g >= 0, -1, first - other[2]), second - span[2])
                    for k in range(base + n, wp.min(base + n + count, room)):
                        put_contact(m, d, w, k, p, ids, wp.vec2i(-1, -1))
                    n += count
                j += 1
        return n

    return meet


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
    meet = items_of(found, capacity, portal, solids)
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
        if wp.static(sleeps):
            if d.sleep.look[w] == KEEP:
                return
        for k in range(wp.min(before, d.con.dist.shape[1])):  # contacts of geoms
            d.fcon.flex[w, k] = wp.vec2i(-1, -1)
            d.fcon.elem[w, k] = wp.vec2i(-1, -1)
            d.fcon.vert[w, k] = wp.vec2i(-1, -1)
        n = int(before)
        for p in range(m.size.nflexpair):
            pair = m.flex.pair[p]
            items = m.flex.span[pair[2]][3]
            axis = int(0)
            sorted = bool(False)
            widest = float(0.0)
            if pair[0] >= 0:
                if m.geom.type[pair[0]] == Geom.PLANE:
                    items = m.flex.span[pair[2]][1]
            if wp.static(sleeps):
                if not flex_pair_is_awake(m, d, w, p):
                    continue
            if wp.static(sweeps):
                if pair[0] < 0:
                    items = m.flex.span[pair[1]][3]
                    if pair[1] == pair[2]:
                        swept = sort_elements(m, d, w, pair[2])
                        items = swept[0]
                        axis = swept[1]
                        widest = widest_element(m, d, w, pair[2], axis)
                        sorted = True
            begin = int(n)
            for i in range(items):
                n += meet(m, d, w, p, i, axis, sorted, widest, touch, n)
            if wp.static(few):
                n = begin + keep_few(m, d, w, p, begin, n - begin, begin)
            if wp.static(sweeps):
                if sorted and (pair[5] & 1) == 0:
                    sort_by_elements(d, w, begin, wp.min(n, d.con.dist.shape[1]))
        if wp.static(not fresh):
            if before < d.con.dist.shape[1]:
                interleave(m, d, w, 0, 1, before, wp.min(n, d.con.dist.shape[1]))
        finish_world(d.con, w, n)

    return detect_flex_contacts


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
        return []
    few = bool(pair_lists(m)[0][:, 4].any())
    asked: dict[str, Any] = {"fresh": fresh, "few": few, "sleeps": sleeps(m), "portal": portal, "solids": solids}
    if cuda:
        return near.stages(m, found, rounded, **asked)
    return [Stage(detect_flexes(found, rounded, **asked), lanes=True, alone=True)]
