"""Which trees fall asleep (mj_sleep): those that have been slow for a while, with all that rows couple to them.

A tree is slow where |v_i| times the length of the dof is below the tolerance for all of its dofs, and nobody pushes it.
Slow trees count up to READY. An island of trees that are all ready becomes a ring: velocities are put to 0, and where
the trees lie is kept, to see whether somebody moves them.

Islands are those of the rows of this step. Trees without rows sleep alone.
"""

import warp as wp

from kinema.convex.constraint.limit import tendon_distance
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.sleep.flexes import edge_trees, first_tree, flex_head, flex_tree, keeps_flex, next_bearer, node_tree
from kinema.convex.sleep.rings import AWAKE, READY, count_awake, list_awake
from kinema.convex.sleep.touch import any_bit, is_pushed, may_sleep
from kinema.convex.stage import Stage
from kinema.mujoco_enums import Disable, Equality, Exclude, Obj


@wp.func
def is_slow(m: Model, d: Data, w: int, t: int) -> bool:
    """Is every dof of a tree below the tolerance? Without a tolerance: does it not move at all?"""
    tolerance = m.opt.sleep_tolerance[w]
    first = m.tree.dofadr[t]
    count = m.tree.dofnum[t]
    if tolerance == 0.0:
        return not any_bit(d.state.qvel, w, first, count)
    most = float(0.0)
    for i in range(first, first + count):
        most = wp.max(most, m.dof.length[w, i] * wp.abs(d.state.qvel[w, i]))
    return most < tolerance


@wp.func
def has_no_islands(m: Model, d: Data, w: int) -> bool:
    """Are there rows, and nobody finds out whom they couple? Then nobody sleeps."""
    return (m.opt.disableflags & Disable.ISLAND) != 0 and d.efc.nefc[w] > 0


@wp.func
def tire(m: Model, d: Data, w: int, t: int):
    """Count the steps for which a tree has been slow."""
    asleep = d.state.tree_asleep[w, t]
    if asleep < 0 and not has_no_islands(m, d, w):
        if may_sleep(m, t) and is_slow(m, d, w, t) and not is_pushed(m, d, w, t):
            asleep = wp.min(asleep + 1, READY)
        else:
            asleep = AWAKE
        d.state.tree_asleep[w, t] = asleep
        if asleep == READY:
            d.sleep.restless[w] = 1


# ---------------------------------------------------------------------------------------------- islands


@wp.func
def root_of(d: Data, w: int, t: int) -> int:
    """The first tree of the island of a tree, as far as it is known."""
    at = int(t)
    while d.sleep.root[w, at] != at:
        at = d.sleep.root[w, at]
    return at


@wp.func
def unite(d: Data, w: int, t: int, u: int):
    """Put two trees into one island; -1 is no tree."""
    if t >= 0 and u >= 0 and t != u:
        a = root_of(d, w, t)
        b = root_of(d, w, u)
        d.sleep.root[w, wp.max(a, b)] = wp.min(a, b)


@wp.func
def unite_tendon(m: Model, d: Data, w: int, tendon: int, t: int) -> int:
    """Put the trees that a tendon moves into the island of a tree, or of the first of them; returns that."""
    first = int(t)
    begin = m.tendon.ten_J_rowadr[tendon]
    for r in range(begin, begin + m.tendon.ten_J_rownnz[tendon]):
        if d.ten.J[w, r] != 0.0:
            tree = m.dof.treeid[m.tendon.ten_J_colind[r]]
            if first < 0:
                first = tree
            unite(d, w, first, tree)
    return first


@wp.func
def unite_contact(m: Model, d: Data, w: int, c: int):
    """Put the trees that bear a contact into one island."""
    first = int(-1)
    for side in range(2):
        more = bool(True)
        k = int(0)
        while more:
            tree, more = next_bearer(m, d, w, c, side, k)
            first = wp.where(first < 0, tree, first)
            unite(d, w, first, tree)
            k += 1


@wp.func
def unite_flex_rows(m: Model, d: Data, w: int, e: int):
    """Put the trees of each edge, or of the cell, that an equality keeps into one island."""
    first = m.eq.rows[e][1]
    if m.eq.type[e] == Equality.FLEXSTRAIN:
        for k in range(m.flex.cell[first][3]):
            unite(d, w, first_tree(m, first), node_tree(m, first, k))
    else:
        for r in range(m.eq.rows[e][0]):
            edge = m.eq.rows[first + r][0]
            k = int(1)
            tree = edge_trees(m, edge, 1)
            while tree >= 0:
                unite(d, w, edge_trees(m, edge, 0), tree)
                k += 1
                tree = edge_trees(m, edge, k)


@wp.func
def unite_stiff(m: Model, d: Data, w: int):
    """Put the trees of each flex that stiffness couples into one island."""
    for f in range(m.flex.span.shape[0]):
        if flex_head(m, f, 2) != 0:
            for k in range(1, flex_head(m, f, 1)):
                unite(d, w, flex_tree(m, f, 0), flex_tree(m, f, k))


@wp.func
def unite_equality(m: Model, d: Data, w: int, e: int):
    """Put the trees of an equality into one island."""
    kind = m.eq.type[e]
    one = m.eq.obj1id[e]
    two = m.eq.obj2id[e]
    if kind == Equality.TENDON:
        first = unite_tendon(m, d, w, one, -1)
        if two >= 0:
            unite_tendon(m, d, w, two, first)
    elif keeps_flex(kind):
        unite_flex_rows(m, d, w, e)
    elif two >= 0:
        if kind == Equality.JOINT:
            unite(d, w, m.body.treeid[m.jnt.bodyid[one]], m.body.treeid[m.jnt.bodyid[two]])
        elif kind == Equality.CONNECT or kind == Equality.WELD:
            if m.eq.objtype[e] == Obj.SITE:
                one = m.site.bodyid[one]
                two = m.site.bodyid[two]
            unite(d, w, m.body.treeid[one], m.body.treeid[two])


@wp.func
def couple(m: Model, d: Data, w: int):
    """root: the first tree of the island of each tree, by all that asks for rows."""
    off = m.opt.disableflags
    for t in range(m.size.ntree):
        d.sleep.root[w, t] = t
    unite_stiff(m, d, w)
    if (off & Disable.CONSTRAINT) == 0:
        if (off & Disable.CONTACT) == 0:
            for c in range(d.con.ncon[w]):
                if d.con.exclude[w, c] == Exclude.NONE or d.con.exclude[w, c] == Exclude.PASSIVE:
                    unite_contact(m, d, w, c)
        if (off & Disable.EQUALITY) == 0:
            for e in range(m.size.neq):
                if d.state.eq_active[w, e] != 0:
                    unite_equality(m, d, w, e)
        for i in range(m.size.ntendon):
            rows = (off & Disable.FRICTIONLOSS) == 0 and m.tendon.frictionloss[w, i] > 0.0
            if (off & Disable.LIMIT) == 0 and m.tendon.limited[i] != 0:
                margin = m.tendon.margin[w, i]
                near = wp.min(tendon_distance(m, d, w, i, 0), tendon_distance(m, d, w, i, 1))
                rows = rows or near < margin
            if rows:
                unite_tendon(m, d, w, i, -1)


@wp.func
def lie_down(m: Model, d: Data, w: int, t: int):
    """Stop a tree, and keep where it lies."""
    for i in range(m.tree.dofadr[t], m.tree.dofadr[t] + m.tree.dofnum[t]):
        d.state.qvel[w, i] = 0.0
    for i in range(m.tree.qposadr[t], m.tree.qposadr[t] + m.tree.qposnum[t]):
        d.state.asleep_qpos[w, i] = d.state.qpos[w, i]


@wp.func
def fall_together(m: Model, d: Data, w: int):
    """Let islands of trees that are all ready fall asleep: each tree names the next, the last one the first."""
    couple(m, d, w)
    for t in range(m.size.ntree):
        d.sleep.root[w, t] = root_of(d, w, t)
        d.sleep.last[w, t] = t
    for t in range(m.size.ntree):
        if d.state.tree_asleep[w, t] != READY:
            d.sleep.last[w, d.sleep.root[w, t]] = -1
    for t in range(m.size.ntree):
        root = d.sleep.root[w, t]
        before = d.sleep.last[w, root]
        if before >= 0 and d.state.tree_asleep[w, t] == READY:
            d.state.tree_asleep[w, before] = t
            d.state.tree_asleep[w, t] = root
            d.sleep.last[w, root] = t
            lie_down(m, d, w, t)
            d.sleep.fell[w] = 1


@wp.func
def fall(m: Model, d: Data, w: int):
    """Let trees fall asleep, if any is ready."""
    if d.sleep.restless[w] != 0:
        d.sleep.restless[w] = 0
        fall_together(m, d, w)


@wp.func
def settle(m: Model, d: Data, w: int):
    """At the end: who has fallen asleep is asleep from now on."""
    changed = int(0)
    if d.sleep.settled[w] == 0:
        for i in range(m.size.nv):
            if d.state.tree_asleep[w, m.dof.treeid[i]] >= 0:
                d.frc.qfrc_smooth[w, i] = 0.0
                d.frc.qacc_smooth[w, i] = 0.0
                d.frc.qacc[w, i] = 0.0
                d.state.qacc_warmstart[w, i] = 0.0
        d.sleep.settled[w] = 1
        changed = 1
    if d.sleep.fell[w] != 0:
        count_awake(m, d, w)
        d.sleep.fell[w] = 0
        changed = 1
    d.sleep.changed[w] = changed
    for k in range(d.sleep.mocap_pos.shape[1]):
        d.sleep.mocap_pos[w, k] = d.state.mocap_pos[w, k]
        d.sleep.mocap_quat[w, k] = d.state.mocap_quat[w, k]


@wp.func
def lie_still(m: Model, d: Data, w: int, t: int):
    """Put a tree that sleeps back where it lies: a Runge-Kutta step moves all."""
    if d.state.tree_asleep[w, t] >= 0:
        for i in range(m.tree.dofadr[t], m.tree.dofadr[t] + m.tree.dofnum[t]):
            d.state.qvel[w, i] = 0.0
        for i in range(m.tree.qposadr[t], m.tree.qposadr[t] + m.tree.qposnum[t]):
            d.state.qpos[w, i] = d.state.asleep_qpos[w, i]


def stages() -> list[Stage]:
    """mj_sleep, once it is known who has rows."""
    return [Stage(tire, over="ntree", advances=True, once=True), Stage(fall, advances=True, once=True)]


def at_the_end(movement: list[Stage]) -> list[Stage]:
    """The same for a Runge-Kutta step: by the rows of the last evaluation, and before the whole step is taken.

    Evaluations between have moved the tree, which wakes it: as in MuJoCo, most trees then sleep from step to step only.
    """
    return [*stages(), *movement, Stage(lie_still, over="ntree", advances=True, once=True)]


def end_stages() -> list[Stage]:
    """At the end of every evaluation."""
    return [Stage(settle), Stage(list_awake, over="nlist")]
