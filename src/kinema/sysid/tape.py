"""Runs on the device: controls are laid out beforehand, what is wanted of every frame is kept there, and read once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import warp as wp


class Tape:
    """Steps the worlds of an engine through frames.

    Args:
        engine: The engine.
        ctrl: Controls, (frame, world, nu).
        every: Steps in a frame.
        fields: Arrays to keep after every frame, by name.
    """

    def __init__(self, engine: Any, ctrl: np.ndarray, every: int, fields: Sequence[str]):
        self.engine, self.every = engine, every
        self.ctrl = wp.array(np.ascontiguousarray(ctrl, np.float32), dtype=float, device=engine.device)
        shapes = {name: (len(ctrl), *engine.shape(name)) for name in fields}
        self.kept = {name: wp.zeros(shape, dtype=float, device=engine.device) for name, shape in shapes.items()}

    def play(self, frames: int, steps: Callable[[int], None] | None = None) -> dict[str, np.ndarray]:
        """What was kept of the first frames, by name; `steps` takes the steps of a frame, given its number."""
        for t in range(frames):
            if self.ctrl.size:
                wp.copy(self.engine.array("ctrl"), self.ctrl[t])
            if steps:
                steps(t)
            else:
                self.engine.step(self.every)
            for name, rows in self.kept.items():
                if rows.size:
                    wp.copy(rows[t], self.engine.array(name))
        return {name: rows.numpy()[:frames] for name, rows in self.kept.items()}
