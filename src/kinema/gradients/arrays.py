"""Arrays of duals beside the arrays of an engine: the same descriptions, leading to wider numbers.

A description of an array is a place, a shape, and strides in bytes. Kernels of duals (transcribe.py) are given Model
and Data with the shapes of the engine's, whose strides step over duals:

    float32   4 bytes   ->   4 + 4 width        float64   8 bytes   ->   8 + 4 width        integers stay as they are

What a run computes (Data) is scratch: on the CPU one world's, whose world stride is 0, so that `d.pose.xpos[w, b]` of
every world is the same place, and stays in cache; a thread has one. On CUDA every world has its own. What the model
says is copied before each run; its integers are the engine's own. Arrays that no stage touches are left as they are.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import warp as wp
from warp._src.types import array_t, type_scalar_type, type_size

from kinema.convex.bundle import array_name

FLOAT, DOUBLE, INTEGER = 0, 1, 2


class Number(NamedTuple):
    """What the elements of an array are made of: which kind, how many, and bytes of one in the engine and here."""

    kind: int
    numbers: int
    plain: int
    wide: int


def number(dtype: Any, width: int) -> Number:
    """What an element type is made of."""
    scalar, count = type_scalar_type(dtype), type_size(dtype)
    if scalar is wp.float32:
        return Number(FLOAT, count, 4, 4 + 4 * width)
    if scalar is wp.float64:
        return Number(DOUBLE, count, 8, 8 + 4 * (width + width % 2))
    size = wp.types.type_size_in_bytes(scalar)
    return Number(INTEGER, count, size, size)


@dataclass(frozen=True)
class Wide:
    """One array of duals: the engine's description, its own, and what its elements are made of."""

    given: array_t
    made: array_t
    number: Number

    @property
    def is_empty(self) -> bool:
        """Has it no elements?"""
        return 0 in list(self.given.shape[: self.given.ndim])

    def copies(self, *, per_world: bool) -> list[int]:
        """A row of the table of copies (copy.cpp): world by world, or all that there is at once."""
        shape = [1, 1, 1, 1]
        for k in range(int(per_world), self.given.ndim):
            shape[k] = 1 if self.given.strides[k] == 0 else self.given.shape[k]
        moves = (self.given.strides[0], self.made.strides[0]) if per_world else (0, 0)
        return [
            self.given.data, self.made.data, *moves, *self.number, *shape, *self.given.strides, *self.made.strides,
        ]  # fmt: skip


@dataclass
class Room:
    """Makes arrays of duals, each once.

    Attributes:
        width: Derivatives of a number.
        device: Where.
        worlds: Of scratch, how many worlds have a place of their own: all, or 1, which all share. 0: no scratch, but
            copies of what the model says, where axes of stride 0 stay so.
        more: Elements that an array has beyond the engine's, along its second axis, by the place of the engine's.
        arrays: The arrays made so far, by the place of the engine's.
    """

    width: int
    device: wp.Device
    worlds: int = 0
    more: Mapping[int, int] = field(default_factory=dict)
    arrays: dict[int, Wide] = field(default_factory=dict)
    memory: list[wp.array] = field(default_factory=list)

    def make(self, given: array_t, dtype: Any) -> array_t:
        """The array of duals beside one of the engine's."""
        if not given.data:
            return given
        if given.data not in self.arrays:
            what = number(dtype, self.width)
            step = what.wide * what.numbers
            made = array_t(0, 0, given.ndim, list(given.shape), list(given.strides), given.flags)
            made.shape[1] += self.more.get(given.data, 0)
            for k in reversed(range(given.ndim)):
                same = self.worlds == 1 if k == 0 and self.worlds else given.strides[k] == 0
                made.strides[k] = 0 if same else step
                step *= 1 if same else max(1, made.shape[k])
            self.memory.append(wp.zeros(step, dtype=wp.uint8, device=self.device))
            made.data = self.memory[-1].ptr
            self.arrays[given.data] = Wide(given, made, what)
        return self.arrays[given.data].made

    @property
    def bytes(self) -> int:
        """Memory taken."""
        return sum(one.size for one in self.memory)


def leaves(struct: Any, value: Any) -> Iterator[tuple[str, Any, Any]]:
    """Every array of a struct and of the structs inside it: its name, its type, its description."""
    for name, var in struct.vars.items():
        held = getattr(value, name)
        if isinstance(held, array_t):
            yield array_name(struct, name), var.type, held
        elif hasattr(var.type, "vars"):
            yield from leaves(var.type, held)


def widened(struct: Any, value: Any, rooms: Sequence[Room], touched: Collection[str]) -> Any:
    """A struct in C with wide arrays and numbers for plain ones.

    Args:
        struct: The `wp.struct`.
        value: One in C: `instance.__ctype__()`.
        rooms: Where its arrays may be already; what is in none of them is made in the last. Integers are made in a room
            of scratch only.
        touched: Names of the arrays that matter.
    """
    room, parts, kinds = rooms[-1], {}, dict(value._fields_)
    for name, var in struct.vars.items():
        held = getattr(value, name)
        if isinstance(held, array_t):
            found = next((one.arrays[held.data] for one in rooms if held.data in one.arrays), None)
            own = room.worlds or type_scalar_type(var.type.dtype) in (wp.float32, wp.float64)
            if found:
                held = found.made
            elif own and array_name(struct, name) in touched:
                held = room.make(held, var.type.dtype)
        elif hasattr(var.type, "vars"):
            held = widened(var.type, held, rooms, touched)
        elif var.type in (float, wp.float32):
            wide = (ctypes.c_float * (1 + room.width))()
            wide[0], held = held, wide
        parts[name] = held
        kinds[name] = type(held) if isinstance(held, ctypes.Structure | ctypes.Array) else kinds[name]
    kind = type(f"Wide{struct.key}", (ctypes.Structure,), {"_fields_": [(name, kinds[name]) for name in parts]})
    return kind(**parts)


def table(rows: Sequence[Sequence[int]], columns: int, device: Any) -> wp.array:
    """A table of whole numbers on the device."""
    numbers = np.array(rows, np.int64).reshape(len(rows), columns)
    return wp.array(numbers, dtype=wp.int64, device=device)
