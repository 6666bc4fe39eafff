"""A worker: a simulation of one block's worlds that is given the state of any block and advances it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from kinema.cluster.job import INITIAL, Batch, Call, Job, Piece
from kinema.cluster.shards import write_shard
from kinema.draws import Draws
from kinema.errors import BuildError
from kinema.simulation import STATE, Simulation

KEPT = (*STATE, "status")
"""The state of a world, and whether it is frozen."""


class Worker:
    """Runs calls of a job.

    Args:
        job: The job.
        device: Warp device; None: the current one.
        threads: CPU threads; None: one a core.
    """

    def __init__(self, job: Job, device: str | None = None, threads: int | None = None):
        if job.setup is not None:
            job.setup()
        self.job = job
        self.sim = Simulation(job.model, min(job.block, job.worlds), device, threads, capture_failures=False)
        self.nu = int(job.model.nu)

    def warm(self) -> None:
        """Load, and where need be compile, the kernels."""
        self.sim.forward()

    def advance(self, call: Call) -> Piece:
        """Make one call."""
        began = time.perf_counter()
        job, engine = self.job, self.sim.engine
        world = np.array(job.worlds_of(call.block))
        self._restore(call, world)
        kept: dict[str, list[np.ndarray]] = {name: [] for name in job.record}
        recorded = set(job.recorded(call.first, call.count))
        for step in range(call.first, call.first + call.count):
            ctrl = self._controls(call, world, step)
            if ctrl is not None:
                engine.write("ctrl", ctrl, slice(0, len(world)))
            self.sim.step(job.decimation)
            if step in recorded:
                for name, values in kept.items():
                    values.append(engine.read(name)[: len(world)].copy())
        records = {name: np.stack(values) for name, values in kept.items() if values}
        shard = write_shard(job.out, call.block, call.first, records) if job.out and records else None
        state = {name: engine.read(name)[: len(world)].copy() for name in KEPT}
        return Piece(state, {} if job.out else records, shard, time.perf_counter() - began)

    def _restore(self, call: Call, world: np.ndarray) -> None:
        """Put the block's worlds where the call begins; worlds the block has not got stand at the initial state."""
        self.sim.reset()
        if call.state is not None:
            for name, values in call.state.items():
                if values.size:
                    self.sim.engine.write(name, values, slice(0, len(world)))
        elif self.job.initial is not None:
            batch = Batch(self.sim, world, 0, Draws(self.job.seed, world, INITIAL), complete=False)
            for name, values in self.job.initial(batch).items():
                fitting = _fit(f"initial {name}", values, self.sim.engine.read(name)[: len(world)].shape)
                self.sim.set_state(worlds=np.arange(len(world)), **{name: fitting})

    def _controls(self, call: Call, world: np.ndarray, step: int) -> Any:
        """Controls of one step, (n, nu); None: nobody sets any."""
        if call.controls is not None:
            return call.controls[step - call.first]
        if self.job.policy is None:
            return None
        if self.job.refresh:
            self.sim.forward()
        draws = Draws(self.job.seed, world, step)
        batch = Batch(self.sim, world, step, draws, complete=self.job.refresh)
        return _fit("the policy's controls", self.job.policy(batch), (len(world), self.nu))


def _fit(what: str, values: Any, shape: tuple[int, ...]) -> np.ndarray:
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    values = np.asarray(values)
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise BuildError(f"{what}: an array of shape {values.shape} does not fit {shape}") from None
