"""Work shared out to processes, which may break or be stopped without loss of what is done.

Tasks come in groups; a process stays with its group, since what it has compiled serves the rest of it, and takes a new
one, or helps with another's, when its own is empty. A process that dies takes one task with it and is replaced. When
the time is up, processes are ended and what they were at is left undone.
"""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

import mujoco
import warp as wp

SPAWN = multiprocessing.get_context("spawn")


@dataclass
class Worker:
    """One process: what it is at, and the group it stays with."""

    process: BaseProcess
    pipe: Connection
    group: deque
    task: Any = None


@dataclass(frozen=True)
class Broken:
    """What came of a task that raised an error or broke its process."""

    why: str


def share_out(
    groups: Sequence[Sequence[Any]], work: Callable[[Any], Any], *, jobs: int, limit: float | None = None
) -> Iterator[tuple[Any, Any]]:  # fmt: skip
    """Yields (task, result) as they come, the result of one that went wrong being Broken.

    Args:
        groups: Tasks that belong together, the first groups first.
        work: Does one task; must be importable by name.
        jobs: Number of processes.
        limit: Seconds after which nothing more is waited for.
    """
    waiting = deque(deque(group) for group in groups)
    last = time.monotonic() + limit if limit is not None else float("inf")
    workers = [_start(work) for _ in range(min(jobs, sum(map(len, groups))))]
    ended: list[BaseProcess] = []
    try:
        for worker in workers:
            _next(worker, waiting, workers)
        while any(worker.task is not None for worker in workers) and time.monotonic() < last:
            busy = {worker.pipe: worker for worker in workers if worker.task is not None}
            for pipe in wait(list(busy), timeout=min(1.0, max(last - time.monotonic(), 0.0))):
                worker = busy[pipe]
                task = worker.task
                try:
                    result = pipe.recv()
                except EOFError:
                    result = Broken("the process died")
                if isinstance(result, Broken):  # what is left of the process, or of its device, is not trusted
                    fresh = _start(work)
                    ended.append(worker.process)
                    worker.process, worker.pipe = fresh.process, fresh.pipe
                worker.task = None
                yield task, result
                _next(worker, waiting, workers)
    finally:
        ended += [worker.process for worker in workers]
        for process in ended:
            process.terminate()
        for process in ended:
            process.join(5)
            if process.is_alive():
                process.kill()


def _start(work: Callable[[Any], Any]) -> Worker:
    pipe, theirs = SPAWN.Pipe()
    process = SPAWN.Process(target=_serve, args=(theirs, work), daemon=True)
    process.start()
    theirs.close()
    return Worker(process, pipe, deque())


def _next(worker: Worker, waiting: deque, workers: list[Worker]) -> None:
    """Give a process something to do, if there is something."""
    if not worker.group:
        worker.group = waiting.popleft() if waiting else max((other.group for other in workers), key=len)
    if worker.group:
        worker.task = worker.group.popleft()
        worker.pipe.send(worker.task)


def _serve(pipe: Connection, work: Callable[[Any], Any]) -> None:
    try:
        while True:
            pipe.send(work(pipe.recv()))
    except Exception as error:
        pipe.send(Broken(f"{type(error).__name__}: {error}".split("\n")[0]))


def quiet() -> None:
    """Let nobody tell of kernels that are loaded, of states that are lost, and of what is deprecated."""
    wp.config.log_level = wp.LOG_WARNING
    mujoco.set_mju_user_warning(lambda message: None)
    warnings.simplefilter("ignore")
