"""The velocity-dependent half of host dynamics: bias forces C(q, v) by recursive Newton-Euler, without gravity.

    v_b = v_parent + Σ s_i q̇_i        a_b = a_parent + Σ ṡ_i q̇_i,   ṡ_i = v × s_i
    f_b = I_b a_b + v_b ×* (I_b v_b)   C_i = s_i · Σ_{subtree} f

Spatial vectors are (ω, v) about the centre of mass of each tree; a leading axis W runs over configurations.
"""

from __future__ import annotations

import numpy as np

from kinema.compile.constants import quaternion as quat
from kinema.compile.constants.kinematics import Pose
from kinema.compile.constants.tree import Tree
from kinema.mujoco_enums import Joint

Array = np.ndarray


def cross_motion(v: Array, s: Array) -> Array:
    """v × s for motion vectors."""
    angular = quat.cross(v[..., :3], s[..., :3])
    linear = quat.cross(v[..., :3], s[..., 3:]) + quat.cross(v[..., 3:], s[..., :3])
    return np.concatenate((angular, linear), axis=-1)


def cross_force(v: Array, f: Array) -> Array:
    """v ×* f for a motion and a force vector."""
    angular = quat.cross(v[..., :3], f[..., :3]) + quat.cross(v[..., 3:], f[..., 3:])
    return np.concatenate((angular, quat.cross(v[..., :3], f[..., 3:])), axis=-1)


def body_motion(m, tree: Tree, pose: Pose, qvel: Array) -> tuple[Array, Array]:
    """Spatial velocities of bodies, and their accelerations when q̈ = 0: two arrays (W, nbody, 6)."""
    worlds = len(qvel)
    velocity, acceleration = np.zeros((worlds, m.nbody, 6)), np.zeros((worlds, m.nbody, 6))
    moved = pose.cdof * qvel[..., None]
    parent, kind, first = np.asarray(m.body_parentid), np.asarray(m.jnt_type), np.asarray(m.jnt_dofadr)
    for bodies, places in zip(tree.levels, tree.joints, strict=True):
        velocity[:, bodies], acceleration[:, bodies] = velocity[:, parent[bodies]], acceleration[:, parent[bodies]]
        for owners, joints in places:
            free = kind[joints] == Joint.FREE
            if free.any():  # its translations are along fixed axes
                velocity[:, owners[free]] += sum(moved[:, first[joints[free]] + k] for k in range(3))
            turning = first[joints] + np.where(free, 3, 0)
            width = np.where(kind[joints] <= Joint.BALL, 3, 1)
            before = velocity[:, owners]
            after, gained = before.copy(), acceleration[:, owners]
            for k in range(int(width.max())):
                has = width > k
                dofs = turning[has] + k
                gained[:, has] += cross_motion(before[:, has], moved[:, dofs])
                after[:, has] += moved[:, dofs]
            velocity[:, owners], acceleration[:, owners] = after, gained
    return velocity, acceleration


def bias_forces(m, tree: Tree, pose: Pose, inertia: Array, motion: tuple[Array, Array]) -> Array:
    """C(q, q̇) of each dof: (W, nv), from `mass.spatial_inertia` and `body_motion` at the pose."""
    velocity, acceleration = motion
    momentum = (inertia @ velocity[..., None])[..., 0]
    force = (inertia @ acceleration[..., None])[..., 0] + cross_force(velocity, momentum)
    total = tree.sum_up(force)
    return np.sum(pose.cdof * total[:, np.asarray(m.dof_bodyid)], axis=-1)


def integrate_positions(m, qpos: Array, qvel: Array, step: float) -> Array:
    """qpos after moving with qvel for a time: (W, nq)."""
    out = qpos.copy()
    kind, qadr, dof = np.asarray(m.jnt_type), np.asarray(m.jnt_qposadr), np.asarray(m.jnt_dofadr)
    scalar = kind >= Joint.SLIDE
    out[:, qadr[scalar]] += step * qvel[:, dof[scalar]]
    for joint in np.flatnonzero(~scalar):
        q, v = int(qadr[joint]), int(dof[joint])
        if kind[joint] == Joint.FREE:
            out[:, q : q + 3] += step * qvel[:, v : v + 3]
            q, v = q + 3, v + 3
        turn = qvel[:, v : v + 3]
        speed = np.sqrt(np.sum(turn * turn, axis=-1))
        axis = np.where((speed < 1e-15)[:, None], np.array([1.0, 0.0, 0.0]), turn / np.maximum(speed, 1e-15)[:, None])
        out[:, q : q + 4] = quat.normalize(
            quat.multiply(quat.normalize(out[:, q : q + 4]), quat.of_axis_angle(axis, speed * step))
        )
    return out
