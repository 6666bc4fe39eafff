"""The discrete integrator: the constraint solve is the step (mj_discrete).

The solver has minimized in the metric Mh (metric.py), so qacc is the step map (v' - v) / h, and moves the state as it
is. What Mh has no place for is put back where it can be: a free body on its own, that neither rows nor ties act on, has
six equations of its own, solved in full with the slope of its bias force (mj_discreteGyro),

    (Mh + h d(bias)/dv) a = force

Inverse dynamics undoes the same step:  qfrc_inverse = Mh a + h K v + qfrc_bias - qfrc_passive - J' f.
"""

from typing import Any

import numpy as np
import warp as wp

from kinema.convex.data import Data
from kinema.convex.integrate.implicit import free_bias_matrix
from kinema.convex.layout import lone_bodies
from kinema.convex.metric import actuator_weight, mul_metric, tendon_slopes
from kinema.convex.model import Model
from kinema.convex.stage import Stage
from kinema.math.solve6 import solve6
from kinema.mujoco_enums import Disable, Joint, Solver


@wp.func
def step_map(m: Model, d: Data, w: int, i: int):
    """qacc_step."""
    d.scratch.qacc_step[w, i] = d.frc.qacc[w, i]


@wp.func
def is_alone(m: Model, d: Data, w: int, j: int) -> bool:
    """Whether a joint is that of a free body on its own, which no row acts on."""
    alone = bool(False)
    if m.jnt.type[j] == Joint.FREE:
        alone = m.body.alone[m.jnt.bodyid[j]] != 0
    if alone:
        first = m.jnt.dofadr[j]
        tree = m.dof.treeid[first]
        for r in range(d.efc.nefc[w]):
            trees = d.efc.trees[w, r]
            if m.size.nflexpoint > 0:  # rows that list their columns
                for k in range(d.efc.ncol[w, r]):
                    i = d.efc.col[w, r, k] - first
                    if i >= 0 and i < 6 and d.efc.J[w, r, k] != 0.0:
                        alone = False
            elif trees[0] < 0 or trees[0] == tree or trees[1] == tree:
                for i in range(first, first + 6):
                    if d.efc.J[w, r, i] != 0.0:
                        alone = False
    return alone


@wp.func
def is_untied(m: Model, d: Data, w: int, first: int) -> bool:
    """Whether neither tendon nor actuator ties the six dofs from `first` on."""
    untied = bool(True)
    if m.opt.solver != Solver.PGS:
        for t in range(m.size.ntendon):
            slopes = tendon_slopes(m, d, w, t)
            if slopes[0] != 0.0 or slopes[1] != 0.0:
                for r in range(m.tendon.ten_J_rowadr[t], m.tendon.ten_J_rowadr[t] + m.tendon.ten_J_rownnz[t]):
                    if m.tendon.ten_J_colind[r] >= first and m.tendon.ten_J_colind[r] < first + 6:
                        untied = False
        if (m.opt.disableflags & Disable.ACTUATION) == 0:
            for i in range(first, first + 6):
                for k in range(m.dof.momentadr[i], m.dof.momentadr[i] + m.dof.momentnum[i]):
                    if actuator_weight(m, d, w, m.dof.momentactuator[k]) != 0.0:
                        untied = False
    return untied


@wp.func
def gyroscopic_matrix(m: Model, d: Data, w: int, j: int) -> wp.spatial_matrix:
    """Mh + h d(bias)/dv of a free body on its own."""
    first = m.jnt.dofadr[j]
    six = int(6)
    res = free_bias_matrix(m, d, w, j)
    for r in range(six):
        row = m.dof.metric_rowadr[first + r]
        for a in range(row, row + m.dof.metric_rownnz[first + r]):
            c = m.dof.metric_colind[a] - first
            if c >= 0:
                res[r, c] = res[r, c] + d.metric.value[w, a]
                if c != r:
                    res[c, r] = res[c, r] + d.metric.value[w, a]
    return res


@wp.func
def free_body_step(m: Model, d: Data, w: int, j: int):
    """qacc of a free body on its own, gyroscopic terms included."""
    if is_alone(m, d, w, j):
        first = m.jnt.dofadr[j]
        if is_untied(m, d, w, first):
            force = wp.spatial_vector()
            for c in range(6):
                force[c] = d.metric.force[w, first + c]
            acc = solve6(gyroscopic_matrix(m, d, w, j), force)
            for c in range(6):
                d.frc.qacc[w, first + c] = acc[c]


@wp.func
def free_body_inverse(m: Model, d: Data, w: int, j: int):
    """qfrc_inverse of a free body on its own, as far as `metric_inverse` has come: the matrix times qacc."""
    if is_alone(m, d, w, j):
        first = m.jnt.dofadr[j]
        if is_untied(m, d, w, first):
            acc = wp.spatial_vector()
            for c in range(6):
                acc[c] = d.scratch.qacc_step[w, first + c]
            force = gyroscopic_matrix(m, d, w, j) * acc
            for c in range(6):
                d.frc.qfrc_inverse[w, first + c] = force[c]


@wp.func
def metric_inverse(m: Model, d: Data, w: int):
    """qfrc_inverse = Mh qacc."""
    mul_metric(m, d.frc.qfrc_inverse, d.metric.value, d.scratch.qacc_step, w)


@wp.func
def discrete_inverse(m: Model, d: Data, w: int, i: int):
    """qfrc_inverse of dof i."""
    rest = d.frc.qfrc_bias[w, i] - d.frc.qfrc_passive[w, i] - d.frc.qfrc_constraint[w, i] - d.metric.shift[w, i]
    d.frc.qfrc_inverse[w, i] = d.frc.qfrc_inverse[w, i] + rest


def _alone(m: Any, stage: Stage) -> list[Stage]:
    return [stage] if np.any(lone_bodies(m)) else []


def free_body_stages(m: Any) -> list[Stage]:
    """What follows the solver."""
    return _alone(m, Stage(free_body_step, over="njnt"))


def inverse_stages(m: Any) -> list[Stage]:
    """qfrc_inverse, once rows have their forces."""
    alone = _alone(m, Stage(free_body_inverse, over="njnt"))
    return [Stage(metric_inverse), *alone, Stage(discrete_inverse, over="nv")]
