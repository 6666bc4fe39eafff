"""Geometry that shapes point at: triangle meshes, height fields, tetrahedral meshes, as plain arrays.

Anything with the same attributes does as well (`vertices` and `indices`; `data`, `hx`, `hy`, `min_z`, `max_z`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BuildError, WrongKind, did_you_mean
from .mesh_makers import MeshMakers


class Mesh(MeshMakers):
    """Triangle mesh.

    Args:
        vertices: Positions [m], shape (n, 3).
        indices: Vertex indices of the triangles, three each.
        color: Display colour, 0 to 1.
        looks: What else Newton's Mesh takes; kept for whoever asks, and nothing here draws or simulates it.
    """

    LOOKS = (
        "normals", "uvs", "compute_inertia", "is_solid", "maxhullvert", "roughness", "metallic", "texture",
        "texture_transform", "opacity",
    )  # fmt: skip

    def __init__(self, vertices: Any, indices: Any, color: Any = None, **looks: Any):
        unknown = [name for name in looks if name not in self.LOOKS]
        if unknown:
            raise WrongKind(f"Mesh has no argument {unknown[0]!r}{did_you_mean(unknown[0], self.LOOKS)}")
        self.looks = looks
        self._on_device: dict[str, Any] = {}
        self.vertices = np.asarray(vertices, dtype=np.float32).reshape(-1, 3)
        self.indices = np.asarray(indices, dtype=np.int32).reshape(-1)
        self.color = color
        _check_indices("Mesh", self.indices, 3, len(self.vertices))
        if not np.all(np.isfinite(self.vertices)):
            raise BuildError("Mesh: vertices must be finite")

    def finalize(self, device: Any = None, requires_grad: bool = False, *, bvh_constructor: str | None = None) -> int:
        """The id of a Warp mesh of it on a device, made once; how its boxes are sorted is Warp's affair."""
        import warp as wp

        from ..devices import device_named

        place = device_named(device)
        if str(place) not in self._on_device:
            points: wp.array = wp.array(self.vertices, dtype=wp.vec3, device=place, requires_grad=requires_grad)
            faces: wp.array = wp.array(self.indices, dtype=wp.int32, device=place)
            self._on_device[str(place)] = wp.Mesh(points=points, indices=faces)
        return int(self._on_device[str(place)].id)

    @property
    def edges(self) -> np.ndarray:
        """Each edge once, as two vertex indices in rising order, shape (m, 2)."""
        return mesh_edges(self.indices)


class TetMesh:
    """Tetrahedral mesh with material parameters for `add_soft_mesh`."""

    def __init__(
        self,
        vertices: Any,
        tet_indices: Any,
        *,
        k_mu: Any = None,
        k_lambda: Any = None,
        k_damp: Any = None,
        density: float | None = None,
    ):
        self.vertices = np.asarray(vertices, dtype=np.float32).reshape(-1, 3)
        self.tet_indices = np.asarray(tet_indices, dtype=np.int32).reshape(-1)
        self.k_mu, self.k_lambda, self.k_damp, self.density = k_mu, k_lambda, k_damp, density
        _check_indices("TetMesh", self.tet_indices, 4, len(self.vertices))


class Heightfield:
    """Grid of elevations over [-hx, hx] by [-hy, hy].

    Args:
        data: Elevations, shape (nrow, ncol), rows along y; scaled so that they span [min_z, max_z].
        nrow: Number of rows.
        ncol: Number of columns.
        hx: Half extent [m] along x.
        hy: Half extent [m] along y.
        min_z: Lowest elevation [m]; that of the data if None.
        max_z: Highest elevation [m]; that of the data if None.
    """

    def __init__(
        self,
        data: Any,
        nrow: int,
        ncol: int,
        hx: float = 1.0,
        hy: float = 1.0,
        min_z: float | None = None,
        max_z: float | None = None,
    ):
        raw = np.asarray(data, dtype=np.float32).reshape(nrow, ncol)
        low, high = float(raw.min()), float(raw.max())
        self.data = (raw - low) / (high - low) if high > low else np.zeros_like(raw)
        self.nrow, self.ncol, self.hx, self.hy = int(nrow), int(ncol), float(hx), float(hy)
        self.min_z = low if min_z is None else float(min_z)
        self.max_z = high if max_z is None else float(max_z)


def _check_indices(what: str, indices: np.ndarray, corners: int, count: int) -> None:
    if len(indices) % corners or (len(indices) and (indices.min() < 0 or indices.max() >= count)):
        raise BuildError(f"{what}: indices must come in groups of {corners} and lie in 0 to {count - 1}")


def mesh_edges(indices: np.ndarray) -> np.ndarray:
    """Each edge of a triangle mesh once, shape (m, 2)."""
    triangles = np.asarray(indices).reshape(-1, 3)
    edges = np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    return np.unique(edges, axis=0).astype(np.int32)
