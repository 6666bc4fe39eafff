"""Relative poses at qpos0: data of connect and weld constraints, and rest frames of cameras and lights."""

from __future__ import annotations

import numpy as np

from kinema.compile.constants import quaternion as quat
from kinema.compile.constants.kinematics import Pose, attached
from kinema.mujoco_enums import Equality, Obj

Array = np.ndarray


def equality_data(m, pose: Pose) -> Array:
    """eq_data with what MuJoCo completes from qpos0: the second anchor of a connect, the relative pose of a weld."""
    data = np.array(m.eq_data, dtype=float)
    x, q, R = pose.xpos[0], pose.xquat[0], pose.xmat[0]
    for i in range(m.neq):
        one, two = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
        bodies = m.eq_objtype[i] == Obj.BODY
        if m.eq_type[i] == Equality.CONNECT and bodies:
            anchor = x[one] + R[one] @ data[i, :3]
            data[i, 3:6] = R[two].T @ (anchor - x[two])
        elif m.eq_type[i] == Equality.WELD and bodies:
            if data[i, 6:10].any() and not data[i, 11]:
                data[i, 6:10] = quat.normalize(data[i, 6:10])
                continue
            anchor = x[two] + R[two] @ data[i, :3]
            data[i, 3:6] = R[one].T @ (anchor - x[one])
            data[i, 6:10] = quat.multiply(quat.conjugate(q[one]), q[two])
    return data


def camera_frames(m, pose: Pose) -> dict[str, Array]:
    body, target = np.asarray(m.cam_bodyid), np.asarray(m.cam_targetbodyid)
    position, matrix = attached(pose.xpos, pose.xquat, pose.xmat, body, m.cam_pos, m.cam_quat)
    com = pose.subtree_com[0][np.where(target >= 0, target, body)]
    return {
        "cam_pos0": position[0] - pose.xpos[0][body],
        "cam_poscom0": position[0] - com,
        "cam_mat0": matrix[0].reshape(-1, 9),
    }


def light_frames(m, pose: Pose) -> dict[str, Array]:
    body, target = np.asarray(m.light_bodyid), np.asarray(m.light_targetbodyid)
    offset = (pose.xmat[0][body] @ np.asarray(m.light_pos)[..., None])[..., 0]
    direction = quat.rotate(pose.xquat[0][body], np.asarray(m.light_dir))
    norm = np.sqrt(np.sum(direction**2, axis=-1, keepdims=True))
    com = pose.subtree_com[0][np.where(target >= 0, target, body)]
    return {
        "light_pos0": offset,
        "light_poscom0": pose.xpos[0][body] + offset - com,
        "light_dir0": np.where(norm < 1e-15, np.array([1.0, 0.0, 0.0]), direction / np.where(norm < 1e-15, 1.0, norm)),
    }
