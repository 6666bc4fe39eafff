"""Adding cloth and soft bodies: particles, elements, surface and bending edges of grids and meshes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..errors import BuildError
from .bodies import nonnegative, vector
from .color import ColoringAlgorithm, color_graph, element_edges
from .enums import ParticleFlags
from .particles import ParticleMethods, check_dims, place_points

_FACES = np.array([[0, 2, 1], [1, 2, 3], [0, 1, 3], [0, 3, 2]])
"""Faces of a tetrahedron, seen from outside."""

_ODD = np.array([[0, 1, 4, 3], [2, 3, 6, 1], [5, 4, 1, 6], [7, 6, 3, 4], [4, 1, 6, 3]])
_EVEN = np.array([[1, 2, 5, 0], [3, 0, 7, 2], [4, 7, 0, 5], [6, 5, 2, 7], [5, 2, 7, 0]])
"""Five tetrahedra of a cell, in the two patterns that alternate so that faces of neighbours match."""


def bending_edges(triangles: np.ndarray) -> np.ndarray:
    """Each edge of a triangle mesh as [o0, o1, v0, v1] in order of first appearance; o1 is -1 on the border."""
    start = triangles.reshape(-1)
    end, opposite = np.roll(triangles, -1, axis=1).reshape(-1), np.roll(triangles, -2, axis=1).reshape(-1)
    keys = np.sort(np.stack([start, end], axis=1), axis=1)
    _, first, inverse, uses = np.unique(keys, axis=0, return_index=True, return_inverse=True, return_counts=True)
    if np.any(uses > 2):
        warnings.warn(f"{int((uses > 2).sum())} edges have more than two triangles", stacklevel=4)
    inverse = inverse.reshape(-1)
    second = np.full(len(first), -1)
    later = np.flatnonzero(np.arange(len(start)) != first[inverse])[::-1]
    second[inverse[later]] = later  # the earliest of the later ones is written last
    edges = np.stack([opposite[first], np.where(second < 0, -1, opposite[second]), start[first], end[first]], axis=1)
    return edges[np.argsort(first)]


def surface(tetrahedra: np.ndarray) -> np.ndarray:
    """Faces that belong to one tetrahedron only, in order."""
    faces = tetrahedra[:, _FACES].reshape(-1, 3)
    _, inverse, uses = np.unique(np.sort(faces, axis=1), axis=0, return_inverse=True, return_counts=True)
    return faces[uses[inverse.reshape(-1)] == 1]


class DeformableMethods(ParticleMethods):
    """The builder's methods that add cloth and soft bodies, and colour what moves together."""

    def add_cloth_grid(
        self, *, pos: Any, rot: Any, vel: Any, dim_x: int, dim_y: int, cell_x: float, cell_y: float, mass: float,
        reverse_winding: bool = False, fix_left: bool = False, fix_right: bool = False, fix_top: bool = False,
        fix_bottom: bool = False, tri_ke: float | None = None, tri_ka: float | None = None,
        tri_kd: float | None = None, tri_drag: float | None = None, tri_lift: float | None = None,
        edge_ke: float | None = None, edge_kd: float | None = None, add_springs: bool = False,
        spring_ke: float | None = None, spring_kd: float | None = None, particle_radius: float | None = None,
        color: Any = None, opacity: Any = None, custom_attributes_particles: dict[str, Any] | None = None,
        custom_attributes_edges: dict[str, Any] | None = None,
        custom_attributes_triangles: dict[str, Any] | None = None, label: str | None = None,
    ) -> None:  # fmt: skip
        """Add a rectangle of cloth of `dim_x` by `dim_y` cells; sides may be fixed; `mass` [kg] is each particle's."""
        call = "add_cloth_grid()"
        check_dims(call, dim_x=dim_x, dim_y=dim_y)
        mass = nonnegative(mass, call, "mass")
        y, x = (axis.reshape(-1) for axis in np.mgrid[0 : dim_y + 1, 0 : dim_x + 1])
        vertices = np.stack([x * cell_x, y * cell_y, np.zeros(len(x))], axis=1)
        corner = (np.arange(dim_y)[:, None] * (dim_x + 1) + np.arange(dim_x)).reshape(-1)
        v0, v1, v2, v3 = corner, corner + 1, corner + dim_x + 2, corner + dim_x + 1
        pairs = (v0, v1, v2, v0, v2, v3) if reverse_winding else (v0, v1, v3, v1, v2, v3)
        with self.all_or_nothing():
            start = self.count("particle")
            self.add_cloth_mesh(
                pos=pos, rot=rot, scale=1.0, vel=vel, vertices=vertices, indices=np.stack(pairs, axis=1).reshape(-1),
                density=1.0, tri_ke=tri_ke, tri_ka=tri_ka, tri_kd=tri_kd, tri_drag=tri_drag, tri_lift=tri_lift,
                edge_ke=edge_ke, edge_kd=edge_kd, add_springs=add_springs, spring_ke=spring_ke, spring_kd=spring_kd,
                particle_radius=particle_radius, color=color, opacity=opacity,
                custom_attributes_particles=custom_attributes_particles,
                custom_attributes_edges=custom_attributes_edges,
                custom_attributes_triangles=custom_attributes_triangles, label=label,
            )  # fmt: skip
            fixed = (x == 0) & fix_left | (x == dim_x) & fix_right | (y == 0) & fix_bottom | (y == dim_y) & fix_top
            self._column("particle_mass").write(start, np.where(fixed, 0.0, mass))
            self._column("particle_flags").write(start, np.where(fixed, 0, int(ParticleFlags.ACTIVE)))

    def add_cloth_mesh(
        self, *, pos: Any, rot: Any, scale: float, vel: Any, vertices: Any, indices: Any, density: float,
        tri_ke: float | None = None, tri_ka: float | None = None, tri_kd: float | None = None,
        tri_drag: float | None = None, tri_lift: float | None = None, edge_ke: float | None = None,
        edge_kd: float | None = None, add_springs: bool = False, spring_ke: float | None = None,
        spring_kd: float | None = None, particle_radius: float | None = None, color: Any = None, opacity: Any = None,
        custom_attributes_particles: dict[str, Any] | None = None,
        custom_attributes_edges: dict[str, Any] | None = None,
        custom_attributes_triangles: dict[str, Any] | None = None,
        custom_attributes_springs: dict[str, Any] | None = None, validate_mesh: bool = False,
        label: str | None = None,
    ) -> None:  # fmt: skip
        """Add cloth from a triangle mesh: a particle per vertex, an element per triangle, a bending edge per edge.

        `density` [kg/m²] spreads each triangle's mass over its corners. `validate_mesh` warns of sharp triangles, and
        names the cloth by its `label`.
        """
        call = "add_cloth_mesh()"
        self.mutable(call)
        local = mesh_indices(indices, 3, len(vertices), call)
        points = place_points(np.asarray(vertices, np.float64).reshape(-1, 3) * scale, pos, rot, call)
        density = nonnegative(density, call, "density")
        if validate_mesh:
            warn_slivers(points, local, call, label)
        with self.all_or_nothing():
            start, first_tri = self.count("particle"), self.count("triangle")
            self._add_points(points, vel, np.zeros(len(points)), particle_radius, custom_attributes_particles, call)
            corners = local + start
            areas = self.add_triangles(
                *corners.T, tri_ke=tri_ke, tri_ka=tri_ka, tri_kd=tri_kd, tri_drag=tri_drag, tri_lift=tri_lift,
                color=color, opacity=opacity, custom_attributes=custom_attributes_triangles,
            )  # fmt: skip
            mass = np.zeros(len(points))
            np.add.at(mass, local.reshape(-1), np.repeat(density * np.array(areas) / 3.0, 3))
            self._column("particle_mass").write(start, mass)
            edges = self._add_bending_edges(first_tri, edge_ke, edge_kd, custom_attributes_edges, call)
            if add_springs:
                ke = self.default_spring_ke if spring_ke is None else spring_ke
                kd = self.default_spring_kd if spring_kd is None else spring_kd
                for i, j in spring_pairs(edges):
                    self.add_spring(i, j, ke, kd, 0.0, custom_attributes_springs)

    def _add_points(self, points, vel, mass, radius, custom, call) -> None:
        count = len(points)
        given = self.default_particle_radius if radius is None else nonnegative(radius, call, "particle_radius")
        velocity = np.tile(vector(vel, 3, call, "vel"), (count, 1))
        self.add_particles(points, velocity, mass, np.full(count, given), custom_attributes=custom)

    def _add_bending_edges(self, first_tri: int, ke: Any, kd: Any, custom: dict | None, call: str) -> np.ndarray:
        triangles = self.rows("tri_indices")[first_tri:]
        edges = bending_edges(triangles.astype(np.int64)) if len(triangles) else np.empty((0, 4), np.int64)
        if len(edges):
            self._add_edges(call, edges, None, ke, kd, custom)
        return edges

    def add_soft_grid(
        self, *, pos: Any, rot: Any, vel: Any, dim_x: int, dim_y: int, dim_z: int, cell_x: float, cell_y: float,
        cell_z: float, density: float, k_mu: float, k_lambda: float, k_damp: float, fix_left: bool = False,
        fix_right: bool = False, fix_top: bool = False, fix_bottom: bool = False, tri_ke: float = 0.0,
        tri_ka: float = 0.0, tri_kd: float = 0.0, tri_drag: float = 0.0, tri_lift: float = 0.0,
        add_surface_mesh_edges: bool = True, edge_ke: float = 0.0, edge_kd: float = 0.0,
        particle_radius: float | None = None, color: Any = None, opacity: Any = None, label: str | None = None,
    ) -> None:  # fmt: skip
        """Add a block of soft material: cells of five tetrahedra, a surface of triangles; sides may be fixed.

        `density` [kg/m³] gives every particle the mass of one cell.
        """
        call = "add_soft_grid()"
        self.mutable(call)
        check_dims(call, dim_x=dim_x, dim_y=dim_y, dim_z=dim_z)
        density = nonnegative(density, call, "density")
        z, y, x = (axis.reshape(-1) for axis in np.mgrid[0 : dim_z + 1, 0 : dim_y + 1, 0 : dim_x + 1])
        points = place_points(np.stack([x * cell_x, y * cell_y, z * cell_z], axis=1), pos, rot, call)
        fixed = (x == 0) & fix_left | (x == dim_x) & fix_right | (y == 0) & fix_bottom | (y == dim_y) & fix_top
        mass = np.where(fixed, 0.0, cell_x * cell_y * cell_z * density)
        tetrahedra = grid_tetrahedra(dim_x, dim_y, dim_z)
        with self.all_or_nothing():
            start = self.count("particle")
            self._add_points(points, vel, mass, particle_radius, None, call)
            self._add_tetrahedra(call, tetrahedra + start, k_mu, k_lambda, k_damp)
            self._add_surface(
                surface(tetrahedra) + start, (tri_ke, tri_ka, tri_kd, tri_drag, tri_lift), color, opacity,
                add_surface_mesh_edges, edge_ke, edge_kd, call,
            )  # fmt: skip

    def _add_surface(self, triangles, material, color, opacity, with_edges, edge_ke, edge_kd, call) -> None:
        first_tri = self.count("triangle")
        names = ("tri_ke", "tri_ka", "tri_kd", "tri_drag", "tri_lift")
        self.add_triangles(*triangles.T, color=color, opacity=opacity, **dict(zip(names, material, strict=True)))
        if with_edges:
            self._add_bending_edges(first_tri, edge_ke, edge_kd, None, call)

    def add_soft_mesh(
        self, *, pos: Any, rot: Any, scale: float, vel: Any, mesh: Any = None, vertices: Any = None,
        indices: Any = None, density: float | None = None, k_mu: Any = None, k_lambda: Any = None,
        k_damp: Any = None, tri_ke: float = 0.0, tri_ka: float = 0.0, tri_kd: float = 0.0, tri_drag: float = 0.0,
        tri_lift: float = 0.0, add_surface_mesh_edges: bool = True, edge_ke: float = 0.0, edge_kd: float = 0.0,
        particle_radius: float | None = None, color: Any = None, opacity: Any = None, validate_mesh: bool = False,
        label: str | None = None,
    ) -> None:  # fmt: skip
        """Add soft material from a tetrahedral mesh, given as a `TetMesh` or as vertices and indices.

        `density` [kg/m³] spreads each tetrahedron's mass over its corners; the Lamé parameters [Pa] and damping [Pa s]
        are numbers or one per tetrahedron. What is given here wins over what the mesh says.
        """
        call = "add_soft_mesh()"
        self.mutable(call)
        if mesh is not None:
            vertices = mesh.vertices if vertices is None else vertices
            indices = mesh.tet_indices if indices is None else indices
        if vertices is None or indices is None:
            raise BuildError(f"{call}: give mesh, or vertices and indices")
        local = mesh_indices(indices, 4, len(vertices), call)
        points = place_points(np.asarray(vertices, np.float64).reshape(-1, 3) * scale, pos, rot, call)

        def chosen(value: Any, name: str) -> Any:
            value = getattr(mesh, name, None) if value is None else value
            return getattr(self, f"default_tet_{name}") if value is None else value

        density = nonnegative(chosen(density, "density"), call, "density")
        material = [chosen(value, name) for value, name in ((k_mu, "k_mu"), (k_lambda, "k_lambda"), (k_damp, "k_damp"))]
        if validate_mesh:
            warn_slivers(points, local[:, _FACES].reshape(-1, 3), call, label)
        with self.all_or_nothing():
            start = self.count("particle")
            self._add_points(points, vel, np.zeros(len(points)), particle_radius, None, call)
            volumes = self._add_tetrahedra(call, local + start, *material)
            mass = np.zeros(len(points))
            np.add.at(mass, local.reshape(-1), np.repeat(density * np.maximum(volumes, 0.0) / 4.0, 4))
            self._column("particle_mass").write(start, mass)
            self._add_surface(
                surface(local) + start, (tri_ke, tri_ka, tri_kd, tri_drag, tri_lift), color, opacity,
                add_surface_mesh_edges, edge_ke, edge_kd, call,
            )  # fmt: skip

    def color(
        self,
        include_bending: bool = False,
        balance_colors: bool = True,
        target_max_min_color_ratio: float = 1.1,
        coloring_algorithm: ColoringAlgorithm = ColoringAlgorithm.MCS,
    ) -> None:
        """Colour particles and bodies so that no two of one colour share an element or a joint.

        Args:
            include_bending: Whether the opposite corners of bending edges count as neighbours too.
            balance_colors: Whether to even out the sizes of the groups of particles.
            target_max_min_color_ratio: How much larger the largest group may be than the smallest.
            coloring_algorithm: Order in which particles are coloured.
        """
        self.mutable("color()")
        names = ["tri_indices", "tet_indices", "spring_indices", *(["edge_indices"] if include_bending else [])]
        edges = element_edges(*(self.rows(name) for name in names))
        ratio = target_max_min_color_ratio if balance_colors else None
        colors = color_graph(self.count("particle"), edges, ColoringAlgorithm(coloring_algorithm), ratio)
        self.edit("particle_colors")[:] = colors
        joints = element_edges(np.stack([self.rows("joint_parent"), self.rows("joint_child")], axis=1))
        self.edit("body_colors")[:] = color_graph(self.count("body"), joints)

    @property
    def particle_color_groups(self) -> list[np.ndarray]:
        """Particles of each colour."""
        colors = self.rows("particle_colors")
        return [np.flatnonzero(colors == color) for color in range(int(colors.max(initial=-1)) + 1)]

    def set_coloring(self, particle_color_groups: Any) -> None:
        """Give particles colours found elsewhere, as groups of indices."""
        self.mutable("set_coloring()")
        colors = np.full(self.count("particle"), -1, np.int32)
        for color, group in enumerate(particle_color_groups):
            colors[self.check_indices("particle", np.asarray(group), "set_coloring()")] = color
        self.edit("particle_colors")[:] = colors


def mesh_indices(indices: Any, corners: int, count: int, call: str) -> np.ndarray:
    """Indices of mesh elements, shape (n, corners), inside the vertices."""
    array = np.asarray(indices).reshape(-1)
    if array.size % corners or array.dtype.kind not in "iu":
        raise BuildError(f"{call}: indices must be integers in groups of {corners}, got {array.size}")
    if array.size and (array.min() < 0 or array.max() >= count):
        wrong = array[(array < 0) | (array >= count)][0]
        raise BuildError(f"{call}: vertex {wrong} is not in 0 to {count - 1}")
    return array.reshape(-1, corners).astype(np.int64)


SHARPEST = np.deg2rad(5.0)
"""Angle below which a corner makes an element hard to simulate."""


def warn_slivers(points: np.ndarray, triangles: np.ndarray, call: str, label: str | None) -> None:
    """Warn of triangles with a corner sharper than `SHARPEST`."""
    corners = points[triangles]
    sides = np.roll(corners, -1, axis=1) - corners
    lengths = np.maximum(np.linalg.norm(sides, axis=2), 1e-30)
    cosines = -np.einsum("tij,tij->ti", sides, np.roll(sides, 1, axis=1)) / (lengths * np.roll(lengths, 1, axis=1))
    sharp = np.arccos(np.clip(cosines, -1.0, 1.0)).min(axis=1, initial=np.pi) < SHARPEST
    if sharp.any():
        name = f" of {label!r}" if label else ""
        warnings.warn(f"{call}: {int(sharp.sum())} triangles{name} have a corner under 5 degrees", stacklevel=3)


def grid_tetrahedra(dim_x: int, dim_y: int, dim_z: int) -> np.ndarray:
    """Tetrahedra of a grid of cells, five each, as vertex indices, shape (n, 4)."""
    z, y, x = (axis.reshape(-1) for axis in np.mgrid[0:dim_z, 0:dim_y, 0:dim_x])
    step_y, step_z = dim_x + 1, (dim_x + 1) * (dim_y + 1)
    v0 = step_z * z + step_y * y + x
    offsets = np.array([0, 1, 1 + step_z, step_z, step_y, 1 + step_y, 1 + step_y + step_z, step_y + step_z])
    cells = v0[:, None] + offsets
    odd = ((x + y + z) % 2 == 1)[:, None, None]
    return np.where(odd, cells[:, _ODD], cells[:, _EVEN]).reshape(-1, 4)


def spring_pairs(edges: np.ndarray) -> list[tuple[int, int]]:
    """Particles to connect: both ends of each edge, ends with opposite corners, opposite corners with each other."""
    o0, o1, v0, v1 = edges.T
    pairs = np.concatenate([np.stack(p, axis=1) for p in ((v0, v1), (o0, v0), (o0, v1), (o1, v0), (o1, v1), (o0, o1))])
    pairs = np.sort(pairs[(pairs >= 0).all(axis=1)], axis=1)
    return [tuple(pair) for pair in np.unique(pairs, axis=0).tolist()]
