"""Geometry of a stage: what touches (colliders, with their physics materials), what is only seen, and sites.

Sizes of colliders come from USD's descriptors, which have the scales of all parents in them; of what is only seen,
from the prim and its scale: radii take the larger scale across their axis, lengths the scale along it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..model import AttributeFrequency, GeoType, ShapeConfig
from ..model.transform import transform_mul
from .looks import UNPAINTED, is_drawn, look_of
from .meshes import mesh_of, scaled
from .pose import X, Y, between, pose_of, turned_to
from .scene import SHAPES, Scene
from .schemas import authored

SEEN = ("Cube", "Sphere", "Plane", "Capsule", "Cylinder", "Cone", "Mesh")
"""Types of prims that become shapes when nothing but looks is asked of them."""
AXES = {"X": 0, "Y": 1, "Z": 2}
APPROXIMATIONS = {
    "convexdecomposition": "coacd", "convexhull": "convex_hull", "boundingsphere": "bounding_sphere",
    "boundingcube": "bounding_box",
}  # fmt: skip
SITES = ("NewtonSiteAPI", "MjcSiteAPI")
DEFORMABLE = ("PhysicsCurvesDeformableSimAPI", "PhysicsSurfaceDeformableSimAPI", "PhysicsVolumeDeformableSimAPI")
"""What is simulated by its points: no shape of a body."""


@dataclass(frozen=True)
class Material:
    """Numbers of a physics material; None: the builder's."""

    mu: float
    restitution: float
    mu_torsional: float
    mu_rolling: float
    density: float
    ke: float | None = None
    kd: float | None = None
    kf: float | None = None
    ka: float | None = None


@dataclass(frozen=True)
class Collider:
    """What a shape that touches gives its body, for `mass.py`."""

    path: str
    body: str
    shape: int
    kind: GeoType
    sizes: np.ndarray
    source: Any
    pose: np.ndarray
    density: float
    is_solid: bool
    thickness: float


def applies(prim: Any, *names: str) -> bool:
    """Whether a prim carries one of some schemas, known to USD or not."""
    listed = set(prim.GetAppliedSchemas())
    if not listed & set(names):
        written = prim.GetMetadata("apiSchemas")
        listed = set(written.GetAddedOrExplicitItems()) if written else set()
    return bool(listed & set(names))


def is_collider(prim: Any) -> bool:
    """Whether a prim touches."""
    from pxr import UsdPhysics

    return prim.HasAPI(UsdPhysics.CollisionAPI) and bool(UsdPhysics.CollisionAPI(prim).GetCollisionEnabledAttr().Get())


# ---- what is only seen


def add_seen(scene: Scene, body: int, prim: Any, *, shown: bool | None = None) -> None:
    """Geometry and sites under a body's prim; other bodies and joints look after themselves."""
    from pxr import Usd

    shown = scene.wishes.load_visual_shapes if shown is None else shown
    for child in prim.GetFilteredChildren(Usd.TraverseInstanceProxies()):
        add_seen_prim(scene, body, child, shown=shown)


def add_seen_prim(scene: Scene, body: int, prim: Any, *, shown: bool, deep: bool = True) -> None:
    """One prim, and with `deep` what is under it."""
    from pxr import UsdPhysics

    path, kind = str(prim.GetPath()), str(prim.GetTypeName())
    if prim.HasAPI(UsdPhysics.RigidBodyAPI) or scene.ignored(path) or kind.endswith("Joint"):
        return
    if is_collider(prim):
        shown = False
    elif kind in SEEN and path not in scene.shapes:
        is_site = applies(prim, *SITES)
        if (is_site and scene.wishes.load_sites) or (shown and not is_site):
            _add_seen_shape(scene, body, prim, kind, is_site)
    if deep:
        add_seen(scene, body, prim, shown=shown)


def _add_seen_shape(scene: Scene, body: int, prim: Any, kind: str, is_site: bool) -> None:
    pose, scale = scene.stands(prim)
    if body >= 0:
        pose = between(np.asarray(scene.builder.rows("body_q")[body], dtype=float), pose)
    visible = is_site or is_drawn(prim)
    color, opacity = look_of(prim)
    cfg = ShapeConfig(density=0.0, has_shape_collision=False, has_particle_collision=False, is_visible=visible)
    if is_site:
        cfg.mark_as_site()
    geometry, pose, sizes, source = _geometry(scene, prim, kind, pose, scale)
    path = str(prim.GetPath())
    scene.shapes[path] = scene.builder.add_shape(
        body=body, type=geometry, xform=pose, cfg=cfg, scale=sizes, src=source, opacity=opacity, label=path,
        color=UNPAINTED if color is None and visible else color, is_static=True,
        custom_attributes=scene.custom(prim, AttributeFrequency.SHAPE),
    )  # fmt: skip
    scene.scales[path] = scale
    if visible and not is_site:
        scene.seen.add(body)


def _geometry(scene: Scene, prim: Any, kind: str, pose: np.ndarray, scale: np.ndarray) -> tuple:
    """Type, pose, sizes and source of a prim that is only seen."""

    def number(name: str) -> float:
        return float(prim.GetAttribute(name).Get())

    if kind == "Mesh":
        return GeoType.MESH, pose, *reversed(_mesh(scene, prim, scale))
    scale = np.abs(scale)
    if kind == "Cube":
        return GeoType.BOX, pose, number("size") / 2 * scale, None
    if kind == "Sphere":
        _warn_uneven(prim, scale)
        return GeoType.SPHERE, pose, np.array([number("radius") * scale.max(), 0.0, 0.0]), None
    axis = AXES[str(prim.GetAttribute("axis").Get())]
    pose = turned_to(pose, axis)
    if kind == "Plane":
        width = number("width") * scale[2 if axis == X else 0]
        length = number("length") * scale[2 if axis == Y else 1]
        return GeoType.PLANE, pose, np.array([width, length, 0.0]), None
    across = max(scale[k] for k in range(3) if k != axis)
    sizes = np.array([number("radius") * across, number("height") / 2 * scale[axis], 0.0])
    return {"Capsule": GeoType.CAPSULE, "Cylinder": GeoType.CYLINDER, "Cone": GeoType.CONE}[kind], pose, sizes, None


def _mesh(scene: Scene, prim: Any, scale: np.ndarray) -> tuple[Any, np.ndarray]:
    """A mesh, made once for all instances of a prim, and the scale of a shape of it."""
    own = prim.GetPrimInPrototype() if prim.IsInstanceProxy() else prim
    path = str(own.GetPath())
    if path not in scene.meshes:
        scene.meshes[path] = mesh_of(prim)
    return scaled(scene.meshes[path], np.asarray(scale, dtype=float))


def _warn_uneven(prim: Any, scale: np.ndarray) -> None:
    if np.ptp(scale) > 1e-6 * scale.max():
        warnings.warn(f"{prim.GetPath()}: a sphere scaled by {scale.tolist()} stays a sphere", stacklevel=4)


def add_static_seen(scene: Scene) -> None:
    """What is seen and belongs to no body."""
    from pxr import Usd

    bodies = {path for path, _ in scene.found.get("RigidBody", ())}
    start = scene.prim(scene.wishes.root_path)
    for prim in list(Usd.PrimRange(start, Usd.TraverseInstanceProxies())):
        path = str(prim.GetPath())
        if str(prim.GetTypeName()) not in SEEN or path in scene.shapes or applies(prim, *DEFORMABLE):
            continue
        if not any(path == body or path.startswith(f"{body}/") for body in bodies):
            add_seen_prim(scene, -1, prim, shown=True, deep=False)


# ---- what touches


def add_colliders(scene: Scene) -> list[Collider]:
    """Every shape that touches."""
    materials: dict[str, Material] = {}
    found = []
    for kind, path, desc in scene.each(*SHAPES):
        if applies(scene.prim(path), *DEFORMABLE):  # its particles and capsules touch
            continue
        found.append(_add_collider(scene, kind, path, desc, materials))
    return [collider for collider in found if collider is not None]


def _material(scene: Scene, path: str, known: dict[str, Material]) -> Material:
    from pxr import UsdPhysics

    if path not in known:
        prim, cfg = scene.prim(path), scene.builder.default_shape_cfg
        api = UsdPhysics.MaterialAPI(prim)
        density = float(api.GetDensityAttr().Get() or 0.0)
        read = {key: scene.schemas.value(prim, "material", key) for key in ("ke", "kd", "kf", "ka")}
        known[path] = Material(
            mu=float(api.GetDynamicFrictionAttr().Get()), restitution=float(api.GetRestitutionAttr().Get()),
            mu_torsional=float(scene.schemas.value(prim, "material", "mu_torsional", cfg.mu_torsional)),
            mu_rolling=float(scene.schemas.value(prim, "material", "mu_rolling", cfg.mu_rolling)),
            density=density if np.isfinite(density) and density > 0.0 else cfg.density,
            **{key: None if value is None else float(value) for key, value in read.items()},
        )  # fmt: skip
    return known[path]


def _add_collider(scene: Scene, kind: str, path: str, desc: Any, materials: dict[str, Material]) -> Collider | None:
    builder, wishes, prim = scene.builder, scene.wishes, scene.prim(path)
    default = builder.default_shape_cfg
    owner = str(desc.rigidBody)
    body = scene.bodies.get(owner, -1)
    on = bool(desc.collisionEnabled)
    bound = _material(scene, str(desc.materials[0]), materials) if desc.materials else None
    density = 0.0 if not on else default.density if bound is None else bound.density
    local = pose_of(desc.localPos, desc.localRot)
    local = local if body >= 0 else transform_mul(scene.world, local)
    visible = (wishes.force_show_colliders or is_drawn(prim)) and not (
        wishes.hide_collision_shapes and body in scene.seen
    )
    color, opacity = look_of(prim)
    is_solid = scene.schemas.value(prim, "shape", "mass_model", "solid") != "shell"
    margin = float(scene.schemas.value(prim, "shape", "margin", default.margin))
    thickness = scene.schemas.value(prim, "shape", "shell_thickness", margin)
    cfg = ShapeConfig(
        **_contact(scene, prim, bound), margin=float(thickness), density=density, is_visible=visible,
        gap=scene.schemas.value(prim, "shape", "gap", default.gap), collision_group=default.collision_group,
        has_shape_collision=on, has_particle_collision=on, is_solid=is_solid,
    )  # fmt: skip
    geometry, local, sizes, source = _collider_geometry(scene, kind, prim, desc, local)
    if path in scene.shapes:
        shape = scene.shapes[path]
    else:
        shape = builder.add_shape(
            body=body, type=geometry, xform=local, cfg=cfg, scale=sizes, src=source, label=path,
            color=UNPAINTED if color is None and visible else color, opacity=opacity if visible else None,
            is_static=geometry == GeoType.PLANE, custom_attributes=scene.custom(prim, AttributeFrequency.SHAPE),
        )  # fmt: skip
        scene.shapes[path], scene.scales[path] = shape, scene.placed(prim)[1]
        if float(thickness) != margin:  # the shell's own thickness decided the mass, the margin what touches
            builder.shape_margin[shape] = margin
    if not on or geometry == GeoType.PLANE:
        return None
    return Collider(path, owner, shape, geometry, sizes, source, local, density, is_solid, float(thickness))


def contact_of(scene: Scene, prim: Any) -> dict[str, Any]:
    """Contact numbers of a prim that UsdPhysics has no descriptor of."""
    from pxr import UsdPhysics, UsdShade

    bound, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
    is_physics = bool(bound) and bound.GetPrim().HasAPI(UsdPhysics.MaterialAPI)
    return _contact(scene, prim, _material(scene, str(bound.GetPath()), {}) if is_physics else None)


def _contact(scene: Scene, prim: Any, material: Material | None) -> dict[str, Any]:
    """Contact numbers of a shape: what MuJoCo's schema says of it, its material's, its own, the builder's."""
    default = scene.builder.default_shape_cfg
    found = {name: getattr(default if material is None else material, name)
             for name in ("mu", "restitution", "mu_torsional", "mu_rolling")}  # fmt: skip
    own_first = scene.schemas.names[:1] == ["mjc"] and authored(prim, "mjc:solref") is not None
    for name in ("ke", "kd", "kf", "ka"):
        own, theirs = scene.schemas.value(prim, "shape", name), getattr(material, name, None)
        order = (own, theirs) if own_first else (theirs, own)
        given = [float(v) for v in order if v is not None and np.isfinite(float(v))]
        found[name] = given[0] if given else getattr(default, name)
    return found


def _collider_geometry(scene: Scene, kind: str, prim: Any, desc: Any, pose: np.ndarray) -> tuple:
    """Type, pose, sizes and source of a collider."""
    if kind == "CubeShape":
        return GeoType.BOX, pose, np.abs(np.asarray(desc.halfExtents, dtype=float)), None
    if kind == "SphereShape":
        _warn_uneven(prim, np.abs(scene.placed(prim)[1]))
        return GeoType.SPHERE, pose, np.array([abs(desc.radius), 0.0, 0.0]), None
    if kind == "MeshShape":
        mesh, scale = _mesh(scene, prim, np.asarray(desc.meshScale, dtype=float))
        return GeoType.MESH, pose, scale, mesh
    pose = turned_to(pose, int(desc.axis))
    if kind == "PlaneShape":
        return GeoType.PLANE, pose, np.zeros(3), None
    geometry = {"Cap": GeoType.CAPSULE, "Cyl": GeoType.CYLINDER, "Con": GeoType.CONE}[kind[:3]]
    radius = max(desc.topRadius, desc.bottomRadius) if kind.endswith("1Shape") else desc.radius
    return geometry, pose, np.array([abs(radius), abs(desc.halfHeight), 0.0]), None


def approximate(scene: Scene, colliders: list[Collider]) -> None:
    """Meshes replaced by what `physics:approximation` asks for, those that are seen kept as shapes to look at."""
    if scene.wishes.skip_mesh_approximation:
        return
    todo: dict[tuple[str, bool], list[int]] = {}
    for collider in colliders:
        if collider.kind != GeoType.MESH:
            continue
        word = str(authored(scene.prim(collider.path), "physics:approximation") or "none").lower()
        if word in APPROXIMATIONS:
            keep = scene.wishes.load_visual_shapes and is_drawn(scene.prim(collider.path))
            todo.setdefault((APPROXIMATIONS[word], keep), []).append(collider.shape)
        elif word != "none":
            warnings.warn(f"{collider.path}: physics:approximation={word!r} is not known; stays a mesh", stacklevel=3)
    for (method, keep), shapes in todo.items():
        scene.builder.approximate_meshes(method, shapes, keep_visual_shapes=keep)
