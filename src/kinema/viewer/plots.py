"""Live plots: the numbers of a world over the last seconds."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from kinema.viewer.names import names_of

SPAN = 5.0
"""Time a plot shows [s]."""

POINTS = 300
COLORS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#17becf")


@dataclass(frozen=True)
class Channel:
    """Something that can be plotted: some numbers of an array of mjData."""

    label: str
    array: str
    first: int
    count: int

    def read(self, sim, world: int) -> np.ndarray:
        """Its numbers in a world (count,)."""
        values = np.asarray(sim.engine.read(self.array))[world].reshape(-1)
        return values[self.first : self.first + self.count].astype(float)


def channels(m) -> list[Channel]:
    """All that can be plotted of a model: sensors, actuator forces, positions of joints."""
    found = []
    for i, name in enumerate(names_of(m, "sensor")):
        found.append(Channel(f"sensor {name}", "sensordata", int(m.sensor_adr[i]), int(m.sensor_dim[i])))
    for i, name in enumerate(names_of(m, "actuator")):
        found.append(
            Channel(f"force of {name}", "actuator_force", int(m.actuator_outadr[i]), int(m.actuator_outnum[i]))
        )
    width = {0: 7, 1: 4}
    for i, name in enumerate(names_of(m, "joint")):
        count = width.get(int(m.jnt_type[i]), 1)
        found.append(Channel(f"joint {name}", "qpos", int(m.jnt_qposadr[i]), count))
    return found


@dataclass
class Trace:
    """The last seconds of a channel."""

    channel: Channel
    times: deque = field(default_factory=lambda: deque(maxlen=POINTS))
    values: deque = field(default_factory=lambda: deque(maxlen=POINTS))
    unseen: bool = True  # since `data` was last asked for

    def take(self, sim, world: int) -> bool:
        """Add the present values; False where time stands still. When time went back, begin anew."""
        now = float(np.asarray(sim.engine.read("time")).reshape(sim.worlds, -1)[world, 0])
        if self.times and now == self.times[-1]:
            return False
        if self.times and now < self.times[-1]:
            self.clear()
        self.unseen = True
        self.times.append(now)
        self.values.append(self.channel.read(sim, world))
        while self.times[0] < now - SPAN:
            self.times.popleft()
            self.values.popleft()
        return True

    def clear(self) -> None:
        """Forget what was."""
        self.times.clear()
        self.values.clear()

    def data(self) -> tuple[np.ndarray, ...]:
        """Times, then a row of values per number."""
        self.unseen = False
        if not self.times:
            return (np.zeros(1), *np.zeros((self.channel.count, 1)))
        return (np.array(self.times), *np.array(self.values).T)
