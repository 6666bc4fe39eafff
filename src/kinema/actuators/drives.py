"""Drives: laws that give the effort of an actuator from where its dof is and where it should be.

    PD      f = f_c + f_ff + kp (q* - q) + kd (v* - v)
    PID     f = f_c + f_ff + kp (q* - q) + ki I + kd (v* - v)       I' = clamp(I + (q* - q) dt, ±I_max)

f_ff is the feed-forward of the control, f_c a constant of the drive. A drive of your own derives from `DriveBase` and
has `compute`; with `evaluate_force` and `bind_params` it can be solved for at the end of a step too (`implicit.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, no_type_check

import warp as wp

from ..errors import BuildError
from .parameters import Number, Part, bind_columns, same_shape


class DriveBase(Part):
    """A law of effort. `compute` must be given; what is kept from step to step is a `State`."""

    @dataclass
    class State:
        """What a drive keeps from step to step."""

        def reset(self, mask: wp.array | None = None) -> None:
            """Begin anew, where `mask` (one truth value a dof) says so, or everywhere."""

    custom_inputs: tuple[str, ...] = ()
    """Arrays of the control, by name, that the drive reads besides targets and feed-forward."""

    evaluate_force: ClassVar[Any] = None
    """The law as a `wp.func` of (q, qd, target_q, target_qd, feedforward, params, i) -> float64, or None."""

    def finalize(self, device: Any, num_actuators: int) -> None:
        """Allocate what the drive needs; called once, by the actuator."""

    def compute(
        self, positions: wp.array, velocities: wp.array, target_pos: wp.array, target_vel: wp.array,
        feedforward: wp.array | None, pos_indices: wp.array, vel_indices: wp.array, target_pos_indices: wp.array,
        target_vel_indices: wp.array, forces: wp.array, state: Any, dt: float | None, device: Any = None, *,
        custom_inputs: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Write the effort [N or N m] of each dof into `forces`."""
        raise NotImplementedError(f"{type(self).__name__} must implement compute")

    def bind_params(self) -> wp.array | None:
        """Parameters as rows for `evaluate_force`, the drive's own arrays made columns of them; None: it cannot."""
        return None

    def prepare_implicit(
        self, positions: wp.array, velocities: wp.array, target_pos: wp.array, target_vel: wp.array,
        pos_indices: wp.array, vel_indices: wp.array, target_pos_indices: wp.array, target_vel_indices: wp.array,
        drive_state: Any, dt: float, inv_mass: wp.array | None = None, device: Any = None, *,
        custom_inputs: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Bring the rows of `bind_params` up to date before a step is solved for."""

    def is_stateful(self) -> bool:
        """Whether something is kept from step to step."""
        raise NotImplementedError(f"{type(self).__name__} must implement is_stateful")

    def is_graphable(self) -> bool:
        """Whether a CUDA graph can hold `compute`."""
        raise NotImplementedError(f"{type(self).__name__} must implement is_graphable")

    def state(self, num_actuators: int, device: Any) -> Any:
        """A new state; None where nothing is kept."""
        return None

    def update_state(self, current_state: Any, next_state: Any) -> None:
        """Write what follows from the last `compute` into the next state."""


@no_type_check
@wp.func
def pd_force(
    q: wp.float64, qd: wp.float64, target_q: wp.float64, target_qd: wp.float64, feedforward: wp.float64,
    params: wp.array2d(dtype=float), i: int,
) -> wp.float64:  # fmt: skip
    """The law of PD and PID; rows are kp, kd and what does not change during a step."""
    constant = wp.float64(params[i, 2]) + feedforward
    return constant + wp.float64(params[i, 0]) * (target_q - q) + wp.float64(params[i, 1]) * (target_qd - qd)


@no_type_check
@wp.func
def entry(values: wp.array(dtype=float), i: int) -> float:
    """An entry of an array that need not be there."""
    found = float(0.0)
    if values:
        found = values[i]
    return found


@no_type_check
@wp.kernel
def pd_effort(
    q: wp.array(dtype=float), qd: wp.array(dtype=float), target_q: wp.array(dtype=float),
    target_qd: wp.array(dtype=float), feedforward: wp.array(dtype=float), at_q: wp.array(dtype=wp.uint32),
    at_qd: wp.array(dtype=wp.uint32), at_target_q: wp.array(dtype=wp.uint32), at_target_qd: wp.array(dtype=wp.uint32),
    kp: wp.array(dtype=float), kd: wp.array(dtype=float), constant: wp.array(dtype=float),
    effort: wp.array(dtype=float),
):  # fmt: skip
    i = wp.tid()
    lag = target_q[at_target_q[i]] - q[at_q[i]]
    lag_rate = target_qd[at_target_qd[i]] - qd[at_qd[i]]
    ahead = entry(feedforward, int(at_target_qd[i]))
    effort[i] = entry(constant, i) + ahead + kp[i] * lag + kd[i] * lag_rate


@no_type_check
@wp.func
def wound_up(integral: float, lag: float, dt: float, most: float) -> float:
    return wp.clamp(integral + lag * dt, -most, most)


@no_type_check
@wp.kernel
def pid_effort(
    q: wp.array(dtype=float), qd: wp.array(dtype=float), target_q: wp.array(dtype=float),
    target_qd: wp.array(dtype=float), feedforward: wp.array(dtype=float), at_q: wp.array(dtype=wp.uint32),
    at_qd: wp.array(dtype=wp.uint32), at_target_q: wp.array(dtype=wp.uint32), at_target_qd: wp.array(dtype=wp.uint32),
    kp: wp.array(dtype=float), ki: wp.array(dtype=float), kd: wp.array(dtype=float), most: wp.array(dtype=float),
    constant: wp.array(dtype=float), dt: float, integral: wp.array(dtype=float),
    effort: wp.array(dtype=float), next_integral: wp.array(dtype=float),
):  # fmt: skip
    i = wp.tid()
    lag = target_q[at_target_q[i]] - q[at_q[i]]
    lag_rate = target_qd[at_target_qd[i]] - qd[at_qd[i]]
    total = wound_up(integral[i], lag, dt, most[i])
    ahead = entry(feedforward, int(at_target_qd[i]))
    effort[i] = entry(constant, i) + ahead + kp[i] * lag + ki[i] * total + kd[i] * lag_rate
    next_integral[i] = total


@no_type_check
@wp.kernel(enable_backward=False)
def pid_constant(
    q: wp.array(dtype=float), target_q: wp.array(dtype=float), at_q: wp.array(dtype=wp.uint32),
    at_target_q: wp.array(dtype=wp.uint32), ki: wp.array(dtype=float), most: wp.array(dtype=float),
    constant: wp.array(dtype=float), integral: wp.array(dtype=float), dt: float,
    params: wp.array2d(dtype=float), next_integral: wp.array(dtype=float),
):  # fmt: skip
    i = wp.tid()
    total = wound_up(integral[i], target_q[at_target_q[i]] - q[at_q[i]], dt, most[i])
    params[i, 2] = entry(constant, i) + ki[i] * total
    next_integral[i] = total


@no_type_check
@wp.kernel(enable_backward=False)
def zero_where(mask: wp.array(dtype=wp.bool), values: wp.array(dtype=float)):
    i = wp.tid()
    if mask[i]:
        values[i] = 0.0


def check_mask(mask: wp.array, count: int, what: str) -> None:
    """A mask of dofs has a truth value for each."""
    if mask.dtype is not wp.bool or mask.shape != (count,):
        raise BuildError(f"{what}: the mask has shape {mask.shape} of {mask.dtype.__name__}, wanted ({count},) of bool")


class DrivePD(DriveBase):
    """Proportional and derivative: a spring and a damper to the target.

    Args:
        kp: Stiffness [N/m or N m/rad] of each dof.
        kd: Damping [N s/m or N m s/rad] of each dof.
        const_effort: Constant effort [N or N m] of each dof; none if None.
    """

    PARAMETERS = {"kp": Number(0.0, 0.0), "kd": Number(0.0, 0.0), "const_effort": Number(0.0)}
    evaluate_force = pd_force

    def __init__(self, kp: wp.array, kd: wp.array, const_effort: wp.array | None = None):
        same_shape(kp=kp, kd=kd, const_effort=const_effort)
        self.kp, self.kd, self.const_effort = kp, kd, const_effort
        self._params: wp.array | None = None

    def is_stateful(self) -> bool:
        """Nothing is kept."""
        return False

    def is_graphable(self) -> bool:
        """A graph can hold it."""
        return True

    def bind_params(self) -> wp.array:
        """Rows of kp, kd and constant; the same array every time."""
        if self._params is None:
            shape, grad = (len(self.kp), 3), self.kp.requires_grad
            self._params = wp.zeros(shape, dtype=float, device=self.kp.device, requires_grad=grad)
            bind_columns(self, ("kp", "kd", "const_effort"), self._params)
        return self._params

    def compute(
        self, positions, velocities, target_pos, target_vel, feedforward, pos_indices, vel_indices,
        target_pos_indices, target_vel_indices, forces, state, dt, device=None, *, custom_inputs=None,
    ) -> None:  # fmt: skip
        """Write the effort of each dof."""
        inputs = [
            positions, velocities, target_pos, target_vel, feedforward, pos_indices, vel_indices, target_pos_indices,
            target_vel_indices, self.kp, self.kd, self.const_effort,
        ]  # fmt: skip
        wp.launch(pd_effort, dim=len(forces), inputs=inputs, outputs=[forces], device=device)


class DrivePID(DriveBase):
    """Proportional, integral and derivative; the integral is held within bounds.

    Args:
        kp: Stiffness [N/m or N m/rad] of each dof.
        ki: Integral gain [N/(m s) or N m/(rad s)].
        kd: Damping [N s/m or N m s/rad].
        integral_max: Most that the integral may be [m s or rad s].
        const_effort: Constant effort [N or N m]; none if None.
    """

    PARAMETERS = {
        "kp": Number(0.0, 0.0), "ki": Number(0.0, 0.0), "kd": Number(0.0, 0.0),
        "integral_max": Number(math.inf, 0.0), "const_effort": Number(0.0),
    }  # fmt: skip
    evaluate_force = pd_force

    @dataclass
    class State(DriveBase.State):
        """The integral of the lag."""

        integral: Any = None
        """Integral [m s or rad s] of each dof."""

        def reset(self, mask: wp.array | None = None) -> None:
            """Begin the integral anew, where `mask` says so, or everywhere."""
            if mask is None:
                self.integral.zero_()
                return
            check_mask(mask, len(self.integral), "reset()")
            wp.launch(zero_where, len(mask), inputs=[mask], outputs=[self.integral], device=self.integral.device)

    def __init__(
        self, kp: wp.array, ki: wp.array, kd: wp.array, integral_max: wp.array, const_effort: wp.array | None = None
    ):
        same_shape(kp=kp, ki=ki, kd=kd, integral_max=integral_max, const_effort=const_effort)
        self.kp, self.ki, self.kd = kp, ki, kd
        self.integral_max, self.const_effort = integral_max, const_effort
        self._next: Any = None
        self._params: wp.array | None = None

    def finalize(self, device: Any, num_actuators: int) -> None:
        """Allocate the integral that a step ends with."""
        self._next = wp.zeros(num_actuators, dtype=wp.float32, device=device)

    def is_stateful(self) -> bool:
        """The integral is kept."""
        return True

    def is_graphable(self) -> bool:
        """A graph can hold it."""
        return True

    def state(self, num_actuators: int, device: Any) -> DrivePID.State:
        """An integral of zero."""
        return DrivePID.State(integral=wp.zeros(num_actuators, dtype=wp.float32, device=device))

    def bind_params(self) -> wp.array:
        """Rows of kp, kd and the constant of the step; the same array every time."""
        if self._params is None:
            shape, grad = (len(self.kp), 3), self.kp.requires_grad
            self._params = wp.zeros(shape, dtype=float, device=self.kp.device, requires_grad=grad)
            bind_columns(self, ("kp", "kd"), self._params)
        return self._params

    def prepare_implicit(
        self, positions, velocities, target_pos, target_vel, pos_indices, vel_indices, target_pos_indices,
        target_vel_indices, drive_state, dt, inv_mass=None, device=None, *, custom_inputs=None,
    ) -> None:  # fmt: skip
        """The integral goes on by the lag at the beginning of the step, and is constant while it is solved for."""
        inputs = [
            positions, target_pos, pos_indices, target_pos_indices, self.ki, self.integral_max, self.const_effort,
            drive_state.integral, float(dt),
        ]  # fmt: skip
        wp.launch(pid_constant, len(self.kp), inputs=inputs, outputs=[self._params, self._next], device=device)

    def compute(
        self, positions, velocities, target_pos, target_vel, feedforward, pos_indices, vel_indices,
        target_pos_indices, target_vel_indices, forces, state, dt, device=None, *, custom_inputs=None,
    ) -> None:  # fmt: skip
        """Write the effort of each dof."""
        if dt is None:
            raise BuildError("a PID drive integrates: give step() the time step, dt=")
        inputs = [
            positions, velocities, target_pos, target_vel, feedforward, pos_indices, vel_indices, target_pos_indices,
            target_vel_indices, self.kp, self.ki, self.kd, self.integral_max, self.const_effort, dt, state.integral,
        ]  # fmt: skip
        wp.launch(pid_effort, dim=len(forces), inputs=inputs, outputs=[forces, self._next], device=device)

    def update_state(self, current_state: DrivePID.State, next_state: DrivePID.State) -> None:
        """Write the integral that the step ended with."""
        wp.copy(next_state.integral, self._next)
