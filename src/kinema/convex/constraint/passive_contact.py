"""Passive contact of flexes: a penalty on depth in place of a constraint, without friction (`passive="true"`).

Where a flex meets another, itself, or what cannot move, a spring presses along the normal, with the stiffness
k = OMEGA2 times the smallest mass of the vertices that take part. The discrete integrator takes it at the end of the
step, where the depth is dist + h J v + h^2 J a:

    f = -k (dist + h J v + h^2 J a) = -D (J a - aref),     D = h^2 k,     aref = -dist / h^2 - J v / h

Within the margin, where nothing is pressed yet, dist counts as 0, and what is left slows the approach, as in MuJoCo.
So the spring is a row that acts both ways, softly: one solve has it and all else, whichever vertices it couples. MuJoCo
keeps the same term in its metric; accelerations agree, but there the force counts to qfrc_spring, here to
qfrc_constraint, and nefc counts the row. Contacts say so in `exclude`, and have no address.
"""

from __future__ import annotations

import warp as wp

from kinema.convex.constraint.sparse import add_point, open_rows, side_vertices, side_weights
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.mujoco_enums import MINVAL, Constraint, Exclude

OMEGA2 = wp.constant(5.0e7)  # squared frequency of the spring [rad^2/s^2]


@wp.func
def vertex_mass(m: Model, d: Data, w: int, v: int, least: float) -> float:
    """The smaller of a mass and that of a vertex, if it slides along three axes."""
    body = m.flex.point[v][1]
    if body >= 0:
        if m.body.dofnum[body] == 3:
            i = m.body.dofadr[body]
            mass = d.inertia.M[w, m.dof.M_rowadr[i] + m.dof.M_rownnz[i] - 1]
            if mass > 0.0:
                return wp.min(least, mass)
    return least


@wp.func
def passive_contacts(m: Model, d: Data, w: int, lane: int, lanes: int):
    """The rows of passive contacts."""
    h = m.opt.timestep[w]
    for c in range(lane, d.con.ncon[w], lanes):
        r = d.crow.address[w, c]
        if d.con.exclude[w, c] == Exclude.PASSIVE and r >= 0:
            open_rows(d.efc, w, r, 1)
            frame = d.con.frame[w, c]
            normal = wp.vec3(frame[0, 0], frame[0, 1], frame[0, 2])
            least = float(1.0e30)
            for side in range(2):
                corners = side_vertices(m, d, w, c, side)
                if corners[0] >= 0:
                    sign = 2.0 * float(side) - 1.0
                    share = side_weights(m, d, w, c, corners)
                    for k in range(4):
                        if corners[k] >= 0:
                            least = vertex_mass(m, d, w, corners[k], least)
                            if share[k] != 0.0:
                                body = m.flex.point[corners[k]][1]
                                add_point(m, d, w, r, body, d.con.pos[w, c], (sign * share[k]) * normal)
            vel = float(0.0)
            for a in range(d.efc.ncol[w, r]):
                vel += d.efc.J[w, r, a] * d.state.qvel[w, d.efc.col[w, r, a]]
            weight = h * h * OMEGA2 * wp.where(least < 1.0e30, least, 0.0)
            dist = d.con.dist[w, c]
            d.efc.type[w, r] = Constraint.EQUALITY
            d.efc.id[w, r] = c
            d.efc.pos[w, r] = dist
            d.efc.margin[w, r] = 0.0
            d.efc.frictionloss[w, r] = 0.0
            d.efc.vel[w, r] = vel
            d.efc.D[w, r] = weight
            d.efc.R[w, r] = 1.0 / wp.max(weight, MINVAL)
            d.efc.aref[w, r] = -(wp.min(dist, 0.0) / h + vel) / h
            d.crow.address[w, c] = -1
