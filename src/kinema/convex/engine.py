"""The engine: one class of identical worlds, its arrays, and the launches that move them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import warp as wp

from kinema import building, headers
from kinema.collector import paused
from kinema.collide.bundles import Shapes
from kinema.compile.constants.topology import contributing_actuators
from kinema.convex import contact_parameters, coupling, geom_sizes, metric_pattern, parts, support
from kinema.convex import step as recipe
from kinema.convex.capacity import Guard
from kinema.convex.collision import Collider, capacity
from kinema.convex.contact_parameters import check_expandable
from kinema.convex.data import Data
from kinema.convex.extension import Extension, extension_of
from kinema.convex.flex.pairs import mixed_lists
from kinema.convex.flex.tables import is_wide
from kinema.convex.idle import idle, touched
from kinema.convex.last_good import LastGood
from kinema.convex.layout import Layout
from kinema.convex.lists import in_use, lists
from kinema.convex.memory import measure
from kinema.convex.model import Model
from kinema.convex.named import INPUTS, NamedArrays
from kinema.convex.origin import origin
from kinema.convex.parameters import Follower, check_parameter
from kinema.convex.parts import Range, Work, title
from kinema.convex.present import Present
from kinema.convex.requests import Requests
from kinema.convex.requests import recipes as on_request
from kinema.convex.reset import StatePutter, initial_state
from kinema.convex.resting import Resting
from kinema.convex.stage import (
    WARP_LANES,
    Stage,
    between_hosts,
    cohort_kernel,
    cohort_of,
    lane_block,
    lane_kernel,
    plan,
    turns_kernel,
)
from kinema.devices import device_named
from kinema.engine import Capacity
from kinema.errors import BuildError, SimulationError, UnknownKey

ASLEEP = {"tree_asleep", "asleep_qpos"}  # who sleeps, and where
GIVEN = INPUTS | {"status"}  # what nobody computes on request
BLOCKS, TEAMS = 8192, 2048  # blocks on CUDA that are enough, where most would have nothing to do; teams fill more of it
RANGES = 4  # ranges of worlds a thread, so that a thread that is held up does not hold up the others


@dataclass(frozen=True)
class Launch:
    """One kernel of a recipe on CUDA, or something on the host that launches its own.

    Attributes:
        aside: It goes on the second stream.
        waits: Number of the run on the second stream that must have ended before; None: it need not wait.
        run: Number of the run it is part of (schedule.py).
    """

    kernel: wp.Kernel | None = None
    dim: int | tuple[int, ...] = 0
    inputs: Sequence = ()
    block: int = 256
    aside: bool = False
    waits: int | None = None
    run: int = 0
    host: Callable[[Model, Data], None] | None = None


class Engine(NamedArrays):
    """Runs MuJoCo's pipeline for `nworld` worlds of one model.

    Args:
        source: Any object with mjModel's attributes.
        nworld: Number of worlds.
        device: Warp device; None: the current one.
        threads: CPU threads to spread worlds over.
        nconmax: Room for contacts of a world; None: estimated from the model; on CUDA, where it can grow, sparingly.
        nefcmax: Room for constraint rows of a world; None: what the model could ask for, with so many contacts; on
            CUDA, where it can grow and `nconmax` is not given, sparingly as well.
        on_overflow: What to do when contacts or rows find no room: "grow", "warn" or "raise" (capacity.py).
        extension: What plugins add; None: what the plugins the model names add.
        cuda: Decide on stages, lists and scratch as for a CUDA device, to see without one what they come to; None: as
            the device is.
    """

    def __init__(
        self, source, nworld: int = 1, *, device=None, threads: int = 1, nconmax: int | None = None,
        nefcmax: int | None = None, on_overflow: str = "grow", extension: Extension | None = None,
        cuda: bool | None = None,
    ):  # fmt: skip
        device = device_named(device)
        support.check(source)
        if device.is_cpu:
            headers.keep()
        self.threads = max(1, min(threads, nworld))
        self.extension = extension_of(source, device, nworld) if extension is None else extension
        self.source, self.present, self.follower = source, Present(source), Follower(self)
        self._room, self._count = (nconmax, nefcmax), nworld
        self.cuda = device.is_cuda if cuda is None else cuda
        self._sparing = self.cuda and on_overflow == "grow"  # there worlds come in thousands
        given = {**self.extension.arrays, **self.lists_of_numbers()}
        layout = Layout(source, nworld, device, self.sizes(), given)
        super().__init__(source, nworld, device, layout)
        self.present.layout = self.layout
        self.collider = self._collider()
        self.m = self.layout.fill(Model, {"collision": self.collider.bundle})
        self.recipes: dict[str, tuple[Stage, ...]] = {"step": ()}
        self.recipes |= self.decide()
        self.layout.idle = idle(self.recipes["step"]) if self.cuda else set()
        self.d = self.layout.fill(Data)
        self._awake: dict[str, tuple[Stage, ...]] = {}  # recipes that have all their arrays
        self.substeps = recipe.substeps(self.present.to("recipe"))
        self._initial: dict[str, np.ndarray] | None = None
        self._graphs: dict[tuple, wp.Graph] = {}
        self._commands: dict[object, list[Any]] = {}
        self._has_host: dict[str, tuple[tuple[Stage, ...], bool]] = {}
        self._putters: dict[str, StatePutter] = {}
        self._pool: ThreadPoolExecutor | None = None
        self._prepared: tuple[tuple[Stage, ...], tuple[list[int], list[int]]] | None = None  # stages, their addresses
        self._side: wp.Stream | None = None
        self._resting: Resting | None = None
        self._remix: tuple[int, contact_parameters.Mixing] | None = None
        self.kept: LastGood | None = None
        self.requests = Requests(self)
        self.guard = Guard(self, on_overflow)
        self.reset()

    # ------------------------------------------------------------------------------------------ parameters

    def set_parameter(self, name: str, value) -> None:
        """Write a parameter of the model: for all worlds alike, or world by world once it is expanded."""
        check_parameter(self.layout, name)
        if name == geom_sizes.SIZE:
            self._check_sizes(np.broadcast_to(np.asarray(value, np.float32), self.shape(name)))
        super().set_parameter(name, value)
        self.follower.follow(name)

    def _check_expandable(self, name: str) -> None:
        check_parameter(self.layout, name)
        check_expandable(name, self.collider.detector, flexes=bool(self.source.nflex))
        if name == geom_sizes.SIZE:
            self._check_sizes(self.read(name))

    def may_differ(self, name: str, value: np.ndarray) -> bool:
        """Whether a field of the model may have these values in some worlds and others in others."""
        try:
            self._check_expandable(name)
            if name == geom_sizes.SIZE:
                self._check_sizes(np.asarray(value, np.float32))
        except (BuildError, UnknownKey):
            return False
        return True

    def _check_sizes(self, size: np.ndarray) -> None:
        geom_sizes.check(self.collider.detector, self.layout, size)

    def follow_on_device(self, name: str) -> None:
        """Let the parameters of contacts follow one of geoms that was written to its array; nothing else follows."""
        if name in contact_parameters.MIXED:
            if self._remix is None or self._remix[0] != self.version:
                self._remix = self.version, contact_parameters.Mixing(self.collider.detector, self.layout)
            self._remix[1].launch()

    def set_option(self, name: str, value: int) -> None:
        """Change a switch of mjOption, such as disableactuator, in all worlds."""
        self.follower.switch(name, value)

    def _refill(self, name: str) -> None:
        """Make the array of a parameter anew, and everything that holds it."""
        super()._refill(name)
        self.remake()
        self.follower.moved(name)

    def sizes(self) -> dict[str, int]:
        """Lengths that are not the model's own, by what the model as it is now could ask for."""
        m = self.present.to("recipe")
        room = capacity(
            m, self.present.to("collision"), *self._room, sparing=self._sparing, worlds=0 if self.cuda else self._count
        )
        lists = self.lists_of_numbers()
        entries = {
            "nC": len(lists["M_colind"]), "nmetric": len(lists["dof_metric_colind"]),
            "nmetricfull": len(lists["dof_metric_full"]),
        }  # fmt: skip
        return {**room, **self.scratch_sizes(room["nefcmax"]), **self.extension.sizes, **entries}

    def scratch_sizes(self, rows: int) -> dict[str, int]:
        """Lengths of scratch, with room for so many rows."""
        return recipe.scratch_sizes(self.present.to("recipe"), rows, cuda=self.cuda)

    @property
    def rows(self) -> int:
        """Room for rows of a world."""
        return self.layout.capacity["nefcmax"]

    def lists_of_numbers(self) -> dict[str, np.ndarray]:
        """Lists of the model that follow from its numbers: the sparsity of M, actuators that add to it, the metric of
        the discrete integrator, and parameters of contacts with flexes."""
        m = self.present.to("recipe")
        couples = {name: np.asarray(getattr(self.source, name)) for name in coupling.FIELDS}
        if coupling.is_undone(m):
            couples = coupling.pattern(m)
        mixed = mixed_lists(self.present.to("recipe", exactly=True))
        return {**couples, **contributing_actuators(m), **metric_pattern.pattern(m, couples), **mixed}

    def decide(self) -> dict[str, tuple[Stage, ...]]:
        """The stages of every recipe that is in use, by what the model as it is now asks for."""
        m, collision = self.present.to("recipe"), self.collider.stages
        make = {
            "step": lambda: recipe.step(m, collision, self.extension, cuda=self.cuda, rows=self.rows),
            "inverse": lambda: recipe.inverse_dynamics(m, collision, self.extension),
            "motion": recipe.motion,
            "poses": lambda: recipe.poses(m),
        }
        return {name: tuple(make[name]()) for name in self.recipes if name in make}

    def depends(self) -> set[str]:
        """The model's fields that anything was decided, uploaded or computed from."""
        return self.present.all_read() | set(self.layout.declared) | self.layout.noted

    def remake(self) -> None:
        """Tell kernels of arrays of the model that have moved."""
        self.m = self.layout.fill(Model, {"collision": self.collider.bundle})
        self._commands.clear()
        self._graphs.clear()
        self.version += 1

    def _collider(self) -> Collider:
        """Collision detection for the lists as long as they are now."""
        return Collider(
            self.layout, self.present, self.extension.fields, cuda=self.cuda, sparing=self._sparing
        )

    def rebuild(self, *, detection: bool = True) -> None:
        """Make anew what depends on the lengths of lists; and collision detection, unless only contacts are longer."""
        if detection:
            self.collider = self._collider()
        else:
            self.collider.regrow(self.layout)
        self.d = self.layout.fill(Data)
        self._putters.clear()
        stale = ["efc_want"] if self.collider.active else ["efc_want", "ncon", "contact_found"]
        for name in set(stale) - self.layout.idle:  # what a stage wrote that may not be there any more
            self.layout.arrays[name].zero_()
        self.remake()

    @property
    def capacity(self) -> Capacity:
        """Room for contacts and constraint rows of a world, and the most that any world has wanted."""
        return self.guard.capacity

    def reserve(self, contacts: int = 0, rows: int = 0) -> None:
        """Make room for so many contacts and constraint rows of a world: a step recorded into a graph cannot grow."""
        room = self.layout.capacity
        wanted = {**room, "nconmax": max(room["nconmax"], contacts), "nefcmax": max(room["nefcmax"], rows)}
        self.layout.resize(wanted | self.scratch_sizes(wanted["nefcmax"]))
        self.rebuild()
        self.recipes |= self.decide()  # groups that hold the rows
        self.guard.look()

    def set_side_stream(self, stream: wp.Stream) -> None:
        """Launch what is aside on this stream; graphs made so far hold another one."""
        self._side = stream
        self._graphs.clear()

    def make_room(self, bits: int) -> None:
        """Lengthen the lists that worlds found too short within a graph, where nobody could look."""
        self.guard.catch_up(bits)

    def initial_state(self) -> dict[str, np.ndarray]:
        """One world's state as the model defines it (mj_resetData)."""
        return initial_state(self.present.to("initial"), self.extension.state)

    def array(self, name: str) -> wp.array:
        """The device array of a field, [world, ...]; what is computed on request is from now on computed always."""
        self._held(name)
        if name not in GIVEN:
            self.requests.keep(name)
            self._wake({name})
        return self.layout.arrays[name]

    def _current(self, name: str) -> wp.array:
        self._held(name)
        if name not in GIVEN:
            self.requests.compute(name)
        return self.layout.arrays[name]

    def origin(self, name: str) -> tuple[str, list[str]]:
        """The function that writes a computed array, and the inputs it follows from."""
        stages = [*self.recipes["step"], *sum(on_request(self.source).values(), [])]
        by, inputs = origin(stages, name, self.inputs)
        if not by:
            by, inputs = origin(recipe.inverse_dynamics(self.source, self.collider.stages), name, self.inputs)
        return by, inputs

    def shapes(self) -> Shapes:
        """The geoms of all worlds where they are now, and what they are made of."""
        found = self.collider.detector
        return Shapes(found.geoms, found.meshes, found.hfields, found.settings)

    def in_use(self, name: str) -> np.ndarray:
        """A field as a host array; of contacts and constraint rows those that count (lists.py)."""
        return in_use(self, name) if name in lists() else self.read(name)

    @property
    def plugins(self) -> Sequence[str]:
        """Names of the instances of plugins that run."""
        return self.extension.names

    def memory(self) -> tuple[dict[str, int], dict[str, int]]:
        """Bytes by group: those that worlds share, and those of each world."""
        return measure(self)

    def last_good(self) -> LastGood:
        """Something that keeps the last good state of every world."""
        self.kept = self.kept or LastGood(self)
        return self.kept

    # ------------------------------------------------------------------------------------------ state

    def reset(self, worlds=None) -> None:
        """Put the given worlds (all by default) at the model's initial state, and revive those that were frozen."""
        if self._initial is None:
            self._initial = self.initial_state()
            if self.present.is_expanded("initial"):
                views = (self.present.to("initial", world) for world in range(self.nworld))
                each = [initial_state(view, self.extension.state) for view in views]
                self._initial = {name: np.stack([state[name] for state in each]) for name in self._initial}
        self.put(self._initial, worlds, keep="initial", per_world=self.present.is_expanded("initial"))

    def forget_initial(self) -> None:
        """Compute the initial state anew when it is wanted: the model has changed."""
        self._initial = None
        self._putters.pop("initial", None)

    def write(self, name: str, value: Any, worlds: Any = None) -> None:
        """Write a field; who sleeps then has nothing computed that is of this state."""
        super().write(name, value, worlds)
        if name in ASLEEP:
            super().write("sleep_settled", 0, worlds)

    def put(
        self, values: Mapping[str, np.ndarray], worlds=None, *, keep: str | None = None, per_world: bool = False
    ) -> None:
        """Write one world's values into the given worlds (all by default: mask, indices, or an array on the device).

        With `keep`, a name for them, the values are kept on the device for the next time. With `per_world` values are
        given for every world, of which those of the given worlds are written.
        """
        if not values.keys().isdisjoint(ASLEEP):
            values = {"sleep_settled": np.zeros(self.nworld if per_world else ()), **values}
        if not self.device.is_cuda and not (keep and isinstance(worlds, wp.array)):
            chosen = worlds.numpy().astype(bool) if isinstance(worlds, wp.array) else worlds
            for name, value in values.items():
                if np.size(value) and self.layout.arrays[name].size:
                    self.write(name, value[slice(None) if chosen is None else chosen] if per_world else value, chosen)
            return
        putter = self._putters.get(keep or "") or StatePutter(self.layout.arrays, values, per_world=per_world)
        if keep is not None:
            self._putters[keep] = putter
        if not isinstance(worlds, wp.array):
            mask = np.zeros(self.nworld, dtype=np.int32)
            mask[slice(None) if worlds is None else worlds] = 1
            worlds = wp.array(mask, dtype=int, device=self.device)
        putter.put(worlds)

    # ------------------------------------------------------------------------------------------ run

    def forward(self, worlds: wp.array | None = None) -> None:
        """Compute everything that follows from the state; nothing is advanced. Only the worlds of a mask, if given."""
        with self.only(worlds):
            self.guard.run(lambda: self._run("step", 1, advancing=False))
            self.requests.run_done()

    def step(self, nstep: int = 1) -> None:
        """Advance every world by nstep time steps."""
        if self.guard.lets_wait:
            self.guard.step(nstep)
        else:
            self.guard.run(lambda: self._run("step", nstep * self.substeps, advancing=True))
        self.requests.run_done()

    def inverse(self) -> None:
        """Compute qfrc_inverse from qpos, qvel and qacc."""
        self._offer("inverse")
        self.guard.run(lambda: self._run("inverse", 1, advancing=True))
        self.requests.run_done()

    def motion(self, worlds: wp.array | None = None) -> None:
        """Compute poses and velocities of bodies at the present state, no more; only of a mask's worlds, if given."""
        self._offer("motion")
        with self.only(worlds):
            self._run("motion", 1, advancing=True)

    def only(self, worlds: wp.array | None) -> AbstractContextManager[None]:
        """Let the other worlds rest; a mask is an integer array on the device, one a world."""
        if worlds is None:
            return nullcontext()
        self._resting = self._resting or Resting(self.array("status"))
        return self._resting.all_but(worlds)

    def poses(self) -> None:
        """Compute where everything is that can be seen, and nothing that a later step would notice."""
        self._offer("poses")
        self._run("poses", 1, advancing=True)

    def _offer(self, name: str) -> None:
        """Decide on a recipe when it is first wanted."""
        if name not in self.recipes:
            self.recipes[name] = ()
            self.recipes[name] = self.decide()[name]

    def _run(self, name: str, count: int, advancing: bool) -> None:
        """Run a recipe count times; a Runge-Kutta step counts four times."""
        stages = self.recipes[name]
        if self.layout.idle and self._awake.get(name) is not stages:
            self._wake(touched(stages))
            self._awake[name] = stages
        has_host = self._needs_host(name, stages)
        if not has_host and not self.device.is_cuda:
            self._launch_worlds(name, stages, count, advancing)
            return
        for k in range(count):
            first = not has_host or k % self.substeps == 0  # evaluation of a time step; kernels see it by themselves
            last = not has_host or k % self.substeps == self.substeps - 1
            if self.device.is_cuda:
                key = (name, advancing, first, last)
                if key not in self._graphs or self.device.is_capturing:
                    stages = self._due(name, advancing, first, last)
                    if self.device.is_capturing:  # somebody records a longer graph, which takes up the launches
                        self._launch_stages(stages)
                        continue
                    self._load(stages)  # capture must not load modules
                    with wp.ScopedCapture(device=self.device) as capture:
                        self._launch_stages(stages)
                    self._graphs[key] = capture.graph
                wp.capture_launch(self._graphs[key])
            else:
                for group in between_hosts(self._due(name, advancing, first, last)):
                    if group[0].launch:
                        group[0].launch(self.m, self.d)
                    else:
                        self._launch_worlds(group, group, 1, advancing)

    def _wake(self, names: Collection[str]) -> None:
        """Make arrays that were idle and no longer are."""
        if not self.layout.idle.isdisjoint(names):
            self.layout.wake(names)
            self.d = self.layout.fill(Data)
            self.remake()

    def graphs_of(self, key: str, make: Callable[[], list]) -> list[wp.Graph]:
        """Graphs of several lists of stages, each with something to do after it, captured when first asked for."""
        if (key, 0) not in self._graphs:
            halves = make()
            self._wake(touched([stage for stages, _ in halves for stage in stages]))
            for k, (stages, after) in enumerate(halves):
                self._load(stages)
                with wp.ScopedCapture(device=self.device) as capture:
                    self._launch_stages(stages)
                    if after:
                        after()
                self._graphs[key, k] = capture.graph
        return [graph for kept, graph in self._graphs.items() if kept[0] == key]

    def pieces(self) -> list[tuple[tuple[Stage, ...], Callable[[], None] | None]] | None:
        """A step on CUDA in pieces that somebody else records: stages for `launch`, and what to do after them.

        None where it cannot be recorded as pieces. Arrays are made; `works` says what is to be compiled.
        """
        cut = None if self.has_host("step") else self.guard.pieces()
        if cut is not None:
            self._wake(touched([stage for stages, _ in cut for stage in stages]))
        return cut

    def has_host(self, name: str) -> bool:
        """Whether some stage of a recipe is of the host."""
        return self._needs_host(name, self.recipes[name])

    def _needs_host(self, name: str, stages: tuple[Stage, ...]) -> bool:
        """Whether some stage of a recipe is of the host."""
        known = self._has_host.get(name)
        if known is None or known[0] is not stages:
            known = self._has_host[name] = stages, any(stage.launch for stage in stages)
        return known[1]

    def _due(self, name: str, advancing: bool, first: bool, last: bool) -> tuple[Stage, ...]:
        """The stages of one evaluation, without those on the host that are not to be run now."""
        return tuple(
            s for s in self.recipes[name]
            if (advancing or not s.advances)
            and (s.launch is None or not s.once or (last if s.advances else first))
        )  # fmt: skip

    def _launch_worlds(self, key: object, stages: tuple[Stage, ...], count: int, advancing: bool) -> None:
        """The stages of a world back to back (parts.py); threads take ranges of worlds as they become free."""
        if self.device.is_capturing:
            raise SimulationError(
                "a step on the CPU cannot be recorded into a graph, which holds launches of Warp's only: step outside "
                "of wp.ScopedCapture, or on a CUDA device"
            )
        ranges = self._commands.get(key) or self._make_ranges(key, stages)
        for worlds in ranges:
            worlds.set(count, advancing)
        if len(ranges) == 1:
            ranges[0].run()
            return
        self._pool = self._pool or ThreadPoolExecutor(self.threads)
        list(self._pool.map(Range.run, ranges))

    def prepare(self, also: Sequence[Work] = ()) -> None:
        """Compile what a step on the CPU needs, and something of somebody else's beside it."""
        stages = self.recipes["step"]
        if self._needs_host("step", stages):
            building.side_by_side(also)
        else:
            self._prepared = stages, parts.load(stages, also, many=self.nworld >= parts.WIDE_FROM)

    def _make_ranges(self, key: object, stages: tuple[Stage, ...]) -> list[Range]:
        many = self.nworld >= parts.WIDE_FROM
        made = self._prepared[1] if self._prepared and self._prepared[0] is stages else parts.load(stages, many=many)
        bounds = parts.bounds_of(self.nworld, 1 if self.threads == 1 else RANGES * self.threads, wide=many)
        pairs = zip(bounds[:-1], bounds[1:], strict=True)
        self._commands[key] = [Range(made, [self.m, self.d], first, last, self.device) for first, last in pairs]
        return self._commands[key]

    def launches(self) -> list[Launch]:
        """The kernels of one step on CUDA, in order."""
        return self._launches(self.recipes["step"])

    def _launches(self, stages: Sequence[Stage]) -> list[Launch]:
        """The kernels of a recipe, one a run of stages."""
        launches = []
        for number, run in enumerate(plan(stages)):
            stage, when = run.stages[0], (run.aside, run.waits, number)
            if stage.launch:
                launches.append(Launch(None, 0, (), 0, *when, host=stage.launch))
            elif stage in self.collider.stages:
                found = self.collider.launches()
                launches += [Launch(kernel, dim, inputs, block, *when) for kernel, dim, inputs, block in found]
            elif stage.lanes and all(each.rows for each in run.stages):
                block = lane_block(run.stages)
                enough = BLOCKS if stage.threads <= WARP_LANES else TEAMS
                turns = max(1, self.nworld * stage.threads * stage.groups // block // enough)
                dim, inputs = (-(-self.nworld // turns), stage.threads * stage.groups), [self.m, self.d]
                inputs += [self.nworld, turns]
                launches.append(Launch(turns_kernel(run.stages), dim, inputs, block, *when))
            elif stage.lanes:
                dim, inputs = (self.nworld, stage.threads * stage.groups), [self.m, self.d]
                launches.append(Launch(lane_kernel(run.stages), dim, inputs, lane_block(run.stages), *when))
            else:
                worlds, parts = cohort_of(self.nworld, is_wide(self.source), self.device.sm_count)
                dim, inputs = (-(-self.nworld // worlds), parts, worlds), [self.m, self.d, self.nworld]
                kernel = cohort_kernel(run.stages, parts, worlds)
                launches.append(Launch(kernel, dim, inputs, worlds * parts, *when))
        return launches

    def works(self, stages: Sequence[Stage]) -> dict[tuple[wp.Module, int], Work]:
        """Kernels of a recipe that are not loaded yet: module and threads of a block, and what loads them."""
        runs = plan(stages)
        works: dict[tuple[wp.Module, int], Work] = {}
        for launch in self._launches(stages):
            if launch.kernel is None:
                continue
            module, stage = launch.kernel.module, runs[launch.run].stages[0]
            label = launch.kernel.key if stage in self.collider.stages else title(runs[launch.run].stages)
            if (self.device.context, launch.block) not in module.execs:
                works[module, launch.block] = f"{label} for CUDA", partial(module.load, self.device, launch.block)
        return works

    def _load(self, stages: Sequence[Stage]) -> None:
        """Compile and load the kernels of a recipe, side by side."""
        with paused():
            building.side_by_side(list(self.works(stages).values()))

    def launch(self, stages: Sequence[Stage]) -> None:
        """Launch a recipe, on the present stream and what is aside on the second one."""
        self._launch_stages(stages)

    def _launch_stages(self, stages: Sequence[Stage]) -> None:
        """Launch a recipe; what is aside goes on a second stream, until somebody waits for it."""
        main = wp.get_stream(self.device)
        self._side = self._side or wp.Stream(self.device)
        made: dict[int, wp.Event] = {}  # runs on the second stream, and when they have ended
        for launch in self._launches(stages):
            if launch.waits in made:
                main.wait_event(made[launch.waits])
            stream = self._side if launch.aside else main
            if launch.aside and launch.run not in made:
                self._side.wait_event(main.record_event())
            if launch.kernel:
                wp.launch(launch.kernel, launch.dim, launch.inputs, stream=stream, block_dim=launch.block)
            elif launch.host:
                launch.host(self.m, self.d)
            if launch.aside:
                made[launch.run] = self._side.record_event()
        if made:
            main.wait_event(made[max(made)])
