"""Sizes that follow from what was compiled."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinema.compile.context import Compilation
from kinema.compile.host_model import KINDS
from kinema.compile.joint import NV
from kinema.mujoco_enums import Equality, Transmission

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
