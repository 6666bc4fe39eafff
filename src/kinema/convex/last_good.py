"""The last good state of every world, kept on the device from call to call.

One small kernel copies the state of those worlds that are well; a world that has gone bad keeps what was copied before.
The cost is one read and one write of the state a call (a humanoid: 1 kB a world, on the CPU 3 % of a step), and as much
memory. What is copied is the bundle `State`, whatever it declares.
"""

from __future__ import annotations

import linecache
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from kinema.arrays import empty_worlds
from kinema.convex.bundle import fields_of
from kinema.convex.check import bad
from kinema.convex.data import State
from kinema.convex.status import LOST

if TYPE_CHECKING:
    from kinema.convex.engine import Engine

@wp.func
def copy_value(source: wp.array(dtype=Any), target: wp.array(dtype=Any), w: int):
    """target[w] = source[w], one number a world."""
    target[w] = source[w]


@wp.func
def copy_row(source: wp.array2d(dtype=Any), target: wp.array2d(dtype=Any), w: int):
    """target[w] = source[w], a row a world."""
    for i in range(source.shape[1]):
        target[w, i] = source[w, i]


def _copier(struct: Any) -> wp.Function:
    """A function that copies one world's row of every array of a bundle."""
    by_axes = {1: "copy_value", 2: "copy_row"}
    lines = [f"    {by_axes[f.ndim]}(source.{name}, target.{name}, w)\n" for name, f in fields_of(struct).items()]
    text = "".join(["def copy_state(source: State, target: State, w: int):\n", *lines])
    file = f"<every field of {struct.key}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {"__name__": __name__, "State": struct, "copy_value": copy_value, "copy_row": copy_row}
    exec(compile(text, file, "exec"), names)
    return wp.func(names["copy_state"])


copy_state = _copier(State)


@wp.kernel(enable_backward=False)
def keep_state(state: State, kept: State, steps: wp.array(dtype=int), nstep: int):
    """kept[w] = state[w] where world w is well; steps[w] counts those asked for since."""
    w = wp.tid()
    if (state.status[w] & wp.static(LOST)) != 0:
        return
    well = bool(True)
    for i in range(state.qpos.shape[1]):
        well = well and not bad(state.qpos[w, i])
    for i in range(state.qvel.shape[1]):
        well = well and not bad(state.qvel[w, i])
    if not well:
        steps[w] = steps[w] + nstep
        return
    steps[w] = nstep
    copy_state(state, kept, w)


class LastGood:
    """The last good states of an engine's worlds.

    Args:
        engine: The engine.
    """

    def __init__(self, engine: Engine):
        self.engine = engine
        self.state = engine.layout.fill(State)
        self.kept = State()
        self.arrays: dict[str, wp.array] = {}
        for attribute, field in fields_of(State).items():
            array = engine.array(field.name)
            kept = empty_worlds(array.shape, array.dtype, engine.device, rows=field.rows)  # as the state lies
            self.arrays[field.name] = kept
            setattr(self.kept, attribute, kept)
        self.steps = wp.zeros(engine.nworld, dtype=int, device=engine.device)
        self._command: Any = None  # recorded, for the number of steps asked for last
        self._nstep = -1
        self.keep(0)

    def keep(self, nstep: int) -> None:
        """Copy what is good, before nstep steps are taken."""
        if self._nstep == nstep and not self.engine.device.is_capturing:
            self._command.launch()
            return
        inputs = [self.state, self.kept, self.steps, nstep]
        where: dict[str, Any] = {"dim": self.engine.nworld, "device": self.engine.device}
        if self.engine.device.is_capturing:
            wp.launch(keep_state, inputs=inputs, **where)
            return
        self._command, self._nstep = wp.launch(keep_state, inputs=inputs, **where, record_cmd=True), nstep
        self._command.launch()

    def of_world(self, world: int) -> dict[str, np.ndarray]:
        """The last good state of a world, as arrays of one world."""
        rows = {name: array.numpy().reshape(self.engine.shape(name)) for name, array in self.arrays.items()}
        return {name: np.array(values[world : world + 1]) for name, values in rows.items()}
