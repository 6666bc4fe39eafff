"""Rows of one world of a finalized model, for whoever makes a world's own model of them.

    LiveRows(model, world)     as the arrays are now; `WorldClass.template` gives them as they were built
    WholeRows(model)           all rows of a model in which no world was opened
    shared_shapes(model)       static shapes of no world, which every world has
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from kinema.compile.rows import NAMESPACE, reference_of
from kinema.errors import BuildError
from kinema.model import Model
from kinema.model.classes import local_block
from kinema.model.mujoco_fields import model_fields
from kinema.model.state import find


def has_no_worlds(model: Model) -> bool:
    """Whether nothing was put into worlds: then all rows together are the one world."""
    return model.world_count == 1 and all(np.diff(model.row_span(kind, 0))[0] == 0 for kind in model.kinds)


def live_block(model: Model, key: str, worlds: np.ndarray) -> np.ndarray:
    """Rows of a field in some worlds of one class, as they are now, indices counted within each world."""
    field = model.fields[key]
    if key in model._hooked and field.namespace == NAMESPACE:  # a file does not hold functions
        field = replace(field, references=reference_of(model_fields()[field.name]))
    return local_block(model, field, worlds)


class LiveRows(Mapping):
    """Rows of one world as they are in the model's arrays now, indices counted within the world."""

    def __init__(self, model: Model, world: int):
        self.model, self.world = model, world

    def __getitem__(self, key: str) -> np.ndarray:
        return live_block(self.model, key, np.array([self.world]))[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self.model.fields)

    def __len__(self) -> int:
        return len(self.model.fields)


class WholeRows(LiveRows):
    """All rows of a model without worlds."""

    def __init__(self, model: Model):
        super().__init__(model, 0)

    def __getitem__(self, key: str) -> np.ndarray:
        return all_rows(self.model, key)


def all_rows(model: Model, key: str) -> np.ndarray:
    """A field's rows in all worlds, on the host."""
    field = model.fields[key]
    value = model.array_of(field)
    if isinstance(value, list):
        rows = np.empty(len(value), dtype=object)
        rows[:] = value
        return rows
    values = value if isinstance(value, np.ndarray) else value.numpy()
    count = model.kinds.get(field.frequency)
    values = values[:count] if field.sentinel and count is not None else values
    return values.reshape(-1, *field.row_shape)


def documents_in(model: Model) -> bool:
    """Whether documents were added to the model."""
    return "mujoco:document_packed" in model.fields


def claimed_rows(rows: Mapping[str, np.ndarray], *names: str) -> set[int]:
    """Core rows of a world that documents stand for; `names` are columns of `rows.CORE`."""
    columns = [np.asarray(rows[f"mujoco:{name}"]).tolist() for name in names]
    return {int(i) for column in columns for i in column if i >= 0}


def shared_shapes(model: Model) -> list[int]:
    """Shapes of no world; they must be static, since what moves belongs to one world."""
    worlds = np.asarray(find(model, model.fields["shape_world"]).numpy())
    shared = np.flatnonzero(worlds < 0)
    if model.kind_starts("body")[0] or np.diff(model.kind_starts("body"))[-1]:
        raise BuildError("bodies of no world stand beside worlds: put them into a world; only static shapes are shared")
    return shared.tolist()
