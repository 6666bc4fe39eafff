"""Shapes of a model as prims: what they are, where, what they are made of and how they look.

    box          Cube of size 2, scaled by its half extents
    others       radius and height; capsules, cylinders and cones stand along z
    meshes       their corners and faces, scaled; convex ones with physics:approximation = convexHull
    ellipsoids, height fields     as meshes, since UsdPhysics has neither
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..model import GeoType, ShapeFlags
from ..model.transform import transform_mul

FRICTION = {"newton:torsionalFriction": "mu_torsional", "newton:rollingFriction": "mu_rolling"}
STIFFNESS = {
    "newton:contactStiffness": "ke", "newton:contactDamping": "kd", "newton:contactFrictionGain": "kf",
    "newton:contactAdhesion": "ka",
}  # fmt: skip
SIDES = 24
"""Corners around an ellipsoid that is written as a mesh."""


def name_of(label: str, kind: str, taken: set[str]) -> str:
    """A label's last part as a name for USD that no sibling has."""
    word = re.sub(r"\W", "_", str(label).rstrip("/").rpartition("/")[2]) or kind
    word = f"_{word}" if word[0].isdigit() else word
    name, number = word, 1
    while name in taken:
        name, number = f"{word}_{number}", number + 1
    taken.add(name)
    return name


def quat(q: Any, kind: Any) -> Any:
    """A quaternion (xyzw) as USD's, real part first."""
    return kind(float(q[3]), float(q[0]), float(q[1]), float(q[2]))


def place(prim: Any, pose: np.ndarray, scale: Any = None) -> None:
    """Where a prim stands in its parent."""
    from pxr import Gf, UsdGeom

    xform = UsdGeom.Xformable(prim)
    xform.ClearXformOpOrder()
    xform.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*map(float, pose[:3])))
    xform.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(quat(pose[3:], Gf.Quatd))
    if scale is not None:
        xform.AddScaleOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*map(float, scale)))


def linear(color: Any) -> list[float]:
    """A colour as a screen shows it, as light."""
    c = np.clip(np.asarray(color, float), 0.0, 1.0)
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4).tolist()


class ShapeWriter:
    """Writes shapes, and their materials once each."""

    def __init__(self, stage: Any):
        self.stage = stage
        self.materials: dict[tuple[float, ...], Any] = {}

    def write(self, rows: Mapping[str, np.ndarray], shape: int, path: str, back: np.ndarray) -> bool:
        """Write one shape at a path; whether there is a prim for it."""
        from pxr import Gf, UsdGeom, UsdPhysics

        kind, flags = GeoType(int(rows["shape_type"][shape])), int(rows["shape_flags"][shape])
        pose = transform_mul(back, np.asarray(rows["shape_transform"][shape], float))
        sizes, source = np.asarray(rows["shape_scale"][shape], float), rows["shape_source"][shape]
        made = self._geometry(kind, path, sizes, source)
        if made is None:
            warnings.warn(f"save_usd(): shape {rows['shape_label'][shape]!r}: a {kind.name} is left out", stacklevel=7)
            return False
        prim, scale = made
        place(prim, pose, scale)
        image = UsdGeom.Gprim(prim)
        image.CreateDisplayColorAttr([Gf.Vec3f(*linear(rows["shape_color"][shape]))])
        opacity = float(rows["shape_opacity"][shape])
        if opacity < 1.0:
            image.CreateDisplayOpacityAttr([opacity])
        if not flags & ShapeFlags.VISIBLE:
            image.CreateVisibilityAttr("invisible")
        if flags & ShapeFlags.SITE:
            prim.AddAppliedSchema("NewtonSiteAPI")
            return True
        if flags & ShapeFlags.COLLIDE_SHAPES:
            UsdPhysics.CollisionAPI.Apply(prim)
            if kind in (GeoType.CONVEX_MESH, GeoType.ELLIPSOID):
                UsdPhysics.MeshCollisionAPI.Apply(prim).CreateApproximationAttr("convexHull")
            self._touch(prim, rows, shape)
        return True

    def _geometry(self, kind: GeoType, path: str, sizes: np.ndarray, source: Any) -> tuple[Any, Any] | None:
        """The prim of a shape, and its scale."""
        from pxr import UsdGeom

        if kind == GeoType.BOX:
            cube = UsdGeom.Cube.Define(self.stage, path)
            cube.CreateSizeAttr(2.0)
            return cube.GetPrim(), sizes
        if kind == GeoType.SPHERE:
            ball = UsdGeom.Sphere.Define(self.stage, path)
            ball.CreateRadiusAttr(float(sizes[0]))
            return ball.GetPrim(), None
        if kind == GeoType.PLANE:
            plane = UsdGeom.Plane.Define(self.stage, path)
            plane.CreateAxisAttr("Z")
            for size, write in zip(sizes, (plane.CreateWidthAttr, plane.CreateLengthAttr), strict=False):
                if size > 0.0:
                    write(float(size))
            return plane.GetPrim(), None
        names = {GeoType.CAPSULE: "Capsule", GeoType.CYLINDER: "Cylinder", GeoType.CONE: "Cone"}
        if kind in names:
            long = getattr(UsdGeom, names[kind]).Define(self.stage, path)
            long.CreateAxisAttr("Z")
            long.CreateRadiusAttr(float(sizes[0]))
            long.CreateHeightAttr(2.0 * float(sizes[1]))
            return long.GetPrim(), None
        if kind == GeoType.ELLIPSOID:
            return self._mesh(path, *_ball()), sizes
        if kind == GeoType.HFIELD:
            return self._mesh(path, *_ground(source)), sizes
        if kind in (GeoType.MESH, GeoType.CONVEX_MESH):
            corners, faces = np.asarray(source.vertices, float), np.asarray(source.indices, int).reshape(-1, 3)
            return self._mesh(path, corners, faces), sizes
        return None

    def _mesh(self, path: str, corners: np.ndarray, faces: np.ndarray) -> Any:
        from pxr import UsdGeom, Vt

        mesh = UsdGeom.Mesh.Define(self.stage, path)
        mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(corners, np.float32)))
        mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(np.ascontiguousarray(faces.reshape(-1), np.int32)))
        mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(faces), 3, np.int32)))
        mesh.CreateSubdivisionSchemeAttr("none")
        return mesh.GetPrim()

    def _touch(self, prim: Any, rows: Mapping[str, np.ndarray], shape: int) -> None:
        """Contact numbers of a shape, and its material."""
        from pxr import Sdf, UsdShade

        number = Sdf.ValueTypeNames.Float
        prim.CreateAttribute("newton:contactMargin", number).Set(float(rows["shape_margin"][shape]))
        prim.CreateAttribute("newton:contactGap", number).Set(float(rows["shape_gap"][shape]))
        if not bool(rows["shape_is_solid"][shape]):
            prim.CreateAttribute("newton:massModel", Sdf.ValueTypeNames.Token).Set("shell")
        names = ("mu", "restitution", *FRICTION.values(), *STIFFNESS.values())
        values = tuple(float(rows[f"shape_material_{name}"][shape]) for name in names)
        if values not in self.materials:
            self.materials[values] = self._material(dict(zip(names, values, strict=True)))
        api = UsdShade.MaterialBindingAPI.Apply(prim)
        api.Bind(self.materials[values], UsdShade.Tokens.weakerThanDescendants, "physics")
        group = int(rows["shape_collision_group"][shape])
        if group != 1:
            warnings.warn(f"save_usd(): collision group {group} of {prim.GetPath()} is left out", stacklevel=8)

    def _material(self, numbers: dict[str, float]) -> Any:
        from pxr import Sdf, UsdPhysics, UsdShade

        made = UsdShade.Material.Define(self.stage, f"/materials/material_{len(self.materials)}")
        api = UsdPhysics.MaterialAPI.Apply(made.GetPrim())
        api.CreateDynamicFrictionAttr(numbers["mu"])
        api.CreateStaticFrictionAttr(numbers["mu"])
        api.CreateRestitutionAttr(numbers["restitution"])
        for name, key in {**FRICTION, **STIFFNESS}.items():
            made.GetPrim().CreateAttribute(name, Sdf.ValueTypeNames.Float).Set(numbers[key])
        return made


def _ball() -> tuple[np.ndarray, np.ndarray]:
    """A unit sphere as corners and triangles."""
    import trimesh

    ball = trimesh.creation.uv_sphere(radius=1.0, count=[SIDES, SIDES])
    return np.asarray(ball.vertices), np.asarray(ball.faces)


def _ground(field: Any) -> tuple[np.ndarray, np.ndarray]:
    """A height field as corners and triangles."""
    heights = np.asarray(field.data, float)
    rows, columns = heights.shape
    x, y = np.meshgrid(np.linspace(-field.hx, field.hx, columns), np.linspace(-field.hy, field.hy, rows))
    z = field.min_z + heights * (field.max_z - field.min_z)
    at = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = (part.ravel() for part in (at[:-1, :-1], at[:-1, 1:], at[1:, 1:], at[1:, :-1]))
    faces = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    return np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1), faces
