"""Named indexing: `physics.named.data.xpos["torso", "z"]`, `physics.named.data.qpos[["hip", "knee"]]`.

The size symbols in the table of MuJoCo's fields say what an axis counts, and so which names it takes:

    nbody, ngeom, ...       one row an object
    nq, nv, na, ...         a run of rows an object, from its address: an axis with ragged rows
    3, 4, 9 at the end      x y z, qw qx qy qz, xx xy ... zz, r g b a, where the field's name says so

Several worlds put an axis before these; keys leave it out, and it stays in the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinema.compile.host_model import KINDS
from kinema.errors import UnknownKey, did_you_mean
from kinema.model.mujoco_fields import data_fields, model_fields
from kinema.physics.mirror import Mirror
from kinema.physics.model_copy import ModelCopy
from kinema.physics.run import Run
from kinema.simulation.named import RUNS, SINGLE, runs

COLUMNS = (
    (re.compile(r"rgba$"), ["r", "g", "b", "a"]),
    (re.compile(r"quat$"), ["qw", "qx", "qy", "qz"]),
    (re.compile(r"x?i?mat0?$"), ["xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz"]),
    (
        re.compile(r"(pos|dir|axis|anchor|pos0|poscom0|dir0|com|linvel|angmom|inertia|vert|normal|(geom|site)_size)$"),
        ["x", "y", "z"],
    ),
)
"""Names of columns by the name of the field; they hold where the number of columns agrees."""


class Names:
    """One row a name."""

    def __init__(self, names: Sequence[str], rows: Sequence[Any] | None = None):
        self.names = list(names)
        rows = range(len(self.names)) if rows is None else rows
        self.rows = {name: row for name, row in zip(self.names, rows, strict=True) if name}

    def convert_key_item(self, key: Any) -> Any:
        """NumPy's index for a key that may hold names."""
        _check(key)
        if isinstance(key, str):
            return self._find(key)
        if isinstance(key, list | np.ndarray) and len(key):
            array = np.asarray(key)
            if isinstance(array.flat[0], str):
                return self._find_all(array)
            return array
        return key

    def _find(self, name: str) -> Any:
        try:
            return self.rows[name]
        except KeyError:
            raise UnknownKey(f"no row is named {name!r}{did_you_mean(name, self.rows)}") from None

    def _find_all(self, names: np.ndarray) -> np.ndarray:
        return np.array([self._find(name) for name in names.flat]).reshape(names.shape)


class Runs(Names):
    """A run of rows a name."""

    def _find_all(self, names: np.ndarray) -> np.ndarray:
        found: list[int] = []
        for name in names.flat:
            row = self._find(name)
            found.extend(range(row.start, row.stop) if isinstance(row, slice) else [row])
        rows = np.array(found, dtype=int)
        return rows[:, None] if names.ndim > 1 else rows  # names as a column of np.ix_


class NoNames(Names):
    """Rows without names."""

    def __init__(self) -> None:
        super().__init__([])


def _check(key: Any) -> None:
    if key is Ellipsis:
        raise IndexError("Ellipsis indexing not supported.")
    if key is None:
        raise IndexError("None indexing not supported.")
    if isinstance(key, str | bytes) and not key:
        raise IndexError("Empty strings are not allowed.")
    if isinstance(key, list | np.ndarray) and np.asarray(key).dtype.kind in "OUS":
        for item in key:
            _check(item)


class Axes(NamedTuple):
    """The axes of a field: rows and, if it has any, columns."""

    row: Names
    col: Names | None = None


def axis_of(model: ModelCopy, symbol: str | int) -> Names:
    """The names an axis takes, by its size symbol."""
    kinds = {size: kind for kind, size in KINDS.items()}
    if symbol in kinds:
        return Names(model.names(kinds[symbol]))
    if isinstance(symbol, str) and symbol in RUNS:
        rows = [_run(symbol, run) for run in runs(model, symbol)]
        return Runs(model.names(RUNS[symbol][0]), rows)
    if symbol == "nmocap":
        mocap = np.asarray(model.body_mocapid)
        bodies = np.flatnonzero(mocap >= 0)
        return Names([model.names("body")[body] for body in bodies[np.argsort(mocap[bodies])]])
    return NoNames()


def _run(symbol: str, run: range) -> int | slice:
    return run.start if len(run) == 1 and symbol in SINGLE else slice(run.start, run.stop)


def columns_of(name: str, count: Any) -> Names:
    """The names of a field's columns."""
    for pattern, names in COLUMNS:
        if len(names) == count and pattern.search(name):
            return Names(names)
    return NoNames()


class FieldIndexer:
    """A field as an array that also takes names: all an array has, and keys with names.

    Args:
        name: The field.
        mirror: Gives the host's copy of it, up to date.
        axes: What its axes take.
    """

    __slots__ = ("_axes", "_mirror", "_name")

    def __init__(self, name: str, mirror: Callable[[], Mirror], axes: Axes):
        self._name, self._mirror, self._axes = name, mirror, axes

    @property
    def axes(self) -> Axes:
        """What its axes take."""
        return self._axes

    @property
    def leading_axes(self) -> int:
        """Number of axes before MuJoCo's."""
        return self._mirror().leading_axes

    @property
    def field(self) -> np.ndarray:
        """The array itself."""
        return self._mirror().hand_out()

    def convert_key(self, key: Any) -> Any:
        """NumPy's index for a key that may hold names."""
        mirror = self._mirror()
        keys = key if isinstance(key, tuple) else (key,)
        array = mirror.hand_out()
        ndim = array.ndim - mirror.leading_axes
        if len(keys) > ndim:
            raise IndexError(f"Index tuple has {len(keys)} elements, but array has only {ndim} dimensions.")
        axes = [axis for axis in self._axes if axis is not None]
        found = tuple(axis.convert_key_item(item) for axis, item in zip(axes, keys, strict=False))
        if mirror.leading_axes:
            return (slice(None), *found)
        return found if isinstance(key, tuple) else found[0]

    def __getitem__(self, key: Any) -> Any:
        return self.field[self.convert_key(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.field[self.convert_key(key)] = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.field, name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.field, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return len(self.field)

    def __iter__(self) -> Any:
        return iter(self.field)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *dir(np.ndarray)})

    def __repr__(self) -> str:
        lines = [f"FieldIndexer({self._name}):"]
        if self.leading_axes:
            return "\n".join([*lines, repr(self.field)])
        array = self.field
        label = [""] * len(array)
        for name, rows in self._axes.row.rows.items():
            for row in range(len(array))[rows] if isinstance(rows, slice) else [rows]:
                label[row] = name
        width = max(map(len, label), default=0)
        digits = len(str(max(len(array) - 1, 0)))
        if self._axes.col is not None and self._axes.col.names:
            heads = "".join(f"{name:<10}" for name in self._axes.col.names)
            lines.append(f"{'':{digits + width + 4}}{heads}".rstrip())
        number: Any = {"float_kind": "{: < 9.3g}".format}
        for i, row in enumerate(array):
            text = np.array2string(np.atleast_1d(row), suppress_small=True, formatter=number)
            lines.append(f"{i:{digits}} {label[i]:>{width}} {text}")
        return "\n".join(lines if len(array) else [*lines, "(empty)"])


class StructIndexer:
    """Named indexers of all fields of mjModel or mjData, as attributes."""

    def __init__(self, names: Callable[[], list[str]], make: Callable[[str], FieldIndexer]):
        self._names, self._make = names, make
        self._made: dict[str, FieldIndexer] = {}

    def __getattr__(self, name: str) -> FieldIndexer:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._made:
            if name not in self._names():
                raise UnknownKey(f"no field {name!r}{did_you_mean(name, self._names())}")
            self._made[name] = self._make(name)
        return self._made[name]

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._names()})

    def _asdict(self) -> dict[str, FieldIndexer]:
        return {name: getattr(self, name) for name in self._names()}


class NamedIndexStructs(NamedTuple):
    """`physics.named`."""

    model: StructIndexer
    data: StructIndexer


def named_structs(run: Run) -> NamedIndexStructs:
    """Named indexers of a run's model and data."""
    axes: dict[Any, Names] = {}

    def axes_of(name: str, shape: tuple) -> Axes:
        if shape[0] not in axes:
            axes[shape[0]] = axis_of(run.model, shape[0])
        return Axes(axes[shape[0]], *(columns_of(name, count) for count in shape[1:2]))

    def model_names() -> list[str]:
        kept = model_fields().items()
        return [n for n, f in kept if f.group == "array" and f.dtype != "char" and hasattr(run.model.source, n)]

    def data_names() -> list[str]:
        return [name for name in run.names() if data_fields()[name].shape]

    def of_model(name: str) -> FieldIndexer:
        return FieldIndexer(name, lambda: run.model.mirror(name), axes_of(name, model_fields()[name].shape))

    def of_data(name: str) -> FieldIndexer:
        return FieldIndexer(name, lambda: run.mirror(name), axes_of(name, data_fields()[name].shape))

    return NamedIndexStructs(StructIndexer(model_names, of_model), StructIndexer(data_names, of_data))
