"""The step as derivatives see it: which of its stages, and which of them for which directions.

    recipe of a step  ->  the constraint solver replaced by the derivative of its solution (implicit_solve.cpp),
                          detection by the geometry of the pairs it has found (contacts.py),
                          the no-slip pass by the sweeps that it has made (solve/dual.cpp)
                      ->  without stages that no result depends on
                      ->  of these, for each kind of direction, those that change along it

All of it follows from what stages read and write (convex/access.py). A direction of velocity, for one, runs none of the
stages that depend on position alone: what they left behind has no derivative along it, and still holds.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any

import warp as wp

from kinema.convex import check, step
from kinema.convex.access import written
from kinema.convex.ahead import looks_ahead
from kinema.convex.data import Data
from kinema.convex.metric_pattern import is_discrete
from kinema.convex.model import Model
from kinema.convex.solve import dual
from kinema.convex.solve.native import CONTINUOUS, DISCRETE, ROWS, lay_in
from kinema.convex.stage import Stage
from kinema.errors import BuildError
from kinema.gradients.contacts import touching
from kinema.math.touches import touches
from kinema.mujoco_enums import Enable, Integrator

NOT_PHYSICS = (check.check_position, check.check_velocity, check.check_acceleration)
INSTEAD = 'use method="fd"'


@cache
def implicit_solve(*, discrete: bool, factor: bool, noslip: bool) -> wp.Function:
    """A stage of duals: the derivative of the constrained acceleration, or the factor that it needs.

    With `noslip` that pass comes later.
    """
    system = DISCRETE if discrete else CONTINUOUS
    text = files("kinema.gradients").joinpath("implicit_solve.cpp").read_text(encoding="utf-8")
    head = '#include "lanes.cpp"\n#include "rows.cpp"\n'
    scratch = "d.solver.H[w] d.solver.Jaref[w] d.solver.grad[w]"
    before = "d.dual.start[w]" if noslip else ""

    @wp.func_native(lay_in(head + text, FACTOR=int(factor), NOSLIP=int(noslip), **system.definitions))
    @touches(
        reads=f"{ROWS} {system.reads} d.efc.D[w] d.efc.aref[w] d.frc.qacc[w] {before} {scratch}",
        writes=f"d.frc.qacc[w] d.frc.qfrc_constraint[w] d.efc.force[w] d.efc.state[w] {scratch}",
    )
    def implicit_solve(m: Model, d: Data, w: int): ...

    return implicit_solve


def solves(*, factor: bool) -> set[wp.Function]:
    """All of them that there are, for any model."""
    kinds = product((False, True), repeat=2)
    return {implicit_solve(discrete=at_once, factor=factor, noslip=after) for at_once, after in kinds}


def refuse(m: Any, stages: Sequence[Stage]) -> None:
    """Say what has no derivative here."""
    reason = ""
    if int(m.opt.integrator) == Integrator.RK4:
        reason = "the integrator RK4 solves the constraints four times a step"
    elif looks_ahead(m):
        reason = "speculative contacts follow from velocities through a search"
    elif any(stage.launch for stage in stages):
        reason = "a plugin launches kernels of its own"
    elif getattr(m, "nflex", 0):
        reason = "it has flexes"
    else:
        flags = {"sleep": Enable.SLEEP, "speculative": Enable.SPECULATIVE}
        asked = [name for name, bit in flags.items() if int(m.opt.enableflags) & bit]
        reason = f'<flag {asked[0]}="enable"/>' if asked else ""
    if reason:
        raise BuildError(f"linearize has no derivative of this model: {reason}; {INSTEAD}")


def differentiable(engine: Any) -> list[Stage]:
    """The stages of a step, in the shape of the CPU, without checks, and with the derivative of the solver."""
    m = engine.present.to("recipe")
    recipe = step.step(m, engine.collider.stages, engine.extension, cuda=False, rows=engine.rows)
    refuse(m, recipe)
    solvers = [stage.func for stage in step.solver(m)]
    noslip, kinds = int(m.opt.noslip_iterations) > 0, dual.kinds(m)
    at_once = is_discrete(m)
    found: list[Stage] = []
    for stage in recipe:
        if stage.func in solvers:
            both = [implicit_solve(discrete=at_once, factor=factor, noslip=noslip) for factor in (True, False)]
            found += [Stage(func) for func in both]
        elif noslip and stage.func is dual.noslip(**kinds):
            found.append(Stage(dual.noslip(**kinds, repeat=True), lanes=True))
        elif stage in engine.collider.stages:
            found.append(Stage(touching(engine.collider.detector.build), alone=True))
        elif stage.func not in NOT_PHYSICS:
            found.append(stage)
    return found


def needed(stages: Sequence[Stage], results: Collection[str]) -> list[Stage]:
    """The stages that results depend on."""
    wanted, kept = set(results), []
    for stage in reversed(stages):
        if stage.access.writes & wanted:
            wanted |= stage.access.reads
            kept.append(stage)
    return kept[::-1]


def changed(stages: Sequence[Stage], inputs: Collection[str]) -> list[bool]:
    """Of each stage, whether it is to be run again when inputs change: it depends on them, or one that does needs what
    it left and something later wrote over."""
    moving, again = set(inputs), []
    for stage in stages:
        again.append(bool(stage.access.reads & moving))
        if again[-1]:
            moving |= stage.access.writes
    before = -1
    while sum(again) != before:
        before = sum(again)
        for k in reversed(range(len(stages))):
            if again[k]:
                later = frozenset[str]().union(*(stage.access.writes for stage in stages[k:]))
                lost = stages[k].access.reads & later
                for earlier in range(k):
                    again[earlier] |= bool(stages[earlier].access.writes & lost)
    return again


def left_alone(stages: Sequence[Stage], recipe: Sequence[Stage], runs: Sequence[bool]) -> list[bool]:
    """Of each stage, whether it need not be run since a run of the recipe has left behind what it would compute.

    That is so where the same stages write what others read of it, in the recipe and here, none of them is to be run
    (`runs`), and what it reads has the value that it has there.
    """
    theirs, ours = _writers(recipe), _writers(stages)
    read = frozenset[str]().union(*(stage.access.reads for stage in stages))
    other: set[str] = set()
    found: list[bool] = []
    for stage, run in zip(stages, runs, strict=True):
        same = all(theirs.get(name) == ours[name] for name in stage.access.writes & read)
        found.append(same and not run and not stage.access.reads & other)
        if not same or stage.access.reads & other:
            other |= stage.access.writes
    before = -1
    while sum(found) != before:
        before = sum(found)
        renewed = written([stage for stage, left in zip(stages, found, strict=True) if not left])
        found = [left and not stage.access.writes & read & renewed for stage, left in zip(stages, found, strict=True)]
    return found


def _writers(stages: Sequence[Stage]) -> dict[str, set[Any]]:
    """Who writes which array."""
    found: dict[str, set[Any]] = {}
    for stage in stages:
        for name in stage.access.writes:
            found.setdefault(name, set()).add(stage.func)
    return found


def is_factor(stage: Stage) -> bool:
    """Is it the factor of the constraint solve? It has values only: one a world will do."""
    return stage.func in solves(factor=True)
