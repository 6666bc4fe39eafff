"""Places in a stage as arrays: [x y z, qx qy qz qw], and the scale that rigid poses leave over.

USD writes vectors as rows, so the columns of a rotation are the rows of its matrices:

    M^T = [R S | p],   S = diag(s)        s: lengths of the columns; s_x < 0 where M mirrors
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.transform import quat_between, transform_inverse, transform_mul

X, Y, Z = range(3)


def quat_xyzw(quat: Any) -> np.ndarray:
    """A quaternion of USD's (real first) as xyzw, of unit length."""
    value = np.array([*quat.GetImaginary(), quat.GetReal()], dtype=float)
    length = np.linalg.norm(value)
    return value / length if length > 0.0 else np.array([0.0, 0.0, 0.0, 1.0])


def pose_of(position: Any, rotation: Any) -> np.ndarray:
    """The pose of a position and a quaternion of USD's."""
    return np.concatenate([np.asarray(position, dtype=float), quat_xyzw(rotation)])


def decompose(matrix: Any) -> tuple[np.ndarray, np.ndarray]:
    """Pose and scale of a 4 by 4 matrix of USD's."""
    from scipy.spatial.transform import Rotation

    rows = np.array(matrix, dtype=float).reshape(4, 4)
    basis = rows[:3, :3].T
    scale = np.linalg.norm(basis, axis=0)
    if np.linalg.det(basis) < 0.0:
        scale[X] = -scale[X]
    turn = basis / np.where(scale == 0.0, 1.0, scale)
    return np.concatenate([rows[3, :3], Rotation.from_matrix(turn).as_quat()]), scale


def turned_to(pose: np.ndarray, axis: int) -> np.ndarray:
    """A pose turned so that its z lies where x, y or z was: capsules stand along z here, along any axis in USD."""
    turn = quat_between(np.array([0.0, 0.0, 1.0]), np.eye(3)[axis])
    return transform_mul(pose, np.concatenate([np.zeros(3), turn]))


def between(here: np.ndarray, there: np.ndarray) -> np.ndarray:
    """`there` as seen from `here`."""
    return transform_mul(transform_inverse(here), there)
