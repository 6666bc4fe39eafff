"""The engine: one class of identical worlds, its arrays, and the launches that move them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import warp as wp

from kinema.convex import step as recipe
from kinema.convex.data import Data
from kinema.convex.layout import Layout
from kinema.convex.model import Model
from kinema.convex.stage import WARP_LANES, Stage, item_kernel, lane_kernel, runs, world_kernel


class Engine:
    """Runs MuJoCo's pipeline for `nworld` worlds of one model.

    Args:
        source: Any object with mjModel's attributes.
        nworld: Number of worlds.
        device: Warp device; None: the current one.
        threads: CPU threads to spread worlds over.
    """

    def __init__(self, source, nworld: int = 1, *, device=None, threads: int = 1):
        self.source = source
        self.nworld = nworld
        self.device = wp.get_device(device)
        self.threads = max(1, min(threads, nworld))
        self.layout = Layout(source, nworld, self.device, {"nconmax": 0, "nefcmax": 0})
        self.m = self.layout.fill(Model)
        self.d = self.layout.fill(Data)
        self._graphs: dict[str, wp.Graph] = {}
        self._pool: ThreadPoolExecutor | None = None
        self.reset()

    # ------------------------------------------------------------------------------------------ state

    def array(self, name: str) -> wp.array:
        """The device array of a field of mjModel's or mjData's, [world, ...]."""
        return self.layout.arrays[name]

    def read(self, name: str) -> np.ndarray:
        """A field of mjData's as a host array with a leading world axis, shaped as MuJoCo shapes it."""
        return self.array(name).numpy()

    def write(self, name: str, value) -> None:
        """Write a field; the value is broadcast over worlds."""
        array = self.array(name)
        values = np.broadcast_to(np.asarray(value, dtype=array.numpy().dtype), array.numpy().shape)
        array.assign(np.ascontiguousarray(values))

    def reset(self) -> None:
        """Put every world at the model's initial state."""
        for name in ("qvel", "act", "qacc_warmstart", "ctrl", "qfrc_applied", "xfrc_applied", "time"):
            self.array(name).zero_()
        self.write("qpos", self.source.qpos0)
        if self.source.neq:
            self.write("eq_active", self.source.eq_active0)
        mocap = np.flatnonzero(np.asarray(self.source.body_mocapid) >= 0)
        if len(mocap):
            order = mocap[np.argsort(np.asarray(self.source.body_mocapid)[mocap])]
            self.write("mocap_pos", np.asarray(self.source.body_pos)[order])
            self.write("mocap_quat", np.asarray(self.source.body_quat)[order])

    # ------------------------------------------------------------------------------------------ run

    def forward(self) -> None:
        """Compute everything that follows from the state; nothing is advanced."""
        self._run("forward", recipe.forward, 1)

    def step(self, nstep: int = 1) -> None:
        """Advance every world by nstep time steps."""
        self._run("step", recipe.step, nstep)

    def _run(self, name: str, make, nstep: int) -> None:
        stages = tuple(make(self.source))
        if self.device.is_cuda:
            if name not in self._graphs:
                self._launch_stages(stages)  # loads the modules; capture must not
                with wp.ScopedCapture(device=self.device) as capture:
                    self._launch_stages(stages)
                self._graphs[name] = capture.graph
                nstep -= 1
            for _ in range(nstep):
                wp.capture_launch(self._graphs[name])
        else:
            self._launch_worlds(stages, nstep)

    def _launch_worlds(self, stages: tuple[Stage, ...], nstep: int) -> None:
        """One kernel runs all stages of a world; threads share the worlds out in equal ranges."""
        kernel = world_kernel(stages)
        bounds = np.linspace(0, self.nworld, self.threads + 1).astype(int)

        def launch(first: int, last: int) -> None:
            wp.launch(kernel, dim=last - first, inputs=[self.m, self.d, first, nstep], device=self.device)

        if self.threads == 1:
            launch(0, self.nworld)
            return
        self._pool = self._pool or ThreadPoolExecutor(self.threads)
        list(self._pool.map(launch, bounds[:-1].tolist(), bounds[1:].tolist()))

    def _launch_stages(self, stages: Sequence[Stage]) -> None:
        """One kernel a stage, or a run of whole-world stages."""
        for group in runs(stages):
            stage = group[0]
            if stage.whole:
                kernel, dim, inputs = world_kernel(group), self.nworld, [self.m, self.d, 0, 1]
                block = 32
            elif stage.lanes:
                kernel, dim, inputs = lane_kernel(stage), (self.nworld, WARP_LANES), [self.m, self.d]
                block = 128
            else:
                kernel, dim, inputs = item_kernel(stage), (self.layout.size(stage.over), self.nworld), [self.m, self.d]
                block = 128
            wp.launch(kernel, dim=dim, inputs=inputs, device=self.device, block_dim=block)
