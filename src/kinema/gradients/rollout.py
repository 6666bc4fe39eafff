"""Gradients through whole rollouts, for torch: what a cost of states and sensors says about controls, start and model.

    qpos, qvel, act, sensordata = rollout(sim, ctrl, qpos=start)    [step, world, ...]; ctrl is [step, world, nu]
    cost(qpos, qvel).backward()                                     ctrl.grad, start.grad

Forward, worlds are stepped as ever, and every k-th state is kept. Backward, the steps between two kept states are taken
once more from the first of them, bit for bit, and then gone through from the last: with x' = f(x, u, p),
y = g(x, u, p), and the derivatives of the cost by x' and y at hand, l' and r,

    l = A'l' + C'r + direct part,      du = B'l' + D'r,      dp += P'l' + Q'r

A'l' and B'l' are one product (Linearizer.pull), which in closed form costs less than A and B; C, D, P and Q are the
step's derivatives at that state (tangents.py). Positions are differentiated in their tangent space; what torch is given
for a quaternion is the part of the gradient that turns it, none that stretches it.

`smooth` gives parameters other values while derivatives are taken, and only then: with a margin, for one, geoms that
are about to touch push each other already, so a gradient knows of a floor before it is hit. States stay those of the
model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import warp as wp

from kinema.errors import BuildError, did_you_mean, need
from kinema.gradients import columns, mixing
from kinema.gradients.linearize import linearizer
from kinema.gradients.tangents import Direction, Moves, Tangents

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
        self.states, self.controls = columns.states(m), columns.controls(m)
        self.columns = {name: directions_of(engine, name) for name in parameters}
        self.names = [name for name in sorted(engine.inputs) if engine.layout.arrays[name].size]
        self._made: tuple[Any, Tangents | None, Tangents | None] | None = None

    def keep(self) -> dict[str, wp.array]:
        """The present state."""
        return {name: wp.clone(self.engine.layout.arrays[name]) for name in self.names}

    def put(self, state: Mapping[str, wp.array]) -> None:
        """Go back to a state."""
        for name, value in state.items():
            wp.copy(self.engine.layout.arrays[name], value)

    def runs(self) -> tuple[Tangents | None, Tangents | None]:
        """What gives P, and what C, D and Q; None: nobody asks."""
        key = self.engine.version
        if self._made is None or self._made[0] != key:
            moves = [one for name in self.parameters for one in self.columns[name]]
            of_parameters = Tangents(self.engine, moves, self.states) if moves else None
            readings = columns.sensors(self.engine.source)
            everything = [*self.states, *self.controls, *moves]
            of_sensors = Tangents(self.engine, everything, readings) if self.sensors else None
            self._made = key, of_parameters, of_sensors
        return self._made[1:]

    def pull(self, along: Any, readings: Any, torch: Any) -> Any:
        """Derivatives of the cost by state, controls and parameters, [world, column], from those by the state after the
        step and by the sensors in it."""
        self.engine.forward()
        device = self.engine.device
        given = wp.array(along.numpy(), dtype=float, device=device)
        found = [torch.as_tensor(linearizer(self.engine, sensors=False).pull(given).numpy()[:, 0].copy())]
        of_parameters, of_sensors = self.runs()
        if of_parameters:
            found.append(_times(along, of_parameters, torch))
        result = torch.cat(found, 1)
        return result + _times(readings, of_sensors, torch) if of_sensors else result

    def memory(self, steps: int, every: int) -> tuple[int, int]:
        """Bytes of states that are kept for so many steps, and of scratch for their derivatives."""
        each = sum(self.engine.layout.arrays[name].capacity for name in self.names)
        scratch = linearizer(self.engine, sensors=False).memory + sum(run.memory for run in self.runs() if run)
        return each * (-(-steps // every) + min(every, steps) + 1), scratch

    def tangent(self, qpos: Any, gradient: Any, torch: Any) -> Any:
        """The gradient by qpos in its tangent space, [world, nv]."""
        found = []
        for one in columns.positions(self.engine.source):
            if one.turn == 0:
                found.append(gradient[:, one.element])
            else:
                axis = _turned(qpos[:, one.element : one.element + 4], one.turn, torch)
                found.append(0.5 * (axis * gradient[:, one.element : one.element + 4]).sum(1))
        return torch.stack(found, 1) if found else gradient[:, :0]

    def ambient(self, qpos: Any, gradient: Any, torch: Any) -> Any:
        """The gradient by qpos, [world, nq], from that in its tangent space."""
        found = torch.zeros_like(qpos)
        for i, one in enumerate(columns.positions(self.engine.source)):
            if one.turn == 0:
                found[:, one.element] += gradient[:, i]
            else:
                at = slice(one.element, one.element + 4)
                found[:, at] += 2.0 * gradient[:, i : i + 1] * _turned(qpos[:, at], one.turn, torch)
        return found


def _turned(quat: Any, axis: int, torch: Any) -> Any:
    """q (0, e): where a unit quaternion goes when it turns about an axis of its own frame."""
    w, x, y, z = (quat / quat.norm(dim=1, keepdim=True)).unbind(1)
    return torch.stack({1: (-x, w, z, -y), 2: (-y, -z, w, x), 3: (-z, y, -x, w)}[axis], 1)


def _times(rows: Any, run: Tangents, torch: Any) -> Any:
    """rows' (derivatives), world by world."""
    return torch.bmm(rows[:, None, :], torch.as_tensor(run.run().numpy()))[:, 0]


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
    engine, given = sim.engine, dict(parameters or {})
    if tuple(ctrl.shape[1:]) != (engine.nworld, int(engine.source.nu)):
        raise BuildError(f"ctrl of shape {tuple(ctrl.shape)}: expected (steps, {engine.nworld}, {engine.source.nu})")
    for name, value in given.items():
        if name in engine.parameters and tuple(value.shape) not in (engine.shape(name), engine.shape(name)[1:]):
            raise BuildError(f"{name} of shape {tuple(value.shape)}: expected {engine.shape(name)[1:]}")
    for name in smooth or {}:
        if not engine.is_parameter(name):
            raise BuildError(f"smooth: {name!r} is no parameter{did_you_mean(name, engine.parameters)}")
    start = {"qpos": qpos, "qvel": qvel, "act": act}
    for name in STATES:
        if start[name] is None:
            start[name] = torch.as_tensor(np.array(engine.read(name)))
    for name, value in given.items():
        if engine.is_parameter(name):
            if tuple(value.shape) == engine.shape(name):
                engine.expand(name)
            engine.set_parameter(name, value.detach().cpu().numpy())
    work = rollouts(engine, tuple(given), sensors=sensors)
    if verbose:
        kept, scratch = work.memory(len(ctrl), every)
        print(f"rollout of {len(ctrl)} steps in {engine.nworld} worlds: {kept / 2**20:.1f} MiB of states, "
              f"{scratch / 2**20:.1f} MiB for derivatives")  # fmt: skip
    outputs = [*STATES, *(["sensordata"] if work.sensors else [])]

    class Steps(torch.autograd.Function):
        """The rollout as one function."""

        @staticmethod
        def forward(context: Any, controls: Any, *inputs: Any) -> tuple[Any, ...]:
            for name, value in zip(STATES, inputs, strict=False):
                if value.numel():
                    engine.write(name, value.detach().cpu().numpy())
            kept, ends = [], []
            for t in range(len(controls)):
                if controls.numel():
                    engine.write("ctrl", controls[t].detach().cpu().numpy())
                if t % every == 0:
                    kept.append(work.keep())
                engine.step()
                ends.append([torch.as_tensor(np.array(engine.read(name))) for name in outputs])
            context.kept, context.end = kept, work.keep()
            context.save_for_backward(controls, *inputs)
            return tuple(torch.stack([end[k] for end in ends]).to(controls.device) for k in range(len(outputs)))

        @staticmethod
        def backward(context: Any, *gradients: Any) -> tuple[Any, ...]:
            controls, *inputs = context.saved_tensors
            nv, nx, nu = int(engine.source.nv), len(work.states), len(work.controls)
            along = torch.zeros(engine.nworld, nx)  # the derivative of the cost by the state after the step
            by_control = torch.zeros_like(controls, device="cpu")
            counts = [len(work.columns[name]) for name in given]
            by_parameter = torch.zeros(engine.nworld, sum(counts))
            for first in reversed(range(0, len(controls), every)):
                work.put(context.kept[first // every])
                states = [work.keep()]
                for t in range(first + 1, min(first + every, len(controls))):
                    engine.step()
                    engine.write("ctrl", controls[t].detach().cpu().numpy())
                    states.append(work.keep())
                last = min(first + every, len(controls))
                after = context.end if last == len(controls) else context.kept[last // every]
                with _other_values(engine, smooth or {}):
                    for t in reversed(range(first, last)):
                        place = torch.as_tensor(np.array(after["qpos"].numpy()))
                        direct = [gradient[t].detach().cpu() for gradient in gradients]
                        along[:, :nv] += work.tangent(place, direct[0], torch)
                        along[:, nv : 2 * nv] += direct[1]
                        along[:, 2 * nv :] += direct[2]
                        after = states[t - first]
                        work.put(after)
                        back = work.pull(along, direct[3] if work.sensors else None, torch)
                        by_control[t] = back[:, nx : nx + nu]
                        by_parameter += back[:, nx + nu :]
                        along = back[:, :nx].contiguous()
            work.put(context.end)
            place = torch.as_tensor(np.array(context.kept[0]["qpos"].numpy()))
            results = [work.ambient(place, along[:, :nv], torch), along[:, nv : 2 * nv], along[:, 2 * nv :]]
            for name, part in zip(given, by_parameter.split(counts, 1) if counts else (), strict=True):
                value = inputs[len(STATES) + list(given).index(name)]
                each = part if tuple(value.shape) == engine.shape(name) else part.sum(0)
                results.append(each.reshape(value.shape))
            return by_control.to(controls.device), *(
                result.to(value.dtype).to(value.device) for result, value in zip(results, inputs, strict=True)
            )

    found = list(Steps.apply(ctrl, *(start[name] for name in STATES), *given.values()))
    return Trajectory(*found, *([] if work.sensors else [torch.zeros(len(ctrl), engine.nworld, 0)]))


@contextmanager
def _other_values(engine: Any, values: Mapping[str, Any]) -> Iterator[None]:
    """Parameters with other values for a while."""
    before = {name: np.array(engine.read(name)) for name in values}
    for name, value in values.items():
        engine.set_parameter(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            engine.set_parameter(name, value if name in engine.expanded else value[0])
