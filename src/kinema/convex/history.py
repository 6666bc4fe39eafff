"""History buffers: past controls and sensor readings, for delays and sampling intervals.

A buffer is [tick, cursor, times (n), values (n x dim)], a ring whose newest entry is at the cursor. Times are kept in
double precision, because which sample is read depends on their exact comparison. Values between samples are held,
interpolated linearly, or by a cubic (Catmull-Rom) spline.
"""

import numpy as np
import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.mujoco_enums import ControlChart, Gain, Interpolation

SAME_TIME = wp.constant(wp.float64(1e-15))


@wp.func
def place(cursor: int, n: int, age: int) -> int:
    """Where in the ring the sample is that is the age-th oldest."""
    return (cursor + 1 + age) % n


@wp.func
def find(buffer: wp.array2d(dtype=wp.float64), w: int, adr: int, n: int, time: wp.float64) -> int:
    """The number i of samples older than a time: t_{i-1} < time <= t_i; n if it is newer than all."""
    cursor = int(buffer[w, adr + 1])
    count = int(n)
    if time <= buffer[w, adr + 2 + place(cursor, n, 0)]:
        count = 0
    elif time <= buffer[w, adr + 2 + place(cursor, n, n - 1)]:
        low = int(0)
        high = int(n - 1)
        while high - low > 1:
            middle = (low + high) / 2
            if buffer[w, adr + 2 + place(cursor, n, middle)] < time:
                low = middle
            else:
                high = middle
        count = high
    return count


@wp.func
def read(
    buffer: wp.array2d(dtype=wp.float64), w: int, adr: int, n: int, dim: int, k: int, time: wp.float64, order: int
) -> float:
    """Component k of the value at a time; the oldest and the newest value beyond the ends (mju_historyRead)."""
    cursor = int(buffer[w, adr + 1])
    times = adr + 2
    values = times + n + k
    oldest = place(cursor, n, 0)
    value = buffer[w, values + oldest * dim]
    if time >= buffer[w, times + cursor] - SAME_TIME:
        value = buffer[w, values + cursor * dim]
    elif time > buffer[w, times + oldest] + SAME_TIME:
        i = find(buffer, w, adr, n, time)
        after = place(cursor, n, i)
        before = place(cursor, n, i - 1)
        t1 = buffer[w, times + after]
        t0 = buffer[w, times + before]
        v1 = buffer[w, values + after * dim]
        v0 = buffer[w, values + before * dim]
        if wp.abs(time - t1) < SAME_TIME:
            value = v1
        elif order == Interpolation.ZOH:
            value = v0
        else:
            h = t1 - t0
            s = (time - t0) / h
            if order == Interpolation.LINEAR:
                value = v0 + s * (v1 - v0)
            else:
                slope0 = wp.float64(0.0)
                slope1 = wp.float64(0.0)
                if i > 1:
                    p = place(cursor, n, i - 2)
                    slope0 = (v1 - buffer[w, values + p * dim]) / (t1 - buffer[w, times + p])
                if i < n - 1:
                    q = place(cursor, n, i + 1)
                    slope1 = (buffer[w, values + q * dim] - v0) / (buffer[w, times + q] - t0)
                one = wp.float64(1.0)
                two = wp.float64(2.0)
                three = wp.float64(3.0)
                value = (
                    (two * s * s * s - three * s * s + one) * v0
                    + (s * s * s - two * s * s + s) * h * slope0
                    + (three * s * s - two * s * s * s) * v1
                    + (s * s * s - s * s) * h * slope1
                )
    return float(value)


@wp.func
def insert(buffer: wp.array2d(dtype=wp.float64), w: int, adr: int, n: int, dim: int, time: wp.float64) -> int:
    """Make room for a sample; returns the address of its values. The oldest goes (mju_historyInsert)."""
    cursor = int(buffer[w, adr + 1])
    times = adr + 2
    values = times + n
    i = find(buffer, w, adr, n, time)
    at = place(cursor, n, wp.min(i, n - 1))
    if i == n:
        at = (cursor + 1) % n
        buffer[w, adr + 1] = wp.float64(at)
        buffer[w, times + at] = time
    elif wp.abs(time - buffer[w, times + at]) >= SAME_TIME:
        at = place(cursor, n, wp.max(i - 1, 0))
        for j in range(i - 1):  # older than some: those before it move up, over the oldest
            source = place(cursor, n, j + 1)
            target = place(cursor, n, j)
            buffer[w, times + target] = buffer[w, times + source]
            for k in range(dim):
                buffer[w, values + target * dim + k] = buffer[w, values + source * dim + k]
        buffer[w, times + at] = time
    return values + at * dim


# ---------------------------------------------------------------------------------------------- controls


@wp.func
def delay_controls(m: Model, d: Data, w: int):
    """Replace the controls of delayed actuators by those of a while ago."""
    for i in range(m.size.nactuator):
        delay = m.actuator.delay[w, i]
        samples = m.actuator.history[i]
        if delay > wp.float64(0.0) and samples[0] > 0:
            dim = m.actuator.ctrlnum[i]
            time = d.state.time[w] - delay
            for k in range(dim):
                d.act.control[w, m.actuator.ctrladr[i] + k] = read(
                    d.state.history, w, m.actuator.historyadr[i], samples[0], dim, k, time, samples[1]
                )


@wp.func
def advance_controls(m: Model, d: Data, w: int):
    """Remember the controls of this step."""
    for i in range(m.size.nactuator):
        n = m.actuator.history[i][0]
        if n > 0:
            dim = m.actuator.ctrlnum[i]
            at = insert(d.state.history, w, m.actuator.historyadr[i], n, dim, d.state.time[w])
            for k in range(dim):
                d.state.history[w, at + k] = wp.float64(d.state.ctrl[w, m.actuator.ctrladr[i] + k])


# ---------------------------------------------------------------------------------------------- host


def initial(m) -> np.ndarray:
    """The history after a reset: values 0 (no rotation for quaternion controls) at the times before the first step."""
    history = np.zeros(m.nhistory)
    if not m.nhistory:
        return history
    dt = float(m.opt.timestep)

    def fill(adr: int, tick: float, times: np.ndarray, value: np.ndarray) -> None:
        n = len(times)
        history[adr : adr + 2] = tick, n - 1
        history[adr + 2 : adr + 2 + n] = times
        history[adr + 2 + n : adr + 2 + n + n * len(value)] = np.tile(value, n)

    for i, (n, _) in enumerate(np.asarray(m.actuator_history).reshape(-1, 2)):
        if n:
            value = np.zeros(int(m.actuator_ctrlnum[i]))
            if m.actuator_gaintype[i] == Gain.SO3 and m.actuator_ctrlspec[i] == ControlChart.QUAT:
                value[0] = 1.0
            fill(int(m.actuator_historyadr[i]), 0.0, -np.arange(n, 0, -1) * dt, value)
    for i, (n, _) in enumerate(np.asarray(m.sensor_history).reshape(-1, 2)):
        if n:
            period, phase = (float(x) for x in m.sensor_interval[i])
            tick, times = -dt, -np.arange(n, 0, -1) * dt
            if period > 0.0:  # ticks of the clock, rounded up to steps
                tick = phase if phase else -period
                times = np.ceil((tick - np.arange(n - 1, -1, -1) * period) / dt) * dt
            fill(int(m.sensor_historyadr[i]), tick, times, np.zeros(int(m.sensor_dim[i])))
    return history
