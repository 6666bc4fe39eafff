"""What was measured, and how far a simulation of it is from that.

A measurement is one run: the state it began in, the controls, and signals read after every frame, of `every` steps
each. Signals are states (qpos, qvel, act), all of sensordata, or sensors by name; what was not measured is NaN. As in
MuJoCo, sensors read after a step tell of the state the step began in.

    residual = (simulated - measured) / noise

with the noise of each channel. Where none is given, channels count in units of how much they vary, and those that stand
still beside others hardly count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinema.errors import BuildError, UnknownKey, did_you_mean
from kinema.gradients import columns
from kinema.gradients.differences import difference
from kinema.recording import Recording
from kinema.simulation import Simulation
from kinema.simulation.named import ids_of
from kinema.simulation.source import names_of

STATES = ("qpos", "qvel", "act")
NOTHING = 0.1  # part of what the liveliest position, velocity or axis of a sensor varies
ROUNDING = 1e-5  # part of what numbers are that single precision leaves uncertain after many steps


@dataclass
class Measured:
    """One run of the mechanism.

    Attributes:
        ctrl: Controls of every frame, held for `every` steps, (frames, nu).
        signals: What was read after every frame, by name: "qpos", "qvel", "act", "sensordata", or the name of a
            sensor; (frames, n), NaN where nothing was measured.
        start: The state before the first frame, by name: qpos, qvel, act, …; what is not given is the model's initial.
        every: Steps of the simulation in a frame.
    """

    ctrl: Any
    signals: Mapping[str, Any]
    start: Mapping[str, Any] = field(default_factory=dict)
    every: int = 1

    def windows(self, length: int) -> list[Measured]:
        """The same run in pieces, each of which begins in the state that was measured there."""
        missing = [name for name in ("qpos", "qvel") if name not in self.signals]
        if missing:
            raise BuildError(f"window={length}: pieces begin in measured states, and {', '.join(missing)} is not there")
        ctrl = np.asarray(self.ctrl)
        signals = {name: np.asarray(rows) for name, rows in self.signals.items()}
        found = []
        for begin in range(0, len(ctrl), length):
            start = dict(self.start)
            if begin:
                start |= {name: signals[name][begin - 1] for name in STATES if name in signals}
            part = {name: rows[begin : begin + length] for name, rows in signals.items()}
            found.append(Measured(ctrl[begin : begin + length], part, start, self.every))
        return found


def runs_of(measured: Any) -> list[Measured]:
    """Runs from whatever was given: one, several, or recordings, of which every world is a run."""
    if isinstance(measured, Measured):
        return [measured]
    if isinstance(measured, Recording):
        rec = measured
        return [
            Measured(
                rec.ctrl[1:, w], {name: getattr(rec, name)[1:, w] for name in ("qpos", "qvel")},
                {name: values[w] for name, values in rec.start.items()}
                or {name: getattr(rec, name)[0, w] for name in STATES},
                rec.every,
            )
            for w in range(len(rec.worlds))
        ]  # fmt: skip
    if isinstance(measured, Sequence):
        return [run for each in measured for run in runs_of(each)]
    raise BuildError(f"measured={type(measured).__name__}: expected Measured, a Recording, or a list of them")


class Signals:
    """The channels of several runs, in one order: simulated as arrays [frame, run, channel], and their residuals.

    Args:
        sim: A simulation of the model.
        runs: The runs; all have the same signals.
        noise: Standard deviation of signals by name, a number or one a channel; None: how much each channel varies.

    Attributes:
        seen: Where something was measured, (frame, run, channel).
    """

    def __init__(self, sim: Simulation, runs: list[Measured], noise: Mapping[str, Any] | None = None):
        if not runs:
            raise BuildError("nothing was measured: give at least one run")
        self.model, self.runs = sim.model, runs
        names = list(runs[0].signals)
        if any(list(run.signals) != names for run in runs) or any(run.every != runs[0].every for run in runs):
            raise BuildError("all runs must have the same signals and the same number of steps in a frame")
        self.parts = [(name, *self._where(sim, name)) for name in names]  # name, array, columns of it
        self.fields = sorted({array for _, array, _ in self.parts})
        self.frames = max(len(np.asarray(run.ctrl)) for run in runs)
        self.every = runs[0].every
        nu = int(sim.model.nu)
        self.ctrl: np.ndarray = np.zeros((self.frames, len(runs), nu), np.float32)
        widths = [len(where) for _, _, where in self.parts]
        sizes = zip(names, widths, strict=True)
        self.measured = {name: np.full((self.frames, len(runs), n), np.nan) for name, n in sizes}
        for k, run in enumerate(runs):
            self._take(k, run, nu)
        self.names = [label for name, array, where in self.parts for label in self._labels(name, array, len(where))]
        self.seen = np.concatenate([np.isfinite(self._where_seen(part)) for part in self.parts], -1)
        self.noise = self._noise(noise)

    def _where(self, sim: Simulation, name: str) -> tuple[str, np.ndarray]:
        """The array a signal is in, and which columns of it."""
        m = sim.model
        if name in (*STATES, "sensordata"):
            return name, np.arange(sim.engine.shape(name)[1])
        try:
            number = ids_of(m, "sensor", name)[0][0]
        except UnknownKey:
            known = (*STATES, "sensordata", *filter(None, names_of(m, "sensor")))
            raise UnknownKey(
                f"{name!r} is no signal{did_you_mean(name, known)}: expected qpos, qvel, act, sensordata, or the name "
                "of a sensor"
            ) from None
        first = int(m.sensor_adr[number])
        return "sensordata", np.arange(first, first + int(m.sensor_dim[number]))

    def _take(self, k: int, run: Measured, nu: int) -> None:
        """Put a run into the arrays."""
        ctrl = np.asarray(run.ctrl, np.float32).reshape(-1, nu) if nu else np.zeros((len(np.asarray(run.ctrl)), 0))
        self.ctrl[: len(ctrl), k] = ctrl
        self.ctrl[len(ctrl) :, k] = ctrl[-1:]
        for name, _, where in self.parts:
            rows = np.asarray(run.signals[name], float)
            rows = rows[:, None] if rows.ndim == 1 else rows
            if rows.shape != (len(ctrl), len(where)):
                raise BuildError(f"signal {name!r} of shape {rows.shape}: expected {(len(ctrl), len(where))}")
            self.measured[name][: len(ctrl), k] = rows

    def _labels(self, name: str, array: str, width: int) -> list[str]:
        count = int(self.model.nv) if array == "qpos" else width
        return [f"{name}[{k}]" for k in range(count)] if count > 1 else [name]

    def _noise(self, noise: Mapping[str, Any] | None) -> np.ndarray:
        """The standard deviation of every channel."""
        found = []
        for name in noise or {}:
            if name not in self.measured:
                raise UnknownKey(f"noise: {name!r} is no signal{did_you_mean(name, self.measured)}")
        for name, array, where in self.parts:
            rows = self.measured[name]
            count = int(self.model.nv) if array == "qpos" else rows.shape[-1]
            if noise and name in noise:
                found.append(np.broadcast_to(np.asarray(noise[name], float), (count,)))
                continue
            first = np.isfinite(rows).all(-1).argmax(0)
            size = np.nanstd(self._apart(array, rows, rows[first, np.arange(len(first))]), axis=(0, 1))
            found.append(self._floored(array, where, size, np.sqrt(np.nanmean(rows**2))))
        return np.concatenate(found)

    def _floored(self, array: str, where: np.ndarray, size: np.ndarray, magnitude: float) -> np.ndarray:
        """How much channels vary, no less than what beside others of their kind, or to single numbers, is nothing."""
        of: np.ndarray = np.zeros(len(size), int)
        if array == "sensordata":
            dims = np.asarray(self.model.sensor_dim)
            of = np.repeat(np.arange(len(dims)), dims)[where]
        most = np.zeros(of.max(initial=0) + 1)
        np.maximum.at(most, of, size)
        found = np.maximum(size, np.maximum(NOTHING * most[of], ROUNDING * magnitude))
        return np.where(found > 0, found, 1.0)

    def _apart(self, array: str, simulated: np.ndarray, measured: np.ndarray) -> np.ndarray:
        """How far a signal is from another; positions in their tangent space."""
        if array != "qpos":
            return simulated - measured
        flat = [{"qpos": x.reshape(-1, x.shape[-1])} for x in np.broadcast_arrays(measured, simulated)]
        each = [difference(one, *flat) for one in columns.positions(self.model)]
        return np.stack(each, -1).reshape(*np.broadcast_shapes(simulated.shape, measured.shape)[:-1], len(each))

    def residuals(self, simulated: Mapping[str, np.ndarray]) -> np.ndarray:
        """Residuals of arrays [frame, neighbour, run, n]: (neighbour, frame, run, channel); 0 where not measured.

        The arrays may end before the runs do.
        """
        parts = []
        for name, array, where in self.parts:
            rows: np.ndarray = np.moveaxis(simulated[array][..., where], 1, 0).astype(float)
            parts.append(self._apart(array, rows, self.measured[name][None, : rows.shape[1]]))
        found = np.concatenate(parts, -1) / self.noise
        return np.where(self.seen[: found.shape[1]], found, 0.0)

    def slopes(self, found: np.ndarray) -> np.ndarray:
        """Derivatives of residuals (frame, run, channel, parameter) from those of states, in the order of a
        linearization, and sensors, (frame, run, row, parameter)."""
        nv, na = int(self.model.nv), int(self.model.na)
        first = {"qpos": 0, "qvel": nv, "act": 2 * nv, "sensordata": 2 * nv + na}
        rows = [first[array] + (np.arange(nv) if array == "qpos" else where) for _, array, where in self.parts]
        J = found[:, :, np.concatenate(rows)].astype(float) / self.noise[:, None]
        return np.where(self.seen[: len(J), :, :, None], J, 0.0)

    def _where_seen(self, part: tuple[str, str, np.ndarray]) -> np.ndarray:
        """Not a number where nothing was measured, (frame, run, channel)."""
        rows = self.measured[part[0]]
        if part[1] == "qpos":
            return np.repeat(rows.sum(-1, keepdims=True), int(self.model.nv), -1)
        return rows
