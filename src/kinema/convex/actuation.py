"""Actuation: from controls and activations to forces on outputs and dofs (mj_fwdActuation).

    control      u = ctrl, delayed, clamped to its range; all 0 where one is not a number
    activation   act. = f(u, act)
    force        f = gain(length, velocity) input + bias(length, velocity),   input = act, or u without a state
    limits       of tendons (all actuators on one are scaled together), then of actuators
    joints       qfrc_actuator = moment' f + gravity compensation that actuators provide, clamped joint by joint

Actuators come in families, one stage each, and a model runs those it has: simple ones (fixed and affine gains,
muscles), dcmotor.py, pid.py, orientation.py. Those of plugins are left to the plugins.
"""

from collections.abc import Sequence

import numpy as np
import warp as wp

from kinema.convex import activation, dcmotor, history, orientation, pid
from kinema.convex.activation import (
    FAMILY_DCMOTOR,
    FAMILY_ORIENTATION,
    FAMILY_PID,
    FAMILY_SIMPLE,
    activation_rate,
    at_tendon_limit,
    is_disabled,
    nearest,
    next_activation,
    servo_period,
)
from kinema.convex.check import bad
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.muscle import (
    muscle_bias,
    muscle_bias_stretch,
    muscle_gain,
    muscle_gain_slope,
    muscle_gain_stretch,
)
from kinema.convex.stage import Stage
from kinema.convex.status import BAD_CONTROL
from kinema.math.status import report
from kinema.mujoco_enums import Bias, ControlChart, Disable, Dynamics, Gain, Transmission

# ---------------------------------------------------------------------------------------------- controls


@wp.func
def read_control(m: Model, d: Data, w: int, i: int):
    """Take a control as it is."""
    d.act.control[w, i] = d.state.ctrl[w, i]


@wp.func
def limit_control(m: Model, d: Data, w: int, i: int):
    """Clamp a control."""
    if (m.opt.disableflags & Disable.CLAMPCTRL) == 0 and m.actuator.ctrllimited[i] != 0:
        u = d.act.control[w, i]
        limits = m.actuator.ctrlrange[w, i]  # not wp.clamp, which would hide what is not a number
        if u < limits[0]:
            u = limits[0]
        elif u > limits[1]:
            u = limits[1]
        d.act.control[w, i] = u


@wp.func
def take_control(m: Model, d: Data, w: int, i: int):
    """Read a control and clamp it, where nothing delays it."""
    read_control(m, d, w, i)
    limit_control(m, d, w, i)


@wp.func
def refuse_controls(m: Model, d: Data, w: int):
    """Where one control is not a number, all of the world's are 0."""
    found = bool(False)
    for i in range(m.size.nu):
        found = found or bad(d.act.control[w, i])
    if found:
        report(d.state.status, w, BAD_CONTROL)
        for i in range(m.size.nu):
            d.act.control[w, i] = 0.0


# ---------------------------------------------------------------------------------------------- force


@wp.func
def simple_actuator(m: Model, d: Data, w: int, i: int):
    """Activation rate and force of actuators with fixed, affine or muscle gain and bias."""
    out = m.actuator.outadr[i]
    for k in range(m.actuator.outnum[i]):
        d.act.force[w, out + k] = 0.0
    if m.actuator.family[i] == FAMILY_SIMPLE:
        length = d.act.length[w, out]
        velocity = d.act.velocity[w, out]
        around = servo_period(
            m.actuator.periodic[i], m.actuator.gear[w, out], m.actuator.gainprm[w, i], m.actuator.biasprm[w, i]
        )
        first = m.actuator.actadr[i]
        u = float(0.0)
        if m.actuator.ctrlnum[i] > 0:
            u = d.act.control[w, m.actuator.ctrladr[i]]
        if first >= 0:
            dyntype = m.actuator.dyntype[i]
            prm = m.actuator.dynprm[w, i]
            last = first + m.actuator.actnum[i] - 1
            for k in range(first, last):
                d.act.act_dot[w, k] = 0.0
            act = d.state.act[w, last]
            rate = activation_rate(dyntype, u, act, prm, around)
            d.act.act_dot[w, last] = rate
            u = act
            if m.actuator.actearly[i] != 0:
                limits = m.actuator.actrange[w, i]
                u = next_activation(dyntype, act, rate, prm[0], m.opt.timestep[w], m.actuator.actlimited[i], limits)
        u = nearest(u, length, around)

        gaintype = m.actuator.gaintype[i]
        gainprm = m.actuator.gainprm[w, i]
        gain = float(1.0)  # the user's gain, where the user has none
        if gaintype == Gain.FIXED:
            gain = gainprm[0]
        elif gaintype == Gain.AFFINE:
            gain = gainprm[0] + gainprm[1] * length + gainprm[2] * velocity
        elif gaintype == Gain.MUSCLE:
            gain = muscle_gain(length, velocity, m.actuator.lengthrange[w, out], m.actuator.acc0[w, out], gainprm)

        biastype = m.actuator.biastype[i]
        biasprm = m.actuator.biasprm[w, i]
        bias = float(0.0)
        if biastype == Bias.AFFINE:
            bias = biasprm[0] + biasprm[1] * length + biasprm[2] * velocity
        elif biastype == Bias.MUSCLE:
            bias = muscle_bias(length, m.actuator.lengthrange[w, out], m.actuator.acc0[w, out], biasprm)
        if not is_disabled(m.opt.disableactuator, m.actuator.group[i]):
            d.act.force[w, out] = gain * u + bias


@wp.func
def sum_tendon_forces(m: Model, d: Data, w: int):
    """Sum the forces of the actuators on each tendon: before its limit, and again when all limits are applied."""
    for t in range(m.size.ntendon):
        d.act.tendon_force[w, t] = 0.0
    for i in range(m.size.nactuator):
        if m.actuator.trntype[i] == Transmission.TENDON:
            t = m.actuator.trnid[i][0]
            d.act.tendon_force[w, t] = d.act.tendon_force[w, t] + d.act.force[w, m.actuator.outadr[i]]


@wp.func
def limit_tendon_forces(m: Model, d: Data, w: int):
    """Scale the actuators on a tendon down together where their sum is beyond the tendon's limits."""
    for i in range(m.size.nactuator):
        if m.actuator.trntype[i] == Transmission.TENDON:
            t = m.actuator.trnid[i][0]
            total = d.act.tendon_force[w, t]
            if m.tendon.actfrclimited[t] != 0 and total != 0.0:
                limits = m.tendon.actfrcrange[w, t]
                out = m.actuator.outadr[i]
                d.act.force[w, out] = d.act.force[w, out] * (wp.clamp(total, limits[0], limits[1]) / total)


@wp.func
def limit_force(m: Model, d: Data, w: int, i: int):
    """Clamp the forces of actuator i to its range; of an orientation servo, the length of its torque."""
    if m.actuator.forcelimited[i] != 0:
        limits = m.actuator.forcerange[w, i]
        out = m.actuator.outadr[i]
        if m.actuator.family[i] == FAMILY_ORIENTATION:
            torque = wp.vec3(d.act.force[w, out], d.act.force[w, out + 1], d.act.force[w, out + 2])
            size = wp.length(torque)
            if size > limits[1]:
                for k in range(3):
                    d.act.force[w, out + k] = torque[k] * (limits[1] / size)
        else:
            for k in range(m.actuator.outnum[i]):
                d.act.force[w, out + k] = wp.clamp(d.act.force[w, out + k], limits[0], limits[1])


@wp.func
def joint_force(m: Model, d: Data, w: int, i: int):
    """qfrc_actuator of dof i."""
    sum = float(0.0)
    first = m.dof.momentadr[i]
    for k in range(first, first + m.dof.momentnum[i]):
        force = d.act.force[w, m.dof.momentout[k]]
        if force != 0.0:
            sum += d.act.moment[w, m.dof.momententry[k]] * force
    j = m.dof.jntid[i]
    if (m.opt.disableflags & Disable.GRAVITY) == 0 and m.jnt.actgravcomp[j] != 0:
        sum += d.frc.qfrc_gravcomp[w, i]
    if m.jnt.actfrclimited[j] != 0:
        limits = m.jnt.actfrcrange[w, j]
        sum = wp.clamp(sum, limits[0], limits[1])
    d.frc.qfrc_actuator[w, i] = sum


@wp.func
def no_force(m: Model, d: Data, w: int, out: int):
    """What an actuator gives where actuation is switched off."""
    d.act.force[w, out] = 0.0


@wp.func
def no_joint_force(m: Model, d: Data, w: int, i: int):
    """What a dof gets where actuation is switched off."""
    d.frc.qfrc_actuator[w, i] = 0.0


# ---------------------------------------------------------------------------------------------- integration


@wp.func
def advance_activations(m: Model, d: Data, w: int, i: int):
    """Move the activations of actuator i by act_dot; setpoints that are angles stay near the length.

    Runs with the integrator, before positions move. A Runge-Kutta step puts its mean rate into act_dot first.
    """
    first = m.actuator.actadr[i]
    if first >= 0 and m.actuator.family[i] != FAMILY_DCMOTOR:
        h = m.opt.timestep[w]
        dyntype = m.actuator.dyntype[i]
        tau = m.actuator.dynprm[w, i][0]
        disabled = is_disabled(m.opt.disableactuator, m.actuator.group[i])
        end = first + m.actuator.actnum[i]
        for k in range(first, end):
            rate = d.act.act_dot[w, k]
            if disabled:
                rate = 0.0
            limits = m.actuator.actrange[w, i]
            d.state.act[w, k] = next_activation(
                dyntype, d.state.act[w, k], rate, tau, h, m.actuator.actlimited[i], limits
            )
        out = m.actuator.outadr[i]
        if m.actuator.family[i] == FAMILY_ORIENTATION:
            setpoint = wp.vec3(d.state.act[w, first], d.state.act[w, first + 1], d.state.act[w, first + 2])
            setpoint = orientation.shortest(setpoint)
            for k in range(3):
                d.state.act[w, first + k] = setpoint[k]
        elif m.actuator.family[i] == FAMILY_SIMPLE:
            around = servo_period(
                m.actuator.periodic[i], m.actuator.gear[w, out], m.actuator.gainprm[w, i], m.actuator.biasprm[w, i]
            )
            d.state.act[w, end - 1] = nearest(d.state.act[w, end - 1], d.act.length[w, out], around)


# ---------------------------------------------------------------------------------------------- derivative


@wp.func
def is_saturated(m: Model, d: Data, w: int, i: int) -> bool:
    """Whether the limits of the tendon or joint an actuator pulls on hold its force, so that velocity does not."""
    held = bool(False)
    kind = m.actuator.trntype[i]
    target = m.actuator.trnid[i][0]
    if kind == Transmission.TENDON:
        if m.tendon.actfrclimited[target] != 0:
            held = at_tendon_limit(d.act.tendon_force[w, target], m.tendon.actfrcrange[w, target])
    elif kind == Transmission.JOINT or kind == Transmission.JOINTINPARENT:
        if m.jnt.actfrclimited[target] != 0:
            limits = m.jnt.actfrcrange[w, target]
            total = d.frc.qfrc_actuator[w, m.jnt.dofadr[target]]
            held = total <= limits[0] or total >= limits[1]
    return held


@wp.func
def force_slope(m: Model, d: Data, w: int, i: int):
    """d force / d velocity of each output of actuator i, into d.act.slope[w, i]: what implicit integrators need; and
    d force / d length, into d.act.stretch[w, i], which only the discrete one asks for.

    qfrc_actuator depends on qvel by moment' diag(slope) moment: of each output row of actuator i, the entries
    moment_a slope moment_b belong to the dof pair (a, b). Forces held by a limit depend on neither. DC motors have
    their own stage (dcmotor.dcmotor_slope), `slope_stages` lists what a model needs.
    """
    if m.actuator.family[i] != FAMILY_DCMOTOR:
        out = m.actuator.outadr[i]
        slope = float(0.0)
        stretch = float(0.0)
        biastype = m.actuator.biastype[i]
        if biastype == Bias.AFFINE or biastype == Bias.SO3:
            slope = m.actuator.biasprm[w, i][2]
            stretch = m.actuator.biasprm[w, i][1]
        elif biastype == Bias.MUSCLE:
            stretch = muscle_bias_stretch(
                d.act.length[w, out], m.actuator.lengthrange[w, out], m.actuator.acc0[w, out], m.actuator.biasprm[w, i]
            )
        gain = float(0.0)
        gain_stretch = float(0.0)
        gaintype = m.actuator.gaintype[i]
        if gaintype == Gain.AFFINE:
            gain = m.actuator.gainprm[w, i][2]
            gain_stretch = m.actuator.gainprm[w, i][1]
        elif gaintype == Gain.MUSCLE:
            gain = muscle_gain_slope(
                d.act.length[w, out], d.act.velocity[w, out], m.actuator.lengthrange[w, out],
                m.actuator.acc0[w, out], m.actuator.gainprm[w, i],
            )  # fmt: skip
            gain_stretch = muscle_gain_stretch(
                d.act.length[w, out], d.act.velocity[w, out], m.actuator.lengthrange[w, out],
                m.actuator.acc0[w, out], m.actuator.gainprm[w, i],
            )  # fmt: skip
        if gain != 0.0 or gain_stretch != 0.0:
            dyntype = m.actuator.dyntype[i]
            u = float(0.0)
            if dyntype == Dynamics.NONE:
                u = d.act.control[w, m.actuator.ctrladr[i]]
            else:
                last = m.actuator.actadr[i] + m.actuator.actnum[i] - 1
                u = d.state.act[w, last]
                if m.actuator.actearly[i] != 0:
                    u = next_activation(
                        dyntype, u, d.act.act_dot[w, last], m.actuator.dynprm[w, i][0], m.opt.timestep[w],
                        m.actuator.actlimited[i], m.actuator.actrange[w, i],
                    )  # fmt: skip
            slope += gain * u
            stretch += gain_stretch * u
        held = is_disabled(m.opt.disableactuator, m.actuator.group[i]) or is_saturated(m, d, w, i)
        if m.actuator.forcelimited[i] != 0:
            limits = m.actuator.forcerange[w, i]
            if m.actuator.family[i] == FAMILY_ORIENTATION:
                torque = wp.vec3(d.act.force[w, out], d.act.force[w, out + 1], d.act.force[w, out + 2])
                held = held or wp.length(torque) >= limits[1] * (1.0 - 1e-6)
            else:
                held = held or d.act.force[w, out] <= limits[0] or d.act.force[w, out] >= limits[1]
        d.act.slope[w, i] = wp.where(held, 0.0, slope)
        d.act.stretch[w, i] = wp.where(held, 0.0, stretch)


# ---------------------------------------------------------------------------------------------- host

FAMILIES = {
    FAMILY_DCMOTOR: dcmotor.dcmotor_actuator,
    FAMILY_PID: pid.pid_actuator,
    FAMILY_ORIENTATION: orientation.orientation_actuator,
}
"""The stage of each family of actuators besides the simple one, which always runs and clears the forces."""


def is_active(m) -> bool:
    """Whether a model has actuators and they are switched on."""
    return bool(m.nactuator) and not m.opt.disableflags & Disable.ACTUATION


def control_stages(m) -> list[Stage]:
    """The stages that read the controls."""
    if not is_active(m):
        return []
    if np.any(m.actuator_delay):
        delay = [Stage(history.delay_controls), Stage(limit_control, over="nu")]
        return [Stage(read_control, over="nu"), *delay, Stage(refuse_controls)]
    return [Stage(take_control, over="nu"), Stage(refuse_controls)]


def stages(m, plugins: Sequence[Stage] = ()) -> list[Stage]:
    """The stages that compute actuator forces; those of plugins after the native ones, before the limits."""
    if not is_active(m):
        return [Stage(no_force, over="nout"), Stage(no_joint_force, over="nv")]
    present = set(activation.family(m).tolist())
    recipe = [Stage(simple_actuator, over="nactuator")]
    recipe += [Stage(func, over="nactuator") for family, func in FAMILIES.items() if family in present]
    recipe += plugins
    tendons_limited = np.any(m.tendon_actfrclimited)
    if tendons_limited:
        recipe += [Stage(sum_tendon_forces), Stage(limit_tendon_forces)]
    if np.any(m.actuator_forcelimited):
        recipe.append(Stage(limit_force, over="nactuator"))
    if tendons_limited:
        recipe.append(Stage(sum_tendon_forces))
    if 1 in present:
        recipe.append(Stage(dcmotor.mechanical_force, over="nactuator"))
    recipe.append(Stage(joint_force, over="nv"))
    return recipe


def slope_stages(m) -> list[Stage]:
    """The stages that compute how forces depend on velocity, for implicit integrators."""
    if not is_active(m):
        return []
    recipe = [Stage(force_slope, over="nactuator")]
    if np.any(activation.family(m) == 1):
        recipe.append(Stage(dcmotor.dcmotor_slope, over="nactuator"))
    return recipe


def advance_stages(m) -> list[Stage]:
    """The stages that advance controls' histories and activations; they run before velocities and positions move."""
    recipe = [Stage(history.advance_controls)] if np.any(np.asarray(m.actuator_history).reshape(-1, 2)[:, 0]) else []
    if m.na and is_active(m):
        recipe.append(Stage(advance_activations, over="nactuator"))
        if np.any(activation.family(m) == 1):
            recipe.append(Stage(dcmotor.advance_dcmotor, over="nactuator"))
    return recipe


def initial_control(m) -> np.ndarray:
    """Controls after a reset: 0, and no rotation where an orientation is given as a quaternion."""
    ctrl = np.zeros(m.nu)
    quat = (np.asarray(m.actuator_gaintype) == Gain.SO3) & (np.asarray(m.actuator_ctrlspec) == ControlChart.QUAT)
    ctrl[np.asarray(m.actuator_ctrladr)[quat]] = 1.0
    return ctrl
