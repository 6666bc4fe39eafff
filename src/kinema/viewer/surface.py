"""Triangle surfaces of everything a geom can be: unit primitives, capsules, height fields, meshes.

A surface is made of corners: a vertex has one normal and one texture coordinate, and stands as often as it has
different ones. Primitives are made at unit size, to be scaled per instance: a ball of radius 1, a box of half sizes 1,
a cylinder of radius 1 and half length 1. A capsule cannot be scaled that way, so it is made at its own size.

Texture coordinates (s, t) of primitives run over [0, 1] once, t downwards, as MuJoCo's renderer lays them: s follows
the azimuth, t falls with height; boxes and planes are covered face by face.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles.

    Attributes:
        vertices: (V, 3) positions [m].
        faces: (F, 3) vertices of a triangle, counter-clockwise seen from outside.
        normals: (V, 3) unit vectors.
        uv: (V, 2) texture coordinates, or None.
    """

    vertices: np.ndarray
    faces: np.ndarray
    normals: np.ndarray
    uv: np.ndarray | None = None

    def welded(self) -> Surface:
        """The same surface without texture coordinates; vertices that agree in place and normal become one.

        A page computes normals from shared vertices, so this is what makes round things round and edges sharp.
        """
        rows = np.round(np.hstack([self.vertices, self.normals]).astype(np.float64), 6) + 0.0  # no negative zero
        _, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        faces = place.reshape(-1)[self.faces]
        a, b, c = faces.T
        faces = faces[(a != b) & (b != c) & (c != a)]
        return Surface(self.vertices[first], faces, self.normals[first])

    def scaled(self, scale) -> Surface:
        """The surface stretched along its axes."""
        scale = np.asarray(scale, dtype=np.float32)
        normals = self.normals / scale
        return Surface(self.vertices * scale, self.faces, _unit(normals), self.uv)

    def _float(self) -> Surface:
        uv = None if self.uv is None else self.uv.astype(np.float32)
        faces = self.faces.astype(np.uint32)
        return Surface(self.vertices.astype(np.float32), faces, self.normals.astype(np.float32), uv)

    @property
    def area(self) -> float:
        """Sum of the triangles' areas [m²]."""
        a, b, c = (self.vertices[self.faces[:, k]].astype(np.float64) for k in range(3))
        return float(0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum())


def _unit(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _sheet(points: np.ndarray, normals: np.ndarray, uv: np.ndarray) -> Surface:
    """A grid of points (rows, columns, 3) as triangles; rows go down, columns counter-clockwise."""
    rows, columns = points.shape[:2]
    at = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = at[:-1, :-1].ravel(), at[1:, :-1].ravel(), at[1:, 1:].ravel(), at[:-1, 1:].ravel()
    faces = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    return Surface(points.reshape(-1, 3), faces, normals.reshape(-1, 3), uv.reshape(-1, 2))._float()


def _join(parts: list[Surface]) -> Surface:
    starts = np.cumsum([0] + [len(part.vertices) for part in parts[:-1]])
    return Surface(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([part.faces + start for part, start in zip(parts, starts, strict=True)]),
        np.concatenate([part.normals for part in parts]),
        np.concatenate([part.uv for part in parts]),
    )


# ------------------------------------------------------------------------------------------------ primitives


def plane(x: float = 1.0, y: float = 1.0) -> Surface:
    """A rectangle of half sizes x and y that faces +z."""
    vertices = np.array([[-x, -y, 0], [x, -y, 0], [x, y, 0], [-x, y, 0]])
    uv = np.array([[0, 1], [1, 1], [1, 0], [0, 0]])
    return Surface(vertices, np.array([[0, 1, 2], [0, 2, 3]]), np.tile([0.0, 0, 1], (4, 1)), uv)._float()


def box() -> Surface:
    """A cube of half size 1, six faces of their own."""
    # Each face: outward normal, direction of s, direction of t (downwards on the sides)
    sides = [
        ((1, 0, 0), (0, 1, 0), (0, 0, -1)), ((-1, 0, 0), (0, -1, 0), (0, 0, -1)),
        ((0, -1, 0), (1, 0, 0), (0, 0, -1)), ((0, 1, 0), (-1, 0, 0), (0, 0, -1)),
        ((0, 0, 1), (1, 0, 0), (0, -1, 0)), ((0, 0, -1), (1, 0, 0), (0, 1, 0)),
    ]  # fmt: skip
    parts = []
    for normal, right, down in np.array(sides, dtype=float):
        corners = np.array([normal + i * right + j * down for j in (-1, 1) for i in (-1, 1)])
        faces = np.array([[0, 2, 3], [0, 3, 1]])
        parts.append(Surface(corners, faces, np.tile(normal, (4, 1)), np.array([[0, 0], [1, 0], [0, 1], [1, 1]])))
    return _join(parts)._float()


def _band(angles: np.ndarray, shift: float, radius: float, t: np.ndarray, detail: int) -> Surface:
    """Rings of a sphere at elevations `angles`, lifted by `shift`."""
    turn = np.linspace(0, 2 * np.pi, detail + 1)
    up, around = np.meshgrid(angles, turn, indexing="ij")
    normals = np.stack([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)], axis=-1)
    points = radius * normals
    points[..., 2] += shift
    s = np.broadcast_to(turn / (2 * np.pi), up.shape)
    return _sheet(points, normals, np.stack([s, np.broadcast_to(t[:, None], up.shape)], axis=-1))


def ball(detail: int = 24) -> Surface:
    """A sphere of radius 1 with `detail` points around."""
    angles = np.linspace(np.pi / 2, -np.pi / 2, detail // 2 + 1)
    return _band(angles, 0.0, 1.0, 0.5 - angles / np.pi, detail)


def _wall(radius: float, half: float, detail: int) -> Surface:
    turn = np.linspace(0, 2 * np.pi, detail + 1)
    normals = np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=-1)
    points = np.stack([radius * normals + [0, 0, half], radius * normals - [0, 0, half]])
    uv = np.stack([np.stack([turn / (2 * np.pi), 0 * turn + t], axis=-1) for t in (0.0, 1.0)])
    return _sheet(points, np.stack([normals, normals]), uv)


def cylinder(detail: int = 24) -> Surface:
    """A cylinder of radius 1 and half length 1 along z, with its two discs."""
    turn = np.linspace(0, 2 * np.pi, detail, endpoint=False)
    rim = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    parts = [_wall(1.0, 1.0, detail)]
    around = np.arange(detail)
    for z in (1.0, -1.0):
        points = np.vstack([[0, 0, z], np.column_stack([rim, np.full(detail, z)])])
        fan = np.stack([np.zeros(detail, int), 1 + around, 1 + (around + 1) % detail], axis=1)
        fan = fan if z > 0 else fan[:, ::-1]
        parts.append(Surface(points, fan, np.tile([0, 0, z], (detail + 1, 1)), 0.5 + 0.5 * points[:, :2]))
    return _join(parts)._float()


def capsule(radius: float, half: float, detail: int = 24) -> Surface:
    """A cylinder of half length `half` along z with half balls on its ends."""
    angles = np.linspace(np.pi / 2, 0, detail // 4 + 1)
    top = _band(angles, half, radius, 1 - angles * 2 / np.pi, detail)
    bottom = _band(-angles[::-1], -half, radius, angles[::-1] * 2 / np.pi, detail)
    return _join([top, _wall(radius, half, detail), bottom])._float()


# ------------------------------------------------------------------------------------------------ assets


def mesh(m, index: int) -> Surface:
    """A mesh of the model in its own frame, with its normals and, where it has them, texture coordinates."""
    first, count = int(m.mesh_faceadr[index]), int(m.mesh_facenum[index])
    rows = slice(first, first + count)
    place = np.asarray(m.mesh_face[rows]).reshape(-1) + int(m.mesh_vertadr[index])
    normal = np.asarray(m.mesh_facenormal[rows]).reshape(-1) + int(m.mesh_normaladr[index])
    corners = np.stack([place, normal], axis=1)
    textured = int(m.mesh_texcoordadr[index]) >= 0
    if textured:
        texcoord = np.asarray(m.mesh_facetexcoord[rows]).reshape(-1) + int(m.mesh_texcoordadr[index])
        corners = np.column_stack([corners, texcoord])
    corners, faces = np.unique(corners, axis=0, return_inverse=True)
    return Surface(
        np.asarray(m.mesh_vert)[corners[:, 0]],
        faces.reshape(-1, 3),
        np.asarray(m.mesh_normal)[corners[:, 1]],
        np.asarray(m.mesh_texcoord)[corners[:, 2]] if textured else None,
    )._float()


def height_field(m, index: int) -> Surface:
    """A height field: its top, four walls and a floor `size[3]` below zero."""
    rows, columns = int(m.hfield_nrow[index]), int(m.hfield_ncol[index])
    first = int(m.hfield_adr[index])
    x, y, top, base = (float(v) for v in m.hfield_size[index])
    height = np.asarray(m.hfield_data[first : first + rows * columns], dtype=float).reshape(rows, columns) * top
    along, across = np.linspace(-x, x, columns), np.linspace(-y, y, rows)
    grid_x, grid_y = np.meshgrid(along, across)
    points = np.stack([grid_x, grid_y, height], axis=-1)
    slope_y, slope_x = np.gradient(height, across, along)
    normals = _unit(np.stack([-slope_x, -slope_y, np.ones_like(height)], axis=-1))
    uv = np.stack([(grid_x + x) / (2 * x), (y - grid_y) / (2 * y)], axis=-1)
    parts = [_sheet(points[::-1], normals[::-1], uv[::-1])]  # rows go down: from +y to -y
    rim = [  # seen from outside, each edge from left to right
        (points[0], (0, -1, 0)), (points[::-1][0][::-1], (0, 1, 0)),
        (points[:, -1], (1, 0, 0)), (points[::-1, 0], (-1, 0, 0)),
    ]  # fmt: skip
    for edge, normal in rim:
        wall = np.stack([edge, edge * [1, 1, 0] - [0, 0, base]])
        parts.append(_sheet(wall, np.broadcast_to(normal, wall.shape), np.zeros((*wall.shape[:2], 2))))
    floor = plane(x, y)
    parts.append(Surface(floor.vertices * [1, -1, 1] - [0, 0, base], floor.faces, floor.normals * [1, 1, -1], floor.uv))
    return _join(parts)._float()
