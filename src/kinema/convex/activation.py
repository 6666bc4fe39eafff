"""Activations: what all actuators with a state share.

    integrator   act. = u            filter, filterexact   act. = (u - act) / tau            muscle   muscle.py

A servo on a rotation (a ball joint, or a site turning against a reference) compares angles that are equal up to a
period; its setpoint is replaced by the equal one nearest to where it is compared. Which actuators may be such servos is
found on the host (`periodic`); whether they are depends on numbers that may change, and is asked as they run.
"""

import numpy as np
import warp as wp

from kinema.convex.bundle import vec10
from kinema.convex.muscle import muscle_rate
from kinema.mujoco_enums import MINVAL, Bias, Dynamics, Gain, Joint, Transmission

FAMILY_SIMPLE, FAMILY_DCMOTOR, FAMILY_PID = wp.constant(0), wp.constant(1), wp.constant(2)
FAMILY_ORIENTATION, FAMILY_PLUGIN = wp.constant(3), wp.constant(4)
PERIODIC_BALL, PERIODIC_SITE = wp.constant(1), wp.constant(2)  # which half of the gear makes the period


@wp.func
def is_disabled(disabled: int, group: int) -> bool:
    """Whether an actuator's group is switched off (mj_actuatorDisabled)."""
    found = bool(False)
    if group >= 0 and group <= 30:
        found = (disabled & (1 << group)) != 0
    return found


@wp.func
def period(kind: int, gear: wp.spatial_vector) -> float:
    """Period of a servo's length; 0: it has none."""
    length = float(0.0)
    if kind == PERIODIC_BALL:
        length = 2.0 * wp.PI * wp.length(wp.vec3(gear[0], gear[1], gear[2]))
    elif kind == PERIODIC_SITE and gear[0] == 0.0 and gear[1] == 0.0 and gear[2] == 0.0:
        length = 2.0 * wp.PI * wp.length(wp.vec3(gear[3], gear[4], gear[5]))
    return length


@wp.func
def servo_period(kind: int, gear: wp.spatial_vector, gainprm: vec10, biasprm: vec10) -> float:
    """The same for actuators of simple gain and bias: a servo's force is gain (setpoint - length)."""
    length = float(0.0)
    if gainprm[0] == -biasprm[1]:
        length = period(kind, gear)
    return length


@wp.func
def nearest(setpoint: float, to: float, period: float) -> float:
    """The setpoint, moved by whole periods next to another value."""
    moved = setpoint
    if period > 0.0:
        moved = setpoint - period * wp.round((setpoint - to) / period)
    return moved


@wp.func
def activation_rate(dyntype: int, ctrl: float, act: float, prm: vec10, period: float) -> float:
    """act. of the simple kinds of dynamics; 0 for those the user provides."""
    rate = float(0.0)
    if dyntype == Dynamics.INTEGRATOR:
        rate = ctrl
    elif dyntype == Dynamics.FILTER or dyntype == Dynamics.FILTEREXACT:
        rate = (nearest(ctrl, act, period) - act) / wp.max(MINVAL, prm[0])
    elif dyntype == Dynamics.MUSCLE:
        rate = muscle_rate(ctrl, act, prm)
    return rate


@wp.func
def next_activation(
    dyntype: int, act: float, rate: float, tau: float, h: float, limited: int, limits: wp.vec2
) -> float:
    """The activation one time step h on (mj_nextActivation)."""
    later = act + h * rate
    if dyntype == Dynamics.FILTEREXACT:
        t = wp.max(MINVAL, tau)
        later = act + rate * t * (1.0 - wp.exp(-h / t))
    if limited != 0:
        later = wp.clamp(later, limits[0], limits[1])
    return later


@wp.func
def at_tendon_limit(total: float, limits: wp.vec2) -> bool:
    """Whether forces that were scaled to a tendon's limit make up that limit, up to roundoff."""
    return total <= limits[0] + 1e-5 * wp.abs(limits[0]) or total >= limits[1] - 1e-5 * wp.abs(limits[1])


@wp.func
def slew(setpoint: float, previous: float, most: float, period: float) -> float:
    """The setpoint, not farther than `most` from the previous one."""
    return wp.clamp(nearest(setpoint, previous, period), previous - most, previous + most)


def family(m) -> np.ndarray:
    """For each actuator the stage that computes its force: FAMILY_*."""
    gain, bias, dyn = (np.asarray(a) for a in (m.actuator_gaintype, m.actuator_biastype, m.actuator_dyntype))
    result = np.zeros(m.nactuator, dtype=np.int32)
    result[(gain == 3) | (bias == 3) | (dyn == 5)] = 1
    result[gain == 5] = 2
    result[gain == 4] = 3
    result[np.asarray(m.actuator_plugin) >= 0] = 4
    return result


def periodic(m) -> np.ndarray:
    """For each actuator whether, and by which half of its gear, its setpoint may be an angle: 0, PERIODIC_*."""
    result = np.zeros(m.nactuator, dtype=np.int32)
    for i in range(m.nactuator):
        affine = m.actuator_gaintype[i] == Gain.FIXED and m.actuator_biastype[i] == Bias.AFFINE
        affine = affine and m.actuator_dyntype[i] <= Dynamics.FILTEREXACT
        if not affine and m.actuator_gaintype[i] != Gain.PID:
            continue
        target, reference = m.actuator_trnid[i]
        kind = m.actuator_trntype[i]
        if kind == Transmission.SITE and reference >= 0:
            result[i] = PERIODIC_SITE
        elif kind in (Transmission.JOINT, Transmission.JOINTINPARENT) and m.jnt_type[target] == Joint.BALL:
            result[i] = PERIODIC_BALL
    return result
