"""CUDA hands a kernel 32,764 bytes at most, and Model and Data are most of that: every kernel must fit beside them."""

import ctypes
import importlib
import pkgutil

import warp as wp
from warp._src.codegen import Struct
from warp._src.types import array_t

MOST = 32_764 - 64  # Warp puts the bounds of a launch before its arguments
ROOMS = (
    "kinema.adapter", "kinema.collide", "kinema.convex", "kinema.functions", "kinema.gradients", "kinema.plugins",
    "kinema.sysid",
)  # fmt: skip


def size(kind) -> int:
    """Bytes of an argument."""
    if isinstance(kind, Struct):
        return ctypes.sizeof(kind.ctype)
    if isinstance(kind, wp.array) or not isinstance(kind, type):  # arrays of any kind are described alike
        return ctypes.sizeof(array_t)
    return 4 if kind in (int, float, bool) else wp.types.type_size_in_bytes(kind)


def test_every_kernel_fits_into_what_cuda_takes():
    sizes = {}
    for room in ROOMS:
        package = importlib.import_module(room)
        for info in pkgutil.walk_packages(package.__path__, f"{room}."):
            for kernel in vars(importlib.import_module(info.name)).values():
                if isinstance(kernel, wp.Kernel):
                    sizes[kernel.key] = sum(size(argument.type) for argument in kernel.adj.args)
    assert len(sizes) > 20 and max(sizes.values()) > 30_000, "kernels that take Model and Data are among them"
    large = {name: count for name, count in sizes.items() if count > MOST}
    assert not large, f"{large}: put what few kernels need behind an array of structs, as Settings.sweep"
