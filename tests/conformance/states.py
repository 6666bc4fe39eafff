"""States in which MuJoCo agrees with itself, so that a comparison can fail.

A case is a model with a few states for forward dynamics and a few to start rollouts from. They are picked among the
richest states of short runs from random starts, slow and fast: those with no field in doubt first, and of rollouts
those that noise of float32's size leaves alone for most steps. Fast ones help, since the tolerance of a velocity is a
fraction of it. Only MuJoCo is asked, so a case is the same whatever device it is run on, and can be packed.
"""

from __future__ import annotations

import copy
import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import mujoco
import numpy as np

from kinema.cli.oracle import FULL_STATE, forward, restored, rich_states, rollout, start

from .questions import HORIZONS, forward_questions, reached, rollout_questions

STATES = 3
"""States compared of each model, of either kind."""

RUNS = ((0.05, 0.02), (0.5, 0.02), (2.0, 0.02))
FURTHER = ((0.5, 0.3), (2.0, 0.3), (2.0, 1.0), (5.0, 1.0))
"""Runs that states are looked for in: speed (rad/s or m/s) and distance (rad or m) of the start from the model's own.
The further ones only if those do not give enough."""

PARTS = 4
"""States taken from a run: the richest of each quarter."""

PATIENCE = 6.0
"""Seconds of work after which the best so far must do; for either kind of state, and each of near and further runs."""


@dataclass
class Case:
    """States of one model, each as mj_getState gives it.

    Attributes:
        forward: For forward dynamics.
        rollout: To start rollouts from; empty if nothing moves.
    """

    forward: list[np.ndarray]
    rollout: list[np.ndarray]

    @property
    def digest(self) -> str:
        """Tells whether two scores are of the same states."""
        return hashlib.sha1(b"".join(state.tobytes() for state in (*self.forward, *self.rollout))).hexdigest()[:12]


def find_case(m: mujoco.MjModel) -> Case:
    """The states to compare a model in."""
    chosen, started = Choice(), Choice()
    for runs in (RUNS, FURTHER):
        first = 0 if runs is RUNS else len(RUNS)
        pool = [
            d for seed, (speed, spread) in enumerate(runs, first)
            for d in rich_states(m, seed, parts=PARTS, speed=speed, spread=spread, seconds=PATIENCE)
        ]  # fmt: skip
        fresh = [
            restored(m, state_vector(m, start(m, seed, speed=speed, spread=spread)))
            for seed, (speed, spread) in enumerate(runs, first)
        ]
        pool.sort(key=lambda d: -_richness(m, d))
        chosen.look([*pool, *fresh], lambda d: _doubts(m, d))
        if m.nv:
            started.look([*_faster(m, pool), *fresh], lambda d: max(HORIZONS) - _steps(m, d))
        if chosen.worst == 0 and (not m.nv or started.worst < max(HORIZONS) - 1 and started.best == 0):
            break
    few = 1 if _is_slow(m, chosen.states[0]) else STATES
    return Case([state_vector(m, d) for d in chosen.states], [state_vector(m, d) for d in started.states[:few]])


def _is_slow(m: mujoco.MjModel, d: mujoco.MjData) -> bool:
    """Does a rollout of MuJoCo's take seconds, as it does with meshes as distance fields?"""
    begun = time.process_time()
    rollout(m, d, [10])
    return time.process_time() - begun > 0.1


class Choice:
    """The best few of the states that were looked at: those with the lowest cost, the earlier ones first."""

    def __init__(self):
        self.found: list[tuple[float, mujoco.MjData]] = []

    def look(self, states: list[mujoco.MjData], cost: Callable[[mujoco.MjData], float]) -> None:
        """Look at more states, until there are enough that cost nothing, or for as long as it is worth."""
        begun = time.process_time()
        for d in states:
            if time.process_time() - begun > PATIENCE:
                break
            self.found.append((cost(d), d))
            self.found.sort(key=lambda each: each[0])
            if len(self.found) >= STATES and self.worst == 0:
                break
        del self.found[STATES:]

    @property
    def states(self) -> list[mujoco.MjData]:
        return [d for _, d in self.found[:STATES]]

    @property
    def best(self) -> float:
        return self.found[0][0]

    @property
    def worst(self) -> float:
        return self.found[:STATES][-1][0]


def _richness(m: mujoco.MjModel, d: mujoco.MjData) -> int:
    other = copy.copy(d)
    mujoco.mj_forward(m, other)
    return other.ncon + other.nefc


def _doubts(m: mujoco.MjModel, d: mujoco.MjData) -> int:
    """Fields of forward dynamics that are in doubt."""
    return sum(question.doubt is not None for question in forward_questions(m, forward(m, d, exact=False)))


def _steps(m: mujoco.MjModel, d: mujoco.MjData) -> int:
    """Steps that can be followed; long runs only where short ones can be."""
    steps = reached(rollout_questions(m, d, 10, exact=False))
    return reached(rollout_questions(m, d, max(HORIZONS), exact=False)) if steps == 10 else steps


def state_vector(m: mujoco.MjModel, d: mujoco.MjData) -> np.ndarray:
    """A state as mj_getState gives it."""
    state = np.empty(mujoco.mj_stateSize(m, FULL_STATE))
    mujoco.mj_getState(m, d, state, FULL_STATE)
    return state


def _faster(m: mujoco.MjModel, pool: list[mujoco.MjData]) -> Iterator[mujoco.MjData]:
    """Rich states, after the richest these again, moving faster."""
    yield from pool[:STATES]
    rng = np.random.default_rng(17)
    for speed in (0.5, 2.0):
        for d in pool[:STATES]:
            other = restored(m, state_vector(m, d))
            other.qvel[:] = np.float32(other.qvel + speed * rng.normal(size=m.nv))
            yield other
    yield from pool[STATES:]
