"""Derivatives of a step along many directions, for every world: the step itself, in dual numbers.

A direction gives some inputs the derivative 1. `width` of them, a group, are carried at once, a number having that many
derivatives; groups follow each other:

    for every world, for every group:
        inputs without derivatives (copy.cpp), then those of the group's directions (plant.cpp)
        the stages that change along these directions, or did along the last group's (stages.py)
        derivatives of the results, into the columns of the directions (gather.cpp)

On the CPU all of it is one call a thread: worlds are shared out as for a step, and a thread has one world's scratch. On
CUDA a thread takes a world and a kernel a part; a group is a few launches for all worlds.

Nothing is allocated after the first run. A run leaves the engine's arrays alone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import warp as wp

from kinema.convex.access import written
from kinema.convex.bundle import fields_of
from kinema.convex.call import Call
from kinema.convex.data import Data, State
from kinema.convex.model import Model
from kinema.convex.parts import parts
from kinema.convex.stage import Stage, over_world
from kinema.gradients import stages as of_step
from kinema.gradients import transcribe
from kinema.gradients.arrays import Room, Wide, leaves, table, widened
from kinema.math.touches import touches

WIDTH = {"cpu": 16, "cuda": 8}
"""Directions that are carried at once."""

MASK = 30  # stages of a part that a mask can tell apart
COPY, SEED, RESULT = 20, 6, 5  # columns of the tables


def _text(name: str) -> str:
    return files("kinema.gradients").joinpath(name).read_text(encoding="utf-8")


@wp.func_native(_text("copy.cpp"))
@touches(reads="table")
def copy_rows(table: wp.array2d(dtype=wp.int64), w: int): ...


@wp.func_native(_text("plant.cpp"))
@touches(reads="table")
def plant(table: wp.array2d(dtype=wp.int64), begin: int, end: int, w: int): ...


@wp.func_native(_text("gather.cpp"))
@touches(reads="table columns", writes="out")
def gather(
    table: wp.array2d(dtype=wp.int64), columns: wp.array2d(dtype=int), group: int, w: int, out: wp.array3d(dtype=float)
): ...


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
    """What a run goes by: tables of copies, seeds and results, and which stages run for which group."""

    given: wp.array2d(dtype=wp.int64)
    seeds: wp.array2d(dtype=wp.int64)
    seedadr: wp.array(dtype=int)
    results: wp.array2d(dtype=wp.int64)
    columns: wp.array2d(dtype=int)
    masks: wp.array2d(dtype=int)


@wp.kernel(enable_backward=False)
def drive(
    plan: Plan, out: wp.array3d(dtype=float), entries: wp.array(dtype=wp.uint64), bounds: wp.uint64, args: wp.uint64,
    world: wp.uint64, chosen: wp.uint64, first: int, last: int,
):  # fmt: skip
    """Worlds first to last - 1 on the CPU, one after the other."""
    for w in range(first, last):
        for group in range(plan.masks.shape[0]):
            copy_rows(plan.given, w)
            plant(plan.seeds, plan.seedadr[group], plan.seedadr[group + 1], w)
            call_parts(entries, plan.masks, group, bounds, args, world, chosen, w)
            gather(plan.results, plan.columns, group, w, out)


@wp.kernel(enable_backward=False)
def copy_once(rows: wp.array2d(dtype=wp.int64)):
    """What the model says, for all worlds at once."""
    copy_rows(rows, 0)


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


@dataclass(frozen=True)
class Direction:
    """A direction that inputs may move in.

    Attributes:
        array: The input.
        element: Which of its elements, counted without that of worlds; of a quaternion the first.
        turn: 0: the number itself; 1 to 3: the quaternion turns about that axis of its own frame.
        component: Which number of an element that is a vector.
    """

    array: str
    element: int
    turn: int = 0
    component: int = 0


class Tangents:
    """Derivatives of results of a step along directions, of every world.

    Args:
        engine: The engine, whose state and acceleration are taken as they are.
        directions: One a column.
        results: One a row.
        width: Directions carried at once.
        cut: Puts stages into parts, each compiled by itself.
    """

    def __init__(
        self, engine: Any, directions: Sequence[Direction], results: Sequence[Direction], *, width: int | None = None,
        cut: Callable[[Sequence[Stage]], list[tuple[Stage, ...]]] = parts,
    ):  # fmt: skip
        transcribe.install()
        self.engine = engine
        self.width = width or WIDTH["cuda" if engine.device.is_cuda else "cpu"]
        self.stages = of_step.needed(of_step.differentiable(engine), {one.array for one in results})
        self.parts = [p[k : k + MASK] for p in cut(self.stages) for k in range(0, len(p), MASK)]
        self.directions = self._in_order(directions)
        self.masks, self.columns = self._groups(directions)
        touched = frozenset[str]().union(*(s.access.reads | s.access.writes for s in self.stages))
        self.out = wp.zeros((engine.nworld, len(results), len(directions)), dtype=float, device=engine.device)
        self.model = Room(self.width, engine.device)
        number = 1 if engine.threads == 1 else min(engine.nworld, engine.threads)
        self.runs = [_Run(self, k, touched, results) for k in np.array_split(np.arange(engine.nworld), number)]
        rows = [one.copies(per_world=False) for one in self.model.arrays.values() if not one.is_empty]
        self._copy = Call(copy_once, 1, [table(rows, COPY, engine.device)], engine.device)
        self._pool = ThreadPoolExecutor(number) if number > 1 else None

    def _in_order(self, directions: Sequence[Direction]) -> list[tuple[int, Direction]]:
        """Directions and their columns: those that change the fewest stages first."""
        changes = {name: sum(of_step.changed(self.stages, {name})) for name in {one.array for one in directions}}
        return sorted(enumerate(directions), key=lambda item: (changes[item[1].array], item[1].array, item[0]))

    def _groups(self, directions: Sequence[Direction]) -> tuple[np.ndarray, np.ndarray]:
        """For each group and part a mask of stages, and the column of each of its directions."""
        count = -(-len(directions) // self.width)
        columns = np.full((count, self.width), -1, np.int32)
        columns.reshape(-1)[: len(directions)] = [column for column, _ in self.directions]
        masks = np.zeros((count, len(self.parts)), np.int32)
        before: set[str] = set()
        for group in range(count):
            own = {one.array for _, one in self.directions[group * self.width : (group + 1) * self.width]}
            runs = of_step.changed(self.stages, own | before) if group else [True] * len(self.stages)
            before, flags = own, iter(runs)
            for number, part in enumerate(self.parts):
                for bit, stage in enumerate(part):
                    wanted = next(flags) and not (group and of_step.is_factor(stage))
                    masks[group, number] |= int(wanted) << bit
        return masks, columns

    def run(self) -> wp.array:
        """The derivatives, [world, result, direction], at the engine's present state and acceleration."""
        self._copy()
        if self._pool is None:
            self.runs[0]()
        else:
            list(self._pool.map(_Run.__call__, self.runs))
        return self.out


class _Run:
    """Worlds that one thread takes, with scratch of one world."""

    def __init__(self, of: Tangents, worlds: np.ndarray, touched: Collection[str], results: Sequence[Direction]):
        engine, device = of.engine, of.engine.device
        self.scratch = Room(of.width, device, one_world=True)
        m, d = engine.m.__ctype__(), engine.d.__ctype__()
        for name, kind, held in leaves(Data, d):  # what is a result or an input, whether or not a stage reads it
            if name in {one.array for one in [*results, *(one for _, one in of.directions)]}:
                self.scratch.make(held, kind.dtype)
        wide_d = widened(Data, d, [self.scratch], touched)
        wide_m = widened(Model, m, [self.scratch, of.model], touched)
        block = type("Arguments", (ctypes.Structure,), {
            "_fields_": [("m", type(wide_m)), ("d", type(wide_d)), ("w", ctypes.c_int32), ("chosen", ctypes.c_int32)]
        })  # fmt: skip
        self._args: Any = block(wide_m, wide_d, 0, 0)
        names = {name: held.data for name, _, held in [*leaves(Model, m), *leaves(Data, d)]}
        arrays = {**of.model.arrays, **self.scratch.arrays}
        self.wide = {name: arrays[place] for name, place in names.items() if place in arrays}
        plan = self._plan(of, results)
        kernels = [part_kernel(part, of.width) for part in of.parts]
        hooks = [kernel.module.load(device, 1).get_kernel_hooks(kernel).forward for kernel in kernels]
        entries = wp.array(
            np.array([ctypes.cast(hook, ctypes.c_void_p).value for hook in hooks], np.uint64), device=device
        )
        self._kept = plan, entries, kernels
        at = ctypes.addressof(self._args)
        where = [0, at, at + block.w.offset, at + block.chosen.offset]  # type: ignore[attr-defined]
        first, last = int(worlds[0]), int(worlds[-1]) + 1
        self._call = Call(drive, 1, [plan, of.out, entries, *where, first, last], device)
        self._call.args.bounds = self._call.bounds

    def _plan(self, of: Tangents, results: Sequence[Direction]) -> Plan:
        device, width = of.engine.device, of.width
        state = {fields_of(State)[name].name for name in State.vars if name != "status"} | {"qacc"}
        given = [
            wide for name, wide in sorted(self.wide.items())
            if wide.given.data in self.scratch.arrays and (name in state or name not in written(of.stages))
        ]  # fmt: skip
        plan = Plan()
        plan.given = table([one.copies(per_world=True) for one in given if not one.is_empty], COPY, device)
        seeds = [[*self._place(one), k % width] for k, (_, one) in enumerate(of.directions)]
        plan.seeds = table(seeds, SEED, device)
        starts = np.minimum(np.arange(len(of.columns) + 1) * width, len(seeds)).astype(np.int32)
        plan.seedadr = wp.array(starts, dtype=int, device=device)
        plan.results = table([self._place(one) for one in results], RESULT, device)
        plan.columns = wp.array(of.columns, dtype=int, device=device)
        plan.masks = wp.array(of.masks, dtype=int, device=device)
        return plan

    def _place(self, one: Direction) -> list[int]:
        """Where a number is, and what it is made of: a row of the tables of seeds and results."""
        wide: Wide = self.wide[one.array]
        at = wide.made.data + int(one.element) * wide.made.strides[1] + one.component * wide.number.wide
        return [at, wide.made.strides[0], one.turn, wide.number.plain, wide.number.wide]

    def __call__(self) -> None:
        self._call()
