"""Efforts that follow from where a step ends.

A stiff drive that looks only at the beginning of a step overshoots. Here the impulses p of an actuator in one
articulation solve

    r(p) = p - h g(q + h v, v) = 0,    v = qd + A p

g is the drive after its clamps and A what efforts do to velocities (`response.py`). Gravity, contacts and other forces
are left out of v. Row i depends on p through v_i alone, so with the slope s_i = dg_i/dv_i + h dg_i/dq_i, by a forward
difference, the Jacobian is

    dr_i/dp_j = δ_ij - h s_i A_ij

and Newton's method takes a few steps with it. Doubles, since slopes of stiff laws are differences of large numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any, no_type_check

import numpy as np
import warp as wp

from ..errors import BuildError, WrongKind
from ..model.enums import JointType
from .drives import DriveBase
from .response import JointSpaceResponse


@dataclass
class ImplicitOptions:
    """How impulses are solved for."""

    class WarmStart(str, Enum):
        """Where the first guess comes from."""

        EXPLICIT = "explicit"
        ZERO = "zero"

    max_iters: int = 4
    """Most steps of Newton's method."""
    residual_tol: float = 1.0e-5
    """Residual [N s or N m s] to stop at."""
    update_tol: float = 1.0e-5
    """Change [N s or N m s] to stop at."""
    fd_epsilon: float = 1.0e-4
    """Step of the forward difference, relative to 1 + |v|."""
    derivative_floor: float = 1.0e-8
    """Least size of a pivot."""
    warm_start: WarmStart = WarmStart.EXPLICIT
    """Where the first guess comes from: efforts at the beginning of the step, or zero."""

    def check(self) -> None:
        """Raise where an option makes no sense."""
        try:
            self.warm_start = ImplicitOptions.WarmStart(self.warm_start)
        except ValueError:
            words = ", ".join(repr(word.value) for word in ImplicitOptions.WarmStart)
            raise BuildError(f"warm_start={self.warm_start!r} must be one of {words}") from None
        if self.fd_epsilon <= 0.0:
            raise BuildError(f"fd_epsilon={self.fd_epsilon!r} must be greater than 0")


@wp.struct
class Rows:
    """Where the numbers of the dofs of an actuator lie, and what they are now."""

    q: wp.array(dtype=float)
    qd: wp.array(dtype=float)
    target_q: wp.array(dtype=float)
    target_qd: wp.array(dtype=float)
    feedforward: wp.array(dtype=float)
    at_q: wp.array(dtype=wp.uint32)
    at_qd: wp.array(dtype=wp.uint32)
    at_target_q: wp.array(dtype=wp.uint32)
    at_target_qd: wp.array(dtype=wp.uint32)
    params: wp.array2d(dtype=float)
    clamps: wp.array2d(dtype=float)


@wp.struct
class Groups:
    """Dofs of an actuator by articulation."""

    size: wp.array(dtype=int)
    articulation: wp.array(dtype=int)
    dof: wp.array2d(dtype=int)  # which of the actuator's
    place: wp.array2d(dtype=int)  # which of the articulation's
    A: wp.array3d(dtype=float)


@wp.struct
class Scratch:
    """Impulses, residuals, slopes and Jacobian of each group."""

    p: wp.array2d(dtype=wp.float64)
    r: wp.array2d(dtype=wp.float64)
    s: wp.array2d(dtype=wp.float64)
    J: wp.array3d(dtype=wp.float64)


@no_type_check
@wp.func
def no_clamp(
    value: wp.float64, q: wp.float64, qd: wp.float64, params: wp.array2d(dtype=float), i: int
) -> wp.float64:
    return value


def _then(inner: Any, clamp: Any, base: int) -> Any:
    """One more clamp after others."""

    @no_type_check
    @wp.func
    def chained(
        value: wp.float64, q: wp.float64, qd: wp.float64, params: wp.array2d(dtype=float), i: int
    ) -> wp.float64:
        return clamp(inner(value, q, qd, params, i), q, qd, params, i, wp.static(base))

    return chained


@no_type_check
@wp.func
def speed_after(rows: Rows, groups: Groups, scratch: Scratch, g: int, i: int) -> wp.float64:
    """v_i = qd_i + (A p)_i"""
    v = wp.float64(rows.qd[rows.at_qd[groups.dof[g, i]]])
    for j in range(groups.size[g]):
        a = groups.A[groups.articulation[g], groups.place[g, i], groups.place[g, j]]
        v += wp.float64(a) * scratch.p[g, j]
    return v


@no_type_check
@wp.func
def newton_step(groups: Groups, scratch: Scratch, g: int, h: wp.float64, least: wp.float64) -> wp.float64:
    """Solve J dp = -r by elimination, add dp to p, and give |dp|²."""
    n = groups.size[g]
    for i in range(n):
        scratch.r[g, i] = -scratch.r[g, i]
        for j in range(n):
            a = wp.float64(groups.A[groups.articulation[g], groups.place[g, i], groups.place[g, j]])
            scratch.J[g, i, j] = wp.where(i == j, wp.float64(1.0), wp.float64(0.0)) - h * scratch.s[g, i] * a
    for k in range(n):
        if wp.abs(scratch.J[g, k, k]) < least:
            scratch.J[g, k, k] = wp.where(scratch.J[g, k, k] < wp.float64(0.0), -least, least)
        for i in range(k + 1, n):
            factor = scratch.J[g, i, k] / scratch.J[g, k, k]
            for j in range(k, n):
                scratch.J[g, i, j] -= factor * scratch.J[g, k, j]
            scratch.r[g, i] -= factor * scratch.r[g, k]
    moved = wp.float64(0.0)
    for back in range(n):
        i = n - 1 - back
        change = scratch.r[g, i]
        for j in range(i + 1, n):
            change -= scratch.J[g, i, j] * scratch.r[g, j]
        change = change / scratch.J[g, i, i]
        scratch.r[g, i] = change
        scratch.p[g, i] += change
        moved += change * change
    return moved


@cache
def solver_of(law: Any, clamps: tuple[tuple[Any, int], ...]) -> Any:
    """The kernel that solves for the efforts of a law and its clamps, one thread an articulation."""
    chain = no_clamp
    for clamp, base in clamps:
        chain = _then(chain, clamp, base)

    @no_type_check
    @wp.func
    def raw_force(rows: Rows, i: int, q: wp.float64, v: wp.float64) -> wp.float64:
        ahead = wp.float64(0.0)
        if rows.feedforward:
            ahead = wp.float64(rows.feedforward[rows.at_target_qd[i]])
        target_q = wp.float64(rows.target_q[rows.at_target_q[i]])
        return law(q, v, target_q, wp.float64(rows.target_qd[rows.at_target_qd[i]]), ahead, rows.params, i)

    @no_type_check
    @wp.func
    def force(rows: Rows, i: int, q: wp.float64, v: wp.float64) -> wp.float64:
        return chain(raw_force(rows, i, q, v), q, v, rows.clamps, i)

    @no_type_check
    @wp.kernel(enable_backward=False, module="unique")
    def solve(
        rows: Rows, groups: Groups, scratch: Scratch, h32: float, max_iters: int, tolerance: wp.vec2, epsilon: float,
        least: float, from_zero: int, computed: wp.array(dtype=float), applied: wp.array(dtype=float),
    ):  # fmt: skip
        g = wp.tid()
        n = groups.size[g]
        h = wp.float64(h32)
        for i in range(n):
            dof = groups.dof[g, i]
            scratch.p[g, i] = wp.float64(0.0)
            if from_zero == 0:
                q = wp.float64(rows.q[rows.at_q[dof]])
                scratch.p[g, i] = h * force(rows, dof, q, wp.float64(rows.qd[rows.at_qd[dof]]))
        for _ in range(max_iters):
            off = wp.float64(0.0)
            for i in range(n):
                dof = groups.dof[g, i]
                v = speed_after(rows, groups, scratch, g, i)
                q = wp.float64(rows.q[rows.at_q[dof]]) + h * v
                f = force(rows, dof, q, v)
                dv = wp.float64(epsilon) * (wp.float64(1.0) + wp.abs(v))
                scratch.s[g, i] = (force(rows, dof, q + h * dv, v + dv) - f) / dv
                scratch.r[g, i] = scratch.p[g, i] - h * f
                off += scratch.r[g, i] * scratch.r[g, i]
            if off < wp.float64(tolerance[0]) * wp.float64(tolerance[0]):
                break
            moved = newton_step(groups, scratch, g, h, wp.float64(least))
            if moved < wp.float64(tolerance[1]) * wp.float64(tolerance[1]):
                break
        for i in range(n):
            dof = groups.dof[g, i]
            v = speed_after(rows, groups, scratch, g, i)
            q = wp.float64(rows.q[rows.at_q[dof]]) + h * v
            computed[dof] = wp.float32(raw_force(rows, dof, q, v))
            applied[dof] = wp.float32(chain(scratch.p[g, i] / h, q, v, rows.clamps, dof))

    return solve


@no_type_check
@wp.kernel(enable_backward=False)
def own_response(
    A: wp.array3d(dtype=float), articulation: wp.array(dtype=int), place: wp.array(dtype=int),
    own: wp.array(dtype=float),
):  # fmt: skip
    i = wp.tid()
    own[i] = A[articulation[i], place[i], place[i]]


class ImplicitSolve:
    """Efforts of one actuator that follow from where steps end."""

    def __init__(
        self, drive: Any, clamping: Sequence[Any], response: JointSpaceResponse, options: ImplicitOptions | None,
        indices: wp.array,
    ):  # fmt: skip
        self.options = options or ImplicitOptions()
        self.options.check()
        if not hasattr(response, "inverse_blocks"):
            raise WrongKind("implicit efforts need a JointSpaceResponse(model), which is refreshed before every step")
        self.drive, self.response, self.device = drive, response, indices.device
        dofs = indices.numpy().astype(np.int64)
        _check_dofs(response, dofs)
        params, clamps = _bound_params(drive), _bound_clamps(clamping, len(dofs), indices.device)
        entries, columns = clamps
        self._kernel = solver_of(drive.evaluate_force, entries)
        self._rows = Rows()
        self._rows.params, self._rows.clamps = params, columns
        self._group(dofs)
        self._prepares = type(drive).prepare_implicit is not DriveBase.prepare_implicit
        self._own: wp.array = wp.zeros(len(dofs), dtype=wp.float32, device=self.device)

    def _group(self, dofs: np.ndarray) -> None:
        owner, place = self.response.dof_articulation[dofs], self.response.dof_place[dofs]
        known, sizes = np.unique(owner, return_counts=True)
        most = int(sizes.max(initial=1))
        which, where = (np.zeros((len(known), most), np.int32) for _ in range(2))
        for g, a in enumerate(known):
            mine = np.flatnonzero(owner == a)
            which[g, : len(mine)], where[g, : len(mine)] = mine, place[mine]

        def ints(values: np.ndarray) -> wp.array:
            return wp.array(np.asarray(values, np.int32), dtype=wp.int32, device=self.device)

        self._groups, self._scratch = Groups(), Scratch()
        self._groups.size, self._groups.articulation = ints(sizes), ints(known)
        self._groups.dof, self._groups.place = ints(which), ints(where)
        self._groups.A = self.response.inverse_blocks
        for name in ("p", "r", "s"):
            setattr(self._scratch, name, wp.zeros(which.shape, dtype=wp.float64, device=self.device))
        self._scratch.J = wp.zeros((*which.shape, most), dtype=wp.float64, device=self.device)
        self._owner, self._place, self._count = ints(owner), ints(place), len(known)

    def solve(
        self, q: Any, qd: Any, commands: Sequence[Any], at: Sequence[Any], at_targets: Sequence[Any], kept: Any,
        dt: float | None, more: dict[str, Any], computed: wp.array, applied: wp.array,
    ) -> None:  # fmt: skip
        """Write efforts before clamps and after them."""
        if dt is None or dt <= 0.0:
            raise BuildError(f"Actuator.step(): dt={dt!r}: implicit efforts need a time step")
        if self._prepares:
            inputs = [self.response.inverse_blocks, self._owner, self._place]
            wp.launch(own_response, len(self._own), inputs=inputs, outputs=[self._own], device=self.device)
            self.drive.prepare_implicit(
                q, qd, *commands[:2], *at, *at_targets, kept, float(dt), inv_mass=self._own, device=self.device, **more
            )
        rows = self._rows
        rows.q, rows.qd = q, qd
        rows.target_q, rows.target_qd = commands[0], commands[1]
        rows.feedforward = wp.array(dtype=float, device=self.device) if commands[2] is None else commands[2]
        rows.at_q, rows.at_qd = at[0], at[1]
        rows.at_target_q, rows.at_target_qd = at_targets[0], at_targets[1]
        o = self.options
        inputs = [
            rows, self._groups, self._scratch, float(dt), int(o.max_iters), wp.vec2(o.residual_tol, o.update_tol),
            float(o.fd_epsilon), float(o.derivative_floor), int(o.warm_start is ImplicitOptions.WarmStart.ZERO),
        ]  # fmt: skip
        wp.launch(self._kernel, self._count, inputs=inputs, outputs=[computed, applied], device=self.device)


def _check_dofs(response: JointSpaceResponse, dofs: np.ndarray) -> None:
    """Dofs are in articulations, and have a coordinate each."""
    model = response.model
    outside = dofs[response.dof_articulation[dofs] < 0]
    if len(outside):
        raise BuildError(f"implicit efforts: dof {outside[0]} is in no articulation")
    ends = [np.append(model_starts.numpy()[: model.joint_count], count) for model_starts, count in (
        (model.joint_qd_start, model.joint_dof_count), (model.joint_q_start, model.joint_coord_count))]  # fmt: skip
    uneven = np.diff(ends[0]) != np.diff(ends[1])
    joint_of = np.repeat(np.arange(model.joint_count), np.diff(ends[0]))
    wrong = dofs[uneven[joint_of[dofs]]]
    if len(wrong):
        joint = int(joint_of[wrong[0]])
        kind = JointType(int(model.joint_type.numpy()[joint])).name
        raise BuildError(
            f"implicit efforts: dof {wrong[0]} is of joint {model.joint_label[joint]!r}, a {kind} joint, whose dofs "
            "have no coordinates of their own"
        )


def _bound_params(drive: Any) -> wp.array:
    if drive.custom_inputs and type(drive).prepare_implicit is DriveBase.prepare_implicit:
        raise NotImplementedError(
            f"{type(drive).__name__} reads {', '.join(drive.custom_inputs)}, which only prepare_implicit could hear"
        )
    params = drive.bind_params() if drive.evaluate_force is not None else None
    if params is None:
        raise NotImplementedError(f"{type(drive).__name__} cannot be solved for: it has no evaluate_force, bind_params")
    return params


def _bound_clamps(clamping: Sequence[Any], count: int, device: Any) -> tuple[tuple[tuple[Any, int], ...], wp.array]:
    """Functions of clamps with their first columns, and the columns."""
    for clamp in clamping:
        if clamp.evaluate_clamp is None:
            raise NotImplementedError(f"{type(clamp).__name__} cannot be solved for: it has no evaluate_clamp")
        owner = getattr(clamp, "_bound_owner", None)
        if owner is not None and owner is not clamping:
            raise BuildError(f"this {type(clamp).__name__} belongs to another actuator: give each its own")
    widths = [clamp.param_width() for clamp in clamping]
    columns: wp.array = wp.zeros((count, max(sum(widths), 1)), dtype=wp.float32, device=device)
    starts = np.cumsum([0, *widths]).tolist()
    for clamp, start, width in zip(clamping, starts, widths, strict=False):
        clamp.bind_params(columns[:, start : start + width])
        clamp._bound_owner = clamping
    return tuple((clamp.evaluate_clamp, start) for clamp, start in zip(clamping, starts, strict=False)), columns
