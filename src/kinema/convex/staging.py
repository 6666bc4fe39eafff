"""Numbers between the host and a CUDA array, through page-locked memory of the host: one copy a way.

An array whose worlds are interleaved is, seen from its first to its last byte, a plain block with the world as its last
axis. So the block is copied as it lies, and the host turns the axes. Page-locked memory is copied without the driver's
detour, and a copy to the device need not be waited for: the next write waits, if it must, until it has been taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

MOST_BYTES = 1 << 25
"""Arrays beyond this go the ordinary way: page-locked memory is scarce, and a large copy is long anyway."""


class Staging:
    """The host's side of one array.

    Args:
        array: An array on a CUDA device: contiguous, or interleaved as `kinema.arrays` lays it out.
    """

    def __init__(self, array: wp.array):
        self.turned = not array.is_contiguous
        axes = (*range(1, array.ndim), 0)
        self.block: Any = array.transpose(axes) if self.turned else array
        self.host: wp.array = wp.empty(self.block.shape, dtype=array.dtype, device="cpu", pinned=True)
        memory = self.host.numpy()
        self.memory = np.moveaxis(memory, array.ndim - 1, 0) if self.turned else memory
        self._taken: wp.Event | None = None

    @staticmethod
    def fits(array: wp.array) -> bool:
        """Whether an array lies so that its memory is one block."""
        if array.size == 0 or hasattr(array, "stored") or array.device is None or not array.device.is_cuda:
            return False
        if array.size * wp.types.type_size_in_bytes(array.dtype) > MOST_BYTES:
            return False
        return bool(array.is_contiguous or array.transpose((*range(1, array.ndim), 0)).is_contiguous)

    def read(self) -> np.ndarray:
        """A copy of the array's numbers, [world, ...]."""
        wp.copy(self.host, self.block)
        wp.synchronize_stream(self.block.device.stream)
        return np.array(self.memory)

    def write(self, value: Any) -> None:
        """Give the array other numbers, broadcast over worlds."""
        if self._taken is not None:
            wp.synchronize_event(self._taken)
        self.memory[...] = value
        wp.copy(self.block, self.host)
        self._taken = self.block.device.stream.record_event(self._taken)
