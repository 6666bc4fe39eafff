"""Making recordings, showing them again, and taking runs up again from their first frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kinema.errors import BuildError, WrongMoment
from kinema.recording import FIELDS, Recording
from kinema.simulation.parameters import changed_parameters, put_parameters
from kinema.simulation.present_model import document_text

if TYPE_CHECKING:
    from kinema.simulation.simulation import Simulation


class Recorder:
    """Takes frames of some worlds as a simulation runs.

    Args:
        sim: The simulation.
        every: Steps between frames.
        worlds: Which worlds, as booleans or indices; None: all.
    """

    def __init__(self, sim: Simulation, every: int = 1, worlds=None):
        if every < 1:
            raise BuildError(f"every={every}: frames are taken every 1, 2, ... steps")
        self.sim, self.every = sim, every
        self.worlds = np.arange(sim.worlds)[slice(None) if worlds is None else np.asarray(worlds)]
        self.start = {name: values[self.worlds] for name, values in sim.get_state().items()}
        self.frames: dict[str, list[np.ndarray]] = {name: [] for name in FIELDS}
        self.due = every  # steps until the next frame
        self.take()

    def step(self, nstep: int) -> None:
        """Advance the simulation, stopping at every frame on the way."""
        while nstep > 0:
            count = min(nstep, self.due)
            self.sim._advance(count)
            nstep -= count
            self.due -= count
            if self.due == 0:
                self.take()
                self.due = self.every

    def take(self) -> None:
        """Take a frame of the present state."""
        for name, rows in self.frames.items():
            rows.append(np.array(self.sim.engine.read(name)[self.worlds]))

    def finish(self) -> Recording:
        """What was recorded."""
        return as_recording(self.sim, self.frames, self.worlds, self.start, every=self.every)


def as_recording(
    sim: Simulation, frames: dict[str, list[np.ndarray]], worlds: np.ndarray, start: dict[str, np.ndarray], *,
    every: int = 1, reason: str = "",
) -> Recording:  # fmt: skip
    """Frames of a simulation's worlds, with all that is needed to run them again."""
    parameters = changed_parameters(sim.engine)
    expanded = tuple(name for name in parameters if name in sim.engine.expanded)
    parameters = {name: values[worlds] if name in expanded else values for name, values in parameters.items()}
    stacked: dict[str, Any] = {name: np.stack(rows) for name, rows in frames.items()}
    return Recording(
        **stacked,
        timestep=float(sim.engine.array("timestep64").numpy()[0]), every=every, worlds=worlds, start=start,
        parameters=parameters, expanded=expanded, model_xml=document_text(sim), model_path=sim.document.path,
        reason=reason,
    )  # fmt: skip


def replay(sim: Simulation, recording: Recording) -> Iterator[int]:
    """Put a recording's frames into a simulation one after the other; yields the number of each."""
    check_fits(sim, recording)
    for k in range(len(recording)):
        sim.set_state(**recording.frame(k))
        sim.forward()
        yield k


def rerun(sim: Simulation, recording: Recording, steps: int | None = None) -> Recording:
    """Run again from a recording's first frame, with its controls; gives what happens now."""
    check_fits(sim, recording)
    if not recording.start:
        raise BuildError("the recording does not hold the whole state of its first frame, so it can only be replayed")
    if sim.recorder is not None:
        raise WrongMoment("the simulation is recording already: call stop_recording() first")
    sim.reset()
    put_parameters(sim.engine, recording.parameters, recording.expanded)
    sim.set_state(**{name: values for name, values in recording.start.items() if values.size})
    sim.record(every=recording.every)
    for k in range(1, len(recording) if steps is None else -(-steps // recording.every) + 1):
        if k < len(recording):
            inputs = {name: v for name, v in recording.frame(k).items() if name in ("ctrl", "mocap_pos", "mocap_quat")}
            sim.set_state(**inputs)
        sim.step(recording.every)
    return sim.stop_recording()


def check_fits(sim: Simulation, recording: Recording) -> None:
    """Raise unless a recording is of this model, and of as many worlds or of one."""
    wanted = {name: sim.engine.shape(name)[1:] for name in FIELDS}
    for name, shape in wanted.items():
        have = getattr(recording, name).shape[2:]
        if have != shape:
            raise BuildError(f"the recording is of another model: its {name} has the shape {have}, here it is {shape}")
    if len(recording.worlds) not in (1, sim.worlds):
        raise BuildError(
            f"the recording is of {len(recording.worlds)} worlds, the simulation has {sim.worlds}: choose some by "
            "recording.of_worlds, or make a simulation of as many worlds"
        )
