"""Gradients through whole rollouts, for torch: what a cost of states and sensors says about controls, start and model.

    qpos, qvel, act, sensordata = rollout(sim, ctrl, qpos=start)    [step, world, ...]; ctrl is [step, world, nu]
    cost(qpos, qvel).backward()                                     ctrl.grad, start.grad

Forward, worlds are stepped as ever, and every k-th state is kept. Backward, the steps between two kept states are taken
once more from the first of them, bit for bit, and then gone through from the last: with x' = f(x, u, p),
y = g(x, u, p), and the derivatives of the cost by x' and y at hand, l' and r,

    l = A'l' + C'r + direct part,      du = B'l' + D'r,      dp += P'l' + Q'r

A'l' and B'l' are one product (Linearizer.pull), which in closed form costs less than A and B; C, D, P and Q are the
step's derivatives at that state (tangents.py). Where a step remembers more than x (columns.memory), x here has that as
well, and all of it is by tangents. Positions are differentiated in their tangent space; what torch is given for a
quaternion is the part of the gradient that turns it, none that stretches it.

`smooth` gives parameters other values while derivatives are taken, and only then: with a margin, for one, geoms that
are about to touch push each other already, so a gradient knows of a floor before it is hit. States stay those of the
model.

Going back leaves no trace, and asks nothing of what happened to the simulation since: states, status and parameters are
those of the rollout while it lasts, and then again what they were. A world that is frozen keeps its state, x' = x, and
has the derivatives of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import warp as wp

from kinema.convex.status import IDLE
from kinema.errors import BuildError, did_you_mean, need
from kinema.gradients import columns, mixing
from kinema.gradients import stages as of_step
from kinema.gradients.linearize import linearizer
from kinema.gradients.manifold import Manifold
from kinema.gradients.runge_kutta import Slopes, refuse_memory, slopes_of_step
from kinema.gradients.tangents import Direction, Moves

STATES = ("qpos", "qvel", "act")


class Trajectory(NamedTuple):
    """States after every step, [step, world, ...], as tensors; and readings of sensors in it, where they are asked."""

    qpos: Any
    qvel: Any
    act: Any
    sensordata: Any


def directions_of(engine: Any, name: str) -> list[Moves]:
    """A direction for every number of a parameter."""
    if not engine.is_parameter(name):
        raise BuildError(f"{name!r} is no parameter{did_you_mean(name, engine.parameters)}")
    engine.follower.free(name)  # where it is 0, what it would do has a slope
    if mixing.is_mixed(name):
        return list(mixing.directions(engine, name))
    shape = engine.shape(name)[1:]
    array = engine.layout.arrays[name]
    count = int(np.prod(array.shape[1:])) if array.ndim > 1 else 1
    each = int(np.prod(shape)) // max(1, count)
    return [Direction(name, k, component=c) for k in range(count) for c in range(each)]


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
        self.columns = {name: directions_of(engine, name) for name in parameters}
        self.torch: Any = need("torch", "torch", "A rollout with gradients")
        self.device = wp.device_to_torch(engine.device)
        self.manifold = Manifold(m, self.device)
        self.names = [name for name in sorted(engine.inputs) if engine.layout.arrays[name].size] + ["status"]
        self._made: tuple[Any, Slopes | None, Slopes | None] | None = None

    def keep(self) -> dict[str, wp.array]:
        """The present state, and who is frozen."""
        return {name: wp.clone(self.engine.layout.arrays[name]) for name in self.names}

    def put(self, state: Mapping[str, wp.array]) -> None:
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

    def parameters_of(self, writes: int, then: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Those that were written since, after so many writes, as they were before it."""
        engine = self.engine
        since = [name for name, number in engine.present.last.items() if number > writes]
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


def rollout(
    sim: Any, ctrl: Any, *, qpos: Any = None, qvel: Any = None, act: Any = None,
    parameters: Mapping[str, Any] | None = None, sensors: bool = False, every: int = 16,
    smooth: Mapping[str, Any] | None = None, verbose: bool = False,
) -> Trajectory:  # fmt: skip
    """Step all worlds with the given controls, so that torch can go back through the steps.

    Args:
        sim: The simulation; what is not given of its state is as it is.
        ctrl: Controls, a tensor [step, world, nu].
        qpos, qvel, act: The state to start from, tensors [world, ...].
        parameters: Parameters of the model by name, as tensors of the shape they have in `sim.m`; what derives from
            them elsewhere in the model (`sim.recompute`) stays as it is.
        sensors: Also give the readings of sensors in every step; they have gradients as well.
        every: Steps between states that are kept; those between are taken once more on the way back.
        smooth: Parameters that have other values while derivatives are taken, by name, such as a `geom_margin`.
        verbose: Print beforehand how much memory it takes.
    """
    torch: Any = need("torch", "torch", "A rollout with gradients")
    engine = sim.engine
    if not hasattr(engine, "recipes"):
        raise BuildError(f"{type(engine).__name__} has no stages to differentiate: make the simulation without it")
    if isinstance(every, bool) or not isinstance(every, int | np.integer) or every < 1:
        raise BuildError(f"every={every!r}: expected a whole number, 1 or more")
    n, nu = engine.nworld, int(engine.source.nu)
    ctrl = _tensor(torch, ctrl)
    if tuple(ctrl.shape[1:]) != (n, nu) or not len(ctrl):
        raise BuildError(f"ctrl of shape {tuple(ctrl.shape)}: expected (steps, {n}, {nu}), a step at least")
    given = {name: _tensor(torch, value) for name, value in (parameters or {}).items()}
    for name, value in given.items():
        if name in engine.parameters and tuple(value.shape) not in (engine.shape(name), engine.shape(name)[1:]):
            raise BuildError(f"{name} of shape {tuple(value.shape)}: expected {engine.shape(name)[1:]}")
    for name in smooth or {}:
        if not engine.is_parameter(name):
            raise BuildError(f"smooth: {name!r} is no parameter{did_you_mean(name, engine.parameters)}")
    start = {}
    for name, value in (("qpos", qpos), ("qvel", qvel), ("act", act)):
        start[name] = _tensor(torch, np.array(engine.read(name)) if value is None else value)
        if tuple(start[name].shape) != engine.shape(name):
            raise BuildError(f"{name} of shape {tuple(start[name].shape)}: expected {engine.shape(name)}")
    if torch.is_grad_enabled() and any(each.requires_grad for each in (ctrl, *start.values(), *given.values())):
        of_step.refuse(engine.present.to("closed"), engine.recipes["step"])
        refuse_memory(engine, columns.memory(engine))
    for name, value in given.items():
        if engine.is_parameter(name):
            if tuple(value.shape) == engine.shape(name):
                engine.expand(name)
            engine.set_parameter(name, value.detach().cpu().numpy())
    work = rollouts(engine, tuple(given), sensors=sensors)
    if verbose:
        kept, scratch = work.memory(len(ctrl), every)
        print(f"rollout of {len(ctrl)} steps in {n} worlds: {kept / 2**20:.1f} MiB of states, "
              f"{scratch / 2**20:.1f} MiB for derivatives")  # fmt: skip
    outputs = [*STATES, *(["sensordata"] if work.sensors else [])]

    def place_in(state: Mapping[str, wp.array]) -> Any:
        """The positions of a state that was kept."""
        if "qpos" not in state:
            return work.view("qpos")
        return wp.to_torch(state["qpos"], requires_grad=False)

    class Steps(torch.autograd.Function):
        """The rollout as one function."""

        @staticmethod
        def forward(context: Any, controls: Any, *inputs: Any) -> tuple[Any, ...]:
            kept, ends, frozen = [], [], []
            with work.in_order():
                for name, value in zip(STATES, inputs, strict=False):
                    work.write(name, value)
                for t in range(len(controls)):
                    work.write("ctrl", controls[t])
                    if t % every == 0:
                        kept.append(work.keep())
                    engine.step()
                    ends.append([work.view(name).clone() for name in outputs])
                    frozen.append(work.frozen())
                context.kept, context.end, context.frozen = kept, work.keep(), frozen
            context.writes, context.then = engine.present.writes, work.parameters_now()
            context.save_for_backward(controls, *inputs)
            return tuple(torch.stack([end[k] for end in ends]).to(controls.device) for k in range(len(outputs)))

        @staticmethod
        def backward(context: Any, *gradients: Any) -> tuple[Any, ...]:
            with work.in_order():
                now = work.keep()
                try:
                    with _other_values(engine, work.parameters_of(context.writes, context.then)):
                        return Steps.back(context, *gradients)
                finally:
                    work.put(now)

        @staticmethod
        def back(context: Any, *gradients: Any) -> tuple[Any, ...]:
            """`backward` with the model as it was."""
            controls, *inputs = context.saved_tensors
            nv, nx = int(engine.source.nv), len(work.states)
            acts = slice(2 * nv, 2 * nv + int(engine.source.na))
            along = torch.zeros(n, nx, device=work.device)  # the derivative of the cost by the state after the step
            by_control = torch.zeros_like(controls, device=work.device)
            counts = [len(work.columns[name]) for name in given]
            by_parameter = torch.zeros(n, sum(counts), device=work.device)
            for first in reversed(range(0, len(controls), every)):
                work.put(context.kept[first // every])
                states = [work.keep()]
                for t in range(first + 1, min(first + every, len(controls))):
                    engine.step()
                    work.write("ctrl", controls[t])
                    states.append(work.keep())
                last = min(first + every, len(controls))
                after = context.end if last == len(controls) else context.kept[last // every]
                with _other_values(engine, smooth or {}):
                    for t in reversed(range(first, last)):
                        direct = [gradient[t].detach().to(work.device, torch.float32) for gradient in gradients]
                        along[:, :nv] += work.manifold.pulled(place_in(after), direct[0])
                        along[:, nv : 2 * nv] += direct[1]
                        along[:, acts] += direct[2]
                        after = states[t - first]
                        work.put(after)
                        back = work.pull(along, direct[3] if work.sensors else None)
                        stays = torch.nn.functional.pad(along, (0, back.shape[1] - nx))
                        back = torch.where(context.frozen[t][:, None], stays, back)
                        by_control[t] = back[:, nx : nx + nu]
                        by_parameter += back[:, nx + nu :]
                        along = back[:, :nx].contiguous()
            start = work.manifold.pushed(place_in(context.kept[0]), along[:, :nv])
            results = [start, along[:, nv : 2 * nv], along[:, acts]]
            for name, part in zip(given, by_parameter.split(counts, 1) if counts else (), strict=True):
                value = inputs[len(STATES) + list(given).index(name)]
                each = part if tuple(value.shape) == engine.shape(name) else part.sum(0)
                results.append(each.reshape(value.shape))
            return by_control.to(controls.device), *(
                result.to(value.dtype).to(value.device) for result, value in zip(results, inputs, strict=True)
            )

    found = list(Steps.apply(ctrl, *(start[name] for name in STATES), *given.values()))
    return Trajectory(*found, *([] if work.sensors else [torch.zeros(len(ctrl), n, 0)]))


def _tensor(torch: Any, value: Any) -> Any:
    """A tensor as it is; anything else as one of single numbers."""
    return value if isinstance(value, torch.Tensor) else torch.as_tensor(np.asarray(value, np.float32))


@contextmanager
def _other_values(engine: Any, values: Mapping[str, Any]) -> Iterator[None]:
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
