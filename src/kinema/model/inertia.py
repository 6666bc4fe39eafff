"""Mass, centre of mass and inertia of shapes and bodies.

    primitives     closed forms
    hollow         outer solid minus inner solid, walls `margin` thick
    mesh           divergence theorem over tetrahedra (0, a, b, c):  V = a.(b x c)/6,  int x = V (a+b+c)/4,
                   int x x^T = V/20 (a a^T + b b^T + c c^T + s s^T) with s = a + b + c,  I = tr(S) 1 - S
    change of frame    I' = R I R^T + m (d.d 1 - d d^T)
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import BuildError
from .enums import GeoType
from .transform import quat_matrix

Mass = tuple[float, np.ndarray, np.ndarray]
"""Mass [kg], centre of mass [m], inertia about it [kg m²]."""

_EIGENVALUE_RATIO = 1.0e-6
_EIGENVALUE_FLOOR = 1.0e-10
_ADJUSTMENT = 1.0e-6


def _diagonal(mass: float, x: float, y: float, z: float) -> Mass:
    return mass, np.zeros(3), np.diag([x, y, z])


def sphere(density: float, r: float) -> Mass:
    """Solid sphere."""
    m = density * 4.0 / 3.0 * math.pi * r**3
    return _diagonal(m, *(0.4 * m * r * r,) * 3)


def box(density: float, hx: float, hy: float, hz: float) -> Mass:
    """Solid box with the given half extents."""
    m = density * 8.0 * hx * hy * hz
    return _diagonal(m, m / 3 * (hy**2 + hz**2), m / 3 * (hx**2 + hz**2), m / 3 * (hx**2 + hy**2))


def ellipsoid(density: float, rx: float, ry: float, rz: float) -> Mass:
    """Solid ellipsoid with the given semi-axes."""
    m = density * 4.0 / 3.0 * math.pi * rx * ry * rz
    return _diagonal(m, m / 5 * (ry**2 + rz**2), m / 5 * (rx**2 + rz**2), m / 5 * (rx**2 + ry**2))


def capsule(density: float, r: float, half_height: float) -> Mass:
    """Solid capsule along z: a cylinder between two half spheres."""
    h = 2.0 * half_height
    ball, tube = density * 4.0 / 3.0 * math.pi * r**3, density * math.pi * r * r * h
    across = tube * (r * r / 4 + h * h / 12) + ball * (0.4 * r * r + 0.375 * r * h + 0.25 * h * h)
    return _diagonal(ball + tube, across, across, (0.5 * tube + 0.4 * ball) * r * r)


def cylinder(density: float, r: float, half_height: float, barrel_radius: float = 0.0) -> Mass:
    """Solid cylinder along z, or a barrel whose wall is an arc of radius `barrel_radius`."""
    if barrel_radius:
        node, weight = np.polynomial.legendre.leggauss(32)
        z, w = half_height * node, half_height * weight
        ends = math.sqrt(barrel_radius**2 - half_height**2)
        radius = r + (half_height**2 - z * z) / (np.sqrt(barrel_radius**2 - z * z) + ends)
        m = density * math.pi * float(w @ radius**2)
        across = density * math.pi * float(w @ (0.25 * radius**4 + radius**2 * z * z))
        return _diagonal(m, across, across, 0.5 * density * math.pi * float(w @ radius**4))
    h = 2.0 * half_height
    m = density * math.pi * r * r * h
    across = m / 12 * (3 * r * r + h * h)
    return _diagonal(m, across, across, 0.5 * m * r * r)


def cone(density: float, r: float, half_height: float) -> Mass:
    """Solid cone along z, apex up; its centre of mass lies a quarter of the height above the base."""
    h = 2.0 * half_height
    m = density * math.pi * r * r * h / 3.0
    across = 3 / 20 * m * r * r + 3 / 80 * m * h * h
    return m, np.array([0.0, 0.0, -h / 4.0]), np.diag([across, across, 0.3 * m * r * r])


def mesh(density: float, vertices: np.ndarray, indices: np.ndarray) -> Mass:
    """Solid closed triangle mesh; a mesh turned inside out weighs the same."""
    a, b, c = np.moveaxis(np.asarray(vertices, np.float64)[np.asarray(indices).reshape(-1, 3)], 1, 0)
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0
    total = a + b + c
    volume = volumes.sum()
    first = np.einsum("i,ij->j", volumes, total) / 4.0
    second = sum(np.einsum("i,ij,ik->jk", volumes, x, x) for x in (a, b, c, total)) / 20.0
    sign = -1.0 if volume < 0 else 1.0
    volume, first, second = sign * volume, sign * first, sign * second
    if volume == 0.0:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    com, m = first / volume, density * volume
    about_origin = density * (np.trace(second) * np.eye(3) - second)
    return m, com, about_origin - m * _steiner(com)


def hollow_mesh(density: float, vertices: np.ndarray, indices: np.ndarray, thickness: float) -> Mass:
    """Shell of a triangle mesh, `thickness` to either side of it: thin prisms over the triangles."""
    a, b, c = np.moveaxis(np.asarray(vertices, np.float64)[np.asarray(indices).reshape(-1, 3)], 1, 0)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2.0
    m = density * 2.0 * thickness * area
    total = m.sum()
    if total == 0.0:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    s = a + b + c
    second = sum(np.einsum("i,ij,ik->jk", m, x, x) for x in (a, b, c, s)) / 12.0
    com = np.einsum("i,ij->j", m, s) / (3.0 * total)
    return total, com, np.trace(second) * np.eye(3) - second - total * _steiner(com)


def _steiner(d: np.ndarray) -> np.ndarray:
    return d @ d * np.eye(3) - np.outer(d, d)


_SOLIDS: dict[int, tuple[Callable[..., Mass], int, tuple[str, ...]]] = {
    GeoType.SPHERE: (sphere, 1, ("radius",)),
    GeoType.BOX: (box, 3, ("hx", "hy", "hz")),
    GeoType.CAPSULE: (capsule, 2, ("radius", "half_height")),
    GeoType.CYLINDER: (cylinder, 3, ("radius", "half_height")),
    GeoType.CONE: (cone, 2, ("radius", "half_height")),
    GeoType.ELLIPSOID: (ellipsoid, 3, ("rx", "ry", "rz")),
}
"""Function, number of sizes, and names of the sizes a wall must be thinner than."""


def shape_mass(kind: int, scale: np.ndarray, source: Any, density: float, is_solid: bool, margin: float) -> Mass:
    """Mass properties of a shape in its own frame."""
    nothing = 0.0, np.zeros(3), np.zeros((3, 3))
    if density == 0.0 or kind in (GeoType.PLANE, GeoType.HFIELD, GeoType.GAUSSIAN, GeoType.NONE, GeoType.SDF):
        return nothing
    if kind in (GeoType.MESH, GeoType.CONVEX_MESH):
        if source is None:
            raise BuildError("a mesh shape with density needs a mesh")
        vertices = np.asarray(source.vertices, np.float64) * scale
        if is_solid:
            return mesh(density, vertices, source.indices)
        return hollow_mesh(density, vertices, source.indices, margin)
    solid, sizes, limits = _SOLIDS[GeoType(kind)]
    outer = solid(density, *scale[:sizes])
    if is_solid:
        return outer
    for name, size in zip(limits, scale, strict=False):
        if margin >= size > 0.0:
            raise BuildError(f"a hollow shape needs margin < {name}, got margin={margin} and {name}={size}")
    if margin == 0.0:
        warnings.warn("a hollow shape with margin 0 has no mass", stacklevel=3)
        return nothing
    inner = solid(density, *np.where(scale[:sizes] > 0.0, scale[:sizes] - margin, 0.0))
    m = outer[0] - inner[0]
    com = (outer[0] * outer[1] - inner[0] * inner[1]) / m
    inertia = outer[2] + outer[0] * _steiner(com - outer[1]) - inner[2] - inner[0] * _steiner(com - inner[1])
    return m, com, inertia


def add_mass(body: Mass, part: Mass, pose: np.ndarray) -> Mass:
    """Mass properties of a body together with a part placed in it at `pose`."""
    m = body[0] + part[0]
    if m == 0.0:
        return body
    rotation = quat_matrix(pose[3:])
    centre = rotation @ part[1] + pose[:3]
    com = (body[1] * body[0] + centre * part[0]) / m
    inertia = body[2] + body[0] * _steiner(com - body[1])
    return m, com, inertia + rotation @ part[2] @ rotation.T + part[0] * _steiner(com - centre)


def inverse_inertia(inertia: np.ndarray) -> np.ndarray:
    """Inverses of inertia matrices, shape (n, 3, 3); zero where a matrix is zero or singular."""
    wide = inertia.astype(np.float64)
    usable = np.abs(np.linalg.det(wide)) > 0.0
    wide[~usable] = np.eye(3)
    inverse = np.linalg.inv(wide)
    inverse[~usable] = 0.0
    return inverse


def correct_inertia(
    mass: np.ndarray, inertia: np.ndarray, *, balance: bool, bound_mass: float | None, bound_inertia: float | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mass and inertia made physical, and which bodies changed.

    Symmetric, positive eigenvalues, and the triangle inequality I1 + I2 >= I3 where `balance`; massless bodies have no
    inertia.
    """
    m, full = mass.astype(np.float64), inertia.astype(np.float64)
    bad = ~np.isfinite(m) | ~np.isfinite(full).all(axis=(1, 2)) | (m < 0.0)
    m = np.where(bad, 0.0, m)
    if bound_mass is not None:
        m = np.where((m > 0.0) & (m < bound_mass), bound_mass, m)
    full = np.where((m == 0.0)[:, None, None], 0.0, full)
    full = (full + full.transpose(0, 2, 1)) / 2.0
    heavy = m > 0.0
    moments = np.linalg.eigvalsh(full)
    threshold = np.maximum(_EIGENVALUE_RATIO * moments[:, 2], _EIGENVALUE_FLOOR)
    shift = np.where(heavy & (moments[:, 0] < threshold), threshold - moments[:, 0] + _ADJUSTMENT, 0.0)
    if bound_inertia is not None:
        shift += np.where(heavy, np.maximum(bound_inertia - (moments[:, 0] + shift), 0.0), 0.0)
    if balance:
        lack = moments[:, 2] - moments[:, 0] - moments[:, 1] - shift
        tolerance = np.maximum(np.finfo(np.float32).eps * (moments[:, 2] + shift), _EIGENVALUE_FLOOR)
        shift += np.where(heavy & (lack > tolerance), lack + _ADJUSTMENT, 0.0)
    full += shift[:, None, None] * np.eye(3)
    close = np.isclose(full, inertia, rtol=1e-5, atol=1e-8).all(axis=(1, 2)) & (m.astype(mass.dtype) == mass)
    return m.astype(mass.dtype), full.astype(inertia.dtype), ~close
