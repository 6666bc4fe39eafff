"""Workers as Ray actors, on this machine or many.

Ray's own retries are off: the driver knows what a lost call needs (the state it began with), and counts attempts.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable
from typing import Any

from kinema.cluster.executor import Executor, WorkerLost
from kinema.cluster.job import Call, Job, Piece
from kinema.cluster.worker import Worker
from kinema.errors import BuildError, need


class RayExecutor(Executor):
    """Workers on a Ray cluster. Needs the extra `cluster`.

    Args:
        workers: How many.
        address: Address of a running cluster, or "auto"; None: the one `ray.init` was called for, or a new local one,
            which is shut down by `close`.
        cpus: CPU cores of a worker.
        gpus: GPUs of a worker; a fraction lets several share one.
        device: Warp device of a worker; None: its GPU where it has one, otherwise the CPU.
    """

    def __init__(
        self, workers: int, *, address: str | None = None, cpus: int = 1, gpus: float = 0, device: str | None = None
    ):
        if workers < 1:
            raise BuildError(f"workers={workers}: at least one has to do the work")
        self._ray = need("ray", "cluster", "Rollouts on a cluster")
        self.workers = workers
        self.cpus, self.gpus = cpus, gpus
        self.device = device or (None if gpus else "cpu")
        self._actors: list[Any] = []
        self._job: Any = None
        self._owns = not self._ray.is_initialized()
        if self._owns:
            local = {} if address else {"num_cpus": workers * cpus}
            self._ray.init(address=address, include_dashboard=False, log_to_driver=False, **local)
        self._compare_resources()

    def start(self, job: Job) -> None:
        self._job = self._ray.put(job)
        while len(self._actors) < self.workers:
            self._actors.append(self._hire())
        self._ready([0])  # compiles once; others on the machine find it in Warp's cache
        self._ready(range(1, self.workers))

    def submit(self, worker: int, call: Call) -> Any:
        return self._actors[worker].advance.remote(call)

    def wait(self, tickets: Collection[Any]) -> Any:
        return self._ray.wait(list(tickets), num_returns=1)[0][0]

    def result(self, ticket: Any) -> Piece:
        gone = self._ray.exceptions
        try:
            return self._ray.get(ticket)
        except (gone.RayActorError, gone.WorkerCrashedError, gone.NodeDiedError, gone.ObjectLostError,
                gone.OutOfMemoryError) as error:  # fmt: skip
            raise WorkerLost(f"a worker was lost: {error}") from error
        except gone.RayTaskError as error:
            raise error.as_instanceof_cause() from None

    def replace(self, worker: int) -> None:
        self._actors[worker] = self._hire()
        self._actors[worker].prepare.remote(self._job)  # calls of an actor are made in order

    def _ready(self, workers: Iterable[int]) -> None:
        """Prepare workers for the job; those that went away since the last one are replaced."""
        promises = {worker: self._actors[worker].prepare.remote(self._job) for worker in workers}
        for worker, promise in promises.items():
            try:
                self._ray.get(promise)
            except self._ray.exceptions.RayActorError:
                self._actors[worker] = self._hire()
                self._ray.get(self._actors[worker].prepare.remote(self._job))

    def close(self) -> None:
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors = []
        if self._owns:
            self._ray.shutdown()

    def _compare_resources(self) -> None:
        """Ray lets a worker that finds no room wait without a word; a cluster may still grow."""
        there = self._ray.cluster_resources()
        for kind, wanted in (("CPU", self.workers * self.cpus), ("GPU", self.workers * self.gpus)):
            if wanted > there.get(kind, 0):
                text = f"{self.workers} workers want {wanted:g} {kind}s, the cluster has {there.get(kind, 0):g}"
                warnings.warn(f"{text}: rollouts wait until it has more", RuntimeWarning, stacklevel=3)

    def _hire(self) -> Any:
        options = {"num_cpus": self.cpus, "num_gpus": self.gpus, "max_restarts": 0, "scheduling_strategy": "SPREAD"}
        return self._ray.remote(**options)(Seat).remote(self.device, self.cpus)


class Seat:
    """The process of a worker; it outlasts the job."""

    def __init__(self, device: str | None, threads: int):
        self.device, self.threads = device, threads
        self.worker: Worker | None = None

    def prepare(self, job: Job) -> None:
        """Have a worker for this job, its kernels loaded."""
        self.worker = Worker(job, self.device, self.threads)
        self.worker.warm()

    def advance(self, call: Call) -> Piece:
        """Make a call."""
        assert self.worker is not None, "prepare comes first"
        return self.worker.advance(call)
