"""Adhesive contacts pull (mj_adhesion): a constant force along the normal of each, among the passive forces.

    qfrc_adhesion = - sum over contacts of  a n' (J_2 - J_1)          a: adhesion, n: normal, J: of the point of a side

The rows of a contact resist what it pulls (constraint/contact.py), so that pressing is as without it; what is left of
the pull once they let go is what holds.
"""

import numpy as np
import warp as wp

from kinema.convex.com import project_wrench, wrench_about
from kinema.convex.constraint.bearing import (
    bearers,
    bearing,
    side_coordinates,
    side_vertices,
    side_weights,
    turning_segment,
)
from kinema.convex.constraint.flex_contact import of_segment
from kinema.convex.constraint.row import geom_body
from kinema.convex.data import Data
from kinema.convex.flex.tables import has_flexes
from kinema.convex.jacobian import last_dof
from kinema.convex.model import Model
from kinema.convex.passive import has_passive_forces
from kinema.convex.stage import Stage
from kinema.math.spatial import linear
from kinema.mujoco_enums import Exclude


@wp.func
def pull_body(m: Model, d: Data, w: int, c: int, body: int, force: wp.vec3):
    """qfrc_adhesion += J' force, at the point of a contact as part of a body."""
    com = d.inertia.subtree_com[w, m.body.rootid[body]]
    project_wrench(
        d.frc.qfrc_adhesion, d.inertia.cdof, m.dof.parentid, w,
        last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, body),
        wrench_about(wp.vec3(0.0), force, d.con.pos[w, c], com),
    )  # fmt: skip


@wp.func
def pull_of(d: Data, w: int, c: int, side: int) -> wp.vec3:
    """The force of a contact on one of its sides: towards the other."""
    frame = d.con.frame[w, c]
    normal = wp.vec3(frame[0, 0], frame[0, 1], frame[0, 2])
    return d.con.adhesion[w, c] * (1.0 - 2.0 * float(side)) * normal


@wp.func
def pull_dof(m: Model, d: Data, w: int, c: int, r: int, i: int, motion: wp.spatial_vector) -> wp.spatial_vector:
    """qfrc_adhesion -= a n' motion, of the point of a contact with dof i."""
    d.frc.qfrc_adhesion[w, i] = d.frc.qfrc_adhesion[w, i] + wp.dot(pull_of(d, w, c, 1), linear(motion))
    return wp.spatial_vector()


pull_segment = of_segment(pull_dof)
"""qfrc_adhesion += what pulls the surface of a segment."""


@wp.func
def adheres(m: Model, d: Data, w: int, c: int) -> bool:
    return has_passive_forces(m) and d.con.adhesion[w, c] != 0.0 and d.con.exclude[w, c] <= Exclude.GAP


@wp.func
def adhesion(m: Model, d: Data, w: int):
    """qfrc_adhesion, of contacts between geoms."""
    for i in range(m.size.nv):
        d.frc.qfrc_adhesion[w, i] = 0.0
    for c in range(d.con.ncon[w]):
        if adheres(m, d, w, c):
            for side in range(2):
                body = geom_body(m.geom.bodyid, d.con.geom[w, c][side])
                if body >= 0:
                    pull_body(m, d, w, c, body, pull_of(d, w, c, side))


@wp.func
def flex_adhesion(m: Model, d: Data, w: int):
    """What contacts of flexes add to it."""
    for c in range(d.con.ncon[w]):
        if adheres(m, d, w, c):
            for side in range(2):
                f = d.fcon.flex[w, c][side]
                e = turning_segment(m, d, w, c, side)
                if e >= 0:
                    pull_segment(m, d, w, c, -1, side, e)
                elif d.con.geom[w, c][side] < 0:
                    corners = side_vertices(m, d, w, c, side)
                    share = side_weights(m, d, w, c, corners)
                    x = side_coordinates(m, w, corners, share)
                    for k in range(bearers(m, f)):
                        body, part = bearing(m, f, corners, share, x, k)
                        if part != 0.0:
                            pull_body(m, d, w, c, body, part * pull_of(d, w, c, side))


def stages(m) -> list[Stage]:
    """Where geoms or pairs adhere."""
    if not np.any(m.geom_adhesion) and not np.any(m.pair_adhesion):
        return []
    return [Stage(adhesion), *([Stage(flex_adhesion)] if has_flexes(m) else [])]
