"""Compile kernels for CUDA (sm_90) on a machine without a GPU: NVRTC is in Warp's wheel.

What was compiled once is kept beside Warp's own cache, under the hash that Warp gives a module; what references.py does
to the text is no part of that hash, so it names the folder.
"""

import hashlib
import pathlib
import re

import warp as wp

from kinema.convex import references

ARCH = 90


def folder() -> pathlib.Path:
    wp.init()
    edits = hashlib.sha256(pathlib.Path(references.__file__).read_bytes()).hexdigest()[:12]
    made = pathlib.Path(wp.config.kernel_cache_dir) / f"hopper_{edits}"
    made.mkdir(parents=True, exist_ok=True)
    return made


def compile_kernel(kernel: wp.Kernel) -> str:
    """The PTX of a kernel's module."""
    name = f"{kernel.module.get_module_identifier()}.sm{ARCH}.ptx"
    path = folder() / name
    if not path.exists():
        made = wp.compile_aot_module(kernel.module, arch=ARCH, module_dir=folder(), use_ptx=True)
        assert made == [path] or path.exists(), f"Warp wrote {made}, not {name}"
    return path.read_text()


def stack(ptx: str) -> int:
    """Bytes of local memory of the largest frame: copies of Model and Data would be tens of thousands."""
    return max((int(size) for size in re.findall(r"__local_depot\d+\[(\d+)\]", ptx)), default=0)
