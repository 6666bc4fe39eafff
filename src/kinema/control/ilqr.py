"""Iterative LQR in all worlds at once: controls that make a cost small, by dynamic programming along a path.

Tassa, Erez and Todorov, "Synthesis and stabilization of complex behaviors through online trajectory optimization",
2012; limits of controls after Tassa, Mansard and Todorov, "Control-limited differential dynamic programming", 2014.
Along the present path the step is linear and the cost quadratic, with V the cost to go,

    dx' = A dx + B du,    Q = l + V'(A dx + B du) = Q_x dx + Q_u du + (dx, du)' Q'' (dx, du) / 2
    du = k + K dx       k: the least Q_u'k + k'(Q_uu + mu)k / 2 within limits,   K = -(Q_uu + mu)^-1 Q_ux, 0 at limits
    V_x = Q_x + K'Q_uu k + K'Q_u + Q_ux'k,      V_xx = Q_xx + K'Q_uu K + K'Q_ux + Q_ux'K

from the last step to the first, and then u = u + a k + K (x - x_old) is run forward. All knots of the path are worlds
of one linearization; all step sizes a are worlds of one rollout. A world that finds no better path gets more mu, one
that does gets less: each on its own.

    plan = ilqr.solve(sim, ctrl=np.zeros((100, sim.model.nu)), running=running, final=final)
    sim.d.ctrl = plan.ctrl[0]

The simulation is left as it was. Costs: problem.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import warp as wp

from kinema.control.box import minimise, solve_free
from kinema.control.expansion import Quadratic, expand
from kinema.control.problem import Cost, Path, Trials, one_thread
from kinema.convex.status import IDLE
from kinema.errors import BuildError
from kinema.gradients.linearize import linearizer
from kinema.gradients.manifold import Manifold
from kinema.simulation import Simulation
from kinema.simulation.copies import copies, follow, tile

LENGTHS = tuple(0.5**k for k in range(10))
"""Step sizes that are tried at once."""

EASE, TIGHTEN = 0.2, 5.0  # of mu, after a step that helped and one that did not
LEAST, MOST = 1e-7, 1e6  # of mu, in units of the mean curvature Q_uu has
ENOUGH = 1e-4  # part of the predicted improvement that counts as one
KNOTS = 1024
"""States that are linearized at once, at most."""


@dataclass
class Plan:
    """Controls over a horizon, and where they lead.

    Attributes:
        ctrl: (steps, worlds, nu).
        qpos, qvel, act: States before every step and after the last, (steps + 1, worlds, n).
        cost: (worlds,).
        gains: How controls answer to the state, (steps, worlds, nu, 2 nv + na); None where none were computed.
        costs: Cost after every iteration, (iterations + 1, worlds).
        converged: Worlds that found no better path any more, (worlds,).
    """

    ctrl: np.ndarray
    qpos: np.ndarray
    qvel: np.ndarray
    act: np.ndarray
    cost: np.ndarray
    costs: np.ndarray
    converged: np.ndarray
    gains: np.ndarray | None = None
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    manifold: Manifold | None = field(default=None, repr=False)

    def control(self, step: int, qpos: Any, qvel: Any, act: Any = None) -> np.ndarray:
        """Controls for the states that worlds are in at a step: the plan's and what the gains answer, (worlds, nu)."""
        if self.gains is None or self.manifold is None:
            return self.ctrl[step]
        torch = self.manifold.torch
        place = torch.as_tensor(np.array(qpos, np.float32))
        away = [self.manifold.difference(place, torch.as_tensor(self.qpos[step])).numpy()]
        away.append(np.asarray(qvel) - self.qvel[step])
        if self.act.shape[-1]:
            away.append(np.asarray(act) - self.act[step])
        answer = np.einsum("wux,wx->wu", self.gains[step], np.concatenate(away, -1))
        return np.asarray(np.clip(self.ctrl[step] + answer, self.low, self.high), np.float32)

    def later(self, steps: int = 1) -> np.ndarray:
        """The controls from a later step on, the last ones repeated: where to begin when the next plan is made."""
        return np.concatenate([self.ctrl[steps:], np.repeat(self.ctrl[-1:], steps, 0)])


def solve(
    sim: Simulation, ctrl: Any, *, running: Cost | None = None, final: Cost | None = None, limits: Any = True,
    iterations: int = 100, tolerance: float = 1e-5, mu: float = 1e-3, derivatives: str = "exact",
) -> Plan:  # fmt: skip
    """Controls that make a cost small from the present state on, in every world; `Solver` says what the options are."""
    return Solver(sim, running=running, final=final, limits=limits, derivatives=derivatives)(
        ctrl, iterations=iterations, tolerance=tolerance, mu=mu
    )


class Solver:
    """Solves the problems of a simulation's worlds, as often as asked: for control that plans again as it goes.

    Args:
        sim: The simulation.
        running: The cost of a state and controls (`Point`), before each step.
        final: The cost of the last state.
        limits: Lowest and highest controls, (nu,) or (worlds, nu) each; True: those of the model; None: none.
        derivatives: "exact", or "fd": finite differences (`sim.linearize`).
    """

    def __init__(
        self, sim: Simulation, *, running: Cost | None = None, final: Cost | None = None, limits: Any = True,
        derivatives: str = "exact",
    ):  # fmt: skip
        self.sim, self.method = sim, derivatives
        self.trials = Trials(sim, len(LENGTHS), running, final, limits)
        self.torch = self.trials.torch
        self._knots: Simulation | None = None
        self._held: dict[str, Any] | None = None

    def __call__(self, ctrl: Any, *, iterations: int = 100, tolerance: float = 1e-5, mu: float = 1e-3) -> Plan:
        """Make the cost small.

        Args:
            ctrl: Where to begin: (steps, worlds, nu) or (steps, nu); its length is the horizon.
            iterations: At most so many.
            tolerance: A world is done when its cost falls by less than this part of it.
            mu: Damping of the first iteration, in units of the mean curvature of Q_uu.
        """
        with one_thread(self.torch):
            return self._solve(ctrl, iterations, tolerance, mu)

    def _solve(self, ctrl: Any, iterations: int, tolerance: float, mu: float) -> Plan:
        torch, trials = self.torch, self.trials
        trials.refresh()
        self._held = None
        if self._knots is not None:
            follow(self._knots, self.sim)
        ctrl = trials.controls(ctrl)
        steps, worlds, nu = ctrl.shape
        if steps == 0:
            raise BuildError("ctrl has no steps: its length is the horizon")
        path = trials.run(steps, lambda t, _: ctrl[t].repeat(trials.times, 1))
        cost = trials.costs(path)[:worlds]
        path = path.chosen(slice(0, worlds))
        if not torch.isfinite(cost).all():
            lost = torch.nonzero(~torch.isfinite(cost))[:, 0].tolist()
            raise BuildError(f"worlds {lost[:5]}: the first controls lead to a state or a cost that is not finite")
        damping = torch.full((worlds,), float(mu), dtype=torch.float64, device=trials.device)
        done = torch.zeros(worlds, dtype=torch.bool, device=trials.device)
        history, gains = [cost], torch.zeros(steps, worlds, nu, 1)
        terms = None
        for _ in range(iterations):
            if terms is None:
                terms = self._terms(path)
            k, gains, first, second = self._backward(*terms, path.ctrl[:-1].double(), damping)
            tried = self._forward(path, k, gains)
            costs = trials.costs(tried).reshape(trials.times, worlds)
            best, which = costs.min(0)
            length = torch.tensor(LENGTHS, dtype=torch.float64, device=trials.device)[which]
            promised = -(length * first + 0.5 * length**2 * second)
            better = ~done & (cost - best > ENOUGH * promised) & (best < cost)
            small = cost - best <= tolerance * cost.abs().clamp(min=1e-12)
            hopeless = promised <= tolerance * cost.abs()
            index = torch.where(better, which, 0) * worlds + torch.arange(worlds, device=trials.device)
            done |= (better & small) | (~better & (hopeless | (damping >= MOST)))
            if better.any():
                path = tried.chosen(index).where(better, path)
                terms = None
            cost = torch.where(better, best, cost)
            damping = torch.where(better, damping * EASE, (damping * TIGHTEN).clamp(min=1e-3))
            damping = torch.where(damping < LEAST, 0.0, damping).clamp(max=MOST)
            history.append(cost)
            if done.all():
                break
        return self._plan(path, cost, history, done, gains)

    # ------------------------------------------------------------------------------------------ one iteration

    def _terms(self, path: Path) -> tuple[Any, Any, Quadratic, Any]:
        """A and B of every knot, [step, world, ...], the running cost to second order, and the final one."""
        torch, trials = self.torch, self.trials
        steps, worlds = len(path.ctrl) - 1, trials.worlds
        uses_sensors = bool(path.sensordata.shape[-1])
        A, B, C, D = self._linearize(path, uses_sensors)
        nx, nu = B.shape[-2:]
        shape = (steps + 1, worlds)
        zero = torch.zeros(steps * worlds, nx + nu, dtype=torch.float64, device=trials.device)
        running = Quadratic(zero, torch.diag_embed(zero))
        last = Quadratic(zero[:worlds], torch.diag_embed(zero[:worlds]))
        each = (lambda part: (C[part].flatten(0, 1), D[part].flatten(0, 1))) if uses_sensors else lambda _: ()  # noqa: E731
        if trials.running is not None:
            point = trials.points(path, slice(0, -1))
            running = expand(torch, trials.manifold, trials.running, point, *each(slice(0, -1)))
        if trials.final is not None:
            point = trials.points(path, slice(-1, None))
            last = expand(torch, trials.manifold, trials.final, point, *each(slice(-1, None)))
        for part in (running, last):
            part.g = part.g.reshape(-1, worlds, nx + nu)
            part.H = part.H.reshape(-1, worlds, nx + nu, nx + nu)
        assert A.shape[:2] == shape
        return A, B, running, last

    def _linearize(self, path: Path, sensors: bool) -> tuple[Any, Any, Any, Any]:
        """A, B, C and D at all states of a path, [step, world, ...], in double precision."""
        torch, trials = self.torch, self.trials
        worlds, count = trials.worlds, len(path.ctrl)
        many = min(count, max(1, KNOTS // worlds))
        if self._knots is None or self._knots.worlds < many * worlds:
            self._knots, self._held = copies(self.sim, many), None
        knots = self._knots
        many = knots.worlds // worlds
        found = []
        inputs = {**path.states, "ctrl": path.ctrl}
        for begin in range(0, count, many):
            index = torch.arange(begin, begin + many, device=trials.device).clamp(max=count - 1)
            knots.engine.reset()
            self._constant(knots, many)
            for name, value in inputs.items():
                if value.numel():
                    there = wp.to_torch(knots.engine.array(name), requires_grad=False)
                    there[...] = value[index].reshape(there.shape)
            try:
                four = self._derivatives(knots, sensors)
            except BuildError as error:
                raise BuildError(f'{error} ("method" is what ilqr calls "derivatives")') from None
            found.append([each.reshape(many, worlds, *each.shape[1:])[: count - begin] for each in four])
        A, B, C, D = (torch.cat(parts) for parts in zip(*found, strict=True))
        return A, B, C, D

    def _derivatives(self, knots: Simulation, sensors: bool) -> list[Any]:
        """A, B, C and D of all knots; exact ones never leave the device."""
        torch, device = self.torch, self.trials.device
        if self.method != "exact" or not hasattr(knots.engine, "recipes"):
            four = knots.linearize(method=self.method, sensors=sensors)
            return [torch.as_tensor(np.asarray(each), dtype=torch.float64, device=device) for each in four]
        one = linearizer(knots.engine, sensors=sensors)
        whole, nx = wp.to_torch(one(), requires_grad=False).double(), one.nx
        status = wp.to_torch(knots.engine.array("status"), requires_grad=False).reshape(-1)
        whole[(status & IDLE) != 0] = torch.nan  # worlds that are frozen have no next state
        return [whole[:, rows, part] for rows in (slice(nx), slice(nx, None)) for part in (slice(nx), slice(nx, None))]

    def _constant(self, knots: Simulation, many: int) -> None:
        """Give knots what of the state no step changes; it is brought to the device once a solve."""
        engine = knots.engine
        if self._held is None:
            self._held = {}
            for name in ("qfrc_applied", "xfrc_applied", "eq_active", "mocap_pos", "mocap_quat", "userdata"):
                now = self.sim.engine.read(name) if name in self.sim.engine.names else np.empty(0)
                if now.size:
                    engine.write(name, tile(now, many))
                    self._held[name] = wp.clone(engine.array(name))
        else:
            for name, value in self._held.items():
                wp.copy(engine.array(name), value)

    def _backward(
        self, A: Any, B: Any, running: Quadratic, last: Quadratic, ctrl: Any, damping: Any
    ) -> tuple[Any, Any, Any, Any]:
        """Steps and gains of controls, [step, world, ...], and the cost they promise: first and second order."""
        torch, trials = self.torch, self.trials
        steps, (nx, nu) = len(ctrl), B.shape[-2:]
        low, high = trials.low.double(), trials.high.double()
        bounded = bool(torch.isfinite(low).any() or torch.isfinite(high).any())
        everyone = torch.ones_like(low, dtype=torch.bool)
        eye = torch.eye(nu, dtype=torch.float64, device=low.device)
        Vx, Vxx = last.g[0, :, :nx, None], last.H[0, :, :nx, :nx]
        ks, Ks = [None] * steps, [None] * steps
        first = torch.zeros(len(low), dtype=torch.float64, device=low.device)
        second = first.clone()
        for t in reversed(range(steps)):
            F = torch.cat([A[t], B[t]], -1)
            q = running.g[t, :, :, None] + F.transpose(1, 2) @ Vx
            Q = running.H[t] + F.transpose(1, 2) @ Vxx @ F
            if t == steps - 1:  # the final cost sees these controls, too
                both = last.H[0, :, nx:, :nx] @ F
                q[:, nx:] += last.g[0, :, nx:, None]
                Q[:, nx:] += both
                Q[:, :, nx:] += both.transpose(1, 2)
                Q[:, nx:, nx:] += last.H[0, :, nx:, nx:]
            qx, qu = q[:, :nx], q[:, nx:]
            Qxx, Qux, Quu = Q[:, :nx, :nx], Q[:, nx:, :nx], Q[:, nx:, nx:]
            mean = Quu.diagonal(dim1=1, dim2=2).mean(1).clamp(min=1e-12)
            R = Quu + ((damping.clamp(min=1e-9) * mean)[:, None, None]) * eye
            if bounded:
                k, free = minimise(torch, R, qu[..., 0], low - ctrl[t], high - ctrl[t])
                k = k[..., None]
            else:
                free = everyone
                k = -solve_free(torch, R, free, qu)
            K = -solve_free(torch, R, free, Qux)
            first += (k * qu).sum((1, 2))
            second += (k * (Quu @ k)).sum((1, 2))
            Vx = qx + K.transpose(1, 2) @ (Quu @ k + qu) + Qux.transpose(1, 2) @ k
            Vxx = Qxx + K.transpose(1, 2) @ Quu @ K + K.transpose(1, 2) @ Qux + Qux.transpose(1, 2) @ K
            Vxx = 0.5 * (Vxx + Vxx.transpose(1, 2))
            ks[t], Ks[t] = k[..., 0], K
        return torch.stack(ks), torch.stack(Ks), first, second

    def _forward(self, path: Path, k: Any, K: Any) -> Path:
        """Run all step sizes at once."""
        torch, trials = self.torch, self.trials
        times, worlds = trials.times, trials.worlds
        length = torch.tensor(LENGTHS, device=trials.device)[:, None, None]
        k, K = k.float(), K.float()
        old = path.states

        def policy(t: int, now: dict[str, Any]) -> Any:
            each = lambda value: value.reshape(times, worlds, -1)  # noqa: E731
            away = [trials.manifold.difference(each(now["qpos"]), old["qpos"][t]), each(now["qvel"]) - old["qvel"][t]]
            if "act" in now:
                away.append(each(now["act"]) - old["act"][t])
            answer = (K[t] @ torch.cat(away, -1)[..., None])[..., 0]
            u = torch.clamp(path.ctrl[t] + length * k[t] + answer, trials.low, trials.high)
            return u.reshape(times * worlds, -1)

        return trials.run(len(path.ctrl) - 1, policy)

    def _plan(self, path: Path, cost: Any, history: list[Any], done: Any, gains: Any) -> Plan:
        host = lambda value: value.detach().cpu().numpy()  # noqa: E731
        qpos, qvel, act = (host(path.states[name]) for name in ("qpos", "qvel", "act"))
        return Plan(
            host(path.ctrl[:-1]), qpos, qvel, act, host(cost),
            host(self.torch.stack(history)), host(done), host(gains), host(self.trials.low), host(self.trials.high),
            self.trials.manifold if self.trials.device == "cpu" else Manifold(self.sim.model),
        )  # fmt: skip
