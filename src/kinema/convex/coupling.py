"""Which dofs the mass matrix couples, once numbers that decided it have changed.

A row of M holds a dof and its ancestors. Of a simple body the compiler keeps the diagonal alone: its inertial frame is
its own, its joints stand at the origin along the axes, and no tendon with armature pulls on it. A write may undo that,
and then the other entries are wanted as well.
"""

from __future__ import annotations

import numpy as np

from kinema.mujoco_enums import Joint, Wrap

EPS = 1e-10
FIELDS = ("M_rownnz", "M_rowadr", "M_colind", "mapM2D", "mapD2M")
"""What `pattern` gives."""


def is_undone(m, compiled) -> bool:
    """Whether a body that was compiled as simple is not any more.

    What the compiler took for simple is: of a mesh, say, whose inertial frame is its own up to rounding.
    """
    simple = (np.asarray(m.body_simple) > 0) & (np.asarray(m.body_dofnum) > 0)
    if not simple.any():
        return False
    if _moved(m, compiled, "body_ipos", simple) or _moved(m, compiled, "body_iquat", simple):
        return True
    joints = simple[np.asarray(m.jnt_bodyid)]
    turned = joints & np.isin(np.asarray(m.jnt_type), (Joint.HINGE, Joint.SLIDE))
    aligned = (np.abs(m.jnt_axis) > EPS).sum(axis=-1) == 1
    if _moved(m, compiled, "jnt_pos", joints) or np.any(turned & ~aligned):
        return True
    return any(simple[body] for tendon in np.flatnonzero(m.tendon_armature) for body in _pulled(m, int(tendon)))


def _moved(m, compiled, name: str, which: np.ndarray) -> bool:
    """Whether a parameter of some elements is another than was compiled, in any world."""
    change = np.asarray(getattr(m, name)) - np.asarray(getattr(compiled, name))
    return bool(np.any(np.abs(change)[..., which, :] > EPS))


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
