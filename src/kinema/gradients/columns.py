"""What a linearization is taken along: the coordinates of MuJoCo's `mjd_transitionFD`, as directions of arrays.

    x = (dq, v, act)    dq: position in its tangent space, nv numbers; quaternions turn about axes of their own frame
    u = ctrl            y = sensordata
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinema.gradients.tangents import Direction
from kinema.mujoco_enums import Joint


def positions(m: Any) -> list[Direction]:
    """The tangent space of qpos, a direction a dof."""
    found: list[Direction] = []
    for kind, at in zip(np.asarray(m.jnt_type).tolist(), np.asarray(m.jnt_qposadr).tolist(), strict=True):
        if kind == Joint.FREE:
            found += [Direction("qpos", at + c) for c in range(3)]
            at += 3
        if kind in (Joint.FREE, Joint.BALL):
            found += [Direction("qpos", at, turn=axis) for axis in (1, 2, 3)]
        else:
            found.append(Direction("qpos", at))
    return found


def states(m: Any) -> list[Direction]:
    """x."""
    velocities = [Direction("qvel", i) for i in range(int(m.nv))]
    return positions(m) + velocities + [Direction("act", i) for i in range(int(m.na))]


def controls(m: Any) -> list[Direction]:
    """u."""
    return [Direction("ctrl", i) for i in range(int(m.nu))]


def sensors(m: Any) -> list[Direction]:
    """y."""
    return [Direction("sensordata", i) for i in range(int(m.nsensordata))]
