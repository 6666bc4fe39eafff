"""Sparsity of the matrices over degrees of freedom, which follows from the tree alone.

    M  rows of ancestors and the dof itself (simple dofs: the diagonal alone)
    D  rows of ancestors, the dof itself and descendants
    B  per body: dofs of its ancestors, its own, and those below

and index maps between M and D, and from MuJoCo's older layout (per dof: itself, parent, grandparent, ...) to M.
"""

from __future__ import annotations

import numpy as np

from kinema.compile.context import Compilation
from kinema.mujoco_enums import Wrap


def fill_sparsity(c: Compilation) -> None:
    """Set dof_Madr, dof_simplenum, and the M, D and B arrays; needs tendons, whose armature undoes simplicity."""
    a, nv, nbody = c.arrays, c.size("nv"), len(c.bodies)
    _demote_by_tendons(c)
    parent = a["dof_parentid"]
    simple = a["body_simple"][a["dof_bodyid"]] > 0
    simplenum = np.zeros(nv, dtype=np.int32)
    count = 0
    for i in range(nv - 1, -1, -1):
        count = count + 1 if simple[i] else 0
        simplenum[i] = count
    a["dof_simplenum"] = simplenum

    chains: list[list[int]] = []  # the dof and its ancestors, nearest first
    for i in range(nv):
        chains.append([i] if parent[i] < 0 else [i, *chains[parent[i]]])
    length = np.array([len(chain) for chain in chains], dtype=np.int64)
    a["dof_Madr"] = (np.cumsum(length) - length).astype(np.int32)
    c.sizes["nM"] = int(length.sum())

    rows = [[i] if simplenum[i] else chains[i][::-1] for i in range(nv)]
    _store(a, "M", rows)
    c.sizes["nC"] = len(a["M_colind"])
    a["mapM2M"] = _flat([[a["dof_Madr"][i] + k for k in range(len(row) - 1, -1, -1)] for i, row in enumerate(rows)])

    below: list[list[int]] = [[] for _ in range(nv)]
    for i, chain in enumerate(chains):
        for ancestor in chain[1:]:
            below[ancestor].append(i)
    full = [chains[i][::-1] + below[i] for i in range(nv)]
    _store(a, "D", full)
    a["D_diag"] = np.array([len(chain) - 1 for chain in chains], dtype=np.int32)
    c.sizes["nD"] = len(a["D_colind"])
    where_m = {(i, j): adr for adr, (i, j) in enumerate((i, j) for i, row in enumerate(rows) for j in row)}
    where_d = {(i, j): adr for adr, (i, j) in enumerate((i, j) for i, row in enumerate(full) for j in row)}
    a["mapM2D"] = np.array([where_m.get((max(p), min(p)), -1) for p in where_d], dtype=np.int32)
    a["mapD2M"] = np.array([where_d[p] for p in where_m], dtype=np.int32)

    parents, dofadr, dofnum = a["body_parentid"], a["body_dofadr"], a["body_dofnum"]
    own = [list(range(dofadr[b], dofadr[b] + dofnum[b])) for b in range(nbody)]
    above: list[list[int]] = [[] for _ in range(nbody)]
    subtree = [list(dofs) for dofs in own]
    for b in range(1, nbody):
        above[b] = above[parents[b]] + (own[parents[b]] if parents[b] else [])
    for b in range(nbody - 1, 0, -1):
        subtree[parents[b]] = subtree[parents[b]] + subtree[b]
    _store(a, "B", [sorted(above[b] + subtree[b]) for b in range(nbody)])
    c.sizes["nB"] = len(a["B_colind"])


def _demote_by_tendons(c: Compilation) -> None:
    a = c.arrays
    for tendon in np.flatnonzero(a["tendon_armature"]):
        start = a["tendon_adr"][tendon]
        for wrap in range(start, start + a["tendon_num"][tendon]):
            kind, target = a["wrap_type"][wrap], a["wrap_objid"][wrap]
            if kind == Wrap.JOINT:
                a["body_simple"][a["jnt_bodyid"][target]] = 0
            elif kind == Wrap.SITE:
                a["body_simple"][a["site_bodyid"][target]] = 0
            elif kind in (Wrap.SPHERE, Wrap.CYLINDER):
                a["body_simple"][a["geom_bodyid"][target]] = 0


def _store(a: dict[str, np.ndarray], name: str, rows: list[list[int]]) -> None:
    number = np.array([len(row) for row in rows], dtype=np.int32)
    a[f"{name}_rownnz"] = number
    a[f"{name}_rowadr"] = (np.cumsum(number) - number).astype(np.int32)
    a[f"{name}_colind"] = _flat(rows)


def _flat(rows: list[list[int]]) -> np.ndarray:
    return np.array([x for row in rows for x in row], dtype=np.int32)
