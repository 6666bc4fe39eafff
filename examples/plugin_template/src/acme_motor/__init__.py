"""A motor whose torque follows its command with a time constant, and a sensor of that torque.

    torque' = (gain ctrl - torque) / tau,    so after n steps of dt    torque = gain ctrl (1 - (1 - dt / tau)^n)
"""

import warp as wp

from kinema.plugins import ActuatorInput, P, S, SensorInput, State, field, plugin

__all__ = ["Motor"]


@plugin("acme.motor")
class Motor:
    """One instance serves an actuator and, where the model has one, a sensor of its torque."""

    gain: float = field(1.0, min=0.0)  # torque of a control of 1 [N m]
    tau: float = field(0.1, above=0.0)  # time constant [s]
    torque = State()

    @wp.func
    def actuator(x: ActuatorInput, state: S) -> float:
        return state.torque

    @wp.func
    def advance(x: ActuatorInput, state: S, p: P):
        state.torque = state.torque + x.dt / p.tau * (p.gain * x.ctrl - state.torque)
        return state

    @wp.func
    def sensor(x: SensorInput, state: S, k: int) -> float:
        return state.torque
