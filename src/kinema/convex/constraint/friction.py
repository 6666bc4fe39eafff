"""Friction loss of dofs and tendons: rows that resist motion with a bounded force."""

import warp as wp

from kinema.convex.bundle import vec5
from kinema.convex.constraint.columns import ANY_TREE, put_few, put_sparse
from kinema.convex.constraint.row import inverse_inertia, put_scalars, row_time
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.math.lanes import lane_count, lane_get
from kinema.mujoco_enums import Constraint


@wp.func
def want_dof_friction(m: Model, d: Data, w: int, v: int):
    """A row for a dof that loses force to friction."""
    d.efc.want[w, m.size.slot_friction + v] = wp.where(m.dof.frictionloss[w, v] > 0.0, 1, 0)


@wp.func
def want_tendon_friction(m: Model, d: Data, w: int, t: int):
    """A row for a tendon that loses force to friction, if some dof moves it."""
    loses = m.tendon.frictionloss[w, t] > 0.0 and m.tendon.ten_J_rownnz[t] > 0
    d.efc.want[w, m.size.slot_friction + m.size.nv + t] = wp.where(loses, 1, 0)


@wp.func
def open_dof_friction(m: Model, d: Data, w: int, v: int):
    """Name the row of a dof's friction."""
    r = d.efc.start[w, m.size.slot_friction + v]
    if r >= 0:
        d.efc.type[w, r] = Constraint.FRICTION_DOF
        d.efc.id[w, r] = v


@wp.func
def open_tendon_friction(m: Model, d: Data, w: int, t: int):
    """Name the row of a tendon's friction."""
    r = d.efc.start[w, m.size.slot_friction + m.size.nv + t]
    if r >= 0:
        d.efc.type[w, r] = Constraint.FRICTION_TENDON
        d.efc.id[w, r] = t


@wp.func
def friction_columns(m: Model, d: Data, w: int, lane: int):
    """J of friction losses: lanes share out the columns."""
    first = d.efc.ne[w]
    end = first + d.efc.nf[w]
    for r in range(first, end):
        ident = d.efc.id[w, r]
        if d.efc.type[w, r] == Constraint.FRICTION_DOF:
            trees = wp.vec2i(m.dof.treeid[ident], -1)
            put_few(
                d.efc.J, w, lane, r, trees, m.tree.dofadr, m.tree.dofnum, wp.vec3i(ident, -1, -1),
                wp.vec3(1.0, 0.0, 0.0),
            )  # fmt: skip
        else:
            put_sparse(
                d.efc.J, d.ten.J, m.tendon.ten_J_colind, w, lane, r, m.tendon.ten_J_rowadr[ident],
                m.tendon.ten_J_rownnz[ident], 1.0,
            )  # fmt: skip


@wp.func
def friction_columns_in_lanes(m: Model, d: Data, w: int, lane: int):
    """The same for few dofs a lane, where only dofs have friction: a lane reads one row."""
    first = d.efc.ne[w]
    end = first + d.efc.nf[w]
    for begin in range(first, end, lane_count()):
        my_dof = d.efc.id[w, wp.min(begin + lane, end - 1)]
        for k in range(wp.min(lane_count(), end - begin)):
            dof = lane_get(my_dof, k)
            for i in range(lane, m.size.nv, lane_count()):
                d.efc.J[w, begin + k, i] = wp.where(i == dof, 1.0, 0.0)


@wp.func
def friction_scalars(m: Model, d: Data, w: int, lane: int):
    """What else belongs to the rows of friction losses: lanes share out the rows."""
    first = d.efc.ne[w]
    end = first + d.efc.nf[w]
    time = row_time(m.opt, w)
    for r in range(first + lane, end, lane_count()):
        ident = d.efc.id[w, r]
        if d.efc.type[w, r] == Constraint.FRICTION_DOF:
            d.efc.trees[w, r] = wp.vec2i(m.dof.treeid[ident], -1)
            loss = m.dof.frictionloss[w, ident]
            weight = inverse_inertia(m.opt, m.dof.invweight0[w, ident])
            residual = vec5(0.0, 0.0, loss, d.state.qvel[w, ident], weight)
            solref, solimp = m.dof.solref[w, ident], m.dof.solimp[w, ident]
            put_scalars(d.efc, w, r, Constraint.FRICTION_DOF, ident, residual, solref, solimp, time)
        else:
            d.efc.trees[w, r] = tendon_trees(m.tendon.treenum[ident], m.tendon.treeid[ident])
            loss = m.tendon.frictionloss[w, ident]
            weight = inverse_inertia(m.opt, m.tendon.invweight0[w, ident])
            residual = vec5(0.0, 0.0, loss, d.ten.velocity[w, ident], weight)
            put_scalars(
                d.efc, w, r, Constraint.FRICTION_TENDON, ident, residual, m.tendon.solref_fri[w, ident],
                m.tendon.solimp_fri[w, ident], time,
            )  # fmt: skip


@wp.func
def tendon_trees(count: int, first_two: wp.vec2i) -> wp.vec2i:
    """The trees of a row that acts on a tendon."""
    if count == 1:
        return wp.vec2i(first_two[0], -1)
    if count == 2:
        return first_two
    return ANY_TREE
