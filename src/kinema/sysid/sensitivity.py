"""How states and readings depend on parameters along whole runs, by derivatives of every step.

With x' = f(x, u, p), y = g(x, u, p) and S = dx/dp, which is 0 at the beginning,

    S' = A S + P,       dy/dp = C S + Q

where A and C are those of a linearization, and P and Q derivatives of the step along the parameters (tangents.py). All
of it stays on the device until a run has ended. Contacts that come and go within a step do so as in the simulation: the
derivative is that of the pieces between, which neighbours of a point would smear.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import warp as wp

from kinema.errors import BuildError
from kinema.gradients import columns
from kinema.gradients.direction import Direction, inputs_of
from kinema.gradients.linearize import linearizer
from kinema.gradients.runge_kutta import Slopes, slopes_of_step
from kinema.simulation import Simulation
from kinema.sysid.measured import Signals
from kinema.sysid.parameter import Placed
from kinema.sysid.tape import Tape


@wp.kernel(enable_backward=False)
def carry(
    found: wp.array3d(dtype=float), by: wp.array3d(dtype=float), old: wp.array3d(dtype=float),
    after: wp.array3d(dtype=float),
):  # fmt: skip
    """(A S + P, C S + Q), world by world; a number a thread."""
    w, r, c = wp.tid()
    sum = by[w, r, c]
    for k in range(old.shape[1]):
        sum += found[w, r, k] * old[w, k, c]
    after[w, r, c] = sum


class Sensitivities:
    """Runs with derivatives by parameters.

    Args:
        sim: A simulation with a world a run.
        signals: What was measured.
        placed: The parameters.
    """

    def __init__(self, sim: Simulation, signals: Signals, placed: list[Placed]):
        self.sim, self.signals, self.placed = sim, signals, placed
        engine, n = sim.engine, len(placed)
        kept = sorted({one.array for one in columns.memory(engine)})
        if kept:
            raise BuildError(f"exact=True: steps remember more than the state ({', '.join(kept)}), which is not "
                             "carried along: leave it out, and derivatives are differences")  # fmt: skip
        self.names = sorted(set().union(*(each.fields for each in placed)))
        self.base = {name: np.array(engine.read(name)[:1]) for name in self.names}
        self.sensors = "sensordata" in signals.fields
        self.linearize = linearizer(engine, sensors=self.sensors)
        self.results = columns.states(engine.source) + (columns.sensors(engine.source) if self.sensors else [])
        shape = engine.nworld, len(self.results), n
        self.tape = Tape(engine, signals.ctrl, signals.every, signals.fields)
        self.slopes = wp.zeros((signals.frames, *shape), dtype=float, device=engine.device)
        self.before = wp.zeros((shape[0], self.linearize.nx, n), dtype=float, device=engine.device)
        self.after = wp.zeros(shape, dtype=float, device=engine.device)
        self._made: tuple[Any, Slopes] | None = None

    def put(self, point: np.ndarray) -> None:
        """Give all worlds the parameters of a point."""
        fields = {name: value.copy() for name, value in self.base.items()}
        for one, value in zip(self.placed, point, strict=True):
            one.put(fields, slice(None), np.array([value]))
        for name, values in fields.items():
            self.sim.engine.set_parameter(name, values[0])

    def moves(self) -> list[tuple[Direction, ...]]:
        """A direction a parameter: its number, and what is tied to it."""
        engine, found = self.sim.engine, []
        known = {name: columns.parameter(engine, name) for name in self.names}
        for one in self.placed:
            parts = list(_number(known, engine, one.parameter.field, one.at, 1.0))
            for field, rows in one.ties:
                shape = engine.shape(field)[1:]
                for index in np.ndindex(*shape[len(rows) :]):
                    parts += _number(known, engine, field, (*rows, *index), self._share(one, field, (*rows, *index)))
            found.append(tuple(parts))
        return found

    def _share(self, one: Placed, field: str, at: tuple[int, ...]) -> float:
        """By how much a tied number grows."""
        return float(self.base[field][(0, *at)]) / one.before

    def run(self) -> Slopes:
        """What gives P and Q; made anew where arrays of the engine have moved, or geoms mix in another way."""
        moves = self.moves()  # which may move arrays of the engine
        key = self.sim.engine.version, moves
        if self._made is None or self._made[0] != key:
            self._made = key, slopes_of_step(self.sim.engine, key[1], self.results)
        return self._made[1]

    def at(self, point: np.ndarray, start: dict[str, np.ndarray], frames: int) -> tuple[np.ndarray, np.ndarray]:
        """Residuals at a point (frame, run, channel), and their derivatives (frame, run, channel, parameter)."""
        engine = self.sim.engine
        self.put(point)
        engine.reset()
        for name, values in start.items():
            engine.write(name, values)
        by, nx = self.run(), self.linearize.nx
        self.before.zero_()

        def steps(t: int) -> None:
            for _ in range(self.tape.every):
                found = self.linearize()
                given = [found, by.run(), self.before, self.after]
                wp.launch(carry, dim=self.after.shape, inputs=given, device=engine.device)
                wp.copy(self.before, self.after[:, :nx])
                engine.step()
            wp.copy(self.slopes[t], self.after)

        kept = self.tape.play(frames, steps)
        r = self.signals.residuals({name: rows[:, None] for name, rows in kept.items()})[0]
        return r, self.signals.slopes(self.slopes.numpy()[:frames])


def _number(known: Any, engine: Any, field: str, at: tuple[int, ...], factor: float) -> list[Direction]:
    """What moves with one number of a field."""
    shape = engine.shape(field)[1:]
    flat = int(np.ravel_multi_index(at, shape)) if shape else 0
    return [replace(one, weight=one.weight * factor) for one in inputs_of(known[field][flat])]
