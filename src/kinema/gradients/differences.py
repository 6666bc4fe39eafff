"""A linearization by differences: every column of every world is a world of a second engine, and all take one step.

    column k = (x'(x (+) e_k) (-) x'(x (+) -e_k)) / 2 eps          centered; otherwise against the step from x itself

All begin with the same warm start. Numbers are single, so a difference has an error of rounding, about 1e-7 of the
numbers over eps, beside that of curvature, which grows with eps squared (eps, if not centered). The steps below balance
the two for quantities of order one; where contacts are stiff and shallow, a difference is not to be trusted to more
than two or three digits. Controls step to the sides that their range allows, as in MuJoCo.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinema.errors import BuildError, did_you_mean
from kinema.gradients import columns
from kinema.gradients.direction import Direction
from kinema.mujoco_enums import Disable

EPS = {"qpos": 1e-4, "qvel": 1e-3, "act": 1e-2, "ctrl": 1e-2}
"""Steps of centered differences: m or rad, m/s or rad/s, and units of activations and controls."""

MOST = 2048
"""Worlds of the second engine, unless the first has more."""


class Differences:
    """Differences of steps of one engine's worlds.

    Args:
        engine: The engine; any that steps worlds of a model.
    """

    def __init__(self, engine: Any):
        self.engine, m = engine, engine.source
        self.states, self.controls, self.sensors = columns.states(m), columns.controls(m), columns.sensors(m)
        self.nx = len(self.states)
        self._twin: Any = None

    def __call__(self, *, centered: bool = True, eps: Any = None, sensors: bool = True) -> np.ndarray:
        """[world, (x', y), (x, u)] at the present state."""
        engine, directions = self.engine, self.states + self.controls
        columns.refuse_delays(engine, sensors=sensors and bool(self.sensors))
        results = self.states + (self.sensors if sensors else [])
        n = engine.nworld
        start = {name: np.array(engine.read(name)) for name in sorted(engine.inputs) if np.size(engine.read(name))}
        up, down = self._steps(start, _steps(eps), centered)
        out = np.zeros((n, len(results), len(directions)), np.float32)
        room = max(1, MOST // n)
        base = {} if up.all() and down.all() else self._run(start, [], 1)[0]
        for begin in range(0, len(directions), max(1, room // 2)):
            chosen = range(begin, min(len(directions), begin + max(1, room // 2)))
            tasks = [(k, sign) for k in chosen for sign in (1, -1)]
            moves = [(directions[k], sign * (up if sign > 0 else down)[:, k]) for k, sign in tasks]
            ends = self._run(start, moves, len(tasks))
            for k in chosen:
                after = ends[2 * (k - begin)] if up[:, k].all() else _where(up[:, k] > 0, ends[2 * (k - begin)], base)
                last = ends[2 * (k - begin) + 1]
                before = last if down[:, k].all() else _where(down[:, k] > 0, last, base)
                width = up[:, k] + down[:, k]
                for row, result in enumerate(results):
                    rise = difference(result, before, after)
                    out[:, row, k] = np.where(width > 0, rise / np.where(width > 0, width, 1.0), 0.0)
        return out

    def _steps(
        self, start: Mapping[str, np.ndarray], eps: Mapping[str, float], centered: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """How far each world goes up and down in every direction."""
        m, n = self.engine.source, self.engine.nworld
        size = np.array([eps[one.array] for one in self.states + self.controls])
        up, down = np.tile(size, (n, 1)), np.tile(size * centered, (n, 1))
        limited = np.asarray(m.actuator_ctrllimited).astype(bool)
        if self.controls and not int(m.opt.disableflags) & Disable.CLAMPCTRL and limited.any():
            low, high = control_range(m)
            h, ctrl, nx = eps["ctrl"], start["ctrl"].astype(float), self.nx
            inside = lambda x: (x >= low) & (x <= high)  # noqa: E731
            above, below = inside(ctrl) & inside(ctrl + h), inside(ctrl) & inside(ctrl - h)
            up[:, nx:] = np.where(above, h, 0.0)
            down[:, nx:] = np.where(below & (centered | ~above), h, 0.0)
        return up, down

    def _run(
        self, start: Mapping[str, np.ndarray], moves: list[tuple[Direction, np.ndarray]], count: int
    ) -> list[dict[str, np.ndarray]]:
        """The results of one step from the state moved in each direction; without moves, from the state itself."""
        n = self.engine.nworld
        twin = self._engine(n * max(1, count))
        batch = {name: np.repeat(value[None], twin.nworld // n, 0) for name, value in start.items()}
        for number, (direction, by) in enumerate(moves):
            batch[direction.array][number] = _moved(direction, start[direction.array], by)
        twin.reset()
        for name, value in batch.items():
            twin.write(name, value.reshape(twin.nworld, *value.shape[2:]))
        twin.step()
        names = ["qpos", "qvel", *(["act"] if self.engine.source.na else []), *(["sensordata"] if self.sensors else [])]
        ends = {name: np.array(twin.read(name)).astype(float).reshape(-1, n, *twin.shape(name)[1:]) for name in names}
        return [{name: value[k] for name, value in ends.items()} for k in range(max(1, count))]

    def _engine(self, worlds: int) -> Any:
        """An engine of so many worlds, or of the most there were, with the parameters of the first one."""
        engine = self.engine
        if self._twin is None or self._twin.nworld < worlds:
            most = engine.nworld * max(worlds // engine.nworld, 2 * max(1, MOST // engine.nworld // 2))
            fit = engine.nworld * 2 * max(1, len(self.states + self.controls))
            options = {"device": engine.device, "threads": getattr(engine, "threads", 1)}
            self._twin = type(engine)(engine.source, max(worlds, min(most, fit)), **options)
        _follow(self._twin, engine)
        return self._twin


def _steps(eps: Any) -> dict[str, float]:
    """The step in each input."""
    if eps is None:
        return dict(EPS)
    given = eps if isinstance(eps, Mapping) else dict.fromkeys(EPS, eps)
    for name, value in given.items():
        if name not in EPS:
            raise BuildError(f"eps: {name!r} is no input{did_you_mean(str(name), EPS)}: known are {', '.join(EPS)}")
        if not isinstance(value, int | float) or not value > 0:
            raise BuildError(f"eps={value!r}: expected a number above zero")
    return {**EPS, **given}


def control_range(m: Any) -> tuple[np.ndarray, np.ndarray]:
    """Between what controls are kept; without end where they are not limited."""
    low, high = np.full(int(m.nu), -np.inf), np.full(int(m.nu), np.inf)
    for k in np.flatnonzero(np.asarray(m.actuator_ctrllimited)):
        first = int(m.actuator_ctrladr[k])
        at = slice(first, first + int(m.actuator_ctrlnum[k]))
        low[at], high[at] = np.asarray(m.actuator_ctrlrange)[k]
    return low, high


def _follow(twin: Any, engine: Any) -> None:
    """Give an engine the parameters of another; those that differ per world, world by world."""
    times = twin.nworld // engine.nworld
    for name in sorted(engine.parameters):
        now = engine.read(name)
        if name in engine.expanded:
            twin.expand(name)
            twin.set_parameter(name, np.tile(now, (times, *[1] * (now.ndim - 1))))
        elif now.size and not np.array_equal(now[0], twin.read(name)[0], equal_nan=True):
            twin.set_parameter(name, now[0])


def _moved(direction: Direction, start: np.ndarray, by: np.ndarray) -> np.ndarray:
    """An input moved in a direction, world by world."""
    value, at = start.copy(), direction.element
    if direction.turn == 0:
        value[:, at] = value[:, at] + by
        return value
    q = value[:, at : at + 4].astype(float)
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    turn = np.zeros((len(q), 4))
    turn[:, 0], turn[:, direction.turn] = np.cos(by / 2), np.sin(by / 2)
    value[:, at : at + 4] = _product(q, turn)
    return value


def difference(result: Direction, before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]) -> np.ndarray:
    """How far a result has moved."""
    a, b, at = before[result.array], after[result.array], result.element
    if result.turn == 0:
        return b[:, at] - a[:, at]
    conjugate = a[:, at : at + 4] * [1.0, -1.0, -1.0, -1.0]
    turn = _product(conjugate, b[:, at : at + 4])
    turn *= np.sign(turn[:, :1]) + (turn[:, :1] == 0)
    sine = np.linalg.norm(turn[:, 1:], axis=1)
    scale = np.where(sine > 1e-9, 2 * np.arctan2(sine, turn[:, 0]) / np.where(sine > 1e-9, sine, 1.0), 2.0)
    return turn[:, result.turn] * scale


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Quaternions a b, row by row."""
    w = a[:, 0] * b[:, 0] - np.einsum("ij,ij->i", a[:, 1:], b[:, 1:])
    v = a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])
    return np.concatenate([w[:, None], v], axis=1)


def _where(mask: np.ndarray, a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: np.where(mask[:, None], a[name], b[name]) for name in a}
