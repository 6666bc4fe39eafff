"""States in which MuJoCo agrees with itself, so that a comparison can fail.

A case is a model with a few states for forward dynamics and a few to start rollouts from. They are picked among the
richest states of short runs from random starts, slow and fast: those with no field in doubt first, and of rollouts
those that noise of float32's size leaves alone for most steps. Fast ones help, since the tolerance of a velocity is a
fraction of it. Only MuJoCo is asked, so a case is the same whatever device it is run on, and can be packed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import mujoco
import numpy as np

from kinema.cli.oracle import FULL_STATE, forward, restored, rich_states, start

from .questions import HORIZONS, forward_questions, reached, rollout_questions

STATES = 3
"""States compared of each model, of either kind."""

SPEEDS = (0.05, 0.5, 2.0)
"""Of the runs states are looked for in, rad/s or m/s: one run each."""

PARTS = 4
"""States taken from a run: the richest of each quarter."""

LOOKED_AT = 24
"""Starts of rollouts that are tried at most."""


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
    pool = [d for seed, speed in enumerate(SPEEDS) for d in rich_states(m, seed, parts=PARTS, speed=speed)]
    richness = []
    for d in pool:
        full = mujoco.MjData(m)
        mujoco.mj_setState(m, full, _vector(m, d), FULL_STATE)
        mujoco.mj_forward(m, full)
        richness.append(full.ncon + full.nefc)
    pool = [pool[k] for k in np.argsort(-np.array(richness), kind="stable")]
    chosen = _forward_states(m, pool)
    rollouts = _rollout_states(m, [*chosen, *(d for d in pool if not any(d is c for c in chosen))]) if m.nv else []
    return Case([_vector(m, d) for d in chosen], [_vector(m, d) for d in rollouts])


def _vector(m: mujoco.MjModel, d: mujoco.MjData) -> np.ndarray:
    state = np.empty(mujoco.mj_stateSize(m, FULL_STATE))
    mujoco.mj_getState(m, d, state, FULL_STATE)
    return state


def _forward_states(m: mujoco.MjModel, pool: list[mujoco.MjData]) -> list[mujoco.MjData]:
    """The first few with nothing in doubt, or with the least."""
    doubts = []
    for k, d in enumerate(pool):
        doubted = sum(q.doubt is not None for q in forward_questions(m, forward(m, d, exact=False)))
        doubts.append((doubted, k))
        if sum(count == 0 for count, _ in doubts) == STATES:
            break
    return [pool[k] for _, k in sorted(doubts)[:STATES]]


def _rollout_states(m: mujoco.MjModel, pool: list[mujoco.MjData]) -> list[mujoco.MjData]:
    """Those that can be followed for most steps; one of them for all, if there is one."""
    tried = []
    for k, d in enumerate(_starts(m, pool)):
        if k == LOOKED_AT:
            break
        steps = reached(rollout_questions(m, d, 10, exact=False))
        if steps == 10:
            steps = reached(rollout_questions(m, d, max(HORIZONS), exact=False))
        tried.append((-steps, k, d))
        followed = [steps for steps, *_ in tried if steps <= -10]
        if len(followed) >= STATES and min(followed) == -max(HORIZONS):
            break
    return [d for *_, d in sorted(tried, key=lambda each: each[:2])[:STATES]]


def _starts(m: mujoco.MjModel, pool: list[mujoco.MjData]):
    """Rich states, the richest of them moving faster, and fresh starts."""
    yield from pool[:STATES]
    rng = np.random.default_rng(17)
    for speed in SPEEDS[1:]:
        for d in pool[:STATES]:
            state = _vector(m, d)
            other = restored(m, state)
            other.qvel[:] = np.float32(other.qvel + speed * rng.normal(size=m.nv))
            yield other
    yield from pool[STATES:]
    for seed, speed in enumerate(SPEEDS):
        yield restored(m, _vector(m, start(m, seed, speed=speed)))
