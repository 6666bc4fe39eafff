"""Run Kinema and MuJoCo side by side from random states, contacts and constraints off, and list what does not agree.

    field     |ours - theirs| <= rtol x scale + 3 x how far MuJoCo moves when the state moves by 1e-6, and the model as
              much as float32 rounds it (dynamics.py)
    rollout   the same at steps 1, 10 and 100, as long as MuJoCo agrees with itself under noise of float32's size
"""

from __future__ import annotations

import mujoco
import numpy as np

from kinema.cli.oracle import lost, rounded

from .staged import StagedEngine

STATES, NOISE, TRIALS = 3, 1e-6, 3
RTOL = {
    1e-4: (
        "xpos", "xquat", "xmat", "xipos", "ximat", "xanchor", "xaxis", "geom_xpos", "geom_xmat", "site_xpos",
        "site_xmat", "cam_xpos", "cam_xmat", "light_xpos", "light_xdir", "subtree_com", "cdof", "cinert",
        "ten_length", "ten_J", "actuator_length", "cvel", "cdof_dot", "ten_velocity", "actuator_velocity",
    ),
    1e-3: (
        "crb", "M", "qfrc_bias", "qfrc_spring", "qfrc_damper", "qfrc_gravcomp", "qfrc_fluid", "qfrc_passive",
        "actuator_force", "qfrc_actuator", "qfrc_smooth", "act_dot", "sensordata",
    ),
    2e-3: ("qacc_smooth",),
}  # fmt: skip
STEPS = {1: 1e-4, 10: 1e-3, 100: 1e-2}
INPUTS = ("qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat")


def smooth(m: mujoco.MjModel) -> mujoco.MjModel:
    """Switch contacts and constraints off."""
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT) | int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    return m


def random_state(m: mujoco.MjModel, seed: int) -> mujoco.MjData:
    rng = np.random.default_rng(seed)
    d = mujoco.MjData(m)
    if m.nkey and seed:
        mujoco.mj_resetDataKeyframe(m, d, 0)
    mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 0.2)
    d.qvel[:] = rng.normal(size=m.nv) * 0.2
    d.act[:] = rng.uniform(size=m.na) * 0.5
    low, high = m.actuator_ctrlrange.T if m.nu else (np.zeros(0), np.zeros(0))
    bounded = m.actuator_ctrllimited.astype(bool)
    d.ctrl[:] = np.where(bounded, rng.uniform(np.where(bounded, low, -1), np.where(bounded, high, 1)), 0.3)
    return d


def disturbed(m: mujoco.MjModel, d: mujoco.MjData, trial: int = 0) -> mujoco.MjData:
    """The same state, moved by noise of float32's size."""
    rng = np.random.default_rng(9 + trial)
    other = mujoco.MjData(m)
    for name in INPUTS:
        getattr(other, name)[:] = getattr(d, name)
    mujoco.mj_integratePos(m, other.qpos, rng.choice([-1.0, 1.0], size=m.nv), NOISE)
    other.qvel[:] += rng.choice([-1.0, 1.0], size=m.nv) * NOISE
    return other


def disagreements(m: mujoco.MjModel, *, ours=None, unscored: dict[str, str] | None = None) -> dict[str, str]:
    """Fields and rollouts in which Kinema, running `ours` or the same model, differs from MuJoCo, with an example.

    What could not be scored in any state is put into `unscored`, with why.
    """
    states = [random_state(m, seed) for seed in range(STATES)]
    engine = StagedEngine(ours or m, STATES, device="cpu")
    for name in INPUTS:
        if np.size(getattr(states[0], name)):
            engine.write(name, np.stack([getattr(d, name) for d in states]))
    noisy = [disturbed(m, d) for d in states]
    for d in (*states, *noisy):
        mujoco.mj_forward(m, d)
    near = [[disturbed(m, d, trial) for trial in range(TRIALS)] for d in states]
    for d, trials in zip(states, near, strict=True):
        for trial, other in enumerate(trials):
            mujoco.mj_forward(rounded(m, d, trial), other)
    engine.forward()
    found: dict[str, str] = {}
    for rtol, names in RTOL.items():
        for name in names:
            for world, (d, others) in enumerate(zip(states, near, strict=True)):
                moved = [getattr(other, name) for other in others]
                _compare(found, name, engine.read(name)[world], getattr(d, name), moved, rtol)
    done = 0
    scored: set[str] = set()
    doubts: dict[str, str] = {}
    for steps, rtol in STEPS.items():
        for d in (*states, *noisy):
            mujoco.mj_step(m, d, nstep=steps - done)
        engine.step(steps - done)
        done = steps
        for world, (d, other) in enumerate(zip(states, noisy, strict=True)):
            why = _chance(d, other)
            if why:
                doubts.setdefault(f"{steps} steps", why)
                continue
            scored.add(f"{steps} steps")
            for name in ("qpos", "qvel", "act"):
                ours = engine.read(name)[world]
                moved = [getattr(other, name)]
                _compare(found, name, ours, getattr(d, name), moved, rtol, f"{name} after {steps} steps")
    if unscored is not None:
        unscored.update({label: why for label, why in doubts.items() if label not in scored})
    return found


def _chance(d: mujoco.MjData, other: mujoco.MjData) -> str | None:
    """Why a run of MuJoCo's cannot be followed; None: it can."""
    if lost(d):
        return "MuJoCo loses the state"
    apart = np.abs(d.qvel - other.qvel).max(initial=0)
    return f"noise moves MuJoCo's own qvel by {apart:.2g}" if apart > 1e-2 else None


def _compare(found, name, ours, theirs, others, rtol, label: str | None = None) -> None:
    theirs = np.asarray(theirs, dtype=float)
    if theirs.size == 0 or (label or name) in found:
        return
    if ours.shape != theirs.shape:
        found[label or name] = f"shape {ours.shape}, not {theirs.shape}"
        return
    scale = max(np.abs(theirs).max(), 1e-3)
    allowed = rtol * scale + 3 * np.max([np.abs(theirs - other) for other in others], axis=0)
    worst = np.unravel_index(np.argmax(np.abs(ours - theirs) - allowed), theirs.shape)
    if not np.abs(ours[worst] - theirs[worst]) <= allowed[worst]:
        place = ", ".join(map(str, worst))
        found[label or name] = f"[{place}] {ours[worst]:.6g}, not {theirs[worst]:.6g} (scale {scale:.3g})"
