"""Which object file a part of a recipe was compiled to, so that a known model starts without generating anything.

To find the object file of a part by its text, the text of everything it calls is generated: a second or two for a
recipe. Here a part is named by what decides its text, which is at hand without generating anything:

    the version of Warp and its options, the files of this package as they are on disk,
    and of each stage its functions: where they come from, what they close over, what they call, and of native ones
    their text.

Functions from elsewhere, such as plugins, are named by their source and the numbers it mentions. What cannot be named
so has its text generated every time. Under that name a small file in Warp's cache tells the object and its function.
"""

from __future__ import annotations

import enum
import hashlib
import json
import os
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import warp as wp
from warp._src import context

from kinema.building import cache_folder
from kinema.convex.stage import Stage
from kinema.errors import BuildError

PACKAGE = Path(__file__).parents[1]
NUMBERS = (int, float, str, bool, bytes, type(None), np.number)


class Unnamed(Exception):
    """Something that a part depends on has no name."""


@cache
def package_digest() -> str:
    """The files of this package: names, sizes and times of writing."""
    found = []
    for folder, _, files in os.walk(PACKAGE):
        for name in files:
            if name.endswith((".py", ".cpp", ".h", ".csv")):
                path = os.path.join(folder, name)
                stat = os.stat(path)
                found.append(f"{path}:{stat.st_size}:{stat.st_mtime_ns}")
    return hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()


def name_of(stages: tuple[Stage, ...], options: Any) -> str | None:
    """The name of a part; None where something in it cannot be named."""
    try:
        said = [_describe(stage, {}) for stage in stages]
    except Unnamed:
        return None
    machine = context._get_cpu_target_hash(options["cpu_compiler_flags"])
    ground = [wp.__version__, machine, package_digest(), os.environ.get("KINEMA_BY_VALUE", ""),
              os.environ.get("KINEMA_CHECK_INDICES", ""), sorted(options.items())]  # fmt: skip
    return hashlib.sha256(repr([ground, said]).encode()).hexdigest()[:32]


def _describe(thing: Any, seen: dict[int, str]) -> Any:
    """What decides the text that something becomes."""
    if isinstance(thing, enum.Enum) or type(thing) in NUMBERS or isinstance(thing, np.number):
        return repr(thing)
    if isinstance(thing, Stage):
        return [_describe(thing.func, seen), thing.over, thing.sweep, thing.lanes, thing.advances, thing.once,
                thing.awake]  # fmt: skip
    if isinstance(thing, context.Function):
        return _function(thing, seen)
    if isinstance(thing, FunctionType) and _is_ours(thing):  # it decides something while kernels are generated
        return [thing.__module__, thing.__qualname__, *_closed_over(thing, seen)]
    if isinstance(thing, tuple | list | frozenset):
        return [type(thing).__name__, *(_describe(item, seen) for item in _ordered(thing))]
    if isinstance(thing, dict):
        return [[repr(key), _describe(value, seen)] for key, value in thing.items()]
    if isinstance(thing, type):
        return f"{thing.__module__}.{thing.__qualname__}"
    if isinstance(thing, wp._src.codegen.Struct):
        return thing.native_name  # which holds a hash of its fields
    raise Unnamed(repr(thing))


def _ordered(things: Any) -> list[Any]:
    return sorted(things, key=repr) if isinstance(things, frozenset) else list(things)


def _function(function: Any, seen: dict[int, str]) -> Any:
    """Where a function comes from, what it closes over, what it calls."""
    if function.is_builtin():
        return function.key
    if id(function) in seen:
        return seen[id(function)]
    seen[id(function)] = f"{function.key} #{len(seen)}"
    python = function.func
    inside = _is_ours(python)
    said: list[Any] = [seen[id(function)], python.__module__, python.__qualname__]
    if function.native_snippet:  # a factory may have made several of one name, by what it wrote into their text
        said.append(function.native_snippet)
    if not inside:
        said.append(function.adj.source)
    said += _closed_over(python, seen)
    for name in _names(python.__code__):
        value = python.__globals__.get(name)
        if isinstance(value, context.Function):
            said.append([name, _function(value, seen)])
        elif not inside and value is not None:
            said.append([name, _global(value, seen)])
    return said


def _closed_over(python: Any, seen: dict[int, str]) -> list[Any]:
    """What a function takes from the functions around it."""
    cells = zip(python.__code__.co_freevars, python.__closure__ or (), strict=True)
    return [[name, _describe(cell.cell_contents, seen)] for name, cell in cells]


def _global(value: Any, seen: dict[int, str]) -> Any:
    """A name of a module elsewhere: a number it mentions, a struct, or Warp itself."""
    if getattr(value, "__name__", "").partition(".")[0] in ("warp", "kinema"):
        return value.__name__
    return _describe(value, seen)


def _is_ours(python: Any) -> bool:
    """Whether the text of a function is that of a file of this package."""
    return python.__module__.partition(".")[0] == "kinema" and os.path.isabs(python.__code__.co_filename)


def _names(code: Any) -> list[str]:
    """Names that a function, and what is inside it, takes from its module."""
    found = list(code.co_names)
    for constant in code.co_consts:
        if hasattr(constant, "co_names"):
            found += _names(constant)
    return sorted(set(found))


def _file(name: str) -> Path:
    return cache_folder() / "kinema" / f"{name}.json"


def entry(name: str) -> dict[str, str] | None:
    """What is noted of a part: its object, relative to the cache, and the name of its function."""
    try:
        found = json.loads(_file(name).read_text())
        return {"object": str(found["object"]), "symbol": str(found["symbol"])}
    except (OSError, ValueError, KeyError):
        return None


def find(name: str) -> int | None:
    """Load the object of a part and give the address of its function; None where it is not known, or gone."""
    if name in _named:
        return _named[name]
    said = entry(name)
    if said is None or not said["object"]:
        return None
    address = _load(cache_folder() / said["object"], said["symbol"])
    if address:
        _named[name] = address
    return address


def take(path: Path, symbol: str, name: str | None) -> int:
    """Load the object that a part was compiled to, and note it under the part's name; the address of its function."""
    address = _load(path, symbol)
    if address is None:
        raise BuildError(f"cannot load {path}, which was just compiled; remove the folder and try again")
    if name:
        _named[name] = address
        note(name, path, symbol)
    return address


_named: dict[str, int] = {}
_loaded: dict[Path, int] = {}


def _load(path: Path, symbol: str) -> int | None:
    """The address of a function of an object file, loaded once a program."""
    if path in _loaded:
        return _loaded[path]
    if not path.exists():
        return None
    handle = f"kinema_{path.stem}".encode()
    runtime: Any = context.runtime
    if runtime.llvm.wp_load_obj(str(path).encode(), handle, wp.config.legacy_cpu_linker) != 0:
        return None
    address = runtime.llvm.wp_lookup(handle, symbol.encode())
    if address:
        _loaded[path] = address
    return address or None


def note(name: str, path: Path | None, symbol: str) -> None:
    """Note under the name of a part the object that it was compiled to, or that there is none."""
    said = {"object": os.path.relpath(path, cache_folder()) if path else "", "symbol": symbol}
    target = _file(name)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(said))
        draft.replace(target)
    except OSError:  # a cache that cannot be written: the next process generates the text again
        return
