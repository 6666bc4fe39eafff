"""Quaternions and poses on the host, one at a time, as plain lists of floats (wxyz).

    pose ∘ child:  p = p₁ + R(q₁) p₂,   q = q₁ q₂

The compiler handles thousands of small vectors of three or four numbers, for which lists are several times faster than
arrays. Tolerances and branches are MuJoCo's, so that signs and ties come out the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

EPS = 1e-14
"""MuJoCo's mjEPS: norms below it count as zero, differences below it as none."""

FRAME_EPS = 1e-6
"""Frames closer than this count as the same frame."""

Vector = Sequence[float]
IDENTITY = (1.0, 0.0, 0.0, 0.0)
IDENTITY_MATRIX = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


def normalize(v: Vector) -> tuple[list[float], float]:
    """v / |v| and |v|; a vector whose norm is 0 or 1 to within EPS comes back as it is."""
    square = 0.0
    for x in v:
        square += x * x
    if square < EPS:
        return list(v), 0.0
    norm = math.sqrt(square)
    if abs(norm - 1.0) > EPS:
        return [x / norm for x in v], norm
    return list(v), norm


def multiply(a: Vector, b: Vector) -> list[float]:
    """Quaternion product a b, normalized."""
    return normalize(
        [
            a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
        ]
    )[0]


def conjugate(q: Vector) -> list[float]:
    return [q[0], -q[1], -q[2], -q[3]]


def matrix(q: Vector) -> list[float]:
    """Rotation matrix of a unit quaternion, row by row (9)."""
    w, x, y, z = q
    return [
        w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z,
    ]  # fmt: skip


def rotate(q: Vector, v: Vector) -> list[float]:
    """R(q) v = v + 2 q⃗ × (q₀ v + q⃗ × v); zero vectors and the identity come out exact."""
    if (q[0] == 1.0 and q[1] == 0.0 and q[2] == 0.0 and q[3] == 0.0) or not any(v):
        return list(v)
    return list(rotate_parts(q, *v))


def rotate_parts(q: Any, x, y, z) -> tuple:
    """R(q) applied to the vectors with these coordinates; all may be arrays."""
    a = q[0] * x + q[2] * z - q[3] * y
    b = q[0] * y + q[3] * x - q[1] * z
    c = q[0] * z + q[1] * y - q[2] * x
    return x + 2 * (q[2] * c - q[3] * b), y + 2 * (q[3] * a - q[1] * c), z + 2 * (q[1] * b - q[2] * a)


def cross(a: Vector, b: Vector) -> list[float]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def dot(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def compose(pos: Vector, quat: Vector, child_pos: Vector, child_quat: Vector) -> tuple[list[float], list[float]]:
    """The child's pose in the parent's coordinates."""
    m = IDENTITY_MATRIX if tuple(quat) == IDENTITY else matrix(quat)
    x, y, z = child_pos
    placed = [pos[k] + (m[3 * k] * x + m[3 * k + 1] * y + m[3 * k + 2] * z) for k in range(3)]
    return placed, multiply(quat, child_quat)


def invert(pos: Vector, quat: Vector) -> tuple[list[float], list[float]]:
    back = conjugate(quat)
    return [-x for x in rotate(back, pos)], back


def axis_angle(axis: Vector, angle: float) -> list[float]:
    """Quaternion of a turn about a unit axis."""
    if math.isinf(angle):
        angle = math.nan  # a number without a sine, as in C
    s = math.sin(angle / 2)
    return [math.cos(angle / 2), s * axis[0], s * axis[1], s * axis[2]]


def z_to(v: Vector) -> list[float]:
    """The smallest rotation that takes the z axis to the unit vector v."""
    axis, s = normalize(cross((0.0, 0.0, 1.0), v))
    if s < 1e-10:
        axis = [1.0, 0.0, 0.0]
    return axis_angle(axis, math.atan2(s, v[2]))


def from_axes(x: Vector, y: Vector, z: Vector) -> list[float]:
    """Quaternion of the frame with these axes, by the largest component."""
    if x[0] + y[1] + z[2] > 0:
        w = 0.5 * math.sqrt(1 + x[0] + y[1] + z[2])
        q = [w, 0.25 * (y[2] - z[1]) / w, 0.25 * (z[0] - x[2]) / w, 0.25 * (x[1] - y[0]) / w]
    elif x[0] > y[1] and x[0] > z[2]:
        a = 0.5 * math.sqrt(1 + x[0] - y[1] - z[2])
        q = [0.25 * (y[2] - z[1]) / a, a, 0.25 * (y[0] + x[1]) / a, 0.25 * (z[0] + x[2]) / a]
    elif y[1] > z[2]:
        b = 0.5 * math.sqrt(1 - x[0] + y[1] - z[2])
        q = [0.25 * (z[0] - x[2]) / b, 0.25 * (y[0] + x[1]) / b, b, 0.25 * (z[1] + y[2]) / b]
    else:
        c = 0.5 * math.sqrt(1 - x[0] - y[1] + z[2])
        q = [0.25 * (x[1] - y[0]) / c, 0.25 * (z[0] + x[2]) / c, 0.25 * (z[1] + y[2]) / c, c]
    return normalize(q)[0]


def same_position(a: Vector, b: Vector) -> bool:
    return all(abs(x - y) < FRAME_EPS for x, y in zip(a, b, strict=True))


def same_rotation(a: Vector, b: Vector) -> bool:
    """Equal quaternions, up to sign."""
    plus = all(abs(x - y) < FRAME_EPS for x, y in zip(a, b, strict=True))
    return plus or all(abs(x + y) < FRAME_EPS for x, y in zip(a, b, strict=True))
