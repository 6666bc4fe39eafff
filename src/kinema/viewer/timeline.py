"""A timeline: a recording that is put into a simulation frame by frame."""

from __future__ import annotations

import numpy as np

from kinema.recording import Recording
from kinema.simulation import Simulation


class Timeline:
    """Where in a recording one is.

    Args:
        sim: A simulation of the recorded model, with as many worlds.
        recording: The recording.
    """

    def __init__(self, sim: Simulation, recording: Recording):
        self.sim, self.recording = sim, recording
        self.at = 0
        self._ahead = 0.0

    def __len__(self) -> int:
        return len(self.recording)

    @property
    def interval(self) -> float:
        """Time between frames [s]."""
        return float(self.recording.timestep * self.recording.every)

    @property
    def time(self) -> float:
        """Time of the present frame in its first world [s]."""
        return float(np.asarray(self.recording.time[self.at]).reshape(-1)[0])

    def put(self, frame: int) -> None:
        """Go to a frame."""
        self.at = int(np.clip(frame, 0, len(self) - 1))
        self._ahead = 0.0
        self.sim.set_state(**self.recording.frame(self.at))
        self.sim.forward()

    def play(self, seconds: float) -> None:
        """Go on by some time; after the last frame comes the first."""
        ahead = self._ahead + seconds
        frames = int(ahead / self.interval)
        if frames:
            self.put((self.at + frames) % len(self))
        self._ahead = ahead - frames * self.interval
