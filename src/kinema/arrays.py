"""Host values as device arrays indexed [world, ...]: the one place that decides how worlds lie in memory.

Only strides differ. On CUDA worlds are interleaved, so that neighbouring threads, which are neighbouring worlds, read
neighbouring numbers; arrays that a group of lanes works on (`rows`) keep a world's numbers together, as all do on the
CPU, and on CUDA where a block has a world to itself. What worlds share is stored once and read through a world stride
of 0, until someone makes it differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from kinema.devices import device_named


def interleaves(device: wp.Device) -> bool:
    """Are worlds interleaved on a device?"""
    return device.is_cuda


def empty_worlds(shape: tuple[int, ...], dtype: Any, device: Any = None, *, rows: bool = False) -> wp.array:
    """Zeros indexed [world, ...]: a row a world, or worlds interleaved where that is faster."""
    device = device_named(device)
    if rows or not interleaves(device) or len(shape) == 1:
        return wp.zeros(shape, dtype=dtype, device=device)
    array = wp.zeros((*shape[1:], shape[0]), dtype=dtype, device=device)
    return array.transpose((len(shape) - 1, *range(len(shape) - 1)))


def shared(values: Any, nworld: int, dtype: Any, device: Any = None) -> wp.array:
    """One row that all worlds read, through a world stride of 0; the result keeps it as `stored`."""
    one: wp.array = wp.array(np.ascontiguousarray(np.asarray(values)[None]), dtype=dtype, device=device)
    shape, strides = (nworld, *one.shape[1:]), (0, *one.strides[1:])
    view: Any = wp.array(ptr=one.ptr, dtype=dtype, shape=shape, strides=strides, device=one.device)
    view.stored = one
    return view


def per_world(values: np.ndarray, dtype: Any, device: Any = None, *, rows: bool = False) -> wp.array:
    """Values that differ from world to world, [world, ...]."""
    shape = values.shape[: values.ndim - len(row_of(dtype))]
    array = empty_worlds(shape, dtype, device, rows=rows)
    array.assign(np.ascontiguousarray(values))
    return array


def per_world_or_shared(values: np.ndarray, nworld: int, dtype: Any, device: Any = None) -> wp.array:
    """Values of every world, or one row of them for all, [world or 1, ...]."""
    if len(values) == nworld:
        return per_world(values, dtype, device)
    return shared(values[0], nworld, dtype, device)


def flat(values: Any, dtype: Any = int, device: Any = None) -> wp.array:
    """A list that worlds never differ in, with at least one element, so that kernels may always index it."""
    values = np.asarray(values)
    if len(values) == 0:
        values = np.zeros((1,) + values.shape[1:], values.dtype)
    return wp.array(np.ascontiguousarray(values), dtype=dtype, device=device)


def one_of(struct: Any, kind: Any, device: Any = None) -> wp.array:
    """A struct behind an array of one. CUDA hands a kernel 32 kB of arguments, of which this takes 56 bytes, whatever
    the struct has; the arrays that it points to live as long as this one does."""
    one: Any = wp.array([struct], dtype=kind, device=device)
    one.held = struct
    return one


def row_of(dtype: Any) -> tuple[int, ...]:
    """The shape of one element as numbers: () of a scalar, (3,) of a vec3."""
    return tuple(getattr(dtype, "_shape_", ()))
