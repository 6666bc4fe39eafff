"""Contacts of flexes as derivatives see them: the vertices and elements that touch are those that detection has found.

A contact of a flex says which geom, vertex and elements it is of, not which of several contacts of these: detection
keeps some of them, and sorts them. So what made a contact is met once more, by the same functions as ever, in duals;
what comes of it goes behind the room for contacts, and the contact is the one of these that is nearest to what it was:

    contact c  ->  its pair, vertex or elements  ->  contacts base, base + 1, ...  ->  argmin |x_k - x_c| + |d_k - d_c|

Values are the very operations of detection, so the nearest is that very one.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import warp as wp

from kinema.collide.bundles import Touch
from kinema.collide.sdf import Fields
from kinema.convex.data import Data
from kinema.convex.flex.contact import Meets, meets
from kinema.convex.flex.meeting import pair_function, pair_reach, plane_vertex
from kinema.convex.flex.order import is_of_pair, put_contact
from kinema.convex.model import Model
from kinema.mujoco_enums import Geom

GIVEN = ("contact_geom", "contact_dist", "contact_pos", "contact_flex", "contact_elem", "contact_vert")
"""What detection has found, and this starts from, beside what geoms do."""

ROOM = wp.constant(64)
"""Contacts of one geom or element with one element, at most: a height field's prisms are 50."""


@wp.func
def pair_of(m: Model, d: Data, w: int, c: int) -> int:
    """The pair of flexes, or of a geom and a flex, that contact c is of."""
    for p in range(m.size.nflexpair):
        if is_of_pair(m, d, w, c, p):
            return p
    return -1


@wp.func
def nearest(d: Data, w: int, c: int, base: int, count: int) -> int:
    """Of `count` contacts from `base` on the one that is where contact c was found; -1: there are none."""
    best = int(-1)
    least = float(0.0)
    for k in range(base, base + count):
        away = wp.length(d.con.pos[w, k] - d.con.pos[w, c]) + wp.abs(d.con.dist[w, k] - d.con.dist[w, c])
        if best < 0 or away < least:
            best = k
            least = away
    return best


@cache
def touching_flexes(meets: Meets) -> wp.Function:
    """The contacts of flexes of one world anew."""
    planes = any(kind == Geom.PLANE for kind, _ in meets.found)
    elements = any(kind != Geom.PLANE for kind, _ in meets.found)
    collide = pair_function(meets.found, meets.capacity, meets.portal, meets.solids) if elements else None

    @wp.func
    def again(m: Model, d: Data, w: int, c: int, p: int, touch: Touch, base: int) -> int:
        """What made contact c makes its contacts from `base` on; returns how many."""
        pair = m.flex.pair[p]
        g = pair[0]
        if wp.static(planes):
            if g >= 0 and m.geom.type[wp.max(g, 0)] == Geom.PLANE:
                return plane_vertex(m, d, w, p, d.fcon.vert[w, c][1], touch, base)
        n = int(0)
        if wp.static(elements):
            one = int(0)
            if g < 0:
                one = m.flex.span[pair[1]][2] + d.fcon.elem[w, c][0]
            two = m.flex.span[pair[2]][2] + d.fcon.elem[w, c][1]
            n = collide(m, d, w, g, one, two, pair_reach(m, d, w, p), touch, base)
        return n

    @wp.func
    def touching_flexes(m: Model, d: Data, w: int):
        touch = Touch()
        touch.dist = d.con.dist
        touch.pos = d.con.pos
        touch.frame = d.con.frame
        base = d.con.dist.shape[1] - ROOM
        for c in range(d.con.ncon[w]):
            if d.fcon.flex[w, c][1] >= 0:
                p = pair_of(m, d, w, c)
                k = nearest(d, w, c, base, wp.min(again(m, d, w, c, p, touch, base), ROOM))
                if k >= 0:
                    d.con.dist[w, c] = d.con.dist[w, k]
                    d.con.pos[w, c] = d.con.pos[w, k]
                    d.con.frame[w, c] = d.con.frame[w, k]
                put_contact(m, d, w, c, p, d.fcon.elem[w, c], d.fcon.vert[w, c])

    return touching_flexes


def touching(m: Any, fields: Fields | None) -> wp.Function:
    """Contacts of the flexes of a model as they are."""
    return touching_flexes(meets(m, fields))
