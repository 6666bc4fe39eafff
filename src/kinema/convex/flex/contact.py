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

from kinema.collide.asleep import KEEP
from kinema.collide.bound import ROUNDING
from kinema.collide.bundles import Touch
from kinema.collide.emit import emit
from kinema.collide.narrow import finish_world
from kinema.collide.table import uses_native
from kinema.convex.bundle import vec5
from kinema.convex.data import Data
from kinema.convex.flex.meeting import boxes_meet, is_near, pair_function, passed_over
from kinema.convex.flex.pairs import kinds, pair_lists
from kinema.convex.flex.sweep import is_first, longest_axis, low_end, sort_elements
from kinema.convex.model import Model
from kinema.convex.sleep.flexes import flex_pair_is_awake
from kinema.convex.sleep.sleepers import sleeps
from kinema.convex.stage import WARP_LANES, Stage
from kinema.math.lanes import block_sync, team_count, team_scan
from kinema.math.vector import column
from kinema.mujoco_enums import Geom

TEAM = 256  # threads that share a world on CUDA


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
    d.con.solreffriction[w, k] = wp.vec2(number[15], number[16])
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


@cache
def items_of(found: frozenset[tuple[int, int]], capacity: int, portal: bool):
    """``meet(m, d, w, p, i, touch, base)``: contacts of item i of a pair: a vertex, an element, or a sweep from one."""
    planes = any(kind == Geom.PLANE for kind, _ in found)
    elements = any(kind != Geom.PLANE for kind, _ in found)
    collide = pair_function(found, capacity, portal) if elements else None

    @wp.func
    def meet(m: Model, d: Data, w: int, p: int, i: int, axis: int, sorted: bool, touch: Touch, base: int) -> int:
        pair = m.flex.pair[p]
        g = pair[0]
        span = m.flex.span[pair[2]]
        reach = m.flex.pairnumber[w, p][0] + m.flex.pairnumber[w, p][1]
        room = d.con.dist.shape[1]
        stores = touch.dist.shape[1] > 0
        n = int(0)
        if wp.static(planes):
            if g >= 0 and m.geom.type[wp.max(g, 0)] == Geom.PLANE:
                n = plane_vertex(m, d, w, p, i, touch, base)
                if stores and n > 0 and base < room:
                    put_contact(m, d, w, base, p, wp.vec2i(-1, -1), wp.vec2i(-1, i))
                return n
        if wp.static(elements):
            itself = pair[1] == pair[2]
            other = m.flex.span[wp.max(pair[1], 0)]
            one = int(0)
            j = int(i)  # a geom meets element i, an element i those from j on
            last = i + 1
            end = float(1.0e30)
            if g >= 0:
                reach += ROUNDING * (wp.max(wp.abs(d.pose.geom_xpos[w, g])) + m.geom.rbound[w, g])
            else:
                one = other[2] + i
                if sorted:
                    one = d.flex.order[w, other[2] + i]
                    end = low_end(m, d, w, one, axis) + 2.0 * d.flex.elem_aabb[w, one][axis + 3]
                j = wp.where(itself, i + 1, 0)
                last = wp.where(m.flex.elemlist[one][1] != 0, span[3], 0)
            while j < last:
                two = span[2] + j
                if sorted:
                    two = d.flex.order[w, span[2] + j]
                    if two < 0:
                        break
                    if low_end(m, d, w, two, axis) > end:
                        break
                first = int(one)
                second = int(two)
                near = m.flex.elemlist[two][1] != 0
                if near:
                    if g >= 0:
                        near = is_near(m, d, w, g, two, reach)
                    else:
                        near = boxes_meet(d, w, one, two, reach)
                if near:
                    near = not passed_over(m, p, g, one, two)
                if near and itself:
                    if not is_first(m, d, w, p, one, two, axis):
                        first = two
                        second = one
                if near:
                    count = collide(m, d, w, g, first, second, reach, touch, base + n)
                    if stores:
                        ids = wp.vec2i(wp.where(g >= 0, -1, first - other[2]), second - span[2])
                        for k in range(base + n, wp.min(base + n + count, room)):
                            put_contact(m, d, w, k, p, ids, wp.vec2i(-1, -1))
                    n += count
                j += 1
        return n

    return meet


@wp.func
def keep_few(m: Model, d: Data, w: int, p: int, base: int, count: int) -> int:
    """Keep so many contacts of a pair, in their order; returns how many are left.

    Meanwhile solreffriction holds the squared distance to the nearest one kept, and whether it is kept itself.
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
    found: frozenset[tuple[int, int]], capacity: int, fresh: bool, alone: bool, few: bool, sleeps: bool = False,
    portal: bool = False,
) -> wp.Function:  # fmt: skip
    """The stage, for what was found to meet.

    Args:
        fresh: Nobody has looked for contacts of geoms before.
        alone: One thread takes the world, and sweeps. On CUDA a block does: every thread counts the contacts of its
            item, and once all know how many come before their own, writes them.
        few: Of some pairs not all contacts are kept.
        sleeps: Trees may sleep: pairs of which neither side is awake are passed over, and the world may want to keep
            what it has (collide/asleep.py).
        portal: Convex shapes meet as without nativeccd.
    """
    meet = items_of(found, capacity, portal)
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
            if wp.static(sleeps):
                if not flex_pair_is_awake(m, d, w, p):
                    continue
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
    function = detect_flexes(found, rounded, fresh, alone=not cuda, few=bool(pair_lists(m)[0][:, 4].any()),
                             sleeps=sleeps(m), portal=not uses_native(m))  # fmt: skip
    return [Stage(function, lanes=True, alone=True, threads=TEAM if cuda else WARP_LANES)]
