"""CUDA hands a kernel 32,764 bytes at most, and Model and Data are most of that: every kernel must fit beside them."""

import importlib
import pkgutil

import warp as wp

from kinema.convex.arguments import MOST, size, taken
from kinema.convex.data import Data
from kinema.convex.model import Model

ROOMS = (
    "kinema.adapter", "kinema.collide", "kinema.convex", "kinema.functions", "kinema.gradients", "kinema.plugins",
    "kinema.sysid",
)  # fmt: skip
OURS, FOR_PLUGINS = 10, 20  # arrays that kernels of ours, and of users' plugins, may take beside Model and Data


def test_every_kernel_fits_into_what_cuda_takes():
    sizes = {}
    for room in ROOMS:
        package = importlib.import_module(room)
        for info in pkgutil.walk_packages(package.__path__, f"{room}."):
            for kernel in vars(importlib.import_module(info.name)).values():
                if isinstance(kernel, wp.Kernel):
                    sizes[kernel.key] = taken(kernel)
    both = size(Model) + size(Data)
    assert len(sizes) > 20 and max(sizes.values()) > both, "kernels that take Model and Data are among them"
    large = {name: count for name, count in sizes.items() if count > both + OURS * size(wp.array(dtype=int))}
    assert not large, f"{large}: put what few kernels need behind an array of structs, as Settings.sweep"


def test_plugins_have_room_beside_model_and_data():
    left = MOST - size(Model) - size(Data)
    assert left >= FOR_PLUGINS * size(wp.array(dtype=int)), "put a rare bundle behind an array of one, as Data.rk"
