"""Lists whose length varies from world to world: contacts and constraint rows, of which the first so many count.

A world's list has room for nconmax contacts or nefcmax rows; what lies beyond `ncon` or `nefc` is left over from
before. Read from outside, lists end with the longest world's and are zero beyond a world's own.

A row of J is written only in the columns of its trees; the others are zero, whatever memory holds there. In models with
flexes it holds only the columns it lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from kinema.convex.bundle import bundles_of, fields_of
from kinema.convex.data import Data

if TYPE_CHECKING:
    from kinema.convex.engine import Engine

COUNTS = {"nconmax": "ncon", "nefcmax": "nefc", "nconmax_flex": "ncon", "nefcmax_flex": "nefc"}
"""What counts the entries of a list in use, by its length."""


@cache
def lists() -> Mapping[str, str]:
    """Name of what counts the entries in use, for every array that is a list."""
    found = {}
    for bundle in bundles_of(Data).values():
        for field in fields_of(bundle).values():
            if field.size and field.size[0] in COUNTS:
                found[field.name] = COUNTS[field.size[0]]
    return found


def in_use(engine: Engine, name: str) -> np.ndarray:
    """The entries of a list that count, (nworld, longest, ...)."""
    count = engine.read(lists()[name])
    longest = min(int(count.max(initial=0)), engine.shape(name)[1])
    values = engine.read(name)[:, :longest]
    counts = np.arange(longest) < count[:, None]
    if name == "efc_J" and engine.source.nflex:
        return np.where(counts[:, :, None], _spread(engine, values), values.dtype.type(0))
    if name == "efc_J":
        counts = counts[:, :, None] & _columns(engine, longest)
    return np.where(counts.reshape(*counts.shape, *[1] * (values.ndim - counts.ndim)), values, values.dtype.type(0))


def _spread(engine: Engine, values: np.ndarray) -> np.ndarray:
    """Rows that list their columns, as full ones."""
    longest = values.shape[1]
    number, column = engine.read("efc_ncol")[:, :longest], engine.read("efc_col")[:, :longest]
    full = np.zeros((*values.shape[:2], int(engine.source.nv)), values.dtype)
    listed = np.arange(values.shape[2]) < number[:, :, None]
    world, row, place = np.nonzero(listed)
    full[world, row, column[listed]] = values[world, row, place]
    return full


def _columns(engine: Engine, longest: int) -> np.ndarray:
    """Which columns of J are those of a row's trees, (nworld, longest, nv)."""
    tree = engine.layout.host("dof_treeid")
    of_row = engine.read("efc_trees")[:, :longest]
    everywhere = of_row[..., :1] < 0
    return everywhere | (of_row[..., :1] == tree) | (of_row[..., 1:] == tree)
