"""Model predictive path integral control: controls that make a cost small, by trying many and no derivatives.

Williams, Aldrich and Theodorou, "Model predictive path integral control", 2017. In every world S disturbed copies of
the present controls are run, one a world of a batch, and averaged with weights that fall with their cost,

    u <- sum of w_s u_s,      w_s ~ exp(-(cost_s - least cost) / (temperature * spread of costs))

Disturbances are normal at knots every `hold` steps, and straight lines between them: forces that shake at every step
average out and teach nothing. The first copy is not disturbed, and the best one seen is what is given, so a plan never
gets worse. Numbers are drawn from a hash of seed, world and iteration (draws.py): equal bits every time.

    plan = mppi.solve(sim, np.zeros((100, sim.model.nu)), running=running, final=final, samples=256)

Costs, limits and plans are those of ilqr.py, but for gains, of which there are none. A cost may be anything: it need
not be smooth, and contacts may begin and end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinema.control.ilqr import Plan
from kinema.control.problem import Cost, Path, Trials, one_thread
from kinema.draws import Draws
from kinema.errors import BuildError
from kinema.simulation import Simulation


def solve(
    sim: Simulation, ctrl: Any, *, running: Cost | None = None, final: Cost | None = None, limits: Any = True,
    samples: int = 64, iterations: int = 20, noise: Any = 0.3, hold: int = 5, temperature: float = 0.1,
    shrink: float = 0.1, seed: int = 0,
) -> Plan:  # fmt: skip
    """Controls that make a cost small from the present state on; `Solver` says what the options are."""
    solver = Solver(sim, running=running, final=final, limits=limits, samples=samples, noise=noise, hold=hold)
    return solver(ctrl, iterations=iterations, temperature=temperature, shrink=shrink, seed=seed)


class Solver:
    """Solves the problems of a simulation's worlds, as often as asked.

    Args:
        sim: The simulation.
        running: The cost of a state and controls (`Point`), before each step.
        final: The cost of the last state.
        limits: Lowest and highest controls; True: those of the model; None: none.
        samples: Copies of every world that are tried at once.
        noise: Standard deviation of disturbances, a number or one for each control: parts of half the range of a
            control that has one, units of the control otherwise.
        hold: Steps between knots of the disturbances.
    """

    def __init__(
        self, sim: Simulation, *, running: Cost | None = None, final: Cost | None = None, limits: Any = True,
        samples: int = 64, noise: Any = 0.3, hold: int = 5,
    ):  # fmt: skip
        if samples < 2 or hold < 1:
            raise BuildError(f"samples={samples}, hold={hold}: expected two samples or more, and one step or more")
        self.trials = Trials(sim, samples, running, final, limits)
        self.torch, self.hold, self.samples = self.trials.torch, hold, samples
        half = 0.5 * (self.trials.high - self.trials.low)
        noise = self.torch.as_tensor(np.asarray(noise, np.float32), device=self.trials.device)
        self.deviation = noise * self.torch.where(self.torch.isfinite(half), half, 1.0)

    def __call__(
        self, ctrl: Any, *, iterations: int = 20, temperature: float = 0.1, shrink: float = 0.1, seed: int = 0
    ) -> Plan:
        """Make the cost small.

        Args:
            ctrl: Where to begin: (steps, worlds, nu) or (steps, nu); its length is the horizon.
            iterations: How often controls are disturbed and averaged.
            temperature: How far worse samples count: in units of the spread of their costs.
            shrink: Part of the noise that is left in the last iteration; it falls by the same factor each time.
            seed: Of the disturbances.
        """
        with one_thread(self.torch):
            return self._solve(ctrl, iterations, temperature, shrink, seed)

    def _solve(self, ctrl: Any, iterations: int, temperature: float, shrink: float, seed: int) -> Plan:
        torch, trials = self.torch, self.trials
        trials.refresh()
        ctrl = trials.controls(ctrl)
        steps, worlds, _ = ctrl.shape
        everyone = torch.arange(worlds, device=trials.device)
        best: tuple[Any, Path] | None = None
        history = []
        for k in range(iterations + 1):
            size = shrink ** (k / max(1, iterations - 1)) if k < iterations else 0.0
            tried = ctrl[:, None] + size * self._noise(steps, seed, k)
            tried = torch.clamp(tried, trials.low, trials.high).flatten(1, 2)
            path = trials.run(steps, _playing(tried))
            costs = trials.costs(path).reshape(self.samples, worlds)
            least, which = costs.min(0)
            if not torch.isfinite(least).all():
                lost = torch.nonzero(~torch.isfinite(least))[:, 0].tolist()
                raise BuildError(f"worlds {lost[:5]}: no sample has a finite cost")
            index = which * worlds + everyone
            best = _better(torch, (least, path.chosen(index)), best)
            history.append(best[0])
            spread = torch.where(torch.isfinite(costs), costs, least).sub(least).mean(0).clamp(min=1e-12)
            weight = torch.softmax(-(costs - least) / (temperature * spread), 0).float()
            ctrl = torch.einsum("sw,tswu->twu", weight, tried.unflatten(1, (self.samples, worlds)))
        assert best is not None
        cost, path = best
        host = lambda value: value.detach().cpu().numpy()  # noqa: E731
        qpos, qvel, act = (host(path.states[name]) for name in ("qpos", "qvel", "act"))
        costs = host(torch.stack(history))
        return Plan(host(path.ctrl[:-1]), qpos, qvel, act, host(cost), costs, np.zeros(worlds, bool))

    def _noise(self, steps: int, seed: int, iteration: int) -> Any:
        """Disturbances, (steps, samples, worlds, nu); none of the first sample."""
        torch, trials = self.torch, self.trials
        knots = (steps - 1) // self.hold + 2
        nu = int(trials.sim.model.nu)
        world = torch.arange(self.samples * trials.worlds, device=trials.device)
        drawn = Draws(seed, world, iteration).normal(shape=(knots, nu)).to(trials.device)
        at = torch.arange(steps, device=trials.device)
        part = ((at % self.hold) / self.hold)[:, None, None]
        first = at // self.hold
        drawn = drawn.transpose(0, 1)
        lines = (1 - part) * drawn[first] + part * drawn[first + 1]
        lines = lines.unflatten(1, (self.samples, trials.worlds)) * self.deviation
        lines[:, 0] = 0
        return lines


def _playing(ctrl: Any) -> Callable[[int, dict[str, Any]], Any]:
    """The policy that gives these controls, one step after the other."""
    return lambda t, _: ctrl[t]


def _better(torch: Any, new: tuple[Any, Path], old: tuple[Any, Path] | None) -> tuple[Any, Path]:
    """The cheaper path in every world."""
    if old is None:
        return new
    better = new[0] < old[0]
    return torch.where(better, new[0], old[0]), new[1].where(better, old[1])
