"""The last good state of every world, kept on the device from call to call.

One small kernel copies the state of those worlds that are well; a world that has gone bad keeps what was copied before.
The cost is one read and one write of the state a call (a humanoid: 1 kB a world, on the CPU 3 % of a step), and as much
memory. What is copied is the bundle `State`, whatever it declares.
"""

from __future__ import annotations

import linecache
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from kinema.arrays import empty_worlds
from kinema.convex.bundle import fields_of
from kinema.convex.call import Call
from kinema.convex.check import bad
from kinema.convex.data import Marks, State
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


@wp.kernel(enable_backward=False, module="unique")
def keep_all(state: State, marks: Marks, kept: State, kept_marks: Marks):
    """kept[w] = state[w], of every world: what a run that does not count is undone with (capacity.py)."""
    w = wp.tid()
    copy_state(state, kept, w)
    kept_marks.substep[w] = marks.substep[w]
    kept_marks.contact_most[w] = marks.contact_most[w]
    kept_marks.efc_most[w] = marks.efc_most[w]


def room_for(engine: Engine, struct: Any) -> tuple[Any, dict[str, wp.array]]:
    """A bundle of its own like one of the engine's, laid out alike; and its arrays by name."""
    made, arrays = struct(), {}
    for attribute, field in fields_of(struct).items():
        array = engine.layout.array(field)
        arrays[field.name] = empty_worlds(array.shape, array.dtype, engine.device, rows=field.rows)
        setattr(made, attribute, arrays[field.name])
    return made, arrays


class LastGood:
    """The last good states of an engine's worlds.

    Args:
        engine: The engine.
    """

    def __init__(self, engine: Engine):
        self.engine = engine
        self.state = engine.layout.fill(State)
        self.kept, self.arrays = room_for(engine, State)
        self.steps = wp.zeros(engine.nworld, dtype=int, device=engine.device)
        self._call: Call | None = None  # on the CPU
        self._command: Any = None  # on CUDA: recorded, for the number of steps asked for last
        self._nstep = -1
        if engine.device.is_cpu:  # without a kernel, which is compiled with those of the first step
            for name, array in self.arrays.items():
                wp.copy(array, engine.layout.arrays[name])
        else:
            self.keep(0)

    def keep(self, nstep: int) -> None:
        """Copy what is good, before nstep steps are taken."""
        if self._call is not None:
            self._call.args.nstep = nstep
            self._call()
            return
        device = self.engine.device
        if self._nstep == nstep and not device.is_capturing:
            self._command.launch()
            return
        inputs = [self.state, self.kept, self.steps, nstep]
        if device.is_cpu:
            self.engine.prepare([("last good state", partial(keep_state.module.load, device, 1))])
            self._call = Call(keep_state, self.engine.nworld, inputs, device)
            self._call()
        elif device.is_capturing:
            wp.launch(keep_state, dim=self.engine.nworld, inputs=inputs, device=device)
        else:
            self._command = wp.launch(
                keep_state, dim=self.engine.nworld, inputs=inputs, device=device, record_cmd=True
            )
            self._nstep = nstep
            self._command.launch()

    def of_world(self, world: int) -> dict[str, np.ndarray]:
        """The last good state of a world, as arrays of one world."""
        rows = {name: array.numpy().reshape(self.engine.shape(name)) for name, array in self.arrays.items()}
        return {name: np.array(values[world : world + 1]) for name, values in rows.items()}
