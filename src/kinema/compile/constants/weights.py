"""Inverse weights: how far a unit force moves a body, a joint, a tendon or what an actuator drives, at qpos0.

    body   mean diagonal of J M⁻¹ Jᵀ over translations and over rotations of its centre of mass
    dof    diagonal of M⁻¹, averaged over the three axes of each part of a free or ball joint
    tendon J M⁻¹ Jᵀ;     actuator  |M⁻¹ Jᵀ|

The regularisation of every contact and limit scales with them.
"""

from __future__ import annotations

import numpy as np

from kinema.compile.constants.kinematics import Pose
from kinema.compile.constants.mass import MassMatrix
from kinema.mujoco_enums import MINVAL, Joint

Array = np.ndarray


def weights(m, pose: Pose, mass: MassMatrix) -> tuple[Array, Array]:
    """body_invweight0 (W, nbody, 2) and dof_invweight0 (W, nv)."""
    worlds = len(pose.xpos)
    body, dof = np.zeros((worlds, m.nbody, 2)), np.zeros((worlds, m.nv))
    lever = pose.xipos - pose.subtree_com[:, np.asarray(m.body_rootid)]
    for factor in mass.factors:
        block = factor.block
        dof[:, block.dofs], body[:, block.bodies] = factor.weights(pose.cdof[:, block.dofs], lever[:, block.bodies])
    return _body_weights(m, body), _dof_weights(m, dof)


def _body_weights(m, weight: Array) -> Array:
    # bodies that only slide on their own are read off their mass (armature left out, as MuJoCo has it)
    simple = np.asarray(m.body_simple) == 2
    weight[:, simple, 0] = 1.0 / np.maximum(MINVAL, np.asarray(m.body_mass)[..., simple])
    weight[:, simple, 1] = 0.0
    return weight


def _dof_weights(m, weight: Array) -> Array:
    kind, first = np.asarray(m.jnt_type), np.asarray(m.jnt_dofadr)
    free = first[kind == Joint.FREE]
    threes = np.concatenate((first[kind == Joint.BALL], free, free + 3))[:, None] + np.arange(3)
    weight[:, threes] = weight[:, threes].mean(axis=-1, keepdims=True)
    simple = np.asarray(m.body_simple)[np.asarray(m.dof_bodyid)] == 2
    body = np.asarray(m.dof_bodyid)[simple]
    weight[:, simple] = 1.0 / np.maximum(MINVAL, np.asarray(m.body_mass)[..., body])
    return weight


def row_weights(mass: MassMatrix, rows: Array) -> tuple[Array, Array]:
    """J M⁻¹ Jᵀ and |M⁻¹ Jᵀ| of each row: (W, P, nv) → (W, P) each."""
    answer = mass.solve(rows)
    return np.sum(answer * rows, axis=-1), np.sqrt(np.sum(answer**2, axis=-1))
