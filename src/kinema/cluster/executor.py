"""Who makes the calls: the interface, and workers in this process.

The driver (driver.py) hands each idle worker one call and waits for any to come back. A worker that is gone shows as
WorkerLost; the driver has it replaced and makes the call again. Anything else a call raises is the user's to see.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any

from kinema.cluster.job import Call, Job, Piece
from kinema.cluster.worker import Worker
from kinema.errors import BuildError, SimulationError


class WorkerLost(SimulationError):
    """A worker went away while it was making a call."""


class Executor(ABC):
    """A number of workers; a context that lets them go.

    Attributes:
        workers: How many; they are numbered from 0.
    """

    workers: int

    @abstractmethod
    def start(self, job: Job) -> None:
        """Make all workers ready for a job."""

    @abstractmethod
    def submit(self, worker: int, call: Call) -> Any:
        """Let a worker make a call; a ticket for its outcome."""

    @abstractmethod
    def wait(self, tickets: Collection[Any]) -> Any:
        """A ticket whose outcome is there."""

    @abstractmethod
    def result(self, ticket: Any) -> Piece:
        """The outcome; raises what the call raised, WorkerLost where the worker is gone."""

    @abstractmethod
    def replace(self, worker: int) -> None:
        """Put a new worker in a lost one's place."""

    @abstractmethod
    def close(self) -> None:
        """Let all workers go."""

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class LocalExecutor(Executor):
    """Workers in this process, one call after the other.

    Args:
        workers: How many.
        device: Warp device; None: the current one.
        threads: CPU threads of a worker; None: one a core.
    """

    def __init__(self, workers: int = 1, *, device: str | None = None, threads: int | None = None):
        if workers < 1:
            raise BuildError(f"workers={workers}: at least one has to do the work")
        self.workers = workers
        self.device, self.threads = device, threads
        self._staff: list[Worker] = []
        self._job: Job | None = None

    def start(self, job: Job) -> None:
        self._job = job
        self._staff = [Worker(job, self.device, self.threads) for _ in range(self.workers)]

    def submit(self, worker: int, call: Call) -> Any:
        return _Ticket(worker, call)

    def wait(self, tickets: Collection[Any]) -> Any:
        return next(iter(tickets))

    def result(self, ticket: Any) -> Piece:
        return self._staff[ticket.worker].advance(ticket.call)

    def replace(self, worker: int) -> None:
        assert self._job is not None, "start comes first"
        self._staff[worker] = Worker(self._job, self.device, self.threads)

    def close(self) -> None:
        self._staff = []


class _Ticket:
    """A call that is made when its outcome is asked for."""

    def __init__(self, worker: int, call: Call):
        self.worker, self.call = worker, call
