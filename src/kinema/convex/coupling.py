"""Which dofs the mass matrix couples, once numbers that decided it have changed.

A row of M holds a dof and its ancestors. Of a simple body the compiler keeps the diagonal alone: its inertial frame is
its own, its joints stand at the origin along the axes, and no tendon with armature pulls on it. A write may undo that,
and then the other entries are wanted as well.
"""

from __future__ import annotations

import numpy as np

from kinema.mujoco_enums import Joint, Wrap

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
EPS = 1e-10
FRAME_EPS = 1e-6  # places and rotations that differ by less are the same (compile/pose.py)
FIELDS = ("M_rownnz", "M_rowadr", "M_colind", "mapM2D", "mapD2M")
"""What `pattern` gives."""


def is_undone(m) -> bool:
    """Whether a body that was compiled as simple is not any more: the compiler's rule, with the numbers of today.

    The model may have been changed before it got here, so what it says now is all there is to go by.
    """
    simple = (np.asarray(m.body_simple) > 0) & (np.asarray(m.body_dofnum) > 0)
    if not simple.any():
        return False
    turned = np.asarray(m.body_iquat)[simple]
    off = np.minimum(np.abs(turned - IDENTITY).max(axis=-1), np.abs(turned + IDENTITY).max(axis=-1))
    if _is_off(np.asarray(m.body_ipos)[simple]) or np.any(off >= FRAME_EPS):
        return True
    joints = simple[np.asarray(m.jnt_bodyid)]
    straight = joints & np.isin(np.asarray(m.jnt_type), (Joint.HINGE, Joint.SLIDE))
    aligned = (np.abs(m.jnt_axis) > EPS).sum(axis=-1) == 1
    if _is_off(np.asarray(m.jnt_pos)[joints]) or np.any(straight & ~aligned):
        return True
    return any(simple[body] for tendon in np.flatnonzero(m.tendon_armature) for body in _pulled(m, int(tendon)))


def _is_off(places: np.ndarray) -> bool:
    """Whether any place is not the origin."""
    return bool(np.any(np.abs(places) >= FRAME_EPS))


def _pulled(m, tendon: int) -> list[int]:
    """Bodies that a tendon runs over."""
    first = int(m.tendon_adr[tendon])
    owners: dict[int, np.ndarray] = {Wrap.JOINT: m.jnt_bodyid, Wrap.SITE: m.site_bodyid}
    owners |= dict.fromkeys((Wrap.SPHERE, Wrap.CYLINDER), m.geom_bodyid)
    wraps = range(first, first + int(m.tendon_num[tendon]))
    return [int(owners[k][m.wrap_objid[w]]) for w in wraps if (k := int(m.wrap_type[w])) in owners]


def pattern(m) -> dict[str, np.ndarray]:
    """The sparsity of M with all its entries, and the maps between it and D, by mjModel's names."""
    parent = np.asarray(m.dof_parentid)
    chains: list = []
    for i in range(m.nv):
        chains.append([*(chains[parent[i]] if parent[i] >= 0 else []), i])
    count = np.array([len(chain) for chain in chains], dtype=np.int32)
    rows = {(i, j): k for k, (i, j) in enumerate((i, j) for i, chain in enumerate(chains) for j in chain)}
    first, number, column = (np.asarray(m.D_rowadr), np.asarray(m.D_rownnz), np.asarray(m.D_colind))
    whole = {(i, int(column[k])): k for i in range(m.nv) for k in range(first[i], first[i] + number[i])}
    return {
        "M_rownnz": count,
        "M_rowadr": np.cumsum(count) - count,
        "M_colind": np.array([j for chain in chains for j in chain], dtype=np.int32),
        "mapM2D": np.array([rows.get((max(p), min(p)), -1) for p in whole], dtype=np.int32),
        "mapD2M": np.array([whole[p] for p in rows], dtype=np.int32),
    }
