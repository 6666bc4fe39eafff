"""Gradients through whole rollouts, for torch: what a cost of states says about controls, start and parameters.

    qpos, qvel, act = rollout(sim, ctrl, qpos=start)        [step, world, ...]; ctrl is [step, world, nu]
    cost(qpos, qvel).backward()                             ctrl.grad, start.grad

Forward, worlds are stepped as ever, and every k-th state is kept. Backward, the steps between two kept states are taken
once more from the first of them, bit for bit, and then gone through from the last: with x' = f(x, u, p) and the
derivative of the cost by x' at hand, l',

    l = A' l' + direct part,      du = B' l',      dp += P' l'

where A, B and P are the step's derivatives at that state (tangents.py). Positions are differentiated in their tangent
space; what torch is given for a quaternion is the part of the gradient that turns it, none that stretches it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import warp as wp

from kinema.errors import BuildError, did_you_mean, need
from kinema.gradients import columns
from kinema.gradients.tangents import Direction, Tangents

STATES = ("qpos", "qvel", "act")


class Trajectory(NamedTuple):
    """States after every step, [step, world, ...], as tensors."""

    qpos: Any
    qvel: Any
    act: Any


def directions_of(engine: Any, name: str) -> list[Direction]:
    """A direction for every number of a parameter."""
    if not engine.is_parameter(name):
        raise BuildError(f"{name!r} is no parameter{did_you_mean(name, engine.parameters)}")
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
        every: Steps between states that are kept.
    """

    def __init__(self, engine: Any, parameters: tuple[str, ...] = (), every: int = 16):
        m = engine.source
        self.engine, self.every, self.parameters = engine, every, parameters
        self.states, self.controls = columns.states(m), columns.controls(m)
        self.columns = {name: directions_of(engine, name) for name in parameters}
        self.names = [name for name in sorted(engine.inputs) if engine.layout.arrays[name].size]
        self._made: tuple[int, Tangents] | None = None

    def keep(self) -> dict[str, wp.array]:
        """The present state."""
        return {name: wp.clone(self.engine.layout.arrays[name]) for name in self.names}

    def put(self, state: Mapping[str, wp.array]) -> None:
        """Go back to a state."""
        for name, value in state.items():
            wp.copy(self.engine.layout.arrays[name], value)

    def derivatives(self, torch: Any) -> Any:
        """d(state after) / d(state, controls, parameters) at the present state, [world, row, column], as a tensor."""
        self.engine.forward()
        if self._made is None or self._made[0] != self.engine.version:
            wanted = [*self.states, *self.controls, *(one for name in self.parameters for one in self.columns[name])]
            self._made = self.engine.version, Tangents(self.engine, wanted, self.states)
        return wp.to_torch(self._made[1].run(), requires_grad=False)

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


def rollout(
    sim: Any, ctrl: Any, *, qpos: Any = None, qvel: Any = None, act: Any = None,
    parameters: Mapping[str, Any] | None = None, every: int = 16,
) -> Trajectory:  # fmt: skip
    """Step all worlds with the given controls, so that torch can go back through the steps.

    Args:
        sim: The simulation; what is not given of its state is as it is.
        ctrl: Controls, a tensor [step, world, nu].
        qpos, qvel, act: The state to start from, tensors [world, ...].
        parameters: Parameters of the model by name, as tensors of the shape they have in `sim.m`; what derives from
            them elsewhere in the model (`sim.recompute`) stays as it is.
        every: Steps between states that are kept; those between are taken once more on the way back.
    """
    torch: Any = need("torch", "torch", "A rollout with gradients")
    engine, given = sim.engine, dict(parameters or {})
    if tuple(ctrl.shape[1:]) != (engine.nworld, int(engine.source.nu)):
        raise BuildError(f"ctrl of shape {tuple(ctrl.shape)}: expected (steps, {engine.nworld}, {engine.source.nu})")
    for name, value in given.items():
        if name in engine.parameters and tuple(value.shape) not in (engine.shape(name), engine.shape(name)[1:]):
            raise BuildError(f"{name} of shape {tuple(value.shape)}: expected {engine.shape(name)[1:]}")
    work = Rollouts(engine, tuple(given), every)
    start = {"qpos": qpos, "qvel": qvel, "act": act}
    for name in STATES:
        if start[name] is None:
            start[name] = torch.as_tensor(np.array(engine.read(name)))

    class Steps(torch.autograd.Function):
        """The rollout as one function."""

        @staticmethod
        def forward(context: Any, controls: Any, *inputs: Any) -> tuple[Any, ...]:
            for name, value in zip([*STATES, *given], inputs, strict=True):
                if name in STATES:
                    if value.numel():
                        engine.write(name, value.detach().cpu().numpy())
                else:
                    if tuple(value.shape) == engine.shape(name):
                        engine.expand(name)
                    engine.set_parameter(name, value.detach().cpu().numpy())
            kept, ends = [], []
            for t in range(len(controls)):
                if controls.numel():
                    engine.write("ctrl", controls[t].detach().cpu().numpy())
                if t % every == 0:
                    kept.append(work.keep())
                engine.step()
                ends.append([torch.as_tensor(np.array(engine.read(name))) for name in STATES])
            context.kept, context.end = kept, work.keep()
            context.save_for_backward(controls, *inputs)
            return tuple(torch.stack([end[k] for end in ends]).to(controls.device) for k in range(len(STATES)))

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
                after = None
                for t in reversed(range(first, min(first + every, len(controls)))):
                    end = after if after is not None else (
                        context.end if t + 1 == len(controls) else context.kept[(t + 1) // every]
                    )  # fmt: skip
                    place = torch.as_tensor(np.array(end["qpos"].numpy()))
                    direct = [gradient[t].detach().cpu() for gradient in gradients]
                    along[:, :nv] += work.tangent(place, direct[0], torch)
                    along[:, nv : 2 * nv] += direct[1]
                    along[:, 2 * nv :] += direct[2]
                    work.put(states[t - first])
                    found = work.derivatives(torch).cpu()
                    back = torch.bmm(along[:, None, :], found)[:, 0]
                    by_control[t] = back[:, nx : nx + nu]
                    by_parameter += back[:, nx + nu :]
                    along, after = back[:, :nx].contiguous(), states[t - first]
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

    return Trajectory(*Steps.apply(ctrl, *(start[name] for name in STATES), *given.values()))
