"""Compare the engine with MuJoCo in contact-rich states and over rollouts, on any device; say what could not be.

Questions and what their answers are worth are MuJoCo's side (questions.py), states are picked for having few doubts
(states.py); here the engine answers them. Every field of a model ends up in one of four ways:

    conforms         in every state in which it could be scored
    converged only   it differs from MuJoCo at the model's own iterations, and equals MuJoCo's converged answer
    wrong            neither
    not scored       in doubt in every state

Contacts are matched by geom pair and nearness. Every rollout is run twice and must end in the same bits;
where the order of threads can be chosen, in another order.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import mujoco
import numpy as np

from kinema.cli.oracle import STATE, forward, match_contacts, restored
from kinema.convex.engine import Engine

from .on_fibres import LABELS, fibre_engine, longest, turn_round
from .questions import HORIZONS, ROWS, Question, forward_questions, rollout_questions, row_sums
from .staged import StagedEngine
from .states import STATES, Case, find_case

REMEMBERED = ("xpos", "qacc_smooth", "qacc")
"""Answers that are kept, to compare devices."""

PRINT = ("qpos", "qvel", "act", "qacc", "qfrc_constraint", "sensordata", "ncon", "nefc")
"""What a fingerprint is taken of."""


@dataclass
class Score:
    """What was compared, and how it went; field -> why or how.

    Attributes:
        compared: Fields scored in at least one state.
        wrong: Fields that do not conform.
        converged: Fields that equal only the converged answer.
        unscored: Fields in doubt in every state.
        answers: Some of the engine's answers, to compare devices.
        bits: A hash of all that was computed.
        states: A hash of the states it was computed in.
        seconds: How long it took, kernels included.
    """

    compared: set[str] = field(default_factory=set)
    wrong: dict[str, str] = field(default_factory=dict)
    converged: dict[str, str] = field(default_factory=dict)
    unscored: dict[str, str] = field(default_factory=dict)
    answers: dict[str, np.ndarray] = field(default_factory=dict)
    bits: str = ""
    states: str = ""
    seconds: float = 0.0

    def ask(self, question: Question, ours: Callable[[str], np.ndarray], name: str | None = None) -> None:
        """Count one question; several of them may be about one field."""
        name = name or question.name
        if question.doubt:
            self._doubt(name, question.doubt)
            return
        if not question.theirs.size:
            return
        mine = ours(question.name)
        if mine is None:
            self._doubt(name, "other geoms touch")
            return
        self.compared.add(name)
        self.unscored.pop(name, None)
        problem = question.problem(mine)
        if problem and question.is_converged(mine):
            self.converged.setdefault(name, problem)
        elif problem:
            self.wrong.setdefault(name, problem)

    def _doubt(self, name: str, why: str) -> None:
        if name not in self.compared:
            self.unscored.setdefault(name, why)


class World:
    """The answers of one world of an engine, by the names that questions have."""

    def __init__(self, m: mujoco.MjModel, engine: Engine, world: int, d: mujoco.MjData):
        self.m, self.engine, self.world, self.d = m, engine, world, d
        self.ncon, self.nefc = (int(engine.read(name)[world]) for name in ("ncon", "nefc"))
        self.match = self._match()
        self.sums = self._sums() if self.nefc else (np.zeros(m.nv), np.zeros(m.nv))

    def __call__(self, name: str) -> np.ndarray | None:
        """The answer to a question; None: there is none to compare, since other things touch."""
        if name.startswith("contact_"):
            return None if self.match is None else self.engine.read(name)[self.world][self.match]
        if name in ROWS:
            return self.sums[ROWS.index(name)]
        if name.startswith("sensor "):
            kinds = self.m.sensor_type == int(getattr(mujoco.mjtSensor, f"mjSENS_{name[7:].upper()}"))
            owner = np.repeat(np.arange(self.m.nsensor), self.m.sensor_dim)
            return self.engine.read("sensordata")[self.world][kinds[owner]]
        return self.engine.read(name)[self.world]

    def _match(self) -> np.ndarray | None:
        if self.ncon != self.d.ncon:
            return None
        geom, pos = (self.engine.read(f"contact_{name}")[self.world][: self.ncon] for name in ("geom", "pos"))
        return match_contacts(geom, pos, self.d)

    def _sums(self) -> tuple[np.ndarray, np.ndarray]:
        D, aref = (self.engine.array(f"efc_{name}").numpy()[self.world][: self.nefc] for name in ("D", "aref"))
        return row_sums(engine_jacobian(self.engine, self.world), D.astype(float), aref.astype(float))

    def odd_pairs(self) -> str:
        """Pairs of geoms that touch more often in one of the two, by kind and number."""
        ours = [tuple(sorted(map(int, g))) for g in self.engine.read("contact_geom")[self.world][: self.ncon]]
        theirs = [tuple(sorted(map(int, g))) for g in self.d.contact.geom]
        odd = sorted({p for p in [*ours, *theirs] if ours.count(p) != theirs.count(p)})[:3]
        kind = lambda g: mujoco.mjtGeom(self.m.geom_type[g]).name[7:] if g >= 0 else "FLEX"  # noqa: E731
        said = [f"{kind(a)}-{kind(b)} {(a, b)}: {ours.count((a, b))} not {theirs.count((a, b))}" for a, b in odd]
        return "; ".join(said)


def engine_jacobian(engine: Engine, world: int = 0) -> np.ndarray:
    """efc_J of a world of the engine; columns outside the trees of a row are zero."""
    return engine.in_use("efc_J")[world, : int(engine.read("nefc")[world])].astype(float)


def make_engine(m: mujoco.MjModel, device: str = "cpu", *, fused: bool = False) -> Engine:
    """An engine of a world a state; on the CPU with a kernel a stage, which models share, unless `fused`."""
    if device in LABELS:
        return fibre_engine(m, STATES, device)
    kind = StagedEngine if device == "cpu" and not fused else Engine
    return kind(m, nworld=STATES, device=device)


def put_states(engine: Engine, states: list[mujoco.MjData]) -> None:
    """A state a world; the last ones again where there are too few."""
    several = [states[min(w, len(states) - 1)] for w in range(engine.nworld)]
    engine.reset()
    for name in STATE:
        if np.size(getattr(several[0], name)):
            values = np.stack([np.asarray(getattr(d, name), float) for d in several])
            engine.write(name, values.reshape(engine.read(name).shape))


def compare_forward(m: mujoco.MjModel, states: list[mujoco.MjData], engine: Engine, score: Score) -> None:
    """All fields of forward dynamics, in every state."""
    put_states(engine, states)
    engine.forward()
    known = engine.layout.arrays
    score.answers.update({name: engine.read(name)[: len(states)].copy() for name in REMEMBERED if name in known})
    for world, state in enumerate(states):
        answer = forward(m, state)
        ours = World(m, engine, world, answer.d)
        before = set(score.wrong)
        for question in forward_questions(m, answer):
            if question.name in known or question.name in ROWS or question.name.startswith("sensor "):
                score.ask(question, ours)
            else:
                score.unscored[question.name] = "the engine does not keep it"
        if "ncon" in set(score.wrong) - before:
            score.wrong["ncon"] += f": {ours.odd_pairs()}"
        elif ours.match is None and ours.ncon == answer.d.ncon and answer.same_contacts:
            score.wrong["contact_geom"] = f"other geoms touch: {ours.odd_pairs()}"


def compare_rollout(m: mujoco.MjModel, states: list[mujoco.MjData], engine: Engine, score: Score) -> None:
    """qpos and qvel after 1, 10 and 100 steps, in every state while MuJoCo agrees with itself; twice the same bits."""
    horizons = [horizon for horizon in HORIZONS if horizon <= longest(engine)]
    ends, bits = run(engine, states, horizons)
    turn_round(engine)
    again = run(engine, states, horizons)[1]
    score.bits = bits[:12]
    score.compared.add("same bits twice")
    if again != bits:
        score.wrong["same bits twice"] = f"{bits[:12]}, then {again[:12]}"
    score.answers.update({f"{part} after {n}": ends[n, part] for n in (1, 10) for part in ("qpos", "qvel")})
    for world, state in enumerate(states):
        for question in rollout_questions(m, state, horizons[-1]):
            _, horizon, part = question.name.split()
            mine = ends[int(horizon), part][world]
            score.ask(question, lambda _, mine=mine: mine, name=f"rollout {horizon}")


def run(
    engine: Engine, states: list[mujoco.MjData], horizons: list[int]
) -> tuple[dict[tuple[int, str], np.ndarray], str]:
    """qpos and qvel at the horizons, and a fingerprint of everything on the way."""
    put_states(engine, states)
    ends, seen, done = {}, hashlib.sha1(), 0
    for horizon in horizons:
        engine.step(horizon - done)
        done = horizon
        ends.update({(horizon, name): engine.read(name)[: len(states)].copy() for name in ("qpos", "qvel")})
        for name in PRINT:
            if name in engine.layout.arrays:
                seen.update(np.ascontiguousarray(engine.read(name)).tobytes())
    return ends, seen.hexdigest()


def compare(
    m: mujoco.MjModel, case: Case | None = None, *, ours: mujoco.MjModel | None = None, device: str = "cpu",
    fused: bool = False,
) -> Score:  # fmt: skip
    """Forward fields and rollouts of one model; the engine may be given another, to see whether that is noticed."""
    begun = time.perf_counter()
    case = case or find_case(m)
    score = Score(states=case.digest)
    engine = make_engine(ours or m, device, fused=fused)
    compare_forward(m, [restored(m, state) for state in case.forward], engine, score)
    if case.rollout:
        compare_rollout(m, [restored(m, state) for state in case.rollout], engine, score)
    score.seconds = time.perf_counter() - begun
    return score
