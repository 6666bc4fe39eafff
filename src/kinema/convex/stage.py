"""Stages: functions over one world, and the kernels that run them.

A stage is a `wp.func` with one of three shapes:

    stage(m, d, w)          tree recursions: one thread a world
    stage(m, d, w, i)       independent items: one thread an item (`over` counts them)
    stage(m, d, w, lane)    dense algebra: one group of LANES threads a world (`lanes=True`)

On CUDA each stage, or run of stages of the first shape, is a kernel. On the CPU one kernel runs all stages of a world
back to back, and many steps of it, while its data is in cache.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.references import pass_by_reference
from kinema.convex.status import BAD_STATE
from kinema.math.lanes import sync

WARP_LANES = 32
LANE_BLOCK = 128  # threads of a block of lane groups
pass_by_reference(Model, Data)


@wp.func
def _ngeom(m: Model, d: Data, w: int) -> int:
    return m.size.ngeom


@wp.func
def _nsite(m: Model, d: Data, w: int) -> int:
    return m.size.nsite


@wp.func
def _nsensor(m: Model, d: Data, w: int) -> int:
    return m.size.nsensor


@wp.func
def _ncam(m: Model, d: Data, w: int) -> int:
    return m.size.ncam


@wp.func
def _nlight(m: Model, d: Data, w: int) -> int:
    return m.size.nlight


@wp.func
def _ntendon(m: Model, d: Data, w: int) -> int:
    return m.size.ntendon


@wp.func
def _nactuator(m: Model, d: Data, w: int) -> int:
    return m.size.nactuator


@wp.func
def _nv(m: Model, d: Data, w: int) -> int:
    return m.size.nv


@wp.func
def _njnt(m: Model, d: Data, w: int) -> int:
    return m.size.njnt


@wp.func
def _nbody(m: Model, d: Data, w: int) -> int:
    return m.size.nbody


@wp.func
def _nplugin(m: Model, d: Data, w: int) -> int:
    return m.size.nplugin


@wp.func
def _ncon(m: Model, d: Data, w: int) -> int:
    return d.con.ncon[w]


COUNTS = {
    "nv": _nv,
    "njnt": _njnt,
    "nbody": _nbody,
    "ncon": _ncon,
    "ntendon": _ntendon,
    "nactuator": _nactuator,
    "ncam": _ncam,
    "nlight": _nlight,
    "ngeom": _ngeom,
    "nsite": _nsite,
    "nsensor": _nsensor,
    "nplugin": _nplugin,
}
"""What item stages may run over: size symbol -> its value in a kernel."""

ROOM = {"ncon": "nconmax"}
"""The most there can be, for counts that differ from world to world."""


@dataclass(frozen=True)
class Stage:
    """One step of the recipe.

    Attributes:
        func: The function over one world, item or lane.
        over: The size that counts the items of a world, a key of COUNTS; None: the world itself.
        lanes: The function is run by a group of lanes.
        advances: Part of a step, not of forward dynamics: it checks or moves the state.
        alone: On CUDA not run in one kernel with its neighbours: it brings launches of its own, or needs so many
            registers that they would suffer.
        blocks: Blocks of lane groups a CUDA multiprocessor is to hold at least: bounds the registers. 0: no bound.
        once: Not repeated by the intermediate evaluations of a Runge-Kutta step: sensors, energy.
        launch: Instead of a function, something on the host that launches kernels of its own: launch(m, d).
    """

    func: wp.Function | None
    over: str | None = None
    lanes: bool = False
    advances: bool = False
    once: bool = False
    alone: bool = False
    blocks: int = 0
    launch: Callable[[Model, Data], None] | None = None

    @property
    def whole(self) -> bool:
        return self.over is None and not self.lanes and self.launch is None


@wp.func
def due(status: int, substep: int, advancing: int, advances: bool, once: bool) -> bool:
    """Is a stage to be run now? Worlds whose state has gone bad are left as they are."""
    healthy = (status & BAD_STATE) == 0
    return healthy and (advancing != 0 or not advances) and (substep == 0 or not once)


@cache
def _each(func: wp.Function, over: str) -> wp.Function:
    """The loop over all items of a world, as a function: where array descriptions are arguments, they can be kept in
    registers for the whole loop."""

    def each(m: Model, d: Data, w: int):
        for i in range(wp.static(COUNTS[over])(m, d, w)):
            wp.static(func)(m, d, w, i)

    return wp.func(each, name=f"each_{func.key}_over_{over}")


@cache
def world_kernel(stages: tuple[Stage, ...]) -> wp.Kernel:
    """One thread a world runs every stage, nstep times; with `advancing` 0 only those of forward dynamics."""

    @wp.kernel(enable_backward=False, module="unique", module_options={"max_unroll": 128})
    def run(m: Model, d: Data, first: int, nstep: int, advancing: int):
        w = first + wp.tid()
        for _ in range(nstep):
            for s in range(wp.static(len(stages))):
                if due(
                    d.state.status[w], d.scratch.substep[w], advancing,
                    wp.static(stages[s].advances), wp.static(stages[s].once),
                ):  # fmt: skip
                    if wp.static(stages[s].whole):
                        wp.static(stages[s].func)(m, d, w)
                    elif wp.static(stages[s].lanes):
                        wp.static(stages[s].func)(m, d, w, 0)
                    else:
                        wp.static(_each(stages[s].func, stages[s].over))(m, d, w)

    return run


@cache
def item_kernel(stage: Stage) -> wp.Kernel:
    """One thread an item; neighbouring threads are neighbouring worlds."""

    @wp.kernel(enable_backward=False, module="unique")
    def run(m: Model, d: Data):
        i, w = wp.tid()
        if due(d.state.status[w], d.scratch.substep[w], 1, wp.static(stage.advances), wp.static(stage.once)):
            if i < wp.static(COUNTS[stage.over])(m, d, w):
                wp.static(stage.func)(m, d, w, i)

    return run


@cache
def lane_kernel(stages: tuple[Stage, ...]) -> wp.Kernel:
    """A group of lanes a world runs every stage."""

    blocks = max(stage.blocks for stage in stages)
    bounds = (LANE_BLOCK, blocks) if blocks else None

    @wp.kernel(enable_backward=False, module="unique", module_options={"max_unroll": 128}, launch_bounds=bounds)
    def run(m: Model, d: Data):
        w, lane = wp.tid()
        for s in range(wp.static(len(stages))):
            if due(
                d.state.status[w], d.scratch.substep[w], 1, wp.static(stages[s].advances), wp.static(stages[s].once)
            ):
                wp.static(stages[s].func)(m, d, w, lane)
            sync()

    return run


def runs(stages: Sequence[Stage]) -> list[tuple[Stage, ...]]:
    """Group neighbouring whole-world stages, and neighbouring lane stages; the others stand alone."""
    groups: list[list[Stage]] = []
    for stage in stages:
        last = groups[-1][-1] if groups else None
        if last and not stage.alone and not last.alone and (
            (stage.whole and last.whole) or (stage.lanes and last.lanes)
        ):
            groups[-1].append(stage)
        else:
            groups.append([stage])
    return [tuple(group) for group in groups]


def between_hosts(stages: Sequence[Stage]) -> list[tuple[Stage, ...]]:
    """Split a recipe at the stages that launch kernels of their own; each of these stands alone."""
    groups: list[list[Stage]] = []
    for stage in stages:
        if groups and not stage.launch and not groups[-1][-1].launch:
            groups[-1].append(stage)
        else:
            groups.append([stage])
    return [tuple(group) for group in groups]
