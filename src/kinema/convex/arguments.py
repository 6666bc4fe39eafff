"""What a kernel takes as arguments, in bytes: CUDA hands it 32,764 at most, and Model and Data are most of that.

An array is a description of 56 bytes, whatever it holds; a struct is the sum of its parts, and one behind an array of
one (`arrays.one_of`) is 56 again.
"""

import ctypes
from typing import Any

import warp as wp
from warp._src.codegen import Struct
from warp._src.types import array_t

MOST = 32_764 - 64
"""Warp puts the bounds of a launch before the arguments."""


def taken(kernel: wp.Kernel) -> int:
    """Bytes of a kernel's arguments."""
    return sum(size(argument.type) for argument in kernel.adj.args)


def size(kind: Any) -> int:
    """Bytes of an argument of this type."""
    if isinstance(kind, Struct):
        return ctypes.sizeof(kind.ctype)
    if isinstance(kind, wp.array) or not isinstance(kind, type):  # arrays of any kind are described alike
        return ctypes.sizeof(array_t)
    return 4 if kind in (int, float, bool) else wp.types.type_size_in_bytes(kind)
