"""Sparsity of the matrices over degrees of freedom, which follows from the tree alone.

    M  rows of ancestors and the dof itself (simple dofs: the diagonal alone)
    D  rows of ancestors, the dof itself and descendants
    B  per body: dofs of its ancestors, its own, and those below

and index maps between M and D, and from MuJoCo's older layout (per dof: itself, parent, grandparent, ...) to M.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, MutableMapping

import numpy as np

from kinema.compile.context import Compilation
from kinema.mujoco_enums import Transmission, Wrap


def fill_sparsity(c: Compilation) -> None:
    """Set dof_Madr, dof_simplenum, and the M, D and B arrays; needs tendons, whose armature undoes simplicity."""
    a, nv, nbody = c.arrays, c.size("nv"), len(c.bodies)
    _demote_by_tendons(c)
    parent = a["dof_parentid"].tolist()
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
    start = a["dof_Madr"].tolist()
    a["mapM2M"] = _flat([range(first + len(row) - 1, first - 1, -1) for first, row in zip(start, rows, strict=True)])

    below: list[list[int]] = [[] for _ in range(nv)]
    for i, chain in enumerate(chains):
        for ancestor in chain[1:]:
            below[ancestor].append(i)
    full = [chains[i][::-1] + below[i] for i in range(nv)]
    _store(a, "D", full)
    a["D_diag"] = np.array([len(chain) - 1 for chain in chains], dtype=np.int32)
    c.sizes["nD"] = len(a["D_colind"])
    _map_entries(a, nv)

    parents, dofnum = a["body_parentid"].tolist(), a["body_dofnum"].astype(np.int64)
    start = np.cumsum(dofnum) - dofnum  # bodies are numbered depth first, and so are dofs: a subtree's are a range
    below_it = dofnum.copy()
    for b in range(nbody - 1, 0, -1):
        below_it[parents[b]] += below_it[b]
    start, number, below_it = start.tolist(), dofnum.tolist(), below_it.tolist()
    above: list[list[int]] = [[]]
    for b in range(1, nbody):
        p = parents[b]
        above.append([*above[p], *range(start[p], start[p] + number[p])] if p else [])
    _store(a, "B", [[*above[b], *range(start[b], start[b] + below_it[b])] for b in range(nbody)])
    c.sizes["nB"] = len(a["B_colind"])


def _map_entries(a: MutableMapping[str, np.ndarray], nv: int) -> None:
    """Which entry of M each entry of D is (-1: none), and of D each of M. Entries run by row, then by column."""
    keys = {}
    for name in "MD":
        row = np.repeat(np.arange(nv), a[f"{name}_rownnz"])
        keys[name] = row, a[f"{name}_colind"].astype(np.int64)
    key_m, key_d = (row * nv + column for row, column in keys.values())
    a["mapD2M"] = np.searchsorted(key_d, key_m).astype(np.int32)
    lower = np.maximum(*keys["D"]) * nv + np.minimum(*keys["D"])
    at = np.minimum(np.searchsorted(key_m, lower), max(len(key_m) - 1, 0))
    a["mapM2D"] = np.where(key_m[at] == lower, at, -1).astype(np.int32)


def _demote_by_tendons(c: Compilation) -> None:
    """Bodies whose inertia a tendon joins to others': one with an armature, of its own or of its actuators."""
    a = c.arrays
    driven = (a["actuator_trntype"] == Transmission.TENDON) & (a["actuator_armature"] != 0)
    for tendon in np.union1d(np.flatnonzero(a["tendon_armature"]), a["actuator_trnid"][driven, 0]):
        start = a["tendon_adr"][tendon]
        for wrap in range(start, start + a["tendon_num"][tendon]):
            kind, target = a["wrap_type"][wrap], a["wrap_objid"][wrap]
            if kind == Wrap.JOINT:
                a["body_simple"][a["jnt_bodyid"][target]] = 0
            elif kind == Wrap.SITE:
                a["body_simple"][a["site_bodyid"][target]] = 0
            elif kind in (Wrap.SPHERE, Wrap.CYLINDER):
                a["body_simple"][a["geom_bodyid"][target]] = 0


def _store(a: MutableMapping[str, np.ndarray], name: str, rows: list[list[int]]) -> None:
    number = np.array([len(row) for row in rows], dtype=np.int32)
    a[f"{name}_rownnz"] = number
    a[f"{name}_rowadr"] = (np.cumsum(number) - number).astype(np.int32)
    a[f"{name}_colind"] = _flat(rows)


def _flat(rows: Iterable[Iterable[int]]) -> np.ndarray:
    return np.fromiter(itertools.chain.from_iterable(rows), dtype=np.int32)
