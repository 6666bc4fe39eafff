"""Friction loss of dofs and tendons: rows that resist motion with a bounded force."""

import warp as wp

from kinema.convex.bundle import vec5
from kinema.convex.constraint.row import ANY_TREE, FRICTION_DOF, FRICTION_TENDON, put_scalars, solref_floor
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.math.lanes import lane_count, sync


@wp.func
def friction_rows(m: Model, d: Data, w: int, lane: int):
    """Append the rows of friction losses."""
    floor = solref_floor(m.opt, w)
    first = d.efc.nefc[w]
    r = first
    for v in range(m.size.nv):
        loss = m.dof.frictionloss[w, v]
        if loss > 0.0:
            if r < m.size.nefcmax:
                tree = m.dof.treeid[v]
                adr = m.tree.dofadr[tree]
                for i in range(adr + lane, adr + m.tree.dofnum[tree], lane_count()):
                    d.efc.J[w, r, i] = wp.where(i == v, 1.0, 0.0)
                if lane == 0:
                    d.efc.trees[w, r] = wp.vec2i(tree, -1)
                    residual = vec5(0.0, 0.0, loss, d.state.qvel[w, v], m.dof.invweight0[w, v])
                    put_scalars(d.efc, w, r, FRICTION_DOF, v, residual, m.dof.solref[w, v], m.dof.solimp[w, v], floor)
                r += 1
            elif lane == 0:
                d.efc.dropped[w] = d.efc.dropped[w] + 1
    for t in range(m.size.ntendon):
        loss = m.tendon.frictionloss[w, t]
        if loss > 0.0:
            if r < m.size.nefcmax:
                tendon_columns(d.efc.J, d.ten.J, m.tendon.ten_J_colind, w, lane, r, m.tendon.ten_J_rowadr[t],
                               m.tendon.ten_J_rownnz[t], 1.0)  # fmt: skip
                if lane == 0:
                    d.efc.trees[w, r] = tendon_trees(m.tendon.treenum[t], m.tendon.treeid[t])
                    residual = vec5(0.0, 0.0, loss, d.ten.velocity[w, t], m.tendon.invweight0[w, t])
                    put_scalars(d.efc, w, r, FRICTION_TENDON, t, residual, m.tendon.solref_fri[w, t],
                                m.tendon.solimp_fri[w, t], floor)  # fmt: skip
                r += 1
            elif lane == 0:
                d.efc.dropped[w] = d.efc.dropped[w] + 1
    sync()
    if lane == 0:
        d.efc.nf[w] = r - first
        d.efc.nefc[w] = r
    sync()


@wp.func
def tendon_trees(count: int, first_two: wp.vec2i) -> wp.vec2i:
    """The trees of a row that acts on a tendon."""
    if count == 1:
        return wp.vec2i(first_two[0], -1)
    if count == 2:
        return first_two
    return ANY_TREE


@wp.func
def tendon_columns(
    row: wp.array3d(dtype=float), jac: wp.array2d(dtype=float), colind: wp.array(dtype=int),
    w: int, lane: int, r: int, adr: int, nnz: int, scale: float,
):  # fmt: skip
    """Row r as the scaled Jacobian of a tendon, stored sparsely from adr on."""
    for i in range(lane, row.shape[2], lane_count()):
        row[w, r, i] = 0.0
    sync()
    for k in range(lane, nnz, lane_count()):
        row[w, r, colind[adr + k]] = scale * jac[w, adr + k]
    sync()
