"""Numbers of a simulation that can be written where they are read.

    mass = sim.m.body_mass        a copy: it stays what it was, whatever runs afterwards
    mass[1] = 10                  writes the element into the simulation as it is now, and into the copy
    sim.d.qpos[:, 2] += 0.1       slices, masks, lists of indices, and operators in place: the same

The memory of the copy is read-only, and only indexing and operators go past that. So every other way of writing that
NumPy knows (`np.copyto`, `out=`, a transposed view) fails by itself, and no way of writing is lost. Indexing with lists
or masks copies, as everywhere in NumPy: `sim.m.body_mass[[1, 2]]` is a plain array, and so are results of arithmetic.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

Write = Callable[[tuple, Any], None]
"""What an index, one after the other where views are of views, and a value do to a simulation; or an error."""


class Values(np.ndarray):
    """Numbers as they were when read; writing an element writes it into the simulation as well."""

    _write: Write | None = None  # not carried over to results of arithmetic
    _memory: np.ndarray
    _path: tuple = ()

    @classmethod
    def of(cls, numbers: Any, write: Write) -> Values:
        """A copy of numbers that a simulation writes."""
        memory = np.array(numbers)
        found = memory.view(cls)
        found.flags.writeable = False
        found._write, found._memory = write, memory
        return found

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        if not isinstance(found, Values) or self._write is None:
            return found
        if found.flags.writeable:  # a copy
            return found.view(np.ndarray)
        found._write, found._memory, found._path = self._write, self._memory, (*self._path, index)
        return found

    def __setitem__(self, index: Any, value: Any) -> None:
        if self._write is None:
            super().__setitem__(index, value)
            return
        path = (*self._path, index)
        self._write(path, value)
        put(self._memory, path, value)

    def __array_wrap__(self, result: np.ndarray, context: Any = None, return_scalar: bool = False) -> Any:
        return result[()] if return_scalar else np.asarray(result)

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def __reduce__(self) -> Any:
        return np.array(self).__reduce__()

    def __copy__(self) -> np.ndarray:  # type: ignore[override]  # a plain array
        return np.array(self)

    def __deepcopy__(self, memo: Any) -> np.ndarray:  # type: ignore[override]
        return np.array(self)


def put(numbers: np.ndarray, path: tuple, value: Any) -> None:
    """Write a value at an index of an index of ... of an array."""
    *views, last = path
    for index in views:
        numbers = numbers[index]
    numbers[last] = value


def _in_place(name: str) -> Any:
    compute, plain = getattr(operator, name), getattr(np.ndarray, f"__i{name.strip('_')}__")

    def in_place(self: Values, other: Any) -> Any:
        if self._write is None:
            return plain(self, other)
        self[...] = compute(np.asarray(self), other)
        return self

    return in_place


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift"):
    setattr(Values, f"__i{_name.strip('_')}__", _in_place(_name))
