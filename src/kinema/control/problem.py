"""An optimal control problem in every world: from the present state, controls over a horizon, and what they cost.

    x_{t+1} = f(x_t, u_t),     cost = sum over t < T of l(x_t, u_t, t)  +  l_T(x_T)

Costs are functions of a `Point`, written with torch, of many points at once. One that gives a number a point, (n,), is
a cost itself. One that gives several, (n, m), gives residuals r, and costs |r|^2 / 2: its Hessian is then taken to be
J'J, after Gauss and Newton, which needs first derivatives only and is never negative.

Every problem is tried in many copies at once (`simulation/copies.py`): step sizes, samples. Whatever is tried, the
simulation stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from kinema.convex.status import LOST
from kinema.errors import BuildError, need
from kinema.gradients.differences import control_range
from kinema.gradients.manifold import Manifold
from kinema.simulation import Simulation
from kinema.simulation.copies import begin, copies, follow

EVOLVING = ("time", "qpos", "qvel", "act", "history", "plastic", "plugin_state", "qacc_warmstart")
"""What of the state a step changes."""

Cost = Callable[["Point"], Any]


@dataclass
class Point:
    """States and controls that a cost is asked for, as tensors; n points at once.

    Attributes:
        qpos, qvel, act: The state, (n, nq), (n, nv), (n, na).
        ctrl: The controls, (n, nu); of the last state, those of the step before it.
        sensordata: What the sensors say there, (n, nsensordata).
        step: Which step of the horizon, (n,) integers.
        world: Which world's problem, (n,) integers: `goals[point.world]`.
    """

    qpos: Any
    qvel: Any
    act: Any
    ctrl: Any
    sensordata: Any
    step: Any
    world: Any


@dataclass
class Path:
    """States before every step and after the last, with the controls of the steps, as tensors [step, copy, ...]."""

    states: dict[str, Any]
    ctrl: Any
    sensordata: Any

    def chosen(self, index: Any) -> Path:
        """The path of some copies."""
        states = {name: value[:, index] for name, value in self.states.items()}
        return Path(states, self.ctrl[:, index], self.sensordata[:, index])

    def where(self, mask: Any, other: Path) -> Path:
        """This path in the copies of a mask, another one in the rest."""

        def mix(a: Any, b: Any) -> Any:
            return a.where(mask.reshape(1, -1, *[1] * (a.ndim - 2)), b)

        states = {name: mix(value, other.states[name]) for name, value in self.states.items()}
        return Path(states, mix(self.ctrl, other.ctrl), mix(self.sensordata, other.sensordata))


@contextmanager
def one_thread(torch: Any) -> Iterator[None]:
    """torch on one CPU thread: on matrices this small threads would only wait for each other, and for the worlds'."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def evaluate(cost: Cost | None, point: Point) -> Any:
    """What points cost, (n,)."""
    if cost is None:
        return point.qpos.new_zeros(len(point.step))
    found = cost(point)
    return 0.5 * (found * found).sum(-1) if is_residual(found, len(point.step)) else found


def is_residual(found: Any, count: int) -> bool:
    """Whether a cost function has given residuals; an error where it gave neither these nor costs."""
    if getattr(found, "ndim", None) not in (1, 2) or len(found) != count:
        shape = tuple(getattr(found, "shape", ()))
        raise BuildError(
            f"a cost function gave {type(found).__name__} of shape {shape} for {count} points: expected a tensor "
            f"({count},) of costs or ({count}, m) of residuals"
        )
    return bool(found.ndim == 2)


class Trials:
    """Copies of all worlds of a simulation that run over the horizon.

    Args:
        sim: The simulation.
        times: Copies of every world.
        running, final: The costs.
        limits: Lowest and highest controls, (nu,) or (worlds, nu) each; True: the ranges of the model; None: none.
    """

    def __init__(self, sim: Simulation, times: int, running: Cost | None, final: Cost | None, limits: Any = True):
        self.torch: Any = need("torch", "torch", "Optimal control")
        if sim.model.nu == 0:
            raise BuildError("the model has no actuators: there is nothing to choose")
        if running is None and final is None:
            raise BuildError("give a running cost, a final cost, or both")
        self.sim, self.running, self.final = sim, running, final
        self.times, self.worlds = times, sim.worlds
        self.copies = copies(sim, times)
        self.device = wp.device_to_torch(sim.engine.device)
        self.manifold = Manifold(sim.model, self.device)
        self.low, self.high = self._limits(limits)
        names = [*EVOLVING, "ctrl", "sensordata"]
        self.names = [n for n in names if n in self.copies.engine.names and np.prod(self.copies.engine.shape(n))]

    def _limits(self, limits: Any) -> tuple[Any, Any]:
        """Lowest and highest controls, (worlds, nu)."""
        shape = (self.worlds, int(self.sim.model.nu))
        if limits is True:
            limits = control_range(self.sim.model)
        elif limits is None or limits is False:
            limits = (-np.inf, np.inf)
        try:
            low, high = (np.broadcast_to(np.asarray(side, np.float32), shape).copy() for side in limits)
        except (TypeError, ValueError):
            raise BuildError(f"limits={limits!r}: expected True, None, or two arrays that fit {shape}") from None
        if not (low <= high).all():
            raise BuildError(f"limits={limits!r}: the lowest controls are above the highest")
        return self.torch.tensor(low, device=self.device), self.torch.tensor(high, device=self.device)

    def refresh(self) -> None:
        """Take over parameters that were changed in the simulation."""
        follow(self.copies, self.sim)

    def view(self, name: str) -> Any:
        """An array of the copies as a tensor of the same memory; of one that is empty, an empty tensor."""
        engine = self.copies.engine
        shape = engine.shape(name)
        if name not in self.names:
            return self.torch.zeros(shape, device=self.device)
        return wp.to_torch(engine.array(name), requires_grad=False).view(shape)

    def controls(self, ctrl: Any) -> Any:
        """Controls as a tensor, [step, world, nu], from anything that fits that."""
        torch = self.torch
        given = torch.as_tensor(np.asarray(ctrl, np.float32) if not torch.is_tensor(ctrl) else ctrl.detach())
        given = given.to(self.device, torch.float32)
        nu = int(self.sim.model.nu)
        if given.ndim == 2 and given.shape[-1] == nu:
            given = given[:, None]
        try:
            steps = len(given)
            return torch.clamp(given.broadcast_to(steps, self.worlds, nu), self.low, self.high).clone()
        except (RuntimeError, TypeError):
            raise BuildError(
                f"ctrl of shape {tuple(given.shape)}: expected (steps, {self.worlds}, {nu}) or (steps, {nu})"
            ) from None

    def run(self, steps: int, policy: Callable[[int, dict[str, Any]], Any]) -> Path:
        """Run all copies from the present state of the simulation; the policy gives controls for step and states."""
        torch, engine = self.torch, self.copies.engine
        begin(self.copies, self.sim)
        now = {name: self.view(name) for name in self.names}
        kept = {n: torch.empty((steps + 1, *v.shape), dtype=v.dtype, device=v.device) for n, v in now.items()}
        for t in range(steps):
            for name in now:
                if name not in ("ctrl", "sensordata"):
                    kept[name][t] = now[name]
            kept["ctrl"][t] = now["ctrl"][...] = policy(t, now)
            engine.step()
            now = {name: self.view(name) for name in self.names} if self._moved() else now
            if "sensordata" in now:
                kept["sensordata"][t] = now["sensordata"]
        if "sensordata" in now:
            engine.forward()
        for name in now:
            kept[name][steps] = now[name]
        empty = torch.zeros(steps + 1, self.copies.worlds, 0, device=self.device)
        states = {name: kept.get(name, empty) for name in ("qpos", "qvel", "act")}
        states |= {name: kept[name] for name in EVOLVING if name in kept}
        return Path(states, kept["ctrl"], kept.get("sensordata", empty))

    def _moved(self) -> bool:
        """Whether arrays of the engine have moved since the last time."""
        before, self._version = getattr(self, "_version", -1), self.copies.engine.version
        return before != self._version

    def points(self, path: Path, steps: slice) -> Point:
        """Steps of a path as points, copy by copy within a step."""
        torch, flat = self.torch, lambda value: value[steps].flatten(0, 1)  # noqa: E731
        count = path.ctrl.shape[1]
        number = torch.arange(len(path.ctrl), device=self.device)[steps]
        step = number[:, None].expand(-1, count).reshape(-1)
        world = (torch.arange(count, device=self.device) % self.worlds).expand(len(number), -1).reshape(-1)
        qpos, qvel, act = (flat(path.states[name]) for name in ("qpos", "qvel", "act"))
        return Point(qpos, qvel, act, flat(path.ctrl), flat(path.sensordata), step, world)

    def costs(self, path: Path) -> Any:
        """What every copy costs, (copies,), in double precision; without end where a world is lost."""
        torch = self.torch
        with torch.no_grad():
            running = evaluate(self.running, self.points(path, slice(0, -1))).double()
            final = evaluate(self.final, self.points(path, slice(-1, None))).double()
            total = running.reshape(len(path.ctrl) - 1, -1).sum(0) + final
            lost = ~torch.isfinite(path.states["qpos"][-1]).all(-1) | ~torch.isfinite(total)
            return torch.where(lost | self._frozen(), torch.inf, total)

    def _frozen(self) -> Any:
        """Copies whose state stopped being finite on the way."""
        status = self.copies.engine.read("status")
        return self.torch.as_tensor((status & LOST != 0).reshape(-1), device=self.device)
