"""Equality rows: connect, weld, and couplings of joints and of tendons.

    connect   r = x_1 - x_2                                     3 rows
    weld      r = (x_1 - x_2, s Im(q_2* q_1 q_rel))             6 rows, s: torque scale
    joint     r = y_1 - y_1^0 - poly(y_2 - y_2^0)               1 row, y: joint position or tendon length

The rows of a connect or weld share one impedance, taken at the length of their residual. Their reference acceleration
is corrected by the velocity product Jdot v, so that a rotating anchor does not pull the constraint apart.
"""

import warp as wp

from kinema.convex.bundle import vec5
from kinema.convex.constraint.columns import (
    ANY_TREE,
    add_sparse,
    clear_rows,
    column,
    column_count,
    next_moved,
    put_few,
    put_sparse,
)
from kinema.convex.constraint.row import (
    holds,
    inverse_inertia,
    point_column,
    put_reference,
    put_scalars,
    row_time,
    tree_pair,
)
from kinema.convex.data import Data
from kinema.convex.jacobian import last_dof
from kinema.convex.model import Model
from kinema.math.impedance import impedance, safe_solimp, safe_solref
from kinema.math.lanes import lane_count, lane_sum
from kinema.math.quaternion import conjugate, mul_quat, mul_quat_axis, rotate
from kinema.math.spatial import angular, cross_motion, linear
from kinema.mujoco_enums import Constraint, Equality, Joint, Obj


@wp.func
def row_count(kind: int) -> int:
    """Rows of one equality of a kind."""
    if kind == Equality.CONNECT:
        return 3
    if kind == Equality.WELD:
        return 6
    return 1


@wp.func
def tied_bodies(m: Model, e: int) -> wp.vec2i:
    """The bodies of a connect or a weld."""
    one = m.eq.obj1id[e]
    two = m.eq.obj2id[e]
    if m.eq.objtype[e] == Obj.BODY:
        return wp.vec2i(one, two)
    return wp.vec2i(m.site.bodyid[one], m.site.bodyid[two])


@wp.func
def moves_nothing(m: Model, e: int) -> bool:
    """Has an equality a Jacobian of zeros, since no dof moves what it ties? Such rows are left out."""
    kind = m.eq.type[e]
    two = m.eq.obj2id[e]
    if kind == Equality.CONNECT or kind == Equality.WELD:
        bodies = tied_bodies(m, e)
        one_dof = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, bodies[0])
        return one_dof < 0 and last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, bodies[1]) < 0
    if kind == Equality.TENDON:
        count = m.tendon.ten_J_rownnz[m.eq.obj1id[e]]
        if two >= 0:
            count += m.tendon.ten_J_rownnz[two]
        return count == 0
    return False


@wp.func
def want_equality(m: Model, d: Data, w: int, e: int):
    """The rows of one equality, if it is active and there is something to move."""
    count = int(0)
    if d.state.eq_active[w, e] != 0 and not moves_nothing(m, e):
        count = row_count(m.eq.type[e])
    d.efc.want[w, e] = count


@wp.func
def coupled(m: Model, d: Data, w: int, e: int):
    """What ties two joints, or two tendons, by a quartic polynomial: its row's numbers, and the slope dy/dx."""
    poly = m.eq.data[w, e]
    one = m.eq.obj1id[e]
    two = m.eq.obj2id[e]
    y = float(0.0)
    x = float(0.0)
    vel = float(0.0)
    vel2 = float(0.0)
    weight = float(0.0)
    if m.eq.type[e] == Equality.TENDON:
        y = d.ten.length[w, one] - m.tendon.length0[w, one]
        vel = d.ten.velocity[w, one]
        weight = m.tendon.invweight0[w, one]
        if two >= 0:
            x = d.ten.length[w, two] - m.tendon.length0[w, two]
            vel2 = d.ten.velocity[w, two]
            weight += m.tendon.invweight0[w, two]
    else:
        a1 = m.jnt.qposadr[one]
        v1 = m.jnt.dofadr[one]
        y = d.state.qpos[w, a1] - m.jnt.qpos0[w, a1]
        vel = d.state.qvel[w, v1]
        weight = m.dof.invweight0[w, v1]
        if two >= 0:
            a2 = m.jnt.qposadr[two]
            v2 = m.jnt.dofadr[two]
            x = d.state.qpos[w, a2] - m.jnt.qpos0[w, a2]
            vel2 = d.state.qvel[w, v2]
            weight += m.dof.invweight0[w, v2]
    slope = float(0.0)
    residual = y - poly[0]
    if two >= 0:
        residual -= x * (poly[1] + x * (poly[2] + x * (poly[3] + x * poly[4])))
        slope = poly[1] + x * (2.0 * poly[2] + x * (3.0 * poly[3] + x * 4.0 * poly[4]))
    return vec5(residual, 0.0, 0.0, vel - slope * vel2, inverse_inertia(m.opt, weight)), slope


@wp.func
def coupling_rows(m: Model, d: Data, w: int, lane: int):
    """The rows that tie two joints, or two tendons."""
    for e in range(m.size.neq):
        size = row_count(m.eq.type[e])
        r = d.efc.start[w, e]
        if r >= 0 and size == 1:
            what, slope = coupled(m, d, w, e)
            one = m.eq.obj1id[e]
            two = m.eq.obj2id[e]
            tendon = m.eq.type[e] == Equality.TENDON
            v1 = int(-1)
            v2 = int(-1)
            trees = ANY_TREE
            if not tendon:
                v1 = m.jnt.dofadr[one]
                trees = wp.vec2i(m.dof.treeid[v1], -1)
                if two >= 0:
                    v2 = m.jnt.dofadr[two]
                    trees = tree_pair(m.dof.treeid[v1], m.dof.treeid[v2])
            if tendon:
                put_sparse(d.efc.J, d.ten.J, m.tendon.ten_J_colind, w, lane, r, m.tendon.ten_J_rowadr[one],
                           m.tendon.ten_J_rownnz[one], 1.0)  # fmt: skip
                if two >= 0:
                    add_sparse(d.efc.J, d.ten.J, m.tendon.ten_J_colind, w, lane, r, m.tendon.ten_J_rowadr[two],
                               m.tendon.ten_J_rownnz[two], -slope)  # fmt: skip
            else:
                put_few(d.efc.J, w, lane, r, trees, m.tree.dofadr, m.tree.dofnum, wp.vec3i(v1, v2, -1),
                        wp.vec3(1.0, -slope, 0.0))  # fmt: skip
            if lane == 0:
                d.efc.trees[w, r] = trees
                time = row_time(m.opt, w)
                put_scalars(d.efc, w, r, Constraint.EQUALITY, e, what, m.eq.solref[w, e], m.eq.solimp[w, e], time)


@wp.func
def anchors(m: Model, d: Data, w: int, e: int):
    """Of a connect or a weld: the bodies, the points of them that are to meet, the orientations to be made equal."""
    one = m.eq.obj1id[e]
    two = m.eq.obj2id[e]
    bodies = tied_bodies(m, e)
    b1 = bodies[0]
    b2 = bodies[1]
    x1 = wp.vec3()
    x2 = wp.vec3()
    q1 = wp.vec4(1.0, 0.0, 0.0, 0.0)
    q2 = wp.vec4(1.0, 0.0, 0.0, 0.0)
    if m.eq.objtype[e] == Obj.BODY:
        data = m.eq.data[w, e]
        weld = m.eq.type[e] == Equality.WELD
        head = wp.vec3(data[0], data[1], data[2])
        tail = wp.vec3(data[3], data[4], data[5])
        q1 = d.pose.xquat[w, b1]
        q2 = d.pose.xquat[w, b2]
        x1 = d.pose.xpos[w, b1] + rotate(q1, wp.where(weld, tail, head))
        x2 = d.pose.xpos[w, b2] + rotate(q2, wp.where(weld, head, tail))
        q1 = mul_quat(q1, wp.vec4(data[6], data[7], data[8], data[9]))
    else:
        x1 = d.pose.site_xpos[w, one]
        x2 = d.pose.site_xpos[w, two]
        q1 = mul_quat(d.pose.xquat[w, b1], m.site.quat[w, one])
        q2 = mul_quat(d.pose.xquat[w, b2], m.site.quat[w, two])
    return b1, b2, x1, x2, q1, q2


@wp.func
def turn_column(negq2: wp.vec4, axis: wp.vec3, q1: wp.vec4, scale: float) -> wp.vec3:
    """How the rotational residual of a weld changes with a rotation about an axis."""
    quat = mul_quat(mul_quat_axis(negq2, axis), q1)
    return 0.5 * scale * wp.vec3(quat[1], quat[2], quat[3])


@wp.func
def axis_drift(m: Model, d: Data, w: int, i: int, cdof: wp.spatial_vector) -> wp.spatial_vector:
    """How the axis of a dof moves; those of ball and free joints move with the joint itself."""
    j = m.dof.jntid[i]
    kind = m.jnt.type[j]
    if kind == Joint.BALL or (kind == Joint.FREE and i >= m.jnt.dofadr[j] + 3):
        return cross_motion(d.vel.cvel[w, m.dof.bodyid[i]], cdof)
    return d.vel.cdof_dot[w, i]


@wp.func
def put_anchor(
    m: Model, d: Data, w: int, e: int, r: int, bodies: wp.vec2i, gap: wp.vec3, negq2: wp.vec4, q1: wp.vec4,
    vel: wp.spatial_vector, acc: wp.spatial_vector,
):  # fmt: skip
    """The numbers of the rows of a connect or a weld, given J v and the sums of Jdot v."""
    residual = wp.spatial_vector(gap, wp.vec3())
    drift = wp.spatial_vector(linear_part(acc), wp.vec3())
    size = row_count(m.eq.type[e])
    if size == 6:
        scale = m.eq.data[w, e][10]
        quat = mul_quat(negq2, q1)
        residual = wp.spatial_vector(gap, scale * wp.vec3(quat[1], quat[2], quat[3]))
        w1 = angular(d.vel.cvel[w, bodies[0]])
        w2 = angular(d.vel.cvel[w, bodies[1]])
        turn_drift = weld_drift(negq2, q1, w1, w2, wp.vec3(acc[3], acc[4], acc[5]))
        drift = wp.spatial_vector(linear_part(acc), scale * turn_drift)
    solimp = safe_solimp(m.eq.solimp[w, e])
    time = row_time(m.opt, w)
    ref = safe_solref(m.eq.solref[w, e], time[0])
    imp = impedance(solimp, wp.length(residual))
    weight = m.body.invweight0[w, bodies[0]] + m.body.invweight0[w, bodies[1]]
    for k in range(size):
        diag = inverse_inertia(m.opt, wp.where(k < 3, weight[0], weight[1]))
        what = vec5(residual[k], 0.0, 0.0, vel[k], diag)
        put_reference(d.efc, w, r + k, Constraint.EQUALITY, e, what, ref, solimp, imp, time, drift[k])


@wp.func
def anchor_rows(m: Model, d: Data, w: int, lane: int):
    """The rows of connects and welds."""
    for e in range(m.size.neq):
        size = row_count(m.eq.type[e])
        r = d.efc.start[w, e]
        if r >= 0 and size > 1:
            b1, b2, x1, x2, q1, q2 = anchors(m, d, w, e)
            weld = size == 6
            c1 = d.inertia.subtree_com[w, m.body.rootid[b1]]
            c2 = d.inertia.subtree_com[w, m.body.rootid[b2]]
            p1 = linear(d.vel.cvel[w, b1]) + wp.cross(angular(d.vel.cvel[w, b1]), x1 - c1)  # velocities of the anchors
            p2 = linear(d.vel.cvel[w, b2]) + wp.cross(angular(d.vel.cvel[w, b2]), x2 - c2)
            negq2 = conjugate(q2)
            scale = m.eq.data[w, e][10]

            # columns of J, and the sums J v and Jdot v
            vel = wp.spatial_vector()
            acc = wp.spatial_vector()
            trees = tree_pair(m.body.treeid[b1], m.body.treeid[b2])
            clear_rows(d.efc.J, w, r, size, trees, m.tree.dofadr, m.tree.dofnum)
            count = column_count(trees, m.tree.dofnum, m.size.nv)
            q = next_moved(trees, m.tree.dofadr, m.tree.dofnum, m.dof.bodyid, m.dof.bodyend, b1, b2, lane, count)
            while q < count:
                i = column(trees, m.tree.dofadr, m.tree.dofnum, q)
                body = m.dof.bodyid[i]
                beyond = m.dof.bodyend[i]
                s1 = holds(b1, body, beyond)
                s2 = holds(b2, body, beyond)
                lin = wp.vec3()
                rot = wp.vec3()
                if s1 + s2 > 0.0:
                    cdof = d.inertia.cdof[w, i]
                    turn = angular(cdof)
                    lin = s1 * point_column(cdof, x1 - c1) - s2 * point_column(cdof, x2 - c2)
                    if weld:
                        rot = turn_column(negq2, (s1 - s2) * turn, q1, scale)
                    qvel = d.state.qvel[w, i]
                    vel += wp.spatial_vector(lin, rot) * qvel
                    dot = axis_drift(m, d, w, i, cdof)
                    a1 = point_column(dot, x1 - c1) + wp.cross(turn, p1)
                    a2 = point_column(dot, x2 - c2) + wp.cross(turn, p2)
                    acc += wp.spatial_vector(s1 * a1 - s2 * a2, (s1 - s2) * angular(dot)) * qvel
                for k in range(3):
                    d.efc.J[w, r + k, i] = lin[k]
                if weld:
                    for k in range(3):
                        d.efc.J[w, r + 3 + k, i] = rot[k]
                q = next_moved(trees, m.tree.dofadr, m.tree.dofnum, m.dof.bodyid, m.dof.bodyend, b1, b2,
                               q + lane_count(), count)  # fmt: skip
            for k in range(lane, size, lane_count()):
                d.efc.trees[w, r + k] = trees
            for k in range(size):
                vel[k] = lane_sum(vel[k])
                acc[k] = lane_sum(acc[k])
            if lane == 0:
                put_anchor(m, d, w, e, r, wp.vec2i(b1, b2), x1 - x2, negq2, q1, vel, acc)


@wp.func
def linear_part(v: wp.spatial_vector) -> wp.vec3:
    return wp.vec3(v[0], v[1], v[2])


@wp.func
def weld_drift(negq2: wp.vec4, q1: wp.vec4, w1: wp.vec3, w2: wp.vec3, alpha: wp.vec3) -> wp.vec3:
    """Velocity product of the rotational rows: d/dt of 1/2 Im(q2* (w1 - w2) q1) at zero acceleration.

    With dq/dt = 1/2 w q it is 1/2 Im(q2* p q1), where p = (-1/2 |w1 - w2|^2, alpha + w1 x w2).
    """
    u = alpha + wp.cross(w1, w2)
    p = wp.vec4(-0.5 * wp.length_sq(w1 - w2), u[0], u[1], u[2])
    total = mul_quat(mul_quat(negq2, p), q1)
    return 0.5 * wp.vec3(total[1], total[2], total[3])
