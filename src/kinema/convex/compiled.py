"""The machine code of a part: its C++, generated in one pass, and compiled unless an equal one was before.

Warp generates a kernel that has a module of its own twice, once to name it and once to compile it, and walks through
all fields of Model and Data at every variable of theirs. That is half of the wait for a model whose parts are compiled,
so here

    the text is generated once, and named afterwards by Warp's own hash of all that went into it,
    structs are walked once a part (`walk_once`),
    the object file lies under that name in Warp's cache.

Which text a part has is noted too (known.py), so that the next program need not generate it.
"""

from __future__ import annotations

import hashlib
import os
import threading
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import warp as wp
from warp._src import build, context
from warp._src.codegen import Struct, _codegen_lock

from kinema.building import cache_folder
from kinema.convex import references
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.stage import Stage, due, over_world

KEY = "part"
SYMBOL = f"{KEY}_cpu_forward"
"""Every part is the function of that name in its object file."""


def part_kernel(stages: tuple[Stage, ...]) -> wp.Kernel:
    """One thread runs the stages of one world; with `advancing` 0 only those of forward dynamics."""
    module = context.Module(KEY, None)
    module.defer_reference_scan = True  # it is compiled once, and never anew
    module.options |= {"max_unroll": 128, "strip_hash": True}

    @wp.kernel(enable_backward=False, module=module, name=KEY)
    def part(m: Model, d: Data, w: int, advancing: int):
        for s in range(wp.static(len(stages))):
            if due(
                d.state.status[w], d.scratch.substep[w], advancing,
                wp.static(stages[s].advances), wp.static(stages[s].once),
            ):  # fmt: skip
                if wp.static(stages[s].lanes):
                    wp.static(over_world(stages[s]))(m, d, w, 0)
                else:
                    wp.static(over_world(stages[s]))(m, d, w)

    return part


class Written(NamedTuple):
    """The text of a part.

    Attributes:
        target: Its object file.
        text: None where that is there already.
        options: How it is compiled.
    """

    target: Path
    text: str | None
    options: dict[str, Any]


def write_part(stages: tuple[Stage, ...]) -> Written:
    """Generate the text of a part, where it has not been compiled before."""
    kernel = part_kernel(stages)
    module = kernel.module
    options = module.resolve_options(wp.config, 1) | {"output_arch": None}
    with _codegen_lock:  # functions hold what was last generated of them
        builder = context.ModuleBuilder(module, options, target="cpu")
        name = _name(context.ModuleHasher([kernel], options).get_hash(), options)
        target = cache_folder() / "kinema" / "parts" / f"{name}.o"
        return Written(target, None if target.exists() else builder.codegen("cpu"), options)


def compile_part(stages: tuple[Stage, ...], written: Written | None = None) -> Path:
    """The object file of a part, compiled where there was none of its text; `written`: where that is at hand."""
    target, text, options = written or write_part(stages)
    if text is not None:
        compile_text(text, target, options)
    return target


def _name(content: bytes, options: dict[str, Any]) -> str:
    """By all that goes into a text, and the processor it is compiled for."""
    ground = [wp.__version__, context._get_cpu_target_hash(options["cpu_compiler_flags"]), _edits()]
    return hashlib.sha256(content + repr(ground).encode()).hexdigest()[:32]


@cache
def _edits() -> str:
    """What decides how Warp's text is edited."""
    return Path(references.__file__).read_text(encoding="utf-8") + os.environ.get(references.BY_VALUE, "")


def compile_text(text: str, target: Path, options: dict[str, Any]) -> None:
    """Compile a text; the object file appears as a whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_suffix(f".{os.getpid()}.{threading.get_ident()}.o")
    source = target.with_suffix(".cpp")
    source.write_text(text, encoding="utf-8")
    level, headers = options["optimization_level"], options["use_precompiled_headers"]
    runtime: Any = context.runtime
    try:
        build.build_cpu(
            str(draft), str(source), mode=options["mode"], fast_math=options["fast_math"],
            verify_fp=options["verify_fp"], fuse_fp=options["fuse_fp"], extra_flags=options["cpu_compiler_flags"],
            optimization_level=2 if level is None else level, use_precompiled_headers=headers,
            pch_dir=runtime.get_clang_pch_dir() if headers else None, block_dim=options["block_dim"],
            enable_tiles_in_stack_memory=options["enable_tiles_in_stack_memory"],
            extra_include_dirs=options["extra_cpu_include_dirs"],
        )  # fmt: skip
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def walk_once() -> None:
    """Let Warp's generator go through a struct once a module, whatever the number of variables that are of it."""
    builder: Any = context.ModuleBuilder
    add, look = builder.build_struct_recursive, builder._collect_native_types

    def build_struct_recursive(self, struct: Struct) -> None:
        walked = vars(self).setdefault("_structs_added", set())
        if struct not in walked:
            walked.add(struct)
            add(self, struct)

    def collect_native_types(self, var_type: Any) -> None:
        if isinstance(var_type, Struct):
            walked = vars(self).setdefault("_structs_looked_into", set())
            if var_type in walked:
                return
            walked.add(var_type)
        look(self, var_type)

    builder.build_struct_recursive, builder._collect_native_types = build_struct_recursive, collect_native_types


walk_once()
