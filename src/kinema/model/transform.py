"""What placing a template at X = (p, R) does to its rows.

    pose in the world            x' = X x                 body_q, static shapes, frames of joints to the world
    pose of a free root          q' = (Xp^-1 X Xp) q      joint_q is relative to the joint's parent frame Xp
    twist in the world           v' = R v                 body_qd; joint_qd of a free root turns as its joint_q does
    point in the world           x' = R x + p             particle_q

Poses are [x y z, qx qy qz qw]. Hooks work in place on a block of shape (copies, rows, ...) and get the copies'
transforms, shape (copies, 7), and the template's columns. A user's attribute may bring such a hook too.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .enums import JointType

Columns = Mapping[str, np.ndarray]
IDENTITY = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


def quat_mul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Product of xyzw quaternions over the last axis."""
    ax, ay, az, aw = np.moveaxis(a, -1, 0)
    bx, by, bz, bw = np.moveaxis(b, -1, 0)
    return np.stack(
        np.broadcast_arrays(
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ),
        axis=-1,
    )


def quat_rotate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Vector v turned by the xyzw quaternion q, over the last axis."""
    t = 2.0 * np.cross(q[..., :3], v)
    return v + q[..., 3:] * t + np.cross(q[..., :3], t)


def quat_matrix(q: np.ndarray) -> np.ndarray:
    """Rotation matrices, shape (..., 3, 3), of xyzw quaternions."""
    return np.stack([quat_rotate(q, np.broadcast_to(axis, (*q.shape[:-1], 3))) for axis in np.eye(3)], axis=-1)


def rotation(quat: np.ndarray) -> np.ndarray:
    """The matrix of one unit quaternion, wxyz as MuJoCo has it."""
    w, x, y, z = quat
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def transform_mul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Composition a b of poses over the last axis."""
    position = quat_rotate(a[..., 3:], b[..., :3]) + a[..., :3]
    rotation = quat_mul(a[..., 3:], b[..., 3:])
    shape = (*np.broadcast_shapes(position.shape[:-1], rotation.shape[:-1]), 3)
    return np.concatenate([np.broadcast_to(position, shape), rotation], axis=-1)


def transform_inverse(a: np.ndarray) -> np.ndarray:
    """Inverse of poses over the last axis."""
    inverse = a[..., 3:] * np.array([-1.0, -1.0, -1.0, 1.0])
    return np.concatenate([-quat_rotate(inverse, a[..., :3]), inverse], axis=-1)


def quat_between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Shortest rotation that takes unit vector a to unit vector b, xyzw."""
    cosine = float(np.dot(a, b))
    if cosine < -1.0 + 1e-12:
        # opposite vectors: half a turn about any axis normal to a
        axis = np.cross(a, np.eye(3)[int(np.argmin(np.abs(a)))])
        return np.append(axis / np.linalg.norm(axis), 0.0)
    q = np.append(np.cross(a, b), 1.0 + cosine)
    return q / np.linalg.norm(q)


def move_poses(block: np.ndarray, xforms: np.ndarray, columns: Columns) -> None:
    """Every row is a pose in the world."""
    block[...] = transform_mul(xforms[:, None, :], block.astype(np.float64))


def move_points(block: np.ndarray, xforms: np.ndarray, columns: Columns) -> None:
    """Every row is a point in the world."""
    block[...] = quat_rotate(xforms[:, None, 3:], block.astype(np.float64)) + xforms[:, None, :3]


def turn_vectors(block: np.ndarray, xforms: np.ndarray, columns: Columns) -> None:
    """Every row is one or two free vectors in the world (a velocity, a twist)."""
    parts = block.reshape(*block.shape[:2], -1, 3)
    parts[...] = quat_rotate(xforms[:, None, None, 3:], parts.astype(np.float64))


def move_static_shapes(block: np.ndarray, xforms: np.ndarray, columns: Columns) -> None:
    """Only shapes without a body stand in the world."""
    rows = np.flatnonzero(columns["shape_body"] < 0)
    block[:, rows] = transform_mul(xforms[:, None, :], block[:, rows].astype(np.float64))


def move_root_frames(block: np.ndarray, xforms: np.ndarray, columns: Columns) -> None:
    """Parent frames of joints to the world; free joints move by their coordinates instead."""
    rows = np.flatnonzero((columns["joint_parent"] < 0) & (columns["joint_type"] != JointType.FREE))
    block[:, rows] = transform_mul(xforms[:, None, :], block[:, rows].astype(np.float64))


def _free_roots(xforms: np.ndarray, columns: Columns) -> list[tuple[int, int, np.ndarray]]:
    """(first coordinate, first dof, transforms in the joint's parent frame) of each free joint to the world."""
    roots = np.flatnonzero((columns["joint_parent"] < 0) & (columns["joint_type"] == JointType.FREE))
    found = []
    for joint in roots.tolist():
        frame = columns["joint_X_p"][joint].astype(np.float64)
        local = transform_mul(transform_mul(transform_inverse(frame), xforms), frame)
        found.append((int(columns["joint_q_start"][joint]), int(columns["joint_qd_start"][joint]), local))
    return found


def move_free_roots(block: np.ndarray, xforms: np.ndarray, columns: Columns) -> None:
    """joint_q of free joints to the world."""
    for q, _, local in _free_roots(xforms, columns):
        block[:, q : q + 7] = transform_mul(local, block[:, q : q + 7].astype(np.float64))


def turn_free_roots(block: np.ndarray, xforms: np.ndarray, columns: Columns) -> None:
    """joint_qd of free joints to the world."""
    for _, qd, local in _free_roots(xforms, columns):
        twist = block[:, qd : qd + 6].reshape(-1, 2, 3).astype(np.float64)
        block[:, qd : qd + 6] = quat_rotate(local[:, None, 3:], twist).reshape(-1, 6)
