"""How many bytes MuJoCo gives the arena of a model that does not say: an estimate, in whole megabytes.

    dense     8 (5 (njmax + neq + nv)^2 + 20 of everything)
    sparse    dofs of flexes leave the square; in place of them S = 32 H + 10 L, with elliptic cones 14 L,
              and 24 njmax for each dof of a flex that may touch itself or another;
              what rows take, 24 njmax for each of these dofs, is at least 2 S

H and L are entries of the Hessian of these dofs and of its factor, lower triangles both: dofs are coupled where an
edge, a hinge, a bend of a rod, a cell or a square of a shell joins their bodies, and the last dof is eliminated first.
The sparse estimate is for sparse Jacobians, unless all dofs of flexes may be in contact and are no more than njmax.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from kinema.compile.constants.flex_metric import bend_vertices, flaps
from kinema.compile.context import Compilation
from kinema.geometry.flex_lattice import lattice_elements
from kinema.mujoco_enums import Cone, FlexSelf, Jacobian

MEGABYTE = 1 << 20
CONTACT_BYTES = 608
"""Size of MuJoCo's mjContact."""

COUNTED = ("nq", "nv", "nu", "na", "nbody", "njnt", "ngeom", "nsite", "neq", "ntendon", "nwrap")
DENSE_DOFS = 60
"""From so many dofs on, Jacobians are sparse unless the model says otherwise."""


def arena_bytes(c: Compilation) -> None:
    """Bytes of the arena: as <size> says, or an estimate."""
    declared = c.scratch["declared"]
    m = c.view()  # counts every kind
    if declared["memory"] >= 0:
        c.sizes["narena"] = declared["memory"]
    else:
        c.sizes["narena"] = arena_estimate(m, declared["nstack"])


def arena_estimate(m: Any, nstack: int = -1) -> int:
    """Bytes of the arena of a model that does not say."""
    nconmax = 100 if m.sizes["nconmax"] < 0 else m.sizes["nconmax"]
    njmax = 500 if m.sizes["njmax"] < 0 else m.sizes["njmax"]
    nv = m.sizes["nv"]
    if nstack >= 0:
        total = 8 * nstack
    else:
        dense, sparse = _flex_bytes(m, njmax)
        counted = sum(m.sizes[name] for name in COUNTED)
        total = 8 * max(1000, 5 * (njmax + m.sizes["neq"] + dense) ** 2 + 20 * counted) + sparse
    total += nconmax * CONTACT_BYTES + njmax * (8 * 4 + 14 * 8) + nv * 12 + njmax * nv * 24 + njmax * njmax * 12
    return -(-total // MEGABYTE) * MEGABYTE


def _is_sparse(m: Any) -> bool:
    if int(m.opt.jacobian) == Jacobian.AUTO:
        return m.sizes["nv"] >= DENSE_DOFS
    return int(m.opt.jacobian) == Jacobian.SPARSE


def _touching(m: Any) -> np.ndarray:
    """Which flexes may touch another, or themselves."""
    kind, affinity = np.asarray(m.flex_contype), np.asarray(m.flex_conaffinity)
    meets = ((kind[:, None] & affinity) | (kind & affinity[:, None])) != 0
    itself = np.asarray(m.flex_selfcollide) != int(FlexSelf.NONE)
    meets[np.diag_indices(len(kind))] &= itself & ~np.asarray(m.flex_rigid).astype(bool)
    return meets.any(axis=1)


def _flex_bytes(m: Any, njmax: int) -> tuple[int, int]:
    """Dofs that stay in the square, and bytes for those of flexes that do not."""
    nv = m.sizes["nv"]
    if not m.nflex or not _is_sparse(m):
        return nv, 0
    first, number = np.asarray(m.body_dofadr), np.asarray(m.body_dofnum)
    dofs_of: list[Sequence[int]] = [range(a, a + n) for a, n in zip(first.tolist(), number.tolist(), strict=True)]
    parts: list[list[list[int]]] = [[] if m.flex_rigid[f] else _coupled_bodies(m, f) for f in range(int(m.nflex))]
    dofs = [{i for bodies in groups for b in bodies for i in dofs_of[b]} for groups in parts]
    own = sorted(set[int]().union(*dofs))
    touching = len(set[int]().union(*(d for d, touches in zip(dofs, _touching(m), strict=True) if touches)))
    if min(touching, njmax) >= len(own):
        return nv, 0
    place = {i: k for k, i in enumerate(own)}
    below = [0] * len(own)  # the dofs before each that it is coupled with, as bits
    for bodies in chain.from_iterable(parts):
        before = 0
        for k in sorted({place[i] for b in bodies for i in dofs_of[b]}):
            below[k] |= before
            before |= 1 << k
    entries = len(own) + sum(row.bit_count() for row in below)
    factor = 14 if int(m.opt.cone) == Cone.ELLIPTIC else 10
    hessian = 32 * entries + factor * _factor_entries(below)
    rows = 24 * njmax * len(own)  # which the caller counts for every dof
    return nv - len(own), hessian + max(0, 2 * hessian - rows) + 24 * njmax * touching


def _factor_entries(below: list[int]) -> int:
    """Entries of the factor: what is eliminated leaves its columns to the last of them."""
    total = len(below)
    rows = list(below)
    for row in reversed(range(len(rows))):
        bits = rows[row]
        total += bits.bit_count()
        if bits:
            heir = bits.bit_length() - 1
            rows[heir] |= bits ^ (1 << heir)
    return total


def _coupled_bodies(m: Any, f: int) -> list[list[int]]:
    """Bodies that one part of a flex joins."""
    if m.flex_interp[f]:
        first = int(m.flex_nodeadr[f])
        body = np.asarray(m.flex_nodebodyid)[first : first + int(m.flex_nodenum[f])]
        order = abs(int(m.flex_interp[f]))
        grid = np.asarray(m.flex_cellnum).reshape(-1, 3)[f] * order + 1
        parts = lattice_elements(order, tuple(grid.tolist()), int(m.flex_interp[f]) < 0)
        return [body[nodes].tolist() for nodes, _ in parts]
    first = int(m.flex_vertadr[f])
    body = np.asarray(m.flex_vertbodyid)[first : first + int(m.flex_vertnum[f])]
    edges = slice(int(m.flex_edgeadr[f]), int(m.flex_edgeadr[f]) + int(m.flex_edgenum[f]))
    found = body[np.asarray(m.flex_edge)[edges]].tolist() + [[b] for b in body.tolist()]
    if m.flex_bendingadr[f] >= 0:
        found += body[flaps(m, f) if m.flex_dim[f] == 2 else bend_vertices(m, f)].tolist()
    return found
