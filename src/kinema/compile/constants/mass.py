"""The joint-space inertia M(q) by the composite rigid body method, and solves with it.

    I_c(b) = Σ spatial inertias over the subtree of b, about the tree's centre of mass
    M_ij   = s_iᵀ I_c(b_i) s_j   for j above i;   M_ii += armature;   M += a_t J_tᵀ J_t for tendons with armature

As in MuJoCo the last term is kept only where one dof is above the other, where the first has its entries.
M is kept as dense blocks (see tree.py) with a half inverse H each, M⁻¹ = Hᵀ H, so that J M⁻¹ Jᵀ = |H Jᵀ|². Blocks of
many dofs are not: see articulated.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinema.compile.constants import quaternion as quat
from kinema.compile.constants.articulated import Articulated, joint_inertia
from kinema.compile.constants.kinematics import Pose
from kinema.compile.constants.tree import Block, Tree
from kinema.mujoco_enums import MINVAL, Transmission

Array = np.ndarray


LARGE = 200
"""Trees of more dofs are not factored densely."""


class Dense:
    """The factor of G equal trees: M (W, G, n, n) and its half inverse."""

    def __init__(self, block: Block, matrix: Array):
        self.block, self.matrix = block, matrix
        self.half = _half_inverse(matrix)
        self.diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)

    def solve(self, rows: Array) -> Array:
        """M⁻¹ applied to each row: (W, G, P, n) → the same."""
        if rows.shape[1] == 1:
            return (rows @ self.half.swapaxes(-1, -2)) @ self.half
        out = np.zeros(rows.shape)
        touched: Array = np.any(rows, axis=(0, 3))  # of thousands of trees a row moves one or two
        for g in np.flatnonzero(touched.any(axis=1)):
            mine, half = np.flatnonzero(touched[g]), self.half[:, g]
            out[:, g, mine] = (rows[:, g, mine] @ half.swapaxes(-1, -2)) @ half
        return out

    def weights(self, axes: Array, lever: Array) -> tuple[Array, Array]:
        """Diagonal of M⁻¹ (W, G, n), and of each body the mean answer to forces and torques (W, G, b, 2).

        Args:
            axes: Spatial axes of the dofs, (W, G, n, 6).
            lever: From the centre of mass of the tree to the body's own, (W, G, b, 3).
        """
        block, found = self.block, []
        # velocity of the body's centre: v + ω × lever, (W, G, b, n, 3)
        linear = axes[:, :, None, :, 3:] + quat.cross(axes[:, :, None, :, :3], lever[:, :, :, None, :])
        linear = linear * block.moves[:, :, None]
        angular = axes[:, :, None, :, :3] * block.moves[:, :, None]
        for jacobian in (linear, angular):
            rows = jacobian.swapaxes(-1, -2)  # (W, G, b, 3, n)
            flat = rows.reshape(*rows.shape[:2], -1, rows.shape[-1])
            moved = (flat @ self.half.swapaxes(-1, -2)).reshape(rows.shape)
            found.append(np.sum(moved**2, axis=(-1, -2)) / 3.0)
        return np.sum(self.half**2, axis=-2), np.stack(found, axis=-1)


@dataclass
class MassMatrix:
    """M, a factor for each kind of tree."""

    factors: list[Dense | Articulated]

    def solve(self, rows: Array) -> Array:
        """M⁻¹ applied to each row: rows (W, P, nv) → (W, P, nv)."""
        out = np.zeros(rows.shape)
        for factor in self.factors:
            dofs = factor.block.dofs
            out[..., dofs] = factor.solve(rows[..., dofs].swapaxes(1, 2)).swapaxes(1, 2)
        return out

    def dense(self, nv: int) -> Array:
        """M of each configuration: (W, nv, nv)."""
        out = np.zeros((self._worlds, nv, nv))
        for factor in self.factors:
            dofs = factor.block.dofs
            out[:, dofs[:, :, None], dofs[:, None, :]] = factor.matrix
        return out

    def diagonal(self, nv: int) -> Array:
        out = np.zeros((self._worlds, nv))
        for factor in self.factors:
            out[:, factor.block.dofs] = factor.diagonal
        return out

    @property
    def _worlds(self) -> int:
        return len(self.factors[0].diagonal) if self.factors else 1


def actuator_armature(m) -> tuple[Array, Array]:
    """Armature that actuators add to joints and tendons: gear² a, summed over the actuators of each."""
    joint, tendon = np.zeros(m.njnt), np.zeros(m.ntendon)
    if m.nactuator:
        kind, target = np.asarray(m.actuator_trntype), np.asarray(m.actuator_trnid)[:, 0]
        armature, gear = np.asarray(m.actuator_armature), np.asarray(m.actuator_gear)[np.asarray(m.actuator_outadr), 0]
        heavy = armature != 0
        amount = np.where(heavy, armature * np.where(heavy, gear, 0.0) ** 2, 0.0)
        on_joint = (kind == Transmission.JOINT) | (kind == Transmission.JOINTINPARENT)
        np.add.at(joint, target[on_joint], amount[on_joint])
        on_tendon = kind == Transmission.TENDON
        np.add.at(tendon, target[on_tendon], amount[on_tendon])
    return joint, tendon


def spatial_inertia(m, pose: Pose) -> Array:
    """6×6 inertia of each body about the centre of mass of its tree, for motion vectors (ω, v): (W, nbody, 6, 6)."""
    mass = np.asarray(m.body_mass)[..., None, None]
    orientation = quat.matrix(quat.multiply(pose.xquat, np.asarray(m.body_iquat)))
    local = (orientation * np.asarray(m.body_inertia)[..., None, :]) @ orientation.swapaxes(-1, -2)
    offset = quat.skew(pose.xipos - pose.subtree_com[:, np.asarray(m.body_rootid)])
    inertia = np.zeros((*pose.xpos.shape[:2], 6, 6))
    weighted = mass * offset
    inertia[..., :3, :3] = local - weighted @ offset
    inertia[..., :3, 3:] = weighted
    inertia[..., 3:, :3] = -weighted
    inertia[..., 3:, 3:] = mass * np.eye(3)
    return inertia


def mass_matrix(
    m, tree: Tree, pose: Pose, tendon_rows: Array, inertia: Array | None = None
) -> tuple[MassMatrix, Array]:
    """M at a pose, and the diagonal without tendon armature (dof_M0).

    Args:
        tendon_rows: Jacobian rows of tendons, (W, ntendon, nv).
        inertia: `spatial_inertia` at the pose, if known already.
    """
    by_joint, by_tendon = actuator_armature(m)
    armature = np.asarray(m.dof_armature) + by_joint[np.asarray(m.dof_jntid)]
    tendon_armature = np.asarray(m.tendon_armature) + by_tendon
    heavy = np.flatnonzero(tendon_armature)
    inertia = spatial_inertia(m, pose) if inertia is None else inertia
    composite = tree.sum_up(inertia)
    momentum = (composite[:, np.asarray(m.dof_bodyid)] @ pose.cdof[..., None])[..., 0]
    diagonal = armature + np.sum(momentum * pose.cdof, axis=-1)

    factors: list[Dense | Articulated] = []
    for block in tree.blocks:
        axes, force = pose.cdof[:, block.dofs], momentum[:, block.dofs]
        loaded = [t for t in heavy if tendon_rows[:, t][:, block.dofs].any()]
        if block.dofs.shape[1] > LARGE and not loaded:
            parts = inertia[:, block.bodies], armature[..., block.dofs], diagonal[:, block.dofs]
            factors.append(Articulated(block, force, axes, *parts))
            continue
        matrix = joint_inertia(block, force, axes, armature[..., block.dofs])
        for t in loaded:
            row = tendon_rows[:, t][:, block.dofs]
            matrix = matrix + tendon_armature[t] * row[..., :, None] * row[..., None, :] * (block.above | block.above.T)
        factors.append(Dense(block, matrix))
    return MassMatrix(factors), diagonal


def _half_inverse(matrix: Array) -> Array:
    """H with M⁻¹ = Hᵀ H for symmetric positive definite M; vanishing pivots are raised, as MuJoCo does."""
    try:
        lower = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return _half_inverse_raised(matrix)
    pivots = np.diagonal(lower, axis1=-2, axis2=-1) ** 2
    if pivots.size and (pivots.min(axis=-1) < 1e-12 * pivots.max(axis=-1)).any():  # singular up to rounding
        return _half_inverse_raised(matrix)
    return np.linalg.solve(lower, np.broadcast_to(np.eye(matrix.shape[-1]), matrix.shape))


def _half_inverse_raised(matrix: Array) -> Array:
    """The same from M = Uᵀ D U, eliminated from the last dof up with pivots of at least MINVAL."""
    n = matrix.shape[-1]
    work, unit, pivots = matrix.copy(), np.zeros_like(matrix), np.zeros(matrix.shape[:-1])
    for k in range(n - 1, -1, -1):
        pivot = np.maximum(work[..., k, k], MINVAL)
        row = work[..., k, : k + 1] / pivot[..., None]
        unit[..., k, :k], unit[..., k, k], pivots[..., k] = row[..., :k], 1.0, pivot
        work[..., :k, :k] -= pivot[..., None, None] * row[..., :k, None] * row[..., None, :k]
    return np.linalg.inv(unit).swapaxes(-1, -2) / np.sqrt(pivots)[..., :, None]
