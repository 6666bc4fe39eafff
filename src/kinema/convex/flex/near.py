"""Contacts of flexes on CUDA: who is near, where they touch, and in which order that stands.

A world may have a thousand elements and a million pairs of them, of which some hundred are near; and there may be few
worlds. So the threads of a world are many, spread over blocks, and each of three stages gives them work of one size:

    find_near     boxes: what is near goes to a list, as it is found
    meet_near     one that is near, by formulas or a search: contacts go to slots, linked as in collide/emit.py
    place_near    contacts go to their places: by pair, element of the first, and element of the second

Which thread comes first decides about slots only. A contact's place is how many have a smaller number, or of elements
that a sweep would find, how many it would find before them; so the list is that of contact.py.

Links and the list of what touches lie where contacts will later say which rows they want, and get. Numbers that bring
it into order lie where velocities of contacts will be; integers are whole floats there, for there are fewer than 2^24
of anything. Where lists are too short nothing is kept, and the world asks for longer ones: as many contacts, or an
eighth of what is near.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import warp as wp

from kinema.collide.asleep import KEEP
from kinema.collide.bundles import Touch
from kinema.collide.emit import PER_PAIR
from kinema.collide.narrow import OVERFLOW_CONTACTS, finish_world
from kinema.convex.data import Data
from kinema.convex.flex.meeting import (
    are_close,
    elements_apart,
    is_field,
    is_near,
    pair_function,
    pair_reach,
    passed_over,
    plane_vertex,
)
from kinema.convex.flex.order import interleave, keep_few_of_all, put_contact
from kinema.convex.flex.sweep import is_first, longest, low_end
from kinema.convex.flex.tables import is_wide
from kinema.convex.model import Model
from kinema.convex.sleep.flexes import flex_pair_is_awake
from kinema.convex.stage import LANE_BLOCK, Stage
from kinema.math.lanes import block_sync, spread_count, team_count, team_scan
from kinema.math.status import report
from kinema.mujoco_enums import Geom

PARTS = wp.constant(8)  # threads that share the elements which one of a flex may touch
BLOCKS = (1, 8, 32)  # of threads, of a small world, a wide one, and one where elements meet elements
PLACE = 512  # threads that bring the contacts of a world into order
SHIFT = wp.constant(wp.int64(20))
MASK = wp.constant(wp.int64((1 << 20) - 1))


@wp.func
def near_key(p: int, i: int, j: int) -> wp.int64:
    """Pair, item and element as one number."""
    return (((wp.int64(p) << SHIFT) | wp.int64(i)) << SHIFT) | wp.int64(j)


@wp.func
def open_near(m: Model, d: Data, w: int):
    """Nothing is near yet."""
    d.near[0].count[w] = 0
    d.near[0].used[w] = 0
    for f in range(d.near[0].extent.shape[1]):
        d.near[0].extent[w, f, 0] = wp.vec3(1.0e30)
        d.near[0].extent[w, f, 1] = wp.vec3(-1.0e30)


@wp.func
def stretch(m: Model, d: Data, w: int, f: int, lane: int, lanes: int):
    """How far the active elements of a flex extend; each thread adds its share, in any order."""
    span = m.flex.span[f]
    low = wp.vec3(1.0e30)
    high = wp.vec3(-1.0e30)
    for e in range(span[2] + lane, span[2] + span[3], lanes):
        if m.flex.elemlist[e][1] != 0:
            box = d.flex.elem_aabb[w, e]
            center = wp.vec3(box[0], box[1], box[2])
            half = wp.vec3(box[3], box[4], box[5])
            low = wp.min(low, center - half)
            high = wp.max(high, center + half)
    wp.atomic_min(d.near[0].extent, w, f, 0, low)
    wp.atomic_max(d.near[0].extent, w, f, 1, high)


@wp.func
def add_near(d: Data, w: int, p: int, i: int, j: int):
    """Put something that is near on the list."""
    k = wp.atomic_add(d.near[0].count, w, 1)
    if k < d.near[0].key.shape[1]:
        d.near[0].key[w, k] = near_key(p, i, j)
        d.near[0].last[w, k] = 0


@cache
def find_near(found: frozenset[tuple[int, int]], lanes: int, sleeps: bool) -> wp.Function:
    """The first stage, for what was found to meet."""
    planes = any(kind == Geom.PLANE for kind, _ in found)
    geoms = any(kind >= 0 and kind != Geom.PLANE for kind, _ in found)
    flexes = any(kind < 0 for kind, _ in found)

    @wp.func
    def find_near(m: Model, d: Data, w: int, lane: int):
        if wp.static(sleeps):
            if d.sleep.look[w] == KEEP:
                return
        step = spread_count(wp.static(lanes))
        for p in range(m.size.nflexpair):
            pair = m.flex.pair[p]
            span = m.flex.span[pair[2]]
            g = pair[0]
            reach = pair_reach(m, d, w, p)
            if wp.static(sleeps):
                if not flex_pair_is_awake(m, d, w, p):
                    continue
            if wp.static(planes):
                if g >= 0 and m.geom.type[wp.max(g, 0)] == Geom.PLANE:
                    for i in range(lane, span[1], step):
                        add_near(d, w, p, i, 0)
                    continue
            if wp.static(geoms):
                if is_field(m, g):
                    for i in range(lane, span[3], step):  # in the order of the tree of boxes
                        j = m.flex.elemlist[span[2] + i][9]
                        if j >= 0:
                            if is_near(m, d, w, g, span[2] + j, reach):
                                add_near(d, w, p, i, j)
                    continue
                if g >= 0:
                    for i in range(lane, span[3], step):
                        e = span[2] + i
                        if m.flex.elemlist[e][1] != 0:
                            if is_near(m, d, w, g, e, reach):
                                if not passed_over(m, p, g, 0, e):
                                    add_near(d, w, p, i, 0)
                    continue
            if wp.static(flexes):
                other = m.flex.span[wp.max(pair[1], 0)]
                itself = pair[1] == pair[2]
                if itself:
                    stretch(m, d, w, pair[2], lane, step)
                share = (span[3] + PARTS - 1) / PARTS
                for q in range(lane, other[3] * PARTS, step):
                    i = q % other[3]  # neighbouring threads go through the same elements at once
                    one = other[2] + i
                    first = q / other[3] * share
                    if m.flex.elemlist[one][1] != 0:
                        box = d.flex.elem_aabb[w, one]
                        for j in range(first, wp.min(first + share, span[3])):
                            two = span[2] + j
                            if j > i or not itself:
                                if are_close(box, d.flex.elem_aabb[w, two], reach):
                                    if m.flex.elemlist[two][1] != 0:
                                        kin = passed_over(m, p, -1, one, two)
                                        if not kin and not elements_apart(m, d, w, one, two, reach):
                                            first_is = not itself or (pair[5] & 1) != 0
                                            if first_is or is_first(m, d, w, p, one, two, 0):
                                                add_near(d, w, p, i, j)
                                            else:
                                                add_near(d, w, p, j, i)

    return find_near


@cache
def meet_near(
    found: frozenset[tuple[int, int]], capacity: int, portal: bool, lanes: int, solids: tuple
) -> wp.Function:
    """The second stage."""
    planes = any(kind == Geom.PLANE for kind, _ in found)
    elements = any(kind != Geom.PLANE for kind, _ in found)
    sweeps = any(kind < 0 for kind, _ in found)
    collide = pair_function(found, capacity, portal, solids) if elements else None

    @wp.func
    def meet_near(m: Model, d: Data, w: int, lane: int):
        touch = Touch()
        touch.dist = d.near[0].dist
        touch.pos = d.near[0].pos
        touch.frame = d.near[0].frame
        touch.used = d.near[0].used
        touch.last = d.near[0].last
        touch.before = d.crow.address
        for k in range(lane, wp.min(d.near[0].count[w], d.near[0].key.shape[1]), spread_count(wp.static(lanes))):
            key = d.near[0].key[w, k]
            j = int(key & MASK)
            i = int((key >> SHIFT) & MASK)
            p = int(key >> (SHIFT + SHIFT))
            pair = m.flex.pair[p]
            base = k * PER_PAIR
            if wp.static(planes):
                if pair[0] >= 0 and m.geom.type[wp.max(pair[0], 0)] == Geom.PLANE:
                    plane_vertex(m, d, w, p, i, touch, base)
                    continue
            if wp.static(elements):
                span = m.flex.span[pair[2]]
                one = int(0)
                two = span[2] + wp.where(is_field(m, pair[0]), j, i)
                if wp.static(sweeps):
                    if pair[0] < 0:
                        one, two = oriented(m, d, w, p, i, j)
                collide(m, d, w, pair[0], one, two, pair_reach(m, d, w, p), touch, base)

    return meet_near


@wp.func
def sweep_axis(m: Model, d: Data, w: int, p: int) -> int:
    """The axis along which a flex is swept; -1: elements of a pair are found in another way."""
    pair = m.flex.pair[p]
    if (pair[5] & 1) == 0:
        return -1
    return longest(d.near[0].extent[w, pair[2], 1] - d.near[0].extent[w, pair[2], 0])


@wp.func
def oriented(m: Model, d: Data, w: int, p: int, i: int, j: int):
    """The two elements of flexes that are near, the one that a contact leads from first."""
    pair = m.flex.pair[p]
    one = m.flex.span[pair[1]][2] + i
    two = m.flex.span[pair[2]][2] + j
    first = int(one)
    second = int(two)
    if pair[1] == pair[2]:
        if not is_first(m, d, w, p, one, two, sweep_axis(m, d, w, p)):
            first = two
            second = one
    return first, second


@wp.func
def put_near(m: Model, d: Data, w: int, k: int, place: int):
    """Move the contacts of something that is near to the list, the first to this place."""
    key = d.near[0].key[w, k]
    j = int(key & MASK)
    i = int((key >> SHIFT) & MASK)
    p = int(key >> (SHIFT + SHIFT))
    pair = m.flex.pair[p]
    elem = wp.vec2i(-1, i)
    vert = wp.vec2i(-1, -1)
    if pair[0] < 0:
        one, two = oriented(m, d, w, p, i, j)
        elem = wp.vec2i(one - m.flex.span[pair[1]][2], two - m.flex.span[pair[2]][2])
    elif is_field(m, pair[0]):
        elem = wp.vec2i(-1, j)
    elif m.geom.type[pair[0]] == Geom.PLANE:
        elem = wp.vec2i(-1, -1)
        vert = wp.vec2i(-1, i)
    link = d.near[0].last[w, k]
    while link != 0:
        slot = link / PER_PAIR - 1
        at = place + link % PER_PAIR - 1
        if at < d.con.dist.shape[1]:
            d.con.dist[w, at] = d.near[0].dist[w, slot]
            d.con.pos[w, at] = d.near[0].pos[w, slot]
            d.con.frame[w, at] = d.near[0].frame[w, slot]
            put_contact(m, d, w, at, p, elem, vert)
        link = d.crow.address[w, slot]


@wp.func
def rank_near(m: Model, d: Data, w: int, k: int) -> wp.spatial_vector:
    """Numbers by which what is near comes into order, the first that differs; then how many contacts it has."""
    key = d.near[0].key[w, k]
    j = int(key & MASK)
    i = int((key >> SHIFT) & MASK)
    p = int(key >> (SHIFT + SHIFT))
    contacts = float(d.near[0].last[w, k] % PER_PAIR)
    axis = sweep_axis(m, d, w, p)
    if axis < 0:
        return wp.spatial_vector(float(p), float(i), float(j), 0.0, 0.0, contacts)
    one, two = oriented(m, d, w, p, i, j)  # as a sweep finds them: by who begins later, then by the other
    late = low_end(m, d, w, two, axis)
    early = low_end(m, d, w, one, axis)
    return wp.spatial_vector(float(p), late, float(two), early, float(one), contacts)


@wp.func
def is_before(one: wp.spatial_vector, two: wp.spatial_vector) -> bool:
    """Does the one come before the other?"""
    if one[0] != two[0]:
        return one[0] < two[0]
    if one[1] != two[1]:
        return one[1] < two[1]
    if one[2] != two[2]:
        return one[2] < two[2]
    if one[3] != two[3]:
        return one[3] < two[3]
    return one[4] < two[4]


@wp.func
def place_of_near(d: Data, w: int, q: int, touching: int) -> int:
    """Contacts of what touches that come before those of the q-th of it."""
    own = d.crow.vel[w, q]
    before = float(0.0)
    for other in range(touching):
        rank = d.crow.vel[w, other]
        if is_before(rank, own):
            before += rank[5]
    return int(before)


@cache
def place_near(fresh: bool, few: bool, sleeps: bool) -> wp.Function:
    """The third stage; what is asked is as in contact.detect_flexes."""

    @wp.func
    def place_near(m: Model, d: Data, w: int, lane: int):
        if wp.static(sleeps):
            if d.sleep.look[w] == KEEP:
                return
        geoms = int(0)
        if wp.static(not fresh):
            geoms = d.con.found[w]
        room = d.con.dist.shape[1]
        lanes = team_count()
        for k in range(lane, wp.min(geoms, room), lanes):
            d.fcon.flex[w, k] = wp.vec2i(-1, -1)
            d.fcon.elem[w, k] = wp.vec2i(-1, -1)
            d.fcon.vert[w, k] = wp.vec2i(-1, -1)
        near = d.near[0].count[w]
        used = d.near[0].used[w]
        lost = near > d.near[0].key.shape[1] or used > d.near[0].dist.shape[1]
        if lost:
            near = 0
        touching = int(0)
        for first in range(0, near, lanes):
            k = first + lane
            own = int(0)
            if k < near:
                own = wp.where(d.near[0].last[w, k] != 0, 1, 0)
            placed = team_scan(own)
            if own > 0:
                d.crow.want[w, touching + placed[0]] = k
            touching += placed[1]
        block_sync()
        for q in range(lane, touching, lanes):
            d.crow.vel[w, q] = rank_near(m, d, w, d.crow.want[w, q])
        block_sync()
        for q in range(lane, touching, lanes):
            put_near(m, d, w, d.crow.want[w, q], geoms + place_of_near(d, w, q, touching))
        block_sync()
        end = wp.where(lost, geoms, geoms + used)
        if wp.static(few):
            if lane == 0:
                d.con.found[w] = keep_few_of_all(m, d, w, geoms, end)
            block_sync()
            end = d.con.found[w]
            block_sync()
        if geoms < room:
            interleave(m, d, w, lane, lanes, geoms, wp.min(end, room))
        if lane == 0:
            if lost:
                wanted = wp.max(geoms + used, d.near[0].count[w] * room / d.near[0].key.shape[1] + 1)
                finish_world(d.con, w, wp.max(wanted, room + 1))
                d.con.ncon[w] = 0
                report(d.con.status, w, OVERFLOW_CONTACTS)
            else:
                finish_world(d.con, w, end)

    return place_near


def stages(
    m: Any, found: frozenset, capacity: int, fresh: bool, few: bool, sleeps: bool, portal: bool, solids: tuple
) -> list[Stage]:
    """The three stages, and what begins them."""
    blocks = BLOCKS[is_wide(m) * (1 + any(kind < 0 for kind, _ in found))]
    spread: dict[str, Any] = {"lanes": True, "alone": True, "threads": LANE_BLOCK, "groups": blocks}
    lanes = LANE_BLOCK * blocks
    return [
        Stage(open_near),
        Stage(find_near(found, lanes, sleeps), **spread),
        Stage(meet_near(found, capacity, portal, lanes, solids), **spread),
        Stage(place_near(fresh, few, sleeps), lanes=True, alone=True, threads=PLACE),
    ]
