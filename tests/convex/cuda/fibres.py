"""Kernels of Warp on the CPU as CUDA would run them: blocks one after the other, their threads as fibres (on_cpu.hpp).

What Warp writes for a kernel is compiled once more behind that header, so that all that only CUDA runs is run: groups,
teams, shared memory, meetings. `FibreEngine` takes whole steps so, kernel by kernel as an engine launches them, with
worlds interleaved as they are there.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import warp as wp
from warp._src import context

from kinema.convex.engine import Engine
from kinema.convex.idle import touched
from kinema.math.octet import OCTET_LANES

from . import emulate

FLAGS = ("-std=c++17", "-O1", "-w", "-fpermissive", "-ffp-contract=off", "-fno-strict-aliasing", "-shared", "-fPIC")
JOBS = 2

HEAD = """
#define KN_BESIDE_WARP
#include "{header}"
static int number_ = 0;
#define blockIdx (Index{{(unsigned)number_}})
#define blockDim (Index{{{block}}})
"""
TAIL = """
static void* dim_;
static void* args_;
static void work_(int lane) {{
    {forward}<false>(*(decltype(bounds_of_({forward}<false>))*)dim_, {block} * number_ + lane, ({args}*)args_);
}}
extern "C" void run(void* dim, void* args, int size, int backward) {{
    dim_ = dim, args_ = args;
    const int blocks = (size + {block} - 1) / {block};
    for (int k = 0; k < blocks; ++k) {{
        number_ = backward ? blocks - 1 - k : k;
        const int left = size - {block} * number_;
        run_block(left < {block} ? left : {block}, work_, backward != 0);
    }}
}}
"""
BOUNDS = """
template <class B, class I, class A> B bounds_of_(void (*)(B, I, A));
"""


def text_of(kernel: wp.Kernel, block: int) -> str:
    """What is compiled for a kernel in blocks of so many threads."""
    module = kernel.module
    module.get_module_hash(1)
    options = module.resolve_options(wp.config, 1) | {"output_arch": None}
    text = context.ModuleBuilder(module, options, target="cpu").codegen("cpu").replace("#define WP_NO_CRT", "")
    after = text.index("\n", text.rindex('#include "')) + 1
    name = kernel.get_mangled_name(kernel_hash=module.hashers[1].kernel_hashes[kernel])
    forward, args = f"{name}_cpu_kernel_forward", f"wp_args_{name}"
    head = HEAD.format(header=Path(emulate.__file__).with_name("on_cpu.hpp"), block=block)
    return text[:after] + head + BOUNDS + text[after:] + TAIL.format(forward=forward, args=args, block=block)


class Fibres:
    """Compiles kernels and runs them.

    Args:
        folder: Where to compile.
        backward: The last block first, and in it the last thread.
    """

    def __init__(self, folder: Path, *, backward: bool = False):
        self.folder, self.backward = folder, backward
        self._made: dict[tuple[wp.Kernel, int], Callable] = {}

    def compile(self, wanted: Sequence[tuple[wp.Kernel, int]]) -> None:
        """Compile kernels in blocks of so many threads, side by side."""
        missing = [one for one in dict.fromkeys(wanted) if one not in self._made]
        folders = [self.folder / str(len(self._made) + k) for k in range(len(missing))]
        texts = [text_of(*one) for one in missing]
        with ThreadPoolExecutor(JOBS) as pool:
            self._made |= zip(missing, pool.map(_compile, texts, folders), strict=True)

    def launch(self, kernel: wp.Kernel, dim: int | tuple[int, ...], inputs: Sequence[Any], block: int) -> None:
        """Run a kernel as `wp.launch` would on CUDA."""
        self.compile([(kernel, block)])
        extents = dim if isinstance(dim, tuple) else (dim,)
        bounds = context._build_launch_bounds_from_tuple(extents, kernel.adj.kernel_dim)
        cpu = wp.get_device("cpu")
        packed = [
            context.pack_arg(kernel, arg.type, arg.label, value, cpu, False)
            for arg, value in zip(kernel.adj.args, inputs, strict=True)
        ]
        args, _ = context._build_cpu_args_structs(kernel, None, [bounds, *packed], False)
        size = 1
        for extent in extents:
            size *= extent
        self._made[kernel, block](ctypes.byref(bounds), ctypes.byref(args), size, int(self.backward))


def _compile(text: str, folder: Path) -> Callable:
    folder.mkdir()
    path, library = folder / "kernel.cpp", folder / "kernel.so"
    path.write_text(text)
    native = Path(wp.__file__).with_name("native")
    subprocess.run([str(emulate.COMPILER), *FLAGS, f"-I{native}", "-o", str(library), str(path)], check=True)
    return ctypes.CDLL(str(library)).run


class FibreEngine(Engine):
    """Takes steps as on CUDA: the kernels an engine would launch there, as fibres."""

    def __init__(self, *args, fibres: Fibres, **kwargs):
        super().__init__(*args, device="cpu", cuda=True, **kwargs)
        self.fibres = fibres

    def _run(self, name: str, count: int, advancing: bool) -> None:
        self._wake(touched(self.recipes[name]))
        for k in range(count):
            self.collider.detector.lanes = OCTET_LANES
            launches = self._launches(self._due(name, advancing, k % self.substeps == 0, True))
            self.fibres.compile([(launch.kernel, launch.block) for launch in launches if launch.kernel])
            for launch in launches:
                if launch.kernel:
                    self.fibres.launch(launch.kernel, launch.dim, launch.inputs, launch.block)
                elif launch.host:
                    launch.host(self.m, self.d)
