"""Attitude of a floating body from its quaternion (w, x, y, z), as observations and rewards want it.

With q = (w, u) and R its rotation matrix, Rᵀv = v - 2w u×v + 2 u×(u×v).
"""

from __future__ import annotations

from types import ModuleType
from typing import Any


def to_body(xp: ModuleType, quat: Any, vector: Any) -> Any:
    """A vector of the world's frame in the body's, (..., 3); quat (..., 4)."""
    w, u = quat[..., :1], quat[..., 1:]
    across = _cross(xp, u, vector)
    return vector - 2 * w * across + 2 * _cross(xp, u, across)


def up_in_body(xp: ModuleType, quat: Any) -> Any:
    """The world's upward direction in the body's frame, (..., 3): the last row of R. (0, 0, 1) when upright."""
    w, x, y, z = quat[..., 0], quat[..., 1], quat[..., 2], quat[..., 3]
    return xp.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1)


def _cross(xp: ModuleType, a: Any, b: Any) -> Any:
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return xp.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], -1)
