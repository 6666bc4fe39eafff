"""Sensors of joints, tendons and actuators: what the engine has computed, read out by name."""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.kinematics import qpos_quat
from kinema.convex.model import Model
from kinema.mujoco_enums import Sensor, Transmission


@wp.func
def joint_sensor(m: Model, d: Data, w: int, i: int):
    """Position, velocity and actuator force of joints."""
    kind = m.sensor.type[i]
    adr = m.sensor.adr[i]
    obj = m.sensor.objid[i]
    if kind == Sensor.JOINTPOS:
        d.sensor.sensordata[w, adr] = d.state.qpos[w, m.jnt.qposadr[obj]]
    elif kind == Sensor.JOINTVEL:
        d.sensor.sensordata[w, adr] = d.state.qvel[w, m.jnt.dofadr[obj]]
    elif kind == Sensor.JOINTACTFRC:
        d.sensor.sensordata[w, adr] = d.frc.qfrc_actuator[w, m.jnt.dofadr[obj]]
    elif kind == Sensor.BALLQUAT:
        quat = qpos_quat(d.state.qpos, w, m.jnt.qposadr[obj])
        for k in range(4):
            d.sensor.sensordata[w, adr + k] = quat[k]
    elif kind == Sensor.BALLANGVEL:
        for k in range(3):
            d.sensor.sensordata[w, adr + k] = d.state.qvel[w, m.jnt.dofadr[obj] + k]


@wp.func
def tendon_sensor(m: Model, d: Data, w: int, i: int):
    """Length, velocity and actuator force of tendons."""
    kind = m.sensor.type[i]
    adr = m.sensor.adr[i]
    obj = m.sensor.objid[i]
    if kind == Sensor.TENDONPOS:
        d.sensor.sensordata[w, adr] = d.ten.length[w, obj]
    elif kind == Sensor.TENDONVEL:
        d.sensor.sensordata[w, adr] = d.ten.velocity[w, obj]
    elif kind == Sensor.TENDONACTFRC:
        force = float(0.0)
        for k in range(m.size.nactuator):
            if m.actuator.trntype[k] == Transmission.TENDON and m.actuator.trnid[k][0] == obj:
                force += d.act.force[w, m.actuator.outadr[k]]
        d.sensor.sensordata[w, adr] = force


@wp.func
def actuator_sensor(m: Model, d: Data, w: int, i: int):
    """Length, velocity and force of actuators, one number an output."""
    kind = m.sensor.type[i]
    if kind == Sensor.ACTUATORPOS or kind == Sensor.ACTUATORVEL or kind == Sensor.ACTUATORFRC:
        out = m.actuator.outadr[m.sensor.objid[i]]
        for k in range(m.sensor.dim[i]):
            reading = d.act.length[w, out + k]
            if kind == Sensor.ACTUATORVEL:
                reading = d.act.velocity[w, out + k]
            elif kind == Sensor.ACTUATORFRC:
                reading = d.act.force[w, out + k]
            d.sensor.sensordata[w, m.sensor.adr[i] + k] = reading
