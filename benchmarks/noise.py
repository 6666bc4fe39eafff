"""Worlds that have parted: each has its own noise on the controls, and so its own contacts and its own iterations.

Equal worlds flatter whoever runs neighbouring worlds side by side. The noise wanders about a centre, the keyframe's
control or a recorded sequence (NAME.npy beside NAME.mjb, a row a step), and forgets within a tenth of a second:

    c <- rate c + (1 - rate) centre + spread u,    rate = exp(-timestep / 0.1),  u uniform in -1 .. 1

A control is held for HOLD steps, as policies do; for HOLD_ONE where there is one world, whose steps are so short that a
call would cost as much as they do (what calls cost is measured elsewhere). Worlds start where WARM_UP such steps have
brought them, in MuJoCo.
"""

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import warp as wp
from mujoco import rollout

HOLD, HOLD_ONE = 10, 100
WARM_UP = 200
STARTS = 256  # worlds that are let part; more begin where these do
FIELDS = ("qpos", "qvel", "act", "ctrl", "qacc_warmstart", "mocap_pos", "mocap_quat")
FULL = mujoco.mjtState.mjSTATE_FULLPHYSICS


@dataclass
class Parted:
    """What worlds start from and what they are told.

    Attributes:
        state: [world, ...] MuJoCo's full physics state.
        warm: [world, nv] accelerations of the step before.
        control: [world, step, nu], the same for `hold` steps.
        hold: Steps a control is held for.
    """

    state: np.ndarray
    warm: np.ndarray
    control: np.ndarray
    hold: int

    def data(self, m: mujoco.MjModel, world: int = 0) -> mujoco.MjData:
        """One of the worlds."""
        d = mujoco.MjData(m)
        mujoco.mj_setState(m, d, self.state[world], FULL)
        d.qacc_warmstart[:] = self.warm[world]
        d.ctrl[:] = self.control[world, 0]
        return d

    def fields(self, m: mujoco.MjModel) -> dict[str, np.ndarray]:
        """The states under mjData's names: [world, ...]."""
        worlds = [self.data(m, w) for w in range(len(self.state))]
        stacked = {name: np.stack([getattr(d, name) for d in worlds]) for name in FIELDS}
        return {name: value for name, value in stacked.items() if value.size}

    def on_device(self, device: str) -> list[wp.array]:
        """The controls as arrays [world, nu], one for every `hold` steps; none where nothing is controlled."""
        if not self.control.size:
            return []
        changes = range(0, self.control.shape[1], self.hold)
        return [wp.array(self.control[:, k], dtype=float, device=device) for k in changes]


def controls(m: mujoco.MjModel, centre: np.ndarray, worlds: int, steps: int, hold: int) -> np.ndarray:
    """[world, step, nu] controls that wander about centre, [step, nu]."""
    rate = np.exp(-hold * m.opt.timestep / 0.1)
    limited = np.repeat(np.asarray(m.actuator_ctrllimited, bool), np.asarray(m.actuator_ctrlnum))
    bounds = np.asarray(m.actuator_ctrlrange).reshape(-1, 2)
    bounds = bounds if len(bounds) == m.nu else np.repeat(bounds, np.asarray(m.actuator_ctrlnum), axis=0)
    low, high = np.where(limited, bounds[:, 0], -1e6), np.where(limited, bounds[:, 1], 1e6)
    spread = 0.3 * np.sqrt(1 - rate**2) * 0.5 * (np.minimum(high, 1) - np.maximum(low, -1))
    random = np.random.default_rng(1)
    made, now = np.empty((worlds, steps, m.nu)), np.tile(centre[0], (worlds, 1))
    for k in range(steps):
        if k % hold == 0:
            middle = centre[min(k, len(centre) - 1)]
            now = rate * now + (1 - rate) * middle + spread * random.uniform(-1, 1, (worlds, m.nu))
            now = np.clip(now, low, high)
        made[:, k] = now
    return made


def recorded(source: str, m: mujoco.MjModel, d: mujoco.MjData) -> np.ndarray:
    """The sequence of controls beside a model file, or the control of a state: [step, nu]."""
    sequence = Path(source).with_suffix(".npy") if source.endswith(".mjb") else None
    return np.load(sequence) if sequence and sequence.exists() else np.array(d.ctrl)[None]


def part(m: mujoco.MjModel, worlds: int, steps: int, source: str = "", threads: int = 2) -> Parted:
    """Let worlds part for WARM_UP steps, each from the same keyframe, and choose their controls for `steps` more."""
    d = mujoco.MjData(m)
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, d, 0)
    d.qvel[:] += 0.1 * np.random.default_rng(0).normal(size=m.nv)
    centre = recorded(source, m, d)
    state = np.empty(mujoco.mj_stateSize(m, FULL))
    mujoco.mj_getState(m, d, state, FULL)
    hold = HOLD if worlds > 1 else HOLD_ONE
    told = controls(m, centre, worlds, WARM_UP + steps, hold)
    starts = min(worlds, STARTS)
    data = [mujoco.MjData(m) for _ in range(threads)]
    with rollout.Rollout(nthread=threads) as pool:
        states, _ = pool.rollout(m, data, np.tile(state, (starts, 1)), told[:starts, :WARM_UP], nstep=WARM_UP)
    warm = np.empty((starts, m.nv))
    for w in range(starts):
        mujoco.mj_setState(m, d, states[w, -1], FULL)
        d.ctrl[:] = told[w, WARM_UP]
        mujoco.mj_forward(m, d)
        warm[w] = d.qacc
    begins_at = np.arange(worlds) % starts
    return Parted(states[begins_at, -1], warm[begins_at], np.ascontiguousarray(told[:, WARM_UP:]), hold)
