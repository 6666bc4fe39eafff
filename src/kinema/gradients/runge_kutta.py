"""Derivatives of a Runge-Kutta step, from those of its four evaluations (convex/integrate/rk4.py).

    X_s = X_0 (+) h A_s F_(s-1),      X' = X_0 (+) h (F_0 + 2 F_1 + 2 F_2 + F_3) / 6

An evaluation is forward dynamics at X_s: accelerations, rates of activations, velocities. How it changes with the state
it starts from, and with controls or parameters p, is found there as for any step, contacts and active rows being those
that it has: in closed form (closed.py) where there is one and nobody asks for parameters or activations, else by duals
(tangents.py). With S_s the derivative of X_s along a column, S_0 a column of the identity or nothing,

    dF_s = (dF/dX)_s S_s + (dF/dp)_s,      S_(s+1) = E S_0 + J h A_(s+1) dF_s

E and J are 1 but for orientations: of q = q_0 exp(t), in the frame of q, they are exp(-t) and the right Jacobian

    J = 1 - (1 - cos x) [t]/x^2 + (x - sin x) [t]^2/x^3,      x = |t|

and the rate of t at the angular velocity w is that of Munthe-Kaas, whose derivative is `rate_slope`. Activations end a
step as their dynamics say, from the mean rate: that is differentiated as it is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from kinema.convex import actuation
from kinema.convex.data import Data
from kinema.convex.integrate.rk4 import rk4, stage_size, stage_weight
from kinema.convex.model import Model
from kinema.convex.solve.native import WARP
from kinema.errors import BuildError
from kinema.gradients import columns
from kinema.gradients.closed import Closed, against_forces
from kinema.gradients.direction import Direction, Moves, inputs_of
from kinema.gradients.elements import Element, elements
from kinema.gradients.tangent_kernels import BLOCK
from kinema.gradients.tangents import Tangents
from kinema.math.touches import touches
from kinema.mujoco_enums import Integrator, Joint

EVALUATIONS = 4


@wp.struct
class Chain:
    """Derivatives along every column, [world, row, column]."""

    state: wp.array3d(dtype=float)  # of X_s
    change: wp.array3d(dtype=float)  # of accelerations, and of rates of activations
    rate: wp.array3d(dtype=float)  # of velocities, as rates of rotation vectors
    mean_change: wp.array3d(dtype=float)
    mean_rate: wp.array3d(dtype=float)


@wp.func
def rate_slope(r: wp.vec3, w: wp.vec3, dr: wp.vec3, dw: wp.vec3) -> wp.vec3:
    """The derivative of `rotation_rate` along dr, dw."""
    angle = wp.length(r)
    if angle > wp.PI:  # by the shorter turn
        full = 2.0 * wp.PI * wp.floor(angle / (2.0 * wp.PI) + 0.5)
        axis = r / angle
        dr = dr - (full / angle) * (dr - axis * wp.dot(axis, dr))
        r = r - full * axis
        angle = wp.length(r)
    square = angle * angle
    c = 1.0 / 12.0 + square / 720.0 + square * square / 30240.0
    slope = 1.0 / 360.0 + square / 7560.0  # dc/dx / x
    if angle > 0.3:
        half = 0.5 * angle
        c = (1.0 - half / wp.tan(half)) / square
        sine = wp.sin(half)
        slope = (half / (sine * sine) - 1.0 / wp.tan(half)) / (2.0 * square * angle) - 2.0 * c / square
    twice = wp.cross(r, wp.cross(r, w))
    along = 0.5 * wp.cross(dr, w) + slope * wp.dot(r, dr) * twice
    along += c * (wp.cross(dr, wp.cross(r, w)) + wp.cross(r, wp.cross(dr, w)))
    return dw + 0.5 * wp.cross(r, dw) + c * wp.cross(r, wp.cross(r, dw)) + along


@wp.func
def turned(t: wp.vec3, before: wp.vec3, dt: wp.vec3) -> wp.vec3:
    """exp(-t) before + J dt: where a small turn of q_0, and a change of t, take q_0 exp(t), in its own frame."""
    angle = wp.length(t)
    square = angle * angle
    s = 1.0 - square / 6.0
    c = 0.5 - square / 24.0
    e = 1.0 / 6.0 - square / 120.0
    if angle > 1.0e-2:
        half = wp.sin(0.5 * angle)
        s = wp.sin(angle) / angle
        c = 2.0 * half * half / square
        e = (1.0 - s) / square
    back = before - s * wp.cross(t, before) + c * wp.cross(t, wp.cross(t, before))
    return back + dt - c * wp.cross(t, dt) + e * wp.cross(t, wp.cross(t, dt))


@wp.func
def three(of: wp.array3d(dtype=float), w: int, i: int, c: int) -> wp.vec3:
    """Three rows of a column."""
    return wp.vec3(of[w, i, c], of[w, i + 1, c], of[w, i + 2, c])


@wp.func
def turns(kind: int) -> bool:
    """Whether a joint has an orientation."""
    return kind == Joint.FREE or kind == Joint.BALL


@wp.func
def moved(
    m: Model, w: int, i: int, c: int, h: float, rate: wp.array2d(dtype=float), by: wp.array3d(dtype=float)
) -> float:
    """Of dof i: the derivative of the position that q_0 reaches with such rates after h."""
    j = m.dof.jntid[i]
    kind = m.jnt.type[j]
    k = i - m.jnt.dofadr[j]
    if kind == Joint.FREE:
        k -= 3
    if not turns(kind) or k < 0:
        return wp.where(i == c, 1.0, 0.0) + h * by[w, i, c]
    first = i - k
    t = h * wp.vec3(rate[w, first], rate[w, first + 1], rate[w, first + 2])
    before = wp.vec3()
    if c >= first and c < first + 3:
        before[c - first] = 1.0
    return turned(t, before, h * three(by, w, first, c))[k]


@wp.kernel(enable_backward=False)
def take_in(m: Model, d: Data):
    """Record an evaluation and go to the state of the next, or back to the first."""
    rk4(m, d, wp.tid())


@wp.func_native("""
    const int n = state.shape[1], count = state.shape[2];
    const float* __restrict__ row = slopes.data + ((size_t)w * slopes.shape[1] + first + i) * count;
    const float* __restrict__ of = state.data + (size_t)w * n * count;
    float* __restrict__ to = change.data + ((size_t)w * change.shape[1] + i) * count;
#if defined(__CUDA_ARCH__)
    for (int c = lane; c < count; c += 32) {
        float sum = c < n ? 0.0f : row[c];
        for (int k = 0; k < n; ++k) sum += row[k] * of[(size_t)k * count + c];
        to[c] = sum;
    }
#else
    for (int c = 0; c < count; ++c) to[c] = c < n ? 0.0f : row[c];
    for (int k = 0; k < n; ++k) {
        const float by = row[k];
        for (int c = 0; c < count; ++c) to[c] += by * of[(size_t)k * count + c];
    }
#endif
""")
@touches(reads="slopes state", writes="change")
def times_state(
    slopes: wp.array3d(dtype=float), state: wp.array3d(dtype=float), change: wp.array3d(dtype=float), first: int,
    w: int, i: int, lane: int,
): ...  # fmt: skip


@wp.kernel(enable_backward=False)
def evaluate(slopes: wp.array3d(dtype=float), first: int, chain: Chain):
    """dF = (dF/dX) S + dF/dp, of slopes from row `first` on: a row of a world a warp, or a thread of the CPU."""
    w, i, lane = wp.tid()
    times_state(slopes, chain.state, chain.change, first, w, i, lane)


@wp.kernel(enable_backward=False)
def follow(
    m: Model, s: int, closed: int, speed: wp.array2d(dtype=float), last: wp.array2d(dtype=float),
    rate: wp.array2d(dtype=float), chain: Chain,
):  # fmt: skip
    """From the changes of evaluation s to those of the state of the next. A column a thread.

    `speed` is the velocity of the evaluation, `last` and `rate` the rates before it and of it. `closed`: what changes
    is the velocity after a step of Euler's, v + h a.
    """
    w, c = wp.tid()
    nv = m.size.nv
    for i in range(nv + m.size.na):
        if closed != 0:
            chain.change[w, i, c] = (chain.change[w, i, c] - chain.state[w, nv + i, c]) / m.opt.timestep[w]
        chain.mean_change[w, i, c] = chain.mean_change[w, i, c] + stage_weight(s) * chain.change[w, i, c]
    for i in range(nv):
        j = m.dof.jntid[i]
        kind = m.jnt.type[j]
        first = m.jnt.dofadr[j] + wp.where(kind == Joint.FREE, 3, 0)
        if not turns(kind) or i < first:
            chain.rate[w, i, c] = chain.state[w, nv + i, c]
        elif i == first:
            now = three(chain.state, w, nv + i, c)
            if s > 0:
                h = stage_size(s) * m.opt.timestep[w]
                turn = h * wp.vec3(last[w, i], last[w, i + 1], last[w, i + 2])
                omega = wp.vec3(speed[w, i], speed[w, i + 1], speed[w, i + 2])
                now = rate_slope(turn, omega, h * three(chain.rate, w, i, c), now)
            for k in range(3):
                chain.rate[w, i + k, c] = now[k]
    for i in range(nv):
        chain.mean_rate[w, i, c] = chain.mean_rate[w, i, c] + stage_weight(s) * chain.rate[w, i, c]
    if s < 3:
        h = stage_size(s + 1) * m.opt.timestep[w]
        for i in range(nv):
            chain.state[w, i, c] = moved(m, w, i, c, h, rate, chain.rate)
        for i in range(nv + m.size.na):
            chain.state[w, nv + i, c] = wp.where(nv + i == c, 1.0, 0.0) + h * chain.change[w, i, c]


@wp.kernel(enable_backward=False)
def finish(
    m: Model, rate: wp.array2d(dtype=float), chain: Chain, ends: wp.array3d(dtype=float), place: wp.array(dtype=int),
    out: wp.array3d(dtype=float),
):  # fmt: skip
    """The derivatives of the next state; column c goes to `place`, if it is wanted."""
    w, c = wp.tid()
    nv = m.size.nv
    na = m.size.na
    nx = 2 * nv + na
    h = m.opt.timestep[w]
    to = place[c]
    if to >= 0:
        for i in range(nv):
            out[w, i, to] = moved(m, w, i, c, h, rate, chain.mean_rate)
            out[w, nv + i, to] = wp.where(nv + i == c, 1.0, 0.0) + h * chain.mean_change[w, i, c]
        for k in range(na):
            sum = float(0.0)
            if c >= nx:
                sum = ends[w, k, 2 * na + c - nx]
            elif c >= 2 * nv:
                sum = ends[w, k, c - 2 * nv]
            for l in range(na):
                sum += ends[w, k, na + l] * chain.mean_change[w, nv + l, c]
            out[w, 2 * nv + k, to] = sum


def refuse_memory(engine: Any, results: Sequence[Direction]) -> None:
    """Raise where results of a Runge-Kutta step are neither of the state nor of sensors."""
    kept = sorted({one.array for one in results} - {"qpos", "qvel", "act", "sensordata"})
    if kept and int(engine.source.opt.integrator) == Integrator.RK4:
        raise BuildError(f"a Runge-Kutta step keeps {kept[0]} for the next, which has no derivative here")


class RungeKutta:
    """Derivatives of results of a Runge-Kutta step along directions, of every world; used as `Tangents` is.

    Args:
        engine: The engine, whose forward dynamics are those of its state.
        directions: One a column.
        results: One a row: the whole state, sensors, or first the one and then the other.
        out: Where derivatives go, [world, result, column]; None: an array of its own.
    """

    def __init__(
        self, engine: Any, directions: Sequence[Moves], results: Sequence[Direction], *, out: wp.array | None = None
    ):
        self.engine, m = engine, engine.source
        shape = engine.nworld, len(results), len(directions)
        self.out = wp.zeros(shape, dtype=float, device=engine.device) if out is None else out
        states = columns.states(m)
        self.nx = len(states) if list(results[: len(states)]) == states else 0
        readings = list(results[self.nx :])
        refuse_memory(engine, readings)
        self.readings = Tangents(engine, directions, readings, out=self.out[:, self.nx :]) if readings else None
        self.evaluations = _Evaluations(engine, states, directions, self.out[:, : self.nx]) if self.nx else None

    def run(self) -> wp.array:
        """The derivatives at the engine's present state, which stays, as does all that follows from it."""
        if self.readings:
            self.readings.run()
        if self.evaluations:
            self.evaluations.run()
        return self.out

    @property
    def memory(self) -> int:
        """Bytes of all arrays of derivatives on the way."""
        return sum(one.memory for one in (self.readings, self.evaluations) if one)


class _Evaluations:
    """The next state, by way of the four evaluations."""

    def __init__(self, engine: Any, states: list[Direction], directions: Sequence[Moves], out: wp.array):
        self.engine, self.out, m = engine, out, engine.source
        others = [one for one in directions if one not in states]
        if any(one.array in ("timestep", "timestep64") for each in others for one in inputs_of(each)):
            raise BuildError('the time step of a Runge-Kutta step has no derivative here: use method="fd"')
        self.columns: list[Moves] = [*states, *others]
        place = [directions.index(one) if one in directions else -1 for one in self.columns]
        self.rates = [Direction("act_dot", k) for k in range(int(m.na))]
        self.results = [Direction("qacc", i) for i in range(int(m.nv))] + self.rates
        n, nx, count, device = engine.nworld, len(states), len(self.columns), engine.device
        self.chain = Chain()
        sizes = {"state": nx, "change": len(self.results), "rate": int(m.nv)}
        for name, rows in {**sizes, "mean_change": sizes["change"], "mean_rate": sizes["rate"]}.items():
            setattr(self.chain, name, wp.zeros((n, rows, count), dtype=float, device=device))
        self.begin = wp.array(np.tile(np.eye(nx, count, dtype=np.float32), (n, 1, 1)), device=device)
        self.place = wp.array(place, dtype=int, device=device)
        self.speed, self.last = (wp.zeros((n, int(m.nv)), dtype=float, device=device) for _ in range(2))
        self.warm = wp.empty_like(engine.layout.arrays["qacc_warmstart"])
        controls = columns.controls(m)
        self.euler = wp.zeros((n, nx, count), dtype=float, device=device) if others == controls else None
        self._made: tuple[Any, Tangents | Closed, Tangents | None] | None = None
        self._seen: tuple[int, tuple[Element, ...] | None] = -1, None

    def slopes(self) -> tuple[Tangents | Closed, Tangents | None]:
        """Derivatives of an evaluation, and of the next activations by the present ones, mean rates and the others;
        made anew where arrays of the engine have moved, which they may between evaluations, or other things push."""
        pushing = self._pushing()
        key = self.engine.version, pushing
        if self._made is None or self._made[0] != key:
            each: Tangents | Closed
            if pushing is None or self.euler is None:
                each = Tangents(self.engine, self.columns, self.results)
            else:
                each = Closed(self.engine, self.euler)
            self._made = key, each, self._ends() if self.rates else None
        return self._made[1:]

    def _pushing(self) -> tuple[Element, ...] | None:
        """What pushes dofs, by the numbers that the model has now; None: there is no closed form."""
        now = self.engine.present.writes
        if self._seen[0] != now:
            m = self.engine.present.to("closed")
            known = self.euler is not None and not self.rates and not against_forces(m)
            self._seen = now, elements(m) if known else None
        return self._seen[1]

    def _ends(self) -> Tangents:
        """Derivatives of the next activations."""
        stages = actuation.advance_stages(self.engine.present.to("recipe"))
        acts, nx = [Direction("act", one.element) for one in self.rates], self.chain.state.shape[1]
        moving = [stage for stage in stages if stage.func is actuation.advance_activations]
        return Tangents(self.engine, [*acts, *self.rates, *self.columns[nx:]], acts, stages=moving)

    def run(self) -> None:
        engine, chain, device = self.engine, self.chain, self.engine.device
        dim = chain.state.shape[0], chain.state.shape[2]
        wp.copy(self.warm, engine.layout.arrays["qacc_warmstart"])
        wp.copy(chain.state, self.begin)
        chain.mean_change.zero_(), chain.mean_rate.zero_()
        for s in range(EVALUATIONS):
            if s > 0:
                engine.forward()
            each = self.slopes()[0]
            slopes, closed = each.run(), int(isinstance(each, Closed))
            arrays = engine.layout.arrays
            wp.copy(self.speed, arrays["qvel"])
            wp.copy(self.last, arrays["rk_rate"])
            wp.launch(take_in, dim=engine.nworld, inputs=[engine.m, engine.d], device=device)
            rows = (*chain.change.shape[:2], WARP if device.is_cuda else 1)
            first = self.speed.shape[1] if closed else 0
            wp.launch(evaluate, dim=rows, inputs=[slopes, first, chain], device=device, block_dim=BLOCK)
            given = [engine.m, s, closed, self.speed, self.last, arrays["rk_rate"], chain]
            wp.launch(follow, dim=dim, inputs=given, device=device)
        ends = self.slopes()[1]
        of_acts = ends.run() if ends else chain.state
        given = [engine.m, engine.layout.arrays["rk_sum_rate"], chain, of_acts, self.place, self.out]
        wp.launch(finish, dim=dim, inputs=given, device=device)
        wp.copy(engine.layout.arrays["qacc_warmstart"], self.warm)
        engine.forward()

    @property
    def memory(self) -> int:
        own = [getattr(self.chain, name) for name in Chain.vars]
        return sum(array.capacity for array in own) + sum(one.memory for one in self.slopes() if one)


Slopes = RungeKutta | Tangents


def slopes_of_step(
    engine: Any, directions: Sequence[Moves], results: Sequence[Direction], *, out: wp.array | None = None
) -> Slopes:
    """Derivatives of results of a step along directions, by what its integrator asks for."""
    runge_kutta = int(engine.source.opt.integrator) == Integrator.RK4
    return (RungeKutta if runge_kutta else Tangents)(engine, directions, results, out=out)
