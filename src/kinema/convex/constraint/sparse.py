"""Rows that list their columns: for models with flexes, where a row acts on few of very many dofs.

Row r has ncol[r] columns: dof col[r, k] with the entry J[r, k], each dof once, in the order they were met. What a row
is made of says which dofs it lists:

    joints, dofs      their own
    tendons, edges    those of their sparse Jacobians
    bodies, points    the dofs that move any of them, found by walking up from each body

A body that moves with several others, as one that vertices hang on, adds to the columns that are there already.
A lane takes a constraint, with all its rows; on CUDA the lanes of a world are spread over blocks.
"""

from functools import cache

import warp as wp

from kinema.collide.precision import mat43r, vec3r
from kinema.collide.simplex import nearest_weights
from kinema.convex.bundle import vec5
from kinema.convex.constraint.columns import ANY_TREE
from kinema.convex.constraint.contact import put_rows, surface_velocity
from kinema.convex.constraint.equality import anchors, axis_drift, coupled, moves_nothing, put_anchor, turn_column
from kinema.convex.constraint.row import inverse_inertia, put_scalars, row_time
from kinema.convex.data import Data, Rows
from kinema.convex.flex.interpolation import bearer, bearer_count, vertex_coordinates
from kinema.convex.flex.rod_chain import PAST
from kinema.convex.jacobian import last_dof, point_motion
from kinema.convex.kinematics import qpos_quat
from kinema.convex.model import Model
from kinema.convex.stage import named
from kinema.math.lanes import spread_count
from kinema.math.quaternion import conjugate, to_velocity
from kinema.math.spatial import angular, linear
from kinema.math.vector import normalize_with_length
from kinema.mujoco_enums import MINVAL, Cone, Constraint, Equality, Exclude, Geom, Joint

NEGLIGIBLE = wp.constant(1.0e-6)  # a share of a contact that its bearer does not feel

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


# ---------------------------------------------------------------------------------------------- contacts


@wp.func
def side_vertices(m: Model, d: Data, w: int, c: int, side: int) -> wp.vec4i:
    """The vertices, over all flexes, that one side of a contact is of; -1: none."""
    f = d.fcon.flex[w, c][side]
    none = wp.vec4i(-1, -1, -1, -1)
    if f < 0:
        return none
    v = d.fcon.vert[w, c][side]
    if v >= 0:
        return wp.vec4i(m.flex.span[f][0] + v, -1, -1, -1)
    return m.flex.elemvert[m.flex.span[f][2] + d.fcon.elem[w, c][side]]


@wp.func
def side_weights(m: Model, d: Data, w: int, c: int, corners: wp.vec4i) -> wp.vec4:
    """How much of a contact each of those vertices bears: the weights of the point of their element that is nearest.

    In doubles: which face of a tetrahedron is nearest hangs on squares of distances, and floats lose shares below 1e-4
    there. Such a share may be all that moves, beside a pinned vertex; a row weighs as much as it is small.
    """
    x = mat43r()
    n = int(0)
    for k in range(4):
        if corners[k] >= 0:
            x[k] = vec3r(d.flex.vert_xpos[w, corners[k]]) - vec3r(d.con.pos[w, c])
            n += 1
    return wp.vec4(nearest_weights(n, x))


@wp.func
def side_coordinates(m: Model, w: int, corners: wp.vec4i, share: wp.vec4) -> wp.vec3:
    """Where in the lattice of an interpolated flex a contact is."""
    x = wp.vec3()
    for k in range(4):
        if corners[k] >= 0:
            x += share[k] * vertex_coordinates(m, w, corners[k])
    return x


@wp.func
def bearers(m: Model, f: int) -> int:
    """How many bodies may bear one side of a contact: those of the corners, or of the nodes around it."""
    return wp.max(4, bearer_count(m, f))


@wp.func
def bearing(m: Model, f: int, corners: wp.vec4i, share: wp.vec4, x: wp.vec3, k: int):
    """One of those bodies, and its share; 0 where there is none."""
    body = int(0)
    part = float(0.0)
    if m.flex.span[f][4] != 0:
        node, part = bearer(m, f, x, k)
        body = m.flex.point[node][1]
    elif corners[k] >= 0:
        body = m.flex.point[corners[k]][1]
        part = share[k]
    return body, part


@wp.func
def is_corner(m: Model, f: int, corners: wp.vec4i, k: int) -> bool:
    """Is a bearer a vertex of the element itself, whatever its share?"""
    return m.flex.span[f][4] == 0 and k < 4 and corners[wp.min(k, 3)] >= 0


@wp.func
def moves(m: Model, w: int, body: int) -> bool:
    """Does any dof move a body?"""
    return last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, body) >= 0


@wp.func
def joined(part: int, other: int) -> int:
    """What moves as one, of what was found so far and another; -1: nothing was found, -2: several do."""
    return wp.where(part == -1 or part == other, other, -2)


@wp.func
def side_segment(m: Model, d: Data, w: int, c: int, side: int) -> int:
    """The segment of a rod that turns, of which one side of a contact is; -1: it is none."""
    f = d.fcon.flex[w, c][side]
    if f < 0 or m.size.nflexsegment == 0:
        return -1
    v = d.fcon.vert[w, c][side]
    if v >= 0:
        return -2 - m.flex.point[m.flex.span[f][0] + v][6]
    if m.flex.elemlist[m.flex.span[f][2] + d.fcon.elem[w, c][side]][2] >= 0:
        return -1
    return m.flex.elemlist[m.flex.span[f][2] + d.fcon.elem[w, c][side]][3]


@wp.func
def turning_segment(m: Model, d: Data, w: int, c: int, side: int) -> int:
    """The segment that bears one side of a contact with its turn; -1: none does, as where both ends are of one body."""
    e = side_segment(m, d, w, c, side)
    if e >= 0:
        segment = m.flex.rod[m.size.nflexrod + e]
        if m.flex.point[segment[0]][1] == m.flex.point[segment[1]][1]:
            return -1
    return e


@wp.func
def want_flex_contact(m: Model, d: Data, w: int, c: int):
    """How many rows a contact wants, and whom they move.

    An element wants them if any of its vertices may move, one that bears nothing too; nodes only if they bear. A vertex
    of a rod turns with its segment: it wants them if the other end may move, though it is pinned itself.
    """
    geoms = d.con.geom[w, c]
    bodies = wp.vec2i(-1, -1)
    movable = bool(False)
    part = int(-1)  # of what moves as one; -2: several do
    hard = d.con.exclude[w, c] == Exclude.NONE  # not a spring: passive_contact.py
    for side in range(2):
        if geoms[side] >= 0:
            bodies[side] = m.geom.bodyid[geoms[side]]
            movable = movable or moves(m, w, bodies[side])
            part = joined(part, m.body.weldid[bodies[side]])
        else:
            f = d.fcon.flex[w, c][side]
            corners = side_vertices(m, d, w, c, side)
            share = side_weights(m, d, w, c, corners)
            x = side_coordinates(m, w, corners, share)
            for k in range(bearers(m, f)):
                body, weight = bearing(m, f, corners, share, x, k)
                bears = wp.abs(weight) > NEGLIGIBLE
                if bears or (hard and is_corner(m, f, corners, k)):
                    movable = movable or moves(m, w, body)
                    part = joined(part, m.body.weldid[body])
            e = turning_segment(m, d, w, c, side)
            if hard and e >= 0:
                for end in range(2):
                    body = m.flex.point[m.flex.rod[m.size.nflexrod + e][end]][1]
                    movable = movable or moves(m, w, body)
                    part = joined(part, m.body.weldid[body])
    dim = d.con.dim[w, c]
    rows = dim
    if dim > 1 and m.opt.cone == Cone.PYRAMIDAL:
        rows = 2 * (dim - 1)
    if d.con.exclude[w, c] == Exclude.PASSIVE:  # passive_contact.py
        rows = 1
    elif d.con.exclude[w, c] != Exclude.NONE:
        rows = 0
    if part != -2 or not movable:
        rows = 0
    d.crow.want[w, c] = rows
    d.crow.trees[w, c] = ANY_TREE
    d.crow.bodies[w, c] = bodies


@wp.func
def add_body(m: Model, d: Data, w: int, c: int, r: int, body: int, weight: float) -> wp.spatial_vector:
    """The rows of a contact += those of its point as part of a body, weighted; returns the velocity it adds."""
    dim = d.con.dim[w, c]
    frame = d.con.frame[w, c]
    friction = d.con.friction[w, c]
    pyramid = dim > 1 and m.opt.cone == Cone.PYRAMIDAL
    count = wp.where(pyramid, 2 * (dim - 1), dim)
    offset = d.con.pos[w, c] - d.inertia.subtree_com[w, m.body.rootid[body]]
    vel = wp.spatial_vector()
    i = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, body)
    while i >= 0:
        cdof = d.inertia.cdof[w, i]
        axis = weight * wp.spatial_vector(frame * point_motion(cdof, offset), frame * angular(cdof))
        vel += axis * d.state.qvel[w, i]
        k = place_of(d.efc, w, r, count, i)
        if pyramid:
            for a in range(1, dim):
                edge = friction[a - 1] * axis[a]
                d.efc.J[w, r + 2 * a - 2, k] = d.efc.J[w, r + 2 * a - 2, k] + axis[0] + edge
                d.efc.J[w, r + 2 * a - 1, k] = d.efc.J[w, r + 2 * a - 1, k] + axis[0] - edge
        else:
            for a in range(dim):
                d.efc.J[w, r + a, k] = d.efc.J[w, r + a, k] + axis[a]
        i = m.dof.parentid[i]
    return vel


@wp.func
def put_motion(m: Model, d: Data, w: int, c: int, r: int, i: int, motion: wp.spatial_vector) -> wp.spatial_vector:
    """The rows of a contact += how dof i moves and turns its point, in the world; returns the velocity it adds."""
    dim = d.con.dim[w, c]
    frame = d.con.frame[w, c]
    pyramid = dim > 1 and m.opt.cone == Cone.PYRAMIDAL
    count = wp.where(pyramid, 2 * (dim - 1), dim)
    axis = wp.spatial_vector(frame * linear(motion), frame * angular(motion))
    k = place_of(d.efc, w, r, count, i)
    if pyramid:
        for a in range(1, dim):
            edge = d.con.friction[w, c][a - 1] * axis[a]
            d.efc.J[w, r + 2 * a - 2, k] = d.efc.J[w, r + 2 * a - 2, k] + axis[0] + edge
            d.efc.J[w, r + 2 * a - 1, k] = d.efc.J[w, r + 2 * a - 1, k] + axis[0] - edge
    else:
        for a in range(dim):
            d.efc.J[w, r + a, k] = d.efc.J[w, r + a, k] + axis[a]
    return axis * d.state.qvel[w, i]


@cache
def of_segment(put: wp.Function) -> wp.Function:
    """A function that puts how each dof moves the point of a contact on the surface of a segment, and returns the sum.

    With the place x = w0 x0 + w1 x1 on its axis and the arm a from there, the point moves with the section, which turns
    with the axis, and about it: t x dt/dt, and the angle θ of its hinge beyond the frame that is carried along.
    """

    def segment_motion(m: Model, d: Data, w: int, c: int, r: int, side: int, e: int):
        segment = m.flex.rod[m.size.nflexrod + e]
        sign = wp.where(side == 0, -1.0, 1.0)
        x0 = d.flex.vert_xpos[w, segment[0]]
        x1 = d.flex.vert_xpos[w, segment[1]]
        span = x1 - x0
        length = wp.length(span)
        t = span / wp.max(MINVAL, length)
        f = d.fcon.flex[w, c][side]
        v = d.fcon.vert[w, c][side]
        x = d.con.pos[w, c]
        share = wp.clamp(wp.dot(x - x0, t) / wp.max(MINVAL, length), 0.0, 1.0)
        if v >= 0:
            share = wp.where(m.flex.span[f][0] + v == segment[1], 1.0, 0.0)
            g = d.con.geom[w, c][1 - side]
            if g >= 0:
                if m.geom.type[g] == Geom.PLANE:
                    x += (0.5 * sign * d.con.dist[w, c]) * wp.vec3(
                        d.con.frame[w, c][0, 0], d.con.frame[w, c][0, 1], d.con.frame[w, c][0, 2]
                    )
        arm = x - (1.0 - share) * x0 - share * x1
        across = wp.cross(t, arm - wp.dot(arm, t) * t)
        past = d.flex.segment[w, e, PAST]
        before = wp.vec3(past[0], past[1], past[2])
        carried = wp.vec3()  # how the carried frame turns with where the ends are
        size = length * (1.0 + wp.dot(before, t))
        if past[3] > 1.0 and segment[2] >= 0 and size >= MINVAL:
            carried = wp.cross(before, t) / -size
        vel = wp.spatial_vector()
        for end in range(2):
            body = m.flex.point[segment[end]][1]
            weight = wp.where(end == 0, 1.0 - share, share)
            outward = wp.where(end == 0, -1.0, 1.0)
            place = wp.where(end == 0, x0, x1)
            offset = place - d.inertia.subtree_com[w, m.body.rootid[body]]
            i = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, body)
            while i >= 0 and length >= MINVAL:
                motion = point_motion(d.inertia.cdof[w, i], offset)
                turn = outward / length * wp.cross(t, motion) + (outward * wp.dot(carried, motion)) * t
                shift = outward / length * (wp.dot(arm, t) * motion - wp.dot(arm, motion) * t)
                shift += weight * motion + (outward * wp.dot(carried, motion)) * across
                vel += wp.static(put)(m, d, w, c, r, i, wp.spatial_vector(sign * turn, sign * shift))
                i = m.dof.parentid[i]
        if segment[2] >= 0:
            vel += wp.static(put)(m, d, w, c, r, segment[2], wp.spatial_vector(sign * t, sign * across))
        return vel

    return named(segment_motion, f"{put.key}_of_segment")


add_segment = of_segment(put_motion)
"""The rows of a contact += those of its point on the surface of a segment; returns the velocity it adds."""


@wp.func
def name_corners(m: Model, d: Data, w: int, c: int, r: int):
    """The rows of a contact that moves nothing, on a pinned vertex, list what could move: they are of its island."""
    for side in range(2):
        if d.crow.bodies[w, c][side] < 0:
            corners = side_vertices(m, d, w, c, side)
            for k in range(4):
                if is_corner(m, d.fcon.flex[w, c][side], corners, k):
                    add_body(m, d, w, c, r, m.flex.point[corners[k]][1], 0.0)


@wp.func
def sparse_contacts(m: Model, d: Data, w: int, lane: int, lanes: int):
    """The rows of contacts: a point of each side, as part of a body or as a mean of those that bear an element."""
    for c in range(lane, d.con.ncon[w], lanes):
        r = d.crow.address[w, c]
        if r >= 0 and d.con.exclude[w, c] == Exclude.NONE:
            dim = d.con.dim[w, c]
            rows = dim
            if dim > 1 and m.opt.cone == Cone.PYRAMIDAL:
                rows = 2 * (dim - 1)
            open_rows(d.efc, w, r, rows)
            vel = wp.spatial_vector()
            weight = float(0.0)
            for side in range(2):
                sign = 2.0 * float(side) - 1.0
                body = d.crow.bodies[w, c][side]
                if body >= 0:
                    vel += add_body(m, d, w, c, r, body, sign)
                    weight += m.body.invweight0[w, body][0]
                else:
                    f = d.fcon.flex[w, c][side]
                    corners = side_vertices(m, d, w, c, side)
                    share = side_weights(m, d, w, c, corners)
                    x = side_coordinates(m, w, corners, share)
                    e = turning_segment(m, d, w, c, side)
                    if e >= 0:
                        vel += add_segment(m, d, w, c, r, side, e)
                    for k in range(bearers(m, f)):
                        bearer, part = bearing(m, f, corners, share, x, k)
                        if part != 0.0:
                            if e < 0:
                                vel += add_body(m, d, w, c, r, bearer, sign * part)
                            weight += part * m.body.invweight0[w, bearer][0]
            if d.efc.ncol[w, r] == 0:
                name_corners(m, d, w, c, r)
            if m.size.flg_surfacevel != 0:
                for side in range(2):
                    g = d.con.geom[w, c][side]
                    if g >= 0:  # elements of flexes have no such velocity
                        vel += (2.0 * float(side) - 1.0) * surface_velocity(
                            m.geom.surfacevel, d.pose.geom_xpos, d.pose.geom_xmat, w, g, d.con.pos[w, c],
                            d.con.frame[w, c],
                        )  # fmt: skip
            d.crow.vel[w, c] = vel
            weight = inverse_inertia(m.opt, weight)
            put_rows(
                d.con, d.crow, d.efc, w, r, c, m.opt.cone, m.opt.impratio[w], row_time(m.opt, w), weight, vel
            )
