"""MuJoCo's answers, and how far they can be trusted.

A comparison of float32 with float64 is fair only up to how far MuJoCo's own answer moves under noise of float32's size:
the state disturbed by 1e-6, and the lengths, turns and amounts of the model by as much as float32 rounds them and the
world coordinates they lead to, since what cancels in MuJoCo's doubles need not cancel below that in floats. Margins
are raised in one trial and lowered in another, so that what just touches is known to come and go. And it means
something only where that noise is small beside the tolerance: an answer that moves by more than LOOSE tolerances is
not compared, and whoever asks is told so. What a solver decides comes twice: at the model's own number of iterations,
and converged.
"""

from __future__ import annotations

import copy
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import mujoco
import numpy as np

from kinema.cli.controls import control_range

NOISE, TRIALS, SEARCH_STEPS = 1e-6, 3, 300
ROUNDING = 2.0**-23  # of float32
MARGINS = (1.0, -1.0, 0.0)
"""Which way margins go in each trial."""
LOOSE = 10.0
"""Noise may widen a tolerance by at most so many times it; past that MuJoCo does not agree with itself."""

FLOOR = 1e-9
"""Differences below this are rounding, whatever the scale."""

SMALL = 1e-3
"""Numbers below this are small in any unit: noise in them is judged by it."""

POSITIONS = ("xpos", "xipos", "xanchor", "geom_xpos", "site_xpos", "cam_xpos", "light_xpos", "subtree_com")
TERMS = ("qfrc_bias", "qfrc_passive", "qfrc_actuator", "qfrc_gravcomp", "qfrc_fluid", "qfrc_smooth")
TURNS = ("body_quat", "body_iquat", "geom_quat", "site_quat", "cam_quat", "jnt_axis")
LENGTHS = ("body_pos", "body_ipos", "jnt_pos", "geom_pos", "site_pos", "cam_pos")
AMOUNTS = ("body_mass", "body_inertia", "dof_armature", "geom_size", "actuator_gainprm", "actuator_biasprm")
DISTANCES, LIMITS = ("geom_margin", "pair_margin"), ("jnt", "tendon")
"""What decides which contacts and limits there are."""
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
        near, far: Both, under noise in the state and the model.
    """

    d: mujoco.MjData
    best: mujoco.MjData
    near: list[mujoco.MjData]
    far: list[mujoco.MjData]

    def slack(self, name: str) -> float:
        """How far a field moves under noise."""
        return spread(name, self.d, self.near)

    def solved(self, name: str, at=slice(None)) -> list[tuple[np.ndarray, float]]:
        """What the solver decides, at the model's own iterations and at convergence, and how far noise moves each."""
        return [
            (np.asarray(getattr(center, name), float)[at], spread(name, center, others, at))
            for center, others in ((self.d, self.near), (self.best, self.far))
        ]

    @property
    def same_contacts(self) -> bool:
        """Do the same pairs of geoms touch, equally often, whatever the noise?"""
        return all(touching(o) == touching(self.d) for o in self.near)

    def moved(self, name: str) -> float:
        """How far a field of contacts moves under noise, contact by contact, where the same pairs touch."""
        values = np.asarray(getattr(self.d.contact, name), float)
        found = 0.0
        for other in self.near:
            order = match_contacts(other.contact.geom, other.contact.pos, self.d)
            theirs = np.asarray(getattr(other.contact, name), float)[order]
            found = max(found, float(np.abs(theirs - values).max(initial=0.0)))
        return found


def spread(name: str, center: mujoco.MjData, others: list[mujoco.MjData], at=slice(None)) -> float:
    """The largest difference of a field, or of a part of it, between one answer and others."""
    values = np.asarray(getattr(center, name), float)[at]
    return max(float(np.abs(np.asarray(getattr(o, name), float)[at] - values).max(initial=0.0)) for o in others)


def touching(d: mujoco.MjData) -> Counter:
    """How often each pair of geoms touches."""
    return Counter(tuple(sorted(pair)) for pair in np.asarray(d.contact.geom).tolist())


def match_contacts(geom: np.ndarray, pos: np.ndarray, d: mujoco.MjData) -> np.ndarray | None:
    """For each of MuJoCo's contacts the nearest of ours between the same geoms, each used once; None: pairs differ."""
    free = list(range(len(geom)))
    order = []
    for i in range(d.ncon):
        same = [k for k in free if sorted(geom[k]) == sorted(d.contact.geom[i])]
        if not same:
            return None
        nearest = min(same, key=lambda k: float(np.linalg.norm(pos[k] - d.contact.pos[i])))
        free.remove(nearest)
        order.append(nearest)
    return np.array(order, dtype=int)


def lost(d: mujoco.MjData) -> bool:
    """Has MuJoCo given the state up?"""
    return any(d.warning[i].number for i in LOST) or not np.isfinite(d.qacc).all()


def natural_scale(m: mujoco.MjModel, d: mujoco.MjData, name: str) -> float:
    """The size that a field has where its terms do not cancel: what noise in it is judged by."""
    values = float(np.abs(np.asarray(getattr(d, name), float)).max(initial=SMALL))
    if name in POSITIONS:
        return max(values, float(m.stat.extent))
    if name.startswith("qfrc_"):
        return max(values, *(float(np.abs(getattr(d, term)).max(initial=0.0)) for term in TERMS))
    if name.startswith("qacc"):
        return float(np.abs(d.qacc).max(initial=0.0) + np.abs(d.qacc_smooth).max(initial=0.0))
    return values


def doubt(slack: float, tolerance: float) -> str | None:
    """Why an answer that moves so far under noise cannot be compared to this tolerance; None: it can."""
    if 3 * slack <= LOOSE * tolerance + FLOOR:
        return None
    return f"noise moves MuJoCo's own answer by {slack:.2g}, {3 * slack / max(tolerance, FLOOR):.0f} tolerances"


# ---------------------------------------------------------------------------------------------- states


def start(m: mujoco.MjModel, seed: int, *, speed: float = 0.05, spread: float = 0.02) -> mujoco.MjData:
    """The first keyframe, or the initial state, disturbed, moving, and with controls a little off their defaults."""
    rng = np.random.default_rng(seed)
    d = mujoco.MjData(m)
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, d, 0)
    mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), spread)
    d.qvel[:] = speed * rng.normal(size=m.nv)
    low, high = control_range(m)
    d.ctrl[:] = np.clip(d.ctrl + 0.1 * rng.normal(size=m.nu), low, high)
    return d


def rich_states(
    m: mujoco.MjModel, seed: int, *, parts: int = 1, speed: float = 0.05, spread: float = 0.02,
    seconds: float = np.inf,
) -> list[mujoco.MjData]:  # fmt: skip
    """Of each part of a short run from a random start the state with most constraint rows, rounded to float32.

    The run is cut short when it takes longer than some seconds of work.
    """
    begun = time.process_time()
    d = start(m, seed, speed=speed, spread=spread)
    nstep = int(np.clip(20000 / max(m.nv, 1), 30, SEARCH_STEPS))
    best = np.full(parts, -1)
    kept = np.empty((parts, mujoco.mj_stateSize(m, FULL_STATE)))
    for step in range(nstep):
        mujoco.mj_step(m, d)
        if lost(d) or time.process_time() - begun > seconds:
            break
        part = step * parts // nstep
        if d.nefc + d.ncon > best[part]:
            best[part] = d.nefc + d.ncon
            mujoco.mj_getState(m, d, kept[part], FULL_STATE)
    return [restored(m, kept[part]) for part in range(parts) if best[part] >= 0] or [restored(m)]


def rich_state(m: mujoco.MjModel, seed: int) -> mujoco.MjData:
    """The state with most constraint rows of a short run from a random start, rounded to float32."""
    return rich_states(m, seed)[0]


def restored(m: mujoco.MjModel, state: np.ndarray | None = None) -> mujoco.MjData:
    """A state as an array made data again, with every number rounded to float32; None: the initial state."""
    d = mujoco.MjData(m)
    if state is not None:
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
    other.act[:] += NOISE * rng.normal(size=m.na)
    return other


# ---------------------------------------------------------------------------------------------- models


def rounded(m: mujoco.MjModel, d: mujoco.MjData, trial: int) -> mujoco.MjModel:
    """The same model with noise of float32's size; lengths are disturbed as much as world coordinates round."""
    rng = np.random.default_rng(200 + trial)
    other = copy.copy(m)
    size = np.abs(d.xipos).max(initial=0.0) + m.stat.extent
    for name in LENGTHS:
        values = getattr(other, name)
        values[:] += ROUNDING * (np.abs(values) + size) * rng.uniform(-1, 1, size=values.shape)
    for name in TURNS:
        values = getattr(other, name)
        values[:] += ROUNDING * rng.uniform(-1, 1, size=values.shape)
    for name in AMOUNTS:
        values = getattr(other, name)
        values[:] *= 1 + ROUNDING * rng.uniform(-1, 1, size=values.shape)
    way = MARGINS[trial % len(MARGINS)]
    for name in DISTANCES:
        getattr(other, name)[:] += way * ROUNDING * size
    for kind in LIMITS:
        largest = np.abs(getattr(m, f"{kind}_range")).max(axis=1, initial=0.0)
        getattr(other, f"{kind}_margin")[:] += way * ROUNDING * largest
    for f in range(m.nflex):
        _move_vertices(other, f, ROUNDING * size, rng)
    return other


def _move_vertices(m: mujoco.MjModel, f: int, size: float, rng: np.random.Generator) -> None:
    """Vertices of a flex elsewhere by so much: on their bodies, or in the lattice of nodes, whose box is 1 wide."""
    mine = slice(int(m.flex_vertadr[f]), int(m.flex_vertadr[f]) + int(m.flex_vertnum[f]))
    noise = size * rng.uniform(-1, 1, size=(int(m.flex_vertnum[f]), 3))
    if m.flex_interp[f]:
        nodes = m.flex_node0[int(m.flex_nodeadr[f]) :][: int(m.flex_nodenum[f])]
        m.flex_vert0[mine] = np.clip(m.flex_vert0[mine] + noise / np.maximum(np.ptp(nodes, axis=0), SMALL), 0.0, 1.0)
    elif not m.flex_centered[f]:
        m.flex_vert[mine] += noise


def converged(m: mujoco.MjModel) -> mujoco.MjModel:
    """The same model with the solver run to convergence."""
    other = copy.copy(m)
    other.opt.solver, other.opt.iterations, other.opt.ls_iterations, other.opt.tolerance = 2, 200, 100, 1e-12
    return other


def _to_the_end(run: Callable[[mujoco.MjModel, mujoco.MjData], None], m: mujoco.MjModel, d: mujoco.MjData) -> None:
    """Forward dynamics, or a step, of a model whose solver is to converge.

    Newton's method of MuJoCo may stall short of the minimum, among hundreds of stiff rows: conjugate gradients, which
    get there, then do it over.
    """
    before = np.empty(mujoco.mj_stateSize(m, FULL_STATE))
    mujoco.mj_getState(m, d, before, FULL_STATE)
    run(m, d)
    if np.max(d.solver_niter) >= m.opt.iterations:
        other = copy.copy(m)
        other.opt.solver, other.opt.iterations, other.opt.tolerance = 1, 5000, 1e-14
        mujoco.mj_setState(m, d, before, FULL_STATE)
        run(other, d)


# ---------------------------------------------------------------------------------------------- answers


def forward(m: mujoco.MjModel, state: mujoco.MjData, *, exact: bool = True) -> Answer:
    """Forward dynamics in a state, and under noise; without `exact` not at convergence."""
    d, near = _trials(m, state, mujoco.mj_forward)
    best, far = _trials(converged(m), state, partial(_to_the_end, mujoco.mj_forward)) if exact else (d, near)
    return Answer(d, best, near, far)


def _trials(
    m: mujoco.MjModel, state: mujoco.MjData, run: Callable[[mujoco.MjModel, mujoco.MjData], None]
) -> tuple[mujoco.MjData, list[mujoco.MjData]]:
    d = copy.copy(state)
    run(m, d)
    others = [disturbed(m, state, trial) for trial in range(TRIALS)]
    for trial, other in enumerate(others):
        run(rounded(m, d, trial), other)
    return d, others


def rollout(
    m: mujoco.MjModel, state: mujoco.MjData, horizons: list[int], *, rounding: bool = False, exact: bool = False
) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """qpos and qvel after some numbers of steps, until MuJoCo loses it.

    Args:
        rounding: Round the state to float32 at every step.
        exact: With the solver run to convergence, whatever the model says.
    """
    if exact:
        m = converged(m)
    d = copy.copy(state)
    found = {}
    for step in range(1, max(horizons) + 1):
        if exact:
            _to_the_end(mujoco.mj_step, m, d)
        else:
            mujoco.mj_step(m, d)
        if rounding:
            d.qpos[:], d.qvel[:] = d.qpos.astype(np.float32), d.qvel.astype(np.float32)
        if lost(d):
            break
        if step in horizons:
            found[step] = (d.qpos.copy(), d.qvel.copy())
    return found
