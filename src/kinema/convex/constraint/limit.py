"""Limits of joints and tendons: rows that push back where a value leaves its range."""

import warp as wp

from kinema.convex.bundle import vec5
from kinema.convex.constraint.columns import put_few, put_sparse
from kinema.convex.constraint.friction import tendon_trees
from kinema.convex.constraint.row import inverse_inertia, put_scalars, row_time
from kinema.convex.data import Data, Rows
from kinema.convex.kinematics import qpos_quat
from kinema.convex.model import Model
from kinema.math.lanes import lane_count, lane_get, sync
from kinema.math.quaternion import to_velocity
from kinema.math.vector import normalize_with_length
from kinema.mujoco_enums import Constraint, Joint

NO_LIMIT = wp.constant(1.0e10)


@wp.func
def joint_distance(m: Model, d: Data, w: int, j: int, side: int) -> float:
    """How far a joint is from one of its limits, the lower (0) or upper (1); a ball has only one, of its angle."""
    a = m.jnt.qposadr[j]
    bounds = m.jnt.range[w, j]
    kind = m.jnt.type[j]
    distance = float(NO_LIMIT)
    if kind == Joint.BALL:
        if side == 1:
            angle = wp.length(to_velocity(qpos_quat(d.state.qpos, w, a), 1.0))
            distance = wp.max(bounds[0], bounds[1]) - angle
    elif kind == Joint.HINGE or kind == Joint.SLIDE:
        distance = (2.0 * float(side) - 1.0) * (bounds[side] - d.state.qpos[w, a])
    return distance


@wp.func
def tendon_distance(m: Model, d: Data, w: int, t: int, side: int) -> float:
    """How far a tendon is from one of its limits."""
    return (2.0 * float(side) - 1.0) * (m.tendon.range[w, t][side] - d.ten.length[w, t])


@wp.func
def want_joint_limit(m: Model, d: Data, w: int, j: int):
    """A row for each limit that a joint is near."""
    rows = int(0)
    if m.jnt.limited[j] != 0:
        for side in range(2):
            if joint_distance(m, d, w, j, side) < m.jnt.margin[w, j]:
                rows += 1
    d.efc.want[w, m.size.slot_limit + j] = rows


@wp.func
def want_tendon_limit(m: Model, d: Data, w: int, t: int):
    """A row for each limit that a tendon is near, if some dof moves it."""
    rows = int(0)
    if m.tendon.limited[t] != 0 and m.tendon.ten_J_rownnz[t] > 0:
        for side in range(2):
            if tendon_distance(m, d, w, t, side) < m.tendon.margin[w, t]:
                rows += 1
    d.efc.want[w, m.size.slot_limit + m.size.njnt + t] = rows


@wp.func
def open_joint_limit(m: Model, d: Data, w: int, j: int):
    """Name the rows of a joint's limits; until they are filled `efc.pos` holds the distance, `efc.margin` the side."""
    r = d.efc.start[w, m.size.slot_limit + j]
    if r >= 0:
        for side in range(2):
            distance = joint_distance(m, d, w, j, side)
            if distance < m.jnt.margin[w, j]:
                open_row(d.efc, w, r, Constraint.LIMIT_JOINT, j, distance, 2.0 * float(side) - 1.0)
                r += 1


@wp.func
def open_tendon_limit(m: Model, d: Data, w: int, t: int):
    """Name the rows of a tendon's limits."""
    r = d.efc.start[w, m.size.slot_limit + m.size.njnt + t]
    if r >= 0:
        for side in range(2):
            distance = tendon_distance(m, d, w, t, side)
            if distance < m.tendon.margin[w, t]:
                open_row(d.efc, w, r, Constraint.LIMIT_TENDON, t, distance, 2.0 * float(side) - 1.0)
                r += 1


@wp.func
def open_row(efc: Rows, w: int, r: int, kind: int, ident: int, dist: float, side: float):
    """Say what a row is of."""
    efc.type[w, r] = kind
    efc.id[w, r] = ident
    efc.pos[w, r] = dist
    efc.margin[w, r] = side


@wp.func
def limit_columns(m: Model, d: Data, w: int, lane: int):
    """J of active limits: lanes share out the columns."""
    first = d.efc.ne[w] + d.efc.nf[w]
    end = first + d.efc.nl[w]
    for r in range(first, end):
        ident = d.efc.id[w, r]
        side = d.efc.margin[w, r]
        if d.efc.type[w, r] == Constraint.LIMIT_JOINT:
            v = m.jnt.dofadr[ident]
            at = wp.vec3i(v, -1, -1)
            push = wp.vec3(-side, 0.0, 0.0)
            if m.jnt.type[ident] == Joint.BALL:
                axis, angle = normalize_with_length(to_velocity(qpos_quat(d.state.qpos, w, m.jnt.qposadr[ident]), 1.0))
                at = wp.vec3i(v, v + 1, v + 2)
                push = -axis
            put_few(d.efc.J, w, lane, r, wp.vec2i(m.dof.treeid[v], -1), m.tree.dofadr, m.tree.dofnum, at, push)
        else:
            put_sparse(
                d.efc.J, d.ten.J, m.tendon.ten_J_colind, w, lane, r, m.tendon.ten_J_rowadr[ident],
                m.tendon.ten_J_rownnz[ident], -side,
            )  # fmt: skip
    sync()


@wp.func
def limit_columns_in_lanes(m: Model, d: Data, w: int, lane: int):
    """The same for few dofs a lane, where only joints with one dof are limited: a lane reads one row."""
    first = d.efc.ne[w] + d.efc.nf[w]
    end = first + d.efc.nl[w]
    for begin in range(first, end, lane_count()):
        mine = wp.min(begin + lane, end - 1)
        my_dof = m.jnt.dofadr[d.efc.id[w, mine]]
        my_side = d.efc.margin[w, mine]
        for k in range(wp.min(lane_count(), end - begin)):
            dof, side = lane_get(my_dof, k), lane_get(my_side, k)
            for i in range(lane, m.size.nv, lane_count()):
                d.efc.J[w, begin + k, i] = wp.where(i == dof, -side, 0.0)


@wp.func
def limit_scalars(m: Model, d: Data, w: int, lane: int):
    """What else belongs to the rows of active limits: lanes share out the rows."""
    first = d.efc.ne[w] + d.efc.nf[w]
    end = first + d.efc.nl[w]
    time = row_time(m.opt, w)
    for r in range(first + lane, end, lane_count()):
        ident = d.efc.id[w, r]
        side = d.efc.margin[w, r]
        dist = d.efc.pos[w, r]
        if d.efc.type[w, r] == Constraint.LIMIT_JOINT:
            v = m.jnt.dofadr[ident]
            vel = -side * d.state.qvel[w, v]
            if m.jnt.type[ident] == Joint.BALL:
                vel = (
                    d.efc.J[w, r, v] * d.state.qvel[w, v]
                    + d.efc.J[w, r, v + 1] * d.state.qvel[w, v + 1]
                    + d.efc.J[w, r, v + 2] * d.state.qvel[w, v + 2]
                )
            d.efc.trees[w, r] = wp.vec2i(m.dof.treeid[v], -1)
            residual = vec5(dist, m.jnt.margin[w, ident], 0.0, vel, inverse_inertia(m.opt, m.dof.invweight0[w, v]))
            solref, solimp = m.jnt.solref[w, ident], m.jnt.solimp[w, ident]
            put_scalars(d.efc, w, r, Constraint.LIMIT_JOINT, ident, residual, solref, solimp, time)
        else:
            d.efc.trees[w, r] = tendon_trees(m.tendon.treenum[ident], m.tendon.treeid[ident])
            vel = -side * d.ten.velocity[w, ident]
            weight = inverse_inertia(m.opt, m.tendon.invweight0[w, ident])
            residual = vec5(dist, m.tendon.margin[w, ident], 0.0, vel, weight)
            put_scalars(
                d.efc, w, r, Constraint.LIMIT_TENDON, ident, residual, m.tendon.solref_lim[w, ident],
                m.tendon.solimp_lim[w, ident], time,
            )  # fmt: skip
    sync()
