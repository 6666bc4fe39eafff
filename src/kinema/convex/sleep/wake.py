"""What wakes trees, at the beginning of a step (mj_wake, mj_wakeTendon, mj_wakeCollision, mj_wakeEquality).

    a touch      positions, velocities or applied forces are not those the tree fell asleep with, to the bit
    a tendon     at its limit, from a tree that is awake
    a contact    with a tree that is awake or a mocap body; detection is then run again, for the contacts of the woken
    an equality  to a tree that is awake, a mocap body, or to a tree of another ring
"""

import numpy as np
import warp as wp

from kinema.collide.asleep import KEEP, LOOK, NOTHING
from kinema.convex.constraint.limit import tendon_distance
from kinema.convex.data import Data
from kinema.convex.flex.side import contact_body
from kinema.convex.model import Model
from kinema.convex.sleep.fall import fall_together
from kinema.convex.sleep.flexes import keeps_flex, wake_flex
from kinema.convex.sleep.rings import AWAKE, READY, count_awake, first_of_ring, list_awake, wake_ring
from kinema.convex.sleep.touch import any_bit, differ, is_pushed, may_sleep
from kinema.convex.stage import Stage
from kinema.mujoco_enums import Disable, Equality, Integrator, Obj, SleepPolicy


@wp.func
def is_moved(m: Model, d: Data, w: int, t: int) -> bool:
    """Does a sleeping tree move, or lie elsewhere than where it fell asleep?"""
    first = m.tree.dofadr[t]
    count = m.tree.dofnum[t]
    moves = any_bit(d.state.qvel, w, first, count)
    lies = differ(d.state.qpos, d.state.asleep_qpos, w, m.tree.qposadr[t], m.tree.qposnum[t])
    found = moves or lies
    if m.opt.integrator == Integrator.RK4 and d.sleep.settled[w] != 0:  # the last evaluation was elsewhere
        for i in range(first, first + count):
            found = found or d.rk[0].rate[w, i] != 0.0
    return found


@wp.func
def is_carried(m: Model, d: Data, w: int, t: int) -> bool:
    """Does a sleeping tree hang on a mocap body that was moved?"""
    k = m.tree.mocapid[t]
    found = bool(False)
    if k >= 0 and d.sleep.settled[w] != 0:
        moved = d.state.mocap_pos[w, k] - d.sleep.mocap_pos[w, k]
        turned = d.state.mocap_quat[w, k] - d.sleep.mocap_quat[w, k]
        found = wp.max(wp.abs(moved)) > 0.0 or wp.max(wp.abs(turned)) > 0.0
    return found


@wp.func
def is_to_begin_asleep(m: Model, d: Data, w: int, t: int) -> bool:
    """Is a tree to begin asleep, and has this not been seen to?"""
    return (
        d.sleep.settled[w] == 0 and m.tree.sleep_policy[t] == SleepPolicy.INIT and d.state.tree_asleep[w, t] == READY
    )


@wp.func
def stir(m: Model, d: Data, w: int, t: int):
    """Note whether somebody has touched a sleeping tree."""
    stirred = int(0)
    if d.state.tree_asleep[w, t] >= 0 or is_to_begin_asleep(m, d, w, t):
        if not may_sleep(m, t) or is_pushed(m, d, w, t) or is_moved(m, d, w, t):
            stirred = 1
        if is_carried(m, d, w, t):
            stirred = 1
    d.sleep.stirred[w, t] = stirred
    if stirred != 0:
        d.sleep.restless[w] = 1


@wp.func
def rouse(m: Model, d: Data, w: int):
    """Wake the trees that were touched, and tell detection whether there is anything to find."""
    changed = int(0)
    if d.sleep.restless[w] != 0 or d.sleep.settled[w] == 0:
        for t in range(m.size.ntree):
            if d.sleep.stirred[w, t] != 0:
                wake_ring(d.state.tree_asleep, m.size.ntree, w, t, AWAKE)
        count_awake(m, d, w)
        d.sleep.restless[w] = 0
        changed = 1
    d.sleep.changed[w] = changed
    look(m, d, w)


@wp.func
def look(m: Model, d: Data, w: int):
    """Let detection look for contacts, unless nobody could have any."""
    idle = d.sleep.ntree_awake[w] == 0 and m.size.nmocap == 0
    d.sleep.look[w] = wp.where(idle, NOTHING, LOOK)


# ---------------------------------------------------------------------------------------------- tendons


@wp.func
def wake_by_tendon(m: Model, d: Data, w: int):
    """Wake trees that a tendon at its limit ties to one that is awake."""
    changed = int(0)
    if d.sleep.ntree_awake[w] < m.size.ntree:
        for i in range(m.size.ntendon):
            if m.tendon.treenum[i] == 2 and m.tendon.limited[i] != 0:
                margin = m.tendon.margin[w, i]
                if tendon_distance(m, d, w, i, 0) < margin or tendon_distance(m, d, w, i, 1) < margin:
                    trees = m.tendon.treeid[i]
                    one = d.sleep.tree_awake[w, trees[0]]
                    two = d.sleep.tree_awake[w, trees[1]]
                    if one != two:
                        awake = wp.where(one != 0, trees[0], trees[1])
                        asleep = wp.where(one != 0, trees[1], trees[0])
                        wake_ring(d.state.tree_asleep, m.size.ntree, w, asleep, d.state.tree_asleep[w, awake])
                        changed = 1
    if changed != 0:
        count_awake(m, d, w)
    d.sleep.changed[w] = changed
    look(m, d, w)


# ---------------------------------------------------------------------------------------------- contacts


@wp.func
def wake_by_contact(m: Model, d: Data, w: int):
    """Wake trees that somebody awake touches; lay down those that are to begin asleep. Either way, look again."""
    d.crow.most[w] = wp.max(d.crow.most[w], d.con.found[w])  # looking again may find fewer
    changed = int(0)
    if d.sleep.ntree_awake[w] < m.size.ntree:
        for c in range(d.con.ncon[w]):
            b1 = contact_body(m, d, w, c, 0)
            b2 = contact_body(m, d, w, c, 1)
            t1 = m.body.treeid[b1]
            t2 = m.body.treeid[b2]
            if t1 < 0 or t2 < 0:
                t = wp.max(t1, t2)
                b = wp.where(t1 < 0, b1, b2)
                if t >= 0:
                    if d.sleep.tree_awake[w, t] == 0 and d.sleep.body_awake[w, b] == 1:
                        wake_ring(d.state.tree_asleep, m.size.ntree, w, t, AWAKE)
                        changed = 1
            else:
                one = d.sleep.tree_awake[w, t1]
                if one != d.sleep.tree_awake[w, t2]:
                    awake = wp.where(one != 0, t1, t2)
                    asleep = wp.where(one != 0, t2, t1)
                    wake_ring(d.state.tree_asleep, m.size.ntree, w, asleep, d.state.tree_asleep[w, awake])
                    changed = 1
    if d.sleep.settled[w] == 0:
        ready = bool(False)
        for t in range(m.size.ntree):
            ready = ready or is_to_begin_asleep(m, d, w, t)
        if ready:
            fall_together(m, d, w)
            changed = 1
    if changed != 0:
        count_awake(m, d, w)
    d.sleep.changed[w] = changed
    d.sleep.look[w] = wp.where(changed != 0, LOOK, KEEP)


# ---------------------------------------------------------------------------------------------- equalities


@wp.func
def side(m: Model, e: int, which: int) -> int:
    """The body on one side of an equality between bodies, sites or joints; -1: there is none."""
    ident = m.eq.obj1id[e]
    if which == 1:
        ident = m.eq.obj2id[e]
    if ident < 0:
        return -1
    if m.eq.type[e] == Equality.JOINT:
        return m.jnt.bodyid[ident]
    if m.eq.objtype[e] == Obj.SITE:
        return m.site.bodyid[ident]
    return ident


@wp.func
def side_state(m: Model, d: Data, w: int, b: int) -> int:
    """Whether that body is awake, asleep or static."""
    if b < 0:
        return -1
    return d.sleep.body_awake[w, b]


@wp.func
def wake_tied(m: Model, d: Data, w: int, e: int) -> int:
    """Wake the trees of one equality, if one side is to be woken; 1 if so."""
    b1 = side(m, e, 0)
    b2 = side(m, e, 1)
    s1 = side_state(m, d, w, b1)
    s2 = side_state(m, d, w, b2)
    if s1 < 0 or s2 < 0 or (s1 != 0 and s2 != 0):
        return 0
    t1 = m.body.treeid[b1]
    t2 = m.body.treeid[b2]
    if t1 == t2:
        return 0
    ntree = m.size.ntree
    if s1 == 0 and s2 == 0:
        if d.state.tree_asleep[w, t1] < 0 or d.state.tree_asleep[w, t2] < 0:  # another equality has woken one
            wake_ring(d.state.tree_asleep, ntree, w, t1, AWAKE)
            wake_ring(d.state.tree_asleep, ntree, w, t2, AWAKE)
            return 1
        if first_of_ring(d.state.tree_asleep, ntree, w, t1) == first_of_ring(d.state.tree_asleep, ntree, w, t2):
            return 0
        wake_ring(d.state.tree_asleep, ntree, w, t1, AWAKE)
        wake_ring(d.state.tree_asleep, ntree, w, t2, AWAKE)
        return 1
    wake_ring(d.state.tree_asleep, ntree, w, wp.where(s1 == 0, t1, t2), AWAKE)
    return 1


@wp.func
def wake_tied_tendons(m: Model, d: Data, w: int, e: int) -> int:
    """Wake the trees of an equality between tendons, if one of them is awake; 1 if so."""
    some = bool(False)
    all = bool(True)
    changed = int(0)
    for which in range(2):
        t = wp.where(which == 0, m.eq.obj1id[e], m.eq.obj2id[e])
        if t >= 0:
            for r in range(m.tendon.ten_J_rowadr[t], m.tendon.ten_J_rowadr[t] + m.tendon.ten_J_rownnz[t]):
                awake = d.sleep.tree_awake[w, m.dof.treeid[m.tendon.ten_J_colind[r]]] != 0
                some = some or awake
                all = all and awake
    if some and not all:
        for which in range(2):
            t = wp.where(which == 0, m.eq.obj1id[e], m.eq.obj2id[e])
            if t >= 0:
                for r in range(m.tendon.ten_J_rowadr[t], m.tendon.ten_J_rowadr[t] + m.tendon.ten_J_rownnz[t]):
                    tree = m.dof.treeid[m.tendon.ten_J_colind[r]]
                    if d.sleep.tree_awake[w, tree] == 0:
                        wake_ring(d.state.tree_asleep, m.size.ntree, w, tree, AWAKE)
                        changed = 1
    return changed


@wp.func
def wake_by_equality(m: Model, d: Data, w: int):
    """Wake trees that an active equality ties to one that is awake, or to another ring."""
    changed = int(0)
    if d.sleep.ntree_awake[w] < m.size.ntree and (m.opt.disableflags & Disable.EQUALITY) == 0:
        for e in range(m.size.neq):
            if d.state.eq_active[w, e] != 0:
                kind = m.eq.type[e]
                if kind == Equality.CONNECT or kind == Equality.WELD or kind == Equality.JOINT:
                    changed = wp.max(changed, wake_tied(m, d, w, e))
                elif kind == Equality.TENDON:
                    changed = wp.max(changed, wake_tied_tendons(m, d, w, e))
                elif keeps_flex(kind):
                    changed = wp.max(changed, wake_flex(m, d, w, m.eq.obj1id[e]))
    if changed != 0:
        count_awake(m, d, w)
    d.sleep.changed[w] = changed


# ---------------------------------------------------------------------------------------------- stages


LIST = Stage(list_awake, over="nlist")


def begin_stages() -> list[Stage]:
    """Wake who was touched, before anything is computed."""
    return [Stage(stir, over="ntree"), Stage(rouse), LIST]


def tendon_stages(m) -> list[Stage]:
    """Wake whom tendons at their limits pull, before contacts are looked for."""
    pulls = (np.asarray(m.tendon_treenum) == 2) & (np.asarray(m.tendon_limited) != 0)
    return [Stage(wake_by_tendon), LIST] if np.any(pulls) and not int(m.opt.disableflags) & Disable.LIMIT else []


def contact_stages() -> list[Stage]:
    """Wake whom contacts touch, before they are looked for again."""
    return [Stage(wake_by_contact), LIST]


def equality_stages(m) -> list[Stage]:
    """Wake whom equalities tie."""
    return [Stage(wake_by_equality), LIST] if m.neq else []

