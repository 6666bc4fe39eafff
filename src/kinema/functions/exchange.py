"""Numbers in and out: NumPy arrays, torch tensors and Warp's own arrays, to a device and back.

What comes in is broadcast to the shape a function works on, (worlds, n, ...). A tensor or an array that lies on the
engine's device already, as it is to be, is not copied. What goes out is new memory: NumPy's, or torch's on the same
device. On a GPU, Warp's stream waits for torch's before it reads, and torch's for Warp's after it has written.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from kinema.arrays import row_of
from kinema.devices import device_named
from kinema.errors import BuildError, need


def to_device(device: wp.Device, name: str, value: Any, shape: tuple[int, ...], dtype: Any = wp.float32) -> wp.array:
    """A value as a contiguous array of `dtype` on the device; `shape` is that of its numbers."""
    if isinstance(value, wp.array):
        value = wp.to_torch(value) if device_named(value.device).is_cuda else value.numpy()
    if type(value).__module__.partition(".")[0] == "torch":
        return _from_torch(device, name, value, shape, dtype)
    given = np.asarray(value)
    if given.dtype.kind not in "biuf":
        raise BuildError(f"{name}: expected numbers, got an array of {given.dtype}")
    fitted = np.ascontiguousarray(np.broadcast_to(_fit(name, given, shape), shape), dtype=np.float32)
    return wp.array(fitted, dtype=dtype, device=device)


def _from_torch(device: wp.Device, name: str, value: Any, shape: tuple[int, ...], dtype: Any) -> wp.array:
    torch = need("torch", "torch", "Tensors")
    fitted = _fit(name, value.detach(), shape).to(wp.device_to_torch(device), torch.float32)
    fitted = fitted.broadcast_to(shape).contiguous()
    if device.is_cuda:
        wp.get_stream(device).wait_stream(wp.stream_from_torch(torch.cuda.current_stream(fitted.device)))
    array: Any = wp.from_torch(fitted, dtype=dtype, requires_grad=False)
    return array


def _fit(name: str, value: Any, shape: tuple[int, ...]) -> Any:
    """The value itself, or an error where it cannot be broadcast."""
    try:
        np.broadcast_shapes(tuple(value.shape), shape)
    except ValueError:
        fits = False
    else:
        fits = np.broadcast_shapes(tuple(value.shape), shape) == shape
    if not fits:
        raise BuildError(f"{name}: an array of shape {tuple(value.shape)} does not fit {shape}")
    return value


def hand_out(array: wp.array, *, torch: bool = False, single: bool = False, axis: int = 1) -> Any:
    """An array as NumPy's, or as torch's where it lies; with `single` without the axis that counts what was asked for.

    Vectors and matrices become axes.
    """
    if torch:
        package = need("torch", "torch", "Results as tensors")
        found: Any = wp.to_torch(array, requires_grad=False)
        found = found.reshape(*array.shape, *row_of(array.dtype))
        if array.device is not None and array.device.is_cuda:
            stream = wp.stream_from_torch(package.cuda.current_stream(found.device))
            stream.wait_stream(wp.get_stream(array.device))
    else:
        found = array.numpy().reshape(*array.shape, *row_of(array.dtype))
    return found[(slice(None),) * axis + (0,)] if single else found
