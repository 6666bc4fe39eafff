"""Forces of elements (elements.py) by the stages of a step, in duals: everything but inertia, contacts, and rows of one
dof, whose derivatives are known in closed form.

    qfrc_passive, qfrc_actuator    as ever
    qfrc_constraint                of rows that couple dofs, at an acceleration that stays: J' f(J a - aref)
    qDeriv                         the slopes by velocity that the integrator takes at the end of the step
    qacc_warmstart                 N a', N = h (-qDeriv), and of free bodies on their own h d(bias)/dv beside it

In a run of duals these arrays are scratch. The last is there where N changes with the state: a' is the acceleration
that the integrator chooses, which `settling` gives. The discrete integrator takes springs and dampers into the solve,
so that they push by what the metric W makes of the one acceleration there is:

    qacc_warmstart                 -(W - M) a - h K v
    qacc_smooth                    h d(bias)/dv a of free bodies on their own
    metric_value                   W - M: what inertia has in it does not move here
    qfrc_constraint                at regularizations that know nothing of a W that moves (regularization_slopes.cpp)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import warp as wp

from kinema.convex import check, mass, metric, passive, smooth, step
from kinema.convex.constraint import contact
from kinema.convex.constraint.columns import column, column_count
from kinema.convex.data import Data
from kinema.convex.integrate import discrete
from kinema.convex.integrate.derivatives import damper_diagonal
from kinema.convex.integrate.implicit import free_bias_matrix
from kinema.convex.metric import mul_metric
from kinema.convex.metric_pattern import is_discrete
from kinema.convex.model import Model
from kinema.convex.stage import Stage, over_world
from kinema.gradients import stages as of_step
from kinema.gradients.anchor_slopes import is_connected
from kinema.gradients.coloring import METRIC, OUTPUT
from kinema.gradients.contacts import touching
from kinema.gradients.elements import LATE, NOT_LATE, ROWS, SPIN, Element, bears_gravity, lateness, lone_dofs, varies
from kinema.mujoco_enums import Constraint, ConstraintState, Integrator, Joint

IN_CLOSED_FORM = (
    contact.want_contact, contact.contact_columns, contact.contact_columns_in_lanes(1),
    contact.contact_columns_in_lanes(2), contact.contact_scalars, smooth.keep_acceleration,
)  # fmt: skip
"""Stages of a step that have no part in it."""

OF_INERTIA = (mass.mass_row, metric.tied_acceleration, metric.backbone_acceleration, discrete.free_body_step)
"""And of the discrete integrator."""

GIVEN = ("qacc", "qacc_step", "ncon", "metric_value")
"""What stages start from, beside the state."""


@wp.func
def is_coupled(m: Model, kind: int, ident: int) -> bool:
    """Is a row that is no contact's more than one of a dof alone, and has no closed form?"""
    if kind == Constraint.LIMIT_JOINT:
        return m.jnt.type[ident] == Joint.BALL
    if kind == Constraint.EQUALITY:
        return not is_connected(m, ident)
    return kind != Constraint.FRICTION_DOF


@wp.func
def push_rows(m: Model, d: Data, w: int):
    """qfrc_constraint of the rows that couple dofs, in the zones they are in."""
    for i in range(m.size.nv):
        d.frc.qfrc_constraint[w, i] = 0.0
    for r in range(d.efc.ne[w] + d.efc.nf[w] + d.efc.nl[w]):
        zone = d.efc.state[w, r]
        if is_coupled(m, d.efc.type[w, r], d.efc.id[w, r]) and zone != ConstraintState.SATISFIED:
            trees = d.efc.trees[w, r]
            count = column_count(trees, m.tree.dofnum, m.size.nv)
            force = d.efc.frictionloss[w, r]
            if zone == ConstraintState.LINEARPOS:
                force = -force
            if zone == ConstraintState.QUADRATIC:
                residual = -d.efc.aref[w, r]
                for q in range(count):
                    i = column(trees, m.tree.dofadr, m.tree.dofnum, q)
                    residual += d.efc.J[w, r, i] * d.frc.qacc[w, i]
                force = -d.efc.D[w, r] * residual
            for q in range(count):
                i = column(trees, m.tree.dofadr, m.tree.dofnum, q)
                d.frc.qfrc_constraint[w, i] = d.frc.qfrc_constraint[w, i] + d.efc.J[w, r, i] * force


@wp.func
def late_force(m: Model, d: Data, w: int):
    """N a', of all but free bodies on their own."""
    for i in range(m.size.nv):
        d.state.qacc_warmstart[w, i] = 0.0
    for i in range(m.size.nv):
        if m.opt.integrator != Integrator.IMPLICITFAST or m.body.alone[m.dof.bodyid[i]] == 0:
            for a in range(m.dof.M_rowadr[i], m.dof.M_rowadr[i] + m.dof.M_rownnz[i]):
                c = m.dof.M_colind[a]
                value = -m.opt.timestep[w] * d.inertia.qDeriv[w, m.dof.mapD2M[a]]
                d.state.qacc_warmstart[w, i] = d.state.qacc_warmstart[w, i] + value * d.scratch.qacc_step[w, c]
                if c != i:
                    d.state.qacc_warmstart[w, c] = d.state.qacc_warmstart[w, c] + value * d.scratch.qacc_step[w, i]


@wp.func
def free_bias_along(slope: wp.spatial_matrix, x: wp.array2d(dtype=float), w: int, first: int, r: int) -> float:
    """Row r of h d(bias)/dv of a free body, times what x has for its dofs."""
    sum = float(0.0)
    for c in range(6):
        sum += slope[r, c] * x[w, first + c]
    return sum


@wp.func
def late_force_alone(m: Model, d: Data, w: int, j: int):
    """N a' of free bodies on their own."""
    if m.jnt.type[j] == Joint.FREE:
        if m.body.alone[m.jnt.bodyid[j]] != 0:
            first = m.jnt.dofadr[j]
            slope = free_bias_matrix(m, d, w, j)
            for r in range(6):
                sum = free_bias_along(slope, d.scratch.qacc_step, w, first, r)
                row = m.dof.D_rowadr[first + r]
                for a in range(row, row + m.dof.D_rownnz[first + r]):
                    sum -= m.opt.timestep[w] * d.inertia.qDeriv[w, a] * d.scratch.qacc_step[w, m.dof.D_colind[a]]
                d.state.qacc_warmstart[w, first + r] = sum


@wp.func
def metric_force(m: Model, d: Data, w: int):
    """What springs and dampers that the metric takes in push by."""
    mul_metric(m, d.state.qacc_warmstart, d.metric.value, d.frc.qacc, w)
    for i in range(m.size.nv):
        d.state.qacc_warmstart[w, i] = d.metric.shift[w, i] - d.state.qacc_warmstart[w, i]


@wp.func
def spin_force(m: Model, d: Data, w: int, j: int):
    """h d(bias)/dv a of free bodies on their own."""
    if m.jnt.type[j] == Joint.FREE:
        if m.body.alone[m.jnt.bodyid[j]] != 0:
            first = m.jnt.dofadr[j]
            slope = free_bias_matrix(m, d, w, j)
            for r in range(6):
                d.frc.qacc_smooth[w, first + r] = free_bias_along(slope, d.frc.qacc, w, first, r)


def stages(engine: Any, elements: Sequence[Element]) -> list[Stage]:
    """The stages that forces of elements depend on."""
    m = engine.present.to("closed")
    left_out = {*IN_CLOSED_FORM, touching(engine.collider.detector.build)}
    left_out |= of_step.solves(factor=False) | of_step.solves(factor=True)
    if is_discrete(m):
        left_out |= set(OF_INERTIA)
    if bears_gravity(m):
        left_out.add(passive.gravity_compensation)
    forces, late = {e.force for e in elements}, lateness(m, elements)
    wanted = {"act"} | forces | ({"qDeriv"} if late != NOT_LATE else set())
    wanted |= {OUTPUT} if any(e.outs for e in elements) else set()
    wanted |= {METRIC} if is_discrete(m) and LATE in forces and varies(m) else set()
    recipe = [
        stage for stage in of_step.differentiable(engine)
        if stage.func not in left_out and "qacc_step" not in stage.access.writes
    ]  # fmt: skip
    more = [Stage(push_rows)] if ROWS in forces else []
    if m.opt.integrator == Integrator.EULER and late != NOT_LATE:
        more.append(Stage(damper_diagonal, over="nv"))
    if is_discrete(m):  # rows first: what they are regularized by stays
        more += [stage for stage in recipe if METRIC in stage.access.writes]
        recipe = [stage for stage in recipe if METRIC not in stage.access.writes]
        more += [Stage(metric_force)] if LATE in forces else []
        more += [Stage(spin_force, over="njnt")] if SPIN in forces else []
    elif LATE in forces:
        more.append(Stage(late_force))
        more += [Stage(late_force_alone, over="njnt")] if lone_dofs(m) else []
    moves = next((k for k, stage in enumerate(recipe) if stage.advances and stage.once), len(recipe))
    return of_step.needed([*recipe[:moves], *more, *recipe[moves:]], wanted)


def integrating(m: Any) -> tuple[Stage, ...]:
    """The stages that choose the acceleration of a step."""
    return tuple(stage for stage in step.integrator(m) if stage.func is not check.check_acceleration)


@cache
def settling(stages: tuple[Stage, ...]) -> wp.Kernel:
    """qacc_step of worlds first to last - 1: threads take every `stride`-th."""

    @wp.kernel(enable_backward=False, module="unique", module_options={"max_unroll": 128})
    def settle(m: Model, d: Data, stride: int, first: int, last: int):
        for w in range(first + wp.tid(), last, stride):
            for s in range(wp.static(len(stages))):
                wp.static(over_world(stages[s]))(m, d, w)

    return settle
