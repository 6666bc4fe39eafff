"""Muscles: force by length and velocity, and activation that rises faster than it falls.

With F0 the peak force, L0 the optimum length, L = r0 + (length - LR0) / L0 and V = velocity / (L0 vmax):

    active   F = -F0 FL(L) FV(V) act          passive   F = -F0 FP(L)
    FL  quadratic pieces from 0 at lmin over 1 at L = 1 to 0 at lmax
    FV  (V + 1)^2 while shortening, fvmax - (y - V)^2 / y while lengthening, y = fvmax - 1, constant outside
    FP  half a quadratic up to the middle of [1, lmax], then linear

    activation   act. = (ctrl - act) / tau,   tau = tau_act k while rising, tau_deact / k while falling
                 with k = 1/2 + 3/2 act

Parameters: range 2, force, scale, lmin, lmax, vmax, fpmax, fvmax. Millard et al. 2013, as in MuJoCo.
"""

import warp as wp

from kinema.convex.bundle import vec10
from kinema.mujoco_enums import MINVAL


@wp.func
def peak_force(prm: vec10, acc0: float) -> float:
    """F0: given, or a scale over the acceleration that unit force makes."""
    force = prm[2]
    if force < 0.0:
        force = prm[3] / wp.max(MINVAL, acc0)
    return force


@wp.func
def optimum_length(prm: vec10, lengthrange: wp.vec2) -> float:
    """L0: the length at which the length range is the range of normalized lengths."""
    return (lengthrange[1] - lengthrange[0]) / wp.max(MINVAL, prm[1] - prm[0])


@wp.func
def normalized_length(prm: vec10, lengthrange: wp.vec2, length: float) -> float:
    """L."""
    return prm[0] + (length - lengthrange[0]) / wp.max(MINVAL, optimum_length(prm, lengthrange))


@wp.func
def force_length(length: float, lmin: float, lmax: float) -> float:
    """FL: active force by normalized length."""
    a = 0.5 * (lmin + 1.0)
    b = 0.5 * (1.0 + lmax)
    force = float(0.0)
    if length >= lmin and length <= lmax:
        if length <= a:
            x = (length - lmin) / wp.max(MINVAL, a - lmin)
            force = 0.5 * x * x
        elif length <= 1.0:
            x = (1.0 - length) / wp.max(MINVAL, 1.0 - a)
            force = 1.0 - 0.5 * x * x
        elif length <= b:
            x = (length - 1.0) / wp.max(MINVAL, b - 1.0)
            force = 1.0 - 0.5 * x * x
        else:
            x = (lmax - length) / wp.max(MINVAL, lmax - b)
            force = 0.5 * x * x
    return force


@wp.func
def force_length_slope(length: float, lmin: float, lmax: float) -> float:
    """Derivative of FL."""
    a = 0.5 * (lmin + 1.0)
    b = 0.5 * (1.0 + lmax)
    slope = float(0.0)
    if length >= lmin and length <= lmax:
        if length <= a:
            width = wp.max(MINVAL, a - lmin)
            slope = (length - lmin) / (width * width)
        elif length <= 1.0:
            width = wp.max(MINVAL, 1.0 - a)
            slope = (1.0 - length) / (width * width)
        elif length <= b:
            width = wp.max(MINVAL, b - 1.0)
            slope = -(length - 1.0) / (width * width)
        else:
            width = wp.max(MINVAL, lmax - b)
            slope = -(lmax - length) / (width * width)
    return slope


@wp.func
def force_velocity(velocity: float, fvmax: float) -> float:
    """FV: active force by normalized velocity."""
    y = fvmax - 1.0
    force = fvmax
    if velocity <= -1.0:
        force = 0.0
    elif velocity <= 0.0:
        force = (velocity + 1.0) * (velocity + 1.0)
    elif velocity <= y:
        force = fvmax - (y - velocity) * (y - velocity) / wp.max(MINVAL, y)
    return force


@wp.func
def force_velocity_slope(velocity: float, fvmax: float) -> float:
    """Derivative of FV."""
    y = fvmax - 1.0
    slope = float(0.0)
    if velocity > -1.0 and velocity <= 0.0:
        slope = 2.0 * velocity + 2.0
    elif velocity > 0.0 and velocity <= y:
        slope = 2.0 * (y - velocity) / wp.max(MINVAL, y)
    return slope


@wp.func
def muscle_gain(length: float, velocity: float, lengthrange: wp.vec2, acc0: float, prm: vec10) -> float:
    """Force of full activation (mju_muscleGain)."""
    speed = wp.max(MINVAL, optimum_length(prm, lengthrange) * prm[6])
    by_length = force_length(normalized_length(prm, lengthrange, length), prm[4], prm[5])
    return -peak_force(prm, acc0) * by_length * force_velocity(velocity / speed, prm[8])


@wp.func
def muscle_gain_slope(length: float, velocity: float, lengthrange: wp.vec2, acc0: float, prm: vec10) -> float:
    """Derivative of the gain by velocity (mjd_muscleGain_vel)."""
    speed = wp.max(MINVAL, optimum_length(prm, lengthrange) * prm[6])
    by_length = force_length(normalized_length(prm, lengthrange, length), prm[4], prm[5])
    return -peak_force(prm, acc0) * by_length * force_velocity_slope(velocity / speed, prm[8]) / speed


@wp.func
def muscle_gain_stretch(length: float, velocity: float, lengthrange: wp.vec2, acc0: float, prm: vec10) -> float:
    """Derivative of the gain by length."""
    optimum = optimum_length(prm, lengthrange)
    by_length = force_length_slope(normalized_length(prm, lengthrange, length), prm[4], prm[5])
    by_velocity = force_velocity(velocity / wp.max(MINVAL, optimum * prm[6]), prm[8])
    return -peak_force(prm, acc0) * by_length / wp.max(MINVAL, optimum) * by_velocity


@wp.func
def muscle_bias(length: float, lengthrange: wp.vec2, acc0: float, prm: vec10) -> float:
    """Passive force (mju_muscleBias)."""
    x = normalized_length(prm, lengthrange, length)
    b = 0.5 * (1.0 + prm[5])
    y = (x - 1.0) / wp.max(MINVAL, b - 1.0)
    force = float(0.0)
    if x > b:
        force = prm[7] * (0.5 + (x - b) / wp.max(MINVAL, b - 1.0))
    elif x > 1.0:
        force = prm[7] * 0.5 * y * y
    return -peak_force(prm, acc0) * force


@wp.func
def muscle_bias_stretch(length: float, lengthrange: wp.vec2, acc0: float, prm: vec10) -> float:
    """Derivative of the passive force by length."""
    x = normalized_length(prm, lengthrange, length)
    b = 0.5 * (1.0 + prm[5])
    width = wp.max(MINVAL, b - 1.0)
    slope = float(0.0)
    if x > b:
        slope = prm[7] / width
    elif x > 1.0:
        slope = prm[7] * (x - 1.0) / (width * width)
    return -peak_force(prm, acc0) * slope / wp.max(MINVAL, optimum_length(prm, lengthrange))


@wp.func
def smooth_step(x: float) -> float:
    """0 below 0, 1 above 1, a quintic with two vanishing derivatives at both ends between."""
    c = wp.clamp(x, 0.0, 1.0)
    return c * c * c * (3.0 * c * (2.0 * c - 5.0) + 10.0)


@wp.func
def muscle_rate(ctrl: float, act: float, prm: vec10) -> float:
    """Rate of activation (mju_muscleDynamics); prm = tau_act, tau_deact, width of the switch between them."""
    excess = wp.clamp(ctrl, 0.0, 1.0) - act
    k = 0.5 + 1.5 * wp.clamp(act, 0.0, 1.0)
    rising = prm[0] * k
    falling = prm[1] / k
    tau = falling
    if prm[2] >= MINVAL:
        tau = falling + (rising - falling) * smooth_step(excess / prm[2] + 0.5)
    elif excess > 0.0:
        tau = rising
    return excess / wp.max(MINVAL, tau)
