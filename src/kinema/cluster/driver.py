"""rollout: run a job on an executor's workers and put the pieces together."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kinema import __version__
from kinema.cluster.executor import Executor, LocalExecutor, WorkerLost
from kinema.cluster.job import Batch, Call, Job, Piece
from kinema.cluster.shards import write_contents
from kinema.convex.status import MEANING
from kinema.errors import BuildError, SimulationError, UnknownKey, did_you_mean
from kinema.model.mujoco_fields import data_fields
from kinema.simulation import STATE, load


@dataclass
class Result:
    """What came of a rollout.

    Attributes:
        arrays: Recorded fields by name, (records, worlds, ...); empty where they were written as shards.
        state: The last state of all worlds, (worlds, ...); `Simulation.set_state(**state)` takes it up.
        steps: The control steps that ended with a record, (records,).
        trouble: Worlds in which something went wrong, and what.
        shards: Files of records, in the order of worlds and steps.
        lost: Calls that had to be made again, because a worker was lost.
        seconds: Time from the first call to the last outcome.
        busy: Time workers were busy, summed over them.
    """

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    state: dict[str, np.ndarray] = field(default_factory=dict)
    steps: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    trouble: dict[int, list[str]] = field(default_factory=dict)
    shards: list[str] = field(default_factory=list)
    lost: int = 0
    seconds: float = 0.0
    busy: float = 0.0


def rollout(
    source: Any, *, worlds: int, steps: int, policy: Callable | None = None, controls: Any = None,
    initial: Callable | Mapping[str, Any] | None = None, seed: int = 0, decimation: int = 1,
    record: tuple[str, ...] = ("qpos", "qvel"), every: int = 1, block: int = 64, chunk: int = 100,
    refresh: bool = False, setup: Callable[[], None] | None = None, out: str | os.PathLike | None = None,
    executor: Executor | None = None, retries: int = 3, progress: Callable[[int, int], None] | None = None,
) -> Result:  # fmt: skip
    """Run many worlds of a model over an executor's workers.

    The outcome depends on the arguments alone, not on the number of workers, their speed or their loss.

    Args:
        source: Whatever `Simulation` takes; it is compiled here, once.
        worlds: Number of worlds.
        steps: Number of control steps.
        policy: Controls (n, nu) from a `Batch` of n worlds: a function or object that can be pickled, and that keeps
            nothing from call to call.
        controls: Instead of a policy: (steps, nu), or (steps, worlds, nu).
        initial: Parts of the initial state: a function of a Batch, or arrays by name, (worlds, ...) or one world's.
        seed: Seed of the random numbers that policy and initial draw.
        decimation: Time steps a control is held for.
        record: Fields to keep, by MuJoCo's names.
        every: Control steps between records.
        block: Worlds that are run together by one worker; with a policy, part of what the outcome depends on.
        chunk: Control steps between two messages of a worker.
        refresh: Compute everything that follows from the state before the policy is asked, sensors included.
        setup: Called once on every worker: imports of modules that register plugins.
        out: Folder, seen by all workers, to write records into instead of bringing them back.
        executor: Whose workers; None: one in this process. It is left open.
        retries: How many times a call is made again after its worker was lost.
        progress: Called with the number of calls that are done, and of all.
    """
    if policy is not None and controls is not None:
        raise BuildError("give a policy or controls, not both")
    model = load(source)
    given = None if controls is None else _given_controls(controls, steps, worlds, int(model.nu))
    for name in record:
        if name not in data_fields():
            raise UnknownKey(f"record={record!r}: mjData has no field {name!r}{did_you_mean(name, data_fields())}")
    begin = initial if initial is None or callable(initial) else _Rows(_given_state(initial), worlds)
    job = Job(
        model=model, worlds=worlds, steps=steps, decimation=decimation, policy=policy,
        initial=begin, seed=seed, record=tuple(record), every=every,
        block=block, chunk=chunk, refresh=refresh, setup=setup, out=None if out is None else os.fspath(out),
    )  # fmt: skip
    if job.out:
        Path(job.out).mkdir(parents=True, exist_ok=True)
    executor = executor or LocalExecutor()
    executor.start(job)
    return _run(job, executor, given, retries, progress)


def _run(job: Job, executor: Executor, controls: np.ndarray | None, retries: int, progress) -> Result:
    """Hand out calls until every block has made all its steps."""
    result = Result(steps=np.array(job.recorded(0, job.steps)))
    shards: dict[tuple[int, int], dict] = {}
    waiting = deque(_call(job, block, 0, None, controls) for block in range(job.blocks))
    running: dict[Any, tuple[int, Call, int]] = {}
    idle = deque(range(executor.workers))
    total, done = job.blocks * -(-job.steps // job.chunk), 0
    attempts: dict[tuple[int, int], int] = {}
    began = time.perf_counter()
    while waiting or running:
        while waiting and idle:
            call, worker = waiting.popleft(), idle.popleft()
            running[executor.submit(worker, call)] = (worker, call, attempts.get((call.block, call.first), 0))
        ticket = executor.wait(running)
        worker, call, tried = running.pop(ticket)
        try:
            piece = executor.result(ticket)
        except WorkerLost as error:
            if tried >= retries:
                raise SimulationError(f"{_where(job, call)}: lost {tried + 1} workers over it: {error}") from error
            attempts[call.block, call.first] = tried + 1
            result.lost += 1
            executor.replace(worker)
            waiting.appendleft(call)
        except Exception as error:
            note = f"in a rollout on a cluster: {_where(job, call)}"
            setattr(error, "__notes__", [*getattr(error, "__notes__", ()), note])  # noqa: B010  # add_note is of 3.11
            raise
        else:
            done += 1
            _take(job, result, shards, call, piece)
            if call.first + call.count < job.steps:  # the same block next: few blocks are under way at a time
                waiting.appendleft(_call(job, call.block, call.first + call.count, piece.state, controls))
            if progress:
                progress(done, total)
        idle.append(worker)
    result.seconds = time.perf_counter() - began
    result.trouble = _trouble(result.state.pop("status"))
    if job.out:
        result.shards = [os.path.join(job.out, shards[key]["file"]) for key in sorted(shards)]
        write_contents(job.out, _contents(job, [shards[key] for key in sorted(shards)]))
    return result


def _call(job: Job, block: int, first: int, state, controls: np.ndarray | None) -> Call:
    """The next call of a block."""
    count = min(job.chunk, job.steps - first)
    part = None
    if controls is not None:
        part = controls[first : first + count]
        if part.shape[1] > 1:
            worlds = job.worlds_of(block)
            part = part[:, worlds.start : worlds.stop]
    return Call(block, first, count, state, part)


def _take(job: Job, result: Result, shards: dict, call: Call, piece: Piece) -> None:
    """Put a piece in its place."""
    worlds = job.worlds_of(call.block)
    columns = slice(worlds.start, worlds.stop)
    before = len(job.recorded(0, call.first))
    rows = slice(before, before + len(job.recorded(call.first, call.count)))
    result.busy += piece.seconds
    for name, values in piece.records.items():
        if name not in result.arrays:
            shape = (len(result.steps), job.worlds, *values.shape[2:])
            result.arrays[name] = np.empty(shape, values.dtype)
        result.arrays[name][rows, columns] = values
    if piece.shard:
        span = {"worlds": [columns.start, columns.stop], "records": [rows.start, rows.stop]}
        shards[call.block, call.first] = {"file": piece.shard, **span}
    if call.first + call.count == job.steps:
        for name, values in piece.state.items():
            if name not in result.state:
                result.state[name] = np.empty((job.worlds, *values.shape[1:]), values.dtype)
            result.state[name][columns] = values


def _where(job: Job, call: Call) -> str:
    worlds = job.worlds_of(call.block)
    last = call.first + call.count - 1
    return f"worlds {worlds.start} to {worlds.stop - 1}, control steps {call.first} to {last}"


def _trouble(status: np.ndarray) -> dict[int, list[str]]:
    troubled = np.flatnonzero(status)
    return {int(w): [text for bit, text in MEANING.items() if status[w] & bit] for w in troubled}


def _contents(job: Job, shards: list[dict]) -> dict:
    return {
        "kinema": __version__, "worlds": job.worlds, "steps": job.steps, "decimation": job.decimation,
        "timestep": float(job.model.opt.timestep), "seed": job.seed, "every": job.every, "record": list(job.record),
        "records": len(job.recorded(0, job.steps)), "shards": shards,
    }  # fmt: skip


def _given_controls(controls: Any, steps: int, worlds: int, nu: int) -> np.ndarray:
    """Controls as (steps, worlds or 1, nu)."""
    controls = np.asarray(controls, dtype=np.float32)
    if controls.shape == (steps, nu):
        return controls[:, None]
    if controls.shape != (steps, worlds, nu):
        raise BuildError(f"controls of shape {controls.shape}: expected {(steps, nu)} or {(steps, worlds, nu)}")
    return controls


def _given_state(initial: Mapping[str, Any]) -> dict[str, np.ndarray]:
    for name in initial:
        if name not in STATE:
            raise UnknownKey(f"initial: {name!r} is not part of the state{did_you_mean(name, STATE)}")
    return {name: np.asarray(values) for name, values in initial.items()}


class _Rows:
    """Initial states from arrays: the rows of the worlds that are asked for."""

    def __init__(self, arrays: Mapping[str, np.ndarray], worlds: int):
        self.arrays, self.worlds = arrays, worlds

    def __call__(self, batch: Batch) -> dict[str, np.ndarray]:
        found = {}
        for name, values in self.arrays.items():
            per_world = values.ndim == getattr(batch, name).ndim and len(values) == self.worlds
            found[name] = values[batch.world] if per_world else values
        return found
