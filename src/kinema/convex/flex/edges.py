"""Edges of flexes: length, its rate, its gradient by the dofs, and springs along edges.

    l = |x_2 - x_1|,   u = (x_2 - x_1) / l,   J = u . (J_2 - J_1),   dl/dt = J v

A row of J has as columns the dofs that move either end, ascending, as mjModel lists them.

Most edges have both ends on bodies that slide in the frame of one body. Then the edge is measured in that frame, out
of rest places and slides: an edge is short, and the places of its ends in the world, as floats, tell it to some 1e-6 of
its length, of which stiff edges make forces. How the frame moves does not change the length: those columns are 0.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.jacobian import last_dof, point_motion
from kinema.convex.model import Model
from kinema.math.quaternion import rotate
from kinema.mujoco_enums import MINVAL, Disable


@wp.func
def slid_place(m: Model, d: Data, w: int, base: int, v: int) -> wp.vec3:
    """Where a vertex is in the frame of the body it slides in."""
    first = m.flex.point[v][3]
    b = m.flex.supportbody[first]
    place = m.flex.supportplace[w, first]
    x = wp.vec3(place[0], place[1], place[2])
    if b != base:
        slide = wp.vec3()
        for j in range(m.body.jntadr[b], m.body.jntadr[b] + m.body.jntnum[b]):
            a = m.jnt.qposadr[j]
            slide += m.jnt.axis[w, j] * (d.state.qpos[w, a] - m.jnt.qpos0[w, a])
        x = m.body.pos[w, b] + rotate(m.body.quat[w, b], x + slide)
    return x


@wp.func
def vertex_place(m: Model, d: Data, w: int, v: int):
    """Where a vertex is in the frame it slides in, for all its edges."""
    base = m.flex.point[v][5]
    if base >= 0:
        d.flex.vert_place[w, v] = slid_place(m, d, w, base, v)


@wp.func
def common_base(m: Model, v1: int, v2: int) -> int:
    """The body whose frame both vertices slide in; -1: there is none."""
    base = m.flex.point[v1][5]
    return wp.where(m.flex.point[v2][5] == base, base, -1)


@wp.func
def span_between(m: Model, d: Data, w: int, v1: int, v2: int) -> wp.vec3:
    """From one vertex to another, in the world."""
    base = common_base(m, v1, v2)
    span = d.flex.vert_xpos[w, v2] - d.flex.vert_xpos[w, v1]
    if base >= 0:
        span = d.pose.xmat[w, base] * (slid_place(m, d, w, base, v2) - slid_place(m, d, w, base, v1))
    return span


@wp.func
def point_rate(m: Model, d: Data, w: int, body: int, place: wp.vec3) -> wp.vec3:
    """How fast a point of a body moves once the step is over."""
    offset = place - d.inertia.subtree_com[w, m.body.rootid[body]]
    rate = wp.vec3()
    i = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, body)
    while i >= 0:
        rate += d.state.qvel[w, i] * point_motion(d.inertia.cdof[w, i], offset)
        i = m.dof.parentid[i]
    return rate


@wp.func
def edge_length(m: Model, d: Data, w: int, e: int):
    """flexedge_length and flexedge_J of one edge."""
    ends = m.flex.edgelist[e]
    row = wp.vec2i(ends[2], ends[3])
    base = common_base(m, ends[0], ends[1])
    span = d.flex.vert_xpos[w, ends[1]] - d.flex.vert_xpos[w, ends[0]]
    stop = int(-1)  # the last dof that moves both ends alike
    if base >= 0:
        span = d.pose.xmat[w, base] * (d.flex.vert_place[w, ends[1]] - d.flex.vert_place[w, ends[0]])
        stop = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, base)
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
            body = m.flex.point[v][1]  # edges of interpolated flexes have no rows
            offset = d.flex.vert_xpos[w, v] - d.inertia.subtree_com[w, m.body.rootid[body]]
            i = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, body)
            k = row[0] + row[1] - 1
            while i > stop:
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
