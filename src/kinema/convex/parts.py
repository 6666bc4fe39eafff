"""A recipe on the CPU in parts, each a module of its own: compiled side by side, and shared by models that have it.

One kernel of all stages would be compiled anew, as a whole, for every model that differs in one sensor. So the stages
of a recipe are cut where the subject changes, and what most models have in common is compiled once:

    poses | detection | inertia | actuators | motion | actuators | rows | solver | integrator | sensors | movement

Every part is a kernel run(m, d, w, advancing) over one world. The parts of a few neighbouring worlds follow each other,
step after step, while their data and a part's code are in cache, and without a way back to Python: a small kernel, the
driver, calls them by their addresses

    for eight worlds: for step: for part: for w of the eight: part(m, d, w, advancing)

which costs a few nanoseconds a part. Where a stage stands makes no difference to its arithmetic: bits are the same.

Where there are WIDE_FROM worlds or more, a part has a second function that takes the eight at once, one a vector lane
(wide/): its text is that of the first, its bits are the same, and it is called where eight worlds are left. Parts
without one that follow each other are then as one: what the rows of a world are is still at hand when its solver reads
them.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import warp as wp

from kinema import building, headers
from kinema.collector import paused
from kinema.convex import known
from kinema.convex.call import Call
from kinema.convex.compiled import SYMBOL, compile_part, write_part
from kinema.convex.stage import Stage
from kinema.convex.wide import build as wide
from kinema.convex.wide.widen import WIDTH
from kinema.math.touches import touches

SUBJECTS = {
    "check": "poses", "kinematics": "poses",
    "com": "inertia", "camera": "inertia",
    "actuation": "actuators", "transmission": "actuators", "tendon": "actuators", "wrap": "actuators",
    "velocity": "motion", "ahead": "motion", "bias": "motion", "mass": "motion", "factor": "motion",
    "passive": "motion", "smooth": "motion", "fluid": "motion", "adhesion": "motion",
    "constraint": "rows", "solve": "solver", "integrate": "integrator",
    "sensors": "sensors", "loads": "sensors", "energy": "sensors",
}  # fmt: skip
"""What a stage is about, by the file or folder of `convex` it stands in; others are a subject of their own."""

Work = tuple[str, Callable[[], Any]]  # something to be compiled: what it is called, and the function that does it
LEAST = 2
"""Stages of a part at least: a single one joins those before it, unless it is long to compile (`alone`)."""


WIDE_FROM = 32
"""Worlds from which on it pays to compile parts for eight worlds at once."""


def subject(stage: Stage) -> str:
    """What a stage is about."""
    package, _, place = stage.func.func.__module__.partition("kinema.convex.")
    name = place.partition(".")[0]
    return SUBJECTS.get(name, name) if not package else stage.func.func.__module__


def title(part: Sequence[Stage]) -> str:
    """What a part is called in messages: its subject, and the stage it begins with."""
    return f"{subject(part[0]).rpartition('.')[2]}: {part[0].func.key.partition('__locals__')[0].strip('_')}"


def parts(stages: Sequence[Stage]) -> list[tuple[Stage, ...]]:
    """The stages in parts, in their order."""
    found: list[list[Stage]] = []
    about = None
    for stage in stages:
        now = f"{stage.func.key} alone" if stage.alone else subject(stage)
        if now != about:
            found.append([])
        found[-1].append(stage)
        about = now
    joined: list[list[Stage]] = []
    for part in found:
        small = len(part) < LEAST and not part[0].alone
        if small and joined and not joined[-1][0].alone:
            joined[-1] += part
        else:
            joined.append(part)
    return [tuple(part) for part in joined]


@wp.func_native("""
    typedef void (*Part)(void*, void*);
    int* w = (int*)world;
    bool together = false;
    for (int p = 0; p < wide.shape[0]; ++p) together |= wide.data[p] != 0;
    for (int begin = first; begin < last; begin += 8) {
        const int end = begin + 8 < last ? begin + 8 : last;
        for (int step = 0; step < nstep; ++step)
            for (int p = 0, next = 0; p < entries.shape[0]; p = next) {
                next = p + 1;
                if (wide.data[p] && end == begin + 8) {
                    *w = begin;
                    ((Part)wide.data[p])((void*)bounds, (void*)args);
                    continue;
                }
                while (together && next < entries.shape[0] && !wide.data[next]) ++next;
                for (int k = begin; k < end; ++k) {
                    *w = k;
                    for (int q = p; q < next; ++q) ((Part)entries.data[q])((void*)bounds, (void*)args);
                }
            }
    }
""")
@touches(reads="entries wide")
def call_parts(
    entries: wp.array(dtype=wp.uint64), wide: wp.array(dtype=wp.uint64), bounds: wp.uint64, args: wp.uint64,
    world: wp.uint64, first: int, last: int, nstep: int,
):  # fmt: skip
    """Call functions by their addresses, all nstep times for each world; `world` is where they find its number.

    `wide` has those for eight worlds, or 0 where there is none.
    Eight worlds go through a part before the next: its code, 10 to 100 kB, is then read once for the eight. Where some
    parts take eight at once, a world goes through all others that follow each other: its rows are more than their code.
    """
    ...


@wp.kernel(enable_backward=False)
def drive(
    entries: wp.array(dtype=wp.uint64), wide: wp.array(dtype=wp.uint64), bounds: wp.uint64, args: wp.uint64,
    world: wp.uint64, first: int, last: int, nstep: int,
):  # fmt: skip
    """Run the parts of worlds first to last - 1."""
    call_parts(entries, wide, bounds, args, world, first, last, nstep)


class Range:
    """Neighbouring worlds of a recipe, run by one thread.

    Args:
        entries: Addresses of the parts' functions: for one world, and for eight.
        inputs: Model and Data.
        first, last: The worlds: first to last - 1.
        device: A CPU device.
    """

    def __init__(
        self, entries: tuple[Sequence[int], Sequence[int]], inputs: Sequence[Any], first: int, last: int, device: Any
    ):
        m, d = self._inputs = tuple(inputs)
        fields = {"m": m.__ctype__(), "d": d.__ctype__(), "w": ctypes.c_int32(first), "advancing": ctypes.c_int32(1)}
        block = type("Arguments", (ctypes.Structure,), {"_fields_": [(n, type(v)) for n, v in fields.items()]})
        self._head: Any = block(*fields.values())  # as parts take them; one block serves all parts
        self._entries = [wp.array(np.array(of, np.uint64), dtype=wp.uint64, device=device) for of in entries]
        address = ctypes.addressof(self._head)
        where = [0, address, address + block.w.offset]  # type: ignore[attr-defined]
        self._call = Call(drive, 1, [*self._entries, *where, first, last, 1], device)
        self._numbers = self._call.args
        self._numbers.bounds = self._call.bounds  # parts are run by one thread, as the driver is

    def set(self, nstep: int, advancing: bool) -> None:
        """How many steps the next run takes, and whether it advances."""
        self._numbers.nstep = nstep
        self._head.advancing = advancing

    def run(self) -> None:
        """Run all worlds."""
        self._call()


def _weight(part: Sequence[Stage]) -> float:
    """How long a part takes to compile, where nobody has measured it: what is alone is so because it is long."""
    return math.inf if part[0].alone else len(part)


def bounds_of(nworld: int, number: int, *, wide: bool) -> list[int]:
    """Where ranges of worlds begin, and the end: as equal as may be, of whole eights where eight go together."""
    unit = WIDTH if wide else 1
    number = min(number, -(-nworld // unit))
    edges = np.linspace(0, -(-nworld // unit), number + 1).astype(int) * unit
    return np.minimum(edges, nworld).tolist()


def load(
    stages: Sequence[Stage], also: Sequence[Work] = (), *, many: bool = False
) -> tuple[list[int], list[int]]:
    """Addresses of the functions of a recipe's parts; missing ones are compiled, and `also` others with them.

    Args:
        many: Not only those for one world, but also those for eight at once, 0 where a part has none.
    """
    recipe = parts(stages)
    options = drive.module.resolve_options(wp.config, 1)
    names = [known.name_of(part, options) for part in recipe]
    found = [known.find(name) if name else None for name in names]
    missing = sorted((k for k, address in enumerate(found) if address is None), key=lambda k: -_weight(recipe[k]))
    if not missing:  # the others are there too, most likely: nothing to tell
        for _, work in also:
            work()
    with paused():
        # while Warp's headers are compiled, on another core, nothing else can be: texts are written meanwhile
        texts = {k: write_part(recipe[k]) for k in missing if not headers.are_there()}
        works: list[Work] = [(title(recipe[k]), partial(compile_part, recipe[k], texts.get(k))) for k in missing]
        done = building.side_by_side([*works, *also]) if missing else []
    for k, made in zip(missing, done, strict=False):
        found[k] = known.take(made, SYMBOL, names[k])
    return [entry for entry in found if entry], _load_wide(recipe, names, options) if many else [0] * len(recipe)


def _load_wide(recipe: Sequence[tuple[Stage, ...]], names: Sequence[str | None], options: dict[str, Any]) -> list[int]:
    """Addresses of the functions for eight worlds; missing ones are compiled, from the text of those for one."""
    found = [wide.find(name) for name in names]
    missing = [(k, name) for k, name in enumerate(names) if name and found[k] is None]
    with paused():
        done = building.side_by_side([
            (f"{title(recipe[k])}, eight worlds", partial(wide.compile_wide, name, options)) for k, name in missing
        ])  # fmt: skip
    for (k, name), made in zip(missing, done, strict=True):
        found[k] = wide.take(name, made)
    return [address or 0 for address in found]
