"""PID servos: f = kp (q_ref - L) + kv (v_ref - L.) + ki z + ff, with z the integral of the position error.

The controls present, of position, velocity and feedforward setpoints, stand one after the other; an absent one is 0.
kp and kv are kept as the affine bias -kp, -kv. States, where asked for: the setpoint as far as its rate is limited, and
z, which stops growing at imax.
"""

import warp as wp

from kinema.convex.activation import FAMILY_PID, is_disabled, nearest, next_activation, period, slew
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.mujoco_enums import Bias, Dynamics


@wp.func
def servo_inputs(control: wp.array2d(dtype=float), w: int, adr: int, spec: int) -> wp.vec4:
    """Setpoints of position and velocity, feedforward, and voltage, from the controls that are there."""
    inputs = wp.vec4(0.0)
    at = int(adr)
    for k in range(4):
        if (spec & (1 << k)) != 0:
            inputs[k] = control[w, at]
            at += 1
    return inputs


@wp.func
def limited_error(error: float, integral: float, most: float) -> float:
    """The error to be integrated: none that would carry the integral beyond its limit (0: no limit)."""
    e = error
    if most > 0.0:
        if integral >= most:
            e = wp.min(e, 0.0)
        elif integral <= -most:
            e = wp.max(e, 0.0)
    return e


@wp.func
def pid_actuator(m: Model, d: Data, w: int, i: int):
    """Activation rates and force of PID servos."""
    if m.actuator.family[i] == FAMILY_PID:
        out = m.actuator.outadr[i]
        length = d.act.length[w, out]
        velocity = d.act.velocity[w, out]
        adr = m.actuator.ctrladr[i]
        first = m.actuator.actadr[i]
        prm = m.actuator.biasprm[w, i]
        dynprm = m.actuator.dynprm[w, i]
        ki = m.actuator.gainprm[w, i][0]
        h = m.opt.timestep[w]
        around = period(m.actuator.periodic[i], m.actuator.gear[w, out])
        spec = m.actuator.ctrlspec[i]

        slot = int(first)
        if first >= 0 and m.actuator.dyntype[i] == Dynamics.PID:
            if dynprm[1] > 0.0:
                previous = d.state.act[w, slot]
                setpoint = slew(d.act.control[w, adr], previous, dynprm[1] * h, around)
                d.act.act_dot[w, slot] = (setpoint - previous) / h
                d.act.control[w, adr] = setpoint
                slot += 1
            if ki > 0.0:
                error = d.act.control[w, adr] - length
                if around > 0.0:
                    error -= around * wp.round(error / around)
                d.act.act_dot[w, slot] = limited_error(error, d.state.act[w, slot], dynprm[0])

        inputs = servo_inputs(d.act.control, w, adr, spec)
        force = -prm[1] * nearest(inputs[0], length, around) - prm[2] * inputs[1] + inputs[2]
        if first >= 0 and ki > 0.0:
            last = first + m.actuator.actnum[i] - 1
            z = d.state.act[w, last]
            if m.actuator.actearly[i] != 0:
                z = next_activation(
                    m.actuator.dyntype[i], z, d.act.act_dot[w, last], dynprm[0], h, m.actuator.actlimited[i],
                    m.actuator.actrange[w, i],
                )  # fmt: skip
            force += ki * z
        if m.actuator.biastype[i] == Bias.AFFINE:
            force += prm[0] + prm[1] * length + prm[2] * velocity
        if not is_disabled(m.opt.disableactuator, m.actuator.group[i]):
            d.act.force[w, out] = force
