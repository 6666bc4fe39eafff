"""The last good state of every world, so that what went wrong can be looked at and run again.

Before every call of `step` the engine copies the state of those worlds that are well (`convex/last_good.py`). Nothing
is read back until `sim.last_failure` is asked for.

The steps of that call are then taken again, one at a time, in a simulation of that one world: runs do not depend on the
worlds beside them, so it goes the same way, and the last frame before it goes bad is the last good state.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from kinema.convex.status import LOST
from kinema.recording import FIELDS, Recording
from kinema.simulation.recorder import as_recording
from kinema.simulation.state import STATE

if TYPE_CHECKING:
    from kinema.simulation.simulation import Simulation

MAXVAL = 1e10  # of math.vector: where the engine takes a number for a sign of trouble
MOST_FRAMES = 256
"""Frames before the failure that are given at most."""


def last_failure(sim: Simulation) -> Recording | None:
    """The run of the first world that has gone bad, up to its last good state; None where all are well."""
    lost = np.flatnonzero(sim.engine.read("status") & LOST)
    if sim.last_good is None or not len(lost):
        return None
    world = int(lost[0])
    kept = sim.last_good.of_world(world)
    start = {name: kept[name] for name in STATE}
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
