"""Mass and inertia: of primitive shapes, of several parts about their common centre, and their principal axes.

    I_total = Σ R(qᵢ) diag(Iᵢ) R(qᵢ)ᵀ + mᵢ (|dᵢ|² 1 − dᵢ dᵢᵀ),    dᵢ = pᵢ − p_com

Shells have their mass on the surface. A symmetric tensor is six numbers: xx yy zz xy xz yz.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kinema.compile import pose
from kinema.mujoco_enums import Geom

_EIGEN_TOLERANCE = 1e-14
_HALF_RIGHT = 0.707106781186548


@dataclass(slots=True)
class Inertial:
    """Mass, centre, principal axes and moments of a body or a part of one."""

    mass: float = 0.0
    pos: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    quat: list[float] = field(default_factory=lambda: list(pose.IDENTITY))
    inertia: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])


# ---- primitive shapes


def shape_volume(kind: int, size: Sequence[float], shell: bool) -> float:
    """Volume of a primitive, or its area if it is a shell; 0 for planes."""
    a, b, c = size
    if kind == Geom.SPHERE:
        return 4 * math.pi * a * a if shell else 4 * math.pi * a * a * a / 3
    if kind == Geom.CAPSULE:
        height = 2 * b
        if shell:
            return 4 * math.pi * a * a + 2 * math.pi * a * height
        return math.pi * (a * a * height + 4 * a * a * a / 3)
    if kind == Geom.CYLINDER:
        height = 2 * b
        return 2 * math.pi * a * (a + height) if shell else math.pi * a * a * height
    if kind == Geom.ELLIPSOID:
        if shell:  # Thomsen's approximation
            p = 1.6075
            return 4 * math.pi * (((a * b) ** p + (b * c) ** p + (c * a) ** p) / 3) ** (1 / p)
        return 4 * math.pi * a * b * c / 3
    if kind in (Geom.BOX, Geom.HFIELD):
        return 8 * (a * b + b * c + c * a) if shell else 8 * a * b * c
    return 0.0


def shape_inertia(kind: int, size: Sequence[float], mass: float, shell: bool) -> list[float]:
    """Principal moments of a primitive of this mass."""
    functions: dict[int, Any] = {
        Geom.SPHERE: _sphere, Geom.CAPSULE: _capsule, Geom.CYLINDER: _cylinder, Geom.ELLIPSOID: _ellipsoid,
        Geom.BOX: _box, Geom.HFIELD: _box,
    }  # fmt: skip
    function = functions.get(kind)
    return [0.0, 0.0, 0.0] if function is None else function(size, mass, shell)


def box_inertia(half: Sequence[float], mass: float) -> list[float]:
    """Moments of a solid box of these half sizes (also of a mesh, by its equivalent box)."""
    x, y, z = (h * h for h in half)
    return [mass * (y + z) / 3, mass * (x + z) / 3, mass * (x + y) / 3]


def _sphere(size: Sequence[float], mass: float, shell: bool) -> list[float]:
    return [2 * mass * size[0] * size[0] / (3 if shell else 5)] * 3


def _capsule(size: Sequence[float], mass: float, shell: bool) -> list[float]:
    radius, half = size[0], size[1]
    height = 2 * half
    if shell:
        ball_area, side_area = 4 * math.pi * radius * radius, 2 * math.pi * radius * height
        ball = mass * ball_area / (ball_area + side_area)
        side = mass - ball
        across = side * (6 * radius * radius + height * height) / 12
        along = side * radius * radius
        own = 2 * ball * radius * radius / 3
        com = radius / 2  # of a hemispherical shell
        return [across + own + ball * ((half + com) * (half + com) - com * com)] * 2 + [along + own]
    ball = mass * 4 * radius / (4 * radius + 3 * height)
    side = mass - ball
    across = side * (3 * radius * radius + height * height) / 12
    along = side * radius * radius / 2
    own = 2 * ball * radius * radius / 5
    return [across + own + ball * height * (3 * radius + 2 * height) / 8] * 2 + [along + own]


def _cylinder(size: Sequence[float], mass: float, shell: bool) -> list[float]:
    radius, half = size[0], size[1]
    height = 2 * half
    if not shell:
        return [mass * (3 * radius * radius + height * height) / 12] * 2 + [mass * radius * radius / 2]
    disk_area, side_area = math.pi * radius * radius, 2 * math.pi * radius * height
    disk = mass * disk_area / (2 * disk_area + side_area)
    side = mass - 2 * disk
    across = side * (6 * radius * radius + height * height) / 12 + 2 * disk * (radius * radius / 4 + half * half)
    return [across, across, side * radius * radius + disk * radius * radius]


def _ellipsoid(size: Sequence[float], mass: float, shell: bool) -> list[float]:
    def solid(axes: Sequence[float], m: float) -> list[float]:
        x, y, z = (s * s for s in axes)
        return [m * (y + z) / 5, m * (x + z) / 5, m * (x + y) / 5]

    if not shell:
        return solid(size, mass)
    grown = [s + 1e-6 for s in size]  # a shell is a slightly larger ellipsoid less this one
    inner, outer = (4 * math.pi * math.prod(axes) / 3 for axes in (size, grown))
    density = mass / (outer - inner)
    a, b = solid(size, inner * density), solid(grown, outer * density)
    return [y - x for x, y in zip(a, b, strict=True)]


def _box(size: Sequence[float], mass: float, shell: bool) -> list[float]:
    if not shell:
        return box_inertia(size, mass)
    total = [0.0, 0.0, 0.0]
    length = [2 * s for s in size]
    area = [length[(k + 1) % 3] * length[(k + 2) % 3] for k in range(3)]
    for k in range(3):  # the two faces across axis k
        i, j = (k + 1) % 3, (k + 2) % 3
        face = mass * area[k] / (2 * sum(area))
        total[i] += 2 * face * (length[j] * length[j] / 12 + size[k] * size[k])
        total[j] += 2 * face * (length[i] * length[i] / 12 + size[k] * size[k])
        total[k] += 2 * face * (length[i] * length[i] + length[j] * length[j]) / 12
    return total


# ---- several parts


def combine(parts: Iterable[Inertial]) -> tuple[float, list[float], list[float]]:
    """Total mass, common centre, and the inertia tensor about it (6)."""
    parts = list(parts)
    mass = sum(part.mass for part in parts)
    com = [sum(part.mass * part.pos[k] for part in parts) / mass for k in range(3)]
    total = [0.0] * 6
    for part in parts:
        d = [part.pos[k] - com[k] for k in range(3)]
        own, moved = tensor(part.quat, part.inertia), steiner(part.mass, d)
        total = [t + a + b for t, a, b in zip(total, own, moved, strict=True)]
    return mass, com, total


def tensor(quat: Sequence[float], moments: Sequence[float]) -> list[float]:
    """R diag(moments) Rᵀ as six numbers."""
    m = pose.matrix(quat)
    r = (m[0:3], m[3:6], m[6:9])

    def entry(i: int, j: int) -> float:
        return sum(r[i][k] * (r[j][k] * moments[k]) for k in range(3))

    return [entry(0, 0), entry(1, 1), entry(2, 2), entry(0, 1), entry(0, 2), entry(1, 2)]


def steiner(mass: float, d: Sequence[float]) -> list[float]:
    """What moving a mass by d adds to its tensor."""
    x, y, z = d
    return [
        mass * (y * y + z * z),
        mass * (x * x + z * z),
        mass * (x * x + y * y),
        -mass * x * y,
        -mass * x * z,
        -mass * y * z,
    ]


def principal_axes(full: Sequence[float]) -> tuple[list[float], list[float]]:
    """Moments, largest first, and the quaternion of their axes, by Jacobi rotations from the identity.

    Ends when no product of inertia exceeds 1e-14 of the largest entry; moments closer than that keep their order.
    """
    xx, yy, zz, xy, xz, yz = full
    a = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    tolerance = _EIGEN_TOLERANCE * max(abs(x) for x in full)
    quat = list(pose.IDENTITY)
    moments = [xx, yy, zz]
    for _ in range(500):
        m = pose.matrix(quat)
        axes = (m[0::3], m[1::3], m[2::3])
        turned = [[sum(a[i][k] * axis[k] for k in range(3)) for i in range(3)] for axis in axes]
        d = [[sum(axes[i][k] * turned[j][k] for k in range(3)) for j in range(3)] for i in range(3)]
        moments = [d[0][0], d[1][1], d[2][2]]
        if abs(d[0][1]) > abs(d[0][2]) and abs(d[0][1]) > abs(d[1][2]):
            row, column, about = 0, 1, 2
        elif abs(d[0][2]) > abs(d[1][2]):
            row, column, about = 0, 2, 1
        else:
            row, column, about = 1, 2, 0
        if abs(d[row][column]) <= tolerance:
            break
        tau = (d[column][column] - d[row][row]) / (2 * d[row][column])
        t = 1 / (tau + math.sqrt(1 + tau * tau)) if tau >= 0 else -1 / (-tau + math.sqrt(1 + tau * tau))
        half = t / (1 + math.sqrt(1 + t * t))  # tangent of half the angle
        cosine = 1 / math.sqrt(1 + half * half)
        turn = [cosine, 0.0, 0.0, 0.0]
        turn[about + 1] = half * cosine if about == 1 else -half * cosine
        quat = pose.multiply(quat, pose.normalize(turn)[0])
    for lead in (0, 1, 0):  # bubble sort, turning the axes along
        if moments[lead] + tolerance < moments[lead + 1]:
            moments[lead], moments[lead + 1] = moments[lead + 1], moments[lead]
            turn = [_HALF_RIGHT, 0.0, 0.0, 0.0]
            turn[(lead + 2) % 3 + 1] = _HALF_RIGHT
            quat = pose.multiply(quat, turn)
    return moments, quat
