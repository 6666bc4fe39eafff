"""Plugins for tests: one for each thing that can be asked of a plugin, and some that are broken."""

import math

import warp as wp

from kinema.plugins import A, Act, ActuatorInput, BodyInput, Clock, P, S, SensorInput, State, field, plugin

calls: list[str] = []
"""What the recorder was called for, in order."""


@plugin("test.recorder")
class Recorder:
    """Everything on the host; writes down what it is called for."""

    capabilities = ("actuator", "sensor", "passive")
    needstage = "acc"

    def compute(self, m, d, instance):
        calls.append(instance.capability)

    def act_dot(self, m, d, instance):
        calls.append("act_dot")

    def advance(self, m, d, instance):
        calls.append("advance")

    def init(self, model, instance):
        calls.append("init")
        return object()

    def destroy(self, data):
        calls.append("destroy")


@plugin("test.recorder.vel")
class RecorderVel(Recorder):
    needstage = "vel"


@plugin("test.recorder.pos")
class RecorderPos(Recorder):
    needstage = "pos"


@plugin("test.recorder.none")
class RecorderNone(Recorder):
    needstage = "none"


@plugin("test.drag")
class Drag:
    """A force against the motion of a body, and a count of steps that is kept in the state."""

    cd: float = field(0.5, min=0.0)
    steps = State(initial=2.0)
    unused = State(when=lambda config: config.cd < 0.0)

    @wp.func
    def passive(x: BodyInput, p: P) -> wp.spatial_vector:
        force = -p.cd * wp.length(x.linvel) * x.linvel
        return wp.spatial_vector(force, wp.vec3(0.0))

    @wp.func
    def advance(x: Clock, state: S):
        state.steps = state.steps + 1.0
        return state


@plugin("test.speedometer")
class Speedometer:
    """Speed and height of what the sensor is attached to, times a gain per output."""

    gain: tuple[float, float] = (1.0, 2.0)
    needstage = "vel"

    def nsensordata(self) -> int:
        return 2

    @wp.func
    def sensor(x: SensorInput, p: P, k: int) -> float:
        value = wp.length(x.linvel)
        if k == 1:
            value = x.pos[2]
        return value * p.gain[k]


@plugin("test.stepper")
class Stepper:
    """An activation that grows with its own rate and is put back to 0 by advance_act when it exceeds a limit."""

    rate: float = 1.0
    limit: float = math.inf
    phase = Act()

    @wp.func
    def act_dot(x: ActuatorInput, act: A, p: P):
        act.phase = p.rate
        return act

    @wp.func
    def actuator(x: ActuatorInput, act: A) -> float:
        return act.phase + 100.0 * x.setpoint

    @wp.func
    def advance_act(x: ActuatorInput, act: A, p: P):
        if act.phase > p.limit:
            act.phase = 0.0
        return act


@plugin("test.nan")
class NotANumber:
    """Gives NaN once the control exceeds 1."""

    @wp.func
    def actuator(x: ActuatorInput) -> float:
        force = x.ctrl
        if x.ctrl > 1.0:
            force = wp.sqrt(-x.ctrl)
        return force


@plugin("test.raises_in_init")
class RaisesInInit:
    @wp.func
    def actuator(x: ActuatorInput) -> float:
        return 0.0

    def init(self, model, instance):
        raise KeyError("no such thing")


@plugin("test.raises_in_compute")
class RaisesInCompute:
    capabilities = ("actuator",)

    def compute(self, m, d, instance):
        raise ZeroDivisionError("half way")


@plugin("test.returns_something")
class ReturnsSomething:
    capabilities = ("actuator",)

    def compute(self, m, d, instance):
        return 3


@plugin("test.bad_outputs")
class BadOutputs:
    @wp.func
    def sensor(x: SensorInput, k: int) -> float:
        return 0.0

    def nsensordata(self):
        return "three"


@plugin("test.bad_initial")
class BadInitial:
    level = State(initial=lambda config: "high")

    @wp.func
    def sensor(x: SensorInput, state: S, k: int) -> float:
        return state.level


@plugin("test.bad_body")
class BadBody:
    @wp.func
    def actuator(x: ActuatorInput) -> float:
        return x.nothing


@plugin("test.sdf.cone")
class Cone:
    """A capped cone in float32, differentiated by Warp."""

    slope: float = field(0.5, above=0.0)
    height: float = field(0.4, above=0.0)

    @wp.func
    def sdf(x: wp.vec3, p: P) -> float:
        r = wp.sqrt(x[0] * x[0] + x[1] * x[1])
        side = (r - p.slope * (p.height - x[2])) / wp.sqrt(1.0 + p.slope * p.slope)
        return wp.max(side, wp.abs(x[2]) - p.height)

    def aabb(self):
        return 2 * self.slope * self.height, 2 * self.slope * self.height, self.height
