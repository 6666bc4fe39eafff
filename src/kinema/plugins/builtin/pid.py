"""mujoco.pid: a servo of the error e = c - length and its integral I.

    F = kp e + kd e. + ki I+,     I+ = clip(I + h e, +- imax / ki),     e. = c. - velocity

c is the control, or the state of the actuator's dyntype; with slewmax it moves at most that fast, from the first step
after time 0 on. I and the last c are activations. As in MuJoCo, actrange limits them too, and a filterexact dyntype
integrates them by its own rule.
"""

import math

import warp as wp

from kinema.plugins import A, Act, ActuatorInput, P, field, plugin


@wp.func
def slewed(setpoint: float, previous: float, most: float, time: float) -> float:
    """The setpoint, not farther than `most` from the previous one once time runs."""
    c = setpoint
    if time > 0.0:
        c = wp.clamp(setpoint, previous - most, previous + most)
    return c


@wp.func
def integrated(integral: float, error: float, dt: float, most: float) -> float:
    """The integral of the error at the end of the step."""
    return wp.clamp(integral + error * dt, -most, most)


@plugin("mujoco.pid")
class Pid:
    """Gains, the largest force of the integral part, and the fastest rate of the setpoint."""

    kp: float = 0.0
    ki: float = 0.0
    kd: float = 0.0
    imax: float = field(math.inf, min=0.0)
    slewmax: float = field(math.inf, min=0.0)

    needs_owner = True
    integral = Act(when=lambda config: config.ki != 0.0)
    previous = Act(when=lambda config: config.slewmax < math.inf)

    @wp.func
    def act_dot(x: ActuatorInput, act: A, p: P):
        c = slewed(x.setpoint, act.previous, p.slewmax * x.dt, x.time)
        most = wp.abs(p.imax / p.ki)
        rate = act
        rate.integral = (integrated(act.integral, c - x.length, x.dt, most) - act.integral) / x.dt
        rate.previous = (c - act.previous) / x.dt
        return rate

    @wp.func
    def actuator(x: ActuatorInput, act: A, p: P) -> float:
        c = slewed(x.setpoint, act.previous, p.slewmax * x.dt, x.time)
        error = c - x.length
        force = p.kp * error + p.kd * (x.setpoint_rate - x.velocity)
        if p.ki != 0.0:
            force += p.ki * integrated(act.integral, error, x.dt, wp.abs(p.imax / p.ki))
        return force
