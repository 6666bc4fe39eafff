"""Edges of flexes: length, its rate, its gradient by the dofs, and springs along edges.

    l = |x_2 - x_1|,   u = (x_2 - x_1) / l,   J = u . (J_2 - J_1),   dl/dt = J v

A row of J has as columns the dofs that move either end, ascending, as mjModel lists them.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.jacobian import last_dof, point_motion
from kinema.convex.model import Model
from kinema.mujoco_enums import MINVAL, Disable


@wp.func
def edge_length(m: Model, d: Data, w: int, e: int):
    """flexedge_length and flexedge_J of one edge."""
    ends = m.flex.edgelist[e]
    row = wp.vec2i(ends[2], ends[3])
    span = d.flex.vert_xpos[w, ends[1]] - d.flex.vert_xpos[w, ends[0]]
    length = wp.length(span)
    unit = wp.vec3(1.0, 0.0, 0.0)
    if length >= MINVAL:
        unit = span / length
    d.flex.edge_length[w, e] = length
    for k in range(row[0], row[0] + row[1]):
        d.flex.edge_J[w, k] = 0.0
    if row[1] > 0:
        for side in range(2):
            v = ends[side]
            sign = 2.0 * float(side) - 1.0
            body = m.flex.supportbody[m.flex.supportadr[v]]  # edges of interpolated flexes have no rows
            offset = d.flex.vert_xpos[w, v] - d.inertia.subtree_com[w, m.body.rootid[body]]
            i = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, body)
            k = row[0] + row[1] - 1
            while i >= 0:
                while m.flex.flexedge_J_colind[k] != i:
                    k -= 1
                gain = sign * wp.dot(unit, point_motion(d.inertia.cdof[w, i], offset))
                d.flex.edge_J[w, k] = d.flex.edge_J[w, k] + gain
                i = m.dof.parentid[i]


@wp.func
def edge_velocity(m: Model, d: Data, w: int, e: int):
    """flexedge_velocity of one edge."""
    row = wp.vec2i(m.flex.edgelist[e][2], m.flex.edgelist[e][3])
    rate = float(0.0)
    for k in range(row[0], row[0] + row[1]):
        rate += d.flex.edge_J[w, k] * d.state.qvel[w, m.flex.flexedge_J_colind[k]]
    d.flex.edge_velocity[w, e] = rate


@wp.func
def edge_forces(m: Model, d: Data, w: int):
    """qfrc_spring and qfrc_damper += springs and dampers along edges."""
    springs = (m.opt.disableflags & Disable.SPRING) == 0
    dampers = (m.opt.disableflags & Disable.DAMPER) == 0
    for e in range(m.size.nflexedge):
        number = m.flex.edgenumber[w, e]
        if number[2] != 0.0 or number[3] != 0.0:
            row = wp.vec2i(m.flex.edgelist[e][2], m.flex.edgelist[e][3])
            pull = number[2] * (number[0] - d.flex.edge_length[w, e])
            drag = -number[3] * d.flex.edge_velocity[w, e]
            for k in range(row[0], row[0] + row[1]):
                i = m.flex.flexedge_J_colind[k]
                if springs:
                    d.frc.qfrc_spring[w, i] = d.frc.qfrc_spring[w, i] + d.flex.edge_J[w, k] * pull
                if dampers:
                    d.frc.qfrc_damper[w, i] = d.frc.qfrc_damper[w, i] + d.flex.edge_J[w, k] * drag
