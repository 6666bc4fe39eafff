"""Where the numbers of a field are, and how the host gets at them.

On the CPU an array is the host's memory: it is read and written in place, through one view that is made once. On a GPU
numbers go through page-locked memory (staging.py). A parameter that worlds share is one row, shown to all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from kinema.convex.staging import Staging


class Place:
    """One array of a class of worlds, as the host sees it.

    Args:
        array: The array on the device.
        shape: Its shape on the host, as MuJoCo has it, worlds first.
        by_world: Whether worlds have rows in it; a list of the model's has one for all.
    """

    __slots__ = ("_device", "_staging", "_stored", "_view", "array", "shape")

    def __init__(self, array: wp.array, shape: tuple[int, ...], *, by_world: bool = True):
        self.array, self.shape = array, shape
        self._stored = getattr(array, "stored", None) if by_world else array  # one row, which all worlds share
        self._view: np.ndarray | None = None
        self._staging: Staging | None = None
        self._device: Any = array.device
        if array.device is not None and array.device.is_cpu:
            if self._stored is not None:
                self._view = np.broadcast_to(self._stored.numpy().reshape(shape[1:]), shape)
            elif array.is_contiguous:
                self._view = array.numpy().reshape(shape)

    def read(self) -> np.ndarray:
        """The numbers, (nworld, ...); on the CPU the memory itself."""
        if self._view is not None:
            return self._view
        if self._stored is not None:
            return np.broadcast_to(self._stored.numpy().reshape(self.shape[1:]), self.shape)
        staging = self._staged()
        return (self.array.numpy() if staging is None else staging.read()).reshape(self.shape)

    def write(self, value: Any, worlds: Any = None) -> None:
        """Write all worlds, or those given (mask or indices); the value is broadcast."""
        view = self._view
        if view is not None and view.flags.writeable:
            view[slice(None) if worlds is None else worlds] = value
            return
        whole = host_shape(self.array)
        if worlds is None:
            new = np.broadcast_to(np.asarray(value, scalar_type(self.array)), self.shape)
        else:
            new = np.array(self.read())
            new[worlds] = value
        staging = self._staged()
        if staging is None:
            self.array.assign(np.ascontiguousarray(new).reshape(whole))
        else:
            staging.write(new.reshape(whole))

    def _staged(self) -> Staging | None:
        """Page-locked memory for it; None while somebody records a graph, which must not be given such copies."""
        if self._device.is_capturing or not Staging.fits(self.array):
            return None
        if self._staging is None:
            self._staging = Staging(self.array)
        return self._staging


def host_shape(array: wp.array) -> tuple[int, ...]:
    """Shape of an array's copy on the host: vectors and matrices become axes."""
    return (*array.shape, *getattr(array.dtype, "_shape_", ()))


def scalar_type(array: wp.array) -> Any:
    """NumPy's type of the numbers of an array."""
    return wp.dtype_to_numpy(getattr(array.dtype, "_wp_scalar_type_", array.dtype))
