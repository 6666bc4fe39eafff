"""Stages: functions over one world, and the kernels that run them.

A stage is a `wp.func` with one of four shapes:

    stage(m, d, w)          what must be done in order, by one thread
    stage(m, d, w, i)       independent items (`over` counts them)
    stage(m, d, w, b)       tree recursions: bodies, parents first (`sweep="down"`) or children first (`sweep="up"`)
    stage(m, d, w, lane)    dense algebra: one group of lanes a world (`lanes=True`)

On the CPU one kernel runs all stages of a world back to back, and many steps of it, while its data is in cache.

On CUDA a run of stages of the first three shapes is one kernel too: a cohort. A block takes COHORT neighbouring worlds,
one to each lane of its warps, so that lanes read neighbouring numbers and take the same branches; its warps share out
the items, level by level of the trees, and meet after each phase: schedule.py says which stages make one. There are as
many warps as a device can hold with all worlds at once: trees are narrow, so more worlds at a time are better than more
warps for each. Where a world is wide, as a cloth of a thousand bodies is, it has a block to itself, all threads share
out its items, and its numbers lie together (arrays.py). Stages of lanes are kernels of their own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import warp as wp

from kinema.collide.bundles import Contacts, Cull, Geoms, HeightFields, Hulls, Meshes, Pairs, Settings, Touch
from kinema.convex.access import ANYTHING, Access, access
from kinema.convex.counts import AWAKE_COUNTS, AWAKE_ITEMS, AWAKE_READS, COUNTS, is_quiet
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.references import pass_by_reference
from kinema.convex.schedule import between_hosts, freezes, phases, plan, runs
from kinema.convex.status import IDLE
from kinema.math.lanes import block_sync, sync

WARP_LANES = 32
LANE_BLOCK = 128  # threads of a block of lane groups
COHORT = wp.constant(32)  # worlds of a block of a cohort, one a lane
PARTS = (8, 4, 2)  # warps that such a block may have
COHORT_WARPS = 24  # warps that a multiprocessor is to hold: leaves registers for the second stream
WIDE_BLOCK = 512  # threads of a block that takes a wide world
pass_by_reference(Model, Data)
pass_by_reference(Geoms, Pairs, Hulls, Meshes, HeightFields, Settings, Contacts, Touch, Cull, plain=False)
__all__ = [
    "Stage", "between_hosts", "cohort_kernel", "due", "lane_block", "lane_kernel", "over_world", "phases", "plan",
    "runs", "turns_kernel", "world_kernel",
]  # fmt: skip


@dataclass(frozen=True)
class Stage:
    """One step of the recipe.

    Attributes:
        func: The function over one world, item or lane.
        over: The size that counts the items of a world, a key of COUNTS; None: the world itself.
        sweep: "down" or "up": over bodies, parents before children or children before parents.
        own: Arrays of which it touches only what belongs to its item, though its indices do not show it (schedule.py).
        apart: Arrays of which it touches no element that another stage that says so touches.
        follows: In a phase: runs over the items of the stage before it, by the same threads. Set by the scheduler.
        aside: On CUDA it is worth a second stream, beside what follows.
        lanes: The function is run by a group of lanes.
        threads: Threads of the group on CUDA; more than a warp have a block to themselves.
        groups: Groups a world on CUDA; lanes count on from one to the next.
        block: Threads of a block of such groups; 0: LANE_BLOCK, or one team.
        advances: Part of a step, not of forward dynamics: it checks or moves the state.
        alone: On CUDA not run in one kernel with its neighbours: it brings launches of its own, or needs so many
            registers that they would suffer.
        rows: It does nothing in a world without rows, and there are many: on CUDA a group takes several worlds in turn.
        blocks: Blocks of lane groups a CUDA multiprocessor is to hold at least: bounds the registers. 0: no bound.
        once: Not repeated by the intermediate evaluations of a Runge-Kutta step: sensors, energy.
        launch: Instead of a function, something on the host that launches kernels of its own: launch(m, d).
        touches: What `launch` reads and writes; None: it may be anything.
        awake: Over those of its items, or bodies, that are not asleep (sleep/awake.py).
    """

    func: Any  # a wp.Function; None where the stage is of the host
    over: str | None = None
    sweep: str | None = None
    own: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    follows: bool = False
    aside: bool = False
    lanes: bool = False
    threads: int = WARP_LANES
    groups: int = 1
    block: int = 0
    advances: bool = False
    once: bool = False
    alone: bool = False
    blocks: int = 0
    launch: Callable[[Model, Data], None] | None = None
    touches: Access | None = None
    awake: bool = False
    rows: bool = False

    @property
    def access(self) -> Access:
        """What it reads and writes."""
        if self.func is None:
            return self.touches or ANYTHING
        return access(self.func) | Access(AWAKE_READS) if self.awake else access(self.func)

    @property
    def is_cohort(self) -> bool:
        """Is it of a shape that a cohort runs?"""
        return not self.lanes and self.launch is None


@wp.func
def due(status: int, substep: int, advancing: int, advances: bool, once: bool) -> bool:
    """Is a stage to be run now? Worlds whose state has gone bad are left as they are."""
    healthy = (status & IDLE) == 0
    return healthy and (advancing != 0 or not advances) and (substep == 0 or not once)


def named(function: Callable, name: str) -> wp.Function:
    """A function of Warp under a name that tells what it was made of."""
    return wp.func(function, name=name)  # type: ignore[call-overload]  # Warp's types forget the name


def one_after_another(functions: Sequence[wp.Function]) -> wp.Function:
    """A function over an item that runs several, put together two at a time.

    In a loop `wp.static(functions[k])` would do, but Warp's hash of a kernel does not see what that is: after a change
    of one of the functions the old kernel would be taken from the cache.
    """
    first, *others = functions
    for other in others:
        first = _then(first, other)
    return first


@cache
def _then(first: wp.Function, second: wp.Function) -> wp.Function:
    def both(m: Model, d: Data, w: int, i: int):
        wp.static(first)(m, d, w, i)
        wp.static(second)(m, d, w, i)

    return named(both, f"{first.key}_then_{second.key}")


@cache
def _each(func: wp.Function, over: str, backward: bool) -> wp.Function:
    """The loop over all items of a world, as a function: where array descriptions are arguments, they can be kept in
    registers for the whole loop."""

    def each(m: Model, d: Data, w: int):
        count = wp.static(COUNTS[over])(m, d, w)
        for i in range(count):
            if wp.static(backward):
                wp.static(func)(m, d, w, count - 1 - i)
            else:
                wp.static(func)(m, d, w, i)

    return named(each, f"{'backward' if backward else 'each'}_{func.key}_over_{over}")


@cache
def _each_awake(func: wp.Function, over: str, backward: bool) -> wp.Function:
    """The same over those that are awake."""
    item = AWAKE_ITEMS[over]

    def each(m: Model, d: Data, w: int):
        count = wp.static(AWAKE_COUNTS[over])(m, d, w)
        for i in range(count):
            if wp.static(backward):
                wp.static(func)(m, d, w, item(d, w, count - 1 - i))
            else:
                wp.static(func)(m, d, w, item(d, w, i))

    return named(each, f"{'backward' if backward else 'each'}_{func.key}_over_awake_{over}")


def over_world(stage: Stage) -> wp.Function:
    """A stage over one world, run by one thread."""
    if stage.lanes or (stage.over is None and stage.sweep is None):
        return stage.func
    if stage.awake:
        return _each_awake(stage.func, stage.over or "nbody", stage.sweep == "up")
    return _each(stage.func, stage.over or "nbody", stage.sweep == "up")


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
                    if wp.static(stages[s].lanes):
                        wp.static(over_world(stages[s]))(m, d, w, 0)
                    else:
                        wp.static(over_world(stages[s]))(m, d, w)

    return run


def parts_for(nworld: int, multiprocessors: int) -> int:
    """Warps of the blocks of a cohort: the most with which all worlds are on the device at once."""
    if not multiprocessors:
        return PARTS[0]
    blocks = -(-nworld // COHORT)
    return next((parts for parts in PARTS if blocks * parts <= COHORT_WARPS * multiprocessors), PARTS[-1])


def cohort_of(nworld: int, wide: bool, multiprocessors: int) -> tuple[int, int]:
    """Worlds of a block of a cohort, and threads that share out the items of each."""
    return (1, WIDE_BLOCK) if wide else (int(COHORT), parts_for(nworld, multiprocessors))


@cache
def _items(func: wp.Function, over: str | None, parts: int) -> wp.Function:
    """One part of the items of a world: one out of so many, from `part` on."""

    def items(m: Model, d: Data, w: int, part: int, count: int):
        for i in range(part, count, wp.static(parts)):
            if wp.static(over is None):
                wp.static(func)(m, d, w)
            else:
                wp.static(func)(m, d, w, i)

    return named(items, f"items_{func.key}_over_{over}_by_{parts}")


@cache
def _items_awake(func: wp.Function, over: str, parts: int) -> wp.Function:
    """The same of those that are awake."""
    item = AWAKE_ITEMS[over]

    def items(m: Model, d: Data, w: int, part: int, count: int):
        for i in range(part, count, wp.static(parts)):
            wp.static(func)(m, d, w, item(d, w, i))

    return named(items, f"items_{func.key}_over_awake_{over}_by_{parts}")


def count_of(stage: Stage) -> wp.Function:
    """How many items a stage has in a world."""
    over = stage.over or ("nbody" if stage.sweep else None)
    return AWAKE_COUNTS[over] if stage.awake and over else COUNTS[over]


def shared_out(stage: Stage, parts: int) -> wp.Function:
    """A stage over one part of the items of a world."""
    share = _items_awake if stage.awake and stage.over else _items
    return share(stage.func, stage.over, parts)


@cache
def _phase(stages: tuple[Stage, ...], parts: int) -> wp.Function:
    """Stages that run at the same time: their items are shared out as if they stood in one row."""

    def phase(m: Model, d: Data, w: int, part: int, live: bool):
        status = d.state.status[w]
        substep = d.scratch.substep[w]
        if wp.static(freezes(stages)):
            block_sync()  # all know who is frozen before anyone freezes more
        before = int(0)
        first = part
        for s in range(wp.static(len(stages))):
            if live and due(status, substep, 1, wp.static(stages[s].advances), wp.static(stages[s].once)):
                count = wp.static(count_of(stages[s]))(m, d, w)
                if wp.static(not stages[s].follows):
                    first = (part + wp.static(parts) - before) % wp.static(parts)
                    before = (before + count) % wp.static(parts)
                wp.static(shared_out(stages[s], parts))(m, d, w, first, count)

    return named(phase, f"phase_by_{parts}_" + "_and_".join(stage.func.key for stage in stages))


@cache
def if_awake(func: wp.Function) -> wp.Function:
    """A stage over bodies that passes over those that sleep."""

    def body(m: Model, d: Data, w: int, b: int):
        if not is_quiet(m, d, w):
            if d.sleep.body_awake[w, b] != 0 or d.sleep.settled[w] == 0:
                wp.static(func)(m, d, w, b)

    return named(body, f"{func.key}_if_awake")


def _body_of(stage: Stage) -> wp.Function:
    return if_awake(stage.func) if stage.awake else stage.func


@cache
def _sweep(stages: tuple[Stage, ...], parts: int) -> wp.Function:
    """Recursions over the trees that run at the same time, level by level."""
    down = stages[0].sweep == "down"

    def sweep(m: Model, d: Data, w: int, part: int, live: bool):
        status = d.state.status[w]
        substep = d.scratch.substep[w]
        for k in range(m.size.nlevel):
            if k > 0:
                block_sync()
            level = wp.where(wp.static(down), k, m.size.nlevel - 1 - k)
            start = m.tree.leveladr[level]
            end = m.tree.leveladr[level + 1]
            before = int(0)
            first = part
            for s in range(wp.static(len(stages))):
                if wp.static(not stages[s].follows):
                    first = (part + wp.static(parts) - before) % wp.static(parts)
                    before = (before + end - start) % wp.static(parts)
                if live and due(status, substep, 1, wp.static(stages[s].advances), wp.static(stages[s].once)):
                    for e in range(start + first, end, wp.static(parts)):
                        wp.static(_body_of(stages[s]))(m, d, w, m.tree.levelbody[e])

    return named(sweep, f"sweep_by_{parts}_" + "_and_".join(stage.func.key for stage in stages))


@cache
def cohort_kernel(stages: tuple[Stage, ...], parts: int = PARTS[0], worlds: int = int(COHORT)) -> wp.Kernel:
    """A block runs every stage of so many worlds; so many threads share out the items of each."""
    functions = [(_sweep if group[0].sweep else _phase)(group, parts) for group in phases(stages)]
    bounds = (worlds * parts, COHORT_WARPS * WARP_LANES // (worlds * parts))

    @wp.kernel(enable_backward=False, module="unique", module_options={"max_unroll": 128}, launch_bounds=bounds)
    def run(m: Model, d: Data, nworld: int):
        block, part, lane = wp.tid()
        w = block * wp.static(worlds) + lane
        for s in range(wp.static(len(functions))):
            if wp.static(s > 0):
                block_sync()
            wp.static(functions[s])(m, d, wp.min(w, nworld - 1), part, w < nworld)

    return run


@cache
def turns_kernel(stages: tuple[Stage, ...]) -> wp.Kernel:
    """A group of lanes takes `turns` worlds one after the other, and runs every stage in those that have rows.

    Where most worlds have none, starting a group for each would be most of the work.
    """
    bounds = lane_bounds(stages)

    @wp.kernel(enable_backward=False, module="unique", module_options={"max_unroll": 128}, launch_bounds=bounds)
    def run(m: Model, d: Data, nworld: int, turns: int):
        first, lane = wp.tid()
        for k in range(turns):
            w = wp.min(first * turns + k, nworld - 1)
            live = first * turns + k < nworld and d.efc.nefc[w] > 0
            for s in range(wp.static(len(stages))):
                if live and due(
                    d.state.status[w], d.scratch.substep[w], 1, wp.static(stages[s].advances),
                    wp.static(stages[s].once),
                ):  # fmt: skip
                    wp.static(stages[s].func)(m, d, w, lane)
                if wp.static(stages[s].threads <= WARP_LANES):
                    sync()
                else:
                    block_sync()

    return run


def lane_block(stages: tuple[Stage, ...]) -> int:
    """Threads of a block of lane groups: several warps, or one team."""
    first = stages[0]
    return first.block or (LANE_BLOCK if first.threads <= WARP_LANES else first.threads)


def lane_bounds(stages: tuple[Stage, ...]) -> tuple[int, int] | None:
    """Threads of a block, and blocks that a multiprocessor is to hold: what its registers are shared out among.

    A thread may take 255 of 65,536: more than 256 threads could not be launched without a bound.
    """
    block, blocks = lane_block(stages), max(stage.blocks for stage in stages)
    return (block, max(1, blocks)) if blocks or block > 256 else None


@cache
def lane_kernel(stages: tuple[Stage, ...]) -> wp.Kernel:
    """A group of lanes a world runs every stage."""

    bounds = lane_bounds(stages)

    @wp.kernel(enable_backward=False, module="unique", module_options={"max_unroll": 128}, launch_bounds=bounds)
    def run(m: Model, d: Data):
        w, lane = wp.tid()
        for s in range(wp.static(len(stages))):
            if due(
                d.state.status[w], d.scratch.substep[w], 1, wp.static(stages[s].advances), wp.static(stages[s].once)
            ):
                wp.static(stages[s].func)(m, d, w, lane)
            if wp.static(stages[s].threads <= WARP_LANES):
                sync()
            else:
                block_sync()

    return run
