"""Contact rows: one for a frictionless contact, the edges of a pyramid, or the axes of an elliptic cone.

    J_k = n_k . (J_point2 - J_point1)     k: normal, two tangents; then, from the rotations, spin and two rolls
    pyramid edge:  J_0 +- mu_k J_k        2 (condim - 1) rows
    elliptic:      J_0, J_1, ...          condim rows
"""

from functools import cache

import warp as wp

from kinema.convex.bundle import vec5
from kinema.convex.constraint.columns import clear_rows, column, column_count, next_moved
from kinema.convex.constraint.contact_columns import put_columns
from kinema.convex.constraint.row import holds, inverse_inertia, point_column, row_time, tree_pair
from kinema.convex.data import ContactRows, Contacts, Data, Rows
from kinema.convex.model import Model
from kinema.convex.stage import named
from kinema.math.impedance import (
    damping,
    impedance,
    implicit_factor,
    implicit_regularization,
    resolvable,
    safe_friction_solref,
    safe_solimp,
    safe_solref,
    stiffness,
)
from kinema.math.lanes import has_vectors, lane_count, lane_get, lane_sum
from kinema.math.spatial import angular
from kinema.mujoco_enums import MINVAL, Cone, Constraint, Exclude


@wp.func
def want_contact(m: Model, d: Data, w: int, c: int):
    """How many rows a contact wants, and whom they move."""
    geoms = d.con.geom[w, c]
    b1 = m.geom.bodyid[geoms[0]]
    b2 = m.geom.bodyid[geoms[1]]
    dim = d.con.dim[w, c]
    rows = dim
    if dim > 1 and m.opt.cone == Cone.PYRAMIDAL:
        rows = 2 * (dim - 1)
    trees = tree_pair(m.body.treeid[b1], m.body.treeid[b2])
    if d.con.exclude[w, c] != Exclude.NONE or m.body.weldid[b1] == m.body.weldid[b2] or trees[0] < 0:
        rows = 0  # in the gap only, or nothing moves
    d.crow.want[w, c] = rows
    d.crow.trees[w, c] = trees
    d.crow.bodies[w, c] = wp.vec2i(b1, b2)


@wp.func
def contact_columns(m: Model, d: Data, w: int, lane: int):
    """J of all contacts: each lane writes its columns, and all add up the velocities of the contacts."""
    for c in range(d.con.ncon[w]):
        r = d.crow.address[w, c]
        if r >= 0:
            dim = d.con.dim[w, c]
            bodies = d.crow.bodies[w, c]
            trees = d.crow.trees[w, c]
            pos = d.con.pos[w, c]
            frame = d.con.frame[w, c]
            friction = d.con.friction[w, c]
            vel = wp.spatial_vector()
            if has_vectors():
                vel = put_columns(
                    d.efc.J, d.inertia.cdof, d.inertia.subtree_com, d.state.qvel, m.body.rootid, m.tree.dofadr,
                    m.tree.dofnum, m.dof.bodyid, m.dof.bodyend, w, r, d.crow.want[w, c], dim, m.opt.cone, bodies, trees,
                    pos, frame, friction,
                )  # fmt: skip
            else:
                clear_rows(d.efc.J, w, r, d.crow.want[w, c], trees, m.tree.dofadr, m.tree.dofnum)
                count = column_count(trees, m.tree.dofnum, m.size.nv)
                q = next_moved(trees, m.tree.dofadr, m.tree.dofnum, m.dof.bodyid, m.dof.bodyend, bodies[0], bodies[1],
                               lane, count)  # fmt: skip
                while q < count:
                    i = column(trees, m.tree.dofadr, m.tree.dofnum, q)
                    body = m.dof.bodyid[i]
                    end = m.dof.bodyend[i]
                    sign = holds(bodies[1], body, end) - holds(bodies[0], body, end)
                    axis = wp.spatial_vector()
                    if sign != 0.0:
                        cdof = d.inertia.cdof[w, i]
                        point = point_column(cdof, pos - d.inertia.subtree_com[w, m.body.rootid[body]])
                        axis = wp.spatial_vector(sign * (frame * point), sign * (frame * angular(cdof)))
                        vel += axis * d.state.qvel[w, i]
                    if dim == 1:
                        d.efc.J[w, r, i] = axis[0]
                    elif m.opt.cone == Cone.PYRAMIDAL:
                        for k in range(1, dim):
                            edge = friction[k - 1] * axis[k]
                            d.efc.J[w, r + 2 * k - 2, i] = axis[0] + edge
                            d.efc.J[w, r + 2 * k - 1, i] = axis[0] - edge
                    else:
                        for k in range(dim):
                            d.efc.J[w, r + k, i] = axis[k]
                    q = next_moved(trees, m.tree.dofadr, m.tree.dofnum, m.dof.bodyid, m.dof.bodyend, bodies[0],
                                   bodies[1], q + lane_count(), count)  # fmt: skip
            for k in range(dim):
                vel[k] = lane_sum(vel[k])
            if lane == 0:
                d.crow.vel[w, c] = vel


@wp.func
def lane_axis(cdof: wp.spatial_vector, com: wp.vec3, sign: float, pos: wp.vec3, frame: wp.mat33) -> wp.spatial_vector:
    """Velocity in the contact frame, for unit velocity of one dof."""
    return wp.spatial_vector(sign * (frame * point_column(cdof, pos - com)), sign * (frame * angular(cdof)))


@wp.func
def put_entries(
    J: wp.array3d(dtype=float), w: int, r: int, i: int, a: int, axis: wp.spatial_vector, edge: float, pyramid: bool
):  # fmt: skip
    """Column i of the rows that axis a of a contact has."""
    if not pyramid:
        J[w, r + a, i] = axis[a]
    elif a > 0:
        J[w, r + 2 * a - 2, i] = axis[0] + edge
        J[w, r + 2 * a - 1, i] = axis[0] - edge


@cache
def contact_columns_in_lanes(each: int) -> wp.Function:
    """The same for at most so many dofs a lane: one or two.

    A lane reads what belongs to its dofs once, and one of the contacts: all reads are under way at the same time, and
    lanes then tell each other what they have read.
    """

    def columns(m: Model, d: Data, w: int, lane: int):
        nv = m.size.nv
        i = wp.min(lane, nv - 1)
        own = lane < nv
        body = m.dof.bodyid[i]
        end = m.dof.bodyend[i]
        cdof = d.inertia.cdof[w, i]
        com = d.inertia.subtree_com[w, m.body.rootid[body]]
        qvel = float(0.0)
        if own:
            qvel = d.state.qvel[w, i]
        if wp.static(each > 1):
            j = wp.min(lane + lane_count(), nv - 1)
            own_next = lane + lane_count() < nv
            body_next = m.dof.bodyid[j]
            end_next = m.dof.bodyend[j]
            cdof_next = d.inertia.cdof[w, j]
            com_next = d.inertia.subtree_com[w, m.body.rootid[body_next]]
            qvel_next = float(0.0)
            if own_next:
                qvel_next = d.state.qvel[w, j]
        ncon = d.con.ncon[w]
        for first in range(0, ncon, lane_count()):
            mine = wp.min(first + lane, ncon - 1)
            my_row = d.crow.address[w, mine]
            my_dim = d.con.dim[w, mine]
            my_bodies = d.crow.bodies[w, mine]
            my_pos = d.con.pos[w, mine]
            my_frame = d.con.frame[w, mine]
            my_friction = d.con.friction[w, mine]
            for k in range(wp.min(lane_count(), ncon - first)):
                r = lane_get(my_row, k)
                if r >= 0:
                    dim = lane_get(my_dim, k)
                    pyramid = dim > 1 and m.opt.cone == Cone.PYRAMIDAL
                    one, two = lane_get(my_bodies[0], k), lane_get(my_bodies[1], k)
                    pos = wp.vec3(lane_get(my_pos[0], k), lane_get(my_pos[1], k), lane_get(my_pos[2], k))
                    frame = wp.mat33(
                        lane_get(my_frame[0, 0], k), lane_get(my_frame[0, 1], k), lane_get(my_frame[0, 2], k),
                        lane_get(my_frame[1, 0], k), lane_get(my_frame[1, 1], k), lane_get(my_frame[1, 2], k),
                        lane_get(my_frame[2, 0], k), lane_get(my_frame[2, 1], k), lane_get(my_frame[2, 2], k),
                    )  # fmt: skip
                    axis = lane_axis(cdof, com, holds(two, body, end) - holds(one, body, end), pos, frame)
                    vel = axis * qvel
                    if wp.static(each > 1):
                        sign = holds(two, body_next, end_next) - holds(one, body_next, end_next)
                        axis_next = lane_axis(cdof_next, com_next, sign, pos, frame)
                        vel += axis_next * qvel_next
                    for a in range(wp.static(6)):
                        mu = float(0.0)
                        if wp.static(a > 0):
                            mu = lane_get(my_friction[wp.static(max(a - 1, 0))], k)
                        if a < dim:
                            if own:
                                put_entries(d.efc.J, w, r, i, a, axis, mu * axis[a], pyramid)
                            if wp.static(each > 1):
                                if own_next:
                                    put_entries(d.efc.J, w, r, j, a, axis_next, mu * axis_next[a], pyramid)
                            vel[a] = lane_sum(vel[a])
                    if lane == 0:
                        d.crow.vel[w, first + k] = vel

    return named(columns, f"by_{each}__contact_columns")


@wp.func
def contact_scalars(m: Model, d: Data, w: int, lane: int):
    """Residual, regularization and reference acceleration of the rows of contacts, shared out among lanes."""
    for c in range(lane, d.con.ncon[w], lane_count()):
        r = d.crow.address[w, c]
        if r >= 0:
            bodies = d.crow.bodies[w, c]
            vel = d.crow.vel[w, c]
            if m.size.flg_surfacevel != 0:
                for side in range(2):
                    vel += (2.0 * float(side) - 1.0) * surface_velocity(
                        m.geom.surfacevel, d.pose.geom_xpos, d.pose.geom_xmat, w, d.con.geom[w, c][side],
                        d.con.pos[w, c], d.con.frame[w, c],
                    )  # fmt: skip
            sum = m.body.invweight0[w, bodies[0]][0] + m.body.invweight0[w, bodies[1]][0]
            weight = inverse_inertia(m.opt, sum)
            impratio, time = m.opt.impratio[w], row_time(m.opt, w)
            put_rows(d.con, d.crow, d.efc, w, r, c, m.opt.cone, impratio, time, weight, vel)


@wp.func
def surface_velocity(
    surfacevel: wp.array2d(dtype=wp.spatial_vector), xpos: wp.array2d(dtype=wp.vec3), xmat: wp.array2d(dtype=wp.mat33),
    w: int, g: int, pos: wp.vec3, frame: wp.mat33,
) -> wp.spatial_vector:  # fmt: skip
    """How the surface of a geom moves at a contact: in the tangent plane and about the normal only."""
    local = surfacevel[w, g]
    rot = xmat[w, g]
    turn = rot * wp.vec3(local[3], local[4], local[5])
    along = frame * (rot * wp.vec3(local[0], local[1], local[2]) + wp.cross(turn, pos - xpos[w, g]))
    return wp.spatial_vector(0.0, along[1], along[2], (frame * turn)[0], 0.0, 0.0)


@wp.func
def put_rows(
    con: Contacts, crow: ContactRows, efc: Rows, w: int, r: int, c: int, cone: int, impratio: float, time: wp.vec3,
    weight: float, vel: wp.spatial_vector,
):  # fmt: skip
    """Store the scalars of the rows of one contact.

    Args:
        time: what `row_time` says.
        weight: approximate inverse inertia of translation.
        vel: velocity in the contact frame: normal, tangents, spin, rolls.
    """
    dim = con.dim[w, c]
    trees = crow.trees[w, c]
    friction = con.friction[w, c]
    margin = con.includemargin[w, c]
    dist = con.dist[w, c]
    adhesion = con.adhesion[w, c]
    solimp = safe_solimp(con.solimp[w, c])
    ref = safe_solref(con.solref[w, c], time[0])
    imp = impedance(solimp, dist - margin)
    k = stiffness(ref, solimp[1])
    b = damping(ref, solimp[1])
    h = time[1]
    if time[2] > 0.0 and ref[0] > 0.0:
        softened = resolvable(k, b, imp, h)
        k = softened[0]
        b = softened[1]
    factor = implicit_factor(k, b, imp, h)
    b = (b + h * k * imp) / factor
    push = -k * imp * (dist - margin) / factor
    ratio = wp.max(MINVAL, impratio)
    mu = friction[0] / wp.sqrt(ratio)
    crow.mu[w, c] = mu
    if dim == 1:
        what = vec5(dist, margin, vel[0], -b * vel[0] + push, adhesion)
        reg = implicit_regularization(imp, weight, factor)
        put_contact(efc, w, r, Constraint.CONTACT_FRICTIONLESS, c, trees, what, reg)
    elif cone == Cone.PYRAMIDAL:
        # all edges share the R that matches the friction of the elliptic cone
        diag = weight * (1.0 + friction[0] * friction[0])
        reg = 2.0 * mu * mu * implicit_regularization(imp, diag, factor)
        share = adhesion / float(2 * (dim - 1))
        for e in range(2 * (dim - 1)):
            axis = e / 2 + 1
            along = friction[axis - 1] * vel[axis]
            v = vel[0] + wp.where(e % 2 == 0, along, -along)
            residual = vec5(dist, margin, v, -b * v + push, share)
            put_contact(efc, w, r + e, Constraint.CONTACT_PYRAMIDAL, c, trees, residual, reg)
    else:
        normal = implicit_regularization(imp, weight, factor)
        what = vec5(dist, margin, vel[0], -b * vel[0] + push, adhesion)
        put_contact(efc, w, r, Constraint.CONTACT_ELLIPTIC, c, trees, what, normal)
        slide = damping(safe_friction_solref(con.solreffriction[w, c], ref, time[0]), solimp[1])
        slide = slide / implicit_factor(0.0, slide, imp, h)
        for a in range(1, dim):
            scale = friction[0] / friction[a - 1]
            what = vec5(0.0, 0.0, vel[a], -slide * vel[a], 0.0)
            put_contact(efc, w, r + a, Constraint.CONTACT_ELLIPTIC, c, trees, what, normal / ratio * scale * scale)


@wp.func
def put_contact(efc: Rows, w: int, r: int, kind: int, c: int, trees: wp.vec2i, what: vec5, reg: float):
    """Store one contact row; what: position, margin, velocity, reference acceleration, adhesion."""
    efc.type[w, r] = kind
    efc.id[w, r] = c
    efc.trees[w, r] = trees
    efc.pos[w, r] = what[0]
    efc.margin[w, r] = what[1]
    efc.frictionloss[w, r] = 0.0
    efc.vel[w, r] = what[2]
    efc.R[w, r] = reg
    efc.D[w, r] = 1.0 / reg
    efc.aref[w, r] = what[3] + reg * what[4]
