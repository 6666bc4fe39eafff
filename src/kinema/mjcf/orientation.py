"""Orientations as MuJoCo reads them: five ways to say a rotation, one unit quaternion (w, x, y, z).

    axisangle  a, t   q = (cos t/2, a sin t/2)
    euler      e, s   q = q1 q2 q3 about the axes that s names; upper case means fixed axes, and q3 q2 q1
    xyaxes     x, y   the frame with x, y made orthogonal to x, and their cross product
    zaxis      z      the shortest rotation that takes (0, 0, 1) to z
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinema.errors import BadValue

DEGREE = "degree"
DEFAULT_SEQUENCE = "xyz"
_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product of two quaternions: first b, then a."""
    w = a[0] * b[0] - a[1:] @ b[1:]
    return np.array([w, *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])


def rotate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A vector turned by a unit quaternion."""
    t = 2 * np.cross(q[1:], v)
    return v + q[0] * t + np.cross(q[1:], t)


def from_euler(angles: np.ndarray, sequence: str) -> np.ndarray:
    """The quaternion of three angles in radians about the axes of a sequence."""
    if len(sequence) != 3 or not set(sequence.lower()) <= set("xyz"):
        raise BadValue(f"an euler sequence is three of x, y, z, X, Y, Z: got {sequence!r}")
    q = _IDENTITY
    for angle, axis in zip(angles, sequence, strict=True):
        turn = np.zeros(4)
        turn[0] = np.cos(angle / 2)
        turn[1 + "xyz".index(axis.lower())] = np.sin(angle / 2)
        q = multiply(q, turn) if axis.islower() else multiply(turn, q)
    return _unit(q)


def _from_axes(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    x = _unit(x)
    y = _unit(y - (x @ y) * x)
    frame = np.array([x, y, np.cross(x, y)]).T
    q = np.empty(4)
    # The largest component first, so that the division is safe.
    trace = [frame.trace(), frame[0, 0], frame[1, 1], frame[2, 2]]
    first = int(np.argmax(trace))
    if first == 0:
        q[0] = 1 + trace[0]
        q[1:] = frame[2, 1] - frame[1, 2], frame[0, 2] - frame[2, 0], frame[1, 0] - frame[0, 1]
    else:
        i, j, k = first - 1, first % 3, (first + 1) % 3
        q[0] = frame[k, j] - frame[j, k]
        q[1 + i] = 1 + frame[i, i] - frame[j, j] - frame[k, k]
        q[1 + j] = frame[j, i] + frame[i, j]
        q[1 + k] = frame[k, i] + frame[i, k]
    return _unit(q)


def _from_z(z: np.ndarray) -> np.ndarray:
    z = _unit(z)
    axis = np.cross([0.0, 0.0, 1.0], z)
    s = np.linalg.norm(axis)
    axis = np.array([1.0, 0.0, 0.0]) if s < 1e-10 else axis / s
    angle = np.arctan2(s, z[2])
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)])


def _unit(v: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(v)
    if not length > 1e-14:
        raise BadValue(f"a direction has no length: {v}")
    return v / length


def quaternion(values: Mapping[str, Any], *, degrees: bool, sequence: str) -> np.ndarray:
    """The quaternion that an element's orientation attributes say, or no rotation."""
    scale = np.pi / 180 if degrees else 1.0
    if (euler := values.get("euler")) is not None:
        return from_euler(np.asarray(euler) * scale, sequence)
    if (given := values.get("axisangle")) is not None:
        angle = given[3] * scale
        return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * _unit(np.asarray(given[:3])))])
    if (axes := values.get("xyaxes")) is not None:
        return _from_axes(np.asarray(axes[:3]), np.asarray(axes[3:]))
    if (z := values.get("zaxis")) is not None:
        return _from_z(np.asarray(z))
    if (q := values.get("quat")) is not None:
        return _unit(np.asarray(q, dtype=float))
    return _IDENTITY
