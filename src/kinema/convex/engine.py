"""The engine: one class of identical worlds, its arrays, and the launches that move them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import warp as wp

from kinema.convex import geom_sizes
from kinema.convex import step as recipe
from kinema.convex.capacity import Capacity, Guard
from kinema.convex.collision import Collider, capacity
from kinema.convex.contact_parameters import MIXED, check_expandable, declare, mix
from kinema.convex.data import Data
from kinema.convex.extension import Extension, extension_of
from kinema.convex.layout import ALIASES, Layout
from kinema.convex.model import Model
from kinema.convex.reset import StatePutter, initial_state
from kinema.convex.stage import (
    COHORT,
    COHORT_BLOCK,
    LANE_BLOCK,
    PARTS,
    WARP_LANES,
    Stage,
    between_hosts,
    cohort_kernel,
    lane_kernel,
    plan,
    world_kernel,
)
from kinema.errors import BuildError
from kinema.model.mujoco_fields import data_fields, model_fields

FIXED = ("geom_rbound",)
"""Parameters that may not be changed: they follow from others."""


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


class Engine:
    """Runs MuJoCo's pipeline for `nworld` worlds of one model.

    Args:
        source: Any object with mjModel's attributes.
        nworld: Number of worlds.
        device: Warp device; None: the current one.
        threads: CPU threads to spread worlds over.
        nconmax: Room for contacts of a world; None: estimated from the model.
        on_overflow: What to do when contacts find no room: "grow", "warn" or "raise" (capacity.py).
        extension: What plugins add; None: what the plugins the model names add.
    """

    def __init__(
        self, source, nworld: int = 1, *, device=None, threads: int = 1, nconmax: int | None = None,
        on_overflow: str = "grow", extension: Extension | None = None,
    ):  # fmt: skip
        if getattr(source, "nflex", 0):
            raise BuildError("the model has flexes: deformable bodies are not simulated by this solver")
        self.source = source
        self.nworld = nworld
        self.device = wp.get_device(device)
        self.threads = max(1, min(threads, nworld))
        self.extension = extension_of(source, self.device, nworld) if extension is None else extension
        room = {**capacity(source, nconmax), **recipe.scratch_sizes(source), **self.extension.sizes}
        self.layout = Layout(source, nworld, self.device, room, self.extension.arrays)
        self.collider = Collider(self.layout, self.extension.fields)
        self.m = self.layout.fill(Model, {"collision": self.collider.bundle})
        self.d = self.layout.fill(Data)
        steps = recipe.step(source, self.collider.stages, self.extension, cuda=self.device.is_cuda)
        self.recipes = {"step": tuple(steps)}
        self.substeps = recipe.substeps(source)
        self._graphs: dict[tuple, wp.Graph] = {}
        self._commands: dict[object, list[wp.Launch]] = {}
        self._putters: dict[str, StatePutter] = {}
        self._pool: ThreadPoolExecutor | None = None
        self._side: wp.Stream | None = None
        self.guard = Guard(self, on_overflow)
        self.reset()

    # ------------------------------------------------------------------------------------------ state

    def array(self, name: str) -> wp.array:
        """The device array of a field of mjModel's or mjData's, [world, ...]."""
        return self.layout.arrays[name]

    def read(self, name: str) -> np.ndarray:
        """A field as a host array with a leading world axis, shaped as MuJoCo shapes it."""
        values = self.array(name).numpy()
        return values.reshape(self._shape(name) or values.shape)

    def write(self, name: str, value, worlds=None) -> None:
        """Write a field; the value is broadcast over worlds. Only the given worlds, when given (mask or indices)."""
        array = self.array(name)
        old = array.numpy()
        shape = self._shape(name) or old.shape
        value = np.asarray(value, dtype=old.dtype)
        if worlds is None:
            new = np.broadcast_to(value, shape)
        else:
            new = old.reshape(shape).copy()
            new[worlds] = value
        array.assign(np.ascontiguousarray(new).reshape(old.shape))

    def expand(self, name: str) -> None:
        """Let a parameter of the model differ per world; every world starts with the model's values."""
        if name in self.layout.expanded:
            return
        self._check_expandable(name)
        shape = self._shape(name) or self.array(name).shape
        self.layout.expanded[name] = np.broadcast_to(self.read(name), shape)
        self._refill(name)

    def set_parameter(self, name: str, value) -> None:
        """Write a parameter of the model: for all worlds alike, or world by world once it is expanded."""
        array = self.array(name)
        if name == geom_sizes.SIZE:
            self._check_sizes(np.broadcast_to(np.asarray(value, np.float32), (*array.shape, 3)))
        stored = getattr(array, "stored", None)
        if stored is None:
            self.write(name, value)
        else:
            old = stored.numpy()
            shape = (self._shape(name) or array.shape)[1:]
            stored.assign(np.broadcast_to(np.asarray(value, old.dtype), shape).reshape(old.shape))
        for twin, of in ALIASES.items():
            if of == name:
                self.set_parameter(twin, value)
        if self._mix(name):
            self._remake()
        self._resize(name)

    def _check_expandable(self, name: str) -> None:
        check_expandable(name, self.collider.detector)
        if name == geom_sizes.SIZE:
            self._check_sizes(self.read(name))

    def _check_sizes(self, size: np.ndarray) -> None:
        geom_sizes.check(self.collider.detector, self.layout, size)

    def _resize(self, name: str) -> None:
        """Let collision detection follow the sizes of geoms."""
        if name == geom_sizes.SIZE:
            geom_sizes.resize(self.collider.detector, self.layout)
            self._remake()

    def _mix(self, name: str) -> bool:
        """Let pairs of geoms follow a parameter of geoms; returns whether arrays have moved."""
        return name in MIXED and mix(self.collider.detector, self.layout)

    def set_option(self, name: str, value: int) -> None:
        """Change a switch of mjOption that kernels read as they run, such as disableactuator."""
        setattr(self.m.opt, name, value)
        self._commands.clear()  # recorded launches and graphs hold the old value
        self._graphs.clear()

    def is_parameter(self, name: str) -> bool:
        """Is this a number of the model that may be changed, and may differ per world?"""
        return name in self.layout.parameters and name not in FIXED

    def _refill(self, name: str) -> None:
        """Make the array of a parameter anew, and everything that holds it."""
        for twin in (name, *(twin for twin, of in ALIASES.items() if of == name)):
            if twin != name:
                self.layout.expanded[twin] = self.layout.expanded[name]
            del self.layout.arrays[twin]
        declare(self.layout)
        self._mix(name)
        self._remake()
        self._resize(name)

    def _remake(self) -> None:
        """Tell kernels of arrays of the model that have moved."""
        self.m = self.layout.fill(Model, {"collision": self.collider.bundle})
        self._commands.clear()
        self._graphs.clear()

    def rebuild(self) -> None:
        """Make anew what depends on the lengths of the lists of contacts and rows."""
        self.collider = Collider(self.layout, self.extension.fields)
        self.m = self.layout.fill(Model, {"collision": self.collider.bundle})
        self.d = self.layout.fill(Data)
        self._commands.clear()
        self._graphs.clear()

    @property
    def capacity(self) -> Capacity:
        """Room for contacts and constraint rows of a world, and the most that any world has wanted."""
        return self.guard.capacity

    def _shape(self, name: str) -> tuple[int, ...] | None:
        name = ALIASES.get(name, name)
        field = data_fields().get(name) or model_fields().get(name)
        if field is None or field.group == "size":
            return None
        return (self.nworld, *(self.layout.size(s) if isinstance(s, str) else s for s in field.shape))

    def reset(self, worlds=None) -> None:
        """Put the given worlds (all by default) at the model's initial state, and revive those that were frozen."""
        known = "initial" in self._putters
        self.put({} if known else initial_state(self.source, self.extension.state), worlds, keep="initial")

    def put(self, values: Mapping[str, np.ndarray], worlds=None, *, keep: str | None = None) -> None:
        """Write one world's values into the given worlds (all by default: mask, indices, or an array on the device).

        With `keep`, a name for them, the values are kept on the device for the next time.
        """
        if not self.device.is_cuda:
            chosen = worlds.numpy().astype(bool) if isinstance(worlds, wp.array) else worlds
            for name, value in values.items():
                if np.size(value):
                    self.write(name, value, chosen)
            return
        putter = self._putters.get(keep) or StatePutter(self.layout.arrays, values)
        if keep is not None:
            self._putters[keep] = putter
        if not isinstance(worlds, wp.array):
            mask = np.zeros(self.nworld, dtype=np.int32)
            mask[slice(None) if worlds is None else worlds] = 1
            worlds = wp.array(mask, dtype=int, device=self.device)
        putter.put(worlds)

    # ------------------------------------------------------------------------------------------ run

    def forward(self) -> None:
        """Compute everything that follows from the state; nothing is advanced."""
        self.guard.run(lambda: self._run("step", 1, advancing=False))

    def step(self, nstep: int = 1) -> None:
        """Advance every world by nstep time steps."""
        self.guard.run(lambda: self._run("step", nstep * self.substeps, advancing=True))

    def inverse(self) -> None:
        """Compute qfrc_inverse from qpos, qvel and qacc."""
        if "inverse" not in self.recipes:
            self.recipes["inverse"] = tuple(recipe.inverse_dynamics(self.source, self.collider.stages, self.extension))
        self.guard.run(lambda: self._run("inverse", 1, advancing=True))

    def motion(self) -> None:
        """Compute poses and velocities of bodies at the present state, and nothing else."""
        if "motion" not in self.recipes:
            self.recipes["motion"] = tuple(recipe.motion())
        self._run("motion", 1, advancing=True)

    def _run(self, name: str, count: int, advancing: bool) -> None:
        """Run a recipe count times; a Runge-Kutta step counts four times."""
        has_host = any(stage.launch for stage in self.recipes[name])
        if not has_host and not self.device.is_cuda:
            self._launch_worlds(name, self.recipes[name], count, advancing)
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

    def _due(self, name: str, advancing: bool, first: bool, last: bool) -> tuple[Stage, ...]:
        """The stages of one evaluation, without those on the host that are not to be run now."""
        return tuple(
            s for s in self.recipes[name]
            if (advancing or not s.advances)
            and (s.launch is None or not s.once or (last if s.advances else first))
        )  # fmt: skip

    def _launch_worlds(self, key: object, stages: tuple[Stage, ...], count: int, advancing: bool) -> None:
        """One kernel runs all stages of a world; threads take ranges of worlds as they become free."""
        if key not in self._commands:
            kernel = world_kernel(stages)
            parts = 1 if self.threads == 1 else min(self.nworld, RANGES * self.threads)
            bounds = np.linspace(0, self.nworld, parts + 1).astype(int).tolist()
            self._commands[key] = [
                wp.launch(
                    kernel, dim=last - first, inputs=[self.m, self.d, first, count, int(advancing)],
                    device=self.device, record_cmd=True,
                )
                for first, last in zip(bounds[:-1], bounds[1:], strict=True)
            ]  # fmt: skip
        commands = self._commands[key]
        for command in commands:
            command.set_param_at_index(3, count)
            command.set_param_at_index(4, int(advancing))
        if len(commands) == 1:
            commands[0].launch()
            return
        self._pool = self._pool or ThreadPoolExecutor(self.threads)
        list(self._pool.map(lambda command: command.launch(), commands))

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
                launches += [Launch(*launch, *when) for launch in self.collider.launches()]
            elif stage.lanes:
                dim, inputs = (self.nworld, WARP_LANES), [self.m, self.d]
                launches.append(Launch(lane_kernel(run.stages), dim, inputs, LANE_BLOCK, *when))
            else:
                dim, inputs = (-(-self.nworld // COHORT), PARTS, COHORT), [self.m, self.d, self.nworld]
                launches.append(Launch(cohort_kernel(run.stages), dim, inputs, COHORT_BLOCK, *when))
        return launches

    def _load(self, stages: Sequence[Stage]) -> None:
        for launch in self._launches(stages):
            if launch.kernel:
                launch.kernel.module.load(self.device, launch.block)

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
            else:
                launch.host(self.m, self.d)
            if launch.aside:
                made[launch.run] = self._side.record_event()
        if made:
            main.wait_event(made[max(made)])
