"""Points and elements of the shapes <flexcomp> generates: grid, circle, square, disc, box, cylinder, ellipsoid.

A shape of dimension d is points (n, 3) and elements of d + 1 points each: segments, triangles or tetrahedra.

    grid       a lattice; each cell cut into 2 triangles or 6 tetrahedra
    circle     (d = 1) a closed chain whose segments have the length `spacing`
    square     a grid in the plane; a disc is one pushed out to a circle, its cells cut towards the centre
    box        the surface of a lattice; solid (d = 3): its triangles joined to the centre, point 0; a shell (d = 2)
               leaves out the side +z; d = 1 is one chain through all points. Cylinder and ellipsoid are boxes
               pushed out.

Texture coordinates are the lattice coordinates in [0, 1], of a side of a box those along it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from kinema.geometry.flex_shapes import open_box_faces
from kinema.geometry.mesh import Float32, Float64, Int32

EPS = 1e-14
TETRAHEDRA = np.array([[0, 3, 1, 7], [0, 1, 4, 7], [1, 3, 2, 7], [1, 2, 6, 7], [1, 5, 4, 7], [1, 6, 5, 7]])
"""A cube as six tetrahedra around the diagonal 1-7; corners run around the bottom, then around the top."""


@dataclass
class FlexPoints:
    """A shape: its points (n, 3), elements (m, dim + 1), and texture coordinates.

    Attributes:
        texcoord: (t, 2), or empty.
        elemtexcoord: (m, dim + 1) indices of texture coordinates, or empty where they are the points' own.
    """

    dim: int
    point: Float64
    element: Int32
    texcoord: Float32 = field(default_factory=lambda: np.zeros((0, 2), np.float32))
    elemtexcoord: Int32 = field(default_factory=lambda: np.zeros((0, 3), np.int32))


def generate(kind: str, dim: int, count: list[int], spacing: list[float], texture: bool) -> FlexPoints:
    """The shape of a type that is generated; raises ValueError where it has no elements."""
    if kind in ("box", "cylinder", "ellipsoid"):
        shape = _box(kind, dim, count, np.array(spacing))
    else:
        shape = _grid(kind, 2 if kind in ("square", "disc") else dim, count, np.array(spacing))
    if not texture:
        shape.texcoord = np.zeros((0, 2), np.float32)
    return shape


def _lattice(count: list[int]) -> np.ndarray:
    """(n, 3) integer coordinates, x slowest."""
    return np.stack(np.meshgrid(*(np.arange(n) for n in count), indexing="ij"), axis=-1).reshape(-1, 3)


def _unit(vector: Float64) -> Float64:
    """Vectors of length one; a zero vector stays."""
    squared = (vector * vector).sum(axis=1)
    return vector / np.sqrt(np.where(squared < EPS, 1.0, squared))[:, None]


def _share(coordinate: np.ndarray, number: int) -> np.ndarray:
    return coordinate / max(number - 1, 1)


# ---- grids


def _grid(kind: str, dim: int, count: list[int], spacing: Float64) -> FlexPoints:
    if dim == 1:
        shape = _circle(count[0], spacing[0]) if kind == "circle" else _chain(count[0], spacing[0])
    elif dim == 2:
        shape = _sheet(kind == "disc", count, spacing)
    else:
        shape = _solid(count, spacing)
    if not len(shape.element):
        least = "4 points" if kind == "circle" and dim == 1 else "2 points along each axis"
        raise ValueError(f"no elements were created: a {kind} of dim {dim} needs a count of at least {least}")
    return shape


def _chain(number: int, spacing: float) -> FlexPoints:
    point = np.zeros((number, 3))
    point[:, 0] = spacing * (np.arange(number) - 0.5 * (number - 1))
    first = np.arange(number - 1)
    return FlexPoints(1, point, np.stack([first, first + 1], 1).astype(np.int32))


def _circle(count: int, spacing: float) -> FlexPoints:
    number = count - 1  # the last point is the first again
    if number < 3:
        return FlexPoints(1, np.zeros((0, 3)), np.zeros((0, 2), np.int32))
    angle = 2 * math.pi / number
    radius = spacing / math.sin(angle / 2) / 2
    point = np.zeros((number, 3))
    point[:, 0] = [radius * math.cos(angle * i) for i in range(number)]
    point[:, 1] = [radius * math.sin(angle * i) for i in range(number)]
    first = np.arange(number)
    return FlexPoints(1, point, np.stack([first, (first + 1) % number], 1).astype(np.int32))


def _sheet(disc: bool, count: list[int], spacing: Float64) -> FlexPoints:
    cell = _lattice([count[0], count[1], 1])
    point = np.zeros((len(cell), 3))
    point[:, :2] = spacing[:2] * (cell[:, :2] - 0.5 * (np.array(count[:2]) - 1))
    start = cell[(cell[:, 0] < count[0] - 1) & (cell[:, 1] < count[1] - 1)]
    x, y = (start[:, k] for k in range(2))
    a, b, c, d = ((x + i) * count[1] + y + j for i, j in ((0, 0), (1, 0), (1, 1), (0, 1)))
    if disc:  # cells are cut along the diagonal that points at the centre
        px, py = point[a, 0], point[a, 1]
        flip = (((px < -EPS) & (py > -EPS)) | ((px > -EPS) & (py < -EPS)))[:, None]
    else:
        flip = np.zeros((len(a), 1), bool)
    first = np.where(flip, np.stack([a, b, d], 1), np.stack([a, b, c], 1))
    second = np.where(flip, np.stack([b, c, d], 1), np.stack([a, c, d], 1))
    element = count[2] * np.stack([first, second], axis=1).reshape(-1, 3)  # a third count above one has no points
    if disc:
        reach = np.abs(point[:, :2]).max(axis=1)
        size = 0.5 * spacing[:2] * (np.array(count[:2]) - 1)
        point[:, :2] = _unit(point[:, :2]) * (size * reach[:, None])
    texcoord = np.stack([_share(cell[:, k], count[k]) for k in range(2)], 1).astype(np.float32)
    return FlexPoints(2, point, element.astype(np.int32), texcoord)


def _solid(count: list[int], spacing: Float64) -> FlexPoints:
    cell = _lattice(count)
    point = spacing * (cell - 0.5 * (np.array(count) - 1))
    start = cell[(cell < np.array(count) - 1).all(axis=1)]
    x, y, z = start.T
    around = ((0, 0), (1, 0), (1, 1), (0, 1))
    corner = [((x + i) * count[1] + y + j) * count[2] + z + k for k in (0, 1) for i, j in around]
    element = np.stack(corner, 1)[:, TETRAHEDRA].reshape(-1, 4)
    texcoord = np.stack([_share(cell[:, k], count[k]) for k in range(2)], 1).astype(np.float32)
    return FlexPoints(3, point, element.astype(np.int32), texcoord)


# ---- boxes


def _box(kind: str, dim: int, count: list[int], spacing: Float64) -> FlexPoints:
    if min(count) < 2:
        raise ValueError(f"no elements were created: count of a {kind} must be at least 2 along each axis")
    top = np.array(count) - 1
    cell = _lattice(count)
    x, y, z = cell.T
    shell = dim == 2  # open at the top
    between = (z > 0) & (shell | (z < top[2]))
    inner = between & (y > 0) & (y < top[1])
    sides = [z == 0] if shell else [z == 0, z == top[2]]
    walls = [between & (y == edge) for edge in (0, top[1])]
    ends = [inner & (x == edge) for edge in (0, top[0])]
    chosen = [cell[mask] for mask in (*sides, *walls, *ends)]
    along = [(0, 1)] * len(sides) + [(0, 2)] * 2 + [(1, 2)] * 2
    tex = [np.stack([_share(c[:, k], count[k]) for k in axes], 1) for c, axes in zip(chosen, along, strict=True)]
    lattice = np.concatenate(chosen)
    point = _projected(kind, 2.0 * lattice / top - 1, 0.5 * spacing * top)
    number = np.zeros(count, np.int64)
    number[tuple(lattice.T)] = np.arange(len(lattice))
    texcoord = np.concatenate(tex)
    if dim == 3:
        element = np.concatenate([_fan(number + 1, axis) for axis in (2, 1, 0)])
        element = np.concatenate([np.zeros((len(element), 1), np.int64), element], axis=1)
        point, texcoord = (np.concatenate([np.zeros((1, n.shape[1])), n]) for n in (point, texcoord))
    elif shell:
        element = open_box_faces(number)
    else:
        first = np.arange(len(point) - 1)
        element = np.stack([first, first + 1], 1)
    return FlexPoints(dim, point, element.astype(np.int32), texcoord.astype(np.float32))


def _projected(kind: str, point: Float64, size: Float64) -> Float64:
    """Points of the cube [-1, 1]^3 on the box, cylinder or ellipsoid of half axes ``size``."""
    if kind == "cylinder":
        reach = np.abs(point[:, :2]).max(axis=1)
        flat = _unit(point[:, :2])
        return np.concatenate([flat * (size[:2] * reach[:, None]), point[:, 2:] * size[2]], axis=1)
    return (_unit(point) if kind == "ellipsoid" else point) * size


def _fan(number: np.ndarray, axis: int) -> np.ndarray:
    """Triangles of the two sides across an axis, each cell cut along the same diagonal."""
    sheets = []
    for edge in (0, -1):
        sheet = np.take(number, edge, axis=axis)
        a, b, c, d = sheet[:-1, :-1], sheet[1:, :-1], sheet[1:, 1:], sheet[:-1, 1:]
        sheets.append(np.stack([np.stack([a, b, c], -1), np.stack([a, d, c], -1)], axis=-2).reshape(-1, 3))
    return np.concatenate(sheets)
