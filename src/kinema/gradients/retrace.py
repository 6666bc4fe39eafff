"""Worlds that are stepped, and gone back through: the two ways of a rollout (rollout.py).

Forward, every k-th state is kept. Backward, the steps between two kept states are taken once more from the first of
them, bit for bit, and then gone through from the last. With the derivatives l' and r of the cost by the state after a
step and by its readings,

    l = A'l' + C'r + direct part,      du = B'l' + D'r,      dp += P'l' + Q'r

A'l' and B'l' are one product (Linearizer.pull), which in closed form costs less than A and B; C, D, P and Q are the
step's derivatives at that state (tangents.py). Where a step remembers more than x (columns.memory), x here has that as
well, and all of it is by tangents. Positions are differentiated in their tangent space (manifold.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import warp as wp

from kinema.convex.status import IDLE
from kinema.errors import BuildError, need
from kinema.gradients import columns, mixing
from kinema.gradients.linearize import linearizer
from kinema.gradients.manifold import Manifold
from kinema.gradients.runge_kutta import Slopes, slopes_of_step

STATES = ("qpos", "qvel", "act")

State = Mapping[str, wp.array]
"""A state that was kept: arrays by name, and who is frozen."""


@dataclass
class Trace:
    """What a rollout leaves behind to be gone back through.

    Attributes:
        controls: Those of its steps, [step, world, nu].
        every: Steps between states that are kept.
        kept: These states, with the controls of the step from each.
        end: The state after the last step.
        frozen: Of each step, worlds that had stopped by its end.
        writes: How often parameters had been written.
        parameters: All that ever were, as they were.
    """

    controls: Any
    every: int
    kept: list[State]
    end: State
    frozen: list[Any]
    writes: int
    parameters: dict[str, np.ndarray]

    def after(self, t: int) -> State:
        """The state after the steps up to t, where it was kept."""
        return self.end if t == len(self.controls) else self.kept[t // self.every]


class Slope(NamedTuple):
    """The derivatives of a cost by what a rollout was given; of parameters a column for every number, in each world."""

    states: tuple[Any, Any, Any]
    controls: Any
    parameters: Any


class Rollouts:
    """Steps worlds of an engine, and goes back through the steps.

    Args:
        engine: The engine.
        parameters: Names of parameters that gradients are wanted of.
        sensors: Whether gradients of sensors are wanted.
    """

    def __init__(self, engine: Any, parameters: tuple[str, ...] = (), sensors: bool = False):
        m = engine.source
        self.engine, self.parameters, self.sensors = engine, parameters, sensors and bool(m.nsensordata)
        self.memory_of_steps = columns.memory(engine)
        self.states, self.controls = columns.states(m) + self.memory_of_steps, columns.controls(m)
        self.columns = {name: columns.parameter(engine, name) for name in parameters}
        self.torch: Any = need("torch", "torch", "A rollout with gradients")
        self.device = wp.device_to_torch(engine.device)
        self.manifold = Manifold(m, self.device)
        self.names = [name for name in sorted(engine.inputs) if engine.layout.arrays[name].size] + ["status"]
        self._made: tuple[Any, Slopes | None, Slopes | None] | None = None

    def keep(self) -> State:
        """The present state, and who is frozen."""
        return {name: wp.clone(self.engine.layout.arrays[name]) for name in self.names}

    def put(self, state: State) -> None:
        """Go back to a state."""
        for name, value in state.items():
            wp.copy(self.engine.layout.arrays[name], value)

    def runs(self) -> tuple[Slopes | None, Slopes | None]:
        """What gives P (of a step with memory A, B and P), and what C, D and Q; None: nobody asks."""
        key = self.engine.version
        if self._made is None or self._made[0] != key:
            moves = [one for name in self.parameters for one in self.columns[name]]
            readings = columns.sensors(self.engine.source)
            everything = [*self.states, *self.controls, *moves]
            along = everything if self.memory_of_steps else moves
            of_parameters = slopes_of_step(self.engine, along, self.states) if along else None
            of_sensors = slopes_of_step(self.engine, everything, readings) if self.sensors else None
            self._made = key, of_parameters, of_sensors
        return self._made[1:]

    def view(self, name: str) -> Any:
        """An array of the engine as a tensor of the same memory, [world, ...]."""
        shape = self.engine.shape(name)
        if 0 in shape:
            return self.torch.zeros(shape, device=self.device)
        return wp.to_torch(self.engine.array(name), requires_grad=False).view(shape)

    def write(self, name: str, value: Any) -> None:
        """Give an input of the engine the values of a tensor."""
        if value.numel():
            self.view(name).copy_(value.detach())

    @contextmanager
    def in_order(self) -> Iterator[None]:
        """On CUDA torch works on the engine's stream meanwhile, which waits for torch's own, and is waited for by it.

        The other way round would not do: the engine records graphs, which torch's default stream does not allow.
        """
        if not self.engine.device.is_cuda:
            yield
            return
        before = self.torch.cuda.current_stream(self.device)
        mine = wp.stream_to_torch(wp.get_stream(self.engine.device))
        mine.wait_stream(before)
        with self.torch.cuda.stream(mine):
            yield
        before.wait_stream(mine)

    def forward(self, controls: Any, start: Sequence[Any], every: int) -> tuple[list[Any], Trace]:
        """Step with these controls from a state: states and readings after every step, and the way back."""
        names = [*STATES, *(["sensordata"] if self.sensors else [])]
        kept, ends, frozen = [], [], []
        with self.in_order():
            for name, value in zip(STATES, start, strict=True):
                self.write(name, value)
            for t in range(len(controls)):
                self.write("ctrl", controls[t])
                if t % every == 0:
                    kept.append(self.keep())
                self.engine.step()
                ends.append([self.view(name).clone() for name in names])
                frozen.append(self.frozen())
            end = self.keep()
        trace = Trace(controls.detach(), every, kept, end, frozen, self.engine.present.writes, self.parameters_now())
        return [self.torch.stack([each[k] for each in ends]) for k in range(len(names))], trace

    def backward(self, trace: Trace, gradients: Sequence[Any], smooth: Mapping[str, Any]) -> Slope:
        """Go back through a rollout; the engine is afterwards as it was before, and parameters as they are now."""
        with self.in_order():
            now = self.keep()
            try:
                with other_values(self.engine, self.parameters_of(trace)):
                    return self._back(trace, gradients, smooth)
            finally:
                self.put(now)

    def _back(self, trace: Trace, gradients: Sequence[Any], smooth: Mapping[str, Any]) -> Slope:
        """`backward` with the model as it was."""
        torch, n, nv = self.torch, self.engine.nworld, int(self.engine.source.nv)
        nx, nu, steps = len(self.states), len(self.controls), len(trace.controls)
        acts = slice(2 * nv, 2 * nv + int(self.engine.source.na))
        along = torch.zeros(n, nx, device=self.device)  # the derivative of the cost by the state after the step
        by_control = torch.zeros_like(trace.controls, device=self.device)
        by_parameter = torch.zeros(n, sum(map(len, self.columns.values())), device=self.device)
        for first in reversed(range(0, steps, trace.every)):
            last = min(first + trace.every, steps)
            states, after = self._again(trace, first, last), trace.after(last)
            with other_values(self.engine, smooth):
                for t in reversed(range(first, last)):
                    direct = [gradient[t].detach().to(self.device, torch.float32) for gradient in gradients]
                    along[:, :nv] += self.manifold.pulled(self.place_in(after), direct[0])
                    along[:, nv : 2 * nv] += direct[1]
                    along[:, acts] += direct[2]
                    after = states[t - first]
                    self.put(after)
                    back = self.pull(along, direct[3] if self.sensors else None)
                    stays = torch.nn.functional.pad(along, (0, back.shape[1] - nx))
                    back = torch.where(trace.frozen[t][:, None], stays, back)
                    by_control[t] = back[:, nx : nx + nu]
                    by_parameter += back[:, nx + nu :]
                    along = back[:, :nx].contiguous()
        start = self.manifold.pushed(self.place_in(trace.kept[0]), along[:, :nv])
        return Slope((start, along[:, nv : 2 * nv], along[:, acts]), by_control, by_parameter)

    def _again(self, trace: Trace, first: int, last: int) -> list[State]:
        """The states that steps from `first` on start from, of which only the first was kept."""
        self.put(trace.kept[first // trace.every])
        states = [self.keep()]
        for t in range(first + 1, last):
            self.engine.step()
            self.write("ctrl", trace.controls[t])
            states.append(self.keep())
        return states

    def place_in(self, state: State) -> Any:
        """The positions of a state that was kept."""
        if "qpos" not in state:
            return self.view("qpos")
        return wp.to_torch(state["qpos"], requires_grad=False)

    def pull(self, along: Any, readings: Any) -> Any:
        """Derivatives of the cost by state, controls and parameters, [world, column], from those by the state after the
        step and by the sensors in it."""
        self.engine.forward()
        found = []
        if not self.memory_of_steps:
            given: Any = wp.from_torch(along.contiguous(), requires_grad=False)
            pulled = linearizer(self.engine, sensors=False).pull(given)
            found.append(wp.to_torch(pulled, requires_grad=False)[:, 0].clone())
        of_parameters, of_sensors = self.runs()
        if of_parameters:
            found.append(_times(along, of_parameters, self.torch))
        result = self.torch.cat(found, 1)
        return result + _times(readings, of_sensors, self.torch) if of_sensors else result

    def frozen(self) -> Any:
        """Of each world, whether it has stopped."""
        return (self.view("status") & IDLE) != 0

    def parameters_now(self) -> dict[str, np.ndarray]:
        """Parameters that were ever written, as they are."""
        engine = self.engine
        found = {name: np.array(engine.read(name)) for name in engine.present.last if engine.is_parameter(name)}
        return {name: value if name in engine.expanded else value[0] for name, value in found.items()}

    def parameters_of(self, trace: Trace) -> dict[str, np.ndarray]:
        """Those that were written since a rollout, as they were in it."""
        engine, then = self.engine, trace.parameters
        since = [name for name, number in engine.present.last.items() if number > trace.writes]
        switches = [name for name in since if not engine.is_parameter(name)]
        if switches:
            raise BuildError(f"{switches[0]} was changed between a rollout and its backward(): go back before that")
        return {name: then[name] if name in then else engine.built(name) for name in since}

    def memory(self, steps: int, every: int) -> tuple[int, int]:
        """Bytes of states that are kept for so many steps, and of scratch for their derivatives."""
        each = sum(self.engine.layout.arrays[name].capacity for name in self.names)
        scratch = sum(run.memory for run in self.runs() if run)
        if not self.memory_of_steps:
            scratch += linearizer(self.engine, sensors=False).memory
        return each * (-(-steps // every) + min(every, steps) + 1), scratch


def _times(rows: Any, run: Slopes, torch: Any) -> Any:
    """rows' (derivatives), world by world."""
    return torch.bmm(rows[:, None, :], wp.to_torch(run.run(), requires_grad=False))[:, 0]


_rollouts: WeakKeyDictionary[Any, dict[Any, Rollouts]] = WeakKeyDictionary()


def rollouts(engine: Any, parameters: tuple[str, ...] = (), *, sensors: bool = False) -> Rollouts:
    """Those of an engine, made once."""
    known, key = _rollouts.setdefault(engine, {}), (parameters, sensors)
    mixed = any(mixing.is_mixed(name) for name in parameters)  # who gives a pair its friction may have changed
    if key not in known or mixed:
        known[key] = Rollouts(engine, parameters, sensors)
    return known[key]


@contextmanager
def other_values(engine: Any, values: Mapping[str, Any]) -> Iterator[None]:
    """Parameters with other values for a while."""
    before = {name: np.array(engine.read(name)) for name in values}
    last = dict(engine.present.last)
    for name, value in values.items():
        engine.set_parameter(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            engine.set_parameter(name, value if name in engine.expanded else value[0])
        engine.present.last = last  # they are as they were
