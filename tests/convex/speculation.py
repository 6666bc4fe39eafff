"""Scenes for speculative contacts, and MuJoCo beside the engine on many states of one.

A state is judged only where MuJoCo agrees with itself: its contacts are computed again after noise of float32's size in
the state, and what changes by more than that explains is ambiguous (a grazing impact, a tie between two faces) and left
out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import mujoco
import numpy as np

from kinema.convex.engine import Engine

NOISE = 1e-6
ROCK = np.random.default_rng(0).normal(size=(24, 3))
ROCK = ROCK / np.linalg.norm(ROCK, axis=1, keepdims=True) * [0.06, 0.09, 0.04]
CUBE = np.array([[x, y, z] for x in (-0.05, 0.05) for y in (-0.08, 0.08) for z in (-0.03, 0.03)])


def numbers(values) -> str:
    return " ".join(f"{x:.6g}" for x in np.ravel(values))


ASSET = f'<mesh name="rock" vertex="{numbers(ROCK)}"/><mesh name="cube" vertex="{numbers(CUBE)}"/>'
FLYING = {
    "sphere": 'type="sphere" size=".05"',
    "capsule": 'type="capsule" size=".03 .08"',
    "ellipsoid": 'type="ellipsoid" size=".08 .05 .03"',
    "cylinder": 'type="cylinder" size=".05 .06"',
    "box": 'type="box" size=".08 .05 .03"',
    "rock": 'type="mesh" mesh="rock"',
    "cube": 'type="mesh" mesh="cube"',
}
PLATE = 'type="box" size="1 .8 .01"'


def model(world: str, bodies: list[str], *, option: str = "", flag: str = "", geom: str = "", tail: str = ""):
    """Bodies, each the inside of a <body> with a free joint, and geoms of the world."""
    free = "".join(f"<body><freejoint/>{inside}</body>" for inside in bodies)
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep=".01" {option}><flag speculative="enable" {flag}/></option><asset>{ASSET}</asset>'
        f"<default><geom {geom}/></default><worldbody>{world}{free}</worldbody>{tail}</mujoco>"
    )


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def approaching(m, rng, n: int, *, far: float = 0.4, speed: float = 60.0, spin: float = 20.0) -> tuple:
    """(n, nq), (n, nv) states of free bodies around the origin, most of which fly towards it or fall."""
    free = m.nq // 7
    qpos, qvel = np.zeros((n, free, 7)), np.zeros((n, free, 6))
    qpos[..., 3:] = unit(rng.normal(size=(n, free, 4)))
    aligned = rng.random((n, free)) < 0.3
    nearly = unit(np.array([1.0, 0, 0, 0]) + 0.01 * rng.normal(size=(n, free, 4)) * (rng.random((n, free, 1)) < 0.7))
    qpos[aligned, 3:] = nearly[aligned]
    away = unit(rng.normal(size=(n, free, 3)))
    away[..., 2] = np.abs(away[..., 2])
    qpos[..., :3] = away * rng.uniform(0.15, far, size=(n, free, 1))
    towards = -away + 0.3 * rng.normal(size=away.shape)
    qvel[..., :3] = towards * rng.uniform(0.0, speed, size=(n, free, 1))
    qvel[..., 3:] = rng.normal(size=(n, free, 3)) * spin * rng.choice([0.0, 0.1, 1.0], size=(n, free, 1))
    return qpos.reshape(n, -1), qvel.reshape(n, -1)


def table(m, d) -> np.ndarray:
    """Contacts of MuJoCo as rows: geoms, dim, exclude, margin, distance, place, frame."""
    c = d.contact
    if not d.ncon:
        return np.zeros((0, 18))
    kind = np.stack([c.geom[:, 0], c.geom[:, 1], c.dim, c.exclude, c.includemargin, c.dist], axis=1)
    return np.hstack([kind, c.pos, c.frame.reshape(-1, 9)])


def rows(d) -> np.ndarray:
    """Rows of MuJoCo: kind, position, margin, velocity, reference acceleration, regularization."""
    return np.stack([d.efc_type, d.efc_pos, d.efc_margin, d.efc_vel, d.efc_aref, d.efc_R], axis=1)


def theirs(m, qpos, qvel) -> tuple[np.ndarray, np.ndarray]:
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:] = qpos, qvel
    mujoco.mj_forward(m, d)
    return table(m, d), rows(d)


def ours(m, qpos, qvel, make=Engine) -> list[tuple[np.ndarray, np.ndarray]]:
    """The same of all states from one engine."""
    n = len(qpos)
    engine = make(m, n, device="cpu", nconmax=60)
    engine.write("qpos", qpos), engine.write("qvel", qvel)
    engine.forward()
    con = {name: engine.read(f"contact_{name}") for name in
           ("geom", "dim", "exclude", "includemargin", "dist", "pos", "frame")}  # fmt: skip
    efc = {name: engine.read(f"efc_{name}") for name in ("type", "pos", "margin", "vel", "aref", "R")}
    found, nefc = engine.read("ncon").reshape(n), engine.read("nefc").reshape(n)
    flat = [con["geom"], con["dim"][..., None], con["exclude"][..., None], con["includemargin"][..., None],
            con["dist"][..., None], con["pos"], con["frame"].reshape(n, -1, 9)]  # fmt: skip
    contacts = np.concatenate(flat, axis=2, dtype=np.float64)
    lines = np.stack(list(efc.values()), axis=2).astype(np.float64)
    return [(contacts[w, : found[w]], lines[w, : nefc[w]]) for w in range(n)]


@dataclass
class Score:
    """How states of one scene compare."""

    judged: int = 0
    agreed: int = 0
    ahead: int = 0  # of those judged, with contacts that nothing but speculation makes
    unstable: int = 0
    failures: list = field(default_factory=list)

    @property
    def fraction(self) -> float:
        return self.agreed / max(1, self.judged)


def off(got: np.ndarray, want: np.ndarray, slack: np.ndarray, tol: float) -> float:
    """The largest difference in bounds: tol of a column's scale, and three times what noise does to it."""
    if not len(want):
        return 0.0
    scale = np.maximum(1.0, np.abs(want).max(axis=0))
    return float((np.abs(got - want) / (tol * scale + 3 * slack)).max())


def matched(mine: tuple, want: tuple) -> tuple:
    """Contacts and rows with the contacts of each pair in MuJoCo's order, by place."""
    got, lines = mine
    order = []
    for row in want[0]:
        free = [k for k in range(len(got)) if k not in order and np.array_equal(got[k, :2], row[:2])]
        if not free:
            return mine
        order.append(min(free, key=lambda k: np.abs(got[k, 6:9] - row[6:9]).sum()))
    each = len(lines) // max(1, len(got))
    if not len(lines) or each * len(got) != len(lines):
        return got[order], lines
    return got[order], lines.reshape(len(got), each, -1)[order].reshape(lines.shape)


def compare(m, qpos, qvel, *, tol: float = 1e-4, trials: int = 3, make=Engine, seed: int = 0) -> Score:
    """Contacts and rows in all states, in order."""
    rng = np.random.default_rng(seed)
    score = Score()
    flag = m.opt.enableflags
    for k, mine in enumerate(ours(m, qpos, qvel, make)):
        want = theirs(m, qpos[k], qvel[k])
        slack = [np.zeros(want[0].shape[1]), np.zeros(want[1].shape[1])]
        steady = True
        for _ in range(trials):
            noisy = theirs(m, qpos[k] + NOISE * rng.normal(size=m.nq), qvel[k] * (1 + NOISE * rng.normal(size=m.nv)))
            steady = steady and noisy[0].shape == want[0].shape and noisy[1].shape == want[1].shape
            steady = steady and np.array_equal(noisy[0][:, :4], want[0][:, :4])
            if not steady:
                break
            if len(want[0]):
                slack[0] = np.maximum(slack[0], np.abs(noisy[0] - want[0]).max(axis=0))
            if len(want[1]):
                slack[1] = np.maximum(slack[1], np.abs(noisy[1] - want[1]).max(axis=0))
        if not steady or (slack[0][6:] > 1e-2).any():
            score.unstable += 1
            continue
        score.judged += 1
        m.opt.enableflags = flag & ~int(mujoco.mjtEnableBit.mjENBL_SPECULATIVE)
        plain = theirs(m, qpos[k], qvel[k])[0]
        m.opt.enableflags = flag
        score.ahead += plain.shape != want[0].shape or not np.array_equal(plain, want[0])
        if mine[0].shape != want[0].shape or mine[1].shape != want[1].shape:
            score.failures.append((k, f"{len(mine[0])} contacts, {len(mine[1])} rows; {len(want[0])}, {len(want[1])}"))
            continue
        mine = matched(mine, want)
        wrong = max(off(g, t, s, tol) for g, t, s in zip(mine, want, slack, strict=True))
        if wrong > 1:
            score.failures.append((k, f"off by {wrong:.3g} bounds", mine, want))
        else:
            score.agreed += 1
    return score
