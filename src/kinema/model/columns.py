"""Columns: growable NumPy storage of one field.

A column holds the rows that were written; rows of its frequency beyond them, and gaps between them, are unset and read
as the field's default. Numbers are stored with the dtype the model will have; strings and other objects in object
arrays, so that copying, tiling and indexing are the same code for both.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableSequence
from typing import Any

import numpy as np
import warp as wp

from ..errors import BuildError, WrongKind
from .fields import Field


def convert(field: Field, values: Any, count: int, *, call: str = "") -> np.ndarray:
    """`values` as the array of `count` rows of `field`, or an error that names the call, the key and the value."""
    where = f"{call}: " if call else ""
    if field.is_object:
        rows = np.empty(count, dtype=object)
        items = [values] if count == 1 and not isinstance(values, (list, tuple, np.ndarray)) else list(values)
        if len(items) != count:
            raise BuildError(f"{where}{field.key!r} needs {count} values, got {len(items)}")
        for i, item in enumerate(items):
            if field.dtype is str and not isinstance(item, str):
                raise WrongKind(f"{where}{field.key!r} holds strings, got {item!r}")
            rows[i] = item
        return rows
    array = numeric(values)
    if array is None or array.dtype.kind not in "biuf":
        raise WrongKind(f"{where}{field.key!r} holds numbers of type {type_name(field)}, got {values!r}")
    size = field.row_size
    if array.size != count * size:
        raise BuildError(
            f"{where}{field.key!r} needs {count} row(s) of shape {field.row_shape or 'scalar'}, "
            f"got a value of shape {array.shape}: {_short(values)}"
        )
    array = array.reshape(count, *field.row_shape)
    dtype = field.numpy_dtype
    if dtype.kind in "iu" and array.dtype.kind in "fiu" and array.dtype != dtype:
        cast = array.astype(dtype) if not _overflows(array, dtype) else None
        if cast is None or (array.dtype.kind == "f" and not np.array_equal(cast, array)):
            raise WrongKind(f"{where}{field.key!r} holds {type_name(field)}, which cannot store {_short(values)}")
        return cast
    return array.astype(dtype, copy=False)


def numeric(values: Any) -> np.ndarray | None:
    """`values` (numbers, Warp vectors, nested lists, device arrays) as a NumPy array, or None."""
    try:
        if hasattr(values, "numpy"):
            return values.numpy()
        return np.asarray(values)
    except (ValueError, TypeError):
        return None


def _overflows(array: np.ndarray, dtype: np.dtype) -> bool:
    limits = np.iinfo(dtype)
    return bool(array.size) and not bool(np.all((array >= limits.min) & (array <= limits.max)))


def type_name(field: Field) -> str:
    """Name of the field's dtype for messages."""
    return getattr(field.dtype, "__name__", str(field.dtype))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


class Column:
    """Rows of one field, from row 0 on."""

    __slots__ = ("data", "exposed", "field", "gaps", "size")

    def __init__(self, field: Field):
        self.field = field
        self.data = np.empty((0, *field.row_shape), field.numpy_dtype)
        self.size = 0
        self.gaps: np.ndarray | None = None  # True where a row below `size` was never written
        self.exposed = False  # a user may hold a view that writes without our knowing

    def write(self, start: int, rows: np.ndarray) -> None:
        """Put rows at `start` on; unwritten rows before them stay unset."""
        end = start + len(rows)
        self._reserve(end)
        if start > self.size:
            self.data[self.size : start] = self.field.fill
            self._mark(self.size, start, True)
        self.data[start:end] = rows
        if self.gaps is not None:
            self._mark(start, end, False)
        self.size = max(self.size, end)

    def rows(self, count: int) -> np.ndarray:
        """Writable view of rows 0 to `count`, unset ones filled with the default."""
        self._reserve(count)
        if count > self.size:
            self.data[self.size : count] = self.field.fill
        return self.data[:count]

    def grow(self, count: int) -> np.ndarray:
        """Take `count` rows as written and return them, for the caller to write those that are new."""
        self._reserve(count, keep=max(self.size, min(count, len(self.data))))
        self.size = count
        return self.data[:count]

    def is_set(self, row: int) -> bool:
        """Whether somebody wrote the row."""
        return row < self.size and (self.gaps is None or not self.gaps[row])

    def set_count(self) -> int:
        """Number of rows somebody wrote."""
        return self.size - (0 if self.gaps is None else int(self.gaps[: self.size].sum()))

    def replace(self, rows: np.ndarray) -> None:
        """Take `rows` as the whole content."""
        self.data, self.size, self.gaps = rows, len(rows), None

    def _reserve(self, count: int, keep: int | None = None) -> None:
        if count > len(self.data):
            grown = np.empty((max(count, 2 * len(self.data), 8), *self.field.row_shape), self.field.numpy_dtype)
            keep = self.size if keep is None else keep
            grown[:keep] = self.data[:keep]
            self.data = grown

    def _mark(self, start: int, end: int, unset: bool) -> None:
        if self.gaps is None:
            self.gaps = np.zeros(len(self.data), dtype=bool)
        elif len(self.gaps) < len(self.data):
            self.gaps = np.concatenate([self.gaps, np.zeros(len(self.data) - len(self.gaps), dtype=bool)])
        self.gaps[start:end] = unset


class NumberRows(np.ndarray):
    """View of a column of numbers that takes Warp's matrices too: ``builder.body_inertia[3] = wp.mat33(...)``."""

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, shaped(value))


class PoseRows(NumberRows):
    """View of a column of poses: one row is a `wp.transform`, which functions of Warp take as they take Newton's."""

    def __getitem__(self, index: Any) -> Any:
        row = super().__getitem__(index)
        whole = type(row) is PoseRows and row.ndim == 1 and self.ndim == 2 and row.shape == (7,)
        return PoseRow(row.view(np.ndarray)) if whole else row.view(NumberRows) if type(row) is PoseRows else row

    def __setitem__(self, index: Any, value: Any) -> None:
        self.view(np.ndarray)[index] = shaped(value)


class PoseRow(wp.transformf):
    """A row of a column of poses; its numbers are the column's."""

    def __init__(self, row: np.ndarray):
        super().__init__(*row.tolist())
        self._row = row

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, value)  # type: ignore[misc]
        self._row[index] = value

    def tolist(self) -> list[float]:
        """The numbers, as of an array."""
        return self._row.tolist()


class InverseRows:
    """View of masses or inertias as Newton's builder has them besides, inverted: 0 stays 0."""

    def __init__(self, rows: Any):
        self._rows = rows

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array([self[row] for row in range(len(self._rows))], dtype=dtype)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, row: int) -> Any:
        return _inverse(np.asarray(self._rows[row], dtype=float))

    def __setitem__(self, row: int, value: Any) -> None:
        self._rows[row] = _inverse(np.asarray(shaped(value), dtype=float))


def _inverse(value: np.ndarray) -> np.ndarray:
    if not np.any(value):
        return np.zeros_like(value)
    return 1.0 / value if value.ndim == 0 else np.linalg.inv(value)


def shaped(value: Any) -> Any:
    """A matrix of Warp's, which NumPy would take for a row of numbers, as an array of its shape; the rest as it is."""
    shape: tuple[int, ...] = getattr(type(value), "_shape_", ())
    if len(shape) == 2:
        return np.array([float(value[i, j]) for i in range(shape[0]) for j in range(shape[1])]).reshape(shape)
    if isinstance(value, (list, tuple)) and len(value) and len(getattr(type(value[0]), "_shape_", ())) == 2:
        return np.stack([shaped(item) for item in value])
    return value


class ObjectRows(MutableSequence):
    """List-like view of a column of strings or objects, with `index`, `in`, iteration and assignment of items."""

    def __init__(self, rows: np.ndarray):
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        found = self._rows[index]
        return found.tolist() if isinstance(index, slice) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        self._rows[index] = value

    def __delitem__(self, index: Any) -> None:
        raise WrongKind("rows of a builder cannot be deleted")

    def insert(self, index: int, value: Any) -> None:
        raise WrongKind("rows of a builder are added by its adders, not by insert or append")

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows.tolist())

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, (list, tuple, ObjectRows)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._rows.tolist())
