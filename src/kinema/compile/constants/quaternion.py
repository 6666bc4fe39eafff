"""Unit quaternions (w, x, y, z) and rotation matrices over any leading axes, in float64 NumPy."""

from __future__ import annotations

import numpy as np

from kinema.compile.constants.enums import MINVAL

Array = np.ndarray


def multiply(p: Array, q: Array) -> Array:
    """Hamilton product p q, broadcast over leading axes."""
    pw, px, py, pz = p[..., 0], p[..., 1], p[..., 2], p[..., 3]
    qw, qx, qy, qz = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    return np.stack(
        (
            pw * qw - px * qx - py * qy - pz * qz,
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
        ),
        axis=-1,
    )


def conjugate(q: Array) -> Array:
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def normalize(q: Array) -> Array:
    """q / |q|, and the identity where q is zero (MuJoCo's rule)."""
    norm = np.sqrt(np.sum(q * q, axis=-1, keepdims=True))
    zero = norm < MINVAL
    if zero.any():
        return np.where(zero, np.array([1.0, 0.0, 0.0, 0.0]), q / np.where(zero, 1.0, norm))
    return q / norm


def matrix(q: Array) -> Array:
    """Rotation matrix of a unit quaternion, shape (..., 3, 3)."""
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    xx, yy, zz, ww = x * x, y * y, z * z, w * w
    xy, xz, yz, wx, wy, wz = x * y, x * z, y * z, w * x, w * y, w * z
    out = np.empty((*q.shape[:-1], 3, 3))
    out[..., 0, 0], out[..., 1, 1], out[..., 2, 2] = ww + xx - yy - zz, ww - xx + yy - zz, ww - xx - yy + zz
    out[..., 0, 1], out[..., 1, 0] = 2 * (xy - wz), 2 * (xy + wz)
    out[..., 0, 2], out[..., 2, 0] = 2 * (xz + wy), 2 * (xz - wy)
    out[..., 1, 2], out[..., 2, 1] = 2 * (yz - wx), 2 * (yz + wx)
    return out


def cross(a: Array, b: Array) -> Array:
    """a × b over leading axes; several times faster than numpy.cross on small arrays."""
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx), axis=-1)


def rotate(q: Array, v: Array) -> Array:
    """The vector v turned by the unit quaternion q."""
    u = q[..., 1:]
    t = 2.0 * cross(u, v)
    return v + q[..., :1] * t + cross(u, t)


def of_axis_angle(axis: Array, angle: Array) -> Array:
    half = 0.5 * angle[..., None]
    return np.concatenate((np.cos(half), np.sin(half) * axis), axis=-1)


def rotation_vector(q: Array) -> Array:
    """Axis times angle of a unit quaternion, angle in (-π, π]."""
    v = q[..., 1:]
    sine = np.sqrt(np.sum(v * v, axis=-1))
    angle = 2.0 * np.arctan2(sine, q[..., 0])
    angle = np.where(angle > np.pi, angle - 2 * np.pi, angle)
    return v * (angle / np.where(sine < MINVAL, 1.0, sine))[..., None]


def skew(v: Array) -> Array:
    """[v]× with [v]× w = v × w."""
    zero = np.zeros(v.shape[:-1])
    x, y, z = v[..., 0], v[..., 1], v[..., 2]
    return np.stack((zero, -z, y, z, zero, -x, -y, x, zero), axis=-1).reshape(*v.shape[:-1], 3, 3)
