"""How contacts move with the two geoms that make them, by the functions that find contacts, in dual numbers.

A contact has a distance, a place and a frame; they depend on the poses of two geoms and on nothing else that moves. So
twelve directions are enough, whatever the model: each geom turns about and moves along the three axes of the world,

    d(distance, place, frame) = G_1 (turn, move)_1 + G_2 (turn, move)_2

about the first place of contact of the pair. What dofs do to it follows by their motion vectors (contact_slopes.cpp).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import warp as wp

from kinema.collide.build import Build
from kinema.collide.bundles import Touch
from kinema.collide.narrow import pair_function
from kinema.collide.workspace import Workspace
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.gradients.contacts import contacts_of
from kinema.math.touches import touches

GIVEN = ("ncon", "contact_pair", "contact_pos", "geom_xpos", "geom_xmat")
"""What detection has found, and this starts from."""

WIDTH = {"cpu": 16, "cuda": 12}
"""Twelve motions, in registers of sixteen numbers."""

PLACES = 10
"""Numbers that `places` gives."""

_SEED = """
    float* x = (float*)((char*)xpos.data + w * (size_t)xpos.strides[0] + g * (size_t)xpos.strides[1]);
    float* e = (float*)((char*)xmat.data + w * (size_t)xmat.strides[0] + g * (size_t)xmat.strides[1]);
    if (lane < 0) {
        for (int i = 0; i < 3; ++i) x[i].t = wp::kn_zero();
        for (int i = 0; i < 9; ++i) e[i].t = wp::kn_zero();
    } else {
        for (int a = 0; a < 3; ++a) {
            const int b = (a + 1) % 3, c = (a + 2) % 3;  // axis a turns b into c
            x[b].t[lane + a] = -(x[c].v - about[c].v);
            x[c].t[lane + a] = x[b].v - about[b].v;
            for (int k = 0; k < 3; ++k) {
                e[3 * b + k].t[lane + a] = -e[3 * c + k].v;
                e[3 * c + k].t[lane + a] = e[3 * b + k].v;
            }
            x[a].t[lane + 3 + a] = 1.0f;
        }
    }
"""


@wp.func_native(_SEED)
@touches(reads="xpos[w] xmat[w]", writes="xpos[w] xmat[w]")
def move_geom(
    xpos: wp.array2d(dtype=wp.vec3), xmat: wp.array2d(dtype=wp.mat33), w: int, g: int, about: wp.vec3, lane: int
):
    """Let a geom turn and move along six directions from `lane` on; -1: it rests again."""


@cache
def moving_geoms(build: Build) -> wp.Function:
    """The contacts of one world anew, pair by pair as they were found, while the geoms of the pair move."""
    collide_pair = pair_function(build)

    @wp.func
    def moving_geoms(m: Model, d: Data, w: int):
        touch = Touch()
        touch.dist = d.con.dist
        touch.pos = d.con.pos
        touch.frame = d.con.frame
        end = d.con.ncon[w]
        first = int(0)
        while first < end:
            pair = d.con.pair[w, first]
            n = contacts_of(d.con, w, first, end)
            geoms = m.collision.pairs.geom[w, pair]
            about = d.con.pos[w, first]
            move_geom(d.pose.geom_xpos, d.pose.geom_xmat, w, geoms[0], about, 0)
            move_geom(d.pose.geom_xpos, d.pose.geom_xmat, w, geoms[1], about, 6)
            collide_pair(
                w, pair, m.collision.geoms, m.collision.meshes, m.collision.hfields, m.collision.pairs,
                m.collision.settings.options, touch, first, Workspace(),
            )  # fmt: skip
            move_geom(d.pose.geom_xpos, d.pose.geom_xmat, w, geoms[0], about, -1)
            move_geom(d.pose.geom_xpos, d.pose.geom_xmat, w, geoms[1], about, -1)
            first += n

    return moving_geoms


def places(wide: Any) -> list[int]:
    """Where the derivatives are: place, bytes to the next world and to the next contact, of distance, place and frame;
    then the numbers of a dual."""
    found: list[int] = []
    for name in ("contact_dist", "contact_pos", "contact_frame"):
        made = wide[name].made
        found += [made.data, made.strides[0], made.strides[1]]
    return [*found, wide["contact_dist"].number.wide // 4]
