"""Compare linearizations with MuJoCo's differences in double precision, in contact-rich states of the corpus.

    python -m tests.conformance.gradients CORPUS [--integrator euler] [--out rows.jsonl] [--seconds 500]
    python -m tests.conformance.gradients CORPUS --table euler.jsonl implicitfast.jsonl

CORPUS is a corpus that was packed (pack.py), or a folder of MJCF files, whose states are kept in that of `--states`.
With `--out` a run goes on where the last one ended, and `--seconds` ends it before the next model: a survey can be made
in pieces. `--table` prints what files of rows say, as a table of docs/gradients.md.

The judge is centered `mjd_transitionFD`, and can be wrong: where rows or contacts come, go or change their zone within
its step, or where two of its steps disagree by more than what is asked (contacts found by iteration, mostly). Such
states are counted and named. All else is scored by the norm of the error of A, and of B, over the norm of the judge's.

Both sides solve to convergence: the derivative of a solver that was stopped early is another one.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

import mujoco
import numpy as np
import warp as wp

from kinema.cli.oracle import restored
from kinema.convex.stage import Stage
from kinema.errors import KinemaError
from kinema.gradients import closed, columns
from kinema.gradients.contacts import touching
from kinema.gradients.tangents import Tangents

from .dynamics import put_states
from .models import INDEX, ModelFile, keeping_states, models_in, packed, stepped_with, unsupported
from .staged import StagedEngine, common_build

ASKED = 1e-3
EPS = (1e-6, 4e-6)
LARGEST = 150
"""Dofs of the largest models: the judge needs minutes for more."""


@dataclass
class Row:
    """How one model did, in its worst scored state.

    Attributes:
        a, b: Errors of A and B.
        scored: States that were.
        changed: States in which rows or contacts change within the step of the differences, or one-sided and centered
            differences disagree: there is a corner.
        unsure: States in which two steps of the differences disagree, or which MuJoCo resets instead of stepping.
        note: Why it was not tried.
        closed: Whether A and B are in closed form.
    """

    name: str
    a: float = 0.0
    b: float = 0.0
    scored: int = 0
    changed: int = 0
    unsure: int = 0
    note: str = ""
    seconds: float = 0.0
    closed: bool = False

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.note:
            return "not tried"
        if self.scored:
            return "conforms" if max(self.a, self.b) <= ASKED else "off"
        return "changes" if self.changed else "unsure"


def converging(m: mujoco.MjModel) -> mujoco.MjModel:
    """The same model, solved to convergence: with flexes conjugate gradients would need thousands of iterations."""
    m.opt.iterations, m.opt.ls_iterations, m.opt.tolerance = 200, 100, 1e-12
    if m.nflex and m.opt.solver == mujoco.mjtSolver.mjSOL_CG:
        m.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    return m


def judge(
    m: mujoco.MjModel, d: mujoco.MjData, eps: float, *, sensors: bool = False, centered: bool = True
) -> list[np.ndarray]:
    """A, B, C, D by differences."""
    nx = 2 * m.nv + m.na
    found = [np.zeros((nx, nx)), np.zeros((nx, m.nu))]
    more = [np.zeros((m.nsensordata, nx)), np.zeros((m.nsensordata, m.nu))] if sensors else [None, None]
    mujoco.mjd_transitionFD(m, d, eps, centered, *found, *more)
    return [*found, *more]


def zones(m: mujoco.MjModel, d: mujoco.MjData) -> tuple:
    """Which rows there are, and which piece of its cost each is on."""
    mujoco.mj_forward(m, d)
    force, loss = d.efc_force, d.efc_frictionloss
    on = force != 0
    slides = (loss > 0) & (np.abs(force) >= loss * (1 - 1e-9))
    cone = []
    for c in range(d.ncon):
        first, dim = d.contact.efc_address[c], d.contact.dim[c]
        if first >= 0 and dim > 1 and d.efc_type[first] == mujoco.mjtConstraint.mjCNSTR_CONTACT_ELLIPTIC:
            tangent = force[first + 1 : first + dim] / d.contact.friction[c][: dim - 1]
            cone.append(bool(np.linalg.norm(tangent) >= force[first] * (1 - 1e-9)))
    touch = [np.array(getattr(d.contact, name)).tobytes() for name in ("geom", "flex", "elem", "vert")]
    return d.efc_type.tobytes(), d.efc_id.tobytes(), *touch, on.tobytes(), slides.tobytes(), tuple(cone)


def changes(m: mujoco.MjModel, state: np.ndarray, eps: float) -> bool:
    """Do rows, contacts or their zones change within the step of the differences?"""
    base = zones(m, restored(m, state))
    for k in range(2 * m.nv + m.na + m.nu):
        for sign in (1, -1):
            d = restored(m, state)
            by = np.zeros(m.nv)
            if k < m.nv:
                by[k] = 1
                mujoco.mj_integratePos(m, d.qpos, by, sign * eps)
            elif k < 2 * m.nv:
                d.qvel[k - m.nv] += sign * eps
            elif k < 2 * m.nv + m.na:
                d.act[k - 2 * m.nv] += sign * eps
            else:
                d.ctrl[k - 2 * m.nv - m.na] += sign * eps
            if zones(m, d) != base:
                return True
    return False


def at_limit(m: mujoco.MjModel, state: np.ndarray, eps: float) -> bool:
    """Does a control stand on its limit? Whether it counts as inside is then a matter of the last digit."""
    ctrl, limited = restored(m, state).ctrl, np.asarray(m.actuator_ctrllimited).astype(bool)
    if m.nu != m.nactuator or m.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL:
        return False
    return bool(np.any((np.abs(ctrl[:, None] - m.actuator_ctrlrange) <= eps)[limited]))


def breaks(m: mujoco.MjModel, state: np.ndarray) -> bool:
    """Does MuJoCo find the state bad, and start anew?"""
    d = restored(m, state)
    mujoco.mj_step(m, d)
    kinds = mujoco.mjtWarning
    bad = kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC
    return any(d.warning[int(kind)].number for kind in bad)


def staged_tangents(engine: StagedEngine, *, sensors: bool = False) -> Tangents:
    """Derivatives with a kernel a stage, which models share."""

    build = engine.collider.detector.build

    def common(stage: Stage) -> Stage:
        return Stage(touching(common_build(build)), alone=True) if stage.func is touching(build) else stage

    def cut(stages):
        return [(common(stage),) for stage in stages]

    m = engine.source
    x, u, y = columns.states(m), columns.controls(m), columns.sensors(m) if sensors else []
    return Tangents(engine, x + u, x + y, cut=cut)


def staged_closed(engine: StagedEngine) -> closed.Closed:
    """The closed form with a kernel a stage."""
    m = engine.source
    nx = 2 * m.nv + m.na
    out = wp.zeros((engine.nworld, nx, nx + m.nu), dtype=float)
    build = common_build(engine.collider.detector.build)
    return closed.Closed(engine, out, cut=lambda stages: [(stage,) for stage in stages], build=build)


def error(mine: np.ndarray, theirs: np.ndarray) -> float:
    """The norm of the difference over that of the judge's."""
    size = np.linalg.norm(theirs)
    return float(np.linalg.norm(mine - theirs) / size) if size > 1e-12 else float(np.linalg.norm(mine - theirs))


def compare(model: ModelFile, states: int = 2, noslip: int = 0) -> Row:
    """One model; `noslip`: with so many sweeps after its solver."""
    begun, row = time.perf_counter(), Row(model.name)
    m = converging(model.load())
    m.opt.noslip_iterations = noslip or m.opt.noslip_iterations
    try:
        row.note = unsupported(m) or ("nothing moves" if not m.nv else "") or (f"nv {m.nv}" if m.nv > LARGEST else "")
        if row.note:
            return row
        chosen = list(model.case().forward)[:states]
        engine = StagedEngine(m, nworld=len(chosen))
        put_states(engine, [restored(m, state) for state in chosen])
        engine.forward()
        row.closed = not closed.against(m)
        run = staged_closed(engine) if row.closed else staged_tangents(engine)
        found = run.run().numpy().astype(float)
    except KinemaError as refused:
        row.note = str(refused)[:160]
        return row
    nx = 2 * m.nv + m.na
    for world, state in enumerate(chosen):
        state = np.array(state)
        A, B, *_ = judge(m, restored(m, state), EPS[0])
        a, b = error(found[world, :nx, :nx], A), error(found[world, :nx, nx:], B)
        if max(a, b) > ASKED:
            again = judge(m, restored(m, state), EPS[1])
            side = judge(m, restored(m, state), EPS[0], centered=False)
            kinked = max(error(side[0], A), error(side[1], B)) > ASKED  # such as where a muscle turns from rise to fall
            if kinked or changes(m, state, EPS[0]) or at_limit(m, state, EPS[0]):
                row.changed += 1
                continue
            if max(error(again[0], A), error(again[1], B)) > 0.3 * ASKED or breaks(m, state):
                row.unsure += 1
                continue
        row.scored += 1
        row.a, row.b = max(row.a, a), max(row.b, b)
    row.seconds = time.perf_counter() - begun
    return row


def kept(path: Path) -> list[Row]:
    """The rows of a file."""
    return [Row(**json.loads(line)) for line in path.read_text().splitlines()]


def table(paths: list[Path]) -> str:
    """What files of rows say, one a line."""
    head = "| | scored | conform | share | in closed form | active set changes | judge unsure | not tried |"
    lines = [head, "|---" * 8 + "|"]
    for path in paths:
        found = Counter(row.verdict for row in kept(path))
        good, scored = found["conforms"], found["conforms"] + found["off"]
        shut = sum(row.closed and row.scored > 0 for row in kept(path))
        numbers = shut, *(found[name] for name in ("changes", "unsure", "not tried"))
        rest = " | ".join(str(number) for number in numbers)
        lines.append(f"| {path.stem} | {scored} | {good} | {100 * good / max(1, scored):.1f} % | {rest} |")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Score part of a packed corpus, or of a folder of models."""
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--integrator", default="")
    parser.add_argument("--noslip", type=int, default=0, help="noslip_iterations in place of the models' own")
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--to", dest="last", type=int, default=None)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--states", type=Path, help="a folder to keep states in")
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=np.inf)
    parser.add_argument("--table", type=Path, nargs="+", default=[])
    given = parser.parse_args(argv)
    if given.table:
        print(table(given.table))
        return 0
    wp.config.quiet = True
    if (given.corpus / INDEX).exists():
        models = packed(given.corpus)
    else:
        models = models_in(given.corpus, given.corpus.name)
    models = keeping_states(models, given.states) if given.states else models
    models = stepped_with(models, given.integrator) if given.integrator else models
    rows, end = [], time.monotonic() + given.seconds
    done = {row.name for row in kept(given.out)} if given.out and given.out.exists() else set()
    chosen = [m for m in models[given.first : given.last : given.every] if given.only in m.name and m.name not in done]
    for model in chosen:
        if time.monotonic() > end:
            break
        try:
            row = compare(model, noslip=given.noslip)
        except Exception as broken:  # one model must not end the run; it counts as off
            row = Row(model.name, a=np.inf, scored=1, note="")
            print(f"{model.name}: {type(broken).__name__}: {broken}", file=sys.stderr)
        rows.append(row)
        print(f"{row.verdict:10s} A {row.a:.1e} B {row.b:.1e} {row.name} {row.note} "
              f"[{row.scored} {row.changed} {row.unsure}] {row.seconds:.0f} s", flush=True)  # fmt: skip
        if given.out:
            with given.out.open("a") as file:
                file.write(json.dumps(asdict(row)) + "\n")
    print(dict(Counter(row.verdict for row in rows)), f"{len(chosen) - len(rows)} to go")
    return 0


if __name__ == "__main__":
    sys.exit(main())
