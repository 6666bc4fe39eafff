"""The metric of the discrete integrator: the inertia that a step feels, springs and dampers included.

    Mh = M + h D + h^2 K,    Mh a = qfrc_smooth - h K v + J' f,    v' = v + h a,    q' = q (+) h v'

so that springs and dampers act at the end of the step, and stiff ones cannot overshoot. D and K are positive: slopes of
the smooth forces by velocity and by position, each clamped at 0, and only those that damp or restore,

    joints      the diagonal: damping, stiffness
    tendons     (h b + h^2 k) J'J
    actuators   (h b + h^2 k) moment' moment,  b, k: slopes of the force by velocity and by length
    flexes      (h c + h^2) K of elements, hinges, cells and rods: flex/stiffness.py
    fluid       drag alone, in the pattern of M

Forces of the bias have no place in it, for their slopes are not symmetric. Ties of tendons and actuators couple dofs
that M does not (metric_pattern.py). What of Mh a factor like that of M can hold is its backbone, in qH:

    M + h D_fluid beside the diagonal, and the diagonal of Mh

Solvers that work on forces have only that; where ties are, the unconstrained acceleration is found by conjugate
gradients that it preconditions. Rows are regularized for Mh, flexes left out but for the hinges of rods: R is scaled
by how much easier M would be moved,

    R <- R (sum_i J_i^2 / Mh_ii) / (sum_i J_i^2 / M_ii),    J: the row's, or that of its contact's normal
"""

from dataclasses import replace
from typing import Any

import warp as wp

from kinema.convex import actuation
from kinema.convex.constraint.columns import column, column_count
from kinema.convex.data import Data
from kinema.convex.factor import factor_like_mass, solve_like_mass
from kinema.convex.flex.elastic import is_elastic
from kinema.convex.flex.rods import chains, has_rods
from kinema.convex.flex.stiffness import metric_flexes, metric_turns, metric_twists
from kinema.convex.flex.tables import has_flexes
from kinema.convex.integrate.derivatives import add_composites, add_outer
from kinema.convex.integrate.fluid_slope import body_drag_slope
from kinema.convex.kinematics import qpos_quat
from kinema.convex.metric_pattern import (
    has_ties,
    is_coupled,
    is_discrete,
    pattern,
    sprung_actuators,
    sprung_tendons,
)
from kinema.convex.model import Model
from kinema.convex.passive import damping_slope, has_passive_forces, joint_damping, spring_offset, stiffness_slope
from kinema.convex.stage import Stage
from kinema.convex.tendon import stretch, tendon_damping, tendon_rest
from kinema.math.lanes import lane_count
from kinema.math.quaternion import sub_quat
from kinema.mujoco_enums import MINVAL, Constraint, Disable, Joint

# ---------------------------------------------------------------------------------------------- slopes


@wp.func
def joint_stiffness(m: Model, d: Data, w: int, i: int) -> float:
    """k: slope of the spring of dof i's joint, not below 0; of rotations along the rotation from rest."""
    j = m.dof.jntid[i]
    k0 = m.jnt.stiffness[w, j]
    poly = m.jnt.stiffnesspoly[w, j]
    slope = float(0.0)
    if (m.opt.disableflags & Disable.SPRING) == 0 and (k0 != 0.0 or poly[0] != 0.0 or poly[1] != 0.0):
        kind = m.jnt.type[j]
        a = m.jnt.qposadr[j]
        rest = m.jnt.plasticadr[j]
        x = float(0.0)
        if kind == Joint.FREE and i < m.jnt.dofadr[j] + 3:
            x = wp.length(spring_offset(m, d, w, a))
        elif kind == Joint.FREE or kind == Joint.BALL:
            a += wp.where(kind == Joint.FREE, 3, 0)
            quat = qpos_quat(m.jnt.qpos_spring, w, a)
            if rest >= 0 and kind == Joint.BALL:
                quat = qpos_quat(d.state.plastic, w, rest)
            x = wp.length(sub_quat(qpos_quat(d.state.qpos, w, a), quat))
        else:
            zero = m.jnt.qpos_spring[w, a]
            if rest >= 0:
                zero = d.state.plastic[w, rest]
            x = d.state.qpos[w, a] - zero
        slope = wp.max(0.0, stiffness_slope(k0, poly, x))
    return slope


@wp.func
def tendon_slopes(m: Model, d: Data, w: int, t: int) -> wp.vec2:
    """k and b of tendon t, not below 0."""
    k = float(0.0)
    if (m.opt.disableflags & Disable.SPRING) == 0:
        rest = tendon_rest(m, d, w, t)
        x = stretch(d.ten.length[w, t], rest[0], rest[1])
        if x != 0.0:
            k = wp.max(0.0, stiffness_slope(m.tendon.stiffness[w, t], m.tendon.stiffnesspoly[w, t], x))
    b = float(0.0)
    if (m.opt.disableflags & Disable.DAMPER) == 0:
        c = tendon_damping(m, w, t)
        b = wp.max(0.0, damping_slope(c[0], wp.vec2(c[1], c[2]), d.ten.velocity[w, t]))
    return wp.vec2(k, b)


@wp.func
def weight_of(h: float, k: float, b: float) -> float:
    """What a spring k and a damper b add to the metric."""
    return h * h * k + h * b


@wp.func
def actuator_weight(m: Model, d: Data, w: int, i: int) -> float:
    """What actuator i adds."""
    return weight_of(m.opt.timestep[w], wp.max(0.0, -d.act.stretch[w, i]), wp.max(0.0, -d.act.slope[w, i]))


# ---------------------------------------------------------------------------------------------- assembly


@wp.func
def drag_derivative(m: Model, d: Data, w: int):
    """qDeriv = the slopes of the fluid's drag."""
    for a in range(m.size.nD):
        d.inertia.qDeriv[w, a] = 0.0
    if has_passive_forces(m):
        for b in range(1, m.size.nbody):
            d.scratch.body_slope[w, b] = body_drag_slope(m, d, w, b)
        add_composites(m, d, w, False)


@wp.func
def metric_row(m: Model, d: Data, w: int, i: int):
    """Row i of the metric without its ties, and the force that its springs shift."""
    h = m.opt.timestep[w]
    a = m.dof.M_rowadr[i]
    end = a + m.dof.M_rownnz[i]
    row = m.dof.metric_rowadr[i]
    last = row + m.dof.metric_rownnz[i] - 1
    for at in range(row, last + 1):
        value = float(0.0)
        if a < end and m.dof.M_colind[a] == m.dof.metric_colind[at]:
            value = d.inertia.M[w, a]
            a += 1
        d.metric.value[w, at] = value
    k = joint_stiffness(m, d, w, i)
    b = float(0.0)
    if (m.opt.disableflags & Disable.DAMPER) == 0:
        c = joint_damping(m, w, i)
        b = wp.max(0.0, damping_slope(c[0], wp.vec2(c[1], c[2]), d.state.qvel[w, i]))
    d.metric.value[w, last] = d.metric.value[w, last] + weight_of(h, k, b)
    d.metric.shift[w, i] = -h * k * d.state.qvel[w, i]


@wp.func
def metric_drag(m: Model, d: Data, w: int, i: int):
    """Row i of the metric += h D of the fluid."""
    at = m.dof.metric_rowadr[i]
    for a in range(m.dof.M_rowadr[i], m.dof.M_rowadr[i] + m.dof.M_rownnz[i]):
        while m.dof.metric_colind[at] < m.dof.M_colind[a]:
            at += 1
        d.metric.value[w, at] = d.metric.value[w, at] - m.opt.timestep[w] * d.inertia.qDeriv[w, m.dof.mapD2M[a]]


@wp.func
def backbone_row(m: Model, d: Data, w: int, i: int):
    """Row i of the backbone: of the metric what M's pattern holds, before ties are added."""
    at = m.dof.metric_rowadr[i]
    for a in range(m.dof.M_rowadr[i], m.dof.M_rowadr[i] + m.dof.M_rownnz[i]):
        while m.dof.metric_colind[at] < m.dof.M_colind[a]:
            at += 1
        d.inertia.qH[w, a] = d.metric.value[w, at]


@wp.func
def metric_tendons(m: Model, d: Data, w: int):
    """The metric += the ties of tendons."""
    h = m.opt.timestep[w]
    for t in range(m.size.ntendon):
        slopes = tendon_slopes(m, d, w, t)
        weight = weight_of(h, slopes[0], slopes[1])
        first = m.tendon.ten_J_rowadr[t]
        if weight != 0.0:
            add_outer(
                d.metric.value, m.dof.metric_rownnz, m.dof.metric_rowadr, m.dof.metric_colind, d.ten.J,
                m.tendon.ten_J_colind, first, m.tendon.ten_J_rownnz[t], weight, w,
            )  # fmt: skip
            pull = h * slopes[0] * d.ten.velocity[w, t]
            for r in range(first, first + m.tendon.ten_J_rownnz[t]):
                i = m.tendon.ten_J_colind[r]
                d.metric.shift[w, i] = d.metric.shift[w, i] - pull * d.ten.J[w, r]


@wp.func
def metric_actuators(m: Model, d: Data, w: int, i: int):
    """Row i of the metric += the ties of actuators on dof i."""
    h = m.opt.timestep[w]
    row = m.dof.metric_rowadr[i]
    end = row + m.dof.metric_rownnz[i]
    for k in range(m.dof.momentadr[i], m.dof.momentadr[i] + m.dof.momentnum[i]):
        actuator = m.dof.momentactuator[k]
        weight = actuator_weight(m, d, w, actuator)
        if weight != 0.0:
            out = m.dof.momentout[k]
            moment = d.act.moment[w, m.dof.momententry[k]]
            c = d.act.moment_rowadr[w, out]
            last = c + d.act.moment_rownnz[w, out]
            for a in range(row, end):
                while c < last and d.act.moment_colind[w, c] < m.dof.metric_colind[a]:
                    c += 1
                if c < last and d.act.moment_colind[w, c] == m.dof.metric_colind[a]:
                    d.metric.value[w, a] = d.metric.value[w, a] + weight * moment * d.act.moment[w, c]
            stiffness = wp.max(0.0, -d.act.stretch[w, actuator])
            d.metric.shift[w, i] = d.metric.shift[w, i] - h * stiffness * d.act.velocity[w, out] * moment


@wp.func
def metric_diagonal(m: Model, d: Data, w: int, i: int) -> float:
    """Mh_ii."""
    return d.metric.value[w, m.dof.metric_rowadr[i] + m.dof.metric_rownnz[i] - 1]


@wp.func
def shifted_force(m: Model, d: Data, w: int, i: int):
    """The smooth force of dof i at the end of the step, to first order."""
    d.metric.force[w, i] = d.frc.qfrc_smooth[w, i] + d.metric.shift[w, i]


@wp.func
def factor_backbone(m: Model, d: Data, w: int):
    """qH, qHDiagInv: the factor of the backbone."""
    for i in range(m.size.nv):
        d.inertia.qH[w, m.dof.M_rowadr[i] + m.dof.M_rownnz[i] - 1] = metric_diagonal(m, d, w, i)
    factor_like_mass(m, d.inertia.qH, d.inertia.qHDiagInv, False, d.inertia.qH, d.inertia.qHDiagInv, w)


# ---------------------------------------------------------------------------------------------- solution


@wp.func
def mul_metric(
    m: Model, y: wp.array2d(dtype=float), value: wp.array2d(dtype=float), x: wp.array2d(dtype=float), w: int
):
    """y = Mh x."""
    for i in range(m.size.nv):
        y[w, i] = float(0.0)
    for i in range(m.size.nv):
        last = m.dof.metric_rowadr[i] + m.dof.metric_rownnz[i] - 1
        sum = value[w, last] * x[w, i]
        for a in range(m.dof.metric_rowadr[i], last):
            c = m.dof.metric_colind[a]
            sum += value[w, a] * x[w, c]
            y[w, c] = y[w, c] + value[w, a] * x[w, i]
        y[w, i] = y[w, i] + sum


@wp.func
def backbone_acceleration(m: Model, d: Data, w: int):
    """qacc_smooth = Mh^-1 force, where the backbone is all there is."""
    for i in range(m.size.nv):
        d.frc.qacc_smooth[w, i] = d.metric.force[w, i]
    solve_like_mass(m, d.frc.qacc_smooth, d.inertia.qH, d.inertia.qHDiagInv, w)


@wp.func
def solve_tied(m: Model, d: Data, x: wp.array2d(dtype=float), b: wp.array2d(dtype=float), w: int):
    """x = Mh^-1 b by conjugate gradients, preconditioned by the backbone.

    They end where rounding does not let the residual fall any further, as an acceleration: beside the drag of one dof
    the forces on all others may be nothing.
    """
    for i in range(m.size.nv):
        force = b[w, i]
        x[w, i] = 0.0
        d.metric.residual[w, i] = force
        d.metric.slant[w, i] = force
    solve_like_mass(m, d.metric.slant, d.inertia.qH, d.inertia.qHDiagInv, w)
    energy = float(0.0)
    for i in range(m.size.nv):
        d.metric.search[w, i] = d.metric.slant[w, i]
        energy += d.metric.residual[w, i] * d.metric.slant[w, i]
    turns = int(0)
    while turns < 2 * m.size.nv + 10 and energy > 0.0:
        turns += 1
        mul_metric(m, d.metric.slant, d.metric.value, d.metric.search, w)
        curve = float(0.0)
        for i in range(m.size.nv):
            curve += d.metric.search[w, i] * d.metric.slant[w, i]
        if curve <= 0.0:
            break
        alpha = energy / curve
        size = float(0.0)
        for i in range(m.size.nv):
            a = x[w, i] + alpha * d.metric.search[w, i]
            residual = d.metric.residual[w, i] - alpha * d.metric.slant[w, i]
            x[w, i] = a
            d.metric.residual[w, i] = residual
            d.metric.slant[w, i] = residual
            size += a * a
        solve_like_mass(m, d.metric.slant, d.inertia.qH, d.inertia.qHDiagInv, w)
        last = energy
        energy = float(0.0)
        rest = float(0.0)
        for i in range(m.size.nv):
            energy += d.metric.residual[w, i] * d.metric.slant[w, i]
            rest += d.metric.slant[w, i] * d.metric.slant[w, i]
        if rest <= 1.0e-14 * size:
            break
        for i in range(m.size.nv):
            d.metric.search[w, i] = d.metric.slant[w, i] + energy / last * d.metric.search[w, i]


@wp.func
def tied_acceleration(m: Model, d: Data, w: int):
    """qacc_smooth = Mh^-1 force."""
    solve_tied(m, d, d.frc.qacc_smooth, d.metric.force, w)


@wp.func
def total_force(m: Model, d: Data, w: int, i: int):
    """What moves dof i, constraints included, into qacc_step."""
    d.scratch.qacc_step[w, i] = d.metric.force[w, i] + d.frc.qfrc_constraint[w, i]


@wp.func
def tied_step(m: Model, d: Data, w: int):
    """qacc = Mh^-1 (force + J' f), for forces that were found with the backbone alone."""
    solve_tied(m, d, d.frc.qacc, d.scratch.qacc_step, w)


# ---------------------------------------------------------------------------------------------- rows


@wp.func
def head_of(d: Data, w: int, r: int) -> int:
    """The row whose Jacobian says how heavy a row is: of a contact its first."""
    if d.efc.type[w, r] >= Constraint.CONTACT_FRICTIONLESS:
        return d.crow.address[w, d.efc.id[w, r]]
    return r


@wp.func
def least_regularization(m: Model, d: Data, w: int, r: int, head: int) -> float:
    """The least R of a row: that of a normal is MINVAL, and friction has its share of what the normal has."""
    share = float(1.0)
    kind = d.efc.type[w, r]
    if kind == Constraint.CONTACT_PYRAMIDAL:
        mu = d.crow.mu[w, d.efc.id[w, r]]
        share = 2.0 * mu * mu
    elif kind == Constraint.CONTACT_ELLIPTIC and r > head:
        friction = d.con.friction[w, d.efc.id[w, r]]
        scale = friction[0] / friction[r - head - 1]
        share = scale * scale / wp.max(MINVAL, m.opt.impratio[w])
    return MINVAL * wp.max(1.0, share)


@wp.func
def rescale_row(m: Model, d: Data, w: int, r: int, head: int, light: float, heavy: float):
    """R, D and what adhesion adds to aref, where J M^-1 J' was `light` and is `heavy` by the metric."""
    if light > MINVAL:
        adhesion = float(0.0)
        kind = d.efc.type[w, r]
        if kind >= Constraint.CONTACT_FRICTIONLESS:
            c = d.efc.id[w, r]
            if kind == Constraint.CONTACT_PYRAMIDAL:
                adhesion = d.con.adhesion[w, c] / float(2 * (d.con.dim[w, c] - 1))
            elif r == head:
                adhesion = d.con.adhesion[w, c]
        old = d.efc.R[w, r]
        reg = wp.max(least_regularization(m, d, w, r, head), old * heavy / light)
        d.efc.R[w, r] = reg
        d.efc.D[w, r] = 1.0 / reg
        d.efc.aref[w, r] = d.efc.aref[w, r] + (reg - old) * adhesion


@wp.func
def regularize_rows(m: Model, d: Data, w: int, lane: int):
    """R, D and what adhesion adds to aref, for the metric in place of M; lanes share out the rows."""
    for r in range(lane, d.efc.nefc[w], lane_count()):
        head = head_of(d, w, r)
        trees = d.efc.trees[w, r]
        light = float(0.0)
        heavy = float(0.0)
        for q in range(column_count(trees, m.tree.dofnum, m.size.nv)):
            i = column(trees, m.tree.dofadr, m.tree.dofnum, q)
            entry = d.efc.J[w, head, i]
            if entry != 0.0:
                light += entry * entry / d.inertia.M[w, m.dof.M_rowadr[i] + m.dof.M_rownnz[i] - 1]
                heavy += entry * entry / metric_diagonal(m, d, w, i)
        rescale_row(m, d, w, r, head, light, heavy)


@wp.func
def regularize_sparse_rows(m: Model, d: Data, w: int, lane: int):
    """The same for rows that list their columns."""
    for r in range(lane, d.efc.nefc[w], lane_count()):
        if r >= d.efc.ne[w] and d.efc.type[w, r] == Constraint.EQUALITY:
            continue  # a spring: constraint/passive_contact.py
        head = head_of(d, w, r)
        light = float(0.0)
        heavy = float(0.0)
        for q in range(d.efc.ncol[w, head]):
            i = d.efc.col[w, head, q]
            entry = d.efc.J[w, head, q]
            light += entry * entry / d.inertia.M[w, m.dof.M_rowadr[i] + m.dof.M_rownnz[i] - 1]
            heavy += entry * entry / d.metric.weight[w, i]
        rescale_row(m, d, w, r, head, light, heavy)


@wp.func
def keep_diagonal(m: Model, d: Data, w: int, i: int):
    """The diagonal before flexes are added, hinges of rods apart: what rows are regularized by."""
    d.metric.weight[w, i] = metric_diagonal(m, d, w, i)


# ---------------------------------------------------------------------------------------------- recipe


def stages(m: Any, factored: bool) -> list[Stage]:
    """The stages that make the metric of a model, and its backbone's factor if it is `factored`."""
    own = ("metric_value", "qH")
    recipe = [Stage(metric_row, over="nv", own=own)]
    if m.opt.density or m.opt.viscosity:
        recipe = [Stage(drag_derivative), *recipe, Stage(metric_drag, over="nv", own=own)]
    recipe[0] = replace(recipe[0], alone=True)  # on CUDA the kernel before it would be too long to be inlined
    recipe += [Stage(backbone_row, over="nv", own=own)] if factored else []
    if has_ties(m):
        if len(sprung_tendons(m)):
            recipe.append(Stage(metric_tendons))
        if len(sprung_actuators(m)):
            recipe += [*actuation.slope_stages(m), Stage(metric_actuators, over="nv", own=own)]
    turning = has_rods(m) and bool(chains(m))
    of_turns: dict[str, Any] = {"over": "nflexsegment", "own": ("metric_value", "metric_shift")}
    recipe += [Stage(metric_turns, **of_turns), Stage(metric_twists, **of_turns)] if turning else []
    recipe += [Stage(keep_diagonal, over="nv", own=own)] if has_flexes(m) else []
    recipe += [Stage(metric_flexes, over="nv")] if is_elastic(m) else []
    return recipe + ([Stage(factor_backbone)] if factored else [])


def row_stages(m: Any) -> list[Stage]:
    """Rows regularized for the metric, once they are there."""
    return [Stage(regularize_sparse_rows if has_flexes(m) else regularize_rows, lanes=True)]


def acceleration_stages(m: Any) -> list[Stage]:
    """qacc_smooth by the factor of the backbone."""
    return [Stage(tied_acceleration if is_coupled(m) else backbone_acceleration)]


def noslip_stages(m: Any, dense: list[Stage]) -> list[Stage]:
    """What follows a pass that knows the backbone only: the acceleration its forces make in the whole metric.

    Args:
        dense: The stage that solves with the metric, where a group of lanes can; otherwise none.
    """
    return [Stage(total_force, over="nv"), *(dense or [Stage(tied_step)])] if is_coupled(m) else []


def sizes(m: Any) -> dict[str, int]:
    """Room that only the discrete integrator needs."""
    discrete = int(is_discrete(m))
    lists = pattern(m)
    entries, full = len(lists["dof_metric_colind"]), len(lists["dof_metric_full"])
    tied = int(is_coupled(m)) * m.nv
    return {
        "nmetric": entries, "nmetricfull": full, "nv_discrete": discrete * m.nv, "nv_tied": tied,
        "nv_flexmetric": discrete * int(has_flexes(m)) * m.nv,
    }  # fmt: skip
