"""The last good state of every world, so that what went wrong can be looked at and run again.

Before every call of `step` one small kernel copies the state of those worlds that are well; a world that has gone bad
keeps what was copied before. Nothing is read back until `sim.last_failure` is asked for. The cost is one read and one
write of the state a call (a humanoid: 1 kB a world, on the CPU 3 % of a step), and as much memory.

The steps of that call are then taken again, one at a time, in a simulation of that one world: runs do not depend on the
worlds beside them, so it goes the same way, and the last frame before it goes bad is the last good state.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from kinema.arrays import empty_worlds
from kinema.convex.bundle import fields_of
from kinema.convex.check import bad
from kinema.convex.data import State
from kinema.convex.engine import Engine
from kinema.convex.status import BAD_PLUGIN, BAD_STATE
from kinema.recording import FIELDS, Recording
from kinema.simulation.recorder import as_recording
from kinema.simulation.state import STATE

if TYPE_CHECKING:
    from kinema.simulation.simulation import Simulation

LOST = int(BAD_STATE) | int(BAD_PLUGIN)
"""Marks of a world that can no longer be trusted."""

MAXVAL = 1e10  # of math.vector: where the engine takes a number for a sign of trouble
MOST_FRAMES = 256
"""Frames before the failure that are given at most."""


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
    kept.time[w] = state.time[w]
    for i in range(state.qpos.shape[1]):
        kept.qpos[w, i] = state.qpos[w, i]
    for i in range(state.qvel.shape[1]):
        kept.qvel[w, i] = state.qvel[w, i]
        kept.qacc_warmstart[w, i] = state.qacc_warmstart[w, i]
        kept.qfrc_applied[w, i] = state.qfrc_applied[w, i]
    for i in range(state.act.shape[1]):
        kept.act[w, i] = state.act[w, i]
    for i in range(state.history.shape[1]):
        kept.history[w, i] = state.history[w, i]
    for i in range(state.plastic.shape[1]):
        kept.plastic[w, i] = state.plastic[w, i]
    for i in range(state.plugin_state.shape[1]):
        kept.plugin_state[w, i] = state.plugin_state[w, i]
    for i in range(state.ctrl.shape[1]):
        kept.ctrl[w, i] = state.ctrl[w, i]
    for i in range(state.xfrc_applied.shape[1]):
        kept.xfrc_applied[w, i] = state.xfrc_applied[w, i]
    for i in range(state.eq_active.shape[1]):
        kept.eq_active[w, i] = state.eq_active[w, i]
    for i in range(state.mocap_pos.shape[1]):
        kept.mocap_pos[w, i] = state.mocap_pos[w, i]
        kept.mocap_quat[w, i] = state.mocap_quat[w, i]
    for i in range(state.userdata.shape[1]):
        kept.userdata[w, i] = state.userdata[w, i]


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
        where = {"dim": self.engine.nworld, "device": self.engine.device}
        if self.engine.device.is_capturing:
            wp.launch(keep_state, inputs=inputs, **where)
            return
        self._command, self._nstep = wp.launch(keep_state, inputs=inputs, **where, record_cmd=True), nstep
        self._command.launch()

    def of_world(self, world: int) -> dict[str, np.ndarray]:
        """The last good state of a world, as `set_state` takes it."""
        found = {}
        for name in STATE:
            rows = self.arrays[name].numpy()
            found[name] = np.array(rows.reshape(self.engine.read(name).shape)[world : world + 1])
        return found


def last_failure(sim: Simulation) -> Recording | None:
    """The run of the first world that has gone bad, up to its last good state; None where all are well."""
    lost = np.flatnonzero(sim.engine.read("status") & LOST)
    if sim.last_good is None or not len(lost):
        return None
    world = int(lost[0])
    start = sim.last_good.of_world(world)
    reason = "; ".join(sim.trouble()[world])
    states, again = _again(sim, world, start, int(sim.last_good.steps.numpy()[world]))
    if not again:
        reason += "; it does not happen again from the last good state: the state was written from outside"
    frames = {name: [state[name] for state in states] for name in FIELDS}
    return as_recording(sim, frames, np.array([world]), states[0], reason=reason)


def _again(sim: Simulation, world: int, start: dict, steps: int) -> tuple[list[dict[str, np.ndarray]], bool]:
    """States of a world from a good one on, one a step, until it goes bad; and whether it does."""
    one = sim.copy_of_world(world)
    one.set_state(**{name: values for name, values in start.items() if values.size})
    states = deque([start], maxlen=MOST_FRAMES)
    for _ in range(steps):
        one.step()
        state = one.get_state()
        lost = bool(np.any(one.engine.read("status") & LOST))
        if lost or not all((np.abs(state[name]) <= MAXVAL).all() for name in ("qpos", "qvel")):
            return list(states), True
        states.append(state)
    return list(states), False
