"""Rows that list their columns: for models with flexes, where a row acts on few of very many dofs.

Row r has ncol[r] columns: dof col[r, k] with the entry J[r, k], each dof once, in the order they were met. What a row
is made of says which dofs it lists:

    joints, dofs      their own
    tendons, edges    those of their sparse Jacobians
    bodies, points    the dofs that move any of them, found by walking up from each body
    contacts          those that move what bears them: flex_contact.py

A body that moves with several others, as one that vertices hang on, adds to the columns that are there already.
A lane takes a constraint, with all its rows; on CUDA the lanes of a world are spread over blocks.
"""

from functools import cache

import warp as wp

from kinema.convex.bundle import vec5
from kinema.convex.constraint.columns import ANY_TREE
from kinema.convex.constraint.equality import anchors, axis_drift, coupled, moves_nothing, put_anchor, turn_column
from kinema.convex.constraint.row import inverse_inertia, put_scalars, row_time
from kinema.convex.data import Data, Rows
from kinema.convex.jacobian import last_dof, point_motion
from kinema.convex.kinematics import qpos_quat
from kinema.convex.model import Model
from kinema.convex.stage import named
from kinema.math.lanes import spread_count
from kinema.math.quaternion import conjugate, to_velocity
from kinema.math.spatial import angular
from kinema.math.vector import normalize_with_length
from kinema.mujoco_enums import Constraint, Equality, Joint

# ---------------------------------------------------------------------------------------------- lanes


@cache
def shared_by(fill: wp.Function, lanes: int) -> wp.Function:
    """A function that fills rows, as a stage: on CUDA by so many lanes a world, on the CPU by one."""

    def rows(m: Model, d: Data, w: int, lane: int):
        wp.static(fill)(m, d, w, lane, spread_count(wp.static(lanes)))

    return named(rows, f"{fill.key}_by_{lanes}")


# ---------------------------------------------------------------------------------------------- columns


@wp.func
def open_rows(efc: Rows, w: int, r: int, count: int):
    """Rows that have no columns yet."""
    for k in range(count):
        efc.ncol[w, r + k] = 0
        efc.trees[w, r + k] = ANY_TREE


@wp.func
def place_of(efc: Rows, w: int, r: int, count: int, i: int) -> int:
    """Where the rows r to r + count - 1, which share their columns, have dof i; a column of zeros if they had not."""
    n = efc.ncol[w, r]
    for k in range(n):
        if efc.col[w, r, k] == i:
            return k
    for k in range(count):
        efc.ncol[w, r + k] = n + 1
        efc.col[w, r + k, n] = i
        efc.J[w, r + k, n] = 0.0
    return n


@wp.func
def add_entry(efc: Rows, w: int, r: int, i: int, value: float):
    """J[r, dof i] += value."""
    k = place_of(efc, w, r, 1, i)
    efc.J[w, r, k] = efc.J[w, r, k] + value


@wp.func
def add_sparse(
    efc: Rows, w: int, r: int, jac: wp.array2d(dtype=float), colind: wp.array(dtype=int), adr: int, nnz: int,
    scale: float,
):  # fmt: skip
    """Row r += a row of a sparse matrix, scaled."""
    for a in range(adr, adr + nnz):
        add_entry(efc, w, r, colind[a], scale * jac[w, a])


# ---------------------------------------------------------------------------------------------- equalities


@wp.func
def want_equality_rows(m: Model, d: Data, w: int, e: int):
    """The rows of one equality, if it is active and there is something to move."""
    count = int(0)
    if d.state.eq_active[w, e] != 0 and not moves_nothing(m, e):
        count = m.eq.rows[e][0]
    d.efc.want[w, e] = count


@wp.func
def sparse_equalities(m: Model, d: Data, w: int, lane: int, lanes: int):
    """The rows of equalities."""
    for e in range(lane, m.size.neq, lanes):
        r = d.efc.start[w, e]
        kind = m.eq.type[e]
        if r >= 0:
            if kind == Equality.CONNECT or kind == Equality.WELD:
                anchor(m, d, w, e, r)
            elif kind == Equality.JOINT or kind == Equality.TENDON:
                coupling(m, d, w, e, r)


@wp.func
def sparse_edges(m: Model, d: Data, w: int, lane: int, lanes: int):
    """The rows that keep the lengths of edges: r = l - l_0."""
    for e in range(m.size.neq):
        r = d.efc.start[w, e]
        if r >= 0 and m.eq.type[e] == Equality.FLEX:
            first = m.eq.rows[e][1]
            time = row_time(m.opt, w)
            solref, solimp = m.eq.solref[w, e], m.eq.solimp[w, e]
            for k in range(lane, m.eq.rows[e][0], lanes):
                edge = m.eq.rows[first + k][0]
                number = m.flex.edgenumber[w, edge]
                row = wp.vec2i(m.flex.edgelist[edge][2], m.flex.edgelist[edge][3])
                for a in range(row[1]):  # each dof once: nothing need be looked for
                    d.efc.col[w, r + k, a] = m.flex.flexedge_J_colind[row[0] + a]
                    d.efc.J[w, r + k, a] = d.flex.edge_J[w, row[0] + a]
                d.efc.ncol[w, r + k] = row[1]
                d.efc.trees[w, r + k] = ANY_TREE
                weight = inverse_inertia(m.opt, number[1])
                residual = vec5(
                    d.flex.edge_length[w, edge] - number[0], 0.0, 0.0, d.flex.edge_velocity[w, edge], weight
                )
                put_scalars(d.efc, w, r + k, Constraint.EQUALITY, e, residual, solref, solimp, time)


@wp.func
def sparse_strain(m: Model, d: Data, w: int, lane: int, lanes: int):
    """The rows that keep the strain of cells: r = e . u for each mode e, with the displacements u of corotation.py.

    J = sum over nodes of (R e_n)' J_n: how the cell turns is left out, for modes do not see it.
    """
    for e in range(m.size.neq):
        first = d.efc.start[w, e]
        if first >= 0 and m.eq.type[e] == Equality.FLEXSTRAIN:
            c = m.eq.rows[e][1]
            cell = m.flex.cell[c]
            turn = d.flex.cell_turn[w, c]
            base = m.flex.point[m.flex.cell[m.size.nflexcell + cell[2]][1]][5]
            if base >= 0:
                turn = d.pose.xmat[w, base] * turn
            for k in range(lane, m.eq.rows[e][0], lanes):
                r = first + k
                mode = -2 - cell[1] + 3 * cell[3] * k
                open_rows(d.efc, w, r, 1)
                pos = float(0.0)
                weight = float(0.0)
                for n in range(cell[3]):
                    at = mode + 3 * n
                    part = wp.vec3(m.flex.elastic[w, at], m.flex.elastic[w, at + 1], m.flex.elastic[w, at + 2])
                    shape = d.flex.cell_shape[w, cell[2] + n]
                    pos += wp.dot(part, wp.vec3(shape[0], shape[1], shape[2]))
                    support = m.flex.point[m.flex.cell[m.size.nflexcell + cell[2] + n][1]][3]
                    body = m.flex.supportbody[support]
                    weight += m.body.invweight0[w, body][0]
                    place = m.flex.supportplace[w, support]
                    x = d.pose.xpos[w, body] + d.pose.xmat[w, body] * wp.vec3(place[0], place[1], place[2])
                    add_point(m, d, w, r, body, x, turn * part)
                vel = float(0.0)
                for a in range(d.efc.ncol[w, r]):
                    vel += d.efc.J[w, r, a] * d.state.qvel[w, d.efc.col[w, r, a]]
                residual = vec5(pos, 0.0, 0.0, vel, inverse_inertia(m.opt, weight / float(cell[3])))
                solref, solimp = m.eq.solref[w, e], m.eq.solimp[w, e]
                put_scalars(d.efc, w, r, Constraint.EQUALITY, e, residual, solref, solimp, row_time(m.opt, w))


@wp.func
def add_point(m: Model, d: Data, w: int, r: int, body: int, x: wp.vec3, along: wp.vec3):
    """Row r += how fast a point x of a body moves along a vector."""
    offset = x - d.inertia.subtree_com[w, m.body.rootid[body]]
    i = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, body)
    while i >= 0:
        add_entry(d.efc, w, r, i, wp.dot(along, point_motion(d.inertia.cdof[w, i], offset)))
        i = m.dof.parentid[i]


@wp.func
def coupling(m: Model, d: Data, w: int, e: int, r: int):
    """The row that ties two joints, or two tendons."""
    what, slope = coupled(m, d, w, e)
    one = m.eq.obj1id[e]
    two = m.eq.obj2id[e]
    open_rows(d.efc, w, r, 1)
    if m.eq.type[e] == Equality.TENDON:
        colind = m.tendon.ten_J_colind
        add_sparse(d.efc, w, r, d.ten.J, colind, m.tendon.ten_J_rowadr[one], m.tendon.ten_J_rownnz[one], 1.0)
        if two >= 0:
            add_sparse(d.efc, w, r, d.ten.J, colind, m.tendon.ten_J_rowadr[two], m.tendon.ten_J_rownnz[two], -slope)
    else:
        add_entry(d.efc, w, r, m.jnt.dofadr[one], 1.0)
        if two >= 0:
            add_entry(d.efc, w, r, m.jnt.dofadr[two], -slope)
    put_scalars(
        d.efc, w, r, Constraint.EQUALITY, e, what, m.eq.solref[w, e], m.eq.solimp[w, e], row_time(m.opt, w)
    )  # fmt: skip


@wp.func
def anchor(m: Model, d: Data, w: int, e: int, r: int):
    """The rows of a connect or a weld; the maths is in equality.py."""
    b1, b2, x1, x2, q1, q2 = anchors(m, d, w, e)
    size = m.eq.rows[e][0]
    negq2 = conjugate(q2)
    scale = m.eq.data[w, e][10]
    open_rows(d.efc, w, r, size)
    vel = wp.spatial_vector()
    acc = wp.spatial_vector()
    for side in range(2):
        b = wp.where(side == 0, b1, b2)
        sign = 1.0 - 2.0 * float(side)
        offset = wp.where(side == 0, x1, x2) - d.inertia.subtree_com[w, m.body.rootid[b]]
        moving = point_motion(d.vel.cvel[w, b], offset)  # velocity of the anchor
        i = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, b)
        while i >= 0:
            cdof = d.inertia.cdof[w, i]
            lin = sign * point_motion(cdof, offset)
            rot = turn_column(negq2, sign * angular(cdof), q1, scale)
            k = place_of(d.efc, w, r, size, i)
            for a in range(3):
                d.efc.J[w, r + a, k] = d.efc.J[w, r + a, k] + lin[a]
                if size == 6:
                    d.efc.J[w, r + 3 + a, k] = d.efc.J[w, r + 3 + a, k] + rot[a]
            qvel = d.state.qvel[w, i]
            vel += wp.spatial_vector(lin, rot) * qvel
            dot = axis_drift(m, d, w, i, cdof)
            drift_lin = point_motion(dot, offset) + wp.cross(angular(cdof), moving)
            acc += wp.spatial_vector(sign * drift_lin, sign * angular(dot)) * qvel
            i = m.dof.parentid[i]
    put_anchor(m, d, w, e, r, wp.vec2i(b1, b2), x1 - x2, negq2, q1, vel, acc)


# ---------------------------------------------------------------------------------------------- friction and limits


@wp.func
def sparse_friction(m: Model, d: Data, w: int, lane: int, lanes: int):
    """Columns of friction losses."""
    first = d.efc.ne[w]
    for r in range(first + lane, first + d.efc.nf[w], lanes):
        ident = d.efc.id[w, r]
        open_rows(d.efc, w, r, 1)
        if d.efc.type[w, r] == Constraint.FRICTION_DOF:
            add_entry(d.efc, w, r, ident, 1.0)
        else:
            adr, nnz = m.tendon.ten_J_rowadr[ident], m.tendon.ten_J_rownnz[ident]
            add_sparse(d.efc, w, r, d.ten.J, m.tendon.ten_J_colind, adr, nnz, 1.0)


@wp.func
def sparse_limits(m: Model, d: Data, w: int, lane: int, lanes: int):
    """The rows of limits."""
    first = d.efc.ne[w] + d.efc.nf[w]
    time = row_time(m.opt, w)
    for r in range(first + lane, first + d.efc.nl[w], lanes):
        ident = d.efc.id[w, r]
        side = d.efc.margin[w, r]
        dist = d.efc.pos[w, r]
        open_rows(d.efc, w, r, 1)
        if d.efc.type[w, r] == Constraint.LIMIT_JOINT:
            v = m.jnt.dofadr[ident]
            vel = -side * d.state.qvel[w, v]
            if m.jnt.type[ident] == Joint.BALL:
                axis, angle = normalize_with_length(to_velocity(qpos_quat(d.state.qpos, w, m.jnt.qposadr[ident]), 1.0))
                vel = float(0.0)
                for a in range(3):
                    add_entry(d.efc, w, r, v + a, -axis[a])
                    vel -= axis[a] * d.state.qvel[w, v + a]
            else:
                add_entry(d.efc, w, r, v, -side)
            residual = vec5(dist, m.jnt.margin[w, ident], 0.0, vel, inverse_inertia(m.opt, m.dof.invweight0[w, v]))
            solref, solimp = m.jnt.solref[w, ident], m.jnt.solimp[w, ident]
            put_scalars(d.efc, w, r, Constraint.LIMIT_JOINT, ident, residual, solref, solimp, time)
        else:
            adr, nnz = m.tendon.ten_J_rowadr[ident], m.tendon.ten_J_rownnz[ident]
            add_sparse(d.efc, w, r, d.ten.J, m.tendon.ten_J_colind, adr, nnz, -side)
            vel = -side * d.ten.velocity[w, ident]
            weight = inverse_inertia(m.opt, m.tendon.invweight0[w, ident])
            residual = vec5(dist, m.tendon.margin[w, ident], 0.0, vel, weight)
            solref, solimp = m.tendon.solref_lim[w, ident], m.tendon.solimp_lim[w, ident]
            put_scalars(d.efc, w, r, Constraint.LIMIT_TENDON, ident, residual, solref, solimp, time)
