"""Recordings: what worlds did, frame by frame, with all it takes to show them or to run them again.

    recording = sim.stop_recording()
    recording.save("run.npz")
    recording = kinema.recording.load("run.npz")
    recording.qpos               (frames, worlds, nq)
    recording.frame(10)          a dict of arrays for `sim.set_state`

A frame is the state after a step, and the controls that step was taken with. The first frame is kept in full (`start`:
warm start, plugins' states, applied forces, ...), so a run can be taken up again from it, to the bit.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kinema import __version__
from kinema.archive import read_archive, write_archive
from kinema.errors import BuildError, ResourceError

FIELDS = ("time", "qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat")
"""What a frame holds."""

KIND = "recording"


@dataclass
class Recording:
    """Frames of some worlds of a simulation.

    Attributes:
        time: (frames, worlds) [s].
        qpos, qvel, act, ctrl: (frames, worlds, n), as mjData has them.
        mocap_pos, mocap_quat: (frames, worlds, nmocap, 3 or 4).
        timestep: Duration of a step [s].
        every: Steps between frames.
        worlds: Which worlds of the simulation these are.
        start: The whole state at the first frame, by name, (worlds, ...).
        parameters: Numbers of the model that were changed, by mjModel's names: as the model has them, or with an axis
            of worlds before that where the name is in `expanded`.
        expanded: Names of the parameters that differ per world.
        model_xml: Text of the model's document; empty where the model came compiled.
        model_path: Its file; empty where there is none.
        reason: Why the recording was made, where something went wrong: `sim.last_failure`.
        kinema_version: The version it was made with.
    """

    time: np.ndarray
    qpos: np.ndarray
    qvel: np.ndarray
    act: np.ndarray
    ctrl: np.ndarray
    mocap_pos: np.ndarray
    mocap_quat: np.ndarray
    timestep: float
    every: int = 1
    worlds: np.ndarray = field(default_factory=lambda: np.zeros(1, int))
    start: dict[str, np.ndarray] = field(default_factory=dict)
    parameters: dict[str, np.ndarray] = field(default_factory=dict)
    expanded: tuple[str, ...] = ()
    model_xml: str = ""
    model_path: str = ""
    reason: str = ""
    kinema_version: str = __version__

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.time)

    def __repr__(self) -> str:
        why = f", reason={self.reason!r}" if self.reason else ""
        span = f"{self.time.min():g}..{self.time.max():g} s" if self.time.size else "empty"
        return f"Recording(frames={len(self)}, worlds={len(self.worlds)}, nq={self.qpos.shape[-1]}, {span}{why})"

    def frame(self, k: int) -> dict[str, np.ndarray]:
        """The state of all worlds at a frame, for `sim.set_state`; negative numbers count from the end."""
        if not -len(self) <= k < len(self):
            raise IndexError(f"frame {k}: the recording has {len(self)}")
        return {name: rows[k] for name in FIELDS if (rows := getattr(self, name))[k].size}

    def of_worlds(self, worlds: int | list[int] | np.ndarray) -> Recording:
        """The same recording of some of its worlds, counted within it."""
        keep = np.atleast_1d(np.asarray(worlds, dtype=int))
        if keep.size and not (-len(self.worlds) <= keep.min() and keep.max() < len(self.worlds)):
            raise IndexError(f"worlds {keep.tolist()}: the recording has {len(self.worlds)}")
        rows = {name: getattr(self, name)[:, keep] for name in FIELDS}
        parameters = {name: v[keep] if name in self.expanded else v for name, v in self.parameters.items()}
        rest = {name: getattr(self, name) for name in ("timestep", "every", "expanded", *_TEXTS)}
        start = {name: values[keep] for name, values in self.start.items()}
        return Recording(**rows, **rest, worlds=self.worlds[keep], start=start, parameters=parameters)

    @property
    def source(self) -> str | Path:
        """What to make a simulation of: the file while it reads as it did then, else the text."""
        path = Path(self.model_path)
        if self.model_path and path.is_file() and path.read_text(encoding="utf-8") == self.model_xml:
            return path
        if self.model_xml:
            return self.model_xml
        raise BuildError("the recording was made of a compiled model and does not hold its document: name the model")

    # ------------------------------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike) -> Path:
        """Write to a file (.npz)."""
        header = {name: getattr(self, name) for name in ("timestep", "every", *_TEXTS)}
        header["expanded"] = list(self.expanded)
        arrays = {name: getattr(self, name) for name in (*FIELDS, "worlds")}
        arrays |= {f"start/{name}": values for name, values in self.start.items()}
        arrays |= {f"parameter/{name}": values for name, values in self.parameters.items()}
        return write_archive(path, KIND, header, arrays)

    @staticmethod
    def load(path: str | os.PathLike) -> Recording:
        """Read a file that `save` wrote."""
        header, arrays = read_archive(path, KIND)
        try:
            rows: dict[str, Any] = {name: arrays[name] for name in (*FIELDS, "worlds")}
            rest = {name: header[name] for name in ("timestep", "every", *_TEXTS)}
            expanded = tuple(header["expanded"])
        except KeyError as missing:
            raise ResourceError(f"{path}: a damaged recording, without {missing}") from None
        return Recording(
            **rows, **rest, expanded=expanded, start=_under("start/", arrays), parameters=_under("parameter/", arrays)
        )


_TEXTS = ("model_xml", "model_path", "reason", "kinema_version")


def _under(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}


def load(path: str | os.PathLike) -> Recording:
    """Read a recording, or what `sim.last_failure` was saved as."""
    return Recording.load(path)
