"""The rows of a builder: the table, a column per field, a count per frequency, and copies waiting to be merged.

Adders work in two phases: `prepare` turns every value into checked arrays and may raise; `commit` only appends. A call
that fails therefore changes nothing. Copies of templates are kept as segments (see `merge.py`) and written out when
rows are read or appended directly, or at finalize.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import warp as wp

from ..closed import Closed
from ..errors import BuildError, UnknownKey, WrongMoment, did_you_mean
from .columns import Column, InverseRows, NumberRows, ObjectRows, PoseRows, convert
from .fields import ALIASES, FIELDS, STORED, Field, world_field, world_key
from .frequency import BUILT_IN, COUNT_NAMES
from .merge import Layout, Segment, Template, gather, write_copies

INVERSE = {"body_inv_mass": "body_mass", "body_inv_inertia": "body_inertia"}
"""Columns that Newton's builder has besides, and what they are the inverse of."""
Prepared = list[tuple[str, np.ndarray]]
"""Keys and checked rows, ready to append to one frequency."""


class RowStore(Closed):
    """Table, columns, counts and pending segments; the part of a builder that knows no entity by name."""

    def __init__(self) -> None:
        self._table: dict[str, Field] = {key: FIELDS[key] for key in FIELDS if key in STORED}
        self._columns: dict[str, Column] = {}
        self._counts: dict[str, int] = dict.fromkeys(BUILT_IN, 0)
        self._segments: list[Segment] = []
        self._stored: dict[str, int] = {}  # counts without the waiting segments
        self._merged: list[tuple[Template, int, np.ndarray | None]] = []  # (template, world, xform) written out
        self._touched: set[str] = set()  # fields that may differ between worlds of one template
        self._direct_worlds: set[int] = set()  # worlds that got rows from adders
        self._version = 0
        self._snapshot: tuple[int, Template] | None = None
        self._maps: dict[str, tuple[int, dict[int, list[int]]]] = {}  # rows seen, rows by value
        self._accepted: dict[int, Template] = {}  # templates already checked
        self._finalized = False
        self._current_world = -1
        self.world_count = 0
        self._counts["once"] = 1

    # counts and columns

    def count(self, kind: str) -> int:
        """Number of rows of a frequency, waiting copies included."""
        if kind == "world":
            return max(self.world_count, 1)
        return self._counts[kind]

    def _column(self, key: str) -> Column:
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = Column(self._table[key])
        return column

    def rows(self, key: str) -> np.ndarray:
        """All rows of a field as a view; for reading inside the model layer."""
        self.flush()
        return self._column(key).rows(self.count(self._table[key].frequency))

    def edit(self, key: str) -> np.ndarray:
        """All rows of a field as a view that the caller writes to."""
        rows = self.rows(key)
        self._version += 1
        self._column(key).size = len(rows)
        self._touched.add(key)
        return rows

    def expose(self, key: str) -> np.ndarray | ObjectRows:
        """All rows of a field for a user, who may write to them at any later time."""
        rows = self.edit(key)
        self._column(key).exposed = True
        if self._finalized:
            rows = rows[:]
            rows.flags.writeable = False
        if self._table[key].is_object:
            return ObjectRows(rows)
        return rows.view(PoseRows if self._table[key].dtype is wp.transform else NumberRows)

    def assign(self, key: str, values: Any) -> None:
        """Replace all rows of a field by as many values."""
        self.mutable(f"{key} = ...")
        field = self._table[key]
        rows = convert(field, values, self.count(field.frequency), call=f"ModelBuilder.{key} = ...")
        self.edit(key)[...] = rows

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in COUNT_NAMES:
            return self.count(COUNT_NAMES[name])
        key = ALIASES.get(name, name)
        if key in INVERSE:
            return InverseRows(self.expose(INVERSE[key]))
        if key in self._table and not self._table[key].custom:
            return self.expose(key)
        known = [*COUNT_NAMES, *self._table, *(n for n in dir(type(self)) if not n.startswith("_"))]
        raise UnknownKey(f"ModelBuilder has no {name!r}{did_you_mean(name, known)}")

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and name in FIELDS and "_table" in self.__dict__:
            self.assign(name, value)
        else:
            super().__setattr__(name, value)

    def _known(self) -> Iterable[str]:
        return {*super()._known(), *COUNT_NAMES, *self._table}

    def rows_by(self, kind: str, *keys: str) -> dict[int, list[int]]:
        """Rows of a frequency by the values of some of its columns, kept up to date as rows are added."""
        count = self.count(kind)
        seen, found = self._maps.get(kind, (0, {}))
        if seen > count or any(self._column(key).exposed for key in keys):
            seen, found = 0, {}
        if seen < count:
            new = np.stack([self.rows(key)[seen:] for key in keys], axis=1)
            for row, values in enumerate(new.tolist(), seen):
                for value in values:
                    found.setdefault(value, []).append(row)
            self._maps[kind] = (count, found)
        return found

    # adding rows

    def mutable(self, call: str) -> None:
        """Raise if the builder was finalized."""
        if self._finalized:
            raise WrongMoment(
                f"ModelBuilder.{call}: this builder was finalized; add to it before finalize(), "
                "or put it into a new builder with add_builder() and add to that"
            )

    def prepare(self, kind: str, count: int, columns: Mapping[str, Any], call: str = "") -> Prepared:
        """Check values of `count` new rows of a frequency. Keys map to arrays or lists of rows."""
        return [(key, convert(self._table[key], values, count, call=call)) for key, values in columns.items()]

    def commit(self, kind: str, count: int, *groups: Prepared) -> int:
        """Append `count` rows of a frequency and return the index of the first."""
        self.flush()
        start = self._counts[kind]
        for group in groups:
            for key, rows in group:
                self._column(key).write(start, rows)
        world = self._columns.get(world_key(kind)) or self._column(world_key(kind))
        world.write(start, np.full(count, self._current_world, np.int32))
        self._counts[kind] = start + count
        self._version += 1
        if self._current_world >= 0:
            self._direct_worlds.add(self._current_world)
        return start

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Undo the rows added inside if one of several adders fails."""
        self.flush()
        counts = dict(self._counts)
        try:
            yield
        except BaseException:
            self._counts = counts
            for column in self._columns.values():
                column.size = min(column.size, self.count(column.field.frequency))
            self._maps.clear()
            self._version += 1
            raise

    def check_index(self, kind: str, index: Any, call: str, *, none: bool = False) -> int:
        """`index` as the index of an existing row (or -1 where `none`)."""
        value = int(index)
        if value != index or not (-1 if none else 0) <= value < self.count(kind):
            first = "-1" if none else "0"
            raise BuildError(f"{call}: {kind} {index!r} is out of range; valid are {first} to {self.count(kind) - 1}")
        return value

    def check_indices(self, kind: str, indices: Any, call: str, *, none: bool = False) -> np.ndarray:
        """`indices` as an array of indices of existing rows (or -1 where `none`)."""
        array = np.asarray(indices)
        if array.dtype.kind not in "iu" and array.size:
            raise BuildError(f"{call}: indices of {kind}s must be integers, got {indices!r}")
        wrong = (array < (-1 if none else 0)) | (array >= self.count(kind))
        if wrong.any():
            first = "-1" if none else "0"
            raise BuildError(
                f"{call}: {kind} {array[wrong].reshape(-1)[0]} is out of range; valid are {first} to "
                f"{self.count(kind) - 1}"
            )
        return array.astype(np.int64, copy=False)

    def add_frequency(self, kind: str) -> None:
        """Count a new frequency from zero."""
        if kind not in self._counts:
            self._counts[kind] = 0
            self._table[world_key(kind)] = world_field(kind)

    # copies

    def template(self) -> Template:
        """A frozen copy of all rows, made once per state of the builder."""
        self.flush()
        if self._snapshot is not None and self._snapshot[0] == self._version:
            template = self._snapshot[1]
            exposed = [key for key, column in self._columns.items() if column.exposed]
            if all(_same(template.columns[key], self._columns[key]) for key in exposed):
                return template
        template = self._source(copy=True)
        self._snapshot = (self._version, template)
        return template

    def _source(self, *, copy: bool) -> Template:
        columns = {}
        for key, column in self._columns.items():
            rows = column.rows(self._base_count(column.field.frequency))
            columns[key] = rows.copy() if copy else rows
        given = {
            key
            for key, column in self._columns.items()
            if column.field.frequency in ("once", "world") and column.is_set(0)
        }
        counts = {kind: self._base_count(kind) for kind in self._counts}
        return Template(dict(self._table), columns, counts, given)

    def _base_count(self, kind: str) -> int:
        if kind == "world":
            return self.count("world")
        return self._stored.get(kind, 0) if self._segments else self._counts[kind]

    def append_segment(self, segment: Segment) -> None:
        """Take a copy of a template as rows to come."""
        if not self._segments:
            self._stored = dict(self._counts)
        self._segments.append(segment)
        counts = self._counts
        for kind, count in segment.template.grows:
            counts[kind] += count
        self._version += 1

    def layout(self) -> tuple[Template, Layout]:
        """The rows already stored, and where the waiting copies go."""
        base = self._source(copy=False)
        return base, Layout(base.counts, self._segments, max(self.world_count, 1))

    def flush(self) -> None:
        """Write out the waiting copies."""
        if not self._segments:
            return
        base, layout = self.layout()
        needed = set(self._columns)
        for segment_template in {id(group.template): group.template for group in layout.groups}.values():
            needed |= segment_template.columns.keys()
        for key in needed:
            field, column = self._table[key], self._column(key)
            if field.frequency in ("once", "world"):
                column.replace(gather(field, base, layout))
            elif layout.total[field.frequency] > base.counts[field.frequency]:
                # in place: flushing after every world must not copy what is already there
                column.rows(base.counts[field.frequency])
                write_copies(field, layout, column.grow(layout.total[field.frequency]))
        self._merged += [(segment.template, segment.world, segment.xform) for segment in self._segments]
        self._segments = []


def _same(frozen: np.ndarray, column: Column) -> bool:
    rows = column.rows(len(frozen))
    if column.field.is_object:
        return all(a is b or a == b for a, b in zip(frozen, rows, strict=True))
    return np.array_equal(frozen, rows, equal_nan=frozen.dtype.kind == "f")
