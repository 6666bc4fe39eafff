"""Where to look from, so that all of a model is seen.

A camera looks along f, with u up and r to the right; its picture ends at the half angle a above and below. A ball of
centre c and radius s lies inside where

    (c - e) . (f sin a - u cos a) >= s   and   (c - e) . (f sin a + u cos a) >= s

for an eye e. Over all balls these are two bounds on e, met by the nearest eye at

    e . f = (s1 + s2) / (2 sin a),   e . u = (s2 - s1) / (2 cos a),   s1, s2 = min of c . (f sin a -+ u cos a) - s

and likewise to the right; the farther of the two eyes sees everything.
"""

from __future__ import annotations

import numpy as np

from kinema.mujoco_enums import Geom

MARGIN = 0.9  # part of the picture's half that is used
ASPECT = 1.2  # width by height of the narrowest page that is provided for


def balls(m, xpos: np.ndarray, groups) -> tuple[np.ndarray, np.ndarray]:
    """Centres (n, 3) and radii (n,) of what is to be seen of a world whose geoms are at xpos (ngeom, 3).

    That is all that moves and, of what stands still, what is no larger: a robot's stand, not the room around it.
    """
    radius = np.asarray(m.geom_rbound, float)
    seen = (np.asarray(m.geom_type) != Geom.PLANE) & (radius > 0) & np.isin(np.clip(m.geom_group, 0, 5), list(groups))
    moves = np.asarray(m.body_weldid)[np.asarray(m.geom_bodyid)] != 0
    if (seen & moves).any():
        at = xpos[seen & moves]
        middle = 0.5 * (at.min(axis=0) + at.max(axis=0))
        size = float(np.max(np.linalg.norm(at - middle, axis=1) + radius[seen & moves]))
        near = np.linalg.norm(xpos - middle, axis=1) < 4 * size
        seen &= moves | ((radius <= size) & near)
    return np.asarray(xpos, float)[seen], radius[seen]


def frame(centres: np.ndarray, radii: np.ndarray, ahead: np.ndarray, fovy: float) -> tuple[np.ndarray, np.ndarray]:
    """The nearest eye that sees all balls, looking along a unit vector, and the point it looks at.

    Args:
        centres, radii: (n, 3) and (n,), at least one.
        ahead: (3,) direction of the gaze.
        fovy: Vertical field of view [rad].
    """
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right = right / np.linalg.norm(right) if np.linalg.norm(right) > 1e-9 else np.array([0.0, -1.0, 0.0])
    up = np.cross(right, ahead)
    eye, depth = np.zeros(3), []
    for axis, wide in ((up, 1.0), (right, ASPECT)):
        angle = np.arctan(MARGIN * wide * np.tan(0.5 * fovy))
        first = np.min(centres @ (ahead * np.sin(angle) - axis * np.cos(angle)) - radii)
        second = np.min(centres @ (ahead * np.sin(angle) + axis * np.cos(angle)) - radii)
        depth.append((first + second) / (2 * np.sin(angle)))
        eye += axis * (second - first) / (2 * np.cos(angle))
    eye += min(depth) * ahead
    along = (centres - eye) @ ahead
    return eye, eye + 0.5 * (along.min() + along.max()) * ahead
