"""Constants that need no pose: which trees tendons join, who may sleep, who adds damping, which dofs a tendon sees."""

from __future__ import annotations

import numpy as np

from kinema.compile.constants.tendon import wrap_owner
from kinema.compile.constants.tree import Tree
from kinema.errors import CompileError
from kinema.mujoco_enums import SleepPolicy, Transmission, Wrap

Array = np.ndarray



def topology(m, tree: Tree) -> dict[str, Array]:
    """All constants of this file under mjModel's names."""
    found: dict[str, Array] = {"body_treeid": tree.treeid.astype(np.int32)}
    found |= _tree_ranges(m, tree)
    found |= contributing_actuators(m)
    wrap_tree = _wrap_trees(m, tree)
    found |= _tendon_trees(m, wrap_tree)
    found |= tendon_sparsity(m, tree)
    found["tree_sleep_policy"] = _sleep_policy(m, tree, wrap_tree, found)
    return found


def _tree_ranges(m, tree: Tree) -> dict[str, Array]:
    ids = np.arange(int(np.max(m.dof_treeid, initial=-1)) + 1)
    bodies, dofs = tree.treeid, np.asarray(m.dof_treeid)
    first = lambda owner: np.array([np.argmax(owner == i) for i in ids], dtype=np.int32)  # noqa: E731
    count = lambda owner: np.bincount(owner[owner >= 0], minlength=len(ids))[: len(ids)].astype(np.int32)  # noqa: E731
    return {
        "tree_bodyadr": first(bodies),
        "tree_bodynum": count(bodies),
        "tree_dofadr": first(dofs),
        "tree_dofnum": count(dofs),
    }


def contributing_actuators(m) -> dict[str, Array]:
    """The one actuator that adds damping or armature to a joint or tendon: -1 none, -2 several."""
    joint, tendon = np.full(m.njnt, -1, dtype=np.int32), np.full(m.ntendon, -1, dtype=np.int32)
    for i in range(m.nactuator):
        if not (m.actuator_damping[i] or np.any(m.actuator_dampingpoly[i]) or m.actuator_armature[i]):
            continue
        kind, target = m.actuator_trntype[i], m.actuator_trnid[i, 0]
        if kind in (Transmission.JOINT, Transmission.JOINTINPARENT):
            joint[target] = i if joint[target] == -1 else -2
        elif kind == Transmission.TENDON:
            tendon[target] = i if tendon[target] == -1 else -2
    return {"jnt_actuatorid": joint, "tendon_actuatorid": tendon}


def wrap_bodies(m) -> Array:
    """Body of each wrap object, -1 for pulleys."""
    kind, obj = np.asarray(m.wrap_type), np.asarray(m.wrap_objid)
    body = np.full(len(kind), -1)
    for codes, owner in (
        ((Wrap.JOINT,), m.jnt_bodyid),
        ((Wrap.SITE,), m.site_bodyid),
        ((Wrap.SPHERE, Wrap.CYLINDER), m.geom_bodyid),
    ):
        here = np.isin(kind, codes)
        body[here] = np.asarray(owner)[obj[here]]
    return body


def _wrap_trees(m, tree: Tree) -> Array:
    body = wrap_bodies(m)
    return np.where(body >= 0, tree.treeid[body], -1)


def _tendon_trees(m, wrap_tree: Array) -> dict[str, Array]:
    number, first_two = np.zeros(m.ntendon, dtype=np.int32), np.full((m.ntendon, 2), -1, dtype=np.int32)
    owner = wrap_owner(m)
    for t in range(m.ntendon):
        trees = list(dict.fromkeys(i for i in wrap_tree[owner == t].tolist() if i >= 0))
        number[t] = len(trees)
        first_two[t, : min(2, len(trees))] = trees[:2]
    return {"tendon_treenum": number, "tendon_treeid": first_two}


def tendon_sparsity(m, tree: Tree) -> dict[str, Array]:
    """Which dofs may change the length of each tendon, as compressed rows."""
    owner, body, kind = wrap_owner(m), wrap_bodies(m), np.asarray(m.wrap_type)
    columns = []
    for t in range(m.ntendon):
        mine = owner == t
        if (kind[mine] == Wrap.JOINT).any():
            columns.append(np.sort(np.asarray(m.jnt_dofadr)[np.asarray(m.wrap_objid)[mine]]))
        else:
            there = body[mine]
            columns.append(np.flatnonzero(tree.moves[there[there >= 0]].any(axis=0)))
    number = np.array([len(c) for c in columns], dtype=np.int32)
    start = np.concatenate(([0], np.cumsum(number)))[:-1].astype(np.int32) if len(number) else number
    return {
        "ten_J_rownnz": number,
        "ten_J_rowadr": start,
        "ten_J_colind": np.concatenate(columns).astype(np.int32) if columns else np.zeros(0, dtype=np.int32),
    }


def _sleep_policy(m, tree: Tree, wrap_tree: Array, found: dict[str, Array]) -> Array:
    """Trees that an actuator drives or a springy tendon joins do not fall asleep by themselves."""
    policy = np.array(m.tree_sleep_policy, dtype=np.int32)
    owner = wrap_owner(m)

    def keep_awake(trees) -> None:
        for i in trees:
            if i >= 0 and policy[i] == SleepPolicy.AUTO:
                policy[i] = SleepPolicy.AUTO_NEVER

    for i in range(m.nactuator):
        kind, (target, second) = m.actuator_trntype[i], m.actuator_trnid[i]
        if kind == Transmission.TENDON:
            keep_awake(wrap_tree[owner == target])
        elif kind in (Transmission.JOINT, Transmission.JOINTINPARENT) or (kind == Transmission.SO3 and second < 0):
            keep_awake([tree.treeid[m.jnt_bodyid[target]]])
        elif kind in (Transmission.SITE, Transmission.SLIDERCRANK, Transmission.SO3):
            keep_awake(tree.treeid[m.site_bodyid[site]] for site in (target, second) if site >= 0)
        elif kind == Transmission.BODY:
            keep_awake([tree.treeid[target]])

    for t in np.flatnonzero(found["tendon_treenum"] >= 2):
        force = (
            m.tendon_stiffness[t]
            or m.tendon_damping[t]
            or np.any(m.tendon_stiffnesspoly[t])
            or np.any(m.tendon_dampingpoly[t])
            or found["tendon_actuatorid"][t] != -1
        )
        if found["tendon_treenum"][t] == 2 and not force:
            continue
        trees = np.unique(wrap_tree[owner == t])
        for i in trees[trees >= 0]:
            if policy[i] in (SleepPolicy.ALLOWED, SleepPolicy.INIT):
                reason = "spans more than 2 trees" if found["tendon_treenum"][t] > 2 else "has stiffness or damping"
                raise CompileError(f"tree {i} is connected to tendon {t}, which {reason}: sleeping is not allowed")
        keep_awake(trees)

    for f in range(m.nflex):
        adr = m.flex_stiffnessadr[f]
        stretches = adr >= 0 and (m.flex_dim[f] > 1 if m.flex_interp[f] else m.flex_stiffness[adr] != 0)
        passive = m.flex_passive[f] and m.flex_dim[f] > 1 and not m.flex_rigid[f]
        elastic = (stretches or m.flex_bendingadr[f] >= 0) and not m.flex_rigid[f]
        held = m.flex_edgeequality[f] or passive or elastic
        if not held:
            kind = "node" if m.flex_interp[f] else "vert"
            adr, number = getattr(m, f"flex_{kind}adr")[f], getattr(m, f"flex_{kind}num")[f]
            keep_awake(tree.treeid[np.asarray(getattr(m, f"flex_{kind}bodyid"))[adr : adr + number]])
    policy[policy == SleepPolicy.AUTO] = SleepPolicy.AUTO_ALLOWED
    return policy
