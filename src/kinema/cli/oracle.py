"""MuJoCo's answers, and how far they can be trusted.

A comparison of float32 with float64 is fair only up to how far MuJoCo's own answer moves when its state is disturbed by
noise of float32's size. So every state comes with neighbours (`disturbed`), and what a solver decides comes twice: at
the model's own number of iterations, and converged.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import mujoco
import numpy as np

from kinema.cli.controls import control_range

NOISE, TRIALS, SEARCH_STEPS = 1e-6, 3, 300
STATE = ("qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat", "eq_active", "qacc_warmstart", "time", "history",
         "plastic")  # fmt: skip
EXACT_STATE = ("time", "history", "eq_active")
FULL_STATE = int(mujoco.mjtState.mjSTATE_INTEGRATION)
LOST = [int(getattr(mujoco.mjtWarning, f"mjWARN_{name}")) for name in ("BADQPOS", "BADQVEL", "BADQACC")]


@dataclass
class Answer:
    """MuJoCo's forward dynamics in one state.

    Attributes:
        d: At the model's own iterations.
        best: With the solver converged.
        near, far: Both, in states disturbed by noise.
    """

    d: mujoco.MjData
    best: mujoco.MjData
    near: list[mujoco.MjData]
    far: list[mujoco.MjData]

    def slack(self, name: str) -> float:
        """How far a field moves under noise."""
        return _spread(name, self.d, self.near)

    def wobble(self, name: str) -> float:
        """How far a field that the solver decides moves under noise, at either number of iterations."""
        return max(self.slack(name), _spread(name, self.best, self.far))


def _spread(name: str, center: mujoco.MjData, others: list[mujoco.MjData]) -> float:
    values = np.asarray(getattr(center, name), float)
    return max(float(np.abs(np.asarray(getattr(o, name), float) - values).max(initial=0.0)) for o in others)


def lost(d: mujoco.MjData) -> bool:
    """Has MuJoCo given the state up?"""
    return any(d.warning[i].number for i in LOST)


def rich_state(m: mujoco.MjModel, seed: int) -> mujoco.MjData:
    """The state with most constraint rows of a short run from a random start, rounded to float32."""
    rng = np.random.default_rng(seed)
    d = mujoco.MjData(m)
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, d, 0)
    mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 0.02)
    d.qvel[:] = 0.05 * rng.normal(size=m.nv)
    low, high = control_range(m)
    d.ctrl[:] = np.clip(d.ctrl + 0.1 * rng.normal(size=m.nu), low, high)
    best, state = -1, np.empty(mujoco.mj_stateSize(m, FULL_STATE))
    for _ in range(int(np.clip(20000 / max(m.nv, 1), 30, SEARCH_STEPS))):
        mujoco.mj_step(m, d)
        if not np.isfinite(d.qacc).all() or lost(d):
            break
        if d.nefc + d.ncon > best:
            best = d.nefc + d.ncon
            mujoco.mj_getState(m, d, state, FULL_STATE)
    d = mujoco.MjData(m)
    if best >= 0:
        mujoco.mj_setState(m, d, state, FULL_STATE)
    for name in STATE:
        if name not in EXACT_STATE:
            values = getattr(d, name)
            values[...] = values.astype(np.float32)
    return d


def disturbed(m: mujoco.MjModel, d: mujoco.MjData, trial: int) -> mujoco.MjData:
    """The same state with noise of float32's size."""
    rng = np.random.default_rng(100 + trial)
    other = copy.copy(d)
    mujoco.mj_integratePos(m, other.qpos, rng.normal(size=m.nv), NOISE)
    other.qvel[:] += NOISE * rng.normal(size=m.nv)
    return other


def converged(m: mujoco.MjModel) -> mujoco.MjModel:
    """The same model with the solver run to convergence."""
    other = copy.copy(m)
    other.opt.solver, other.opt.iterations, other.opt.ls_iterations, other.opt.tolerance = 2, 200, 100, 1e-12
    return other


def forward(m: mujoco.MjModel, state: mujoco.MjData) -> Answer:
    """Forward dynamics in a state and its neighbours."""
    exact = converged(m)
    d, best = copy.copy(state), copy.copy(state)
    near = [disturbed(m, state, trial) for trial in range(TRIALS)]
    far = [disturbed(m, state, trial) for trial in range(TRIALS)]
    for model, several in ((m, [d, *near]), (exact, [best, *far])):
        for data in several:
            mujoco.mj_forward(model, data)
    return Answer(d, best, near, far)


def rollout(
    m: mujoco.MjModel, state: mujoco.MjData, horizons: list[int], *, rounding: bool = False
) -> dict[int, tuple[np.ndarray, np.ndarray]] | None:
    """qpos and qvel after some numbers of steps, rounded to float32 at every step if asked; None: MuJoCo lost it."""
    d = copy.copy(state)
    found = {}
    for step in range(1, max(horizons) + 1):
        mujoco.mj_step(m, d)
        if rounding:
            d.qpos[:], d.qvel[:] = d.qpos.astype(np.float32), d.qvel.astype(np.float32)
        if lost(d):
            return None
        if step in horizons:
            found[step] = (d.qpos.copy(), d.qvel.copy())
    return found
