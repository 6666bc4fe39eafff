"""Putting host columns and geometry onto a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

from .enums import GeoType
from .fields import Field
from .sources import mesh_edges


@wp.struct
class HeightfieldData:
    """One height field: where its elevations start, and its extents [m], scaled."""

    data_offset: wp.int32
    nrow: wp.int32
    ncol: wp.int32
    hx: wp.float32
    hy: wp.float32
    min_z: wp.float32
    max_z: wp.float32


@wp.struct
class GaussianData:
    """One cloud of Gaussian splats: how many it has."""

    num_points: wp.int32


def device_array(field: Field, rows: np.ndarray, device: wp.Device, *, requires_grad: bool = False) -> wp.array:
    """A column on the device. On the CPU the memory is shared, so `rows` must not be written to afterwards."""
    if field.flat:
        rows = rows.reshape(-1)
    grad = requires_grad and field.grad
    if rows.size == 0:
        shape = rows.shape[: rows.ndim - len(getattr(field.dtype, "_shape_", ()))]
        return wp.empty(shape, dtype=field.dtype, device=device, requires_grad=grad)
    return wp.array(rows, dtype=field.dtype, device=device, requires_grad=grad, copy=False)


class DeviceGeometry:
    """Meshes, height fields and edges of all shapes, each source once."""

    def __init__(self, types: np.ndarray, scales: np.ndarray, sources: Callable[[], np.ndarray], device: Any):
        count = len(types)
        self.pointers = np.zeros(count, np.uint64)
        self.edge_range = np.tile(np.array([-1, 0], np.int32), (count, 1))
        self.heightfield_index = np.full(count, -1, np.int32)
        self.meshes: list[wp.Mesh] = []
        self.heightfield_meshes: list[wp.Mesh] = []
        self.heightfields: list[Any] = []
        self.gaussians: list[Any] = []
        self._elevations: list[np.ndarray] = []
        self._edges: list[np.ndarray] = []
        self._device = device
        self._known: dict[int, Any] = {}
        used = np.isin(types, (GeoType.MESH, GeoType.CONVEX_MESH, GeoType.HFIELD, GeoType.GAUSSIAN))
        if used.any():
            objects = sources()
            for shape in np.flatnonzero(used).tolist():
                if objects[shape] is not None:
                    self._add(shape, GeoType(types[shape]), objects[shape], scales[shape])

    def _add(self, shape: int, kind: GeoType, source: Any, scale: np.ndarray) -> None:
        known = self._known.get(id(source))
        if known is None:
            known = self._known[id(source)] = self._upload(kind, source)
        self.pointers[shape], edges = known
        if edges is not None:
            self.edge_range[shape] = edges
        if kind == GeoType.HFIELD:
            self._add_heightfield(shape, source, scale)

    def _upload(self, kind: GeoType, source: Any) -> tuple[int, tuple[int, int] | None]:
        if kind == GeoType.GAUSSIAN:
            data: Any = GaussianData()
            data.num_points = int(getattr(source, "count", 0) or 0)
            self.gaussians.append(data)
            return len(self.gaussians) - 1, None
        vertices, indices = heightfield_mesh(source) if kind == GeoType.HFIELD else (source.vertices, source.indices)
        mesh = wp.Mesh(
            points=wp.array(np.asarray(vertices, np.float32).reshape(-1, 3), dtype=wp.vec3, device=self._device),
            indices=wp.array(np.asarray(indices, np.int32).reshape(-1), dtype=wp.int32, device=self._device),
        )
        if kind == GeoType.HFIELD:
            self.heightfield_meshes.append(mesh)
            return mesh.id, None
        self.meshes.append(mesh)
        edges = mesh_edges(indices)
        start = sum(len(chunk) for chunk in self._edges)
        self._edges.append(edges)
        return mesh.id, (start, len(edges))

    def _add_heightfield(self, shape: int, source: Any, scale: np.ndarray) -> None:
        data: Any = HeightfieldData()
        data.data_offset = sum(map(len, self._elevations))
        data.nrow, data.ncol = source.nrow, source.ncol
        data.hx, data.hy = float(source.hx * scale[0]), float(source.hy * scale[1])
        data.min_z, data.max_z = float(source.min_z * scale[2]), float(source.max_z * scale[2])
        self.heightfield_index[shape] = len(self.heightfields)
        self.heightfields.append(data)
        self._elevations.append(np.asarray(source.data, np.float32).reshape(-1))

    @property
    def elevations(self) -> np.ndarray:
        """Elevations of all height fields, one after the other."""
        return np.concatenate([*self._elevations, np.empty(0, np.float32)])

    @property
    def edges(self) -> np.ndarray:
        """Edges of all meshes, one mesh after the other."""
        return np.concatenate([*self._edges, np.empty((0, 2), np.int32)])


def heightfield_mesh(field: Any) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of a height field's surface."""
    x = np.linspace(-field.hx, field.hx, field.ncol)
    y = np.linspace(-field.hy, field.hy, field.nrow)
    z = field.min_z + np.asarray(field.data) * (field.max_z - field.min_z)
    vertices = np.stack([*np.meshgrid(x, y), z], axis=-1).reshape(-1, 3)
    corner = (np.arange(field.nrow - 1)[:, None] * field.ncol + np.arange(field.ncol - 1)).reshape(-1)
    right, up = corner + 1, corner + field.ncol
    triangles = np.stack([corner, right, up + 1, corner, up + 1, up], axis=1)
    return vertices, triangles.reshape(-1)
