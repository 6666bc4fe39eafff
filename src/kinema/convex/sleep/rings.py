"""Who is awake, the lists of it, and rings of trees that fell asleep together (mj_updateSleep, mj_wakeIsland).

tree_asleep says it all; the rest follows from it, and is made anew only where it has changed:

    tree_awake   1: awake, 0: asleep
    body_awake   the same of bodies; -1: static. Mocap bodies are awake
    lists        of dofs, joints, geoms and sites of bodies that are not asleep; of bodies whose parents are not

Lists say what is computed. After a reset what sleeping trees keep is not of the new state: the world is not settled,
and its lists hold everything, once.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model

MINAWAKE = 10
"""Steps that a tree must have been slow before it may sleep (mjMINAWAKE)."""
AWAKE = wp.constant(-(1 + MINAWAKE))  # tree_asleep of a tree that is wide awake
READY = wp.constant(-1)  # and of one that may sleep
STATIC_BODY = wp.constant(-1)
LISTS = wp.constant(6)


@wp.func
def wake_ring(tree_asleep: wp.array2d(dtype=int), ntree: int, w: int, t: int, value: int):
    """Wake a tree and all that fell asleep with it; of one that is awake, the value that is wider awake counts."""
    at = int(t)
    next = tree_asleep[w, at]
    if next < 0:
        tree_asleep[w, at] = wp.min(value, next)
    else:
        count = int(0)
        while next >= 0 and next < ntree and count < ntree:
            next = tree_asleep[w, at]
            tree_asleep[w, at] = value
            at = next
            count += 1
            if at < 0 or at >= ntree or at == t:
                next = -1


@wp.func
def first_of_ring(tree_asleep: wp.array2d(dtype=int), ntree: int, w: int, t: int) -> int:
    """The first tree of the ring of a sleeping tree (mj_sleepCycle)."""
    least = int(t)
    at = tree_asleep[w, t]
    count = int(0)
    while at != t and at >= 0 and at < ntree and count < ntree:
        least = wp.min(least, at)
        at = tree_asleep[w, at]
        count += 1
    return least


@wp.func
def count_awake(m: Model, d: Data, w: int):
    """tree_awake and ntree_awake."""
    count = int(0)
    for t in range(m.size.ntree):
        awake = wp.where(d.state.tree_asleep[w, t] < 0, 1, 0)
        d.sleep.tree_awake[w, t] = awake
        count += awake
    d.sleep.ntree_awake[w] = count


@wp.func
def body_state(m: Model, d: Data, w: int, b: int) -> int:
    """Whether a body is awake: 1, asleep: 0, or static: -1 (mjtSleepState)."""
    t = m.body.treeid[b]
    if t >= 0:
        return d.sleep.tree_awake[w, t]
    if m.body.mocapid[m.body.rootid[b]] >= 0:
        return 1
    return STATIC_BODY


@wp.func
def is_listed(d: Data, w: int, b: int) -> bool:
    """Is what belongs to a body computed now?"""
    return d.sleep.body_awake[w, b] != 0 or d.sleep.settled[w] == 0


@wp.func
def listed(m: Model, d: Data, w: int, b: int) -> bool:
    """The same, while body_awake is still being made."""
    return body_state(m, d, w, b) != 0 or d.sleep.settled[w] == 0


@wp.func
def list_awake(m: Model, d: Data, w: int, k: int):
    """Make one of the lists anew, if anything has changed."""
    if d.sleep.changed[w] != 0:
        count = int(0)
        if k == 0:
            for b in range(m.size.nbody):
                d.sleep.body_awake[w, b] = body_state(m, d, w, b)
                if listed(m, d, w, b):
                    d.sleep.body_awake_ind[w, count] = b
                    count += 1
            d.sleep.nbody_awake[w] = count
        elif k == 1:
            for b in range(1, m.size.nbody):
                if listed(m, d, w, m.body.parentid[b]):
                    d.sleep.parent_awake_ind[w, count] = b
                    count += 1
            d.sleep.nparent_awake[w] = count
        elif k == 2:
            for i in range(m.size.nv):
                if listed(m, d, w, m.dof.bodyid[i]):
                    d.sleep.dof_awake_ind[w, count] = i
                    count += 1
            d.sleep.nv_awake[w] = count
        elif k == 3:
            for j in range(m.size.njnt):
                if listed(m, d, w, m.jnt.bodyid[j]):
                    d.sleep.joints[w, count] = j
                    count += 1
            d.sleep.joint_count[w] = count
        elif k == 4:
            for g in range(m.size.ngeom):
                if listed(m, d, w, m.geom.bodyid[g]):
                    d.sleep.geoms[w, count] = g
                    count += 1
            d.sleep.geom_count[w] = count
        else:
            for s in range(m.size.nsite):
                if listed(m, d, w, m.site.bodyid[s]):
                    d.sleep.sites[w, count] = s
                    count += 1
            d.sleep.site_count[w] = count


@wp.func
def take_stock(m: Model, d: Data, w: int):
    """Everything that follows from tree_asleep, for whoever asks where trees never sleep."""
    count_awake(m, d, w)
    nbody = int(0)
    nparent = int(0)
    nv = int(0)
    for b in range(m.size.nbody):
        state = body_state(m, d, w, b)
        d.sleep.body_awake[w, b] = state
        if state != 0:
            d.sleep.body_awake_ind[w, nbody] = b
            nbody += 1
        if b > 0:
            if body_state(m, d, w, m.body.parentid[b]) != 0:
                d.sleep.parent_awake_ind[w, nparent] = b
                nparent += 1
    for i in range(m.size.nv):
        if body_state(m, d, w, m.dof.bodyid[i]) == 1:
            d.sleep.dof_awake_ind[w, nv] = i
            nv += 1
    d.sleep.nbody_awake[w] = nbody
    d.sleep.nparent_awake[w] = nparent
    d.sleep.nv_awake[w] = nv
