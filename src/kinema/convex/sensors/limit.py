"""Sensors of limits: how far a joint or tendon is beyond its limit, how fast it goes, which force holds it.

They read the constraint row of the limit; 0 while there is none. Where both limits of a range have rows, the first
counts.
"""

import warp as wp

from kinema.convex.constraint.row import LIMIT_JOINT, LIMIT_TENDON
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.sensors.types import JOINTLIMITPOS, TENDONLIMITFRC, TENDONLIMITPOS


@wp.func
def limit_sensor(m: Model, d: Data, w: int, i: int):
    """Position, velocity and force of limits."""
    kind = m.sensor.type[i]
    if kind >= JOINTLIMITPOS and kind <= TENDONLIMITFRC:
        row_type = LIMIT_JOINT
        what = kind - JOINTLIMITPOS
        if kind >= TENDONLIMITPOS:
            row_type = LIMIT_TENDON
            what = kind - TENDONLIMITPOS
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
