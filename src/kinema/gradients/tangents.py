"""Derivatives of a step along many directions, for every world: the step itself, in dual numbers.

A direction gives some inputs the derivative 1. `width` of them, a group, are carried at once, a number having that many
derivatives; groups follow each other:

    for every world, for every group:
        inputs without derivatives (copy.cpp), then those of the group's directions (plant.cpp)
        the stages that change along these directions, or did along the last group's (stages.py)
        derivatives of the results, into the columns of the directions (gather.cpp)

On the CPU all of it is one call a thread: worlds are shared out as for a step, and a thread has one world's scratch. On
CUDA a warp takes a world and a kernel a part, whose stages share out their items over lanes, phase by phase; a group is
a few launches for all worlds.

Nothing is allocated after the first run. A run leaves the engine's arrays alone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import warp as wp
from warp._src.context import _build_cuda_kernel_params
from warp._src.types import type_scalar_type

from kinema.convex.access import written
from kinema.convex.bundle import fields_of
from kinema.convex.call import Call, repeatable
from kinema.convex.data import Data, State
from kinema.convex.model import Model
from kinema.convex.parts import parts
from kinema.convex.solve.native import WARP
from kinema.convex.stage import Stage
from kinema.errors import BuildError
from kinema.gradients import stages as of_step
from kinema.gradients import transcribe
from kinema.gradients.arrays import Room, Wide, leaves, table, widened
from kinema.gradients.direction import Direction, Moves, inputs_of
from kinema.gradients.tangent_kernels import (
    BLOCK,
    MASK,
    Plan,
    begin_group,
    copy_model,
    drive,
    end_group,
    in_phases,
    part_kernel,
    part_kernel_of_warps,
)

WIDTH = {"cpu": 16, "cuda": 8}
"""Directions that are carried at once."""

FIXED = ("Hulls.", "Solids.", "Meshes.", "HeightFields.")
"""Arrays of the model that stay as they were compiled, by their beginnings: they are large, and copied once."""

COPY, SEED, RESULT = 20, 7, 5  # columns of the tables


def _names_of(engine: Any) -> dict[str, set[str]]:
    """All names that lead to the place a name leads to."""
    held = [*leaves(Model, engine.m.__ctype__()), *leaves(Data, engine.d.__ctype__())]
    at: dict[int, set[str]] = {}
    for name, _, array in held:
        if array.data:
            at.setdefault(array.data, set()).add(name)
    return {name: at[array.data] for name, _, array in held if array.data}


class Colored(NamedTuple):
    """A direction, its number among those that are carried, and the column of its derivatives."""

    color: int
    column: int
    moves: Moves


def model_copies(room: Room, engine: Any, *, fixed: bool) -> Callable[[], None]:
    """Copies what the model says into a room; `fixed`: what no program can write."""
    names = {held.data: name for name, _, held in leaves(Model, engine.m.__ctype__())}
    rows = [
        one.copies(per_world=False) for place, one in room.arrays.items()
        if not one.is_empty and names[place].startswith(FIXED) == fixed
    ]  # fmt: skip
    if not rows:
        return lambda: None
    lanes = 256 if engine.device.is_cuda else 1
    inputs = [table(rows, COPY, engine.device), lanes]
    return repeatable(copy_model, len(rows) * lanes, inputs, engine.device)


class Tangents:
    """Derivatives of results of a step along directions, of every world.

    Args:
        engine: The engine, whose state, acceleration and contacts are taken as they are.
        directions: One a column.
        results: One a row.
        width: Directions carried at once.
        cut: Puts stages into parts, each compiled by itself.
        colors: The column of each direction, where several go together.
        stages: Stages to run instead of those of a step that the results depend on.
        known: Stages that the engine has run: what the first directions do not change is copied from there.
        given: Arrays they start from, beside the state, though they may write them; None: those of a step.
        out: Where derivatives go, [world, result, column]; None: an array of its own.
    """

    def __init__(
        self, engine: Any, directions: Sequence[Moves], results: Sequence[Direction], *, width: int | None = None,
        cut: Callable[[Sequence[Stage]], list[tuple[Stage, ...]]] = parts, colors: Sequence[int] | None = None,
        stages: Sequence[Stage] | None = None, given: Collection[str] | None = None,
        known: Sequence[Stage] = (), out: wp.array | None = None,
    ):  # fmt: skip
        transcribe.install()
        self.engine = engine
        cuda = engine.device.is_cuda
        self.width = width or WIDTH["cuda" if cuda else "cpu"]
        self.given = of_step.given(engine.source) if given is None else given
        wanted = {one.array for one in results}
        self.stages = list(stages) if stages is not None else of_step.needed(of_step.differentiable(engine), wanted)
        pieces = cut(self.stages)
        if cuda:
            pieces = [in_phases(piece) for piece in pieces]
            self.stages = [stage for piece in pieces for stage in piece]
        self.parts = [p[k : k + MASK] for p in pieces for k in range(0, len(p), MASK)]
        self.results = results
        self._names = _names_of(engine)
        self.directions = self._in_order(directions, colors)
        count = max((one.color for one in self.directions), default=-1) + 1
        self.known = known
        self.masks, self.columns = self._groups(count)
        self.touched = frozenset[str]().union(*(s.access.reads | s.access.writes for s in self.stages))
        shape = engine.nworld, len(results), count
        self.out = wp.zeros(shape, dtype=float, device=engine.device) if out is None else out
        self.model = Room(self.width, engine.device)
        number = 1 if cuda or engine.threads == 1 else min(engine.nworld, engine.threads)
        shares = np.array_split(np.arange(engine.nworld), number)
        self.runs: list[Any] = [_OnCuda(self)] if cuda else [_OnThread(self, share) for share in shares]
        self._copy = model_copies(self.model, engine, fixed=False)
        model_copies(self.model, engine, fixed=True)()
        self._pool = ThreadPoolExecutor(number) if number > 1 else None

    def _in_order(self, directions: Sequence[Moves], colors: Sequence[int] | None) -> list[Colored]:
        """Directions by their colors; where each has its own, those that change the fewest stages come first."""
        if colors is not None:
            return sorted(map(Colored, colors, colors, directions), key=lambda one: one.color)
        names = {one.array for each in directions for one in inputs_of(each)}
        changes = {name: sum(of_step.changed(self.stages, self.called(name))) for name in names} | {"": 0}

        def key(item: tuple[int, Moves]) -> tuple[int, str, int]:
            name = max((one.array for one in inputs_of(item[1])), default="")
            return changes[name], name, item[0]

        in_order = sorted(enumerate(directions), key=key)
        return [Colored(k, column, each) for k, (column, each) in enumerate(in_order)]

    def called(self, array: str) -> set[str]:
        """All names of an array: collision detection has its own for some of the model's."""
        return self._names.get(array, {array})

    def moved(self, directions: Iterable[Moves]) -> set[str]:
        """Names of all arrays that move along some directions."""
        return set[str]().union(*(self.called(one.array) for each in directions for one in inputs_of(each)))

    def _groups(self, colors: int) -> tuple[np.ndarray, np.ndarray]:
        """For each group and part a mask of stages, and the column of each of its colors."""
        count = max(1, -(-colors // self.width))
        columns = np.full((count, self.width), -1, np.int32)
        for one in self.directions:
            columns.reshape(-1)[one.color] = one.column
        masks = np.zeros((count, len(self.parts)), np.int32)
        before: set[str] = set()
        left, self.copied = [False] * len(self.stages), set[str]()
        for group in range(count):
            own = self.moved(one.moves for one in self.directions if one.color // self.width == group)
            runs = of_step.changed(self.stages, own | before)
            if group == 0:
                left = of_step.left_alone(self.stages, self.known, runs)
                runs = [not there for there in left]
            again = [stage for stage, run in zip(self.stages, runs, strict=True) if run]
            resting = [stage for stage, run, there in zip(self.stages, runs, left, strict=True) if there and not run]
            needed = {one.array for one in self.results}.union(*(stage.access.reads for stage in again))
            self.copied |= needed & written(resting)
            before, flags = own, iter(runs)
            for number, part in enumerate(self.parts):
                for bit, stage in enumerate(part):
                    wanted = next(flags) and not (group and of_step.is_factor(stage))
                    masks[group, number] |= int(wanted) << bit
        return masks, columns

    def prepare(self) -> None:
        """Take the model as it is now; part of a run."""
        self._copy()

    def run(self) -> wp.array:
        """The derivatives, [world, result, direction], at the engine's present state, acceleration and contacts."""
        self.prepare()
        if self._pool is None:
            self.runs[0]()
        else:
            list(self._pool.map(_OnThread.__call__, self.runs))
        return self.out

    @property
    def memory(self) -> int:
        """Bytes of all arrays of duals."""
        return self.model.bytes + sum(run.scratch.bytes for run in self.runs)


class _Run:
    """Model and Data in duals, and the tables that go with them.

    Args:
        of: What is computed.
        worlds: Worlds that have scratch of their own.
    """

    def __init__(self, of: Tangents, worlds: int):
        self.of, engine = of, of.engine
        m, d = engine.m.__ctype__(), engine.d.__ctype__()
        room = of_step.more_room(engine.source, of.width)
        more = {held.data: room[name] for name, _, held in leaves(Data, d) if name in room}
        self.scratch = Room(of.width, engine.device, worlds, more)
        ends = {one.array for one in of.results} | of.moved(each.moves for each in of.directions)
        # what is a result or an input, whether or not a stage reads it; parameters too, if they are directions
        for name, kind, held in [*leaves(Data, d), *leaves(Model, m)]:
            if name in ends:
                self.scratch.make(held, kind.dtype)
        changed = written(of.stages) | ends
        mine = {  # whole numbers that nobody changes are the engine's
            name for name, kind, _ in leaves(Data, d)
            if name in of.touched and (name in changed or type_scalar_type(kind.dtype) in (wp.float32, wp.float64))
        }  # fmt: skip
        self.d = widened(Data, d, [self.scratch], mine)
        self.m = widened(Model, m, [self.scratch, of.model], of.touched)
        names = {name: held.data for name, _, held in [*leaves(Model, m), *leaves(Data, d)]}
        arrays = {**of.model.arrays, **self.scratch.arrays}
        self.wide = {name: arrays[place] for name, place in names.items() if place in arrays}
        self.plan = self._plan()

    def _plan(self) -> Plan:
        of, device, width = self.of, self.of.engine.device, self.of.width
        state = {fields_of(State)[name].name for name in State.vars if name != "status"} | set(of.given)
        changed = written(of.stages) | of.moved(each.moves for each in of.directions)
        given = [
            (name not in changed or name in of.copied, wide) for name, wide in sorted(self.wide.items())
            if wide.given.data in self.scratch.arrays and not wide.is_empty
            and (name in state or name not in written(of.stages) or name in of.copied)
        ]  # fmt: skip
        given.sort(key=lambda one: one[0])
        plan = Plan()
        plan.given = table([one.copies(per_world=True) for _, one in given], COPY, device)
        plan.moving = sum(not stays for stays, _ in given)
        seeds = [
            [*self._place(one), each.color % width, int(np.float32(one.weight).view(np.int32))]
            for each in of.directions for one in inputs_of(each.moves)
        ]  # fmt: skip
        groups = [each.color // width for each in of.directions for _ in inputs_of(each.moves)]
        starts = np.searchsorted(groups, np.arange(len(of.columns) + 1))
        plan.seeds = table(seeds, SEED, device)
        plan.seedadr = wp.array(starts, dtype=int, device=device)
        plan.results = table([self._place(one) for one in of.results], RESULT, device)
        plan.columns = wp.array(of.columns, dtype=int, device=device)
        plan.masks = wp.array(of.masks, dtype=int, device=device)
        return plan

    def _place(self, one: Direction) -> list[int]:
        """Where a number is, and what it is made of: a row of the tables of seeds and results."""
        if one.array not in self.wide:
            raise BuildError(f"{one.array} has no derivative: stages do not read it themselves")
        wide: Wide = self.wide[one.array]
        at = wide.made.data + int(one.element) * wide.made.strides[1] + one.component * wide.number.wide
        return [at, wide.made.strides[0], one.turn, wide.number.plain, wide.number.wide]


class _OnThread(_Run):
    """Worlds that one CPU thread takes, with scratch of one world."""

    def __init__(self, of: Tangents, worlds: np.ndarray):
        super().__init__(of, 1)
        device = of.engine.device
        block = type("Arguments", (ctypes.Structure,), {
            "_fields_": [("m", type(self.m)), ("d", type(self.d)), ("w", ctypes.c_int32), ("chosen", ctypes.c_int32)]
        })  # fmt: skip
        self._args: Any = block(self.m, self.d, 0, 0)
        self._kernels = [part_kernel(part, of.width) for part in of.parts]
        hooks = [kernel.module.load(device, 1).get_kernel_hooks(kernel).forward for kernel in self._kernels]
        places = np.array([ctypes.cast(hook, ctypes.c_void_p).value for hook in hooks], np.uint64)
        self._entries = wp.array(places, dtype=wp.uint64, device=device)
        at = ctypes.addressof(self._args)
        where = [0, at, at + block.w.offset, at + block.chosen.offset]  # type: ignore[attr-defined]
        first, last = int(worlds[0]), int(worlds[-1]) + 1
        self._inputs = [self.plan, of.out, self._entries, *where, first, last]
        self._call = Call(drive, 1, self._inputs, device)
        self._call.args.bounds = self._call.bounds

    def __call__(self) -> None:
        self._call()

    def place(self) -> list[int]:
        """Where a native caller finds it, to run it for other worlds: function, threads, arguments, first, last."""
        self._placed = call = Call(drive, 1, self._inputs, self.of.engine.device)
        call.args.bounds, at = call.bounds, call.address
        return [call.entry, call.bounds, at, at + call.offset("first"), at + call.offset("last")]


class _OnCuda(_Run):
    """All worlds on CUDA: a few kernels a group, recorded as one graph."""

    def __init__(self, of: Tangents):
        super().__init__(of, of.engine.nworld)
        self._graph: Any = None
        bytes_of = [np.frombuffer(bytearray(struct), np.uint8) for struct in (self.m, self.d)]  # type: ignore[arg-type]
        self._structs = [wp.array(each, dtype=wp.uint8, device=of.engine.device) for each in bytes_of]
        self._where = [ctypes.c_uint64(each.ptr) for each in self._structs]
        self._kernels = [part_kernel_of_warps(part, of.width) for part in of.parts]

    def _launches(self) -> list[wp.Launch]:
        of, device, n = self.of, self.of.engine.device, self.of.engine.nworld
        found = []

        def launch(kernel: wp.Kernel, inputs: list[Any], dim: int | tuple[int, int] = n) -> wp.Launch:
            found.append(wp.launch(kernel, dim=dim, inputs=inputs, device=device, record_cmd=True, block_dim=BLOCK))
            return found[-1]

        for group in range(len(of.masks)):
            launch(begin_group, [self.plan, group], (n, WARP))
            for number, kernel in enumerate(self._kernels):
                if of.masks[group, number]:
                    command = launch(kernel, [of.engine.m, of.engine.d, int(of.masks[group, number])], n * WARP)
                    command.params = [command.params[0], *self._where, *command.params[3:]]
                    command.params_addr = _build_cuda_kernel_params(command.params)
            launch(end_group, [self.plan, group, of.out], (n, WARP))
        return found

    def __call__(self) -> None:
        if self._graph is None:
            self._commands = self._launches()
            with wp.ScopedCapture(device=self.of.engine.device) as capture:
                for command in self._commands:
                    command.launch()
            self._graph = capture.graph
        wp.capture_launch(self._graph)
