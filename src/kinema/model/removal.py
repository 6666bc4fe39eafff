"""Rows taken out of a builder, and everything that points at them put right: one loop over the field table.

    rows of a frequency that lost some       the kept ones, in their order
    values that reference a frequency        the new index of the row; of a row that is gone, what it became (`into`)
                                             or -1
    bounds of spans (joint_q_start …)        how many kept rows come before
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .fields import Field

BOUNDS = (
    "joint_q_start", "joint_qd_start", "joint_cts_start", "muscle_start", "articulation_start", "articulation_end",
)  # fmt: skip
"""Columns that hold the first row of a span, or the one after its last: it may be gone, or lie at the very end."""


def remove_rows(builder: Any, gone: Mapping[str, np.ndarray], into: Mapping[str, np.ndarray] | None = None) -> dict:
    """Take rows out.

    Args:
        builder: The builder.
        gone: Of each frequency that loses rows, which.
        into: Of such a frequency, the row that stands for each row from now on (old indices; -1: none).

    Returns:
        Of each of these frequencies, the new index of every old row; -1 where it is gone.
    """
    builder.flush()
    maps, counts = {}, {}
    for kind, mask in gone.items():
        keep = ~np.asarray(mask, dtype=bool)
        maps[kind] = np.where(keep, np.cumsum(keep) - 1, -1)
        counts[kind] = int(keep.sum())
    targets = dict(maps)
    for kind, stands in (into or {}).items():
        targets[kind] = np.where(stands >= 0, maps[kind][np.maximum(stands, 0)], -1)
    columns = {key: builder._column(key) for key in list(builder._columns)}
    new = {key: _moved(column.field, column.rows(builder.count(column.field.frequency)), gone, maps, targets)
           for key, column in columns.items() if column.field.frequency not in ("once", "world")}  # fmt: skip
    for kind, count in counts.items():
        builder._counts[kind] = count
    for key, rows in new.items():
        columns[key].replace(rows)
    builder._maps.clear()
    builder._version += 1
    builder._direct_worlds = set(range(builder.world_count))  # worlds are no longer copies of their templates
    return maps


def _moved(field: Field, rows: np.ndarray, gone: Mapping, maps: Mapping, targets: Mapping) -> np.ndarray:
    """A column after the removal."""
    if field.frequency in gone:
        rows = rows[~np.asarray(gone[field.frequency], dtype=bool)]
    kinds = field.references if isinstance(field.references, tuple) else (field.references,)
    if field.is_object or not any(kind in gone for kind in kinds if isinstance(kind, str)):
        return rows.copy()
    rows = rows.copy()
    if field.name in BOUNDS:
        before = np.concatenate([[0], np.cumsum(~np.asarray(gone[kinds[0]], dtype=bool))])
        return before[rows].astype(rows.dtype)
    parts = [rows] if len(kinds) == 1 else [rows[..., k] for k in range(len(kinds))]
    for part, kind in zip(parts, kinds, strict=True):
        if kind in gone:
            part[...] = np.where(part >= 0, targets[kind][np.maximum(part, 0)], part)
    return rows
