"""One plugin in each of the three forms: functions over an element, functions over an instance, code on the host.

All compute the same: a servo whose force lags behind by an activation, a drag on a body, a sensor of speed and of a
clock that the plugin keeps in its state. What one form gives, the others must give, on every device.
"""

import warp as wp

from kinema.convex.com import project_wrench, wrench_about
from kinema.convex.data import Data
from kinema.convex.jacobian import last_dof
from kinema.convex.model import Model
from kinema.plugins import A, Act, ActuatorInput, BodyInput, P, S, SensorInput, State, field, plugin
from kinema.plugins.inputs import Clock, actuator_input, body_input, sensor_input

FORMS = ("test.form.element", "test.form.instance", "test.form.host")
host_calls: list[str] = []
"""What the form on the host was called for: on CUDA only while a graph is captured."""


@wp.func
def servo(gain: float, setpoint: float, length: float, lag: float) -> float:
    return gain * (setpoint - length) + lag


@wp.func
def lag_rate(setpoint: float, lag: float) -> float:
    return 5.0 * (setpoint - lag)


class Common:
    """What the forms share besides their functions."""

    gain: float = field(1.0, min=0.0)
    drag: float = field(0.0, min=0.0)
    clock = State(initial=0.5)
    lag = Act()
    needstage = "vel"

    def nsensordata(self) -> int:
        return 2


@plugin("test.form.element")
class Element(Common):
    @wp.func
    def actuator(x: ActuatorInput, act: A, p: P) -> float:
        return servo(p.gain, x.setpoint, x.length, act.lag)

    @wp.func
    def act_dot(x: ActuatorInput, act: A):
        act.lag = lag_rate(x.setpoint, act.lag)
        return act

    @wp.func
    def sensor(x: SensorInput, state: S, k: int) -> float:
        value = wp.length(x.linvel)
        if k == 1:
            value = state.clock
        return value

    @wp.func
    def passive(x: BodyInput, p: P) -> wp.spatial_vector:
        return wp.spatial_vector(-p.drag * x.linvel, wp.vec3(0.0))

    @wp.func
    def advance(x: Clock, state: S):
        state.clock = state.clock + x.dt
        return state


@wp.func
def drag_on(m: Model, d: Data, w: int, b: int, drag: float):
    """Add the drag on body b to qfrc_passive."""
    x = body_input(m, d, w, b)
    project_wrench(
        d.frc.qfrc_passive, d.inertia.cdof, m.dof.parentid, w,
        last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, b),
        wrench_about(wp.vec3(0.0), -drag * x.linvel, x.pos, d.inertia.subtree_com[w, m.body.rootid[b]]),
    )  # fmt: skip


@plugin("test.form.instance")
class Instance(Common):
    @wp.func
    def compute_actuator(m: Model, d: Data, w: int, instance: int, p: P):
        first = m.plugin.actuatoradr[instance]
        for n in range(first, first + m.plugin.actuatornum[instance]):
            i = m.plugin.actuatorid[n]
            x = actuator_input(m, d, w, i, True)
            lag = d.state.act[w, m.actuator.actadr[i]]
            d.act.force[w, m.actuator.outadr[i]] = servo(p.gain, x.setpoint, x.length, lag)

    @wp.func
    def compute_act_dot(m: Model, d: Data, w: int, instance: int):
        first = m.plugin.actuatoradr[instance]
        for n in range(first, first + m.plugin.actuatornum[instance]):
            i = m.plugin.actuatorid[n]
            x = actuator_input(m, d, w, i, False)
            a = m.actuator.actadr[i]
            d.act.act_dot[w, a] = lag_rate(x.setpoint, d.state.act[w, a])

    @wp.func
    def compute_sensor(m: Model, d: Data, w: int, instance: int):
        first = m.plugin.sensoradr[instance]
        for n in range(first, first + m.plugin.sensornum[instance]):
            i = m.plugin.sensorid[n]
            x = sensor_input(m, d, w, i)
            d.sensor.sensordata[w, m.sensor.adr[i]] = wp.length(x.linvel)
            d.sensor.sensordata[w, m.sensor.adr[i] + 1] = d.state.plugin_state[w, m.plugin.stateadr[instance]]

    @wp.func
    def compute_passive(m: Model, d: Data, w: int, instance: int, p: P):
        first = m.plugin.bodyadr[instance]
        for n in range(first, first + m.plugin.bodynum[instance]):
            drag_on(m, d, w, m.plugin.bodyid[n], p.drag)

    @wp.func
    def compute_advance(m: Model, d: Data, w: int, instance: int):
        at = m.plugin.stateadr[instance]
        d.state.plugin_state[w, at] = d.state.plugin_state[w, at] + m.opt.timestep[w]


@wp.kernel(enable_backward=False)
def drive(m: Model, d: Data, actuators: wp.array(dtype=int), value: int):
    w, n = wp.tid()
    i = actuators[n]
    x = actuator_input(m, d, w, i, True)
    lag = d.state.act[w, m.actuator.actadr[i]]
    d.act.force[w, m.actuator.outadr[i]] = servo(m.plugin.value[w, value], x.setpoint, x.length, lag)


@wp.kernel(enable_backward=False)
def follow(m: Model, d: Data, actuators: wp.array(dtype=int)):
    w, n = wp.tid()
    i = actuators[n]
    x = actuator_input(m, d, w, i, False)
    a = m.actuator.actadr[i]
    d.act.act_dot[w, a] = lag_rate(x.setpoint, d.state.act[w, a])


@wp.kernel(enable_backward=False)
def sense(m: Model, d: Data, sensor: int, state: int):
    w = wp.tid()
    x = sensor_input(m, d, w, sensor)
    d.sensor.sensordata[w, m.sensor.adr[sensor]] = wp.length(x.linvel)
    d.sensor.sensordata[w, m.sensor.adr[sensor] + 1] = d.state.plugin_state[w, state]


@wp.kernel(enable_backward=False)
def brake(m: Model, d: Data, body: int, value: int):
    w = wp.tid()
    drag_on(m, d, w, body, m.plugin.value[w, value])


@wp.kernel(enable_backward=False)
def tick(m: Model, d: Data, state: int):
    w = wp.tid()
    if d.state.status[w] == 0:
        d.state.plugin_state[w, state] = d.state.plugin_state[w, state] + m.opt.timestep[w]


@plugin("test.form.host")
class Host(Common):
    capabilities = ("actuator", "sensor", "passive")

    def init(self, model, instance):
        return wp.array(instance.actuators, dtype=int, device=instance.device)

    def compute(self, m, d, instance) -> None:
        host_calls.append(instance.capability)
        n, device = instance.nworld, instance.device
        if instance.capability == "actuator":
            wp.launch(drive, (n, len(instance.actuators)), [m, d, instance.data, 0], device=device)
        elif instance.capability == "sensor":
            wp.launch(sense, n, [m, d, int(instance.sensors[0]), instance.stateadr], device=device)
        else:
            wp.launch(brake, n, [m, d, int(instance.bodies[0]), 1], device=device)

    def act_dot(self, m, d, instance) -> None:
        host_calls.append("act_dot")
        inputs = [m, d, instance.data]
        wp.launch(follow, (instance.nworld, len(instance.actuators)), inputs, device=instance.device)

    def advance(self, m, d, instance) -> None:
        host_calls.append("advance")
        wp.launch(tick, instance.nworld, [m, d, instance.stateadr], device=instance.device)
