"""How contacts move with the two geoms that make them, by the functions that find contacts, in dual numbers.

A contact has a distance, a place and a frame; they depend on the poses of two geoms and on nothing else that moves. So
twelve directions are enough, whatever the model: both geoms turn about and move along the three axes of the world as
one, and then the second alone,

    d(distance, place, frame) = G (turn, move)_1 + G_2 ((turn, move)_2 - (turn, move)_1)

about the first place of contact of the pair. What dofs do to it follows by their motion vectors (contact_slopes.cpp).
A dof that carries both geoms along needs G alone, which knows nothing of how they touch: with a matrix for each geom it
would be the difference of two large ones, for a shallow contact as large as one over its depth.
This is the way of the CPU, a world a thread; moving_pairs.py is that of CUDA.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from kinema.collide.build import Build
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.gradients.contacts import over_pairs
from kinema.math.touches import touches

GIVEN = ("ncon", "contact_pair", "contact_pos", "geom_xpos", "geom_xmat")
"""What detection has found, and this starts from."""

WIDTH = 16
"""Twelve motions, in registers of sixteen numbers."""

PLACES = 11
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


@wp.func
def let_move(m: Model, d: Data, w: int, pair: int, first: int):
    """Both geoms of a pair move as one, and the second alone, about the first of its contacts."""
    geoms = m.collision.pairs.geom[w, pair]
    about = d.con.pos[w, first]
    move_geom(d.pose.geom_xpos, d.pose.geom_xmat, w, geoms[0], about, 0)
    move_geom(d.pose.geom_xpos, d.pose.geom_xmat, w, geoms[1], about, 0)
    move_geom(d.pose.geom_xpos, d.pose.geom_xmat, w, geoms[1], about, 6)


@wp.func
def let_rest(m: Model, d: Data, w: int, pair: int, first: int, n: int):
    """They rest again."""
    geoms = m.collision.pairs.geom[w, pair]
    move_geom(d.pose.geom_xpos, d.pose.geom_xmat, w, geoms[0], wp.vec3(), -1)
    move_geom(d.pose.geom_xpos, d.pose.geom_xmat, w, geoms[1], wp.vec3(), -1)


def moving_geoms(build: Build) -> wp.Function:
    """Contacts while the geoms of each pair move."""
    return over_pairs(build, let_move, let_rest)


def places(wide: Any) -> list[int]:
    """Where the derivatives are: place, bytes to the next world and to the next contact, of distance, place and frame;
    then the numbers of a dual, and 1 where directions are shared out (moving_pairs.py)."""
    found: list[int] = []
    for name in ("contact_dist", "contact_pos", "contact_frame"):
        made = wide[name].made
        found += [made.data, made.strides[0], made.strides[1]]
    return [*found, wide["contact_dist"].number.wide // 4, 0]
