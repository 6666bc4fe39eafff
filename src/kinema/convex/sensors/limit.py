"""Sensors of limits: how far a joint or tendon is beyond its limit, how fast it goes, which force holds it.

They read the constraint row of the limit; 0 while there is none. Where both limits of a range have rows, the first
counts.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.mujoco_enums import Constraint, Sensor


@wp.func
def limit_sensor(m: Model, d: Data, w: int, i: int):
    """Position, velocity and force of limits."""
    kind = m.sensor.type[i]
    if kind >= Sensor.JOINTLIMITPOS and kind <= Sensor.TENDONLIMITFRC:
        row_type = Constraint.LIMIT_JOINT
        what = kind - Sensor.JOINTLIMITPOS
        if kind >= Sensor.TENDONLIMITPOS:
            row_type = Constraint.LIMIT_TENDON
            what = kind - Sensor.TENDONLIMITPOS
        first = d.efc.ne[w] + d.efc.nf[w]
        reading = float(0.0)
        found = bool(False)
        for r in range(first, first + d.efc.nl[w]):
            if not found and d.efc.type[w, r] == row_type and d.efc.id[w, r] == m.sensor.objid[i]:
                found = True
                if what == 0:
                    reading = d.efc.pos[w, r] - d.efc.margin[w, r]
                elif what == 1:
                    reading = d.efc.vel[w, r]
                else:
                    reading = d.efc.force[w, r]
        d.sensor.sensordata[w, m.sensor.adr[i]] = reading
