"""qDeriv += d qfrc_actuator / d qvel: an actuator whose force has slope b against its velocity adds b J^T J.

    b = d gain/d velocity * (control or activation) + d bias/d velocity

A force held at its limit, or at that of its joint or tendon, has no slope (mjd_actuator_vel).
"""

import warp as wp

from kinema.convex.activation import FAMILY_ORIENTATION, is_disabled, next_activation
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.muscle import muscle_gain_slope

GAIN_AFFINE, GAIN_MUSCLE = wp.constant(1), wp.constant(2)
BIAS_AFFINE, BIAS_SO3 = wp.constant(1), wp.constant(4)
DYN_NONE = wp.constant(0)
TRN_JOINT, TRN_JOINTINPARENT, TRN_TENDON = wp.constant(0), wp.constant(1), wp.constant(3)
DISABLE_ACTUATION = wp.constant(1 << 11)


@wp.func
def at_limit(force: float, limits: wp.vec2) -> bool:
    """Is a force held at one of its limits?"""
    return force <= limits[0] or force >= limits[1]


@wp.func
def saturated(m: Model, d: Data, w: int, i: int) -> bool:
    """Is the force of actuator i held at a limit?"""
    out = m.actuator.outadr[i]
    target = m.actuator.trnid[i][0]
    kind = m.actuator.trntype[i]
    held = bool(False)
    if m.actuator.forcelimited[i] != 0:
        limits = m.actuator.forcerange[w, i]
        if m.actuator.family[i] == FAMILY_ORIENTATION:
            torque = wp.vec3(d.act.force[w, out], d.act.force[w, out + 1], d.act.force[w, out + 2])
            held = wp.length(torque) >= limits[1]
        else:
            held = at_limit(d.act.force[w, out], limits)
    if kind == TRN_TENDON:
        if m.tendon.actfrclimited[target] != 0:
            total = float(0.0)
            for k in range(m.size.nactuator):
                if m.actuator.trntype[k] == TRN_TENDON and m.actuator.trnid[k][0] == target:
                    total += d.act.force[w, m.actuator.outadr[k]]
            limits = m.tendon.actfrcrange[w, target]
            room = 1.0e-5 * wp.vec2(wp.abs(limits[0]), wp.abs(limits[1]))  # the forces were scaled to this sum
            held = held or at_limit(total, wp.vec2(limits[0] + room[0], limits[1] - room[1]))
    elif kind == TRN_JOINT or kind == TRN_JOINTINPARENT:
        if m.jnt.actfrclimited[target] != 0:
            force = d.frc.qfrc_actuator[w, m.jnt.dofadr[target]]
            held = held or at_limit(force, m.jnt.actfrcrange[w, target])
    return held


@wp.func
def force_slope(m: Model, d: Data, w: int, i: int) -> float:
    """b of actuator i."""
    out = m.actuator.outadr[i]
    slope = float(0.0)
    biastype = m.actuator.biastype[i]
    if biastype == BIAS_AFFINE or biastype == BIAS_SO3:
        slope = m.actuator.biasprm[w, i][2]
    gaintype = m.actuator.gaintype[i]
    gain_slope = float(0.0)
    prm = m.actuator.gainprm[w, i]
    if gaintype == GAIN_AFFINE:
        gain_slope = prm[2]
    elif gaintype == GAIN_MUSCLE:
        gain_slope = muscle_gain_slope(
            d.act.length[w, out], d.act.velocity[w, out], m.actuator.lengthrange[w, out], m.actuator.acc0[w, out], prm
        )
    if gain_slope != 0.0:
        u = float(0.0)
        if m.actuator.dyntype[i] == DYN_NONE:
            u = d.act.control[w, m.actuator.ctrladr[i]]
        else:
            last = m.actuator.actadr[i] + m.actuator.actnum[i] - 1
            u = d.state.act[w, last]
            if m.actuator.actearly[i] != 0:
                u = next_activation(
                    m.actuator.dyntype[i], u, d.act.act_dot[w, last], m.actuator.dynprm[w, i][0], m.opt.timestep[w],
                    m.actuator.actlimited[i], m.actuator.actrange[w, i],
                )  # fmt: skip
        slope += gain_slope * u
    return slope


@wp.func
def actuator_derivative(m: Model, d: Data, w: int):
    """qDeriv += the slopes of actuator forces, row by row of their moments."""
    if (m.opt.disableflags & DISABLE_ACTUATION) == 0:
        for i in range(m.size.nactuator):
            slope = float(0.0)
            if not is_disabled(m.opt.disableactuator, m.actuator.group[i]):
                slope = force_slope(m, d, w, i)
            if slope != 0.0:
                if not saturated(m, d, w, i):
                    first = m.actuator.outadr[i]
                    for out in range(first, first + m.actuator.outnum[i]):
                        add_moment(m, d, w, d.act.moment_rowadr[w, out], d.act.moment_rownnz[w, out], slope)


@wp.func
def add_moment(m: Model, d: Data, w: int, first: int, nnz: int, slope: float):
    """qDeriv += slope J^T J for one row of the moment; pairs of unrelated dofs are left out, as in MuJoCo."""
    end = first + nnz
    for r in range(first, end):
        i = d.act.moment_colind[w, r]
        value = slope * d.act.moment[w, r]
        c = int(first)
        for a in range(m.dof.D_rowadr[i], m.dof.D_rowadr[i] + m.dof.D_rownnz[i]):
            while c < end and d.act.moment_colind[w, c] < m.dof.D_colind[a]:
                c += 1
            if c < end and d.act.moment_colind[w, c] == m.dof.D_colind[a]:
                d.inertia.qDeriv[w, a] = d.inertia.qDeriv[w, a] + value * d.act.moment[w, c]
