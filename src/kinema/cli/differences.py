"""A model in Kinema beside the same model in MuJoCo: the largest difference of every field, and where it is.

    allowed = rtol x scale + 3 x how far MuJoCo's own answer moves under noise of float32's size (oracle.py)

What moves too far to be judged is not compared, and said to be so. Scale is the largest number of the field, or of the
terms that cancel in it. rtol is 1e-4 for the compiled model and kinematics, 1e-3 for forces, 2e-3 for accelerations
without constraints, 5e-3 for what contacts and the solver decide; after n steps 1e-4 n, at most 1e-2. Integers must be
equal. What the solver decides may match MuJoCo at the model's own iterations or at convergence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np

from kinema.cli import oracle
from kinema.cli.place import element, geom_pair, place_of
from kinema.model.mujoco_fields import Field, model_fields

OK, DIFFERS, NOT_COMPARED = "ok", "differs", "not compared"

RTOL_COMPILE, RTOL_INVERSE, FLOOR = 1e-4, 2e-3, oracle.FLOOR
INVERSE = ("invweight0", "dof_M0", "actuator_acc0")  # an inverse of M enters
SKIP = ("nbuffer", "signature", "mesh_graph", "mesh_extrema")
"""Bytes of MuJoCo's own copy, a hash, and the order of hull vertices, which means nothing."""

KINEMATICS = (
    "xpos", "xmat", "xipos", "ximat", "xanchor", "xaxis", "geom_xpos", "geom_xmat", "site_xpos", "site_xmat",
    "cam_xpos", "cam_xmat", "light_xpos", "light_xdir", "subtree_com", "cdof", "ten_length", "actuator_length",
)  # fmt: skip
FORCES = (
    "M", "cvel", "ten_velocity", "actuator_velocity", "qfrc_bias", "qfrc_passive", "qfrc_actuator", "actuator_force",
    "act_dot", "qfrc_gravcomp", "qfrc_fluid", "qfrc_smooth",
)  # fmt: skip
SMOOTH = {**dict.fromkeys(KINEMATICS, 1e-4), **dict.fromkeys(FORCES, 1e-3), "qacc_smooth": 2e-3}
RTOL_CONTACT = 5e-3
COUNTS = ("ncon", "ne", "nf", "nl", "nefc")
PLACES = ("dist", "pos", "frame")
CONTACT_PARAMETERS = ("includemargin", "friction", "solref", "solreffriction", "solimp", "dim")


@dataclass(frozen=True)
class Difference:
    """The largest difference of a field.

    Attributes:
        part: "compile", "forward" or "step n".
        field: MuJoCo's name of the field.
        error: |ours - theirs|, or the number of integers that differ.
        allowed: What it may be.
        ours, theirs: The two numbers.
        where: The element, and the world.
        verdict: OK, DIFFERS or NOT_COMPARED.
    """

    part: str
    field: str
    error: float
    allowed: float
    ours: float
    theirs: float
    where: str
    verdict: str = OK

    @property
    def excess(self) -> float:
        """The error as a multiple of what is allowed."""
        return self.error / self.allowed if self.allowed > 0 else (np.inf if self.error > 0 else 0.0)


def largest(part: str, field: str, ours, theirs, *, allowed: float, where) -> Difference | None:
    """The largest difference between two arrays; `where` names the element at an index. None: there is nothing."""
    ours, theirs = np.atleast_1d(np.asarray(ours, float)), np.atleast_1d(np.asarray(theirs, float))
    if not theirs.size and not ours.size:
        return None
    if ours.size != theirs.size:
        return Difference(part, field, abs(ours.size - theirs.size), 0.0, ours.size, theirs.size, "count", DIFFERS)
    ours = ours.reshape(theirs.shape)
    with np.errstate(invalid="ignore"):
        error = np.abs(ours - theirs)
    error[(ours == theirs) | (np.isnan(ours) & np.isnan(theirs))] = 0.0
    error = np.nan_to_num(error, nan=np.inf)
    at = np.unravel_index(int(np.argmax(error)), error.shape)
    verdict = OK if error[at] <= allowed else DIFFERS
    place = where(at) if error[at] > 0 else ""
    return Difference(part, field, float(error[at]), allowed, float(ours[at]), float(theirs[at]), place, verdict)


def worst(differences: Iterator[Difference]) -> list[Difference]:
    """One a field and part: the worst of those found in several worlds, in the order they were met."""
    found: dict[tuple[str, str], Difference] = {}
    for new in differences:
        old = found.get((new.part, new.field))
        if old is None or (new.verdict == DIFFERS, new.excess) > (old.verdict == DIFFERS, old.excess):
            found[new.part, new.field] = new
    return list(found.values())


# ---------------------------------------------------------------------------------------------- compiled model


def compiled(ours, theirs: mujoco.MjModel) -> Iterator[Difference]:
    """Every field of the compiled model."""
    for field in model_fields().values():
        owner = {"option": "opt", "statistic": "stat"}.get(field.group)
        mine, other = (getattr(ours, owner), getattr(theirs, owner)) if owner else (ours, theirs)
        if field.name in SKIP or field.dtype == "char" or not hasattr(other, field.name):
            continue
        name = f"{owner}.{field.name}" if owner else field.name
        value, wanted = getattr(mine, field.name), getattr(other, field.name)
        allowed = _compile_tolerance(field, wanted, theirs)
        where = lambda at, field=field: place_of(ours, field.name, at)  # noqa: E731
        found = largest("compile", name, value, wanted, allowed=allowed, where=where)
        if found:
            yield found


def _compile_tolerance(field: Field, wanted, theirs: mujoco.MjModel) -> float:
    wanted = np.asarray(wanted)
    if wanted.dtype.kind in "iub":
        return 0.0
    scale = float(np.max(np.abs(wanted), initial=0.0, where=np.isfinite(wanted)))
    if field.name == "center":
        scale = max(scale, float(theirs.stat.extent))  # a place in the model
    inverse = any(part in field.name for part in INVERSE)
    return (RTOL_INVERSE if inverse else RTOL_COMPILE) * scale + FLOOR


# ---------------------------------------------------------------------------------------------- forward dynamics


class Beside:
    """Kinema's worlds and MuJoCo's answers in the same states.

    Args:
        sim: Kinema's simulation.
        m: MuJoCo's model.
    """

    def __init__(self, sim, m: mujoco.MjModel):
        self.sim, self.m = sim, m
        self.states = [oracle.rich_state(m, seed) for seed in range(sim.worlds)]

    def put(self) -> None:
        """Put Kinema's worlds into MuJoCo's states."""
        self.sim.reset()
        sized = [name for name in oracle.STATE if np.size(getattr(self.states[0], name))]
        self.sim.set_state(**{name: np.stack([np.asarray(getattr(d, name)) for d in self.states]) for name in sized})

    def forward(self) -> Iterator[Difference]:
        """All that forward dynamics computes, world by world."""
        self.put()
        self.sim.forward()
        fields = {name: self.sim.engine.read(name) for name in self._names()}
        for world, state in enumerate(self.states):
            answer = oracle.forward(self.m, state)
            mine = {name: values[world] for name, values in fields.items()}
            yield from self._smooth(world, mine, answer)
            yield from self._contacts(world, mine, answer)
            yield from self._constraints(world, mine, answer)
            yield from self._sensors(world, mine, answer)

    def _names(self) -> list[str]:
        contact = [f"contact_{name}" for name in ("geom", "dist", "pos", "frame", *CONTACT_PARAMETERS)]
        names = [*SMOOTH, *COUNTS, *contact, "qacc", "qfrc_constraint", "sensordata"]
        return [name for name in names if name in self.sim.engine.names]

    def _where(self, world: int, field: str):
        return lambda at: place_of(self.sim.model, field, at) + self._world(world)

    def _world(self, world: int) -> str:
        return f", world {world}" if self.sim.worlds > 1 else ""

    def _smooth(self, world: int, mine: dict, answer: oracle.Answer) -> Iterator[Difference]:
        d = answer.d
        for name, rtol in SMOOTH.items():
            wanted = np.asarray(getattr(d, name))
            if name not in mine or not wanted.size:
                continue
            least = 1e-2 if name in KINEMATICS else 0.0
            tolerance = rtol * max(least, oracle.natural_scale(self.m, d, name))
            yield self._judged(world, name, mine[name], [(wanted, answer.slack(name))], tolerance)

    def _judged(self, world: int, name: str, ours, answers, tolerance: float, where=None) -> Difference:
        """The difference from the nearest of MuJoCo's answers that noise leaves where they are.

        Args:
            world: Number of the world.
            name: The field.
            ours: Kinema's numbers.
            answers: Answers that are as good, each with how far noise moves it.
            tolerance: What would be allowed without noise.
            where: Names the element at an index; None: the field's own.
        """
        doubts = [oracle.doubt(slack, tolerance) for _, slack in answers]
        if all(doubts):
            why = f"{doubts[0]}{self._world(world)}"
            return Difference("forward", name, 0.0, np.inf, np.nan, np.nan, why, NOT_COMPARED)
        judged = (
            largest("forward", name, ours, wanted, allowed=tolerance + 3 * slack + FLOOR,
                    where=where or self._where(world, name))
            for (wanted, slack), doubt in zip(answers, doubts, strict=True) if not doubt
        )  # fmt: skip
        return min((found for found in judged if found is not None), key=lambda found: found.excess)

    def _contacts(self, world: int, mine: dict, answer: oracle.Answer) -> Iterator[Difference]:
        d = answer.d
        for name in COUNTS:
            ours, theirs = int(mine[name]), int(getattr(d, name))
            where = "" if ours == theirs else (self._odd_pairs(mine, d) if name == "ncon" else "") + self._world(world)
            chance = ours != theirs and any(int(getattr(o, name)) != theirs for o in answer.near)
            verdict = OK if ours == theirs else NOT_COMPARED if chance else DIFFERS
            yield Difference("forward", name, abs(ours - theirs), 0.0, ours, theirs, where, verdict)
        count = int(mine["ncon"])
        if count != d.ncon or not count:
            return
        match = oracle.match_contacts(mine["contact_geom"][:count], mine["contact_pos"][:count], d)
        if match is None or not answer.same_contacts:
            verdict = DIFFERS if answer.same_contacts else NOT_COMPARED
            where = self._odd_pairs(mine, d) + self._world(world)
            yield Difference("forward", "contact_geom", 1, 0.0, np.nan, np.nan, where, verdict)
            return
        tolerance = contact_tolerances(self.m, d)
        for name, bound in tolerance.items():
            slack = answer.moved(name) if name in PLACES else 0.0
            ours = mine[f"contact_{name}"][:count][match]
            wanted = np.asarray(getattr(d.contact, name))
            yield self._judged(
                world, f"contact_{name}", ours.reshape(wanted.shape), [(wanted, slack)], bound,
                lambda at: geom_pair(self.sim.model, *d.contact.geom[at[0]]) + self._world(world),
            )  # fmt: skip

    def _odd_pairs(self, mine: dict, d: mujoco.MjData) -> str:
        """Pairs of geoms that touch in one of the two more often."""
        ours = [tuple(sorted(map(int, pair))) for pair in mine["contact_geom"][: int(mine["ncon"])]]
        theirs = [tuple(sorted(map(int, pair))) for pair in d.contact.geom]
        odd = sorted({pair for pair in [*ours, *theirs] if ours.count(pair) != theirs.count(pair)})[:2]
        said = [f"{geom_pair(self.sim.model, *p)}: {ours.count(p)} not {theirs.count(p)}" for p in odd]
        return "; ".join(said)

    def _constraints(self, world: int, mine: dict, answer: oracle.Answer) -> Iterator[Difference]:
        for name in ("qacc", "qfrc_constraint") if self.m.nv else ():
            tolerance = RTOL_CONTACT * oracle.natural_scale(self.m, answer.d, name)
            yield self._judged(world, name, mine[name], answer.solved(name), tolerance)

    def _sensors(self, world: int, mine: dict, answer: oracle.Answer) -> Iterator[Difference]:
        """Readings, each kind of sensor against its own scale."""
        for name, at, owner in sensor_kinds(self.m):
            where = lambda i, owner=owner: element(self.sim.model, "sensor", int(owner[i[0]])) + self._world(world)  # noqa: E731
            tolerance = RTOL_CONTACT * float(np.abs(answer.d.sensordata[at]).max(initial=oracle.SMALL))
            yield self._judged(world, name, mine["sensordata"][at], answer.solved("sensordata", at), tolerance, where)

    # ------------------------------------------------------------------------------------------ steps

    def rollout(self, steps: int) -> Iterator[Difference]:
        """qpos and qvel after 1, 10, 100, ... and the last step, as long as MuJoCo agrees with itself."""
        if not self.m.nv:
            return
        horizons = sorted({n for n in (1, 10, 100, 1000, 10000) if n < steps} | {steps})
        runs = [self._mujoco_runs(state, horizons) for state in self.states]
        self.put()
        done = 0
        chance = [False] * len(runs)  # worlds in which noise decides
        for horizon in horizons:
            self.sim.step(horizon - done)
            done = horizon
            mine = (self.sim.d.qpos, self.sim.d.qvel)
            for world, found in enumerate(runs):
                for k, name in enumerate(("qpos", "qvel")):
                    judged = None if chance[world] else self._judge(horizon, name, k, mine[k][world], found, world)
                    chance[world] |= judged is None
                    if judged:
                        yield judged
                    else:
                        why = f"MuJoCo parts from itself under noise{self._world(world)}"
                        yield Difference(f"step {horizon}", name, 0.0, np.inf, np.nan, np.nan, why, NOT_COMPARED)

    def _mujoco_runs(self, state: mujoco.MjData, horizons: list[int]):
        """MuJoCo's answer, the one at convergence, and what noise makes of it."""
        first = oracle.rollout(self.m, state, horizons)
        noisy = [oracle.rollout(self.m, oracle.disturbed(self.m, state, t), horizons) for t in range(oracle.TRIALS)]
        noisy.append(oracle.rollout(self.m, state, horizons, rounding=True))
        return first, oracle.rollout(self.m, state, horizons, exact=True), noisy

    def _judge(self, horizon: int, name: str, k: int, mine: np.ndarray, found, world: int) -> Difference | None:
        first, exact, noisy = found
        if any(horizon not in run for run in (first, *noisy)):
            return None  # MuJoCo loses the state
        rtol = min(1e-4 * horizon, 1e-2)
        theirs = first[horizon][k]
        scale = max(float(np.abs(theirs).max()), 1e-3)
        slack = max(float(np.abs(run[horizon][k] - theirs).max()) for run in noisy)
        if slack > rtol * scale:
            return None
        options = [theirs, *([exact[horizon][k]] if horizon in exact else [])]
        judged = (
            largest(f"step {horizon}", name, mine, wanted, allowed=rtol * scale + 3 * slack + FLOOR,
                    where=self._where(world, name))
            for wanted in options
        )  # fmt: skip
        return min((found for found in judged if found is not None), key=lambda found: found.excess)


# ---------------------------------------------------------------------------------------------- tolerances


def contact_tolerances(m: mujoco.MjModel, d: mujoco.MjData) -> dict[str, float]:
    """What fields of contacts may differ by, before noise."""
    size = float(np.abs(d.contact.pos).max() + m.stat.extent)
    allowed = {
        "dist": RTOL_CONTACT * float(np.abs(d.contact.dist).max()) + 3e-6 * size,
        "pos": 1e-4 * size,
        "frame": RTOL_CONTACT,
    }
    for name in CONTACT_PARAMETERS:
        allowed[name] = 1e-5 * float(np.abs(getattr(d.contact, name)).max())
    return allowed


def sensor_kinds(m: mujoco.MjModel) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Each kind of sensor: its name, where its readings are, and which sensor each belongs to."""
    for kind in np.unique(m.sensor_type):
        ids = np.flatnonzero(m.sensor_type == kind)
        at = np.concatenate([np.arange(m.sensor_adr[i], m.sensor_adr[i] + m.sensor_dim[i]) for i in ids])
        owner = np.concatenate([np.full(m.sensor_dim[i], i) for i in ids])
        yield f"sensor {mujoco.mjtSensor(kind).name[len('mjSENS_') :].lower()}", at, owner
