"""What efforts do to velocities: the inverse of the mass matrix of every articulation.

    H = J^T M J + diag(armature) = L L^T        A = H^-1, a column at a time

Damping, limits, contacts and loops are not in it: a joint gives way more in A than it does in a step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, no_type_check

import numpy as np
import warp as wp

from ..errors import BuildError
from ..model.articulation import eval_fk
from ..model.jacobian import eval_jacobian, eval_mass_matrix
from ..model.model import Model

ROUNDING = wp.constant(wp.float32(np.finfo(np.float32).eps))


@no_type_check
@wp.kernel(enable_backward=False)
def add_armature(
    armature: wp.array(dtype=float), first: wp.array(dtype=int), count: wp.array(dtype=int),
    H: wp.array3d(dtype=float),
):  # fmt: skip
    a, i = wp.tid()
    if i < count[a]:
        H[a, i, i] = H[a, i, i] + armature[first[a] + i]


@no_type_check
@wp.kernel(enable_backward=False)
def invert(
    H: wp.array3d(dtype=float), count: wp.array(dtype=int), L: wp.array3d(dtype=float), A: wp.array3d(dtype=float)
):
    """A = H^-1 of one articulation; pivots are kept above rounding."""
    a = wp.tid()
    n = count[a]
    for j in range(n):
        pivot = H[a, j, j]
        for k in range(j):
            pivot -= L[a, j, k] * L[a, j, k]
        pivot = wp.sqrt(wp.max(pivot, ROUNDING * wp.max(wp.abs(H[a, j, j]), 1.0)))
        L[a, j, j] = pivot
        for i in range(j + 1, n):
            value = H[a, i, j]
            for k in range(j):
                value -= L[a, i, k] * L[a, j, k]
            L[a, i, j] = value / pivot
    for c in range(n):
        for i in range(n):  # L y = e_c
            value = wp.where(i == c, 1.0, 0.0)
            for k in range(i):
                value -= L[a, i, k] * A[a, k, c]
            A[a, i, c] = value / L[a, i, i]
        for back in range(n):  # L^T x = y
            i = n - 1 - back
            value = A[a, i, c]
            for k in range(i + 1, n):
                value -= L[a, k, i] * A[a, k, c]
            A[a, i, c] = value / L[a, i, i]


@no_type_check
@wp.kernel(enable_backward=False)
def unit_column(column: int, rhs: wp.array2d(dtype=float)):
    w, i = wp.tid()
    rhs[w, i] = wp.where(i == column, 1.0, 0.0)


@no_type_check
@wp.kernel(enable_backward=False)
def take_column(
    solution: wp.array2d(dtype=float), column: int, dofs: wp.array2d(dtype=int), stride: int,
    articulation: wp.array(dtype=int), place: wp.array(dtype=int), A: wp.array3d(dtype=float),
):  # fmt: skip
    w, i = wp.tid()
    row, col = w * stride + i, w * stride + column
    if dofs:
        row = dofs[w, i]
        col = dofs[w, column]
    count = articulation.shape[0]
    if row >= 0 and col >= 0 and row < count and col < count:
        a = articulation[row]
        if a >= 0 and articulation[col] == a:
            A[a, place[row], place[col]] = solution[w, i]


class JointSpaceResponse:
    """Inverse mass matrices of a model's articulations, in `inverse_blocks`; `refresh` computes them for a state."""

    def __init__(self, model: Model) -> None:
        if model.articulation_count == 0:
            raise BuildError("JointSpaceResponse: the model has no articulations")
        self.model = model
        dofs_of = np.append(model.joint_qd_start.numpy()[: model.joint_count], model.joint_dof_count)
        first = dofs_of[model.articulation_start.numpy()[:-1]]
        last = dofs_of[model.articulation_end.numpy()]
        self.dof_articulation = np.full(model.joint_dof_count, -1, np.int32)
        self.dof_place = np.zeros(model.joint_dof_count, np.int32)
        for a, (start, end) in enumerate(zip(first, last, strict=True)):
            self.dof_articulation[start:end] = a
            self.dof_place[start:end] = np.arange(end - start)
        self._first, self._count = self._ints(first), self._ints(last - first)
        self._articulation, self._place = self._ints(self.dof_articulation), self._ints(self.dof_place)
        n, links, dofs = model.articulation_count, model.max_joints_per_articulation, model.max_dofs_per_articulation
        self._H, self._L, self.inverse_blocks = (self._zeros((n, dofs, dofs)) for _ in range(3))
        self._J = self._zeros((n, 6 * links, dofs))
        self._inertia = self._zeros(model.body_count, wp.spatial_matrix)
        self._axes = self._zeros(model.joint_dof_count, wp.spatial_vector)
        self._state = model.state()
        self._stride = self._dofs_per_world()
        self._rhs = self._zeros((model.world_count, self._stride or model.joint_dof_count))
        self._solution = wp.zeros_like(self._rhs)

    def _ints(self, values: np.ndarray) -> wp.array:
        return wp.array(np.asarray(values, np.int32), dtype=wp.int32, device=self.model.device)

    def _zeros(self, shape: Any, dtype: Any = wp.float32) -> wp.array:
        return wp.zeros(shape, dtype=dtype, device=self.model.device)

    def _dofs_per_world(self) -> int | None:
        """Dofs that every world has; None where they differ, or some are of no world."""
        model = self.model
        if model.world_count == 1:
            return model.joint_dof_count
        starts = model.kind_starts("joint_dof")
        sizes = np.diff(starts[:-1])
        even = len(set(sizes.tolist())) == 1 and sizes.sum() == model.joint_dof_count
        return int(sizes[0]) if even else None

    def refresh(self, state: Any) -> None:
        """Compute `inverse_blocks` at the coordinates of a state, which is only read."""
        model, mine = self.model, self._state
        mine.joint_q, mine.joint_qd = state.joint_q, state.joint_qd
        eval_fk(model, state.joint_q, state.joint_qd, mine)
        eval_jacobian(model, mine, J=self._J, joint_S_s=self._axes)
        eval_mass_matrix(model, mine, H=self._H, J=self._J, body_I_s=self._inertia)
        shape = (model.articulation_count, self._H.shape[1])
        wp.launch(add_armature, shape, inputs=[model.joint_armature, self._first, self._count], outputs=[self._H],
                  device=model.device)  # fmt: skip
        self.inverse_blocks.zero_()
        outputs = [self._L, self.inverse_blocks]
        wp.launch(invert, shape[0], inputs=[self._H, self._count], outputs=outputs, device=model.device)

    def refresh_from_solve(self, solve_inverse: Callable[[Any, Any], None], dof_map: wp.array | None = None) -> None:
        """Compute `inverse_blocks` with a solver's own mass matrix.

        Args:
            solve_inverse: Writes M^-1 y into x; both arrays (worlds, dofs), in the solver's order.
            dof_map: The model's dof of each of the solver's, shape (worlds, dofs), -1 for none; in order if None.
        """
        if dof_map is None and self._stride is None:
            raise BuildError("refresh_from_solve(): worlds differ in dofs, so dof_map= must say which is which")
        shape = (self.model.world_count, int(self._stride or 0)) if dof_map is None else tuple(dof_map.shape)
        if self._rhs.shape != shape:
            self._rhs, self._solution = self._zeros(shape), self._zeros(shape)
        device = self.model.device
        self.inverse_blocks.zero_()
        for column in range(shape[1]):
            wp.launch(unit_column, shape, inputs=[column], outputs=[self._rhs], device=device)
            solve_inverse(self._solution, self._rhs)
            inputs = [self._solution, column, dof_map, self._stride or 0, self._articulation, self._place]
            wp.launch(take_column, shape, inputs=inputs, outputs=[self.inverse_blocks], device=device)
