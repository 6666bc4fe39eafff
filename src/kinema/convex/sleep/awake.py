"""Recipes of models whose trees may sleep: stages over what is awake, and those that sleep itself adds.

Most stages are run over the lists of rings.py instead of over all. What a sleeping tree has computed stays as it is,
for its neighbours to read. Left alone is

    what says itself how much there is to do: contacts, rows, and what would be skipped at no gain
    an array that a stage over the whole world adds to: its sums must be begun for everybody, or they would run away
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import warp as wp

from kinema.convex import check, com, factor, smooth
from kinema.convex.constraint import equality, friction, limit, sparse
from kinema.convex.counts import AWAKE_COUNTS
from kinema.convex.data import Data
from kinema.convex.factor import factor_range, solve_range
from kinema.convex.integrate import advance, euler
from kinema.convex.model import Model
from kinema.convex.passive import damping_slope, joint_damping
from kinema.convex.sleep import fall, wake
from kinema.convex.sleep.flexes import flex_state, keeps_flex
from kinema.convex.sleep.rings import is_listed
from kinema.convex.sleep.sleepers import of_actuators, sleeps
from kinema.convex.stage import Stage, named
from kinema.math.store import put
from kinema.mujoco_enums import Equality, SleepPolicy


def sizes(m: Any) -> dict[str, int]:
    """Room that sleep needs, as sizes of arrays in data.py."""
    on = int(sleeps(m))
    hangs = on and np.any(np.asarray(m.body_mocapid)[np.asarray(m.body_rootid)[np.asarray(m.tree_bodyadr)]] >= 0)
    counts = {f"{name}_sleep": on * int(getattr(m, name)) for name in ("nq", "ntree", "njnt", "ngeom", "nsite")}
    return {**counts, "nmocap_sleep": int(m.nmocap) if hangs else 0}


# ---------------------------------------------------------------------------------------------- stages that differ


@wp.func
def subtree_moment(m: Model, d: Data, w: int, b: int):
    """`com.subtree_moment`, where a sleeping child keeps the centre and not the moment."""
    sum = m.body.mass[w, b] * d.pose.xipos[w, b]
    first = m.body.childadr[b]
    for k in range(first, first + m.body.childnum[b]):
        c = m.body.child[k]
        part = d.inertia.subtree_com[w, c]
        if not is_listed(d, w, c):
            part = m.body.subtreemass[w, c] * part
        sum += part
    put(d.inertia.subtree_com, w, b, sum)


@wp.func
def advance_joint(m: Model, d: Data, w: int, j: int):
    """`advance.advance_joint`, of trees that have not just fallen asleep."""
    if d.state.tree_asleep[w, m.body.treeid[m.jnt.bodyid[j]]] < 0:
        advance.advance_joint(m, d, w, j)


@wp.func
def factor_mass(m: Model, d: Data, w: int):
    """`factor.factor_mass`, tree by tree."""
    for t in range(m.size.ntree):
        if d.sleep.tree_awake[w, t] != 0:
            factor_range(
                d.inertia.M, d.inertia.qLDiagInv, False, d.inertia.qLD, d.inertia.qLDiagInv, m.dof.M_rownnz,
                m.dof.M_rowadr, m.dof.M_colind, m.tree.dofadr[t], m.tree.dofadr[t] + m.tree.dofnum[t], w,
            )  # fmt: skip


@wp.func
def smooth_acceleration(m: Model, d: Data, w: int):
    """`smooth.smooth_acceleration`, tree by tree."""
    for t in range(m.size.ntree):
        if d.sleep.tree_awake[w, t] != 0:
            first = m.tree.dofadr[t]
            end = first + m.tree.dofnum[t]
            for i in range(first, end):
                d.frc.qacc_smooth[w, i] = d.frc.qfrc_smooth[w, i]
            solve_range(
                d.frc.qacc_smooth, d.inertia.qLD, d.inertia.qLDiagInv, m.dof.M_rownnz, m.dof.M_rowadr,
                m.dof.M_colind, first, end, w,
            )  # fmt: skip


@wp.func
def euler_step(m: Model, d: Data, w: int):
    """`euler.euler`, tree by tree."""
    h = m.opt.timestep[w]
    damped = d.sleep.ntree_awake[w] > 0
    if damped:
        damped = euler.is_damped(m, w)
    for t in range(m.size.ntree):
        if d.sleep.tree_awake[w, t] != 0:
            first = m.tree.dofadr[t]
            end = first + m.tree.dofnum[t]
            for i in range(first, end):
                d.scratch.qacc_step[w, i] = d.frc.qacc[w, i]
            if damped:
                for i in range(first, end):
                    b = joint_damping(m, w, i)
                    d.inertia.qHDiagInv[w, i] = h * damping_slope(b[0], wp.vec2(b[1], b[2]), d.state.qvel[w, i])
                    d.scratch.qacc_step[w, i] = d.frc.qfrc_smooth[w, i] + d.frc.qfrc_constraint[w, i]
                factor_range(
                    d.inertia.M, d.inertia.qHDiagInv, True, d.inertia.qH, d.inertia.qHDiagInv, m.dof.M_rownnz,
                    m.dof.M_rowadr, m.dof.M_colind, first, end, w,
                )  # fmt: skip
                solve_range(
                    d.scratch.qacc_step, d.inertia.qH, d.inertia.qHDiagInv, m.dof.M_rownnz, m.dof.M_rowadr,
                    m.dof.M_colind, first, end, w,
                )  # fmt: skip


INSTEAD = {
    com.subtree_moment: subtree_moment,
    advance.advance_joint: advance_joint,
    factor.factor_mass: factor_mass,
    smooth.smooth_acceleration: smooth_acceleration,
    euler.euler: euler_step,
}
"""Stages that are others where trees may sleep."""


# ---------------------------------------------------------------------------------------------- rows


@wp.func
def dof_asleep(m: Model, d: Data, w: int, i: int) -> bool:
    return d.sleep.tree_awake[w, m.dof.treeid[i]] == 0


@wp.func
def joint_asleep(m: Model, d: Data, w: int, j: int) -> bool:
    return d.sleep.body_awake[w, m.jnt.bodyid[j]] == 0


@wp.func
def tendon_asleep(m: Model, d: Data, w: int, t: int) -> bool:
    count = m.tendon.treenum[t]
    trees = m.tendon.treeid[t]
    if count == 1:
        return d.sleep.tree_awake[w, trees[0]] == 0
    if count == 2:
        return d.sleep.tree_awake[w, trees[0]] == 0 and d.sleep.tree_awake[w, trees[1]] == 0
    return False


@wp.func
def equality_asleep(m: Model, d: Data, w: int, e: int) -> bool:
    """Is neither side awake?"""
    if m.eq.type[e] == Equality.TENDON:
        one = tendon_asleep(m, d, w, m.eq.obj1id[e])
        if m.eq.obj2id[e] < 0:
            return one
        return one and tendon_asleep(m, d, w, m.eq.obj2id[e])
    if keeps_flex(m.eq.type[e]):
        return flex_state(m, d, w, m.eq.obj1id[e]) != 1
    s1 = wake.side_state(m, d, w, wake.side(m, e, 0))
    s2 = wake.side_state(m, d, w, wake.side(m, e, 1))
    return s1 != 1 and s2 != 1


@wp.func
def equality_slot(m: Model, e: int) -> int:
    return e


@wp.func
def dof_friction_slot(m: Model, i: int) -> int:
    return m.size.slot_friction + i


@wp.func
def tendon_friction_slot(m: Model, t: int) -> int:
    return m.size.slot_friction + m.size.nv + t


@wp.func
def joint_limit_slot(m: Model, j: int) -> int:
    return m.size.slot_limit + j


@wp.func
def tendon_limit_slot(m: Model, t: int) -> int:
    return m.size.slot_limit + m.size.njnt + t


WANTS = {
    equality.want_equality: (equality_asleep, equality_slot),
    sparse.want_equality_rows: (equality_asleep, equality_slot),
    friction.want_dof_friction: (dof_asleep, dof_friction_slot),
    friction.want_tendon_friction: (tendon_asleep, tendon_friction_slot),
    limit.want_joint_limit: (joint_asleep, joint_limit_slot),
    limit.want_tendon_limit: (tendon_asleep, tendon_limit_slot),
}
"""Stages in which constraints ask for rows: whether one sleeps, and where it asks."""


@cache
def unless_asleep(want: wp.Function) -> wp.Function:
    """A stage that asks for rows, where what sleeps asks for none."""
    asleep, slot = WANTS[want]

    def ask(m: Model, d: Data, w: int, i: int):
        if asleep(m, d, w, i):
            d.efc.want[w, slot(m, i)] = 0
        else:
            want(m, d, w, i)

    return named(ask, f"{want.key}_unless_asleep")


# ---------------------------------------------------------------------------------------------- sensors


@cache
def of_awake(read: wp.Function) -> wp.Function:
    """A stage over sensors, of those that do not sleep."""

    def read_awake(m: Model, d: Data, w: int, i: int):
        bodies = m.sensor.sleeper[i]
        awake = bodies[0] < 0
        if not awake:
            awake = is_listed(d, w, bodies[0]) or is_listed(d, w, bodies[1])
        if awake:
            read(m, d, w, i)

    return named(read_awake, f"{read.key}_of_awake")


# ---------------------------------------------------------------------------------------------- actuators


@wp.func
def rest_actuator(m: Model, d: Data, w: int, i: int):
    """An actuator whose trees sleep exerts nothing."""
    bodies = m.actuator.sleeper[i]
    if bodies[0] >= 0:
        if d.sleep.body_awake[w, bodies[0]] == 0 and d.sleep.body_awake[w, bodies[1]] == 0:
            for k in range(m.actuator.outadr[i], m.actuator.outadr[i] + m.actuator.outnum[i]):
                d.act.force[w, k] = 0.0


def actuator_stages(m: Any) -> list[Stage]:
    """What becomes of the forces of actuators, where trees that have some may sleep."""
    if not sleeps(m) or not m.nactuator:
        return []
    bodies = of_actuators(m)
    trees = np.asarray(m.body_treeid)[bodies[bodies[:, 0] >= 0]]
    never = np.isin(np.asarray(m.tree_sleep_policy)[trees], (SleepPolicy.NEVER, SleepPolicy.AUTO_NEVER))
    return [] if never.any(axis=-1).all() else [Stage(rest_actuator, over="nactuator")]


# ---------------------------------------------------------------------------------------------- recipes


ALL = {check.check_acceleration, smooth.keep_acceleration}
"""Stages that are cheap, and look at what sleeps as well."""


def awake_only(stages: Sequence[Stage], history: bool = False) -> list[Stage]:
    """A recipe over what is awake; `history`: sensors keep their past, so they are all read."""
    changed = [_instead(stage, history) for stage in stages]
    may = [stage for stage in changed if _has_list(stage)]
    added = [_adds(stage) for stage in changed if stage not in may]
    while True:  # what is left alone may add to something too
        sums = frozenset[str]().union(*added)
        left = [stage for stage in may if stage.access.writes & sums]
        if not left:
            break
        may = [stage for stage in may if stage not in left]
        added += [_adds(stage) for stage in left]
    return [replace(stage, awake=True) if stage in may else stage for stage in changed]


def _instead(stage: Stage, history: bool) -> Stage:
    if stage.func in INSTEAD:
        return replace(stage, func=INSTEAD[stage.func])
    if stage.func in WANTS:
        return replace(stage, func=unless_asleep(stage.func))
    if stage.over == "nsensor" and not history:
        return replace(stage, func=of_awake(stage.func))
    return stage


def _has_list(stage: Stage) -> bool:
    """May a stage be run over a list?"""
    if not stage.is_cohort or stage.func in ALL or (stage.sweep is None and stage.over not in AWAKE_COUNTS):
        return False
    return not stage.access.writes & {"efc_want", "efc_type"}


def _adds(stage: Stage) -> frozenset[str]:
    """Arrays that a stage adds to, for all of a world."""
    return stage.access.reads & stage.access.writes if stage.func and not stage.lanes else frozenset()


begin_stages, tendon_stages, contact_stages, equality_stages = (
    wake.begin_stages, wake.tendon_stages, wake.contact_stages, wake.equality_stages,
)  # fmt: skip
fall_stages, fall_at_the_end, end_stages = fall.stages, fall.at_the_end, fall.end_stages
__all__ = [
    "actuator_stages", "awake_only", "begin_stages", "contact_stages", "end_stages", "equality_stages",
    "fall_at_the_end", "fall_stages", "sizes", "sleeps", "tendon_stages",
]  # fmt: skip
