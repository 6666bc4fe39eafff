"""Volume, centre of mass and inertia of triangle meshes; principal axes.

A face with corners D, E, F and the origin make a tetrahedron of signed volume v = (c·n) A/3, with c the face's centre,
n its normal and A its area. With products of inertia

    P_ij += v/20 (2 (D_i D_j + E_i E_j + F_i F_j) + D_i E_j + D_j E_i + D_i F_j + D_j F_i + E_i F_j + E_j F_i)

the inertia is tr(P) 1 - P (Joseph O'Rourke, Computational Geometry in C, 1.3.8; a shell uses v = A and 12 for 20).

Sums run in face order, as MuJoCo's do, and the eigenvectors come from the same Jacobi iteration on a quaternion: a
symmetric mesh has no preferred frame, and rounding decides which one comes out.
"""

from __future__ import annotations

import math

import numpy as np

from kinema.geometry.mesh import Float64, Int32
from kinema.mujoco_enums import MINVAL

EIGEN_TOLERANCE = 1e-7


def serial_sum(values: Float64) -> Float64:
    """Sum over the first axis from first to last; NumPy's own sum adds pairwise and rounds differently."""
    if len(values) == 0:
        return np.zeros(values.shape[1:])
    return np.add.accumulate(values, axis=0)[-1]


def cross(a: Float64, b: Float64) -> Float64:
    """Row-wise cross product, without np.cross's overhead."""
    result = np.empty(np.broadcast_shapes(a.shape, b.shape))
    result[..., 0] = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    result[..., 1] = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    result[..., 2] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return result


def dot3(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Row-wise dot product, terms added left to right."""
    return a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2]


def triangles(vert: Float64, face: Int32) -> tuple[Float64, Float64, Float64]:
    """Area (n,), unit normal (n, 3) and centre (n, 3) of each face; a face too small has area 0."""
    a, b, c = vert[face[:, 0]], vert[face[:, 1]], vert[face[:, 2]]
    normal = cross(b - a, c - a)
    length = np.sqrt(dot3(normal, normal))
    small = length < MINVAL
    normal /= np.where(small, 1.0, length)[:, None]
    return np.where(small, 0.0, 0.5 * length), normal, (a + b + c) / 3


def face_centroid(area: Float64, center: Float64) -> tuple[float, Float64]:
    """Total area, and the area-weighted mean of face centres."""
    total = float(serial_sum(area))
    centroid = serial_sum(area[:, None] * center)
    return total, centroid / total if total >= MINVAL else centroid


def volume_and_center(
    area: Float64, normal: Float64, center: Float64, apex: Float64, *, absolute: bool
) -> tuple[float, Float64]:
    """Volume and centre of mass of the pyramids from ``apex`` to each face; ``absolute`` counts all as positive."""
    volume = dot3(center - apex, normal) * area / 3
    if absolute:
        volume = np.abs(volume)
    return _weighted(volume, center, apex)


def area_and_center(area: Float64, center: Float64, apex: Float64) -> tuple[float, Float64]:
    """Surface area and MuJoCo's centre of a shell, three quarters of the way from the face centroid to each face."""
    return _weighted(area, center, apex)


def _weighted(weight: Float64, center: Float64, apex: Float64) -> tuple[float, Float64]:
    total = float(serial_sum(weight))
    moment = serial_sum(weight[:, None] * (center * 3.0 / 4.0 + apex / 4.0))
    return total, moment / total if total >= MINVAL else moment


def unit_density_inertia(
    vert: Float64, face: Int32, com: Float64, *, shell: bool, absolute: bool
) -> tuple[float, Float64]:
    """Volume (area for a shell) and the symmetric 3x3 inertia about ``com``, for unit density."""
    centered = vert - com
    area, normal, center = triangles(centered, face)
    weight = area if shell else dot3(center, normal) * area / 3
    if absolute and not shell:
        weight = np.abs(weight)
    d, e, f = centered[face[:, 0]], centered[face[:, 1]], centered[face[:, 2]]
    scale = weight / (12 if shell else 20)
    pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    terms = np.empty((len(face), 6))
    for k, (i, j) in enumerate(pairs):
        di, dj, ei, ej, fi, fj = d[:, i], d[:, j], e[:, i], e[:, j], f[:, i], f[:, j]
        terms[:, k] = scale * (
            2 * (di * dj + ei * ej + fi * fj) + di * ej + dj * ei + di * fj + dj * fi + ei * fj + ej * fi
        )
    p = serial_sum(terms)
    xx, yy, zz, xy, xz, yz = p[1] + p[2], p[0] + p[2], p[0] + p[1], -p[3], -p[4], -p[5]
    return float(serial_sum(weight)), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


# ---- principal axes


def quat_to_mat(q: Float64) -> Float64:
    """3x3 rotation of a unit quaternion (wxyz)."""
    w, x, y, z = (float(c) for c in q)
    if w == 1 and x == 0 and y == 0 and z == 0:
        return np.eye(3)
    ww, wx, wy, wz = w * w, w * x, w * y, w * z
    xx, xy, xz, yy, yz, zz = x * x, x * y, x * z, y * y, y * z, z * z
    return np.array(
        [
            [ww + xx - yy - zz, 2 * (xy - wz), 2 * (xz + wy)],
            [2 * (xy + wz), ww - xx + yy - zz, 2 * (yz - wx)],
            [2 * (xz - wy), 2 * (yz + wx), ww - xx - yy + zz],
        ]
    )


def quat_mul(a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, float, float, float]:
    """Product of two quaternions (wxyz)."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def _normalized(q: tuple[float, ...]) -> tuple[float, ...]:
    norm = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    # MuJoCo leaves what is already of unit length alone, and one bit here can decide a symmetric mesh's frame
    return q if abs(norm - 1) <= 1e-14 else tuple(c / norm for c in q)


def _product(a: list[list[float]], b: list[list[float]]) -> list[list[float]]:
    """3x3 product with the sums in index order; BLAS rounds differently."""
    return [[a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j] for j in range(3)] for i in range(3)]


def principal_axes(matrix: Float64) -> tuple[Float64, Float64]:
    """Eigenvalues of a symmetric 3x3 matrix in descending order, and the quaternion (wxyz) of its eigenvectors.

    Jacobi rotations about one axis at a time, accumulated in a quaternion, until no term off the diagonal exceeds 1e-7
    of the largest term of the matrix. Eigenvalues closer than that keep their order.
    """
    mat = [[float(x) for x in row] for row in matrix]
    tolerance = EIGEN_TOLERANCE * max(abs(x) for row in mat for x in row)
    quat: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)
    value = [mat[0][0], mat[1][1], mat[2][2]]
    for _ in range(500):
        vector = quat_to_mat(np.array(quat)).tolist()
        transposed = [list(row) for row in zip(*vector, strict=True)]
        d = _product(_product(transposed, mat), vector)
        value = [d[0][0], d[1][1], d[2][2]]
        if abs(d[0][1]) > abs(d[0][2]) and abs(d[0][1]) > abs(d[1][2]):
            row, col, axis = 0, 1, 2
        elif abs(d[0][2]) > abs(d[1][2]):
            row, col, axis = 0, 2, 1
        else:
            row, col, axis = 1, 2, 0
        if abs(d[row][col]) <= tolerance:
            break
        tau = (d[col][col] - d[row][row]) / (2 * d[row][col])
        t = 1.0 / (tau + math.sqrt(1 + tau * tau)) if tau >= 0 else -1.0 / (-tau + math.sqrt(1 + tau * tau))
        half = t / (1.0 + math.sqrt(1 + t * t))  # tangent of half the angle, for the quaternion
        cosine = 1.0 / math.sqrt(1 + half * half)
        turn = [cosine, 0.0, 0.0, 0.0]
        turn[axis + 1] = half * cosine if axis == 1 else -half * cosine
        quat = _normalized(_normalized(quat_mul(quat, _normalized(tuple(turn)))))
    for j in (0, 1, 0):  # bubble sort, turning by 90 degrees at each exchange
        if value[j] + tolerance < value[j + 1]:
            value[j], value[j + 1] = value[j + 1], value[j]
            turn = [0.707106781186548, 0.0, 0.0, 0.0]
            turn[(j + 2) % 3 + 1] = turn[0]
            quat = _normalized(_normalized(quat_mul(quat, tuple(turn))))
    return np.array(value), np.array(quat)
