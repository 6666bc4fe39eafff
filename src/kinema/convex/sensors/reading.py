"""What happens to readings after they are taken: cutoff, and the delays and intervals of history buffers.

A sensor with a history is read every step; the fresh reading goes into the buffer when the step ends, and what
`sensordata` shows is a past one (delay), or the last one of its clock (interval). Noise is only a property of the
model: MuJoCo does not add it, and neither do we.
"""

import warp as wp

from kinema.convex import history
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.mujoco_enums import DataType, Sensor


@wp.func
def cut_off(m: Model, d: Data, w: int, i: int):
    """Clamp the readings of a sensor that has a cutoff."""
    cutoff = m.sensor.cutoff[w, i]
    kind = m.sensor.type[i]
    if cutoff > 0.0 and kind != Sensor.CONTACT and kind != Sensor.GEOMFROMTO:
        datatype = m.sensor.datatype[i]
        adr = m.sensor.adr[i]
        for k in range(adr, adr + m.sensor.dim[i]):
            if datatype == DataType.REAL:
                d.sensor.sensordata[w, k] = wp.clamp(d.sensor.sensordata[w, k], -cutoff, cutoff)
            elif datatype == DataType.POSITIVE:
                d.sensor.sensordata[w, k] = wp.min(d.sensor.sensordata[w, k], cutoff)


@wp.func
def recall(m: Model, d: Data, w: int, i: int):
    """Put the fresh reading of a sensor with a history aside, and show the one that is due."""
    samples = m.sensor.history[i]
    if samples[0] > 0:
        adr = m.sensor.adr[i]
        dim = m.sensor.dim[i]
        buffer = m.sensor.historyadr[i]
        delay = m.sensor.delay[w, i]
        interval = m.sensor.interval[w, i][0]
        time = d.state.time[w]
        zero = wp.float64(0.0)
        past = delay > zero
        if not past and interval > zero:
            past = d.state.history[w, buffer] + interval > time
        for k in range(dim):
            d.sensor.fresh[w, adr + k] = d.sensor.sensordata[w, adr + k]
            if past:
                d.sensor.sensordata[w, adr + k] = history.read(
                    d.state.history, w, buffer, samples[0], dim, k, time - delay, samples[1]
                )


@wp.func
def remember(m: Model, d: Data, w: int, i: int):
    """Insert the fresh reading of a sensor with a history, when its clock ticks; runs before time advances."""
    samples = m.sensor.history[i]
    if samples[0] > 0:
        adr = m.sensor.adr[i]
        dim = m.sensor.dim[i]
        buffer = m.sensor.historyadr[i]
        interval = m.sensor.interval[w, i][0]
        time = d.state.time[w]
        due = bool(True)
        if interval > wp.float64(0.0):
            tick = d.state.history[w, buffer] + interval
            due = tick <= time
            if due:
                d.state.history[w, buffer] = tick
        if due:
            at = history.insert(d.state.history, w, buffer, samples[0], dim, time)
            for k in range(dim):
                d.state.history[w, at + k] = wp.float64(d.sensor.fresh[w, adr + k])
