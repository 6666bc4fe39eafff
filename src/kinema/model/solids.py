"""Triangle meshes of simple solids: corners and faces, wound so that normals point outwards.

    turned      a profile (radius, height) of rings about an axis: cylinders, cones, spheres, capsules; a ring of
                radius 0 is one corner
    grid        heights over a rectangle, closed below where it is to be a solid

All stand about the z axis with their centre at the origin, in metres; `upright` turns them to another axis.
"""

from __future__ import annotations

import numpy as np

Solid = tuple[np.ndarray, np.ndarray]
"""Corners (n, 3) and triangles (m, 3)."""


def turned(profile: np.ndarray, segments: int) -> Solid:
    """A solid of revolution: rings from below to above, each of a radius and a height."""
    angle = 2.0 * np.pi * np.arange(segments) / segments
    rings, corners, count = [], [], 0
    for radius, height in np.asarray(profile, float):
        around = angle if radius > 0.0 else angle[:1]
        corners.append(np.stack([radius * np.cos(around), radius * np.sin(around), np.full(len(around), height)], 1))
        rings.append(np.resize(count + np.arange(len(around)), segments))
        count += len(around)
    faces = []
    for low, high in zip(rings, rings[1:], strict=False):
        after, above = np.roll(low, -1), np.roll(high, -1)
        faces += [np.stack([low, after, above], 1), np.stack([low, above, high], 1)]
    triangles = np.concatenate(faces)
    distinct = (triangles[:, 0] != triangles[:, 1]) & (triangles[:, 1] != triangles[:, 2])
    return np.concatenate(corners), triangles[distinct & (triangles[:, 2] != triangles[:, 0])]


def box(hx: float, hy: float, hz: float) -> Solid:
    """A box of half sizes."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float) * (hx, hy, hz)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])


def ellipsoid(rx: float, ry: float, rz: float, latitudes: int, longitudes: int) -> Solid:
    """An ellipsoid by rings of latitude."""
    angle = np.linspace(-0.5 * np.pi, 0.5 * np.pi, latitudes + 1)
    radius = np.cos(angle)
    radius[[0, -1]] = 0.0
    corners, triangles = turned(np.stack([radius, np.sin(angle)], 1), longitudes)
    return corners * (rx, ry, rz), triangles


def cylinder(radius: float, half_height: float, segments: int, top_radius: float | None = None) -> Solid:
    """A cylinder; with another radius at its top a frustum, with 0 a cone."""
    top = radius if top_radius is None else top_radius
    return turned(np.array([[0, -half_height], [radius, -half_height], [top, half_height], [0, half_height]])[
        : 3 if top == 0.0 else 4], segments)  # fmt: skip


def capsule(radius: float, half_height: float, segments: int) -> Solid:
    """A cylinder with halves of a sphere on its ends, which reach beyond `half_height`."""
    angle = np.linspace(0.0, 0.5 * np.pi, max(segments // 4, 2) + 1)
    cap = np.stack([radius * np.cos(angle), half_height + radius * np.sin(angle)], 1)
    cap[-1, 0] = 0.0
    return turned(np.concatenate([cap[::-1] * (1, -1), cap]), segments)


def arrow(base_radius: float, base_height: float, cap_radius: float, cap_height: float, segments: int) -> Solid:
    """A shaft from the origin along z with a cone on it."""
    return turned(np.array([[0, 0], [base_radius, 0], [base_radius, base_height], [cap_radius, base_height],
                            [0, base_height + cap_height]]), segments)  # fmt: skip


def plane(width: float, length: float) -> Solid:
    """A rectangle that looks along z."""
    x, y = 0.5 * width, 0.5 * length
    return np.array([[-x, -y, 0], [x, -y, 0], [x, y, 0], [-x, y, 0]], float), np.array([[0, 1, 2], [0, 2, 3]])


def grid(heights: np.ndarray, extent_x: float, extent_y: float, center: tuple[float, float], ground: float) -> Solid:
    """Heights over a rectangle, rows along x, as a solid that stands on `ground`."""
    n, k = heights.shape
    along = [np.linspace(-0.5, 0.5, count) * extent + middle
             for count, extent, middle in ((n, extent_x, center[0]), (k, extent_y, center[1]))]  # fmt: skip
    x, y = np.meshgrid(*along, indexing="ij")
    top = np.stack([x, y, heights], -1).reshape(-1, 3)
    low = np.stack([x, y, np.full_like(heights, ground, dtype=float)], -1).reshape(-1, 3)
    at = np.arange(n * k).reshape(n, k)
    a, b, c, d = at[:-1, :-1].ravel(), at[1:, :-1].ravel(), at[1:, 1:].ravel(), at[:-1, 1:].ravel()
    above = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    below = above[:, ::-1] + n * k
    rim = np.concatenate([at[:, 0], at[-1, 1:], at[-2::-1, -1], at[0, -2:0:-1]])
    after = np.roll(rim, -1)
    sides = np.concatenate([np.stack([rim + n * k, after + n * k, after], 1), np.stack([rim + n * k, after, rim], 1)])
    return np.concatenate([top, low]), np.concatenate([above, below, sides])


def upright(solid: Solid, axis: int) -> Solid:
    """A solid about z turned to stand about x (0), y (1) or z (2)."""
    corners, triangles = solid
    return np.roll(corners, axis - 2, axis=1), triangles
