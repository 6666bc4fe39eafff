"""Orientation servos: torque = kp log(q^-1 q_target) + bias - kv velocity, in the frame of the moving part.

The target is given as a rotation vector (as controls, or integrated in the activations) or as a quaternion.
"""

import warp as wp

from kinema.convex.activation import FAMILY_ORIENTATION, is_disabled, next_activation
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.math.quaternion import axis_angle, normalize, sub_quat
from kinema.math.vector import normalize_with_length
from kinema.mujoco_enums import ControlChart, Dynamics


@wp.func
def expmap_to_quat(v: wp.vec3) -> wp.vec4:
    """Quaternion of a rotation vector."""
    axis, angle = normalize_with_length(v)
    return axis_angle(axis, angle)


@wp.func
def shortest(v: wp.vec3) -> wp.vec3:
    """The shortest rotation vector of the same rotation."""
    axis, angle = normalize_with_length(v)
    result = v
    if angle > wp.PI:
        result = axis * (angle - 2.0 * wp.PI * wp.round(angle / (2.0 * wp.PI)))
    return result


@wp.func
def orientation_actuator(m: Model, d: Data, w: int, i: int):
    """Activation rates and torque of orientation servos."""
    if m.actuator.family[i] == FAMILY_ORIENTATION:
        out = m.actuator.outadr[i]
        adr = m.actuator.ctrladr[i]
        first = m.actuator.actadr[i]
        target = wp.vec4(1.0, 0.0, 0.0, 0.0)
        if m.actuator.ctrlspec[i] == ControlChart.QUAT:
            target = normalize(
                wp.vec4(
                    d.act.control[w, adr], d.act.control[w, adr + 1], d.act.control[w, adr + 2],
                    d.act.control[w, adr + 3],
                )
            )  # fmt: skip
        else:
            setpoint = wp.vec3(0.0)
            for k in range(3):
                u = d.act.control[w, adr + k]
                if first >= 0 and m.actuator.dyntype[i] != Dynamics.NONE:
                    act = d.state.act[w, first + k]
                    d.act.act_dot[w, first + k] = u
                    if m.actuator.actearly[i] != 0:
                        act = next_activation(
                            m.actuator.dyntype[i], act, u, m.actuator.dynprm[w, i][0], m.opt.timestep[w],
                            m.actuator.actlimited[i], m.actuator.actrange[w, i],
                        )  # fmt: skip
                    u = act
                setpoint[k] = u
            target = expmap_to_quat(setpoint)
        length = wp.vec3(d.act.length[w, out], d.act.length[w, out + 1], d.act.length[w, out + 2])
        error = sub_quat(target, expmap_to_quat(length))
        kp = m.actuator.gainprm[w, i][0]
        prm = m.actuator.biasprm[w, i]
        if not is_disabled(m.opt.disableactuator, m.actuator.group[i]):
            for k in range(3):
                d.act.force[w, out + k] = kp * error[k] + prm[0] + prm[2] * d.act.velocity[w, out + k]
