"""What the small functions of plugins are given, and where these numbers come from.

ActuatorInput   of an actuator function: its control, length and velocity
SensorInput     of a sensor function: the frame of the object it is attached to
BodyInput       of a passive force: where the body is and how it moves
Clock           of `advance` for plugins without actuators

All in the global frame and SI units. The comment of a member is its line in docs/plugins.md
(`scripts/plugin_inputs.py --write`).
"""

from typing import Any

import warp as wp

from kinema.convex.activation import next_activation
from kinema.convex.check import bad
from kinema.convex.data import Data
from kinema.convex.jacobian import point_motion
from kinema.convex.model import Model
from kinema.convex.sensors.frames import object_body, object_position, object_rotation
from kinema.convex.status import blame
from kinema.math.spatial import angular
from kinema.mujoco_enums import Dynamics, Obj

P = Any
"""Annotation of an argument that receives the configuration: p.kp, p.size, ..."""

S = Any
"""Annotation of an argument that receives the instance's states, as declared with State()."""

A = Any
"""Annotation of an argument that receives the actuator's activations, as declared with Act()."""



@wp.struct
class ActuatorInput:
    """An actuator: what drives it and where it is."""

    ctrl: float  # control, delayed and clamped
    setpoint: float  # state of the actuator's dyntype, or the control where it has none
    setpoint_rate: float  # its rate of change; 0 without dyntype
    length: float  # of the transmission, times gear [m or rad]
    velocity: float  # rate of change of the length
    time: float  # of the world [s]
    dt: float  # time step [s]
    id: int  # of the actuator in the model


@wp.struct
class SensorInput:
    """A sensor: the object it is attached to."""

    pos: wp.vec3  # of the object's frame [m]
    mat: wp.mat33  # its axes, as columns
    linvel: wp.vec3  # of its origin [m/s]
    angvel: wp.vec3  # [rad/s]
    time: float  # of the world [s]
    dt: float  # time step [s]
    id: int  # of the sensor in the model
    obj: int  # id of the object; -1: none, and the frame is 0


@wp.struct
class BodyInput:
    """A body: its inertial frame and motion."""

    pos: wp.vec3  # centre of mass [m]
    mat: wp.mat33  # axes of the body frame, as columns
    linvel: wp.vec3  # of the centre of mass [m/s]
    angvel: wp.vec3  # [rad/s]
    mass: float  # [kg]
    time: float  # of the world [s]
    dt: float  # time step [s]
    id: int  # of the body in the model


@wp.struct
class Clock:
    """Time, for what belongs to no element."""

    time: float  # of the world [s]
    dt: float  # time step [s]


@wp.func
def actuator_input(m: Model, d: Data, w: int, i: int, early: bool) -> ActuatorInput:
    """The input of actuator i; with `early`, the setpoint of actuators with actearly is the one at the step's end."""
    x = ActuatorInput()
    out = m.actuator.outadr[i]
    if m.actuator.ctrlnum[i] > 0:
        x.ctrl = d.act.control[w, m.actuator.ctrladr[i]]
    x.setpoint = x.ctrl
    dyntype = m.actuator.dyntype[i]
    if dyntype != Dynamics.NONE:
        last = m.actuator.actadr[i] + m.actuator.actnum[i] - 1
        x.setpoint = d.state.act[w, last]
        x.setpoint_rate = d.act.act_dot[w, last]
        if early and m.actuator.actearly[i] != 0:
            x.setpoint = next_activation(
                dyntype, x.setpoint, x.setpoint_rate, m.actuator.dynprm[w, i][0], m.opt.timestep[w],
                m.actuator.actlimited[i], m.actuator.actrange[w, i],
            )  # fmt: skip
    x.length = d.act.length[w, out]
    x.velocity = d.act.velocity[w, out]
    x.time = float(d.state.time[w])
    x.dt = m.opt.timestep[w]
    x.id = i
    return x


@wp.func
def sensor_input(m: Model, d: Data, w: int, i: int) -> SensorInput:
    """The input of sensor i."""
    x = SensorInput()
    kind = m.sensor.objtype[i]
    x.obj = -1
    if kind != Obj.UNKNOWN:
        obj = m.sensor.objid[i]
        body = object_body(m.geom.bodyid, m.site.bodyid, m.cam.bodyid, kind, obj)
        cvel = d.vel.cvel[w, body]
        x.obj = obj
        x.pos = object_position(d.pose, w, kind, obj)
        x.mat = object_rotation(d.pose, w, kind, obj)
        x.angvel = angular(cvel)
        x.linvel = point_motion(cvel, x.pos - d.inertia.subtree_com[w, m.body.rootid[body]])
    x.time = float(d.state.time[w])
    x.dt = m.opt.timestep[w]
    x.id = i
    return x


@wp.func
def body_input(m: Model, d: Data, w: int, b: int) -> BodyInput:
    """The input of body b."""
    x = BodyInput()
    cvel = d.vel.cvel[w, b]
    x.pos = d.pose.xipos[w, b]
    x.mat = d.pose.xmat[w, b]
    x.angvel = angular(cvel)
    x.linvel = point_motion(cvel, x.pos - d.inertia.subtree_com[w, m.body.rootid[b]])
    x.mass = m.body.mass[w, b]
    x.time = float(d.state.time[w])
    x.dt = m.opt.timestep[w]
    x.id = b
    return x


@wp.func
def clock(m: Model, d: Data, w: int) -> Clock:
    """Time and time step."""
    x = Clock()
    x.time = float(d.state.time[w])
    x.dt = m.opt.timestep[w]
    return x


@wp.func
def sound(status: wp.array(dtype=int), w: int, instance: int, value: float) -> float:
    """The value if it is a number; otherwise 0, and the world is frozen with the instance on record."""
    result = value
    if bad(value):
        result = 0.0
        blame(status, w, instance)
    return result
