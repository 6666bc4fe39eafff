"""The joint-space inertia M(q) by the composite rigid body method, and solves with it.

    I_c(b) = Σ spatial inertias over the subtree of b, about the tree's centre of mass
    M_ij   = s_iᵀ I_c(b_i) s_j   for j above i;   M_ii += armature;   M += a_t J_tᵀ J_t for tendons with armature

As in MuJoCo the last term is kept only where one dof is above the other, where the first has its entries.
M is kept as dense blocks (see tree.py) with a half inverse H each, M⁻¹ = Hᵀ H, so that J M⁻¹ Jᵀ = |H Jᵀ|².
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinema.compile.constants import quaternion as quat
from kinema.compile.constants.kinematics import Pose
from kinema.compile.constants.tree import Block, Tree
from kinema.mujoco_enums import MINVAL, Transmission

Array = np.ndarray


@dataclass
class MassMatrix:
    """Blocks of M, stacked: matrix (W, G, n, n) and its half inverse for each block."""

    blocks: list[Block]
    matrices: list[Array]

    def __post_init__(self) -> None:
        self.halves = [_half_inverse(matrix) for matrix in self.matrices]

    def solve(self, rows: Array) -> Array:
        """M⁻¹ applied to each row: rows (W, P, nv) → (W, P, nv)."""
        out = np.zeros_like(rows)
        for block, half in zip(self.blocks, self.halves, strict=True):
            part = rows[..., block.dofs].swapaxes(1, 2)  # (W, G, P, n)
            out[..., block.dofs] = ((part @ half.swapaxes(-1, -2)) @ half).swapaxes(1, 2)
        return out

    def dense(self, nv: int) -> Array:
        """M of each configuration: (W, nv, nv)."""
        out = np.zeros((self.matrices[0].shape[0] if self.matrices else 1, nv, nv))
        for block, matrix in zip(self.blocks, self.matrices, strict=True):
            out[:, block.dofs[:, :, None], block.dofs[:, None, :]] = matrix
        return out

    def diagonal(self, nv: int) -> Array:
        out = np.zeros((self.matrices[0].shape[0] if self.matrices else 1, nv))
        for block, matrix in zip(self.blocks, self.matrices, strict=True):
            out[:, block.dofs] = np.diagonal(matrix, axis1=-2, axis2=-1)
        return out


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
    composite = tree.sum_up(spatial_inertia(m, pose) if inertia is None else inertia)
    momentum = (composite[:, np.asarray(m.dof_bodyid)] @ pose.cdof[..., None])[..., 0]
    diagonal = armature + np.sum(momentum * pose.cdof, axis=-1)

    matrices = []
    for block in tree.blocks:
        lower = momentum[:, block.dofs] @ pose.cdof[:, block.dofs].swapaxes(-1, -2) * block.above
        matrix = lower + np.tril(lower, -1).swapaxes(-1, -2)
        n = block.dofs.shape[1]
        matrix[..., np.arange(n), np.arange(n)] += armature[..., block.dofs]
        for t in heavy:
            row = tendon_rows[:, t][:, block.dofs]
            matrix = matrix + tendon_armature[t] * row[..., :, None] * row[..., None, :] * (block.above | block.above.T)
        matrices.append(matrix)
    return MassMatrix(tree.blocks, matrices), diagonal


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
