"""Sizes that follow from what was compiled."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinema.compile.context import Compilation
from kinema.compile.host_model import KINDS
from kinema.compile.joint import NV
from kinema.mujoco_enums import Equality, Transmission

MEGABYTE = 1 << 20
CONTACT_BYTES = 608
"""Size of MuJoCo's mjContact."""
COUNTED = {
    "nJfe": "flexedge_J_colind", "nefm0dof": "efm0_dofid", "nefm0L": "efm0_L", "nefmCvert": "efmC_perm",
}  # fmt: skip
"""Sizes that are the length of what the constants found."""


def complete_sizes(c: Compilation) -> None:
    """Set every remaining size: counts of elements, flags, and bounds."""
    a = c.arrays
    for kind, symbol in KINDS.items():
        c.sizes[symbol] = len(c.elements[kind])
    rows = np.where(a["eq_type"] == Equality.CONNECT, 3, np.where(a["eq_type"] == Equality.WELD, 7, 1))
    c.sizes["nemax"] = int(rows.sum())
    adhesive = np.any(a["geom_adhesion"]) or np.any(a["pair_adhesion"])
    c.sizes["flg_adhesion"] = int(bool(adhesive))
    c.sizes["nbuffer"] = c.sizes["signature"] = 0  # MuJoCo's own memory and specification: nothing here has them


def count_jacobians(c: Compilation) -> None:
    """Sizes of the sparse Jacobians of tendons, actuators and flexes, and of flexes' metric; needs the constants."""
    c.sizes["nJten"] = len(c.arrays["ten_J_colind"])
    c.sizes["nJmom"] = moment_entries(c.arrays, c.size("nv"))
    for size, name in COUNTED.items():
        c.sizes[size] = len(c.arrays[name])


def moment_entries(a: Mapping[str, np.ndarray], nv: int) -> int:
    """Entries of the sparse matrix of actuator moments."""
    total = 0
    for kind, (first, second) in zip(a["actuator_trntype"], a["actuator_trnid"], strict=True):
        if kind in (Transmission.JOINT, Transmission.JOINTINPARENT):
            total += NV[a["jnt_type"][first]]
        elif kind == Transmission.TENDON:
            total += int(a["ten_J_rownnz"][first])
        elif kind == Transmission.SLIDERCRANK:
            total += len(_chain(a, a["site_bodyid"][first]) | _chain(a, a["site_bodyid"][second]))
        elif kind == Transmission.SITE:
            reference = a["site_bodyid"][second] if second >= 0 else 0
            total += len(_chain(a, a["site_bodyid"][first]) ^ _chain(a, reference))
        elif kind == Transmission.BODY:
            total += nv
        elif kind == Transmission.SO3:
            total += 3 * nv if second >= 0 else 3
    return total


def _chain(a: Mapping[str, np.ndarray], body: int) -> set[int]:
    """Degrees of freedom that move a body."""
    dofs: set[int] = set()
    while body > 0:
        start = a["body_dofadr"][body]
        dofs.update(range(start, start + a["body_dofnum"][body]))
        body = a["body_parentid"][body]
    return dofs


def arena_bytes(c: Compilation) -> None:
    """Bytes MuJoCo gives its arena: as <size> says, or an estimate from the model, in whole megabytes."""
    declared = c.scratch["declared"]
    if declared["memory"] >= 0:
        c.sizes["narena"] = declared["memory"]
        return
    c.view()  # counts every kind
    c.sizes["narena"] = arena_estimate({**c.sizes, **declared}, declared["nstack"])


def arena_estimate(sizes: Mapping[str, int], nstack: int = -1) -> int:
    """Bytes of the arena of a model that does not say."""
    nconmax = 100 if sizes["nconmax"] < 0 else sizes["nconmax"]
    njmax = 500 if sizes["njmax"] < 0 else sizes["njmax"]
    nv = sizes["nv"]
    if nstack >= 0:
        total = 8 * nstack
    else:
        counted = ("nq", "nv", "nu", "na", "nbody", "njnt", "ngeom", "nsite", "neq", "ntendon", "nwrap")
        total = 8 * max(1000, 5 * (njmax + sizes["neq"] + nv) ** 2 + 20 * sum(sizes[name] for name in counted))
    total += nconmax * CONTACT_BYTES + njmax * (8 * 4 + 14 * 8) + nv * 12 + njmax * nv * 24 + njmax * njmax * 12
    return -(-total // MEGABYTE) * MEGABYTE
