"""Kernels of derivatives in duals (tangents.py): what goes before a group of directions and after it, and its stages.

On the CPU a thread takes its worlds through all groups in one call (`drive`), and calls parts by their places. On CUDA
a warp takes a world: a kernel before a group, one a part, one after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.schedule import phases
from kinema.convex.solve.native import WARP
from kinema.convex.stage import Stage, count_of, over_world, shared_out
from kinema.gradients import transcribe
from kinema.math.lanes import sync
from kinema.math.touches import touches

BLOCK = 64
"""Threads of a block on CUDA: two worlds."""

MASK = 30  # stages of a part that a mask can tell apart


def _text(name: str) -> str:
    return files("kinema.gradients").joinpath(name).read_text(encoding="utf-8")


@wp.func_native(_text("copy.cpp"))
@touches(reads="table")
def copy_rows(table: wp.array2d(dtype=wp.int64), begin: int, end: int, w: int, lane: int, lanes: int): ...


@wp.func_native(_text("plant.cpp"))
@touches(reads="table")
def plant(table: wp.array2d(dtype=wp.int64), begin: int, end: int, w: int): ...


@wp.func_native(_text("gather.cpp"))
@touches(reads="table columns", writes="out")
def gather(
    table: wp.array2d(dtype=wp.int64), columns: wp.array2d(dtype=int), group: int, w: int, out: wp.array3d(dtype=float),
    lane: int, lanes: int,
): ...  # fmt: skip


@wp.func_native("""
    typedef void (*Part)(void*, void*);
    *(int*)world = w;
    for (int p = 0; p < entries.shape[0]; ++p) {
        const int mask = ((const int*)masks.data)[group * entries.shape[0] + p];
        if (mask) {
            *(int*)chosen = mask;
            ((Part)entries.data[p])((void*)bounds, (void*)args);
        }
    }
""")
@touches(reads="entries masks")
def call_parts(
    entries: wp.array(dtype=wp.uint64), masks: wp.array2d(dtype=int), group: int, bounds: wp.uint64, args: wp.uint64,
    world: wp.uint64, chosen: wp.uint64, w: int,
): ...  # fmt: skip


@wp.struct
class Plan:
    """What a run goes by: tables of copies, seeds and results, and which stages run for which group.

    The first `moving` copies are of arrays that a group changes; the others are made once a world.
    """

    given: wp.array2d(dtype=wp.int64)
    moving: int
    seeds: wp.array2d(dtype=wp.int64)
    seedadr: wp.array(dtype=int)
    results: wp.array2d(dtype=wp.int64)
    columns: wp.array2d(dtype=int)
    masks: wp.array2d(dtype=int)


@wp.func
def copies(plan: Plan, group: int) -> int:
    """Rows of the table of copies that a group needs."""
    return wp.where(group == 0, plan.given.shape[0], plan.moving)


@wp.kernel(enable_backward=False)
def drive(
    plan: Plan, out: wp.array3d(dtype=float), entries: wp.array(dtype=wp.uint64), bounds: wp.uint64, args: wp.uint64,
    world: wp.uint64, chosen: wp.uint64, first: int, last: int,
):  # fmt: skip
    """Worlds first to last - 1 on the CPU, one after the other."""
    for w in range(first, last):
        for group in range(plan.masks.shape[0]):
            copy_rows(plan.given, 0, copies(plan, group), w, 0, 1)
            plant(plan.seeds, plan.seedadr[group], plan.seedadr[group + 1], w)
            call_parts(entries, plan.masks, group, bounds, args, world, chosen, w)
            gather(plan.results, plan.columns, group, w, out, 0, 1)


@wp.kernel(enable_backward=False)
def copy_model(rows: wp.array2d(dtype=wp.int64), lanes: int):
    """What the model says, for all worlds at once; so many threads an array."""
    row = wp.tid() // lanes
    copy_rows(rows, row, row + 1, 0, wp.tid() % lanes, lanes)


@wp.kernel(enable_backward=False)
def begin_group(plan: Plan, group: int):
    """The inputs of a group, on CUDA; a world a warp."""
    w, lane = wp.tid()
    copy_rows(plan.given, 0, copies(plan, group), w, lane, WARP)
    sync()
    if lane == 0:  # several seeds may be of one number
        plant(plan.seeds, plan.seedadr[group], plan.seedadr[group + 1], w)


@wp.kernel(enable_backward=False)
def end_group(plan: Plan, group: int, out: wp.array3d(dtype=float)):
    """The results of a group, on CUDA; a world a warp."""
    w, lane = wp.tid()
    gather(plan.results, plan.columns, group, w, out, lane, WARP)


@cache
def part_kernel(stages: tuple[Stage, ...], width: int) -> wp.Kernel:
    """One thread runs those stages of one world that the bits of `chosen` name, in duals."""

    @wp.kernel(
        enable_backward=False, module="unique", module_options={"max_unroll": 128, **transcribe.options(width)}
    )
    def tangent_part(m: Model, d: Data, w: int, chosen: int):
        for s in range(wp.static(len(stages))):
            if (chosen >> s) & 1 != 0:
                if wp.static(stages[s].lanes):
                    wp.static(over_world(stages[s]))(m, d, w, 0)
                else:
                    wp.static(over_world(stages[s]))(m, d, w)

    return tangent_part


@wp.func_native("KN_MEET();")
def meet():
    """Where the lanes of a warp wait for each other, in duals (dual.cpp)."""


@cache
def part_kernel_of_warps(stages: tuple[Stage, ...], width: int) -> wp.Kernel:
    """The same on CUDA, a world a warp: lanes share out items, and bodies level by level; they meet between phases.

    Args:
        stages: The stages, in phases (`in_phases`).
        width: Directions carried at once.
    """
    waits = [k > 0 and (stage.sweep is not None or not stage.follows) for k, stage in enumerate(stages)]

    @wp.kernel(
        enable_backward=False, module="unique", module_options={"max_unroll": 128, **transcribe.options(width)}
    )
    def tangent_parts(m: Model, d: Data, chosen: int):
        w = wp.tid() // WARP
        lane = wp.tid() % WARP
        for s in range(wp.static(len(stages))):
            if wp.static(waits[s]):
                meet()
            if wp.static(stages[s].sweep is not None):
                for k in range(m.size.nlevel):
                    meet()
                    level = wp.where(wp.static(stages[s].sweep == "down"), k, m.size.nlevel - 1 - k)
                    if (chosen >> s) & 1 != 0:
                        for e in range(m.tree.leveladr[level] + lane, m.tree.leveladr[level + 1], WARP):
                            wp.static(stages[s].func)(m, d, w, m.tree.levelbody[e])
            elif (chosen >> s) & 1 != 0:
                if wp.static(stages[s].lanes):
                    if lane == 0:
                        wp.static(stages[s].func)(m, d, w, 0)
                else:
                    wp.static(shared_out(stages[s], WARP))(m, d, w, lane, wp.static(count_of(stages[s]))(m, d, w))

    return tangent_parts


def in_phases(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """Stages in an order in which those of a phase stand together; the first of each follows nobody."""
    found: list[Stage] = []
    for phase in phases(stages):
        found += [replace(stage, follows=k > 0) for k, stage in enumerate(phase)]
    return tuple(found)
