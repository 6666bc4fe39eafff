"""The function of a part for eight worlds: widened from the text of the part, compiled once.

A part that has a name (known.py) was generated and compiled before, so its C++ lies in the cache beside its object. Its
widened text is compiled to an object beside that, and noted under the name of the part with a `w` behind it. A part of
which less than half the stages can be widened is not worth it; that is noted too.
"""

from __future__ import annotations

import hashlib
import warnings
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from kinema.building import cache_folder
from kinema.convex import known
from kinema.convex.bundle import bundles_of, fields_of
from kinema.convex.compiled import KEY, compile_text
from kinema.convex.data import Data
from kinema.convex.wide.source import Narrow
from kinema.convex.wide.widen import widen

SYMBOL = f"{KEY}_cpu_wide"
PAIRS = frozenset({"Pairs.count", "Pairs.geom", "Pairs.function", "Pairs.condim"})
"""Which geoms are pairs is the same in all worlds, unless a sweep finds them in each."""
SWEEP = "sweep_world_"
LEAST = 0.5
"""Share of the stages of a part that must go together for it to be worth compiling."""


@cache
def shared_members() -> frozenset[str]:
    """Members of Data that have a world index, and are the same in all worlds."""
    found = set()
    for name, bundle in bundles_of(Data).items():
        found |= {f"{name}.{member}" for member, what in fields_of(bundle).items() if what.kind == "shared"}
    return frozenset(found)


@cache
def header() -> str:
    """lanes.cpp."""
    return files("kinema.convex.wide").joinpath("lanes.cpp").read_text(encoding="utf-8")


def widened(source: str) -> tuple[str, dict[str, bool]] | None:
    """The text of a part for eight worlds, and of each stage whether it was widened; None where it is not worth it."""
    try:
        shared = shared_members() | (PAIRS if SWEEP not in source else frozenset())
        text, _, stages = widen(source, header(), shared)
    except Narrow:
        return None
    return (text, stages) if stages and sum(stages.values()) >= LEAST * len(stages) else None


def find(name: str | None) -> int | None:
    """The address of the function of a part for eight worlds; 0: it has none, None: nobody has looked."""
    said = known.entry(f"{name}w") if name else None
    if name is None or (said is not None and not said["object"]):
        return 0
    return known.find(f"{name}w")


def compile_wide(name: str, options: dict[str, Any]) -> Path | None:
    """The object file of a part for eight worlds, compiled where there is none; None where it is not worth it."""
    said = known.entry(name)
    source = (cache_folder() / said["object"]).with_suffix(".cpp") if said else None
    if source is None or not source.exists():
        return None
    found = widened(source.read_text(encoding="utf-8"))
    if found is None:
        return None
    digest = hashlib.sha256(found[0].encode()).hexdigest()[:16]
    target = source.with_name(f"{source.stem}_{digest}.o")
    try:
        if not target.exists():
            compile_text(found[0], target, options)
    except OSError:  # a cache that cannot be written
        return None
    except Exception as trouble:  # Warp has no narrower one
        warnings.warn(
            f"{target.with_suffix('.cpp')} did not compile ({trouble}): this part of a step runs one world at a time, "
            "which is slower and otherwise the same. Please report it with the model", stacklevel=2,
        )  # fmt: skip
        return None
    return target


def take(name: str, made: Path | None) -> int:
    """Load what was compiled, and note it; the address of its function, 0 where there is none."""
    if made is None:
        known.note(f"{name}w", None, "")
        return 0
    return known.take(made, SYMBOL, f"{name}w")
