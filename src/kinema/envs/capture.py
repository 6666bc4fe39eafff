"""A step of an environment as one CUDA graph: controls, physics, rewards, ends, resets and observations in one launch.

A task's functions are a hundred small operations; launched one by one they take longer than the physics. So the whole
step is recorded once, torch's operations and Warp's kernels on one stream, and launched as a whole ever after:

    1   the first steps run as they are: kernels are loaded, constants made; the last of them is watched for operations
        that wait for the GPU (`.item()`, `.cpu()`, `if tensor:`), which a graph cannot hold
    2   the next one is recorded, and every later one launched

A graph repeats what was recorded, with the numbers that are in its arrays by then. What Python decides is decided once:
so the step is recorded anew whenever an attribute of the task or of the environment is another object, or the engine's
arrays have moved. Where a step cannot be recorded, a warning says why, once, and steps run one by one as before.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Protocol

import warp as wp

from kinema.engine import Engine
from kinema.errors import need, warn_caller

WARM = 2  # steps before one is recorded


class Recorder(Protocol):
    """Something that can record device work and repeat it."""

    def waits(self, work: Callable[[], Any]) -> tuple[Any, str]:
        """Do the work; its result, and what in it waited for the device ("" if nothing did)."""

    def record(self, work: Callable[[], Any]) -> tuple[Callable[[], None], Any]:
        """Record the work without doing it: how to do it, and the result, which each time is written again."""


class TorchRecorder:
    """Records torch's operations and Warp's kernels on one stream.

    torch takes up no stream into a capture that waits for the default one, as Warp's own do. So both streams of the
    engine are torch's while it is recorded, and its second one ever after.

    Args:
        engine: The engine whose steps are recorded, on a CUDA device.
    """

    def __init__(self, engine: Engine):
        self.torch: Any = need("torch", "torch", "Graphs of environments")
        self.place = wp.device_to_torch(engine.device)
        self.main, self.aside = (wp.stream_from_torch(self.torch.cuda.Stream(self.place)) for _ in range(2))
        engine.set_side_stream(self.aside)

    def waits(self, work: Callable[[], Any]) -> tuple[Any, str]:
        """Do the work while torch tells of operations that wait."""
        before = self.torch.cuda.get_sync_debug_mode()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            self.torch.cuda.set_sync_debug_mode("warn")
            try:
                result = work()
            finally:
                self.torch.cuda.set_sync_debug_mode(before)
        found = [w for w in told if "called a synchronizing" in str(w.message)]
        for other in told:
            if other not in found and "debug mode" not in str(other.message):  # torch tells of its mode, once
                warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
        if not found:
            return result, ""
        return result, f"{found[0].filename}, line {found[0].lineno} waits for the GPU"

    def record(self, work: Callable[[], Any]) -> tuple[Callable[[], None], Any]:
        """Capture the work on a stream of its own."""
        cuda, graph = self.torch.cuda, self.torch.cuda.CUDAGraph()
        before, stream = cuda.current_stream(self.place), wp.stream_to_torch(self.main)
        try:
            with cuda.device(self.place), wp.ScopedStream(self.main):
                with cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
                    with wp.ScopedCapture(stream=self.main, force_module_load=False, external=True):
                        result = work()
        finally:
            cuda.set_stream(before)  # a capture that broke off leaves its own behind
        return graph.replay, result


class StepGraph:
    """Runs a step, recorded where that can be done.

    Args:
        work: The step: no arguments.
        recorder: What records; None: nothing can.
        depends: What the recording holds for, by name: it is made anew when any of it is another object or number.
    """

    def __init__(self, work: Callable[[], Any], recorder: Recorder | None, depends: Callable[[], dict[str, Any]]):
        self.work, self.recorder, self.depends = work, recorder, depends
        self.reason = "" if recorder else "there is nothing to record: arrays are on the host, or it was not wanted"
        self._for: dict[str, Any] = {}
        self._warm = 0
        self._replay: Callable[[], None] | None = None
        self._result: Any = None

    @property
    def is_captured(self) -> bool:
        """Whether steps are launched as a whole."""
        return self._replay is not None

    def __call__(self) -> Any:
        """One step."""
        if self.recorder is None:
            return self.work()
        now = self.depends()
        if changed(self._for, now):
            self._for, self._warm, self._replay, self._result = now, 0, None, None
        if self._replay is None:
            return self._prepare(self.recorder)
        self._replay()
        return self._result

    def _prepare(self, recorder: Recorder) -> Any:
        self._warm += 1
        if self._warm < WARM:
            result = self.work()
            self._for = self.depends()  # what a first step makes does not count as a change
            return result
        if self._warm == WARM:
            result, waits = recorder.waits(self.work)
            own = [name for name in changed(self._for, self.depends()) if name.startswith("task.")]
            if waits or own:
                self._give_up(waits or f"{', '.join(own)} changes with every step, which a graph would not do")
            return result
        try:
            self._replay, self._result = recorder.record(self.work)
        except Exception as error:  # whatever a task may do that cannot be recorded
            self._give_up(f"{type(error).__name__}: {error}")
            return self.work()
        self._replay()
        return self._result

    def _give_up(self, reason: str) -> None:
        self.recorder, self.reason, self._replay = None, reason, None
        warn_caller(
            f"the environment's step is not captured as a CUDA graph, and runs slower than it could: {reason}. "
            "With capture=False nothing is tried and nothing said",
            RuntimeWarning,
        )


def held(prefix: str, owner: Any) -> dict[str, Any]:
    """The attributes of an object, by name."""
    return {f"{prefix}.{name}": value for name, value in vars(owner).items()}


def changed(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Names that stand for another object, or another number, than before."""
    if before.keys() != now.keys():
        return sorted(before.keys() ^ now.keys())
    return [name for name, value in now.items() if not _same(value, before[name])]


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and isinstance(a, int | float | str) and a == b)
