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

import numpy as np
import warp as wp

from kinema.convex import check, metric, smooth, step
from kinema.convex.access import written
from kinema.convex.activation import FAMILY_DCMOTOR, family
from kinema.convex.ahead import looks_ahead
from kinema.convex.data import Data
from kinema.convex.flex import contact as flex_contact
from kinema.convex.flex.elastic import has_neo_hookean
from kinema.convex.flex.tables import has_flexes
from kinema.convex.metric_pattern import is_coupled, is_discrete
from kinema.convex.model import Model
from kinema.convex.solve import dual
from kinema.convex.solve.native import CONTINUOUS, DISCRETE, ROWS, lay_in
from kinema.convex.solve.sparse import LISTED
from kinema.convex.stage import Stage
from kinema.errors import BuildError
from kinema.gradients import contacts, flex_contacts
from kinema.gradients.arrays import number
from kinema.gradients.contacts import touching
from kinema.math.touches import touches
from kinema.mujoco_enums import Disable, Enable, Integrator

NOT_PHYSICS = (check.check_position, check.check_velocity, check.check_acceleration)
INSTEAD = 'use method="fd"'


def implicit_solve(*, discrete: bool, factor: bool, noslip: bool, listed: bool) -> wp.Function:
    """A stage of duals: the derivative of the constrained acceleration, or the factor that it needs.

    With `noslip` that pass comes later; `listed`: rows list their columns.
    """
    return _implicit_solve(discrete, factor, noslip, listed)


@cache  # by position: of arguments by name their order would tell two functions apart
def _implicit_solve(discrete: bool, factor: bool, noslip: bool, listed: bool) -> wp.Function:
    system = DISCRETE if discrete else CONTINUOUS
    text = files("kinema.gradients").joinpath("implicit_solve.cpp").read_text(encoding="utf-8")
    head = f'#include "lanes.cpp"\n#include "{"listed_rows.cpp" if listed else "rows.cpp"}"\n'
    scratch = "d.solver.wide[w]" if listed else "d.solver.H[w] d.solver.Jaref[w] d.solver.grad[w]"
    rows = f"{LISTED} d.solver.lists[w]" if listed else ROWS
    before = "d.dual.start[w]" if noslip else ""
    kind = {"FACTOR": int(factor), "NOSLIP": int(noslip), "LISTED": int(listed)}

    @wp.func_native(lay_in(head + text, **kind, **system.definitions))
    @touches(
        reads=f"{rows} {system.reads} d.efc.D[w] d.efc.aref[w] d.frc.qacc[w] {before} {scratch}",
        writes=f"d.frc.qacc[w] d.frc.qfrc_constraint[w] d.efc.force[w] d.efc.state[w] {scratch}",
    )
    def implicit_solve(m: Model, d: Data, w: int): ...

    return implicit_solve


def solves(*, factor: bool) -> set[wp.Function]:
    """All of them that there are, for any model."""
    kinds = product((False, True), repeat=3)
    return {
        implicit_solve(discrete=at_once, factor=factor, noslip=after, listed=listed) for at_once, after, listed in kinds
    }


def refuse(m: Any, stages: Sequence[Stage]) -> None:
    """Say what has no derivative here."""
    reason = ""
    if int(m.opt.integrator) == Integrator.RK4 and np.any(family(m) == FAMILY_DCMOTOR) and m.na:
        reason = "DC motors with states of their own under RK4"
    elif looks_ahead(m):
        reason = "speculative contacts follow from velocities through a search"
    elif any(stage.launch for stage in stages):
        reason = "a plugin launches kernels of its own"
    elif has_flexes(m) and int(m.opt.noslip_iterations) > 0:
        reason = "noslip_iterations beside flexes: a step does not keep what the pass starts from"
    elif has_flexes(m) and has_neo_hookean(m):
        reason = "Stable Neo-Hookean solids: frames of equal singular values have no slope"
    else:
        flags = {"sleep": Enable.SLEEP, "speculative": Enable.SPECULATIVE}
        asked = [name for name, bit in flags.items() if int(m.opt.enableflags) & bit]
        reason = f'<flag {asked[0]}="enable"/>' if asked else ""
    if reason:
        raise BuildError(f"this model has no derivative: {reason}; for a linearization {INSTEAD}")


def differentiable(engine: Any) -> list[Stage]:
    """The stages of a step, in the shape of the CPU, without checks, and with the derivative of the solver; of a
    Runge-Kutta step, those of an evaluation (runge_kutta.py)."""
    m = engine.present.to("recipe")
    recipe = step.step(m, engine.collider.stages, engine.extension, cuda=False, rows=engine.rows)
    refuse(m, recipe)
    if int(m.opt.integrator) == Integrator.RK4:
        recipe = [stage for stage in recipe if not stage.advances]
    solvers, passed = [stage.func for stage in step.solver(m)], NOT_PHYSICS
    if is_discrete(m) and is_coupled(m) and int(m.opt.disableflags) & Disable.CONSTRAINT:
        # conjugate gradients end where values do: at rest before they begin, whatever is about to push
        solvers, passed = [metric.tied_acceleration], (*NOT_PHYSICS, smooth.unconstrained)
    noslip, kinds = int(m.opt.noslip_iterations) > 0, dual.kinds(m)
    at_once, fields = is_discrete(m), engine.extension.fields
    of_flexes = flex_contact.stages(m, fresh=not engine.collider.stages, fields=fields) if has_flexes(m) else []
    found: list[Stage] = []
    for stage in recipe:
        if stage.func in solvers:
            kind = {"discrete": at_once, "noslip": noslip, "listed": has_flexes(m)}
            found += [Stage(implicit_solve(**kind, factor=factor)) for factor in (True, False)]
        elif noslip and stage.func is dual.noslip(**kinds):
            found.append(Stage(dual.noslip(**kinds, repeat=True), lanes=True))
        elif stage in engine.collider.stages:
            found.append(Stage(touching(engine.collider.detector.build), alone=True))
        elif stage in of_flexes:
            found.append(Stage(flex_contacts.touching(m, fields), alone=True))
        elif stage.func not in passed:
            found.append(stage)
    return found


def given(m: Any) -> tuple[str, ...]:
    """What derivatives of a step start from, beside the state."""
    return "qacc", *contacts.GIVEN, *(flex_contacts.GIVEN if has_flexes(m) else ())


def more_room(m: Any, width: int) -> dict[str, int]:
    """Elements that arrays of duals with so many derivatives have beyond the engine's: for the contacts that a contact
    of flexes is one of, and for the matrix of implicit_solve.cpp, whose entries are doubles in the room of duals."""
    if not has_flexes(m):
        return {}
    found = dict.fromkeys(("contact_dist", "contact_pos", "contact_frame"), int(flex_contacts.ROOM))
    entry = number(wp.float64, width)
    return {**found, "solver_wide": -(-int(m.nv) ** 2 * entry.plain // entry.wide)}


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
