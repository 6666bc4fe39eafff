"""Adding shapes: sizes, materials, collision filters, and the mass they give their body.

`shape_scale` holds the sizes of primitives: sphere (r, -, -), box (hx, hy, hz), capsule and cone (r, half height, -),
cylinder (r, half height, barrel radius), ellipsoid (rx, ry, rz), plane (width, length, -; zeros for infinite); for
meshes and height fields the scale of the source.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import BuildError, WrongKind
from .bodies import vector
from .constraints import ConstraintMethods
from .enums import GeoType, ShapeFlags
from .frequency import FILTER_PAIR
from .inertia import add_mass, shape_mass
from .transform import IDENTITY, quat_between
from .worlds import pose

PALETTE = (
    (68, 119, 170), (102, 204, 238), (34, 136, 51), (204, 187, 68),
    (238, 102, 119), (170, 51, 119), (238, 153, 51), (0, 153, 136),
)  # fmt: skip
"""Colours shapes take in turn (Paul Tol's bright scheme)."""

GROUND_COLOR = (0.125, 0.125, 0.15)


@dataclass(kw_only=True)
class ShapeConfig:
    """Collision, material and mass settings of a shape (SI units)."""

    density: float = 1000.0
    ke: float = 2.5e3
    kd: float = 100.0
    kf: float = 1000.0
    ka: float = 0.0
    mu: float = 1.0
    restitution: float = 0.0
    mu_torsional: float = 0.005
    mu_rolling: float = 0.0001
    margin: float = 0.0
    gap: float | None = None
    is_solid: bool = True
    collision_group: int = 1
    collision_filter_parent: bool = True
    has_shape_collision: bool = True
    has_particle_collision: bool = True
    is_visible: bool = True
    is_site: bool = False
    sdf_narrow_band_range: tuple[float, float] = (-0.1, 0.1)
    sdf_target_voxel_size: float | None = None
    sdf_max_resolution: int | None = None
    sdf_texture_format: str = "uint16"
    is_hydroelastic: bool = False
    kh: float = 1.0e10

    def validate(self, shape_type: int | None = None) -> None:
        """Raise if a value makes no sense."""
        if not math.isfinite(self.density) or self.density < 0.0:
            raise BuildError(f"ShapeConfig: density={self.density!r} must be finite and not negative")
        for name in ("ke", "kd", "kf", "ka", "mu", "restitution", "mu_torsional", "mu_rolling", "margin", "kh"):
            if not math.isfinite(getattr(self, name)):
                raise BuildError(f"ShapeConfig: {name}={getattr(self, name)!r} must be finite")
        if self.sdf_max_resolution is not None and self.sdf_target_voxel_size is not None:
            raise BuildError("ShapeConfig: set sdf_max_resolution or sdf_target_voxel_size, not both")
        if self.sdf_max_resolution is not None and (self.sdf_max_resolution <= 0 or self.sdf_max_resolution % 8):
            raise BuildError(f"ShapeConfig: sdf_max_resolution={self.sdf_max_resolution!r} must be a multiple of 8")
        if self.is_site and (self.has_shape_collision or self.has_particle_collision):
            raise BuildError("ShapeConfig: a site cannot collide; call mark_as_site()")
        if self.is_site and (self.density != 0.0 or self.collision_group != 0):
            raise BuildError("ShapeConfig: a site has density 0 and collision_group 0; call mark_as_site()")

    def mark_as_site(self) -> None:
        """Make this the configuration of a site: no collisions, no mass."""
        self.is_site = True
        self.has_shape_collision = self.has_particle_collision = False
        self.density, self.collision_group = 0.0, 0

    @property
    def flags(self) -> int:
        """The settings as `ShapeFlags`."""
        parts = (
            (self.is_visible, ShapeFlags.VISIBLE),
            (self.has_shape_collision, ShapeFlags.COLLIDE_SHAPES),
            (self.has_particle_collision, ShapeFlags.COLLIDE_PARTICLES),
            (self.is_site, ShapeFlags.SITE),
            (self.is_hydroelastic, ShapeFlags.HYDROELASTIC),
        )
        return int(sum(flag for is_set, flag in parts if is_set))

    @flags.setter
    def flags(self, value: int) -> None:
        self.is_visible = bool(value & ShapeFlags.VISIBLE)
        self.is_hydroelastic = bool(value & ShapeFlags.HYDROELASTIC)
        if value & ShapeFlags.SITE:
            self.mark_as_site()
            return
        self.is_site = False
        self.density, self.collision_group = ShapeConfig().density, ShapeConfig().collision_group
        self.has_shape_collision = bool(value & ShapeFlags.COLLIDE_SHAPES)
        self.has_particle_collision = bool(value & ShapeFlags.COLLIDE_PARTICLES)

    def copy(self) -> ShapeConfig:
        """A copy to change."""
        return copy.copy(self)


class FilterPairs(list):
    """Pairs of shapes of a builder; what is appended here is added there."""

    def __init__(self, builder: ShapeMethods, pairs: list[tuple[int, int]]):
        super().__init__(pairs)
        self._builder = builder

    def append(self, pair: Any) -> None:
        self._builder.add_shape_collision_filter_pair(*pair)
        super().append((min(pair), max(pair)))

    def extend(self, pairs: Any) -> None:
        for pair in pairs:
            self.append(pair)


MATERIAL = ("ke", "kd", "kf", "ka", "mu", "restitution", "mu_torsional", "mu_rolling", "kh")


class ShapeMethods(ConstraintMethods):
    """The builder's methods that add shapes, sites and collision filters."""

    @property
    def default_site_cfg(self) -> ShapeConfig:
        """Configuration of sites."""
        cfg = ShapeConfig()
        cfg.mark_as_site()
        return cfg

    @property
    def body_shapes(self) -> dict[int, list[int]]:
        """Shapes of each body; those of -1 are static."""
        shapes: dict[int, list[int]] = {-1: [], **{body: [] for body in range(self.count("body"))}}
        for shape, body in enumerate(self.rows("shape_body").tolist()):
            shapes[body].append(shape)
        return shapes

    @property
    def shape_collision_filter_pairs(self) -> FilterPairs:
        """Pairs of shapes that never collide, lower index first; appending to it adds a pair."""
        return FilterPairs(self, [tuple(pair) for pair in self.rows("shape_filter_pairs").tolist()])

    def add_shape_collision_filter_pair(self, shape_a: int, shape_b: int) -> None:
        """Never let two shapes collide."""
        call = "add_shape_collision_filter_pair()"
        self.mutable(call)
        self._add_filter_pairs([(self.check_index("shape", s, call) for s in (shape_a, shape_b))])

    def _add_filter_pairs(self, pairs: list) -> None:
        rows = np.sort(np.array([tuple(pair) for pair in pairs], dtype=np.int32).reshape(-1, 2), axis=1)
        if len(rows) == 0:
            return
        start = self.commit(FILTER_PAIR, len(rows), [("shape_filter_pairs", rows)])
        # the pair belongs to the world of its shapes, whichever is open
        self._column(f"{FILTER_PAIR}#world").write(start, self.rows("shape_world")[rows].max(axis=1))
        self._touched.add("shape_filter_pairs")

    def _filter_between(self, parent: int, child: int) -> None:
        colliding = [
            [s for s in self._shapes_of(body) if self.rows("shape_flags")[s] & ShapeFlags.COLLIDE_SHAPES]
            for body in (parent, child)
        ]
        self._add_filter_pairs([(a, b) for b in colliding[1] for a in colliding[0]])

    def _shapes_of(self, body: int) -> list[int]:
        return self.rows_by("shape", "shape_body").get(body, [])

    def add_shape(
        self,
        *,
        body: int,
        type: int,
        xform: Any = None,
        cfg: ShapeConfig | None = None,
        scale: Any = None,
        src: Any = None,
        is_static: bool = False,
        color: Any = None,
        opacity: float | None = None,
        label: str | None = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:
        """Add a shape of any type; returns its index.

        Args:
            body: Body that carries it, -1 for the world.
            type: `GeoType`.
            xform: Pose in the body.
            cfg: Settings; the builder's default if None.
            scale: Sizes or scale, see the top of this module.
            src: Mesh, height field or other source.
            is_static: Add no mass.
            color: Display colour, 0 to 1.
            opacity: Display opacity, 0 to 1.
            label: Name; ``shape_<index>`` if None.
            custom_attributes: Values of custom attributes of frequency SHAPE.
        """
        call = "add_shape()"
        self.mutable(call)
        cfg = self.default_shape_cfg if cfg is None else cfg
        body, kind = self.check_index("body", body, f"{call} body", none=True), GeoType(type)
        placed = pose(xform, call)
        placed = IDENTITY if placed is None else placed
        cfg.validate(kind)
        sizes = check_scale(kind, np.ones(3) if scale is None else vector(scale, 3, call, "scale"), cfg.is_site, call)
        flags = cfg.flags
        if kind in (GeoType.PLANE, GeoType.HFIELD):
            flags &= ~ShapeFlags.HYDROELASTIC
        color = getattr(src, "color", None) if color is None else color
        if color is None:
            color = np.array(PALETTE[self.count("shape") % len(PALETTE)]) / 255.0
        opacity = getattr(src, "opacity", None) if opacity is None else opacity
        opacity = 1.0 if opacity is None else float(opacity)
        if not 0.0 <= opacity <= 1.0:
            raise BuildError(f"{call}: opacity={opacity!r} is not between 0 and 1")
        rows = self.prepare("shape", 1, {
            "shape_label": [label or f"shape_{self.count('shape')}"], "shape_transform": placed, "shape_body": body,
            "shape_flags": int(flags), "shape_type": int(kind), "shape_scale": sizes, "shape_source": [src],
            "shape_is_solid": bool(cfg.is_solid), "shape_margin": cfg.margin,
            "shape_gap": self.rigid_gap if cfg.gap is None else cfg.gap,
            "shape_collision_group": int(cfg.collision_group),
            "shape_collision_radius": bounding_radius(kind, sizes, src),
            "shape_color": vector(color, 3, call, "color"), "shape_opacity": opacity,
            **{f"shape_material_{name}": getattr(cfg, name) for name in MATERIAL},
        }, call)  # fmt: skip
        custom = self.prepare_custom({"shape": 1}, custom_attributes, call)
        mass = None
        if not is_static and cfg.density > 0.0 and body >= 0 and not self.rows("body_lock_inertia")[body]:
            mass = shape_mass(kind, sizes, src, cfg.density, cfg.is_solid, cfg.margin)

        shape = self.commit("shape", 1, rows)
        self.commit_custom("shape", shape, custom["shape"])
        if cfg.has_shape_collision and cfg.collision_filter_parent:
            self._filter_neighbours(shape, body)
        if mass is not None:
            self._give_mass(body, mass, placed)
        return shape

    def _filter_neighbours(self, shape: int, body: int) -> None:
        """Shapes of bodies joined to this one do not collide with the new shape."""
        joints = np.array(self._joints_of(body), dtype=np.int64)
        joints = joints[self.rows("joint_collision_filter_parent")[joints]]
        parent, child = self.rows("joint_parent")[joints], self.rows("joint_child")[joints]
        flags, pairs = self.rows("shape_flags"), []
        for other in np.where(parent == body, child, parent).tolist():
            pairs += [(shape, s) for s in self._shapes_of(other) if flags[s] & ShapeFlags.COLLIDE_SHAPES]
        self._add_filter_pairs(pairs)

    def _give_mass(self, body: int, part: tuple, placed: np.ndarray) -> None:
        old = tuple(self.rows(f"body_{name}")[body].astype(np.float64) for name in ("mass", "com", "inertia"))
        for name, value in zip(("mass", "com", "inertia"), add_mass(old, part, placed), strict=True):
            self._column(f"body_{name}").write(body, np.asarray(value, np.float32)[None])
        self._version += 1

    def _shape_cfg(self, cfg: ShapeConfig | None, as_site: bool) -> ShapeConfig:
        if cfg is None:
            return self.default_site_cfg if as_site else self.default_shape_cfg
        if as_site:
            cfg = cfg.copy()
            cfg.mark_as_site()
        return cfg

    def add_shape_plane(
        self, plane: Any = (0.0, 0.0, 1.0, 0.0), *, xform: Any = None, width: float = 10.0, length: float = 10.0,
        body: int = -1, cfg: ShapeConfig | None = None, color: Any = None, opacity: float | None = None,
        label: str | None = None, custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a plane a x + b y + c z + d = 0, or one given by its pose with normal z; zero sizes make it infinite."""
        if xform is None:
            if plane is None:
                raise BuildError("add_shape_plane(): give plane or xform")
            normal = vector(plane, 4, "add_shape_plane()", "plane")
            length_of = np.linalg.norm(normal[:3])
            if length_of == 0.0:
                raise BuildError(f"add_shape_plane(): plane={plane!r} has no normal")
            normal = normal / length_of
            xform = np.concatenate([-normal[3] * normal[:3], quat_between(np.array([0.0, 0.0, 1.0]), normal[:3])])
        return self.add_shape(
            body=body, type=GeoType.PLANE, xform=xform, cfg=cfg, scale=(width, length, 0.0), is_static=True,
            color=color, opacity=opacity, label=label, custom_attributes=custom_attributes,
        )  # fmt: skip

    def add_ground_plane(
        self, *, height: float = 0.0, cfg: ShapeConfig | None = None, color: Any = GROUND_COLOR,
        opacity: float | None = None, label: str | None = None,
    ) -> int:  # fmt: skip
        """Add an infinite plane across the up axis at a height [m]."""
        return self.add_shape_plane(
            (*self.up_vector, -height), width=0.0, length=0.0, cfg=cfg, color=color, opacity=opacity,
            label=label or "ground_plane",
        )  # fmt: skip

    def add_shape_sphere(
        self, body: int, *, xform: Any = None, radius: float = 1.0, cfg: ShapeConfig | None = None,
        as_site: bool = False, color: Any = None, opacity: float | None = None, label: str | None = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a sphere of a radius [m]."""
        return self.add_shape(
            body=body, type=GeoType.SPHERE, xform=xform, cfg=self._shape_cfg(cfg, as_site), scale=(radius, 0.0, 0.0),
            color=color, opacity=opacity, label=label, custom_attributes=custom_attributes,
        )  # fmt: skip

    def add_shape_ellipsoid(
        self, body: int, *, xform: Any = None, rx: float = 1.0, ry: float = 0.75, rz: float = 0.5,
        cfg: ShapeConfig | None = None, as_site: bool = False, color: Any = None, opacity: float | None = None,
        label: str | None = None, custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add an ellipsoid with semi-axes [m]."""
        return self.add_shape(
            body=body, type=GeoType.ELLIPSOID, xform=xform, cfg=self._shape_cfg(cfg, as_site), scale=(rx, ry, rz),
            color=color, opacity=opacity, label=label, custom_attributes=custom_attributes,
        )  # fmt: skip

    def add_shape_box(
        self, body: int, *, xform: Any = None, hx: float = 0.5, hy: float = 0.5, hz: float = 0.5,
        cfg: ShapeConfig | None = None, as_site: bool = False, color: Any = None, opacity: float | None = None,
        label: str | None = None, custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a box with half extents [m]."""
        return self.add_shape(
            body=body, type=GeoType.BOX, xform=xform, cfg=self._shape_cfg(cfg, as_site), scale=(hx, hy, hz),
            color=color, opacity=opacity, label=label, custom_attributes=custom_attributes,
        )  # fmt: skip

    def add_shape_capsule(
        self, body: int, *, xform: Any = None, radius: float = 1.0, half_height: float = 0.5,
        cfg: ShapeConfig | None = None, as_site: bool = False, color: Any = None, opacity: float | None = None,
        label: str | None = None, custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a capsule along z: radius and half height of its cylinder [m]."""
        return self.add_shape(
            body=body, type=GeoType.CAPSULE, xform=xform, cfg=self._shape_cfg(cfg, as_site),
            scale=(radius, half_height, 0.0), color=color, opacity=opacity, label=label,
            custom_attributes=custom_attributes,
        )  # fmt: skip

    def add_shape_cylinder(
        self, body: int, *, xform: Any = None, radius: float = 1.0, half_height: float = 0.5,
        barrel_radius: float = 0.0, cfg: ShapeConfig | None = None, as_site: bool = False, color: Any = None,
        opacity: float | None = None, label: str | None = None, custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a cylinder along z, or a barrel whose wall is an arc of radius `barrel_radius` [m]."""
        return self.add_shape(
            body=body, type=GeoType.CYLINDER, xform=xform, cfg=self._shape_cfg(cfg, as_site),
            scale=(radius, half_height, barrel_radius), color=color, opacity=opacity, label=label,
            custom_attributes=custom_attributes,
        )  # fmt: skip

    def add_shape_cone(
        self, body: int, *, xform: Any = None, radius: float = 1.0, half_height: float = 0.5,
        cfg: ShapeConfig | None = None, as_site: bool = False, color: Any = None, opacity: float | None = None,
        label: str | None = None, custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a cone along z, apex up [m]."""
        return self.add_shape(
            body=body, type=GeoType.CONE, xform=xform, cfg=self._shape_cfg(cfg, as_site),
            scale=(radius, half_height, 0.0), color=color, opacity=opacity, label=label,
            custom_attributes=custom_attributes,
        )  # fmt: skip

    def _add_source(self, kind: GeoType, call: str, name: str, src: Any, body: int, is_static: bool, **more: Any):
        if src is None:
            raise WrongKind(f"{call}: {name} is required")
        return self.add_shape(body=body, type=kind, src=src, is_static=is_static, **more)

    def add_shape_mesh(
        self, body: int, *, xform: Any = None, mesh: Any = None, scale: Any = None, cfg: ShapeConfig | None = None,
        color: Any = None, opacity: float | None = None, label: str | None = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a triangle mesh."""
        return self._add_source(
            GeoType.MESH, "add_shape_mesh()", "mesh", mesh, body, False, xform=xform, scale=scale, cfg=cfg,
            color=color, opacity=opacity, label=label, custom_attributes=custom_attributes,
        )  # fmt: skip

    def add_shape_convex_hull(
        self, body: int, *, xform: Any = None, mesh: Any = None, scale: Any = None, cfg: ShapeConfig | None = None,
        color: Any = None, opacity: float | None = None, label: str | None = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a mesh that is its own convex hull."""
        return self._add_source(
            GeoType.CONVEX_MESH, "add_shape_convex_hull()", "mesh", mesh, body, False, xform=xform, scale=scale,
            cfg=cfg, color=color, opacity=opacity, label=label, custom_attributes=custom_attributes,
        )  # fmt: skip

    def add_shape_heightfield(
        self, *, xform: Any = None, heightfield: Any = None, scale: Any = None, cfg: ShapeConfig | None = None,
        color: Any = None, opacity: float | None = None, label: str | None = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a height field to the world."""
        return self._add_source(
            GeoType.HFIELD, "add_shape_heightfield()", "heightfield", heightfield, -1, True, xform=xform, scale=scale,
            cfg=cfg, color=color, opacity=opacity, label=label, custom_attributes=custom_attributes,
        )  # fmt: skip

    def add_shape_gaussian(
        self, body: int, *, xform: Any = None, gaussian: Any = None, scale: Any = None,
        cfg: ShapeConfig | None = None, collision_proxy: Any = None, color: Any = None, opacity: float | None = None,
        label: str | None = None, custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a cloud of Gaussian splats, for display only.

        `collision_proxy` is a mesh that collides in its place, or the name of a method of the cloud that makes one.
        """
        cfg = (self.default_shape_cfg if cfg is None else cfg).copy()
        if collision_proxy is not None and gaussian is not None:
            mesh = gaussian.compute_proxy_mesh(method=collision_proxy) if isinstance(collision_proxy, str) else None
            solid = cfg.copy()
            solid.is_visible, solid.has_shape_collision = False, True
            self.add_shape_convex_hull(
                body, xform=xform, mesh=collision_proxy if mesh is None else mesh, scale=scale, cfg=solid,
                label=f"{label or 'gaussian'}_collision_proxy",
            )  # fmt: skip
        cfg.has_shape_collision = cfg.has_particle_collision = False
        cfg.density = 0.0
        return self._add_source(
            GeoType.GAUSSIAN, "add_shape_gaussian()", "gaussian", gaussian, body, True, xform=xform, scale=scale,
            cfg=cfg, color=color, opacity=opacity, label=label, custom_attributes=custom_attributes,
        )  # fmt: skip

    def add_shape_sdf(
        self, body: int, *, xform: Any = None, sdf: Any = None, scale: Any = None, cfg: ShapeConfig | None = None,
        color: Any = None, opacity: float | None = None, label: str | None = None,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a shape given by a signed distance function; it brings no mass."""
        return self._add_source(
            GeoType.SDF, "add_shape_sdf()", "sdf", sdf, body, True, xform=xform, scale=scale, cfg=cfg, color=color,
            opacity=opacity, label=label, custom_attributes=custom_attributes,
        )  # fmt: skip

    def add_site(
        self, body: int, *, xform: Any = None, type: int = GeoType.SPHERE, scale: Any = (0.01, 0.01, 0.01),
        label: str | None = None, visible: bool = False, custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a site: a frame with a shape that neither collides nor weighs."""
        cfg = self.default_site_cfg
        cfg.is_visible = visible
        return self.add_shape(
            body=body, type=type, xform=xform, cfg=cfg, scale=scale, label=label, custom_attributes=custom_attributes
        )


_SYMMETRIC = (
    GeoType.SPHERE, GeoType.BOX, GeoType.CAPSULE, GeoType.CYLINDER, GeoType.ELLIPSOID, GeoType.PLANE, GeoType.GAUSSIAN,
)  # fmt: skip


def check_scale(kind: GeoType, scale: np.ndarray, is_site: bool, call: str) -> np.ndarray:
    """Sizes without the signs that mean nothing; signs that would mirror a shape are errors."""
    if kind in _SYMMETRIC:
        scale = np.abs(scale)
        if kind == GeoType.CYLINDER and not is_site and 0.0 < scale[2] < scale[1]:
            raise BuildError(f"{call}: barrel radius {scale[2]} must be 0 or at least the half height {scale[1]}")
    elif kind == GeoType.CONE:
        if scale[1] < 0.0:
            raise BuildError(f"{call}: the half height of a cone must not be negative, got {scale[1]}")
        scale = np.abs(scale)
    elif kind == GeoType.HFIELD and np.any(scale < 0.0):
        raise BuildError(f"{call}: the scale of a height field must not be negative, got {scale.tolist()}")
    return scale


def bounding_radius(kind: GeoType, scale: np.ndarray, source: Any) -> float:
    """Radius of a sphere around the shape's origin (meshes: around their box) that holds it."""
    if kind == GeoType.SPHERE:
        return scale[0]
    if kind == GeoType.BOX:
        return float(np.linalg.norm(scale))
    if kind in (GeoType.CAPSULE, GeoType.CYLINDER, GeoType.CONE):
        return scale[0] + scale[1]
    if kind == GeoType.ELLIPSOID:
        return float(scale.max())
    if kind in (GeoType.MESH, GeoType.CONVEX_MESH) and source is not None:
        return 0.5 * float(np.linalg.norm(np.ptp(np.asarray(source.vertices, np.float64) * scale, axis=0)))
    if kind == GeoType.PLANE:
        return 0.5 * float(np.linalg.norm(scale)) if scale[0] > 0.0 and scale[1] > 0.0 else 1.0e6
    if kind == GeoType.HFIELD and source is not None:
        corner = np.array([source.hx, source.hy, max(abs(source.min_z), abs(source.max_z))])
        return float(np.linalg.norm(corner * scale))
    return 10.0
