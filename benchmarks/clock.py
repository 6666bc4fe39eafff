"""Seconds that calls take: of several turns the least, since whatever else the machine does only makes them longer.

On the CPU it is the time of this process; on CUDA that until the device has ended, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import warp as wp


def least(calls: Mapping[str, Callable[[], Any]], device: Any, *, turns: int, each: int) -> dict[str, float]:
    """Seconds a call of each, which take turns of `each` calls."""
    device = wp.get_device(device)
    clock = time.process_time if device.is_cpu else time.perf_counter
    found = dict.fromkeys(calls, np.inf)
    for _ in range(turns):
        for name, call in calls.items():
            wp.synchronize_device(device)
            begin = clock()
            for _ in range(each):
                call()
            wp.synchronize_device(device)
            found[name] = min(found[name], (clock() - begin) / each)
    return found


def seconds(call: Callable[[], Any], device: Any, *, turns: int, each: int) -> float:
    """Seconds a call."""
    return least({"": call}, device, turns=turns, each=each)[""]
