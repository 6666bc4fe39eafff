"""Kernels of Warp on the CPU as CUDA would run them: blocks one after the other, their threads as fibres (on_cpu.hpp).

What Warp writes for a kernel is compiled once more behind that header, so that all that only CUDA runs is run: groups,
teams, shared memory, meetings. `FibreEngine` takes whole steps so, kernel by kernel as an engine launches them, with
worlds interleaved as they are there. What was compiled is kept by a hash of its text, so that models share it.

nvcc makes one instruction of a product and a sum (fused multiply-add) wherever it can; g++ does the same if it is told
to: `Fibres(folder, fused=True)`. Which sums are fused differs, so bits do, but who depends on that is seen.
"""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import os
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import warp as wp
from warp._src import context

from kinema import arrays
from kinema.convex.engine import Engine
from kinema.convex.idle import touched
from kinema.math.octet import OCTET_LANES

from . import emulate

FLAGS = (
    "-std=c++17", "-w", "-fpermissive", "-fno-strict-aliasing", "-fvisibility=hidden", "-U_FORTIFY_SOURCE", "-fPIC",
)  # fmt: skip
APART, FUSED = ("-ffp-contract=off",), ("-ffp-contract=fast", "-mfma")
JOBS = 2
STACKS = mmap.mmap(-1, 1024 * 256 * 1024)  # of the threads of a block, one block at a time; only what is used is there

FRONT = """
#define KN_BESIDE_WARP
#include "{header}"
template <class B, class I, class A> B bounds_of_(void (*)(B, I, A));
"""
HEAD = """#include "{front}"
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
extern "C" __attribute__((visibility("default")))
void run(void* dim, void* args, int size, int backward, char* stacks) {{
    dim_ = dim, args_ = args;
#if KN_COUNT
    clocks_[0] = clocks_[1] = 0;
#endif
    const int blocks = (size + {block} - 1) / {block};
    for (int k = 0; k < blocks; ++k) {{
        number_ = backward ? blocks - 1 - k : k;
        const int left = size - {block} * number_;
        run_block(left < {block} ? left : {block}, work_, backward != 0, stacks);
    }}
}}
"""
HEADER = Path(emulate.__file__).with_name("on_cpu.hpp")
NATIVE = Path(wp.__file__).with_name("native")


def text_of(kernel: wp.Kernel, block: int) -> tuple[str, str]:
    """What is compiled for a kernel in blocks of so many threads: what all kernels begin with, and its own."""
    module = kernel.module
    module.get_module_hash(1)
    options = module.resolve_options(wp.config, 1) | {"output_arch": None}
    text = context.ModuleBuilder(module, options, target="cpu").codegen("cpu").replace("#define WP_NO_CRT", "")
    after = text.index("\n", text.rindex('#include "')) + 1
    name = kernel.get_mangled_name(kernel_hash=module.hashers[1].kernel_hashes[kernel])
    forward, args = f"{name}_cpu_kernel_forward", f"wp_args_{name}"
    front = text[:after] + FRONT.format(header=HEADER)
    return front, text[after:] + TAIL.format(forward=forward, args=args, block=block)


class Fibres:
    """Compiles kernels and runs them.

    Args:
        folder: Where to compile, and what is compiled is kept.
        backward: The last block first, and in it the last thread.
        fused: Let products and sums be one instruction.
        level: How hard the compiler tries: 0 compiles in half the time of 1, and runs at half the speed.
    """

    def __init__(self, folder: Path, *, backward: bool = False, fused: bool = False, level: int = 1):
        self.folder, self.backward = folder, backward
        self.flags = (*FLAGS, f"-O{level}", *(FUSED if fused else APART))
        self._made: dict[tuple[wp.Kernel, int], ctypes.CDLL] = {}

    def compile(self, wanted: Sequence[tuple[wp.Kernel, int]]) -> None:
        """Compile kernels in blocks of so many threads, side by side."""
        missing = [one for one in dict.fromkeys(wanted) if one not in self._made]
        if not missing:
            return
        texts = []
        for kernel, block in missing:
            front, own = text_of(kernel, block)
            texts.append(HEAD.format(front=self._front(front), block=block) + own)
        with ThreadPoolExecutor(JOBS) as pool:
            self._made |= zip(missing, pool.map(self._load, texts), strict=True)

    def _front(self, text: str) -> str:
        """The file that kernels begin with, parsed ahead of them."""
        path = self.folder / f"{self._digest(text + HEADER.read_text())}.hpp"
        if not path.with_name(path.name + ".gch").exists():
            path.write_text(text)
            self._build("-x", "c++-header", source=path, target=path.with_name(path.name + ".gch"))
        return path.name

    def _load(self, text: str) -> ctypes.CDLL:
        """A kernel, compiled now or before."""
        path = self.folder / f"{self._digest(text)}.cpp"
        if not path.with_suffix(".so").exists():
            path.write_text(text)
            self._build("-shared", source=path, target=path.with_suffix(".so"))
        return ctypes.CDLL(str(path.with_suffix(".so")))

    def _build(self, *more: str, source: Path, target: Path) -> None:
        part = target.with_name(f"{os.getpid()}.{target.name}")
        command = [str(emulate.COMPILER), *self.flags, f"-I{NATIVE}", *more, "-o", str(part), str(source)]
        subprocess.run(command, check=True)
        part.replace(target)

    def _digest(self, text: str) -> str:
        return hashlib.sha1(f"{wp.__version__}{self.flags}{text}".encode()).hexdigest()

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
        stacks = ctypes.byref(ctypes.c_char.from_buffer(STACKS))
        self._made[kernel, block].run(ctypes.byref(bounds), ctypes.byref(args), size, int(self.backward), stacks)


@contextmanager
def interleaved() -> Iterator[None]:
    """Let arrays that are made meanwhile lie as on CUDA."""
    kept = arrays.interleaves
    arrays.interleaves = lambda device: True
    try:
        yield
    finally:
        arrays.interleaves = kept


class FibreEngine(Engine):
    """Takes steps as on CUDA: the kernels an engine would launch there, as fibres."""

    def __init__(self, *args, fibres: Fibres, **kwargs):
        self.fibres = fibres
        with interleaved():
            super().__init__(*args, device="cpu", cuda=True, **kwargs)

    @interleaved()
    def rebuild(self, *, detection: bool = True) -> None:
        super().rebuild(detection=detection)

    @interleaved()
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
