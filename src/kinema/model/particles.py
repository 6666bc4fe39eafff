"""Adding particles and the elements between them: springs, triangles, bending edges, tetrahedra, muscles.

    triangle       rest shape D = [q-p, r-p] in the plane of the triangle, stored as D^-1; area = det D / 2
    tetrahedron    rest shape D = [q-p, r-p, s-p], stored as D^-1; volume = det D / 6
    bending edge   rest angle between the normals of (i, k, l) and (j, l, k) about the edge k l
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import BuildError
from .bodies import nonnegative, vector
from .columns import numeric
from .enums import ParticleFlags
from .frequency import MUSCLE, MUSCLE_POINT
from .shapes import ShapeMethods
from .transform import quat_rotate

TRI_COLOR = (0.7, 0.5, 0.3)


def rows_of(values: Any, count: int, width: int, call: str, name: str) -> np.ndarray:
    """`values` as `count` rows of `width` finite floats."""
    array = numeric(values)
    if array is None or array.dtype.kind not in "fiub" or array.size != count * width:
        got = "nothing" if values is None else f"{np.shape(values)}"
        raise BuildError(f"{call}: {name} needs {count} rows of {width}, got {got}")
    if not np.all(np.isfinite(array)):
        raise BuildError(f"{call}: {name} must be finite")
    return array.reshape(count, width).astype(np.float64) if width > 1 else array.reshape(count).astype(np.float64)


def spread(value: Any, default: float, count: int, call: str, name: str) -> np.ndarray:
    """One number for all, one for each, or the default."""
    array = np.asarray(default if value is None else value, dtype=np.float64)
    if array.ndim and array.size != count:
        raise BuildError(f"{call}: {name} needs {count} values, got {array.size}")
    return np.broadcast_to(array.reshape(-1) if array.ndim else array, count)


def normalized(vectors: np.ndarray) -> np.ndarray:
    """Unit vectors; zero stays zero."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length == 0.0, 1.0, length)


class ParticleMethods(ShapeMethods):
    """The builder's methods that add particles and elements."""

    def add_particle(
        self, pos: Any, vel: Any, mass: float, radius: float | None = None, flags: int = ParticleFlags.ACTIVE,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a particle; returns its index.

        Args:
            pos: Position [m].
            vel: Velocity [m/s].
            mass: Mass [kg]; 0 fixes it.
            radius: Radius [m].
            flags: `ParticleFlags`.
            custom_attributes: Values of custom attributes of frequency PARTICLE.
        """
        call = "add_particle()"
        self.mutable(call)
        rows = self.prepare("particle", 1, {
            "particle_q": vector(pos, 3, call, "pos"), "particle_qd": vector(vel, 3, call, "vel"),
            "particle_mass": nonnegative(mass, call, "mass"),
            "particle_radius": self.default_particle_radius if radius is None else nonnegative(radius, call, "radius"),
            "particle_flags": int(flags),
        }, call)  # fmt: skip
        custom = self.prepare_custom({"particle": 1}, custom_attributes, call)
        index = self.commit("particle", 1, rows)
        self.commit_custom("particle", index, custom["particle"])
        return index

    def add_particles(
        self, pos: Any, vel: Any, mass: Any, radius: Any = None, flags: Any = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Add many particles; arguments are lists of what `add_particle` takes."""
        call = "add_particles()"
        self.mutable(call)
        count = len(pos)
        masses = rows_of(mass, count, 1, call, "mass")
        if np.any(masses < 0.0):
            raise BuildError(f"{call}: mass {masses.min()} is negative")
        columns = {
            "particle_q": rows_of(pos, count, 3, call, "pos"),
            "particle_qd": rows_of(vel, count, 3, call, "vel"),
            "particle_mass": masses,
            "particle_radius": np.full(count, self.default_particle_radius) if radius is None else radius,
            "particle_flags": np.full(count, int(ParticleFlags.ACTIVE)) if flags is None else flags,
        }
        self._add_elements("particle", count, columns, custom_attributes, call)

    def _add_elements(self, kind: str, count: int, columns: dict, custom: dict | None, call: str) -> int:
        """Append `count` rows with custom values given once or as lists."""
        rows = self.prepare(kind, count, columns, call)
        values = {
            key: self._spread(self._checked(key, kind, call), value, count, False, call)
            for key, value in (custom or {}).items()
        }
        start = self.commit(kind, count, rows)
        self.commit_custom(kind, start, [(key, 0, given) for key, given in values.items()])
        return start

    def _checked(self, key: str, kind: str, call: str) -> Any:
        field = self._attribute_field(key, call)
        if field.frequency != kind:
            raise BuildError(f"{call}: {key!r} has frequency {field.frequency!r}, but this call adds rows of {kind!r}")
        return field

    def add_particle_grid(
        self, *, pos: Any, rot: Any, vel: Any, dim_x: int, dim_y: int, dim_z: int, cell_x: float, cell_y: float,
        cell_z: float, mass: float, jitter: float, radius_mean: float | None = None, radius_std: float = 0.0,
        flags: Any = None, custom_attributes: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Add a grid of particles, moved by up to half of `jitter` [m] from their places."""
        call = "add_particle_grid()"
        check_dims(call, dim_x=dim_x, dim_y=dim_y, dim_z=dim_z)
        axes = (np.arange(dim_x) * cell_x, np.arange(dim_y) * cell_y, np.arange(dim_z) * cell_z)
        points = place_points(np.stack(np.meshgrid(*axes)).reshape(3, -1).T, pos, rot, call)
        rng = np.random.default_rng(42 + self.count("particle"))
        points = points + (rng.random(points.shape) - 0.5) * jitter
        count = len(points)
        radii = np.full(count, self.default_particle_radius if radius_mean is None else radius_mean)
        if radius_std > 0.0:
            radii = radii + rng.standard_normal(count) * radius_std
        velocity = np.tile(vector(vel, 3, call, "vel"), (count, 1))
        given = None if flags is None else np.broadcast_to(np.asarray(flags), count)
        self.add_particles(points, velocity, np.full(count, mass), radii, given, custom_attributes)

    def add_spring(
        self, i: int, j: int, ke: float, kd: float, control: float, custom_attributes: dict[str, Any] | None = None
    ) -> int:
        """Add a spring between two particles: stiffness [N/m], damping [N s/m], activation; returns its index."""
        call = "add_spring()"
        self.mutable(call)
        ends = self.check_indices("particle", [i, j], call)
        if i == j:
            raise BuildError(f"{call}: both ends are particle {i}: a spring joins two")
        q = self.rows("particle_q")[ends].astype(np.float64)
        return self._add_elements("spring", 1, {
            "spring_indices": ends, "spring_rest_length": np.linalg.norm(q[0] - q[1]), "spring_stiffness": ke,
            "spring_damping": kd, "spring_control": control,
        }, custom_attributes, call)  # fmt: skip

    def add_triangle(
        self, i: int, j: int, k: int, *, tri_ke: float | None = None, tri_ka: float | None = None,
        tri_kd: float | None = None, tri_drag: float | None = None, tri_lift: float | None = None, color: Any = None,
        opacity: float | None = None, custom_attributes: dict[str, Any] | None = None,
    ) -> float:  # fmt: skip
        """Add a triangle; returns its area [m²], 0 for a degenerate one, which is left out."""
        values = (tri_ke, tri_ka, tri_kd, tri_drag, tri_lift)
        lists = [None if value is None else [value] for value in values]
        custom = {key: [value] for key, value in (custom_attributes or {}).items()}
        return self._add_triangles("add_triangle()", np.array([[i, j, k]]), lists, color, opacity, custom)[0]

    def add_triangles(
        self, i: Any, j: Any, k: Any, *, tri_ke: Any = None, tri_ka: Any = None, tri_kd: Any = None,
        tri_drag: Any = None, tri_lift: Any = None, color: Any = None, opacity: Any = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> list[float]:  # fmt: skip
        """Add many triangles; arguments are lists of what `add_triangle` takes. Returns their areas [m²]."""
        corners = np.stack([np.asarray(i), np.asarray(j), np.asarray(k)], axis=1)
        values = [tri_ke, tri_ka, tri_kd, tri_drag, tri_lift]
        return self._add_triangles("add_triangles()", corners, values, color, opacity, custom_attributes)

    def _add_triangles(self, call, corners, values, color, opacity, custom) -> list[float]:
        self.mutable(call)
        count = len(corners)
        corners = self.check_indices("particle", corners, call)
        p, q, r = np.moveaxis(self.rows("particle_q").astype(np.float64)[corners], 1, 0)
        e1 = normalized(q - p)
        e2 = normalized(np.cross(normalized(np.cross(q - p, r - p)), e1))
        rest = np.stack([e1, e2], axis=1) @ np.stack([q - p, r - p], axis=2)
        areas = np.maximum(np.linalg.det(rest) / 2.0, 0.0) if count else np.zeros(0)
        good = areas > 0.0
        if not good.all():
            warnings.warn(f"{call}: {int((~good).sum())} degenerate triangles were left out", stacklevel=3)
        defaults = (
            self.default_tri_ke, self.default_tri_ka, self.default_tri_kd, self.default_tri_drag, self.default_tri_lift
        )  # fmt: skip
        materials = [
            spread(value, default, count, call, name)
            for value, default, name in zip(values, defaults, ("ke", "ka", "kd", "drag", "lift"), strict=True)
        ]
        shown = np.asarray(TRI_COLOR if color is None else color, dtype=np.float64)
        if shown.size not in (3, 3 * count) or np.any((shown < 0.0) | (shown > 1.0)):
            raise BuildError(f"{call}: color={color!r} is neither one colour nor one per triangle, from 0 to 1")
        opaque = spread(opacity, 1.0, count, call, "opacity")
        if np.any((opaque < 0.0) | (opaque > 1.0)):
            raise BuildError(f"{call}: opacity={opacity!r} is not between 0 and 1")
        chosen = {}
        for key, value in (custom or {}).items():
            field = self._checked(key, "triangle", call)
            chosen[key] = self._spread(field, value, count, False, call)[good]
        self._add_elements("triangle", int(good.sum()), {
            "tri_indices": corners[good], "tri_poses": np.linalg.inv(rest[good]),
            "tri_materials": np.stack(materials, axis=1)[good], "tri_areas": areas[good],
            "tri_color": np.broadcast_to(shown.reshape(-1, 3), (count, 3))[good], "tri_opacity": opaque[good],
        }, chosen if good.any() else None, call)  # fmt: skip
        return areas.tolist()

    def add_tetrahedron(
        self, i: int, j: int, k: int, l: int, k_mu: float = 1.0e3, k_lambda: float = 1.0e3, k_damp: float = 0.0,
        custom_attributes: dict[str, Any] | None = None,
    ) -> float:  # fmt: skip
        """Add a tetrahedron; returns its volume [m³]. An inverted one is left out."""
        return float(
            self._add_tetrahedra(
                "add_tetrahedron()", np.array([[i, j, k, l]]), [k_mu], [k_lambda], [k_damp],
                {key: [value] for key, value in (custom_attributes or {}).items()},
            )[0]
        )  # fmt: skip

    def _add_tetrahedra(self, call, corners, k_mu, k_lambda, k_damp, custom=None) -> np.ndarray:
        self.mutable(call)
        count = len(corners)
        corners = self.check_indices("particle", corners, call)
        p, q, r, s = np.moveaxis(self.rows("particle_q").astype(np.float64)[corners], 1, 0)
        rest = np.stack([q - p, r - p, s - p], axis=2)
        volumes = np.linalg.det(rest) / 6.0
        good = volumes > 0.0
        if not good.all():
            warnings.warn(f"{call}: {int((~good).sum())} inverted tetrahedra were left out", stacklevel=3)
        materials = [spread(value, 0.0, count, call, "k") for value in (k_mu, k_lambda, k_damp)]
        chosen = {}
        for key, value in (custom or {}).items():
            field = self._checked(key, "tetrahedron", call)
            chosen[key] = self._spread(field, value, count, False, call)[good]
        self._add_elements("tetrahedron", int(good.sum()), {
            "tet_indices": corners[good], "tet_poses": np.linalg.inv(rest[good]),
            "tet_materials": np.stack(materials, axis=1)[good],
        }, chosen if good.any() else None, call)  # fmt: skip
        return volumes

    def add_edge(
        self, i: int, j: int, k: int, l: int, *, rest: float | None = None, edge_ke: float | None = None,
        edge_kd: float | None = None, custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a bending edge k l between the triangles (i, k, l) and (j, l, k); i or j may be -1. Returns its index."""
        custom = {key: [value] for key, value in (custom_attributes or {}).items()}
        angles = None if rest is None else [rest]
        return self._add_edges("add_edge()", np.array([[i, j, k, l]]), angles, edge_ke, edge_kd, custom)

    def add_edges(
        self, i: Any, j: Any, k: Any, l: Any, *, rest: Any = None, edge_ke: Any = None, edge_kd: Any = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Add many bending edges; arguments are lists of what `add_edge` takes."""
        corners = np.stack([np.asarray(x) for x in (i, j, k, l)], axis=1)
        self._add_edges("add_edges()", corners, rest, edge_ke, edge_kd, custom_attributes)

    def _add_edges(self, call, corners, rest, edge_ke, edge_kd, custom) -> int:
        self.mutable(call)
        count = len(corners)
        opposite = self.check_indices("particle", corners[:, :2], call, none=True)
        self.check_indices("particle", corners[:, 2:], call)
        q = self.rows("particle_q").astype(np.float64)
        x1, x2, x3, x4 = np.moveaxis(q[corners], 1, 0)
        if rest is None:
            n1, n2 = normalized(np.cross(x3 - x1, x4 - x1)), normalized(np.cross(x4 - x2, x3 - x2))
            cosine = np.clip(np.einsum("ij,ij->i", n1, n2), -1.0, 1.0)
            sine = np.einsum("ij,ij->i", np.cross(n1, n2), normalized(x4 - x3))
            rest = np.where((opposite >= 0).all(axis=1), np.arctan2(sine, cosine), 0.0)
        stiffness = spread(edge_ke, self.default_edge_ke, count, call, "edge_ke")
        damping = spread(edge_kd, self.default_edge_kd, count, call, "edge_kd")
        return self._add_elements("edge", count, {
            "edge_indices": corners, "edge_rest_angle": rest, "edge_rest_length": np.linalg.norm(x4 - x3, axis=1),
            "edge_bending_properties": np.stack([stiffness, damping], axis=1),
        }, custom, call)  # fmt: skip

    def add_muscle(
        self, bodies: Sequence[int], positions: Sequence[Any], f0: float, lm: float, lt: float, lmax: float, pen: float
    ) -> int:
        """Add a muscle along waypoints fixed to bodies; returns its index.

        Args:
            bodies: Body of each waypoint.
            positions: Waypoints [m] in their bodies.
            f0: Force scaling [N].
            lm: Fibre length [m].
            lt: Tendon slack length [m].
            lmax: Largest efficient length [m].
            pen: Pennation factor.
        """
        call = "add_muscle()"
        self.mutable(call)
        owners = self.check_indices("body", bodies, call, none=True)
        points = rows_of(positions, len(owners), 3, call, "positions")
        rows = self.prepare(
            MUSCLE, 1, {"muscle_start": self.count(MUSCLE_POINT), "muscle_params": (f0, lm, lt, lmax, pen)}, call
        )
        waypoints = self.prepare(MUSCLE_POINT, len(owners), {"muscle_bodies": owners, "muscle_points": points}, call)
        self.commit(MUSCLE_POINT, len(owners), waypoints)
        return self.commit(MUSCLE, 1, rows)


def check_dims(call: str, **dims: int) -> None:
    """Numbers of cells must be counts."""
    for name, value in dims.items():
        if value != int(value) or value < 0:
            raise BuildError(f"{call}: {name}={value!r} is not a count")


def place_points(points: np.ndarray, pos: Any, rot: Any, call: str) -> np.ndarray:
    """Points turned by the quaternion `rot` and moved by `pos`."""
    return quat_rotate(vector(rot, 4, call, "rot"), points.astype(np.float64)) + vector(pos, 3, call, "pos")
