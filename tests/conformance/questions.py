"""What is asked of the engine in a state, and what MuJoCo's answer is worth there.

    tolerance = rtol x scale;   allowed = tolerance + 3 x how far noise of float32's size moves MuJoCo's own answer

A question that noise decides (the answer moves by many tolerances, contacts or rows come and go, MuJoCo loses the
state) is in doubt: it cannot be scored, whatever the engine says. All of this is MuJoCo's side alone, so that states in
which little is in doubt can be looked for before there is an engine (states.py).

Scale is the largest number of the field, and for positions the extent of the model if that is larger. Rows are compared
by sums that know no order: diag J'DJ and J'D aref. What the solver decides is asked at the model's own iterations; the
converged answer comes along, to tell an engine that solves better from one that is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np

from kinema.cli.differences import (
    CONTACT_PARAMETERS,
    COUNTS,
    PLACES,
    RTOL_CONTACT,
    SMOOTH,
    contact_tolerances,
    sensor_kinds,
)
from kinema.cli.oracle import (
    FLOOR,
    POSITIONS,
    SMALL,
    TRIALS,
    Answer,
    disturbed,
    doubt,
    natural_scale,
    rollout,
    rounded,
)
from tests.convex.stage_harness import dense_jacobian

HORIZONS = {1: 1e-4, 10: 1e-3, 100: 1e-2}
"""Steps after which rollouts are compared, and to what fraction of the largest number."""

DISCRETE = int(mujoco.mjtIntegrator.mjINT_DISCRETE)
COME_AND_GO = "contacts come and go under noise"
ROWS = ("J'DJ", "J'D aref")


@dataclass(frozen=True)
class Question:
    """One field in one state.

    Attributes:
        name: The field.
        theirs: MuJoCo's answer.
        tolerance: What an answer may differ by, before noise.
        slack: How far noise moves MuJoCo's answer.
        doubt: Why it cannot be scored; None: it can.
        best: For what the solver decides, the converged answer and how far noise moves it.
    """

    name: str
    theirs: np.ndarray
    tolerance: float = 0.0
    slack: float = 0.0
    doubt: str | None = None
    best: tuple[np.ndarray, float] | None = None

    def problem(self, ours: np.ndarray) -> str | None:
        """How an answer differs from MuJoCo's; None: it conforms."""
        return _problem(ours, self.theirs, self.tolerance + 3 * self.slack + FLOOR)

    def is_converged(self, ours: np.ndarray) -> bool:
        """Is this the answer of a solver that has converged, where that is known well enough?"""
        if self.best is None:
            return False
        theirs, slack = self.best
        return not doubt(slack, self.tolerance) and not _problem(ours, theirs, self.tolerance + 3 * slack + FLOOR)


def _problem(ours: np.ndarray, theirs: np.ndarray, bound: float) -> str | None:
    ours = np.asarray(ours, float)
    if ours.size != theirs.size:
        return f"{ours.size} numbers, not {theirs.size}"
    ours = ours.reshape(theirs.shape)
    off = np.abs(ours - theirs)
    if np.all(off <= bound):
        return None
    at = np.unravel_index(np.argmax(np.nan_to_num(off, nan=np.inf)), off.shape)
    place = f" at {list(map(int, at))}" if at else ""
    return f"{ours[at]:.6g}, not {theirs[at]:.6g}{place} (off by {off[at] / bound:.1f} bounds)"


def _largest(values: np.ndarray) -> float:
    return float(np.abs(values).max(initial=0.0))


def forward_questions(m: mujoco.MjModel, answer: Answer) -> Iterator[Question]:
    """All fields of forward dynamics that are not empty."""
    d = answer.d
    for name, rtol in SMOOTH.items():
        theirs, slack = np.asarray(getattr(d, name), float), answer.slack(name)
        scale = max(_largest(theirs), m.stat.extent if name in POSITIONS else 0.0)
        # the metric of the discrete integrator is inverted by iterations of the solver, cut short where it is
        best = answer.solved(name)[1] if name == "qacc_smooth" and m.opt.integrator == DISCRETE else None
        if theirs.size:
            yield Question(name, theirs, rtol * scale, slack, doubt(slack, rtol * natural_scale(m, d, name)), best)
    for name in COUNTS:
        fickle = any(getattr(o, name) != getattr(d, name) for o in answer.near)
        why = (COME_AND_GO if name == "ncon" else "rows come and go under noise") if fickle else None
        yield Question(name, np.array(float(getattr(d, name))), doubt=why)
    yield from _contact_questions(m, answer)
    yield from _row_questions(m, answer)
    for name in ("qacc", "qfrc_constraint") if m.nv else ():
        (theirs, slack), best = answer.solved(name)
        why = doubt(slack, RTOL_CONTACT * natural_scale(m, d, name))
        yield Question(name, theirs, RTOL_CONTACT * _largest(theirs), slack, why, best)
    for name, at, _ in sensor_kinds(m):
        (theirs, slack), best = answer.solved("sensordata", at)
        why = doubt(slack, RTOL_CONTACT * max(_largest(theirs), SMALL))
        yield Question(name, theirs, RTOL_CONTACT * _largest(theirs), slack, why, best)


def _contact_questions(m: mujoco.MjModel, answer: Answer) -> Iterator[Question]:
    """Contacts one by one, in MuJoCo's order."""
    d = answer.d
    if not d.ncon:
        return
    known = answer.same_contacts
    tolerances = contact_tolerances(m, d)
    for name in (*PLACES, *CONTACT_PARAMETERS):
        slack = answer.moved(name) if known and name in PLACES else 0.0
        # penetrations may be tiny: noise in them is judged by the size of the model too
        least = 1e-5 * m.stat.extent if name == "dist" else 0.0
        why = doubt(slack, max(tolerances[name], least)) if known else COME_AND_GO
        yield Question(f"contact_{name}", np.asarray(getattr(d.contact, name), float), tolerances[name], slack, why)
    exclude = np.where(np.asarray(d.contact.exclude) == 3, 0, d.contact.exclude)  # 3: no row, set while rows are made
    yield Question("contact_exclude", exclude.astype(float), doubt=None if known else COME_AND_GO)


def row_sums(jacobian: np.ndarray, D: np.ndarray, aref: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """diag J'DJ and J'D aref: what the order of rows does not change."""
    return (jacobian**2 * D[:, None]).sum(0), jacobian.T @ (D * aref)


def _row_questions(m: mujoco.MjModel, answer: Answer) -> Iterator[Question]:
    d = answer.d
    if not d.nefc:
        return
    theirs, *others = (row_sums(dense_jacobian(m, o), o.efc_D, o.efc_aref) for o in (d, *answer.near))
    fickle = any(o.nefc != d.nefc for o in answer.near)
    for k, name in enumerate(ROWS):
        slack = max(_largest(o[k] - theirs[k]) for o in others)
        tolerance = RTOL_CONTACT * _largest(theirs[k])
        why = "rows come and go under noise" if fickle else doubt(slack, tolerance)
        yield Question(name, theirs[k], tolerance, slack, why)


# ---------------------------------------------------------------------------------------------- rollouts


def rollout_questions(m: mujoco.MjModel, state: mujoco.MjData, last: int, *, exact: bool = True) -> list[Question]:
    """qpos and qvel after 1, 10 and 100 steps, up to the last horizon asked for: two questions a horizon.

    Noise in the state alone must leave MuJoCo within the tolerance itself; noise in the model may widen it.
    """
    horizons = [horizon for horizon in HORIZONS if horizon <= last]
    first = rollout(m, state, horizons)
    best = rollout(m, state, horizons, exact=True) if exact else {}
    shaken = [rollout(m, disturbed(m, state, t), horizons) for t in range(TRIALS)]
    shaken.append(rollout(m, state, horizons, rounding=True))
    others = [rollout(rounded(m, state, t), state, horizons) for t in range(TRIALS)]
    found = []
    lost = None  # from here on chance decides
    for horizon in horizons:
        for k, part in enumerate(("qpos", "qvel")):
            name = f"rollout {horizon} {part}"
            if lost is None and any(horizon not in run for run in (first, *shaken, *others)):
                lost = f"MuJoCo loses the state within {horizon} steps"
            if lost:
                found.append(Question(name, np.zeros(0), doubt=lost))
                continue
            theirs = first[horizon][k]
            tolerance = HORIZONS[horizon] * max(_largest(theirs), SMALL)
            within = max(_largest(run[horizon][k] - theirs) for run in shaken)
            slack = max(within, *(_largest(run[horizon][k] - theirs) for run in others))
            lost = doubt(slack, tolerance)
            if within > tolerance:
                lost = f"noise moves MuJoCo's own {part} by {within:.2g}, {within / tolerance:.1f} tolerances"
            converged_to = (best[horizon][k], slack) if horizon in best else None
            found.append(Question(name, theirs, tolerance, slack, lost, converged_to))
    return found


def reached(questions: list[Question]) -> int:
    """The last horizon up to which nothing of a rollout is in doubt; 0: none."""
    doubted = {int(q.name.split()[1]) for q in questions if q.doubt}
    asked = {int(q.name.split()[1]) for q in questions}
    return max((horizon for horizon in asked if not any(other <= horizon for other in doubted)), default=0)
