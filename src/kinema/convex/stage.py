"""Stages: functions over one world, and the kernels that run them.

A stage is a `wp.func` with one of three shapes:

    stage(m, d, w)          tree recursions: one thread a world
    stage(m, d, w, i)       independent items: one thread an item (`over` counts them)
    stage(m, d, w, lane)    dense algebra: one group of LANES threads a world (`lanes=True`)

On CUDA each stage, or run of stages of the first shape, is a kernel. On the CPU one kernel runs all stages of a world
back to back, and many steps of it, while its data is in cache.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model

WARP_LANES = 32


@wp.func
def _ngeom(m: Model) -> int:
    return m.size.ngeom


@wp.func
def _nsite(m: Model) -> int:
    return m.size.nsite


@wp.func
def _nsensor(m: Model) -> int:
    return m.size.nsensor


COUNTS = {"ngeom": _ngeom, "nsite": _nsite, "nsensor": _nsensor}
"""What item stages may run over: size symbol -> its value in a kernel."""


@dataclass(frozen=True)
class Stage:
    """One step of the recipe.

    Attributes:
        func: The function over one world, item or lane.
        over: The size that counts the items of a world, a key of COUNTS; None: the world itself.
        lanes: The function is run by a group of lanes.
    """

    func: wp.Function
    over: str | None = None
    lanes: bool = False

    @property
    def whole(self) -> bool:
        return self.over is None and not self.lanes


@cache
def world_kernel(stages: tuple[Stage, ...]) -> wp.Kernel:
    """One thread a world runs every stage, nstep times."""

    @wp.kernel(enable_backward=False, module="unique", module_options={"max_unroll": 128})
    def run(m: Model, d: Data, first: int, nstep: int):
        w = first + wp.tid()
        for _ in range(nstep):
            for s in range(wp.static(len(stages))):
                if wp.static(stages[s].whole):
                    wp.static(stages[s].func)(m, d, w)
                elif wp.static(stages[s].lanes):
                    wp.static(stages[s].func)(m, d, w, 0)
                else:
                    for i in range(wp.static(COUNTS[stages[s].over])(m)):
                        wp.static(stages[s].func)(m, d, w, i)

    return run


@cache
def item_kernel(stage: Stage) -> wp.Kernel:
    """One thread an item; neighbouring threads are neighbouring worlds."""

    @wp.kernel(enable_backward=False, module="unique")
    def run(m: Model, d: Data):
        i, w = wp.tid()
        wp.static(stage.func)(m, d, w, i)

    return run


@cache
def lane_kernel(stage: Stage) -> wp.Kernel:
    """A group of lanes a world."""

    @wp.kernel(enable_backward=False, module="unique")
    def run(m: Model, d: Data):
        w, lane = wp.tid()
        wp.static(stage.func)(m, d, w, lane)

    return run


def runs(stages: Sequence[Stage]) -> list[tuple[Stage, ...]]:
    """Group neighbouring whole-world stages; the others stand alone."""
    groups: list[list[Stage]] = []
    for stage in stages:
        if stage.whole and groups and groups[-1][-1].whole:
            groups[-1].append(stage)
        else:
            groups.append([stage])
    return [tuple(group) for group in groups]
