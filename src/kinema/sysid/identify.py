"""Numbers of a model that explain what was measured, by Gauss-Newton steps with Levenberg's and Marquardt's damping.

With r(p) all residuals (measured.py) and J their derivatives by the parameters p,

    (J'J + lambda diag J'J) s = -J'r,       p <- p + s within bounds

J is taken by differences, or exactly (sensitivity.py). For differences the point and its neighbours, one a parameter,
are worlds of one batch, for every run: so an iteration is one rollout, which says whether the point is better and has
the next J at once. Where the point is worse, the same worlds try as many dampings. The search begins with the first
part of the runs, where paths have hardly parted.

At the end the information matrix says how well the parameters are known. With s_c^2 the variance that is left in
channel c, whose rows of J are J_c,

    covariance = (J'J)^-1 (sum of s_c^2 J_c'J_c) (J'J)^-1

and an interval is the quantile of Student's t times the square root of its diagonal. It is about noise that is new in
every sample, in a model that is otherwise right. Directions that the data say nothing about are named in `warnings`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from kinema.compile.constants.inertial import INERTIAL
from kinema.errors import BuildError
from kinema.simulation import Simulation
from kinema.simulation.copies import copies
from kinema.simulation.recompute import INDEPENDENT
from kinema.sysid.measured import Signals, runs_of
from kinema.sysid.parameter import Parameter, Placed
from kinema.sysid.sensitivity import Sensitivities
from kinema.sysid.tape import Tape

SMALLEST, LARGEST = 1e-9, 1e9  # damping
BOLD = 0.01  # damping up to which a step that gains nothing means that there is nothing to gain
UNSEEN = 1e-5  # a typical change of a parameter moves signals by less than this part of what they vary
ALIKE = 1e-2  # the least singular value of J, its columns of length one, below which directions are lost in rounding
SETTLED = 0.05  # of its standard error: a step that small changes nothing
SHORTER, SHORTEST, ROUGHLY = 4, 50, 0.1  # the part of the frames it begins with, no fewer than so many, and how well
WEIGHED = 3e-3  # by how much parameters may have changed since constants that follow from masses were computed


@dataclass
class Identification:
    """Parameters that explain what was measured.

    Attributes:
        parameters: What was looked for.
        values: What was found, (n,).
        start: Where it began, (n,).
        intervals: Lowest and highest value at the confidence asked for, (n, 2); infinite where the data say nothing.
        covariance: Of the values, (n, n).
        costs: Half the sum of squared residuals at every point that was kept, once all frames counted.
        residual: Root mean square of each channel's residuals at the end, in the channel's own unit, by name.
        converged: Whether no step would change the values any more.
        warnings: What of the parameters the data do not tell.
    """

    parameters: tuple[Parameter, ...]
    values: np.ndarray
    start: np.ndarray
    intervals: np.ndarray
    covariance: np.ndarray
    costs: np.ndarray
    residual: dict[str, float]
    converged: bool
    warnings: tuple[str, ...]
    evaluations: int = 0

    def __getitem__(self, name: str) -> float:
        """A value by the name of its parameter: found["body_mass[fore]"]."""
        return float(self.values[[parameter.name for parameter in self.parameters].index(name)])

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("parameter", "start", "found", "+-")]
        half = 0.5 * (self.intervals[:, 1] - self.intervals[:, 0])
        for k, parameter in enumerate(self.parameters):
            numbers = (f"{x:.5g}" for x in (self.start[k], self.values[k], half[k]))
            rows.append((parameter.name, *numbers))
        widths = [max(len(row[c]) for row in rows) for c in range(4)]
        lines = ["  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, *(f"! {warning}" for warning in self.warnings)])

    def apply(self, sim: Simulation) -> None:
        """Write the values into all worlds of a simulation, and what follows from them."""
        placed = [Placed(sim, parameter) for parameter in self.parameters]
        fields = {name: np.array(sim.engine.read(name)) for one in placed for name in one.fields}
        for one, value in zip(placed, self.values, strict=True):
            one.put(fields, np.arange(sim.worlds), value)
        for name, values in fields.items():
            sim.engine.set_parameter(name, values if name in sim.engine.expanded else values[0])
        if not set(fields) <= INDEPENDENT:
            sim.recompute()


def identify(
    sim: Simulation, measured: Any, parameters: Sequence[Parameter], *, noise: Mapping[str, Any] | None = None,
    window: int | None = None, iterations: int = 40, tolerance: float = 1e-6, step: float = 3e-3,
    confidence: float = 0.95, exact: bool = False,
) -> Identification:  # fmt: skip
    """Find numbers of a model from what the mechanism did.

    Args:
        sim: A simulation of the model; parameters that are not looked for are those of its first world. It is not
            changed.
        measured: `Measured` runs, or a `Recording`, whose worlds are runs; or a list of them.
        parameters: What is looked for.
        noise: Standard deviation of signals by name, where known; otherwise channels count by how much they vary.
        window: Frames after which a run begins anew in the state that was measured: for mechanisms whose paths part
            quickly. None: runs are simulated from beginning to end, which measured noise disturbs least.
        iterations: At most so many.
        tolerance: It is done when the cost falls by less than this part of it, or the step is nothing beside the
            standard errors.
        step: How far a neighbour is away, in units of the parameter's scale; larger where contacts come and go, which
            makes costs rugged on small scales.
        confidence: Of the intervals.
        exact: Take derivatives of every step instead of differences: no step to choose, and nothing lost in rounding,
            at the cost of a linearization a step. It is refused for parameters that other constants follow from, but
            for masses and inertias.
    """
    if not parameters:
        raise BuildError("identify: give at least one Parameter")
    runs = runs_of(measured)
    if window is not None:
        runs = [piece for run in runs for piece in run.windows(int(window))]
    placed = [Placed(sim, one) for one in parameters]
    numbers = [(one.parameter.field, one.at) for one in placed]
    for k, number in enumerate(numbers):
        if number in numbers[:k]:
            raise BuildError(f"{placed[k].parameter.name} is given twice: a number has one value")
    batch = _Batch(sim, Signals(sim, runs, noise), placed, step, exact)
    return _Search(batch, confidence).run(iterations, tolerance)


class _Batch:
    """Copies of the mechanism: for each neighbour of a point, one a run. World of neighbour k and run n: k runs + n."""

    def __init__(self, sim: Simulation, signals: Signals, placed: list[Placed], step: float, exact: bool):
        self.signals, self.placed = signals, placed
        self.runs, self.slots = len(signals.runs), 1 + len(placed)
        one = sim if sim.worlds == 1 else sim.copy_of_world(0)
        self.many = copies(one, self.slots * self.runs)
        self.names = sorted(set().union(*(each.fields for each in placed)))
        self.many.expand(*self.names)
        self.base = {name: np.array(self.many.engine.read(name)) for name in self.names}
        self.derives = not set(self.names) <= INDEPENDENT | set(INERTIAL)
        self.weighs = not self.derives and not set(self.names) <= INDEPENDENT
        self.scale = np.array([each.scale for each in placed])
        self.low, self.high = np.array([each.low for each in placed]), np.array([each.high for each in placed])
        self.step, self.evaluations, self.frames = step * self.scale, 0, signals.frames
        self.start = self._starts()
        self.tape = Tape(self.many.engine, np.tile(signals.ctrl, (1, self.slots, 1)), signals.every, signals.fields)
        if exact and self.derives:
            known = sorted(set(self.names) - INDEPENDENT - set(INERTIAL))
            raise BuildError(f"exact=True: other constants of the model follow from {', '.join(known)}; leave it out")
        self.exact = Sensitivities(copies(one, self.runs), signals, placed) if exact else None

    def _starts(self) -> dict[str, np.ndarray]:
        """The states that worlds begin in, by name."""
        engine, found = self.many.engine, {}
        for name in sorted({name for run in self.signals.runs for name in run.start}):
            if not engine.shape(name)[1:] or np.prod(engine.shape(name)[1:]):
                now = np.array(engine.read(name))
                for k, run in enumerate(self.signals.runs):
                    if name in run.start:
                        now[k :: self.runs] = np.asarray(run.start[name])
                found[name] = now
        return found

    def neighbours(self, point: np.ndarray) -> np.ndarray:
        """A point and its neighbours, one a parameter, on the side that has room, (slots, n)."""
        side = np.where(point + self.step <= self.high, 1.0, -1.0)
        return point + np.concatenate([np.zeros((1, len(point))), np.diag(side * self.step)])

    def weigh(self, point: np.ndarray) -> np.ndarray:
        """Let constants that follow from masses and inertias be those of a point, in all worlds; gives the point."""
        if self.weighs:
            self._put(np.tile(point, (self.slots, 1)))
            self.many.recompute()
            if self.exact:
                self.exact.put(point)
                self.exact.sim.recompute()
        return point

    def _put(self, points: np.ndarray) -> None:
        """Give each slot the parameters of a point."""
        fields = {name: value.copy() for name, value in self.base.items()}
        for one, column in zip(self.placed, points.T, strict=True):
            one.put(fields, slice(None), np.repeat(column, self.runs))
        for name, values in fields.items():
            self.many.engine.set_parameter(name, values)

    def residuals(self, points: np.ndarray) -> np.ndarray:
        """Residuals at as many points as there are slots, (slots, frame, run, channel)."""
        engine, signals = self.many.engine, self.signals
        self._put(points)
        if self.derives:
            self.many.recompute()
        engine.reset()
        for name, values in self.start.items():
            engine.write(name, values)
        kept = self.tape.play(self.frames)
        self.evaluations += 1
        shape = (self.frames, self.slots, self.runs)
        return signals.residuals({name: rows.reshape(*shape, *rows.shape[2:]) for name, rows in kept.items()})

    def at(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residuals at a point (frame, run, channel), and their derivatives (frame, run, channel, parameter)."""
        if self.exact:
            self.evaluations += 1
            start = {name: values[: self.runs] for name, values in self.start.items()}
            return self.exact.at(point, start, self.frames)
        points = self.neighbours(point)
        found = self.residuals(points)
        moved = np.diag(points[1:] - point)
        return found[0], np.moveaxis((found[1:] - found[0]) / moved.reshape(-1, 1, 1, 1), 0, -1)


class _Search:
    """The way to the best point."""

    def __init__(self, batch: _Batch, confidence: float):
        self.batch, self.confidence = batch, confidence
        self.damping = 1e-3

    def run(self, iterations: int, tolerance: float) -> Identification:
        """Go there: by the beginning of the runs first, which is cheap and nearly linear, and then by all of them."""
        batch = self.batch
        point = begin = np.array([one.start for one in batch.placed])
        whole = batch.frames
        if whole >= 4 * SHORTEST:
            batch.frames = max(SHORTEST, whole // SHORTER)
            point, *_ = self._climb(point, min(iterations, 10), max(tolerance, ROUGHLY))
            batch.frames = whole
        return self._report(begin, *self._climb(point, iterations, tolerance))

    def _climb(
        self, point: np.ndarray, iterations: int, tolerance: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, bool]:
        """The best point by the frames that count now, residuals and derivatives there, costs on the way, and whether
        it was reached."""
        batch = self.batch
        weighed = batch.weigh(point)
        r, J = batch.at(point)
        cost = _cost(r)
        if not np.isfinite(cost):
            raise BuildError("the simulation does not get through what was measured: residuals are not finite")
        costs = [cost]
        for _ in range(iterations):
            if not self._is_nothing(self._step(point, r, J, SMALLEST) - point, r, J):
                trial, found, slopes, fell = self._descend(point, r, J, cost)
                if fell > 0:
                    point, r, J, cost = trial, found, slopes, cost - fell
                    costs.append(cost)
                if fell > tolerance * cost or (self.damping > BOLD and (fell > 0 or self.damping < LARGEST)):
                    continue
            left = self._step(point, r, J, SMALLEST) - point
            if not self._is_nothing(left, r, J, 1.0):  # there is more to gain, and it does not get there
                return point, r, J, np.array(costs), False
            if not batch.weighs or np.allclose(point, weighed, rtol=WEIGHED, atol=0.0):
                return point, r, J, np.array(costs), True
            weighed = batch.weigh(point)  # and once more, with these masses
            r, J = batch.at(point)
            cost = _cost(r)
        return point, r, J, np.array(costs), False

    def _descend(
        self, point: np.ndarray, r: np.ndarray, J: np.ndarray, cost: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """A better point with residuals and derivatives, and how far the cost fell: by a step, or a shorter one."""
        batch, trial = self.batch, self._step(point, r, J, self.damping)
        found, slopes = batch.at(trial)
        fell = cost - _cost(found)
        if fell > 0:
            self.damping = max(SMALLEST, 0.1 * self.damping)
            return trial, found, slopes, fell
        dampings = self.damping * 4.0 ** np.arange(1, batch.slots + 1)
        trials = np.stack([self._step(point, r, J, each) for each in dampings])
        costs = np.array([_cost(row) for row in batch.residuals(trials)])
        best = int(costs.argmin())
        if not costs[best] < cost:
            self.damping = float(dampings[-1])
            return point, r, J, 0.0
        self.damping = float(dampings[best])
        found, slopes = batch.at(trials[best])
        return trials[best], found, slopes, cost - _cost(found)

    def _step(self, point: np.ndarray, r: np.ndarray, J: np.ndarray, damping: float) -> np.ndarray:
        """The next point within bounds: parameters that a step would take past one are held there."""
        batch, columns = self.batch, J.reshape(-1, J.shape[-1]) * self.batch.scale
        H, g = columns.T @ columns, columns.T @ r.reshape(-1)
        H = H + np.diag(damping * np.maximum(H.diagonal(), 1e-12 * max(H.diagonal().max(), 1e-30)))
        low, high = (batch.low - point) / batch.scale, (batch.high - point) / batch.scale
        held: np.ndarray = np.zeros(len(point), bool)
        s: np.ndarray = np.zeros(len(point))
        for _ in range(len(point) + 1):
            free = ~held
            if free.any():
                s[free] = np.linalg.solve(H[np.ix_(free, free)], -(g[free] + H[np.ix_(free, held)] @ s[held]))
            past = free & ((s < low) | (s > high))
            if not past.any():
                break
            s[past] = np.clip(s[past], low[past], high[past])
            held |= past
        return point + s * batch.scale

    def _is_nothing(self, step: np.ndarray, r: np.ndarray, J: np.ndarray, part: float = SETTLED) -> bool:
        """Whether a step is nothing: a part of the standard errors, or what rounding does to the numbers."""
        errors = np.sqrt(np.maximum(self._covariance(r, J)[0].diagonal(), 0.0))
        least = np.maximum(part * np.nan_to_num(errors, posinf=np.inf), 1e-5 * part * self.batch.scale)
        return bool((np.abs(step) <= least).all())

    # ------------------------------------------------------------------------------------------ what is known

    def _covariance(self, r: np.ndarray, J: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Covariance of the values, and singular values and directions of J with columns of length one."""
        scale, n = self.batch.scale, J.shape[-1]
        columns = J.reshape(-1, n)
        length = np.linalg.norm(columns, axis=0)
        seen = length * scale > UNSEEN * np.sqrt(len(columns))
        unit = columns / np.where(length > 0, length, 1.0)
        squares, directions = np.linalg.eigh(unit.T @ unit)
        singular, directions = np.sqrt(np.maximum(squares, 0.0)), directions.T
        inverse = (directions.T / np.maximum(singular, 1e-12) ** 2) @ directions
        left = np.zeros((n, n))
        samples = self.batch.signals.seen[: self.batch.frames].sum(axis=(0, 1))
        spent = n * samples / max(1, samples.sum())  # of each channel's samples, those that the parameters have used up
        for c, variance in enumerate((r**2).sum(axis=(0, 1)) / np.maximum(1.0, samples - spent)):
            rows = unit.reshape(J.shape)[:, :, c].reshape(-1, n)
            left += variance * rows.T @ rows
        length = np.where(length > 0, length, 1.0)
        found = inverse @ left @ inverse / np.outer(length, length)
        found[~seen] = found[:, ~seen] = 0.0
        found[~seen, ~seen] = np.inf
        return found, singular, directions

    def _report(
        self, begin: np.ndarray, point: np.ndarray, r: np.ndarray, J: np.ndarray, costs: np.ndarray, converged: bool
    ) -> Identification:
        batch = self.batch
        covariance, singular, directions = self._covariance(r, J)
        names = [one.parameter.name for one in batch.placed]
        told = self._told(names, point, covariance, singular, directions, converged)
        freedom = max(1, int(batch.signals.seen.sum()) - len(point))
        half = stdtrit(freedom, 0.5 + 0.5 * self.confidence) * np.sqrt(np.maximum(covariance.diagonal(), 0.0))
        for message in told:
            warnings.warn(message, stacklevel=4)
        samples = np.maximum(1, batch.signals.seen.sum(axis=(0, 1)))
        size = np.sqrt((r**2).sum(axis=(0, 1)) / samples) * batch.signals.noise
        return Identification(
            tuple(one.parameter for one in batch.placed), point, begin, np.stack([point - half, point + half], 1),
            covariance, costs, dict(zip(batch.signals.names, size.tolist(), strict=True)), converged, tuple(told),
            batch.evaluations,
        )  # fmt: skip

    def _told(
        self, names: list[str], point: np.ndarray, covariance: np.ndarray, singular: np.ndarray,
        directions: np.ndarray, converged: bool,
    ) -> list[str]:  # fmt: skip
        """What the data do not tell."""
        unseen = np.isinf(covariance.diagonal())
        found = [f"{name} does nothing that was measured" for name, flag in zip(names, unseen, strict=True) if flag]
        for value, direction in zip(singular, directions, strict=True):
            part = [name for name, x, flag in zip(names, direction, unseen, strict=True) if abs(x) > 0.3 and not flag]
            if value < ALIKE and len(part) > 1:
                found.append(f"{' and '.join(part)} cannot be told apart: what one does, the others do as well")
        at_bound = (point <= self.batch.low) | (point >= self.batch.high)
        found += [f"{name} ends at its bound" for name, flag in zip(names, at_bound, strict=True) if flag]
        if not converged:
            found.append("the search ended before it was done: allow more iterations, or start nearer")
        return found


def _cost(r: np.ndarray) -> float:
    value = 0.5 * float((r**2).sum())
    return value if np.isfinite(value) else np.inf
