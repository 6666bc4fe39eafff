"""Warp's C++ headers, compiled once a machine and kept, for kernels on the CPU.

Every kernel begins with Warp's headers, 2.3 s of compiling. Warp keeps them compiled for the life of a thread: a
program that compiles on two threads pays twice, and the next program again. Here they lie in Warp's cache, in a folder
named by what decides whether they still fit: the headers as they are on disk, the compiler's flags and its level of
optimisation, the processor.

    headers.keep()          from now on Warp looks for them there, and makes them if need be: one thread, others wait
    headers.begin()         make them now, beside what else there is to do, where they are missing
"""

from __future__ import annotations

import hashlib
import os
import threading
from functools import cache
from pathlib import Path

import warp as wp
from warp._src import build, context

from kinema.building import cache_folder

_lock = threading.Lock()
EMPTY = '#define WP_TILE_BLOCK_DIM 1\n#define WP_NO_CRT\n#include "builtin.h"\n'


def keep() -> None:
    """Let Warp find the compiled headers in its cache, and leave them there."""
    runtime = context.runtime
    if runtime is not None and runtime.llvm is not None and "get_clang_pch_dir" not in vars(runtime):
        runtime.get_clang_pch_dir = _folder_with_headers  # type: ignore[method-assign]


def begin() -> None:
    """Make them in a thread of their own, where they are missing."""
    keep()
    if not are_there():
        threading.Thread(target=_folder_with_headers, name="kinema headers").start()


def _flags() -> str:
    """Flags of the compiler, where a module asks for no others."""
    return context._resolve_cpu_compiler_flags(None, wp.config.cpu_compiler_flags)


def _level() -> int:
    """Level of optimisation, where a module asks for no other."""
    return 2 if wp.config.optimization_level is None else wp.config.optimization_level


@cache
def _digest(flags: str, level: int) -> str:
    """What compiled headers must fit: headers by their names, sizes and times, the processor, flags and level."""
    native = os.path.join(build.warp_home, "native")
    found = [wp.__version__, flags, str(level), context._get_cpu_target_hash(flags), native]
    for entry in sorted(os.scandir(native), key=lambda entry: entry.name):
        if entry.name.endswith(".h"):
            stat = entry.stat()
            found.append(f"{entry.name}:{stat.st_size}:{stat.st_mtime_ns}")
    return hashlib.sha256("\n".join(found).encode()).hexdigest()[:16]


def folder() -> Path:
    """Where they lie."""
    return cache_folder() / "kinema" / f"headers_{_digest(_flags(), _level())}"


def are_there() -> bool:
    """Whether nobody needs to wait for them."""
    return not wp.config.use_precompiled_headers or _lie_in(folder())


def _lie_in(place: Path) -> bool:
    return any(place.glob("*.pch"))


def _folder_with_headers() -> str | None:
    """The folder, with headers in it; a folder of this thread's, as Warp has it, where the cache cannot be written."""
    runtime = context.runtime
    assert runtime is not None
    place = folder()
    try:
        with _lock:
            if not _lie_in(place):
                place.mkdir(parents=True, exist_ok=True)
                _make(place)
    except OSError:
        return type(runtime).get_clang_pch_dir(runtime)
    return str(place)


def _make(place: Path) -> None:
    """Compile a file of nothing but headers: Clang leaves them in the folder, under a name that tells the options."""
    draft = place / f"empty_{os.getpid()}"
    source, target = draft.with_suffix(".cpp"), draft.with_suffix(".o")
    source.write_text(EMPTY)
    try:
        build.build_cpu(
            str(target), str(source), extra_flags=_flags(), optimization_level=_level(), use_precompiled_headers=True,
            pch_dir=str(place), block_dim=1,
        )  # fmt: skip
    finally:
        for file in (source, target):
            file.unlink(missing_ok=True)
