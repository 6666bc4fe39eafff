"""Actuator: commands that come late, a law of effort, bounds of effort, and what they give as forces on joints.

    delay → drive → clamps → control.joint_f += effort

An actuator takes some dofs of a model, in all its worlds. It stands beside the solver, so what it does is done by
calling it, before a step:

    control.joint_f.zero_()
    for actuator, (now, then) in zip(model.actuators, states):
        actuator.step(state, control, now, then, dt)
    solver.step(state, state, control, None, dt)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, make_dataclass
from functools import cache
from typing import Any, no_type_check

import numpy as np
import warp as wp

from ..errors import BuildError, WrongKind, WrongMoment
from .delay import Delay
from .implicit import ImplicitOptions, ImplicitSolve
from .response import JointSpaceResponse


@no_type_check
@wp.kernel
def add_forces(
    applied: wp.array(dtype=float), computed: wp.array(dtype=float), at: wp.array(dtype=wp.uint32),
    forces: wp.array(dtype=float), raw: wp.array(dtype=float),
):  # fmt: skip
    i = wp.tid()
    forces[at[i]] = forces[at[i]] + applied[i]
    if raw:
        raw[at[i]] = raw[at[i]] + computed[i]


def _read(source: Any, name: str, *, needed: bool = True) -> Any:
    """An array of an object or a mapping."""
    value = source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
    if value is None and needed:
        there = name in source if isinstance(source, Mapping) else hasattr(source, name)
        what = f"{name!r} is None: give it an array" if there else f"{type(source).__name__} has no {name!r}"
        raise (BuildError if there else AttributeError)(f"Actuator.step(): {what}")
    return value


def _assign(mine: Any, other: Any, name: str) -> None:
    """Copy what a part keeps from one state to another: arrays of Warp's, or tensors."""
    if mine is None and other is None:
        return
    if type(mine) is not type(other):
        raise BuildError(f"assign(): {name} is {type(mine).__name__} here and {type(other).__name__} there")
    if hasattr(mine, "assign") and not isinstance(mine, wp.array):
        mine.assign(other)
        return
    for field in fields(mine):
        to, of = getattr(mine, field.name), getattr(other, field.name)
        if to is None and of is None:
            continue
        if type(to) is not type(of) or to.shape != of.shape:
            raise BuildError(f"assign(): {name}.{field.name} differs in kind or shape")
        wp.copy(to, of) if isinstance(to, wp.array) else to.copy_(of)


@cache
def _container(name: str, names: tuple[str, ...]) -> type:
    return make_dataclass(name, [(each, Any, None) for each in names], slots=True)


class Actuator:
    """Efforts of some dofs.

    Args:
        indices: Dofs, as rows of velocities, shape (N,), uint32.
        drive: The law of effort.
        delay: How late commands come; not at all if None.
        clamping: Bounds of effort, applied in order.
        pos_indices: Rows of positions; `indices` if None.
        target_pos_indices: Rows of target positions; `pos_indices` if None.
        effort_indices: Rows of forces; `indices` if None.
        state_pos_attr: Name of the positions in a state.
        state_vel_attr: Name of the velocities in a state.
        control_target_pos_attr: Name of the target positions in a control.
        control_target_vel_attr: Name of the target velocities in a control.
        control_feedforward_attr: Name of the feed-forward in a control; None: there is none.
        control_output_attr: Name of the forces that efforts are added to.
        control_computed_output_attr: Name of an array that efforts before clamps are added to, if any.
        requires_grad: Whether gradients flow through efforts.
    """

    ImplicitOptions = ImplicitOptions

    @dataclass
    class State:
        """What an actuator keeps from step to step."""

        delay_state: Any = None
        drive_state: Any = None

        def reset(self, mask: wp.array | None = None) -> None:
            """Begin anew, where `mask` (one truth value a dof) says so, or everywhere."""
            for part in (self.delay_state, self.drive_state):
                if part is not None:
                    part.reset(mask)

        def assign(self, other: Actuator.State) -> None:
            """Copy everything from another state of the same actuator."""
            _assign(self.delay_state, other.delay_state, "delay_state")
            _assign(self.drive_state, other.drive_state, "drive_state")

    def __init__(
        self, indices: wp.array, drive: Any = None, delay: Delay | None = None, clamping: list[Any] | None = None,
        pos_indices: wp.array | None = None, target_pos_indices: wp.array | None = None,
        effort_indices: wp.array | None = None, state_pos_attr: str = "joint_q", state_vel_attr: str = "joint_qd",
        control_target_pos_attr: str | None = "joint_target_q", control_target_vel_attr: str | None = "joint_target_qd",
        control_feedforward_attr: str | None = "joint_act", control_output_attr: str = "joint_f",
        control_computed_output_attr: str | None = None, requires_grad: bool = False,
    ):  # fmt: skip
        if drive is None:
            raise WrongKind("Actuator() needs a drive: DrivePD(kp, kd), for one")
        self.indices = indices
        self.pos_indices = indices if pos_indices is None else pos_indices
        self.target_pos_indices = self.pos_indices if target_pos_indices is None else target_pos_indices
        self.effort_indices = indices if effort_indices is None else effort_indices
        for name in ("pos_indices", "target_pos_indices", "effort_indices"):
            if getattr(self, name).shape != indices.shape:
                raise BuildError(f"Actuator(): {name} has shape {getattr(self, name).shape}, indices {indices.shape}")
        self.drive, self.delay, self.clamping = drive, delay, list(clamping or [])
        self.num_actuators, self.device, self.requires_grad = len(indices), indices.device, requires_grad
        self.state_pos_attr, self.state_vel_attr = state_pos_attr, state_vel_attr
        self.control_target_pos_attr = control_target_pos_attr or "joint_target_q"
        self.control_target_vel_attr = control_target_vel_attr or "joint_target_qd"
        self.control_feedforward_attr, self.control_output_attr = control_feedforward_attr, control_output_attr
        self.control_computed_output_attr = control_computed_output_attr
        n = self.num_actuators
        self._in_order: wp.array = wp.array(np.arange(n, dtype=np.uint32), dtype=wp.uint32, device=self.device)
        self._computed, self._applied = (
            wp.zeros(n, dtype=wp.float32, device=self.device, requires_grad=requires_grad) for _ in range(2)
        )
        drive.finalize(self.device, n)
        if delay is not None:
            delay.finalize(self.device, n, requires_grad=requires_grad)
        for clamp in self.clamping:
            clamp.finalize(self.device, n)
        self._implicit: ImplicitSolve | None = None

    # ---- what it reads and keeps

    @property
    def _inputs(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names that are read of a state, and of a control."""
        of_control = (
            self.control_target_pos_attr, self.control_target_vel_attr, self.control_feedforward_attr,
            self.control_output_attr, self.control_computed_output_attr, *self.drive.custom_inputs,
        )  # fmt: skip
        of_state = (self.state_pos_attr, self.state_vel_attr)
        return tuple(dict.fromkeys(of_state)), tuple(dict.fromkeys(name for name in of_control if name is not None))

    def sim_state(self) -> Any:
        """An empty object with the names that are read of a state."""
        return _container("sim_state", self._inputs[0])()

    def sim_control(self) -> Any:
        """An empty object with the names that are read of a control, or written."""
        return _container("sim_control", self._inputs[1])()

    def register_custom_attributes(self, builder: Any) -> None:
        """Let controls hold what the drive reads besides targets; a builder calls it where it is finalized."""
        for name in self.drive.custom_inputs:
            builder.add_custom_attribute(builder.CustomAttribute(
                name=name, dtype=wp.float32, frequency=2, assignment=2, default=0.0,  # of dofs, in controls
            ))  # fmt: skip

    def is_stateful(self) -> bool:
        """Whether something is kept from step to step."""
        return self.delay is not None or self.drive.is_stateful()

    def is_graphable(self) -> bool:
        """Whether a CUDA graph can hold `step`."""
        return self.drive.is_graphable()

    def state(self) -> Actuator.State | None:
        """A new state; None where nothing is kept."""
        if not self.is_stateful():
            return None
        n = self.num_actuators
        return Actuator.State(
            delay_state=None if self.delay is None else self.delay.state(n, self.device),
            drive_state=self.drive.state(n, self.device) if self.drive.is_stateful() else None,
        )

    # ---- efforts

    def set_effort_mode_implicit(self, response: JointSpaceResponse, options: Any = None) -> None:
        """Efforts as they follow from where the step ends, not where it begins; see `implicit.py`.

        Args:
            response: What efforts do to velocities; `refresh` it before every step.
            options: Iterations and tolerances.
        """
        if self.requires_grad:
            raise NotImplementedError("efforts that are solved for have no gradient: build with requires_grad=False")
        self._implicit = ImplicitSolve(self.drive, self.clamping, response, options, self.indices)

    def set_effort_mode_explicit(self) -> None:
        """Efforts as they follow from where the step begins."""
        self._implicit = None

    def step(
        self, sim_state: Any, sim_control: Any, current_act_state: Actuator.State | None = None,
        next_act_state: Actuator.State | None = None, dt: float | None = None,
    ) -> None:  # fmt: skip
        """Add efforts to the forces of a control, which the caller has set to zero.

        Args:
            sim_state: Positions and velocities: a State, or anything with the names of `sim_state`.
            sim_control: Targets and forces: a Control, or anything with the names of `sim_control`.
            current_act_state: What is kept, as the step begins; None where nothing is.
            next_act_state: What is kept, as it ends: another object.
            dt: Time step [s].
        """
        if self.is_stateful() and (current_act_state is None or next_act_state is None):
            raise WrongMoment("Actuator.step(): it keeps something: give two states, of actuator.state()")
        now, then = current_act_state or Actuator.State(), next_act_state or Actuator.State()
        q, qd = _read(sim_state, self.state_pos_attr), _read(sim_state, self.state_vel_attr)
        commands = [
            _read(sim_control, self.control_target_pos_attr), _read(sim_control, self.control_target_vel_attr),
            None if self.control_feedforward_attr is None
            else _read(sim_control, self.control_feedforward_attr, needed=False),
        ]  # fmt: skip
        rows = (self.target_pos_indices, self.indices)
        late, late_rows = commands, rows
        if self.delay is not None:
            q_to, qd_to, ahead = commands
            late = list(self.delay.get_delayed_targets(q_to, qd_to, ahead, *rows, now.delay_state))
            late_rows = (self._in_order, self._in_order)
        applied = self._efforts(sim_control, q, qd, late, late_rows, now.drive_state, dt)
        raw = self.control_computed_output_attr
        raw_array = None if raw in (None, self.control_output_attr) else _read(sim_control, str(raw))
        wp.launch(
            add_forces, self.num_actuators, inputs=[applied, self._computed, self.effort_indices],
            outputs=[_read(sim_control, self.control_output_attr), raw_array], device=self.device,
        )  # fmt: skip
        if self.drive.is_stateful():
            self.drive.update_state(now.drive_state, then.drive_state)
        if self.delay is not None:
            q_to, qd_to, ahead = commands
            self.delay.update_state(q_to, qd_to, ahead, *rows, now.delay_state, then.delay_state)

    def _efforts(self, control: Any, q: Any, qd: Any, commands: list, rows: tuple, kept: Any, dt: float | None) -> Any:
        """Efforts after clamps; those before them are left in `_computed`."""
        more = {}
        if self.drive.custom_inputs:
            more["custom_inputs"] = {name: _read(control, name, needed=False) for name in self.drive.custom_inputs}
        at = (self.pos_indices, self.indices)
        if self._implicit is not None:
            self._implicit.solve(q, qd, commands, at, rows, kept, dt, more, self._computed, self._applied)
            return self._applied
        self.drive.compute(q, qd, *commands, *at, *rows, self._computed, kept, dt, device=self.device, **more)
        found = self._computed
        for clamp in self.clamping:
            clamp.modify_forces(found, self._applied, q, qd, *at, device=self.device)
            found = self._applied
        return found
