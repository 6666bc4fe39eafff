"""Gradients through whole rollouts, for torch: what a cost of states and sensors says about controls, start and model.

    qpos, qvel, act, sensordata = rollout(sim, ctrl, qpos=start)    [step, world, ...]; ctrl is [step, world, nu]
    cost(qpos, qvel).backward()                                     ctrl.grad, start.grad

Worlds are stepped as ever; how `backward()` goes back through the steps is in retrace.py. What torch is given for a
quaternion is the part of the gradient that turns it, none that stretches it.

`smooth` gives parameters other values while derivatives are taken, and only then: with a margin, for one, geoms that
are about to touch push each other already, so a gradient knows of a floor before it is hit. States stay those of the
model.

Going back leaves no trace, and asks nothing of what happened to the simulation since: states, status and parameters are
those of the rollout while it lasts, and then again what they were. A world that is frozen keeps its state, x' = x, and
has the derivatives of that.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from kinema.errors import BuildError, did_you_mean, need
from kinema.gradients import columns
from kinema.gradients import stages as of_step
from kinema.gradients.retrace import STATES, rollouts
from kinema.gradients.runge_kutta import refuse_memory


class Trajectory(NamedTuple):
    """States after every step, [step, world, ...], as tensors; and readings of sensors in it, where they are asked."""

    qpos: Any
    qvel: Any
    act: Any
    sensordata: Any


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
    ctrl, given = _controls(torch, engine, ctrl), _parameters(torch, engine, parameters or {})
    for name in smooth or {}:
        if not engine.is_parameter(name):
            raise BuildError(f"smooth: {name!r} is no parameter{did_you_mean(name, engine.parameters)}")
    start = _start(torch, engine, {"qpos": qpos, "qvel": qvel, "act": act})
    if torch.is_grad_enabled() and any(each.requires_grad for each in (ctrl, *start, *given.values())):
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
        print(f"rollout of {len(ctrl)} steps in {engine.nworld} worlds: {kept / 2**20:.1f} MiB of states, "
              f"{scratch / 2**20:.1f} MiB for derivatives")  # fmt: skip
    found = list(_steps(torch).apply(work, every, smooth or {}, ctrl, *start, *given.values()))
    return Trajectory(*found, *([] if work.sensors else [torch.zeros(len(ctrl), engine.nworld, 0)]))


@cache
def _steps(torch: Any) -> Any:
    """A rollout as one function of torch's."""

    class Steps(torch.autograd.Function):
        """Of controls, the three parts of a state, and parameters."""

        @staticmethod
        def forward(context: Any, work: Any, every: int, smooth: Any, controls: Any, *inputs: Any) -> tuple[Any, ...]:
            found, trace = work.forward(controls, inputs[: len(STATES)], every)
            context.work, context.smooth, context.trace = work, smooth, trace
            context.save_for_backward(controls, *inputs)
            return tuple(each.to(controls.device) for each in found)

        @staticmethod
        def backward(context: Any, *gradients: Any) -> tuple[Any, ...]:
            controls, *inputs = context.saved_tensors
            work = context.work
            slope = work.backward(context.trace, gradients, context.smooth)
            counts = [len(each) for each in work.columns.values()]
            parts = slope.parameters.split(counts, 1) if counts else ()
            results = list(slope.states)
            for name, part, value in zip(work.columns, parts, inputs[len(STATES) :], strict=True):
                each = part if tuple(value.shape) == work.engine.shape(name) else part.sum(0)
                results.append(each.reshape(value.shape))
            found = (result.to(value.dtype).to(value.device) for result, value in zip(results, inputs, strict=True))
            return None, None, None, slope.controls.to(controls.device), *found

    return Steps


def _controls(torch: Any, engine: Any, ctrl: Any) -> Any:
    """Controls as a tensor of the right shape."""
    ctrl, n, nu = _tensor(torch, ctrl), engine.nworld, int(engine.source.nu)
    if tuple(ctrl.shape[1:]) != (n, nu) or not len(ctrl):
        raise BuildError(f"ctrl of shape {tuple(ctrl.shape)}: expected (steps, {n}, {nu}), a step at least")
    return ctrl


def _parameters(torch: Any, engine: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as tensors of the right shapes."""
    found = {name: _tensor(torch, value) for name, value in given.items()}
    for name, value in found.items():
        if name in engine.parameters and tuple(value.shape) not in (engine.shape(name), engine.shape(name)[1:]):
            raise BuildError(f"{name} of shape {tuple(value.shape)}: expected {engine.shape(name)[1:]}")
    return found


def _start(torch: Any, engine: Any, given: Mapping[str, Any]) -> list[Any]:
    """The state to start from as tensors of the right shapes; what is not given is as it is."""
    found = []
    for name in STATES:
        value = _tensor(torch, np.array(engine.read(name)) if given[name] is None else given[name])
        if tuple(value.shape) != engine.shape(name):
            raise BuildError(f"{name} of shape {tuple(value.shape)}: expected {engine.shape(name)}")
        found.append(value)
    return found


def _tensor(torch: Any, value: Any) -> Any:
    """A tensor as it is; anything else as one of single numbers."""
    return value if isinstance(value, torch.Tensor) else torch.as_tensor(np.asarray(value, np.float32))
