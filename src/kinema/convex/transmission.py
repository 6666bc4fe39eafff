"""Transmissions: how far an actuator has moved (length), and how its force acts on the dofs (moment).

    joint         hinge, slide: L = g q, row g.   ball: L = g . expmap(q), row g.   free: L = 0, row g (6)
    jointinparent the same with the rotational gear turned from the parent's frame into the child's
    tendon        L = g L_tendon, row g J
    site          L = 0, row g' R' J: a wrench fixed in the site's frame
    site, refsite L = g . (pose of the site in the reference's frame), row (J - J_ref)' R_ref g on the dofs not shared
    slider-crank  L = g (a.v - sqrt((a.v)^2 + rod^2 - v.v)), v from slider to crank, a the slider's axis
    so3           L = expmap of a relative orientation, three rows
    body          L = 0, row = minus the mean of the contact normals' Jacobians (adhesion)

`actuator_moment` is sparse by rows, one row an output. Which dofs a row has follows from the tree alone, so it is the
same in all worlds and at all times: entries that happen to vanish stay, where MuJoCo drops them. Moments are gradients
of the lengths, except where the reference turns and for the ball joint, as in MuJoCo.

Each kind is a stage over actuators that passes over those of other kinds; `stages` lists the kinds a model has.
"""

import numpy as np
import warp as wp

from kinema.convex.constraint.row import geom_body
from kinema.convex.data import Data
from kinema.convex.jacobian import common_dof, last_dof, point_motion, wrench_work
from kinema.convex.kinematics import qpos_quat
from kinema.convex.model import Model
from kinema.convex.stage import Stage
from kinema.math.quaternion import mul_quat, rotate_inverse, sub_quat, to_velocity
from kinema.math.spatial import angular
from kinema.math.vector import column
from kinema.mujoco_enums import Disable, Exclude, Joint, Transmission


@wp.func
def first_three(gear: wp.spatial_vector) -> wp.vec3:
    return wp.vec3(gear[0], gear[1], gear[2])


@wp.func
def last_three(gear: wp.spatial_vector) -> wp.vec3:
    return wp.vec3(gear[3], gear[4], gear[5])


# ---------------------------------------------------------------------------------------------- kinds


@wp.func
def joint_transmission(m: Model, d: Data, w: int, i: int):
    """Actuators on joints."""
    kind = m.actuator.trntype[i]
    if kind == Transmission.JOINT or kind == Transmission.JOINTINPARENT:
        adr = m.actuator.momentadr[i]
        out = m.actuator.outadr[i]
        gear = m.actuator.gear[w, out]
        joint = m.actuator.trnid[i][0]
        qadr = m.jnt.qposadr[joint]
        joint_type = m.jnt.type[joint]
        length = float(0.0)
        if joint_type == Joint.FREE:
            if kind == Transmission.JOINTINPARENT:
                turned = rotate_inverse(qpos_quat(d.state.qpos, w, qadr + 3), last_three(gear))
                gear = wp.spatial_vector(first_three(gear), turned)
            for k in range(6):
                d.act.moment[w, adr + k] = gear[k]
        elif joint_type == Joint.BALL:
            quat = qpos_quat(d.state.qpos, w, qadr)
            axis = first_three(gear)
            if kind == Transmission.JOINTINPARENT:
                axis = rotate_inverse(quat, axis)
            length = wp.dot(to_velocity(quat, 1.0), axis)
            for k in range(3):
                d.act.moment[w, adr + k] = axis[k]
        else:
            length = gear[0] * d.state.qpos[w, qadr]
            d.act.moment[w, adr] = gear[0]
        d.act.length[w, out] = length


@wp.func
def tendon_transmission(m: Model, d: Data, w: int, i: int):
    """Actuators on tendons."""
    if m.actuator.trntype[i] == Transmission.TENDON:
        adr = m.actuator.momentadr[i]
        out = m.actuator.outadr[i]
        gear = m.actuator.gear[w, out][0]
        tendon = m.actuator.trnid[i][0]
        d.act.length[w, out] = gear * d.ten.length[w, tendon]
        row = m.tendon.ten_J_rowadr[tendon]
        for k in range(m.actuator.momentnnz[i]):
            d.act.moment[w, adr + k] = gear * d.ten.J[w, row + k]


@wp.func
def site_transmission(m: Model, d: Data, w: int, i: int):
    """Actuators on sites, with or without a reference site."""
    if m.actuator.trntype[i] == Transmission.SITE:
        adr = m.actuator.momentadr[i]
        out = m.actuator.outadr[i]
        gear = m.actuator.gear[w, out]
        site = m.actuator.trnid[i][0]
        reference = m.actuator.trnid[i][1]
        body = m.site.bodyid[site]
        xpos = d.pose.site_xpos[w, site]
        offset = xpos - d.inertia.subtree_com[w, m.body.rootid[body]]
        dof = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, body)
        ref_dof = int(-1)
        ref_offset = wp.vec3(0.0)
        frame = d.pose.site_xmat[w, site]
        length = float(0.0)
        if reference >= 0:
            ref_body = m.site.bodyid[reference]
            ref_xpos = d.pose.site_xpos[w, reference]
            ref_offset = ref_xpos - d.inertia.subtree_com[w, m.body.rootid[ref_body]]
            ref_dof = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, ref_body)
            frame = d.pose.site_xmat[w, reference]
            quat = mul_quat(d.pose.xquat[w, body], m.site.quat[w, site])
            ref_quat = mul_quat(d.pose.xquat[w, ref_body], m.site.quat[w, reference])
            length = wp.dot(wp.transpose(frame) * (xpos - ref_xpos), first_three(gear))
            length += wp.dot(sub_quat(quat, ref_quat), last_three(gear))
        d.act.length[w, out] = length
        force = frame * first_three(gear)
        torque = frame * last_three(gear)
        stop = common_dof(m.dof.parentid, dof, ref_dof)
        k = int(adr + m.actuator.momentnnz[i])
        while dof != stop or ref_dof != stop:
            k -= 1
            if dof > ref_dof:
                d.act.moment[w, k] = wrench_work(d.inertia.cdof[w, dof], offset, force, torque)
                dof = m.dof.parentid[dof]
            else:
                d.act.moment[w, k] = -wrench_work(d.inertia.cdof[w, ref_dof], ref_offset, force, torque)
                ref_dof = m.dof.parentid[ref_dof]


@wp.func
def crank_transmission(m: Model, d: Data, w: int, i: int):
    """Actuators on slider-cranks."""
    if m.actuator.trntype[i] == Transmission.SLIDERCRANK:
        adr = m.actuator.momentadr[i]
        out = m.actuator.outadr[i]
        gear = m.actuator.gear[w, out][0]
        crank = m.actuator.trnid[i][0]
        slider = m.actuator.trnid[i][1]
        rod = m.actuator.cranklength[w, i]
        axis = column(d.pose.site_xmat[w, slider], 2)
        x1 = d.pose.site_xpos[w, crank]
        x0 = d.pose.site_xpos[w, slider]
        v = x1 - x0
        av = wp.dot(v, axis)
        det = av * av + rod * rod - wp.dot(v, v)
        length = av
        by_v = axis  # gradients of the length by v and by the axis
        by_axis = v
        if det > 0.0:  # otherwise the rod is too short to reach
            root = wp.sqrt(det)
            length = av - root
            scale = 1.0 - av / root
            by_v = axis * scale + v / root
            by_axis = v * scale
        d.act.length[w, out] = gear * length
        by_v *= gear
        torque = wp.cross(axis, by_axis) * gear  # the axis turns with the slider: axis. = spin x axis
        body1 = m.site.bodyid[crank]
        body0 = m.site.bodyid[slider]
        offset1 = x1 - d.inertia.subtree_com[w, m.body.rootid[body1]]
        offset0 = x0 - d.inertia.subtree_com[w, m.body.rootid[body0]]
        dof1 = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, body1)
        dof0 = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, body0)
        stop = common_dof(m.dof.parentid, dof1, dof0)
        k = int(adr + m.actuator.momentnnz[i])
        while dof1 != stop or dof0 != stop:
            k -= 1
            if dof1 > dof0:
                d.act.moment[w, k] = wp.dot(point_motion(d.inertia.cdof[w, dof1], offset1), by_v)
                dof1 = m.dof.parentid[dof1]
            else:
                d.act.moment[w, k] = wrench_work(d.inertia.cdof[w, dof0], offset0, -by_v, torque)
                dof0 = m.dof.parentid[dof0]


@wp.func
def orientation_transmission(m: Model, d: Data, w: int, i: int):
    """Actuators on a relative orientation: a ball joint, or a site and a reference site."""
    if m.actuator.trntype[i] == Transmission.SO3:
        out = m.actuator.outadr[i]
        target = m.actuator.trnid[i][0]
        reference = m.actuator.trnid[i][1]
        nnz = m.actuator.momentnnz[i]
        expmap = wp.vec3(0.0)
        adr = m.actuator.momentadr[i]
        if reference < 0:
            expmap = to_velocity(qpos_quat(d.state.qpos, w, m.jnt.qposadr[target]), 1.0)
            for k in range(3):
                d.act.moment[w, adr + k] = 1.0
        else:
            body = m.site.bodyid[target]
            ref_body = m.site.bodyid[reference]
            quat = mul_quat(d.pose.xquat[w, body], m.site.quat[w, target])
            ref_quat = mul_quat(d.pose.xquat[w, ref_body], m.site.quat[w, reference])
            expmap = sub_quat(quat, ref_quat)
            inverse = wp.transpose(d.pose.site_xmat[w, target])
            dof = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, body)
            ref_dof = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, ref_body)
            stop = common_dof(m.dof.parentid, dof, ref_dof)
            c = int(nnz)
            while dof != stop or ref_dof != stop:
                c -= 1
                spin = wp.vec3(0.0)
                if dof > ref_dof:
                    spin = inverse * angular(d.inertia.cdof[w, dof])
                    dof = m.dof.parentid[dof]
                else:
                    spin = -(inverse * angular(d.inertia.cdof[w, ref_dof]))
                    ref_dof = m.dof.parentid[ref_dof]
                for k in range(3):
                    d.act.moment[w, adr + k * nnz + c] = spin[k]
        for k in range(3):
            d.act.length[w, out + k] = expmap[k]


@wp.func
def adhesion_transmission(m: Model, d: Data, w: int, i: int):
    """Actuators that press the contacts of a body together; needs the contacts, not their constraint rows."""
    if m.actuator.trntype[i] == Transmission.BODY:
        adr = m.actuator.momentadr[i]
        target = m.actuator.trnid[i][0]
        for k in range(m.size.nv):
            d.act.moment[w, adr + k] = 0.0
        count = int(0)
        for c in range(d.con.ncon[w]):
            geoms = d.con.geom[w, c]
            body0 = geom_body(m.geom.bodyid, geoms[0])
            body1 = geom_body(m.geom.bodyid, geoms[1])
            on_target = (body0 == target or body1 == target) and body0 >= 0 and body1 >= 0
            if on_target and d.con.exclude[w, c] <= Exclude.GAP and m.body.weldid[body0] != m.body.weldid[body1]:
                count += 1
                frame = d.con.frame[w, c]
                normal = wp.vec3(frame[0, 0], frame[0, 1], frame[0, 2])
                for side in range(2):
                    body = wp.where(side == 0, body0, body1)
                    pull = wp.where(side == 0, 1.0, -1.0) * normal  # against the separating direction
                    offset = d.con.pos[w, c] - d.inertia.subtree_com[w, m.body.rootid[body]]
                    dof = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, body)
                    while dof >= 0:
                        entry = wp.dot(point_motion(d.inertia.cdof[w, dof], offset), pull)
                        d.act.moment[w, adr + dof] = d.act.moment[w, adr + dof] + entry
                        dof = m.dof.parentid[dof]
        if count > 1:
            for k in range(m.size.nv):
                d.act.moment[w, adr + k] = d.act.moment[w, adr + k] / float(count)
        d.act.length[w, m.actuator.outadr[i]] = 0.0


@wp.func
def actuator_velocity(m: Model, d: Data, w: int, i: int):
    """Rates of the lengths of actuator i; none where actuators are switched off."""
    count = wp.where((m.opt.disableflags & Disable.ACTUATION) == 0, 1, 0)
    for out in range(m.actuator.outadr[i], m.actuator.outadr[i] + m.actuator.outnum[i]):
        adr = d.act.moment_rowadr[w, out]
        velocity = float(0.0)
        for k in range(adr, adr + count * d.act.moment_rownnz[w, out]):
            velocity += d.act.moment[w, k] * d.state.qvel[w, d.act.moment_colind[w, k]]
        d.act.velocity[w, out] = velocity


# ---------------------------------------------------------------------------------------------- host

KINDS = {
    "joint": (joint_transmission, (Transmission.JOINT, Transmission.JOINTINPARENT)),
    "crank": (crank_transmission, (Transmission.SLIDERCRANK,)),
    "tendon": (tendon_transmission, (Transmission.TENDON,)),
    "site": (site_transmission, (Transmission.SITE,)),
    "adhesion": (adhesion_transmission, (Transmission.BODY,)),
    "orientation": (orientation_transmission, (Transmission.SO3,)),
}
"""The stage of each kind of transmission, and the values of mjtTrn it serves."""


def stages(m) -> list[Stage]:
    """The stages of the kinds of transmission a model has; each serves actuators of its own."""
    present = set(np.asarray(m.actuator_trntype).tolist())
    return [
        Stage(func, over="nactuator", apart=("actuator_length", "actuator_moment"))
        for func, values in KINDS.values()
        if present.intersection(values)
    ]


def moment_nnz(m) -> np.ndarray:
    """Number of dofs in each row of an actuator's moment."""
    return np.array([len(moving_dofs(m, i, 0)) for i in range(m.nactuator)], dtype=np.int32)


def moment_adr(m) -> np.ndarray:
    """Address of each actuator's first entry in actuator_moment."""
    size = moment_nnz(m) * np.asarray(m.actuator_outnum)
    return (np.cumsum(size) - size).astype(np.int32)


def moment_rownnz(m) -> np.ndarray:
    """Number of dofs in each row of the moment."""
    return np.repeat(moment_nnz(m), np.asarray(m.actuator_outnum))


def moment_rowadr(m) -> np.ndarray:
    """Address of the first entry of each row of the moment."""
    nnz = moment_rownnz(m)
    return np.cumsum(nnz) - nnz


def moment_colind(m) -> np.ndarray:
    """The dof of each entry of the moment; MuJoCo leaves more room than the rows need."""
    dofs = [dof for i in range(m.nactuator) for k in range(m.actuator_outnum[i]) for dof in moving_dofs(m, i, k)]
    return np.array(dofs + [0] * (m.nJmom - len(dofs)), dtype=np.int32)


def dof_moment_num(m) -> np.ndarray:
    """Number of entries of the moment on each dof."""
    return np.bincount(moment_colind(m)[: int(moment_rownnz(m).sum())], minlength=m.nv)


def dof_moment_adr(m) -> np.ndarray:
    """Where the entries on each dof begin, in a list sorted by dof."""
    num = dof_moment_num(m)
    return np.cumsum(num) - num


def dof_moment_entry(m) -> np.ndarray:
    """Entries of the moment sorted by dof, of each dof by output; as long as the moment."""
    used = int(moment_rownnz(m).sum())
    order = np.argsort(moment_colind(m)[:used], kind="stable")
    return np.concatenate([order, np.arange(used, m.nJmom)])


def dof_moment_out(m) -> np.ndarray:
    """The output that each of these entries belongs to."""
    rows = np.repeat(np.arange(len(moment_rownnz(m))), moment_rownnz(m))
    return np.append(rows, np.zeros(m.nJmom - len(rows), dtype=np.int64))[dof_moment_entry(m)]


def dof_moment_actuator(m) -> np.ndarray:
    """The actuator that each of these entries belongs to."""
    owner = np.repeat(np.arange(m.nactuator), np.asarray(m.actuator_outnum))
    return owner[dof_moment_out(m)] if len(owner) else np.zeros(m.nJmom, dtype=np.int64)


def moving_dofs(m, i: int, k: int) -> list[int]:
    """The dofs in output row k of actuator i, ascending."""
    kind = int(m.actuator_trntype[i])
    target, reference = (int(k) for k in m.actuator_trnid[i])
    if kind in (Transmission.JOINT, Transmission.JOINTINPARENT):
        first = int(m.jnt_dofadr[target])
        return list(range(first, first + (6, 3, 1, 1)[int(m.jnt_type[target])]))
    if kind == Transmission.TENDON:
        first = int(m.ten_J_rowadr[target])
        return np.asarray(m.ten_J_colind)[first : first + int(m.ten_J_rownnz[target])].tolist()
    if kind == Transmission.BODY:
        return list(range(m.nv))
    if kind == Transmission.SO3 and reference < 0:
        return [int(m.jnt_dofadr[target]) + k]
    dofs = set(ancestor_dofs(m, int(m.site_bodyid[target])))
    return sorted(dofs ^ set(ancestor_dofs(m, int(m.site_bodyid[reference])))) if reference >= 0 else sorted(dofs)


def ancestor_dofs(m, body: int) -> list[int]:
    """The dofs that move a body, last first."""
    weld = int(m.body_weldid[body])
    dof = int(m.body_dofadr[weld] + m.body_dofnum[weld] - 1)
    dofs = []
    while dof >= 0:
        dofs.append(dof)
        dof = int(m.dof_parentid[dof])
    return dofs
