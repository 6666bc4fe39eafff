"""Unit quaternions in MuJoCo's order (w, x, y, z), held in ``wp.vec4``.

Warp's own ``wp.quat`` stores (x, y, z, w). A quaternion of that type holding MuJoCo's order would be silently wrong
in every Warp builtin, so inside the convex engine the type is always ``wp.vec4`` and these functions are the only
algebra. Conversion to Newton's xyzw happens once, at the boundary of the solver.

    q = (cos(a/2), n sin(a/2))      rotation by angle a about the unit axis n
    rotate(q, v) = q v q*           local to global, when q is the orientation of a body
"""

import warp as wp

from kinema.math.vector import normalize_with_length
from kinema.mujoco_enums import MINVAL


@wp.func
def mul_quat(a: wp.vec4, b: wp.vec4) -> wp.vec4:
    """Hamilton product a b: rotate by b, then by a."""
    return wp.vec4(
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@wp.func
def mul_quat_axis(q: wp.vec4, axis: wp.vec3) -> wp.vec4:
    """q times the pure quaternion (0, axis)."""
    return wp.vec4(
        -q[1] * axis[0] - q[2] * axis[1] - q[3] * axis[2],
        q[0] * axis[0] + q[2] * axis[2] - q[3] * axis[1],
        q[0] * axis[1] + q[3] * axis[0] - q[1] * axis[2],
        q[0] * axis[2] + q[1] * axis[1] - q[2] * axis[0],
    )


@wp.func
def conjugate(q: wp.vec4) -> wp.vec4:
    """The inverse rotation of a unit quaternion."""
    return wp.vec4(q[0], -q[1], -q[2], -q[3])


@wp.func
def rotate(q: wp.vec4, v: wp.vec3) -> wp.vec3:
    """Rotate v by the unit quaternion q."""
    u = wp.vec3(q[1], q[2], q[3])
    t = q[0] * v + wp.cross(u, v)
    return v + 2.0 * wp.cross(u, t)


@wp.func
def rotate_inverse(q: wp.vec4, v: wp.vec3) -> wp.vec3:
    """Rotate v by the inverse of the unit quaternion q."""
    return rotate(conjugate(q), v)


@wp.func
def normalize(q: wp.vec4) -> wp.vec4:
    """Unit quaternion along q; no rotation when q vanishes (mju_normalize4)."""
    n = wp.length(q)
    if n < MINVAL:
        return wp.vec4(1.0, 0.0, 0.0, 0.0)
    return q / n


@wp.func
def axis_angle(axis: wp.vec3, angle: float) -> wp.vec4:
    """Rotation by angle [rad] about a unit axis (mju_axisAngle2Quat)."""
    s = wp.sin(0.5 * angle)
    return wp.vec4(wp.cos(0.5 * angle), axis[0] * s, axis[1] * s, axis[2] * s)


@wp.func
def to_velocity(q: wp.vec4, dt: float) -> wp.vec3:
    """Angular velocity that makes the rotation q in time dt [s], along the shorter way (mju_quat2Vel)."""
    axis, sin_half = normalize_with_length(wp.vec3(q[1], q[2], q[3]))
    angle = 2.0 * wp.atan2(sin_half, q[0])
    if angle > wp.PI:
        angle -= 2.0 * wp.PI
    return axis * (angle / dt)


@wp.func
def sub_quat(a: wp.vec4, b: wp.vec4) -> wp.vec3:
    """Rotation vector r with b quat(r) = a (mju_subQuat)."""
    return to_velocity(mul_quat(conjugate(b), a), 1.0)


@wp.func
def integrate(q: wp.vec4, w: wp.vec3, dt: float) -> wp.vec4:
    """Orientation q after turning for dt [s] with local angular velocity w [rad/s] (mju_quatIntegrate)."""
    axis, speed = normalize_with_length(w)
    return mul_quat(normalize(q), axis_angle(axis, dt * speed))


@wp.func
def to_mat(q: wp.vec4) -> wp.mat33:
    """Rotation matrix of a unit quaternion (mju_quat2Mat)."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    ww, xx, yy, zz = w * w, x * x, y * y, z * z
    return wp.mat33(
        ww + xx - yy - zz, 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
        2.0 * (x * y + w * z), ww - xx + yy - zz, 2.0 * (y * z - w * x),
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), ww - xx - yy + zz,
    )  # fmt: skip


@wp.func
def from_mat(m: wp.mat33) -> wp.vec4:
    """Unit quaternion of a rotation matrix, by the largest component (mju_mat2Quat)."""
    q = wp.vec4()
    if m[0, 0] + m[1, 1] + m[2, 2] > 0.0:
        s = 0.5 * wp.sqrt(1.0 + m[0, 0] + m[1, 1] + m[2, 2])
        f = 0.25 / s
        q = wp.vec4(s, f * (m[2, 1] - m[1, 2]), f * (m[0, 2] - m[2, 0]), f * (m[1, 0] - m[0, 1]))
    elif m[0, 0] > m[1, 1] and m[0, 0] > m[2, 2]:
        s = 0.5 * wp.sqrt(1.0 + m[0, 0] - m[1, 1] - m[2, 2])
        f = 0.25 / s
        q = wp.vec4(f * (m[2, 1] - m[1, 2]), s, f * (m[0, 1] + m[1, 0]), f * (m[0, 2] + m[2, 0]))
    elif m[1, 1] > m[2, 2]:
        s = 0.5 * wp.sqrt(1.0 - m[0, 0] + m[1, 1] - m[2, 2])
        f = 0.25 / s
        q = wp.vec4(f * (m[0, 2] - m[2, 0]), f * (m[0, 1] + m[1, 0]), s, f * (m[1, 2] + m[2, 1]))
    else:
        s = 0.5 * wp.sqrt(1.0 - m[0, 0] - m[1, 1] + m[2, 2])
        f = 0.25 / s
        q = wp.vec4(f * (m[1, 0] - m[0, 1]), f * (m[0, 2] + m[2, 0]), f * (m[1, 2] + m[2, 1]), s)
    return normalize(q)
