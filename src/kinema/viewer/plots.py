"""Live plots: the numbers of a world over the last seconds."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from kinema.errors import BuildError, UnknownKey, did_you_mean
from kinema.model.mujoco_fields import data_fields
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


NAMED = {
    "nbody": "body", "njnt": "joint", "ngeom": "geom", "nsite": "site", "ncam": "camera", "nsensor": "sensor",
    "nactuator": "actuator", "ntendon": "tendon", "nlight": "light",
}  # fmt: skip
"""Sizes whose rows have names."""

MOST = 16
"""Numbers one plot shows."""


def channel_of(sim, text: str) -> Channel:
    """A channel by the name of an array of mjData: `qvel`, `qvel[3]`, `qvel[0:6]`, `xpos[hand]`, `xpos[2]`.

    Rows of an array that has several numbers a row are named by the element, or counted; of others numbers are counted.
    """
    found = re.fullmatch(r"\s*(\w+)\s*(?:\[(.+)\])?\s*", text)
    name, index = (found[1], found[2]) if found else (text, None)
    if name not in sim.engine.names:
        raise UnknownKey(f"no array named {name!r}{did_you_mean(name, sim.engine.names)}")
    shape = np.asarray(sim.engine.read(name)).shape[1:] or (1,)
    width = int(np.prod(shape[1:], dtype=int))
    first, last = 0, shape[0]
    if index is not None:
        first, last = _rows(sim, name, index.strip(), shape[0])
    count = (last - first) * width
    if not count:
        raise BuildError(f"{text}: there is nothing to plot in it")
    if count > MOST:
        raise BuildError(f"{text}: {count} numbers; a plot shows {MOST}: choose some, such as {name}[0]")
    return Channel(text.strip(), name, first * width, count)


def _rows(sim, name: str, index: str, count: int) -> tuple[int, int]:
    """First row and the one after the last, of an index as it is written."""
    if re.fullmatch(r"\d*:\d*", index):
        return slice(*(int(word) if word else None for word in index.split(":"))).indices(count)[:2]
    if index.lstrip("-").isdigit():
        row = int(index) % count if -count <= int(index) < count else -1
        if row < 0:
            raise UnknownKey(f"{name}[{index}]: it has {count} rows")
        return row, row + 1
    declared = data_fields().get(name)
    kind = NAMED.get(str(declared.shape[0])) if declared is not None and declared.shape else None
    names = names_of(sim.model, kind) if kind else []
    if index not in names:
        raise UnknownKey(f"{name}[{index}]: no row has that name{did_you_mean(index, names)}")
    return names.index(index), names.index(index) + 1


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
