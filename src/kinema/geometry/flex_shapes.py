"""Regular point lattices as meshes: grid, square, disc, box, cylinder, ellipsoid.

The parameters are count[3], spacing[3] and, but for square and disc, a dimension. In three dimensions a shape is its
points alone (the hull makes the faces); in two it is a triangulated surface, which for boxes and their round relatives
leaves out the +z side. A box lattice becomes a cylinder or ellipsoid by pushing its points out from the axis or centre.
"""

from __future__ import annotations

import numpy as np

from kinema.errors import CompileError
from kinema.geometry.mesh import Float64, Int32, MeshData

FLEX_SHAPES = ("grid", "box", "cylinder", "ellipsoid", "square", "disc")
_FLAT = ("square", "disc")


def flex_shape_dim(kind: str, params: list[float]) -> int:
    """Two for a surface, three for a solid."""
    if kind in _FLAT:
        return 2
    return int(params[6]) if len(params) > 6 else 3


def flex_shape(kind: str, params: list[float]) -> MeshData:
    """The mesh of one of `FLEX_SHAPES`."""
    allowed = (6,) if kind in _FLAT else (6, 7)
    if len(params) not in allowed:
        names = (
            "6 parameters (count[3], spacing[3]" if kind in _FLAT else "6 or 7 parameters (count[3], spacing[3], [dim]"
        )
        raise CompileError(f"builtin mesh {kind!r} requires {names}), got {len(params)}")
    count, spacing = [int(x) for x in params[:3]], np.array(params[3:6])
    dim = flex_shape_dim(kind, params)
    if dim not in (2, 3):
        raise CompileError(f"dim of builtin mesh {kind!r} must be 2 or 3, got {dim}")
    least = 1 if kind in ("grid", *_FLAT) else 2
    if min(count) < least:
        raise CompileError(f"count of builtin mesh {kind!r} must be at least {least} along each axis, got {count}")
    if kind not in ("grid", *_FLAT):
        return _box(kind, count, spacing, dim)
    if dim == 2 and count[2] != 1:
        raise CompileError(f"count[2] of builtin mesh {kind!r} must be 1, got {count[2]}")
    if min(count[:dim]) < 2:
        raise CompileError(f"builtin mesh {kind!r} with count {count} has no elements; use at least 2 along each axis")
    return _grid(kind, count, spacing, dim)


def _lattice(count: list[int]) -> np.ndarray:
    """(n, 3) integer coordinates, x slowest."""
    return np.stack(np.meshgrid(*(np.arange(n) for n in count), indexing="ij"), axis=-1).reshape(-1, 3)


def _unit(vector: Float64) -> Float64:
    squared = (vector * vector).sum(axis=1)
    return vector / np.sqrt(np.where(squared < 1e-14, 1.0, squared))[:, None]


def _grid(kind: str, count: list[int], spacing: Float64, dim: int) -> MeshData:
    cell = _lattice(count)
    vert = spacing * (cell - 0.5 * (np.array(count) - 1))
    if dim == 3:
        return MeshData(vert=vert.astype(np.float32))
    vert[:, 2] = 0
    start = cell[(cell[:, 0] < count[0] - 1) & (cell[:, 1] < count[1] - 1)]
    a = start[:, 0] * count[1] + start[:, 1]
    b, c, d = a + count[1], a + count[1] + 1, a + 1
    x, y = vert[a, 0], vert[a, 1]
    # a disc's cells are cut along the diagonal that points at the centre
    flip = ((x < -1e-14) & (y > -1e-14)) | ((x > -1e-14) & (y < -1e-14))
    flip = (flip if kind == "disc" else np.zeros_like(flip))[:, None]
    first = np.where(flip, np.stack([a, b, d], 1), np.stack([a, b, c], 1))
    second = np.where(flip, np.stack([b, c, d], 1), np.stack([a, c, d], 1))
    if kind == "disc":
        reach = np.abs(vert[:, :2]).max(axis=1)
        size = 0.5 * spacing[:2] * (np.array(count[:2]) - 1)
        vert[:, :2] = _unit(vert[:, :2]) * (size * reach[:, None])
    face = np.stack([first, second], axis=1).reshape(-1, 3)
    return MeshData(vert=vert.astype(np.float32), face=face.astype(np.int32))


def _box(kind: str, count: list[int], spacing: Float64, dim: int) -> MeshData:
    top = np.array(count) - 1
    cell = _lattice(count)
    x, y, z = cell.T
    open_top = dim == 2
    sides = [cell[z == 0]]
    if not open_top:
        sides.append(cell[z == top[2]])
    between = (z > 0) & (open_top | (z < top[2]))
    sides += [cell[between & (y == edge)] for edge in (0, top[1])]
    inner = between & (y > 0) & (y < top[1])
    sides += [cell[inner & (x == edge)] for edge in (0, top[0])]
    point = np.concatenate(sides)
    vert = _projected(kind, 2.0 * point / top - 1, 0.5 * spacing * top)
    if not open_top:
        return MeshData(vert=np.concatenate([np.zeros((1, 3)), vert]).astype(np.float32))
    number = np.zeros(count, np.int32)
    number[tuple(point.T)] = np.arange(len(point))
    return MeshData(vert=vert.astype(np.float32), face=open_box_faces(number))


def _projected(kind: str, point: Float64, size: Float64) -> Float64:
    """Points of the cube [-1, 1]^3 on the box, cylinder or ellipsoid of half axes ``size``."""
    if kind == "cylinder":
        reach = np.abs(point[:, :2]).max(axis=1)
        point[:, :2] = _unit(point[:, :2]) * reach[:, None]
    elif kind == "ellipsoid":
        point = _unit(point)
    return point * size


def open_box_faces(number: np.ndarray) -> Int32:
    """Triangles of all sides but +z, outward; ``number[x, y, z]`` is the point at a lattice point."""

    def cells(sheet: np.ndarray, forward: bool) -> np.ndarray:
        """Two triangles a cell of a sheet (i, z): along i, then up; backwards on the opposite side."""
        a, b, c, d = sheet[:-1, :-1], sheet[1:, :-1], sheet[1:, 1:], sheet[:-1, 1:]
        if not forward:
            a, b, c, d = b, a, d, c
        return np.stack([np.stack([a, b, c], -1), np.stack([a, c, d], -1)], axis=-2).reshape(-1, 3)

    floor = number[:, :, 0]
    a, b, c, d = floor[:-1, :-1], floor[1:, :-1], floor[1:, 1:], floor[:-1, 1:]
    bottom = np.stack([np.stack([a, c, b], -1), np.stack([a, d, c], -1)], axis=-2).reshape(-1, 3)
    sides = [
        bottom,
        cells(number[:, 0], True),
        cells(number[:, -1], False),
        cells(number[0], False),
        cells(number[-1], True),
    ]
    return np.concatenate(sides).astype(np.int32)
