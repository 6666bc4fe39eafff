"""Groups of identical worlds, and the rows of one of them with indices of its own.

Worlds made from one template are identical unless rows were changed afterwards; worlds filled by adders are compared
row by row. Initial states, controls, labels and colours may differ within a class, and so may what a merge transform
moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from .fields import CONTROL, STATE, Field, world_key
from .merge import Offsets, Template, one_copy

if TYPE_CHECKING:
    from .model import Model


class WorldTemplate(Mapping):
    """Rows of one world, by field key, on the host.

    Values that point at rows of the same world count from 0; rows outside the world (global ones) are given as
    ``-2 - index``; -1 stays "none". Columns are made on first use.
    """

    def __init__(self, model: Model, world: int):
        self._model, self._world = model, world
        self._columns: dict[str, np.ndarray] = {}
        self.counts: dict[str, int] = {kind: int(np.diff(model.row_span(kind, world))[0]) for kind in model.kinds}

    def __getitem__(self, key: str) -> np.ndarray:
        if key not in self._columns:
            self._columns[key] = local_rows(self._model, self._model.fields[key], self._world)
        return self._columns[key]

    def seed(self, columns: dict[str, np.ndarray]) -> None:
        """Take columns that cannot be computed any more, after loading from a file."""
        self._columns.update(columns)

    def __iter__(self) -> Iterator[str]:
        return iter(self._model.fields)

    def __len__(self) -> int:
        return len(self._model.fields)


class WorldClass:
    """Worlds that hold the same model.

    Attributes:
        worlds: Indices of the worlds, rising.
        template: Rows of the first of them, with local indices.
        xforms: Transforms the worlds were placed at, shape (worlds, 7), or None.
        origin: The one of the template.
    """

    def __init__(self, model: Model, worlds: np.ndarray):
        self.worlds = worlds
        placed = model._world_xforms
        self.xforms = None if placed is None else placed[worlds]
        self.origin = None if self.xforms is None else self.xforms[0]
        self.template = WorldTemplate(model, int(worlds[0]))

    def some(self, members: np.ndarray) -> WorldClass:
        """Some of the worlds, counted within the class, built from the same template."""
        found = copy(self)
        found.worlds = self.worlds[members]
        found.xforms = None if self.xforms is None else self.xforms[members]
        return found

    def __len__(self) -> int:
        return len(self.worlds)

    def __repr__(self) -> str:
        return f"WorldClass(worlds={self.worlds.tolist()[:6]}{'...' if len(self.worlds) > 6 else ''})"


def _host(model: Model, field: Field, start: int, end: int) -> np.ndarray:
    """Rows `start` to `end` of a field's array, as columns hold them."""
    value = model.array_of(field)
    if isinstance(value, np.ndarray):
        return value[start:end]
    if isinstance(value, list):
        rows = np.empty(end - start, dtype=object)
        rows[:] = value[start:end]
        return rows
    if end <= start:
        return np.empty((0, *field.row_shape), field.numpy_dtype)
    width = field.row_size if field.flat else 1
    return value[start * width : end * width].numpy().reshape(-1, *field.row_shape)


def local_rows(model: Model, field: Field, world: int) -> np.ndarray:
    """Rows of a field in one world, values that point at rows made local to it."""
    segment = model._alone.get(world)
    same = segment is not None and segment.template.table.get(field.key, field).frequency == field.frequency
    if segment is not None and same and field.frequency not in ("once", "world"):
        return one_copy(field, segment)  # straight from the template: no array is expanded or copied back
    return local_block(model, field, np.array([world]))[0]


def local_block(model: Model, field: Field, worlds: np.ndarray) -> np.ndarray:
    """Rows of a field in several worlds of as many rows each, made local, shape (worlds, rows, ...)."""
    if field.frequency in ("once", "world"):
        rows = worlds if field.frequency == "world" else np.zeros(len(worlds), int)
        return np.stack([_host(model, field, row, row + 1) for row in rows])
    block = _take(model, field, field.frequency, worlds)
    if field.references is None or block.size == 0:
        return block
    if field.references == "world":
        return np.zeros_like(block)
    starts = {kind: -model.kind_starts(kind)[worlds].astype(np.int64) for kind in model.kinds}
    offsets = Offsets(Template(model.fields, {}, {}, set()), starts, np.zeros(len(worlds), np.int64), block.ndim)
    if callable(field.references):
        columns = _Columns(model, field.frequency, int(worlds[0]))
        return field.references(block, offsets, columns).astype(block.dtype)
    names = field.references if isinstance(field.references, tuple) else (field.references,)
    parts = block if isinstance(field.references, tuple) else block[..., None]
    for component, name in enumerate(names):
        if name == "world":
            parts[..., component] = 0
        elif name is not None:
            parts[..., component] = _local_values(model, field, parts[..., component], name, worlds)
    return block


def _take(model: Model, field: Field, kind: str, worlds: np.ndarray) -> np.ndarray:
    starts, ends = model.kind_starts(kind)[worlds], model.kind_starts(kind)[worlds + 1]
    if len(worlds) == 1:
        return np.array(_host(model, field, int(starts[0]), int(ends[0])))[None]
    rows = _host(model, field, 0, model.kinds[kind])
    return rows[starts[:, None] + np.arange(int(ends[0] - starts[0]))]


def _local_values(model: Model, field: Field, values: np.ndarray, name: str, worlds: np.ndarray) -> np.ndarray:
    starts = model.kind_starts(model.reference_kind(name))
    shape = (len(worlds),) + (1,) * (values.ndim - 1)
    first, last = starts[worlds].reshape(shape), starts[worlds + 1].reshape(shape)
    # starts and ends may point one past the last row
    last = last + (field.name.endswith(("_start", "_end")) and not field.custom)
    inside = (values >= first) & (values < last)
    return np.where(inside, values - first, np.where(values >= 0, -2 - values, values))


class _Columns(Mapping):
    """Columns of one world for remap hooks, as they stand in the model."""

    def __init__(self, model: Model, kind: str, world: int):
        self._model, self._span = model, model.row_span(kind, world)

    def __getitem__(self, key: str) -> np.ndarray:
        return _host(self._model, self._model.fields[key], *self._span)

    def __iter__(self) -> Iterator[str]:
        return iter(self._model.fields)

    def __len__(self) -> int:
        return len(self._model.fields)


def group_worlds(model: Model, seeds: np.ndarray, direct: np.ndarray, touched: set[str]) -> np.ndarray:
    """Class of each world, numbered by first world.

    Args:
        model: The model.
        seeds: Number that worlds of one template share.
        direct: Worlds that got rows from adders; compared in every field.
        touched: Fields that were written after merging; compared for all worlds.
    """
    classes = np.unique(seeds, return_inverse=True)[1].astype(np.int64)
    for kind in model.kinds:
        classes = _split(classes, np.diff(model.kind_starts(kind))[: model.world_count])
    for field in model.fields.values():
        compared = field.assignment not in (STATE, CONTROL) and not field.prefixed and not field.display
        known = not field.runtime and field.frequency in (*model.kinds, "world")
        if compared and known and field.key != world_key(field.frequency):
            if field.key in touched:
                classes = _refine(model, field, classes, np.ones(len(classes), bool))
            elif direct.any():
                classes = _refine(model, field, classes, direct)
    _, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _split(classes: np.ndarray, values: np.ndarray) -> np.ndarray:
    if (values == values[:1]).all():
        return classes
    return np.unique(np.stack([classes, values], axis=1), axis=0, return_inverse=True)[1].reshape(-1)


def _refine(model: Model, field: Field, classes: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Split classes whose worlds differ in a field."""
    values = np.zeros(len(classes), np.int64)
    for number in np.unique(classes[among]):
        worlds = np.flatnonzero((classes == number) & among)
        block = local_block(model, field, worlds)
        if field.is_object:
            block = np.array([[hash(x) if field.dtype is str else id(x) for x in rows] for rows in block])
        flat = block.reshape(len(worlds), -1)
        if not (flat == flat[:1]).all():
            values[worlds] = np.unique(flat, axis=0, return_inverse=True)[1].reshape(-1)
    return _split(classes, values)
