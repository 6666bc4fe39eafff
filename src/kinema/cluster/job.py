"""What is to be run, and how it is cut up.

    worlds   0 ... block-1 | block ... 2 block-1 | ...          a block is run by one worker at a time
    steps    0 ... chunk-1 | chunk ... 2 chunk-1 | ...          a call advances one block by one chunk

A call carries the state of its block's worlds and brings back the next one, so any worker can make any call, and a call
that was lost is made again elsewhere. The cut does not depend on the number of workers: neither do the results, even
where a policy's arithmetic depends on how many worlds it is given at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinema.draws import WORD, Draws
from kinema.errors import BuildError, UnknownKey, did_you_mean
from kinema.simulation import STATE, Simulation

INITIAL = WORD  # the "step" in which initial states are drawn


@dataclass(frozen=True)
class Job:
    """A rollout, the same for all workers.

    Attributes:
        model: The compiled model.
        worlds: Number of worlds in all.
        steps: Number of control steps.
        decimation: Time steps a control is held for.
        policy: Controls from a Batch, (n, nu); None: controls are given, or none.
        initial: Parts of the initial state, from a Batch; None: the model's.
        seed: Seed of all random numbers.
        record: Fields to keep, by MuJoCo's names.
        every: Control steps between records.
        block: Worlds of a block.
        chunk: Control steps of a call.
        refresh: Compute everything that follows from the state before the policy is asked, so that it may read all.
        setup: Called once on every worker before the simulation is made: imports of plugins.
        out: Folder to write records into; None: bring them back.
    """

    model: Any
    worlds: int
    steps: int
    decimation: int = 1
    policy: Callable[[Batch], Any] | None = None
    initial: Callable[[Batch], Mapping[str, Any]] | None = None
    seed: int = 0
    record: tuple[str, ...] = ("qpos", "qvel")
    every: int = 1
    block: int = 64
    chunk: int = 100
    refresh: bool = False
    setup: Callable[[], None] | None = None
    out: str | None = None

    def __post_init__(self) -> None:
        for name in ("worlds", "steps", "decimation", "every", "block", "chunk"):
            if getattr(self, name) < 1:
                raise BuildError(f"{name}={getattr(self, name)}: counted from 1")

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return -(-self.worlds // self.block)

    def worlds_of(self, block: int) -> range:
        """Global indices of a block's worlds."""
        return range(block * self.block, min((block + 1) * self.block, self.worlds))

    def recorded(self, first: int, count: int) -> range:
        """Which of these control steps end with a record."""
        begin = -(-(first + 1) // self.every) * self.every - 1
        return range(begin, first + count, self.every)


@dataclass(frozen=True)
class Call:
    """Advance one block by one chunk.

    Attributes:
        block: Which block.
        first: First control step.
        count: Number of control steps.
        state: State of the block's worlds; None: they begin.
        controls: Given controls, (count, n, nu) or (count, 1, nu); None.
    """

    block: int
    first: int
    count: int
    state: dict[str, np.ndarray] | None = None
    controls: np.ndarray | None = None


@dataclass(frozen=True)
class Piece:
    """What a call brings back.

    Attributes:
        state: State of the block's worlds after it, and their status.
        records: Recorded fields, (records, n, ...); empty where they were written.
        shard: File they were written to, or None.
        seconds: Time the worker was busy.
    """

    state: dict[str, np.ndarray]
    records: dict[str, np.ndarray]
    shard: str | None
    seconds: float


class Batch:
    """What a policy is given: some worlds at one control step.

    `batch.qpos`, `batch.qvel`, `batch.ctrl`, ... are arrays (n, ...) by MuJoCo's names; not to be written.

    Attributes:
        world: Global indices of the worlds, (n,).
        step: The control step.
        draws: Random numbers that depend on the seed, the world and the step alone.
    """

    def __init__(self, sim: Simulation, world: np.ndarray, step: int, draws: Draws, *, complete: bool):
        self.world = world
        self.step = step
        self.draws = draws
        self._sim = sim
        self._complete = complete

    def __len__(self) -> int:
        return len(self.world)

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("_"):
            raise AttributeError(name)
        engine = self._sim.engine
        if name not in engine.names:
            raise UnknownKey(f"worlds have no array {name!r}{did_you_mean(name, engine.names)}")
        if name not in STATE and not self._complete:
            raise UnknownKey(f"{name!r} is no part of the state: give rollout(refresh=True) to have it computed")
        values = engine.read(name)[: len(self.world)].view()
        values.flags.writeable = False
        return values
