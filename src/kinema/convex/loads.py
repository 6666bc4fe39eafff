"""Accelerations of bodies and the forces that pass between them, once constraints are solved (mj_rnePostConstraint).

    cacc_b      acceleration of b, the world's being -gravity
    cfrc_ext_b  forces on b from outside its joints: applied, contacts, equalities, spatial tendons
    cfrc_int_b  force that b gets from its parent: what it and its descendants need, less what comes from outside

What two bodies below b do to each other b does not feel, and is not added up on the way to it: fingers that press each
other with 1e6 N would leave the wrist a force that floats have rounded to the next quarter of a newton. So contacts are
added to the sum of all else body by body, only those between a body below and one that is not.

All are spatial vectors about the centre of mass of the tree. Only sensors read them, so the recipe asks for them only
where such sensors are.
"""

import warp as wp

from kinema.convex.bias import world_acceleration
from kinema.convex.bundle import vec5
from kinema.convex.children import with_children
from kinema.convex.com import wrench_about
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.passive import damping_at, stiffness_at
from kinema.convex.tendon import length_bias, stretch, tendon_damping, total_armature
from kinema.math.quaternion import conjugate, mul_quat, mul_quat_axis
from kinema.math.spatial import angular, cross_force, inertia_mul, linear
from kinema.math.store import put
from kinema.math.vector import normalize_with_length
from kinema.mujoco_enums import Cone, Constraint, Disable, Equality, Obj, Tendon, Transmission, Wrap


@wp.func
def body_acceleration(m: Model, d: Data, w: int, b: int):
    """cacc of one body."""
    acc = world_acceleration(m, w)
    if b > 0:
        acc = d.vel.cacc[w, m.body.parentid[b]]
        first = m.body.dofadr[b]
        for i in range(first, first + m.body.dofnum[b]):
            acc += d.vel.cdof_dot[w, i] * d.state.qvel[w, i] + d.inertia.cdof[w, i] * d.frc.qacc[w, i]
    put(d.vel.cacc, w, b, acc)


@wp.func
def joint_loads(m: Model, d: Data, w: int, b: int):
    """cfrc_int of one body, from cacc and from cfrc_ext as it is without contacts."""
    sum = wp.spatial_vector()
    if b > 0:
        cinert = d.inertia.cinert[w, b]
        vel = d.vel.cvel[w, b]
        needed = inertia_mul(cinert, d.vel.cacc[w, b]) + cross_force(vel, inertia_mul(cinert, vel))
        sum = needed - d.vel.cfrc_ext[w, b]
    put(d.vel.cfrc_int, w, b, with_children(m, d.vel.cfrc_int, w, b, sum))


@wp.func
def applied_loads(m: Model, d: Data, w: int, b: int):
    """cfrc_ext of xfrc_applied; clears what was there."""
    load = wp.spatial_vector()
    if b > 0:
        xfrc = d.state.xfrc_applied[w, b]  # (force, torque)
        com = d.inertia.subtree_com[w, m.body.rootid[b]]
        load = wrench_about(linear(xfrc), angular(xfrc), d.pose.xipos[w, b], com)
    put(d.vel.cfrc_ext, w, b, load)


@wp.func
def contact_force(
    force: wp.array2d(dtype=float), w: int, row: int, dim: int, cone: int, friction: vec5, adhesion: float
) -> wp.spatial_vector:
    """Force and torque of a contact in its frame (mj_contactForce): from its rows, less what adhesion pulls."""
    result = wp.spatial_vector()
    if row >= 0:
        if dim == 1 or cone != Cone.PYRAMIDAL:
            for k in range(dim):
                result[k] = force[w, row + k]
        else:
            for k in range(1, dim):
                up = force[w, row + 2 * k - 2]
                down = force[w, row + 2 * k - 1]
                result[0] = result[0] + up + down
                result[k] = friction[k - 1] * (up - down)
        result[0] = result[0] - adhesion
    return result


@wp.func
def add_load(cfrc_ext: wp.array2d(dtype=wp.spatial_vector), w: int, body: int, load: wp.spatial_vector):
    """Add a load to a body that can carry one."""
    if body > 0:
        cfrc_ext[w, body] = cfrc_ext[w, body] + load


@wp.func
def contact_wrench(m: Model, d: Data, w: int, c: int):
    """Torque and force of one contact in the world's frame, at the contact; of flexes none, as in MuJoCo."""
    load = wp.spatial_vector()
    row = d.crow.address[w, c]
    if row >= 0 and d.con.geom[w, c][0] >= 0 and d.con.geom[w, c][1] >= 0:
        local = contact_force(
            d.efc.force, w, row, d.con.dim[w, c], m.opt.cone, d.con.friction[w, c], d.con.adhesion[w, c]
        )
        turn = wp.transpose(d.con.frame[w, c])
        force = turn * wp.vec3(local[0], local[1], local[2])
        load = wp.spatial_vector(turn * wp.vec3(local[3], local[4], local[5]), force)
    put(d.crow.load, w, c, load)


@wp.func
def contact_loads(m: Model, d: Data, w: int, b: int):
    """cfrc_ext of one body += contacts; on the second body of a contact its force acts as it is."""
    if b > 0:
        sum = d.vel.cfrc_ext[w, b]
        com = d.inertia.subtree_com[w, m.body.rootid[b]]
        for c in range(d.con.ncon[w]):
            bodies = d.crow.bodies[w, c]
            if bodies[0] == b or bodies[1] == b:
                if d.crow.address[w, c] >= 0:
                    load = d.crow.load[w, c]
                    wrench = wrench_about(angular(load), linear(load), d.con.pos[w, c], com)
                    if bodies[0] == b:
                        sum -= wrench
                    if bodies[1] == b:
                        sum += wrench
        put(d.vel.cfrc_ext, w, b, sum)


@wp.func
def is_below(m: Model, body: int, b: int) -> bool:
    """Whether a body is b or hangs on it; parents come before their children."""
    at = body
    while at > b:
        at = m.body.parentid[at]
    return at == b


@wp.func
def contact_joint_loads(m: Model, d: Data, w: int, b: int):
    """cfrc_int of one body -= contacts of what hangs on it with what does not."""
    sum = d.vel.cfrc_int[w, b]
    for c in range(d.con.ncon[w]):
        if d.crow.address[w, c] >= 0:
            bodies = d.crow.bodies[w, c]
            below0 = bodies[0] > 0 and is_below(m, bodies[0], b)
            below1 = bodies[1] > 0 and is_below(m, bodies[1], b)
            within = bool(False)
            if below0 and below1:
                within = m.body.rootid[bodies[0]] == m.body.rootid[bodies[1]]
            if not within:
                load = d.crow.load[w, c]
                if below0:
                    com0 = d.inertia.subtree_com[w, m.body.rootid[bodies[0]]]
                    sum += wrench_about(angular(load), linear(load), d.con.pos[w, c], com0)
                if below1:
                    com1 = d.inertia.subtree_com[w, m.body.rootid[bodies[1]]]
                    sum -= wrench_about(angular(load), linear(load), d.con.pos[w, c], com1)
    put(d.vel.cfrc_int, w, b, sum)


@wp.func
def equality_loads(m: Model, d: Data, w: int):
    """cfrc_ext += connects and welds."""
    r = int(0)
    while r < d.efc.ne[w]:
        e = d.efc.id[w, r]
        kind = m.eq.type[e]
        size = int(1)
        if kind == Equality.CONNECT or kind == Equality.WELD:
            size = 3
            data = m.eq.data[w, e]
            on_bodies = m.eq.objtype[e] == Obj.BODY
            obj1 = m.eq.obj1id[e]
            obj2 = m.eq.obj2id[e]
            body1 = obj1
            body2 = obj2
            quat1 = wp.vec4(1.0, 0.0, 0.0, 0.0)
            quat2 = wp.vec4(1.0, 0.0, 0.0, 0.0)
            anchor1 = wp.vec3(data[0], data[1], data[2])
            anchor2 = wp.vec3(data[3], data[4], data[5])
            if kind == Equality.WELD:
                anchor1 = wp.vec3(data[3], data[4], data[5])
                anchor2 = wp.vec3(data[0], data[1], data[2])
                quat1 = wp.vec4(data[6], data[7], data[8], data[9])
            if not on_bodies:
                body1 = m.site.bodyid[obj1]
                body2 = m.site.bodyid[obj2]
                anchor1 = m.site.pos[w, obj1]
                anchor2 = m.site.pos[w, obj2]
                quat1 = m.site.quat[w, obj1]
                quat2 = m.site.quat[w, obj2]
            force = wp.vec3(d.efc.force[w, r], d.efc.force[w, r + 1], d.efc.force[w, r + 2])
            torque = wp.vec3(0.0)
            if kind == Equality.WELD:  # rows are of half the imaginary part of q1* q2
                size = 6
                turn = wp.vec3(d.efc.force[w, r + 3], d.efc.force[w, r + 4], d.efc.force[w, r + 5])
                q1 = mul_quat(d.pose.xquat[w, body1], quat1)
                q2 = mul_quat(d.pose.xquat[w, body2], quat2)
                quat = mul_quat(mul_quat_axis(q2, turn), conjugate(q1))
                torque = 0.5 * data[10] * wp.vec3(quat[1], quat[2], quat[3])
            for side in range(2):
                body = body1
                anchor = anchor1
                sign = float(1.0)
                if side == 1:
                    body = body2
                    anchor = anchor2
                    sign = -1.0
                pos = d.pose.xpos[w, body] + d.pose.xmat[w, body] * anchor
                com = d.inertia.subtree_com[w, m.body.rootid[body]]
                add_load(d.vel.cfrc_ext, w, body, sign * wrench_about(torque, force, pos, com))
        r += size


@wp.func
def tendon_tension(m: Model, d: Data, w: int, i: int) -> float:
    """Force along tendon i that lengthening works against, from everything that acts through it."""
    force = float(0.0)
    if (m.opt.disableflags & Disable.SPRING) == 0:
        slack = m.tendon.lengthspring[w, i]
        yielded = m.tendon.plasticadr[i]
        if yielded >= 0:
            slack = wp.vec2(d.state.plastic[w, yielded], d.state.plastic[w, yielded + 1])
        x = stretch(d.ten.length[w, i], slack[0], slack[1])
        force -= x * stiffness_at(m.tendon.stiffness[w, i], m.tendon.stiffnesspoly[w, i], x)
    if (m.opt.disableflags & Disable.DAMPER) == 0:
        v = d.ten.velocity[w, i]
        b = tendon_damping(m, w, i)
        force -= v * damping_at(b[0], wp.vec2(b[1], b[2]), v)
    armature = total_armature(m, w, i)
    if armature != 0.0:
        acc = length_bias(m, d, w, i)
        row = m.tendon.ten_J_rowadr[i]
        for k in range(row, row + m.tendon.ten_J_rownnz[i]):
            acc += d.ten.J[w, k] * d.frc.qacc[w, m.tendon.ten_J_colind[k]]
        force -= armature * acc
    for k in range(m.size.nactuator):
        if m.actuator.trntype[k] == Transmission.TENDON and m.actuator.trnid[k][0] == i:
            out = m.actuator.outadr[k]
            force += d.act.force[w, out] * m.actuator.gear[w, out][0]
    for r in range(d.efc.ne[w] + d.efc.nf[w] + d.efc.nl[w]):
        kind = d.efc.type[w, r]
        index = d.efc.id[w, r]
        f = d.efc.force[w, r]
        if kind == Constraint.FRICTION_TENDON and index == i:
            force += f
        elif kind == Constraint.LIMIT_TENDON and index == i:
            limits = m.tendon.range[w, i]
            length = d.ten.length[w, i]
            force += wp.where(length - limits[0] < limits[1] - length, f, -f)
        elif kind == Constraint.EQUALITY and m.eq.type[index] == Equality.TENDON:
            if m.eq.obj1id[index] == i:
                force += f
            if m.eq.obj2id[index] == i:
                y = d.ten.length[w, i] - m.tendon.length0[w, i]
                p = m.eq.data[w, index]
                force -= f * (p[1] + y * (2.0 * p[2] + y * (3.0 * p[3] + y * 4.0 * p[4])))
    return force


@wp.func
def tendon_loads(m: Model, d: Data, w: int):
    """cfrc_ext += spatial tendons, which pull on the bodies their path runs over; fixed ones act through joints."""
    for i in range(m.size.ntendon):
        tension = float(0.0)
        if m.tendon.type[i] == Tendon.SPATIAL:
            tension = tendon_tension(m, d, w, i)
        if tension != 0.0:
            scale = tension
            at = d.ten.wrapadr[w, i]
            end = at + d.ten.wrapnum[w, i]
            before = int(-1)
            x0 = wp.vec3(0.0)
            for k in range(m.tendon.adr[i], m.tendon.adr[i] + m.tendon.num[i]):
                kind = m.tendon.wrap_type[k]
                obj = m.tendon.wrap_objid[k]
                points = int(0)
                body = int(0)
                if kind == Wrap.PULLEY:
                    scale = tension / m.tendon.wrap_prm[w, k]
                    before = -1
                    at += 1
                elif kind == Wrap.SITE:
                    points = 1
                    body = m.site.bodyid[obj]
                else:
                    body = m.geom.bodyid[obj]
                    if at < end:
                        if d.ten.wrap_obj[w, at / 2, at % 2] == obj:
                            points = 2
                for _point in range(points):
                    x1 = d.ten.wrap_xpos[w, at / 2, at % 2]
                    if before >= 0 and before != body:
                        u, distance = normalize_with_length(x1 - x0)
                        if distance > 0.0:
                            com0 = d.inertia.subtree_com[w, m.body.rootid[before]]
                            com1 = d.inertia.subtree_com[w, m.body.rootid[body]]
                            none = wp.vec3(0.0)
                            add_load(d.vel.cfrc_ext, w, body, wrench_about(none, scale * u, x1, com1))
                            add_load(d.vel.cfrc_ext, w, before, wrench_about(none, -scale * u, x0, com0))
                    before = body
                    x0 = x1
                    at += 1
