"""Meshes made of a few numbers, read from files, copied and wrapped, under Newton's names: `Mesh.create_box(...)`.

What Newton computes besides (normals, texture coordinates) is for pictures: the arguments are taken, and nothing here
draws them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import WrongKind, did_you_mean
from . import solids
from .enums import Axis

Y = Axis.Y


class MeshMakers:
    """Ways to make a mesh; `Mesh` has them."""

    vertices: np.ndarray
    indices: np.ndarray
    color: Any

    @classmethod
    def _of(cls, solid: solids.Solid, axis: Any = Axis.Z, **unused: Any) -> Any:
        corners, triangles = solids.upright(solid, int(Axis.from_any(axis)))
        return cls(corners, triangles.reshape(-1))  # type: ignore[call-arg]

    @classmethod
    def create_box(cls, hx: float, hy: float | None = None, hz: float | None = None, **looks: Any) -> Any:
        """A box of half sizes [m]; a cube where only the first is given."""
        _check(looks, "duplicate_vertices")
        return cls._of(solids.box(hx, hx if hy is None else hy, hx if hz is None else hz))

    @classmethod
    def create_sphere(
        cls, radius: float = 1.0, *, num_latitudes: int = 32, num_longitudes: int = 32, reverse_winding: bool = False,
        **looks: Any,
    ) -> Any:  # fmt: skip
        """A sphere."""
        return cls.create_ellipsoid(
            radius, radius, radius, num_latitudes=num_latitudes, num_longitudes=num_longitudes,
            reverse_winding=reverse_winding, **looks,
        )  # fmt: skip

    @classmethod
    def create_ellipsoid(
        cls, rx: float = 1.0, ry: float = 1.0, rz: float = 1.0, *, num_latitudes: int = 32, num_longitudes: int = 32,
        reverse_winding: bool = False, **looks: Any,
    ) -> Any:  # fmt: skip
        """An ellipsoid of half axes [m]."""
        _check(looks)
        corners, triangles = solids.ellipsoid(rx, ry, rz, num_latitudes, num_longitudes)
        return cls._of((corners, triangles[:, ::-1] if reverse_winding else triangles))

    @classmethod
    def create_capsule(
        cls, radius: float, half_height: float, *, up_axis: Any = Y, segments: int = 32, **looks: Any
    ) -> Any:
        """A capsule; its cylinder is twice `half_height` long, its caps reach beyond."""
        _check(looks)
        return cls._of(solids.capsule(radius, half_height, segments), up_axis)

    @classmethod
    def create_cylinder(
        cls, radius: float, half_height: float, *, up_axis: Any = Y, segments: int = 32,
        top_radius: float | None = None, **looks: Any,
    ) -> Any:  # fmt: skip
        """A cylinder, or with another radius at the top a frustum."""
        _check(looks, "barrel_radius")
        return cls._of(solids.cylinder(radius, half_height, segments, top_radius), up_axis)

    @classmethod
    def create_cone(
        cls, radius: float, half_height: float, *, up_axis: Any = Y, segments: int = 32, **looks: Any
    ) -> Any:
        """A cone, its tip up."""
        _check(looks)
        return cls._of(solids.cylinder(radius, half_height, segments, 0.0), up_axis)

    @classmethod
    def create_arrow(
        cls, base_radius: float, base_height: float, *, cap_radius: float | None = None,
        cap_height: float | None = None, up_axis: Any = Y, segments: int = 32, **looks: Any,
    ) -> Any:  # fmt: skip
        """An arrow from the origin; its head is as wide as 1.8 shafts and half as long, unless said."""
        _check(looks)
        wide, long = 1.8 * base_radius if cap_radius is None else cap_radius, cap_height or 0.5 * base_height
        return cls._of(solids.arrow(base_radius, base_height, wide, long, segments), up_axis)

    @classmethod
    def create_plane(cls, width: float, length: float, **looks: Any) -> Any:
        """A rectangle that looks along z."""
        _check(looks)
        return cls._of(solids.plane(width, length))

    @classmethod
    def create_heightfield(
        cls, heightfield: Any, extent_x: float, extent_y: float, center_x: float = 0.0, center_y: float = 0.0,
        ground_z: float = 0.0, **looks: Any,
    ) -> Any:  # fmt: skip
        """Heights [m] over a rectangle, rows along x, as a solid that stands on `ground_z`."""
        _check(looks)
        heights = np.asarray(heightfield, dtype=float)
        return cls._of(solids.grid(heights, extent_x, extent_y, (center_x, center_y), ground_z))

    @classmethod
    def create_from_usd(cls, source: Any = None, *, prim: Any = None, **options: Any) -> Any:
        """The mesh of a prim: `kinema.usd.get_mesh`."""
        from ..usd import get_mesh  # a higher layer, imported on use

        return get_mesh(prim if source is None else source, **options)

    def copy(self, vertices: Any = None, indices: Any = None, recompute_inertia: bool = False) -> Any:
        """A mesh of one's own, with other corners or faces if given."""
        mine = (self.vertices if vertices is None else vertices, self.indices if indices is None else indices)
        return type(self)(*(np.array(values) for values in mine), color=self.color)  # type: ignore[call-arg]

    def compute_convex_hull(self, replace: bool = False) -> Any:
        """The convex hull; with `replace` this mesh becomes it."""
        from .approximation import convex_hull

        found = convex_hull(self.vertices.astype(float))
        corners, indices = found.vertices, found.indices
        if replace:
            self.vertices, self.indices = corners, indices
            return self
        return type(self)(corners, indices, color=self.color)  # type: ignore[call-arg]

    @property
    def is_watertight(self) -> bool:
        """Whether every edge has two faces, that go along it opposite ways."""
        triangles = np.asarray(self.indices).reshape(-1, 3)
        ways = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
        return len(np.unique(ways, axis=0)) == len(ways) and {tuple(w) for w in ways.tolist()} == {
            tuple(w) for w in ways[:, ::-1].tolist()
        }


LOOKS = ("compute_normals", "compute_uvs", "compute_inertia")


def _check(given: dict[str, Any], *more: str) -> None:
    for name in given:
        if name not in (*LOOKS, *more):
            raise WrongKind(f"there is no argument {name!r}{did_you_mean(name, [*LOOKS, *more])}")
