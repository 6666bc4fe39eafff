"""Where things are that nothing moves: frames of bodies welded to the world, and of what they carry.

    x_b = x_p + R_p p_b        q_b = q_p q_b        for body b on parent p
    x_i = x_b + R_b p_i        R_i = R(q_b q_i)     for what it carries

They follow from the model alone, so they are computed once, in double precision, and again when the model is written
to. Bodies that joints or motion capture move, and all they carry, are the engine's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinema.compile.constants import quaternion as quat
from kinema.compile.constants.kinematics import attached

DEPENDS = frozenset({
    "body_pos", "body_quat", "body_ipos", "body_iquat", "geom_pos", "geom_quat", "site_pos", "site_quat",
})  # fmt: skip
"""Fields of the model that these frames follow from."""


def fixed_bodies(m: Any) -> np.ndarray:
    """Ids of the bodies that never move; the world is the first."""
    moved = (np.asarray(m.body_jntnum) > 0) | (np.asarray(m.body_mocapid) >= 0)
    parent = np.asarray(m.body_parentid)
    for body in range(1, len(parent)):  # parents come first
        moved[body] |= moved[parent[body]]
    return np.flatnonzero(~moved)


def fixed_frames(m: Any) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Rows of mjData's frames that never change: field -> (ids, numbers)."""
    bodies = fixed_bodies(m)
    xpos, xquat = np.zeros((1, m.nbody, 3)), np.zeros((1, m.nbody, 4))
    xquat[..., 0] = 1.0
    for body in bodies[1:]:
        up = m.body_parentid[body]
        xpos[:, body] = xpos[:, up] + quat.rotate(xquat[:, up], m.body_pos[body])
        xquat[:, body] = quat.normalize(quat.multiply(xquat[:, up], m.body_quat[body]))
    xmat = quat.matrix(xquat)
    found = {name: (bodies, field[0, bodies]) for name, field in (("xpos", xpos), ("xquat", xquat))}
    found["xmat"] = bodies, xmat[0, bodies].reshape(-1, 9)
    frames = {
        "xi": (np.arange(m.nbody), m.body_ipos, m.body_iquat),
        "geom_x": (m.geom_bodyid, m.geom_pos, m.geom_quat),
        "site_x": (m.site_bodyid, m.site_pos, m.site_quat),
    }
    for prefix, (owner, pos, orientation) in frames.items():
        if len(owner):
            ids = np.flatnonzero(np.isin(owner, bodies))
            place, turn = attached(xpos, xquat, xmat, owner, pos, orientation)
            found[f"{prefix}pos"] = ids, place[0, ids]
            found[f"{prefix}mat"] = ids, turn[0, ids].reshape(-1, 9)
    return found
