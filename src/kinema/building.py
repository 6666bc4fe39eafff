"""Tell what is being compiled, and how long it took the last time, to whoever wants to hear it.

    with listening(print):
        sim.step()             compiling detection, 2 of 13 (3.1 s last time)

Times are kept beside the kernels, in Warp's cache.
"""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import warp as wp

Result = TypeVar("Result")
_listeners: list[Callable[[str], None]] = []
_lock = threading.Lock()


@contextmanager
def listening(hear: Callable[[str], None]) -> Iterator[None]:
    """While this lasts, `hear` is told what is being compiled."""
    _listeners.append(hear)
    try:
        yield
    finally:
        _listeners.remove(hear)


def timed(label: str, place: str, work: Callable[[], Result]) -> Result:
    """Do some compiling, having told of it; `place` says which piece it is of how many."""
    last = _times().get(label)
    ago = f" ({last:.1f} s last time)" if last is not None else ""
    for hear in tuple(_listeners):
        hear(f"compiling {label}, {place}{ago}")
    begin = time.perf_counter()
    result = work()
    _keep(label, time.perf_counter() - begin)
    return result


def side_by_side(works: Sequence[tuple[str, Callable[[], Result]]]) -> list[Result]:
    """Do several pieces of compiling at once, as many as there are cores; what took longest last time begins first.

    What was never timed comes before, in the order given: one long piece that begins last keeps everybody waiting.
    """
    last = _times()
    order = sorted(range(len(works)), key=lambda k: -last.get(works[k][0], math.inf))

    def do(place: tuple[int, int]) -> Result:
        number, k = place
        label, work = works[k]
        return timed(label, f"{number + 1} of {len(works)}", work)

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        done = dict(zip(order, pool.map(do, enumerate(order)), strict=True))
    return [done[k] for k in range(len(works))]


def cache_folder() -> Path:
    """Warp's cache."""
    return Path(wp.config.kernel_cache_dir or "")


def _file() -> Path:
    return cache_folder() / "kinema" / "seconds.json"


def _times() -> dict[str, float]:
    try:
        found = json.loads(_file().read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _keep(label: str, seconds: float) -> None:
    target = _file()
    with _lock:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            draft = target.with_suffix(f".{os.getpid()}")
            draft.write_text(json.dumps({**_times(), label: round(seconds, 2)}))
            draft.replace(target)
        except OSError:  # a cache that cannot be written: nothing is remembered
            return
