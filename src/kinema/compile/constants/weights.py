"""Inverse weights: how far a unit force moves a body, a joint, a tendon or what an actuator drives, at qpos0.

    body   mean diagonal of J M⁻¹ Jᵀ over translations and over rotations of its centre of mass
    dof    diagonal of M⁻¹, averaged over the three axes of each part of a free or ball joint
    tendon J M⁻¹ Jᵀ;     actuator  |M⁻¹ Jᵀ|

The regularisation of every contact and limit scales with them.
"""

from __future__ import annotations

import numpy as np

from kinema.compile.constants import quaternion as quat
from kinema.compile.constants.kinematics import Pose
from kinema.compile.constants.mass import MassMatrix
from kinema.mujoco_enums import MINVAL, Joint

Array = np.ndarray


def body_weights(m, pose: Pose, mass: MassMatrix) -> Array:
    """body_invweight0 (W, nbody, 2)."""
    weight = np.zeros((len(pose.xpos), m.nbody, 2))
    for block, half in zip(mass.blocks, mass.halves, strict=True):
        axes = pose.cdof[:, block.dofs]  # (W, G, n, 6)
        lever = (pose.xipos - pose.subtree_com[:, np.asarray(m.body_rootid)])[:, block.bodies]  # (W, G, b, 3)
        # velocity of the body's centre: v + ω × lever, (W, G, b, n, 3)
        linear = axes[:, :, None, :, 3:] + quat.cross(axes[:, :, None, :, :3], lever[:, :, :, None, :])
        linear = linear * block.moves[:, :, None]
        angular = axes[:, :, None, :, :3] * block.moves[:, :, None]
        for column, jacobian in enumerate((linear, angular)):
            rows = jacobian.swapaxes(-1, -2)  # (W, G, b, 3, n)
            flat = rows.reshape(*rows.shape[:2], -1, rows.shape[-1])
            moved = (flat @ half.swapaxes(-1, -2)).reshape(rows.shape)
            weight[:, block.bodies, column] = np.sum(moved**2, axis=(-1, -2)) / 3.0
    # bodies that only slide on their own are read off their mass (armature left out, as MuJoCo has it)
    simple = np.asarray(m.body_simple) == 2
    weight[:, simple, 0] = 1.0 / np.maximum(MINVAL, np.asarray(m.body_mass)[..., simple])
    weight[:, simple, 1] = 0.0
    return weight


def dof_weights(m, mass: MassMatrix, worlds: int = 1) -> Array:
    """dof_invweight0 (W, nv)."""
    weight = np.zeros((worlds, m.nv))
    for block, half in zip(mass.blocks, mass.halves, strict=True):
        weight[:, block.dofs] = np.sum(half**2, axis=-2)
    for joint in np.flatnonzero(np.asarray(m.jnt_type) <= Joint.BALL):
        adr = int(m.jnt_dofadr[joint])
        for start in range(adr, adr + (6 if m.jnt_type[joint] == Joint.FREE else 3), 3):
            weight[:, start : start + 3] = weight[:, start : start + 3].mean(axis=-1, keepdims=True)
    simple = np.asarray(m.body_simple)[np.asarray(m.dof_bodyid)] == 2
    body = np.asarray(m.dof_bodyid)[simple]
    weight[:, simple] = 1.0 / np.maximum(MINVAL, np.asarray(m.body_mass)[..., body])
    return weight


def row_weights(mass: MassMatrix, rows: Array) -> Array:
    """J M⁻¹ Jᵀ of each row: (W, P, nv) → (W, P)."""
    return np.sum(mass.solve(rows) * rows, axis=-1)


def row_accelerations(mass: MassMatrix, rows: Array) -> Array:
    """|M⁻¹ Jᵀ| of each row: (W, P, nv) → (W, P)."""
    return np.sqrt(np.sum(mass.solve(rows) ** 2, axis=-1))
