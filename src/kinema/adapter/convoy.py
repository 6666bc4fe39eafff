"""Several engines in one step on CUDA: each on a stream of its own, all in one graph.

Twenty worlds fill a small part of a GPU, and the kernels of their step wait for each other. Fifty engines one after the
other would take fifty times as long; side by side they take little more than one:

    read A | A's stages |            | write A
    read B | B's stages | who waits? | write B
    ...

One engine alone has the same use of it: reading the state, the step and writing it are launched as one.

What becomes of a step is recorded twice: up to where it is known which worlds find no room for their contacts and wait
(capacity.py), and the rest. The host looks once, for all engines, while the second half runs. Worlds that wait are run
by themselves afterwards, as they are in an engine alone.

A graph holds for the arrays it was recorded with. It is recorded when the same states come a second time; until then,
and where an engine has stages on the host, engines step one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import warp as wp

from kinema import building
from kinema.collector import paused
from kinema.model import Control, State

KEPT = 16  # graphs; a loop over two states needs one or two
ONCE = object()  # of a key: seen once, nothing recorded yet

Work = Callable[[], None]


class CudaRecorder:
    """Records work on a CUDA device, side by side, and repeats it.

    Args:
        device: The device.
        count: How many pieces of work go side by side.
    """

    def __init__(self, device: Any, count: int):
        self.device = device
        self.streams = [wp.Stream(device) for _ in range(count)]
        self.event = wp.Event(device)

    def beside(self, works: Sequence[Work]) -> None:
        """Launch pieces of work beside each other, after what came before and before what comes after."""
        if len(works) == 1:
            works[0]()
            return
        main = wp.get_stream(self.device)
        begin, ends = main.record_event(), []
        for stream, work in zip(self.streams, works, strict=False):
            with wp.ScopedStream(stream, sync_enter=False):
                stream.wait_event(begin)
                work()
                ends.append(stream.record_event())
        for end in ends:
            main.wait_event(end)

    def record(self, works: Sequence[Work]) -> Work:
        """A graph of pieces of work beside each other; calling it launches it."""
        with wp.ScopedCapture(device=self.device) as capture:
            self.beside(works)
        graph = capture.graph
        return lambda: wp.capture_launch(graph)

    def mark(self) -> None:
        """Remember what was launched so far."""
        wp.get_stream(self.device).record_event(self.event)

    def wait(self) -> None:
        """Wait until it has ended."""
        wp.synchronize_event(self.event)


@dataclass
class Recorded:
    """A step of all engines.

    Attributes:
        first, second: What launches its halves; None: it has one.
        watched: Those whose worlds may wait after the first.
    """

    first: Work
    second: Work | None
    watched: list[Any]


class Convoy:
    """Steps engines together.

    Args:
        batches: The engines, and how states are read and written (`solver.Batch`).
        recorder: What records.
    """

    def __init__(self, batches: Sequence[Any], recorder: Any):
        self.batches, self.recorder = list(batches), recorder
        self._steps: dict[tuple, Any] = {}  # by the arrays they are of

    def step(self, state_in: State, state_out: State, control: Control) -> None:
        """One step of all engines."""
        if self.recorder.device.is_capturing:  # somebody records a longer graph, which takes up the launches
            self.recorder.beside([lambda b=b: b.step(state_in, state_out, control) for b in self.batches])
            return
        key = tuple(batch.boundary.key(state_in, state_out, control) for batch in self.batches)
        step = self._steps.pop(key, None)
        if isinstance(step, Recorded):
            self._run(step, state_out)
        else:
            pieces = self._pieces()
            if step is ONCE and pieces is not None:
                step = self._record(pieces, state_in, state_out, control)
                self._run(step, state_out)
            else:
                step = ONCE
                for batch in self.batches:
                    batch.step(state_in, state_out, control)
        self._steps[key] = step  # the newest last
        while len(self._steps) > KEPT:
            self._steps.pop(next(iter(self._steps)))

    def _pieces(self) -> list | None:
        """The step of each engine in pieces, all kernels loaded; None where one of them cannot be recorded."""
        pieces = [batch.engine.pieces() for batch in self.batches]
        if any(cut is None for cut in pieces):
            return None
        self._compile(pieces)
        return pieces

    def _compile(self, pieces: list) -> None:
        """Compile the kernels of all engines side by side, before each would compile its own."""
        works: dict[Any, Any] = {}
        for batch, cut in zip(self.batches, pieces, strict=True):
            for stages, _ in cut:
                works |= batch.engine.works(stages)
        with paused():
            building.side_by_side(list(works.values()))

    def _record(self, pieces: list, state_in: State, state_out: State, control: Control) -> Recorded:
        """The step of all engines, in halves where worlds of any may wait."""
        watched = [batch for batch, cut in zip(self.batches, pieces, strict=True) if len(cut) > 1]
        first: list[Work] = []
        second: list[Work] = []
        for batch, cut in zip(self.batches, pieces, strict=True):
            read = partial(batch.boundary.read, state_in, control)
            half, *rest = [partial(_launch, batch.engine, *piece) for piece in cut]
            write = partial(batch.boundary.write, state_out)
            first.append(_in_order([read, half] if watched else [read, half, *rest, write]))
            second.append(_in_order([*rest, write]))
        record = self.recorder.record
        return Recorded(record(first), record(second) if watched else None, watched)

    def _run(self, step: Recorded, state_out: State) -> None:
        step.first()
        if step.second is not None:
            self.recorder.mark()
            step.second()
            self.recorder.wait()
        for batch in step.watched:
            bits = batch.engine.guard.seen
            if bits:
                batch.engine.guard.settle(bits)
                batch.boundary.write(state_out)
        for batch in self.batches:
            batch.engine.requests.run_done()


def _in_order(works: Sequence[Work]) -> Work:
    def do() -> None:
        for work in works:
            work()

    return do


def _launch(engine: Any, stages: Any, after: Work | None) -> None:
    engine.launch(stages)
    if after is not None:
        after()
