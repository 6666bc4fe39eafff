"""Neighbouring stages over the same items as one stage: on CUDA a kernel less for each that is saved.

Only the small functions of plugins are joined: what they do for one element never depends on another element, so
whether all elements pass a first function before any passes the second makes no difference.
"""

from __future__ import annotations

from functools import cache
from itertools import groupby

from kinema.convex.stage import Stage, one_after_another


@cache
def joined(stages: tuple[Stage, ...]) -> Stage:
    """One stage that runs all of them for each item."""
    if len(stages) == 1:
        return stages[0]
    return Stage(one_after_another([stage.func for stage in stages]), over=stages[0].over)


def fused(stages: list[tuple[Stage, bool]]) -> list[Stage]:
    """Join neighbours; the flag of a stage says whether it treats items one by one."""
    result: list[Stage] = []
    for key, group in groupby(stages, lambda entry: entry[0].over if entry[1] else None):
        members = [stage for stage, _ in group]
        result += [joined(tuple(members))] if key is not None else members
    return result
