"""kinema.dcmotor: a DC motor with its winding's temperature; one instance serves an actuator and its thermometer.

    R(T) = R0 (1 + alpha (T - ambient))                 resistance of the winding
    i    = (u - k velocity) / R(T)                      current under the control u, a voltage; or, with inductance,
    i.   = (u - k velocity - R(T) i) / L                an activation, integrated implicitly after the step
    F    = k i
    T.   = (R(T) i^2 - (T - ambient) / Rth) / Cth       heating by losses, cooling to the surroundings

With inductance the actuator needs actdim="1". Give the actuator and a sensor the same instance to read T.
"""

import warp as wp

from kinema.plugins import A, Act, ActuatorInput, P, S, SensorInput, State, field, plugin


@wp.func
def resistance_at(resistance: float, alpha: float, warming: float) -> float:
    """Resistance of a winding so much warmer than at rest."""
    return resistance * (1.0 + alpha * warming)


@plugin("kinema.dcmotor")
class DcMotor:
    """Electrical and thermal constants, SI units; temperatures in degrees Celsius."""

    resistance: float = field(1.0, above=0.0)
    constant: float = field(0.05, min=0.0)  # torque per current, and voltage per velocity
    inductance: float = field(0.0, min=0.0)
    alpha: float = field(0.0039, min=0.0)
    thermal_resistance: float = field(2.0, above=0.0)
    heat_capacity: float = field(20.0, above=0.0)
    ambient: float = 25.0

    needstage = "vel"
    needs_subtrees = False
    temperature = State(initial="ambient")
    current = Act(when=lambda config: config.inductance > 0.0)

    @wp.func
    def actuator(x: ActuatorInput, state: S, act: A, p: P) -> float:
        current = act.current
        if p.inductance == 0.0:
            r = resistance_at(p.resistance, p.alpha, state.temperature - p.ambient)
            current = (x.ctrl - p.constant * x.velocity) / r
        return p.constant * current

    @wp.func
    def act_dot(x: ActuatorInput, state: S, act: A, p: P):
        r = resistance_at(p.resistance, p.alpha, state.temperature - p.ambient)
        rate = act
        # the exact solution over a step, since L / R is often shorter than one
        settled = (x.ctrl - p.constant * x.velocity) / r
        if p.inductance > 0.0:
            rate.current = (settled - act.current) * (1.0 - wp.exp(-x.dt * r / p.inductance)) / x.dt
        return rate

    @wp.func
    def advance(x: ActuatorInput, state: S, act: A, p: P):
        r = resistance_at(p.resistance, p.alpha, state.temperature - p.ambient)
        current = act.current
        if p.inductance == 0.0:
            current = (x.ctrl - p.constant * x.velocity) / r
        loss = r * current * current
        heat = loss - (state.temperature - p.ambient) / p.thermal_resistance
        state.temperature = state.temperature + x.dt * heat / p.heat_capacity
        return state

    @wp.func
    def sensor(x: SensorInput, state: S, p: P, k: int) -> float:
        return state.temperature
