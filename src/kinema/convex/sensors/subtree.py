"""Sensors of subtrees: centre of mass, its velocity, angular momentum about it; time and energy of the whole."""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.sensors.frames import put3
from kinema.mujoco_enums import Sensor


@wp.func
def subtree_sensor(m: Model, d: Data, w: int, i: int):
    """Sensors of subtrees; velocities of subtrees must be there where they are read (velocity.subtree_velocity)."""
    kind = m.sensor.type[i]
    adr = m.sensor.adr[i]
    body = m.sensor.objid[i]
    if kind == Sensor.SUBTREECOM:
        put3(d.sensor.sensordata, w, adr, d.inertia.subtree_com[w, body])
    elif kind == Sensor.SUBTREELINVEL:
        put3(d.sensor.sensordata, w, adr, d.vel.subtree_linvel[w, body])
    elif kind == Sensor.SUBTREEANGMOM:
        put3(d.sensor.sensordata, w, adr, d.vel.subtree_angmom[w, body])


@wp.func
def global_sensor(m: Model, d: Data, w: int, i: int):
    """Clock and energies; the energies must be there where they are read."""
    kind = m.sensor.type[i]
    adr = m.sensor.adr[i]
    if kind == Sensor.CLOCK:
        d.sensor.sensordata[w, adr] = float(d.state.time[w])
    elif kind == Sensor.E_POTENTIAL:
        d.sensor.sensordata[w, adr] = d.frc.energy[w, 0]
    elif kind == Sensor.E_KINETIC:
        d.sensor.sensordata[w, adr] = d.frc.energy[w, 1]
