"""Compare the engine with MuJoCo in a contact-rich state, and over rollouts from it, soundly for float32.

    tolerance = rtol x scale + 3 x how far MuJoCo's own answer moves when its inputs are disturbed

Inputs are the state, disturbed by 1e-6, and the lengths and amounts of the model, disturbed by as much as float32
rounds them and the world coordinates they lead to: what cancels in MuJoCo's doubles need not cancel below that in
floats. Scale is the largest number of the field, and for positions the extent of the model if that is larger. What the
solver decides may match MuJoCo at the model's own iterations or at convergence. Contacts are matched by geom pair and
nearness; rows by sums that know no order (diag J'DJ, J'D aref). Rollouts are scored only while MuJoCo agrees with
itself under noise of float32's size.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import mujoco
import numpy as np

from tests.convex.stage_harness import dense_jacobian

from .staged import StagedEngine

KINEMATICS = (
    "xpos", "xmat", "xipos", "ximat", "xanchor", "xaxis", "geom_xpos", "geom_xmat", "site_xpos", "site_xmat",
    "cam_xpos", "cam_xmat", "light_xpos", "light_xdir", "subtree_com", "cdof", "ten_length", "actuator_length",
)  # fmt: skip
POSITIONS = ("xpos", "xipos", "xanchor", "geom_xpos", "site_xpos", "cam_xpos", "light_xpos", "subtree_com")
FORCES = (
    "M", "cvel", "ten_velocity", "actuator_velocity", "qfrc_bias", "qfrc_passive", "qfrc_actuator", "actuator_force",
    "act_dot", "qfrc_gravcomp", "qfrc_fluid", "qfrc_smooth",
)  # fmt: skip
RTOL = {**dict.fromkeys(KINEMATICS, 1e-4), **dict.fromkeys(FORCES, 1e-3), "qacc_smooth": 2e-3}
CONTACT_SIDE = 5e-3
ROLLOUT = {1: 1e-4, 10: 1e-3, 100: 1e-2}
STATE = ("qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat", "eq_active", "qacc_warmstart", "time", "history",
         "plastic")  # fmt: skip
LOST = [int(getattr(mujoco.mjtWarning, f"mjWARN_{name}")) for name in ("BADQPOS", "BADQVEL", "BADQACC")]
NOISE, TRIALS, SEARCH_STEPS = 1e-6, 3, 300
ROUNDING = 2.0**-23  # of float32
LENGTHS = ("body_pos", "body_ipos", "jnt_pos", "geom_pos", "site_pos", "cam_pos")
AMOUNTS = ("body_mass", "body_inertia", "dof_armature", "geom_size", "actuator_gainprm", "actuator_biasprm")
CONTACT_PARAMETERS = ("includemargin", "friction", "solref", "solreffriction", "solimp", "dim")
FULL_STATE = int(mujoco.mjtState.mjSTATE_INTEGRATION)


@dataclass
class Score:
    """What was compared, and what of it does not conform."""

    compared: set[str] = field(default_factory=set)
    wrong: dict[str, str] = field(default_factory=dict)

    def check(self, name: str, ours, theirs, rtol: float, slack=0.0, *, alternative=None, scale: float = 0.0) -> None:
        """Count a field; slack is MuJoCo's own sensitivity, alternative another answer that is as good."""
        theirs = np.asarray(theirs, float)
        if not theirs.size:
            return
        self.compared.add(name)
        problem = _problem(np.asarray(ours, float), theirs, rtol, slack, scale)
        if problem and alternative is not None:
            problem = problem and _problem(np.asarray(ours, float), np.asarray(alternative, float), rtol, slack, scale)
        if problem:
            self.wrong[name] = problem


def _problem(ours: np.ndarray, theirs: np.ndarray, rtol: float, slack: float, scale: float) -> str | None:
    if ours.size != theirs.size:
        return f"{ours.size} numbers, not {theirs.size}"
    ours = ours.reshape(theirs.shape)
    scale = max(scale, float(np.abs(theirs).max()))
    bound = rtol * scale + 3 * slack + 1e-9
    off = np.abs(ours - theirs)
    if np.all(off <= bound):
        return None
    at = np.unravel_index(np.argmax(np.nan_to_num(off, nan=np.inf)), off.shape)
    return f"{ours[at]:.6g}, not {theirs[at]:.6g} at {list(map(int, at))} (off by {off[at] / bound:.1f} bounds)"


# ---------------------------------------------------------------------------------------------- MuJoCo's side


def rich_state(m: mujoco.MjModel, seed: int = 0) -> mujoco.MjData:
    """The state with most constraint rows of a short run from a random start, rounded to float32."""
    rng = np.random.default_rng(seed)
    d = mujoco.MjData(m)
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, d, 0)
    mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 0.02)
    d.qvel[:] = rng.normal(size=m.nv) * 0.05
    d.ctrl[:] = _controls(m, rng, d.ctrl)
    best, state = -1, np.empty(mujoco.mj_stateSize(m, FULL_STATE))
    nstep = int(np.clip(20000 / max(m.nv, 1), 30, SEARCH_STEPS))
    for _ in range(nstep):
        mujoco.mj_step(m, d)
        if not np.isfinite(d.qacc).all() or any(d.warning[i].number for i in LOST):
            break
        if d.nefc + d.ncon > best:
            best = d.nefc + d.ncon
            mujoco.mj_getState(m, d, state, FULL_STATE)
    d = mujoco.MjData(m)
    if best >= 0:
        mujoco.mj_setState(m, d, state, FULL_STATE)
    for name in STATE:
        if name not in ("time", "history", "eq_active"):
            values = getattr(d, name)
            values[...] = values.astype(np.float32)
    mujoco.mj_forward(m, d)
    return d


def _controls(m: mujoco.MjModel, rng, default: np.ndarray) -> np.ndarray:
    """Controls a little off their defaults, within their ranges."""
    values = default + 0.1 * rng.normal(size=m.nu)
    low, high = np.full(m.nu, -np.inf), np.full(m.nu, np.inf)
    for i in range(m.nactuator):
        at = slice(m.actuator_ctrladr[i], m.actuator_ctrladr[i] + m.actuator_ctrlnum[i])
        if m.actuator_ctrllimited[i]:
            low[at], high[at] = m.actuator_ctrlrange[i].reshape(-1, 2)[0]
    return np.clip(values, low, high)


def disturbed(m: mujoco.MjModel, d: mujoco.MjData, trial: int) -> mujoco.MjData:
    """The same state with noise of float32's size."""
    rng = np.random.default_rng(100 + trial)
    other = copy.copy(d)
    mujoco.mj_integratePos(m, other.qpos, rng.normal(size=m.nv), NOISE)
    other.qvel[:] += rng.normal(size=m.nv) * NOISE
    return other


def rounded(m: mujoco.MjModel, d: mujoco.MjData, trial: int) -> mujoco.MjModel:
    """The same model with noise of float32's size; lengths are disturbed as much as world coordinates round."""
    rng = np.random.default_rng(200 + trial)
    other = copy.copy(m)
    size = np.abs(d.xipos).max(initial=0.0) + m.stat.extent
    for name in LENGTHS:
        values = getattr(other, name)
        values[:] += ROUNDING * (np.abs(values) + size) * rng.uniform(-1, 1, size=values.shape)
    for name in AMOUNTS:
        values = getattr(other, name)
        values[:] *= 1 + ROUNDING * rng.uniform(-1, 1, size=values.shape)
    return other


def steady(m: mujoco.MjModel, d: mujoco.MjData, near: list[mujoco.MjData]) -> list[mujoco.MjData]:
    """Trials in which as many contacts and rows exist: those at hand, and more if they are few."""

    def alike(o: mujoco.MjData) -> bool:
        return (o.ncon, o.nefc) == (d.ncon, d.nefc)

    found = [o for o in near if alike(o)]
    for trial in range(TRIALS, 8 * TRIALS):
        if len(found) >= TRIALS:
            break
        other = disturbed(m, d, trial)
        mujoco.mj_forward(rounded(m, d, trial), other)
        if alike(other):
            found.append(other)
    return found


def converged(m: mujoco.MjModel) -> mujoco.MjModel:
    """The same model with the solver run to convergence."""
    other = copy.copy(m)
    other.opt.solver, other.opt.iterations, other.opt.ls_iterations, other.opt.tolerance = 2, 200, 100, 1e-12
    return other


def row_sums(m: mujoco.MjModel, jacobian: np.ndarray, D: np.ndarray, aref: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """diag J'DJ and J'D aref: what the order of rows does not change."""
    return (jacobian**2 * D[:, None]).sum(0), jacobian.T @ (D * aref)


# ---------------------------------------------------------------------------------------------- comparison


def make_engine(m: mujoco.MjModel, d: mujoco.MjData) -> StagedEngine:
    """An engine of one world in MuJoCo's state."""
    engine = StagedEngine(m, nworld=1, device="cpu")
    put_state(engine, d)
    return engine


def put_state(engine, d: mujoco.MjData) -> None:
    for name in STATE:
        if np.size(getattr(d, name)):
            engine.write(name, getattr(d, name))


def compare_forward(m: mujoco.MjModel, d: mujoco.MjData, engine, score: Score) -> None:
    """All fields of forward dynamics."""
    exact = converged(m)
    best = copy.copy(d)
    mujoco.mj_forward(m, d)
    mujoco.mj_forward(exact, best)
    near = [disturbed(m, d, trial) for trial in range(TRIALS)]
    for trial, other in enumerate(near):
        mujoco.mj_forward(rounded(m, d, trial), other)
    far = [disturbed(exact, best, trial) for trial in range(TRIALS)]
    for trial, other in enumerate(far):
        mujoco.mj_forward(rounded(exact, d, trial), other)
    engine.forward()

    def slack(name):
        mine = np.asarray(getattr(d, name), float)
        return max([np.abs(np.asarray(getattr(o, name), float) - mine).max(initial=0.0) for o in near], default=0.0)

    for name, rtol in RTOL.items():
        if name in engine.layout.arrays and np.size(getattr(d, name)):
            scale = m.stat.extent if name in POSITIONS else 0.0
            score.check(name, engine.read(name)[0], getattr(d, name), rtol, slack(name), scale=scale)
    same = steady(m, d, near)
    compare_contacts(m, d, near, same, engine, score)
    compare_rows(m, d, near, same, engine, score)
    for name in ("qacc", "qfrc_constraint"):
        wobble = max([np.abs(getattr(o, name) - getattr(best, name)).max(initial=0.0) for o in far], default=0.0)
        score.check(name, engine.read(name)[0], getattr(d, name), CONTACT_SIDE, max(slack(name), wobble),
                    alternative=getattr(best, name))  # fmt: skip
    compare_sensors(m, d, best, [*near, *far], engine, score)


def compare_contacts(m, d, near, same, engine, score: Score) -> None:
    """Count, and what matched contacts are."""
    count = int(engine.read("ncon")[0])
    score.compared.add("ncon")
    if count != d.ncon:
        if count not in {o.ncon for o in near}:
            pairs = [tuple(sorted(map(int, g))) for g in engine.read("contact_geom")[0][:count]]
            want = [tuple(sorted(map(int, g))) for g in d.contact.geom]
            odd = sorted({p for p in [*pairs, *want] if pairs.count(p) != want.count(p)})[:3]
            kinds = [
                f"{mujoco.mjtGeom(m.geom_type[a]).name[7:]}-{mujoco.mjtGeom(m.geom_type[b]).name[7:]} {(a, b)}: "
                f"{pairs.count((a, b))} not {want.count((a, b))}"
                for a, b in odd
            ]
            score.wrong["ncon"] = f"{count}, not {d.ncon}: {'; '.join(kinds)}"
        return
    if not count:
        return
    match = match_contacts(engine.read("contact_geom")[0][:count], engine.read("contact_pos")[0][:count], d)
    if match is None:
        score.wrong["contact_geom"] = "other geom pairs touch"
        return
    size = float(np.abs(d.contact.pos).max() + m.stat.extent)
    moved = {
        name: max([np.abs(np.asarray(getattr(o.contact, name)) - getattr(d.contact, name)).max() for o in same],
                  default=np.inf)
        for name in ("dist", "pos", "frame")
    }  # fmt: skip
    ours = {name: engine.read(f"contact_{name}")[0][match] for name in (*moved, *CONTACT_PARAMETERS, "exclude")}
    score.check("contact_dist", ours["dist"], d.contact.dist, CONTACT_SIDE, moved["dist"] + 1e-6 * size)
    score.check("contact_pos", ours["pos"], d.contact.pos, 1e-4, moved["pos"], scale=size)
    score.check("contact_frame", ours["frame"].reshape(count, 9), d.contact.frame, CONTACT_SIDE, moved["frame"])
    for name in CONTACT_PARAMETERS:
        score.check(f"contact_{name}", ours[name], getattr(d.contact, name), 1e-5)
    theirs = np.where(np.asarray(d.contact.exclude) == 3, 0, d.contact.exclude)  # 3: no row, set while rows are made
    score.check("contact_exclude", ours["exclude"], theirs, 0)


def match_contacts(geom: np.ndarray, pos: np.ndarray, d: mujoco.MjData) -> np.ndarray | None:
    """For each of MuJoCo's contacts the nearest of ours between the same geoms, each used once."""
    free = list(range(len(geom)))
    order = []
    for i in range(d.ncon):
        same = [k for k in free if sorted(geom[k]) == sorted(d.contact.geom[i])]
        if not same:
            return None
        nearest = min(same, key=lambda k: np.linalg.norm(pos[k] - d.contact.pos[i]))
        free.remove(nearest)
        order.append(nearest)
    return np.array(order)


def engine_jacobian(m, engine) -> np.ndarray:
    """efc_J of the engine; columns outside the trees of a row are zero."""
    n = int(engine.read("nefc")[0])
    raw = engine.array("efc_J").numpy()[0][:n]
    trees = engine.array("efc_trees").numpy()[0][:n]
    full = np.zeros((n, m.nv))
    for r in range(n):
        for t in range(m.ntree) if trees[r][0] < 0 else [t for t in trees[r] if t >= 0]:
            at = slice(m.tree_dofadr[t], m.tree_dofadr[t] + m.tree_dofnum[t])
            full[r, at] = raw[r, at]
    return full


def compare_rows(m, d, near, same, engine, score: Score) -> None:
    """Numbers of rows, and their sums."""
    for name in ("ne", "nf", "nl", "nefc"):
        score.compared.add(name)
        mine = int(engine.read(name)[0])
        if mine != getattr(d, name) and mine not in {getattr(o, name) for o in near}:
            score.wrong[name] = f"{mine}, not {getattr(d, name)}"
    n = int(engine.read("nefc")[0])
    if n != d.nefc or not n:
        return
    ours = row_sums(m, engine_jacobian(m, engine), engine.array("efc_D").numpy()[0][:n].astype(float),
                    engine.array("efc_aref").numpy()[0][:n].astype(float))  # fmt: skip
    theirs = row_sums(m, dense_jacobian(m, d), d.efc_D, d.efc_aref)
    others = [row_sums(m, dense_jacobian(m, o), o.efc_D, o.efc_aref) for o in same]
    for k, name in enumerate(("J'DJ", "J'D aref")):
        slack = max([np.abs(o[k] - theirs[k]).max() for o in others], default=0.0)
        score.check(name, ours[k], theirs[k], CONTACT_SIDE, slack)


def compare_sensors(m, d, best, near, engine, score: Score) -> None:
    """Readings, each kind of sensor against its own scale."""
    if not m.nsensordata:
        return
    ours = engine.read("sensordata")[0]
    for kind in np.unique(m.sensor_type):
        at = np.concatenate([np.arange(m.sensor_adr[i], m.sensor_adr[i] + m.sensor_dim[i])
                             for i in np.flatnonzero(m.sensor_type == kind)])  # fmt: skip
        slack = max(min(np.abs(o.sensordata[at] - b.sensordata[at]).max(initial=0.0) for b in (d, best)) for o in near)
        name = f"sensor {mujoco.mjtSensor(kind).name[7:].lower()}"
        score.check(name, ours[at], d.sensordata[at], CONTACT_SIDE, slack, alternative=best.sensordata[at])


def rollout(m: mujoco.MjModel, d: mujoco.MjData, rounding: bool = False) -> dict[int, np.ndarray] | None:
    """qpos and qvel after some numbers of steps; None if MuJoCo loses the state."""
    d = copy.copy(d)
    states = {}
    for step in range(1, max(ROLLOUT) + 1):
        mujoco.mj_step(m, d)
        if rounding:
            d.qpos[:], d.qvel[:] = d.qpos.astype(np.float32), d.qvel.astype(np.float32)
        if step in ROLLOUT:
            states[step] = np.concatenate([d.qpos, d.qvel])
        if any(d.warning[i].number for i in LOST):
            return None
    return states


def compare_rollout(m: mujoco.MjModel, d: mujoco.MjData, engine, score: Score) -> None:
    """qpos and qvel after 1, 10 and 100 steps, while MuJoCo agrees with itself."""
    exact = converged(m)
    answers = [rollout(m, d), rollout(exact, d)]
    trials = [rollout(m, disturbed(m, d, t)) for t in range(TRIALS)] + [rollout(m, d, rounding=True)]
    if any(run is None for run in (answers[0], *trials)):
        return
    others = [run for run in (rollout(rounded(m, d, t), d) for t in range(TRIALS)) if run is not None]
    put_state(engine, d)
    done = 0
    for horizon, rtol in ROLLOUT.items():
        engine.step(horizon - done)
        done = horizon
        mine = np.concatenate([engine.read("qpos")[0], engine.read("qvel")[0]])
        verdict = Score()
        for name, part in (("qpos", slice(0, m.nq)), ("qvel", slice(m.nq, None))):
            theirs = answers[0][horizon][part]
            scale = np.abs(theirs).max(initial=0.0)
            slack = max(np.abs(run[horizon][part] - theirs).max(initial=0.0) for run in trials)
            if slack > rtol * max(scale, 1e-3):
                return  # from here on chance decides
            slack = max([slack, *(np.abs(run[horizon][part] - theirs).max(initial=0.0) for run in others)])
            other = answers[1][horizon][part] if answers[1] else None
            verdict.check(name, mine[part], theirs, rtol, slack, alternative=other, scale=1e-3)
        score.compared.add(f"rollout {horizon}")
        if verdict.wrong:
            score.wrong[f"rollout {horizon}"] = "; ".join(f"{k}: {v}" for k, v in verdict.wrong.items())


def compare(m: mujoco.MjModel, *, ours: mujoco.MjModel | None = None) -> Score:
    """Forward fields and rollouts of one model; the engine may be given another, to see whether that is noticed."""
    score = Score()
    d = rich_state(m)
    engine = make_engine(ours or m, d)
    compare_forward(m, d, engine, score)
    if m.nv:
        compare_rollout(m, d, engine, score)
    return score
