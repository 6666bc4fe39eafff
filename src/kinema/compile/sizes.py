"""Sizes that follow from what was compiled, and the empty arrays of what this compiler does not hold (flexes)."""

from __future__ import annotations

import numpy as np

from kinema.compile.context import Compilation
from kinema.compile.host_model import KINDS
from kinema.model.mujoco_fields import model_arrays, model_sizes

CONNECT, WELD = 0, 1


def complete_sizes(c: Compilation) -> None:
    """Set every remaining size: counts of elements, flags, and bounds."""
    a = c.arrays
    for kind, symbol in KINDS.items():
        c.sizes[symbol] = len(c.elements[kind])
    rows = np.where(a["eq_type"] == CONNECT, 3, np.where(a["eq_type"] == WELD, 7, 1))
    c.sizes["nemax"] = int(rows.sum())
    adhesive = np.any(a["geom_adhesion"]) or np.any(a["pair_adhesion"])
    c.sizes["flg_adhesion"] = int(bool(adhesive))
    for field in model_sizes():
        if field.name.startswith("nflex") or field.name.startswith("nefm") or field.name == "nJfe":
            c.sizes.setdefault(field.name, 0)


def fill_flex(c: Compilation) -> None:
    """Empty arrays for flexes."""
    for field in model_arrays():
        if field.name.startswith(("flex", "efm")):
            shape = tuple(extent if isinstance(extent, int) else 0 for extent in field.shape)
            c.arrays.setdefault(field.name, np.zeros(shape, dtype=field.numpy_dtype))
