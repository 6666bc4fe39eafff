"""How a step depends on the state and controls it starts from, in every world at once (mjd_transitionFD).

    x' = x (+) (A dx + B du),    y = y_0 + C dx + D du

at the present state, in the tangent space of positions (columns.py). Two methods:

    exact   at the constraints that are active and the pairs of geoms that touch; in single precision, to about six
            digits: A and B in closed form where the model allows it (closed.py), else derivatives of the step's own
            arithmetic (tangents.py), as are C and D
    fd      differences of steps in single precision (differences.py), for models that the other refuses, and to compare
"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import warp as wp

from kinema.convex.status import IDLE
from kinema.errors import BuildError, did_you_mean
from kinema.gradients import closed, columns
from kinema.gradients.differences import Differences
from kinema.gradients.elements import Element, elements
from kinema.gradients.runge_kutta import slopes_of_step
from kinema.gradients.tangents import Tangents

METHODS = ("exact", "fd")


class Linearization(NamedTuple):
    """Derivatives of the next state and the sensors by state and controls, [world, row, column]."""

    A: Any
    B: Any
    C: Any
    D: Any


@wp.kernel(enable_backward=False)
def times_rows(along: wp.array2d(dtype=float), found: wp.array3d(dtype=float), out: wp.array3d(dtype=float)):
    """along' found, world by world; a column a thread."""
    w, c = wp.tid()
    sum = float(0.0)
    for r in range(along.shape[1]):
        sum += along[w, r] * found[w, r, c]
    out[w, 0, c] = sum


class Linearizer:
    """Linearizes the worlds of one engine, as often as asked; what it needs is made the first time.

    Args:
        engine: The engine.
        sensors: Also C and D.
    """

    def __init__(self, engine: Any, *, sensors: bool = True):
        m = engine.source
        if not hasattr(engine, "recipes"):
            raise BuildError(f'{type(engine).__name__} has no stages to differentiate: use method="fd"')
        self.engine = engine
        self._states, self._controls = columns.states(m), columns.controls(m)
        self._sensors = columns.sensors(m) if sensors else []
        self._kept = wp.empty_like(engine.layout.arrays["qacc_warmstart"])
        self._made: tuple[Any, list[Any]] | None = None
        self._seen: tuple[int, str, tuple[Element, ...]] = -1, "", ()
        shape = engine.nworld, len(self._states + self._sensors), len(self._states + self._controls)
        self._out = wp.zeros(shape, dtype=float, device=engine.device)
        self._pulled = wp.zeros((shape[0], 1, shape[2]), dtype=float, device=engine.device)

    @property
    def nx(self) -> int:
        """Numbers of the state: 2 nv + na."""
        return len(self._states)

    def against(self) -> str:
        """Why A and B are not in closed form; empty: they are."""
        return self._look()[1]

    def _look(self) -> tuple[int, str, tuple[Element, ...]]:
        """Why there is no closed form, and what pushes dofs, by the numbers that the model has now."""
        now = self.engine.present.writes
        if self._seen[0] != now:
            columns.refuse_delays(self.engine, sensors=bool(self._sensors))
            m = self.engine.present.to("closed")
            why = closed.against(m)
            self._seen = now, why, () if why else elements(m)
        return self._seen

    def runs(self) -> list[Any]:
        """What computes them, each its rows, made anew when arrays of the engine have moved, or other things push."""
        key = self.engine.version, *self._look()[1:]
        if self._made is None or self._made[0] != key:
            columns_of, nx = self._states + self._controls, self.nx
            found: list[Any] = []
            if not self.against() and nx:
                found.append(closed.Closed(self.engine, self._out[:, :nx]))
                if self._sensors:
                    found.append(Tangents(self.engine, columns_of, self._sensors, out=self._out[:, nx:]))
            else:
                found.append(slopes_of_step(self.engine, columns_of, self._states + self._sensors, out=self._out))
            self._made = key, found
        return self._made[1]

    @property
    def memory(self) -> int:
        """Bytes of scratch."""
        return sum(run.memory for run in self.runs())

    def at_hand(self) -> wp.array:
        """The same where the engine's forward dynamics are those of its state."""
        for run in self.runs():
            run.run()
        return self._out

    def pull(self, along: wp.array) -> wp.array:
        """The product of rows `along` [world, x'] with A and B, [world, 1, (x, u)], where forward dynamics are at hand.

        In closed form it is cheaper than A and B.
        """
        run = self.runs()[0]
        if isinstance(run, closed.Closed):
            wp.copy(run.along, along)
            return run.pull()
        run.run()
        wp.launch(times_rows, dim=self._pulled.shape[::2], inputs=[along, self._out, self._pulled],
                  device=self.engine.device)  # fmt: skip
        return self._pulled

    def __call__(self) -> wp.array:
        """All four as one array on the device, [world, (x', y), (x, u)]; it is written over by the next call."""
        warm = self.engine.layout.arrays["qacc_warmstart"]
        wp.copy(self._kept, warm)
        self.engine.forward()
        found = self.at_hand()
        wp.copy(self.engine.layout.arrays["qacc_warmstart"], self._kept)
        return found


_linearizers: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()


def linearizer(engine: Any, *, sensors: bool = True) -> Linearizer:
    """The one of an engine."""
    known = _linearizers.setdefault(engine, {})
    if sensors not in known:
        known[sensors] = Linearizer(engine, sensors=sensors)
    return known[sensors]


def linearize(
    engine: Any, *, method: str = "exact", centered: bool = True, eps: Any = None, sensors: bool = True
) -> Linearization:
    """A, B, C and D of all worlds, as host arrays.

    Args:
        engine: The engine.
        method: "exact", or "fd": finite differences.
        centered: Differences to both sides; "fd" only.
        eps: Their step: a number, or one for each of qpos, qvel, act and ctrl by name; None: differences.py says.
        sensors: Also C and D, which are empty otherwise.
    """
    if method not in METHODS:
        raise BuildError(f"method={method!r}{did_you_mean(str(method), METHODS)}: known are {', '.join(METHODS)}")
    if method == "exact":
        if eps is not None:
            raise BuildError(f'eps={eps!r} is the step of differences: use it with method="fd"')
        one = linearizer(engine, sensors=sensors)
        found, nx = np.array(one().numpy()), one.nx  # the next call writes over it
        found[(engine.read("status") & IDLE) != 0] = np.nan  # worlds that are frozen have no next state
    else:
        known = _linearizers.setdefault(engine, {})
        known["fd"] = known.get("fd") or Differences(engine)
        found, nx = known["fd"](centered=centered, eps=eps, sensors=sensors), known["fd"].nx
    return Linearization(found[:, :nx, :nx], found[:, :nx, nx:], found[:, nx:, :nx], found[:, nx:, nx:])
