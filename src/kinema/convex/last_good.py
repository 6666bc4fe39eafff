"""The last good state of every world, kept on the device from call to call.

One small kernel copies the state of those worlds that are well; a world that has gone bad keeps what was copied before.
The cost is one read and one write of the state a call (a humanoid: 1 kB a world, on the CPU 3 % of a step), and as much
memory. What is copied is the bundle `State`, whatever it declares: on CUDA, where worlds are interleaved, array by
array (`keep_state`); on the CPU, where a world has a row of bytes in each array, from a list of rows (`keep_rows`),
which is compiled sooner.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Sequence
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
from kinema.errors import BuildError
from kinema.math.touches import touches

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


@wp.func
def are_well(row: wp.array(dtype=float)) -> bool:
    """Whether none of a world's numbers is bad."""
    well = bool(True)
    for i in range(row.shape[0]):
        well = well and not bad(row[i])
    return well


@wp.func
def is_kept(status: int, qpos: wp.array(dtype=float), qvel: wp.array(dtype=float), steps: wp.array(dtype=int), w: int,
            nstep: int) -> bool:  # fmt: skip
    """Whether a world's state is to be copied; steps[w] counts those asked for since it was."""
    if (status & LOST) != 0:
        return False
    if not (are_well(qpos) and are_well(qvel)):
        steps[w] = steps[w] + nstep
        return False
    steps[w] = nstep
    return True


@wp.kernel(enable_backward=False, module="unique")
def keep_state(state: State, kept: State, steps: wp.array(dtype=int), nstep: int):
    """kept[w] = state[w] where world w is well."""
    w = wp.tid()
    if is_kept(state.status[w], state.qpos[w], state.qvel[w], steps, w, nstep):
        copy_state(state, kept, w)


@wp.func_native("memcpy((char*)rows.data[5 * k + 1] + w * rows.data[5 * k + 3], "
                "(const char*)rows.data[5 * k] + w * rows.data[5 * k + 2], rows.data[5 * k + 4]);")  # fmt: skip
@touches(reads="rows")
def copy_bytes(rows: wp.array(dtype=wp.uint64), k: int, w: int):
    """Copy row w of the k-th array: where from and where to, the bytes from world to world of both, those of a row."""
    ...


@wp.kernel(enable_backward=False)
def keep_rows(
    status: wp.array(dtype=int), qpos: wp.array2d(dtype=float), qvel: wp.array2d(dtype=float),
    rows: wp.array(dtype=wp.uint64), steps: wp.array(dtype=int), nstep: int,
):  # fmt: skip
    """What `keep_state` does, on the CPU."""
    w = wp.tid()
    if is_kept(status[w], qpos[w], qvel[w], steps, w, nstep):
        for k in range(rows.shape[0] // 5):
            copy_bytes(rows, k, w)


def rows_of(pairs: Sequence[tuple[wp.array, wp.array]]) -> wp.array:
    """The list that `copy_bytes` reads, of arrays and those they are copied to."""
    said = []
    for source, target in pairs:
        one = wp.types.type_size_in_bytes(source.dtype)
        inner = [math.prod(source.shape[k + 1 :]) * one for k in range(1, source.ndim)]
        if list(source.strides[1:]) != inner or list(target.strides[1:]) != inner:
            raise BuildError("an array of the state has no rows of its own on the CPU")
        size = math.prod(source.shape[1:]) * one
        said += [source.ptr or 0, target.ptr or 0, source.strides[0], target.strides[0], size]
    return wp.array(np.array(said, np.uint64), dtype=wp.uint64, device="cpu")


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
            self._rows = rows_of([(engine.layout.arrays[name], array) for name, array in self.arrays.items()])
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
        if device.is_cpu:
            self.engine.prepare([("last good state", partial(keep_rows.module.load, device, 1))])
            held = self.engine.layout.arrays
            given = [held["status"], held["qpos"], held["qvel"], self._rows, self.steps, nstep]
            self._call = Call(keep_rows, self.engine.nworld, given, device)
            self._call()
            return
        inputs = [self.state, self.kept, self.steps, nstep]
        if device.is_capturing:
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
