"""A stage while it is read: what USD's own physics parser found in it, where things stand, what they became.

`UsdPhysics` resolves inheritance, instances, materials, groups and scales of a range of prims into descriptors; they
are the input of everything here. Prims are asked for what descriptors do not hold.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import BuildError
from ..model import AttributeFrequency, Axis
from ..model.joints import axis_vector
from ..model.transform import IDENTITY, quat_between, quat_rotate, transform_mul
from ..model.worlds import pose as as_transform
from .pose import between, decompose
from .schemas import Schemas, authored

JOINTS = ("FixedJoint", "RevoluteJoint", "PrismaticJoint", "SphericalJoint", "D6Joint", "DistanceJoint")
SHAPES = (
    "CubeShape", "SphereShape", "CapsuleShape", "Capsule1Shape", "CylinderShape", "Cylinder1Shape", "ConeShape",
    "MeshShape", "PlaneShape",
)  # fmt: skip


@dataclass(frozen=True)
class Wishes:
    """What `ModelBuilder.add_usd` is asked for."""

    xform: Any = None
    floating: bool | None = None
    base_joint: Any = None
    only_load_enabled_rigid_bodies: bool = False
    only_load_enabled_joints: bool = True
    joint_drive_gains_scaling: float = 1.0
    ignore_paths: Sequence[str] = ()
    collapse_fixed_joints: bool = False
    enable_self_collisions: bool = True
    apply_up_axis_from_stage: bool = False
    root_path: str = "/"
    joint_ordering: str | None = "dfs"
    bodies_follow_joint_ordering: bool = True
    skip_mesh_approximation: bool = False
    load_sites: bool = True
    load_visual_shapes: bool = True
    load_static_visual_shapes: bool = True
    hide_collision_shapes: bool = False
    force_show_colliders: bool = False
    force_position_velocity_actuation: bool = False
    override_root_xform: bool = False
    allow_unsafe_torch_checkpoints: bool = False

    def check(self) -> None:
        """Raise where wishes make no sense."""
        if self.floating is not None and self.base_joint is not None:
            raise BuildError("floating= and base_joint= both say how the root is held: give one of them")
        if self.override_root_xform and self.xform is None:
            raise BuildError("override_root_xform=True needs xform=, where the root is to be")
        if self.joint_ordering not in ("dfs", "bfs", None):
            raise BuildError(f"add_usd(): joint_ordering={self.joint_ordering!r} is not 'dfs', 'bfs' or None")


@dataclass
class Scene:
    """One import.

    Attributes:
        builder: Takes the rows.
        stage: The stage.
        wishes: What was asked for.
        schemas: Reads numbers that UsdPhysics has no name for.
        found: Descriptors by kind, in the order the parser gives them.
        world: The stage's own frame in the builder's world.
        bodies: Builder's body of each prim, by path; likewise joints and shapes.
    """

    builder: Any
    stage: Any
    wishes: Wishes
    schemas: Schemas
    found: dict[str, list[tuple[str, Any]]]
    world: np.ndarray
    gains_scaling: float = 1.0
    bodies: dict[str, int] = field(default_factory=dict)
    joints: dict[str, int] = field(default_factory=dict)
    dofs: dict[str, int] = field(default_factory=dict)  # of hinges and slides, and the first of balls
    shapes: dict[str, int] = field(default_factory=dict)
    scales: dict[str, np.ndarray] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)  # bodies with geometry that is only looked at
    meshes: dict[str, Any] = field(default_factory=dict)
    soft: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)  # particles and tetrahedra, by path
    cloth: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)  # particles, triangles and edges
    cables: dict[str, tuple[list[int], list[int]]] = field(default_factory=dict)  # bodies and joints
    cache: Any = None
    rebased: dict[str, np.ndarray] = field(default_factory=dict)  # pose of the articulation root, taken out

    def prim(self, path: Any) -> Any:
        """The prim at a path."""
        return self.stage.GetPrimAtPath(str(path))

    def ignored(self, path: Any) -> bool:
        """Whether a path matches what is to be left out."""
        return any(re.match(pattern, str(path)) for pattern in self.wishes.ignore_paths)

    def each(self, *kinds: str) -> Iterator[tuple[str, str, Any]]:
        """(kind, path, descriptor) of kinds, in the parser's order, without what is left out or broken."""
        for kind, entries in self.found.items():
            for path, desc in entries if kind in kinds else ():
                if self.ignored(path):
                    continue
                if not desc.isValid:
                    warnings.warn(f"{path}: left out, USD calls its description broken", stacklevel=2)
                    continue
                yield kind, path, desc

    def of_type(self, *kinds: str) -> Iterator[Any]:
        """Prims of some types, without what is left out."""
        from pxr import Usd

        for prim in Usd.PrimRange(self.prim(self.wishes.root_path), Usd.TraverseInstanceProxies()):
            if str(prim.GetTypeName()) in kinds and not self.ignored(prim.GetPath()):
                yield prim

    def placed(self, prim: Any) -> tuple[np.ndarray, np.ndarray]:
        """Pose and scale of a prim in the stage."""
        return decompose(self.cache.GetLocalToWorldTransform(prim))

    def stands(self, prim: Any) -> tuple[np.ndarray, np.ndarray]:
        """Pose and scale of a prim in the builder's world."""
        pose, scale = self.placed(prim)
        path = str(prim.GetPath())
        for root, home in self.rebased.items():
            if path == root or path.startswith(f"{root}/"):
                return transform_mul(self.world, between(home, pose)), scale
        return transform_mul(self.world, pose), scale

    def custom(self, prim: Any, *kinds: AttributeFrequency) -> dict[str, Any]:
        """Values of users' attributes that a prim carries."""
        found = {}
        for attribute in self.builder.get_custom_attributes_by_frequency(list(kinds)):
            name = attribute.usd_attribute_name or f"newton:{attribute.key}"
            value = prim if name == "*" else authored(prim, name)
            if value is None:
                continue
            if attribute.usd_value_transformer is not None:
                value = attribute.usd_value_transformer(value, {"prim": prim, "builder": self.builder})
            if value is not None:
                found[attribute.key] = _plain(value)
        return found


def _plain(value: Any) -> Any:
    """A value of USD's as numbers; quaternions with their real part last."""
    if hasattr(value, "GetImaginary"):
        return [*value.GetImaginary(), value.GetReal()]
    return list(value) if hasattr(value, "__len__") and not isinstance(value, str) else value


def open_stage(source: Any) -> Any:
    """A stage of a path, or the stage itself."""
    try:
        from pxr import Usd
    except ImportError as error:
        raise BuildError("add_usd() needs OpenUSD: pip install 'kinema[usd]'") from error
    if isinstance(source, Usd.Stage):
        return source
    from pathlib import Path

    if not Path(str(source)).exists():
        raise BuildError(f"add_usd(): there is no file {str(source)!r}")
    try:
        stage = Usd.Stage.Open(str(source), Usd.Stage.LoadAll)
    except Exception as error:
        raise BuildError(f"{source}: OpenUSD cannot read it: {error}") from error
    return stage


def read_scene(builder: Any, source: Any, wishes: Wishes, schemas: Schemas) -> Scene:
    """A stage, parsed, and nothing added yet."""
    from pxr import UsdGeom, UsdPhysics

    wishes.check()
    stage = open_stage(source)
    if not stage.GetPrimAtPath(wishes.root_path):
        raise BuildError(f"add_usd(): the stage has no prim at root_path={wishes.root_path!r}")
    load = getattr(UsdPhysics, "UsdPhysicsLoadStageFromPrimRange", None) or UsdPhysics.LoadUsdPhysicsFromRange
    plain = [path for path in wishes.ignore_paths if ".*" not in path]
    raw = load(stage, [wishes.root_path], excludePaths=plain)
    found = {str(kind).rpartition(".")[2]: list(zip(map(str, paths), descs, strict=True))
             for kind, (paths, descs) in raw.items()}  # fmt: skip
    _check_units(stage)
    up = Axis.from_any(str(UsdGeom.GetStageUpAxis(stage)))
    turn = quat_between(axis_vector(up), axis_vector(up if wishes.apply_up_axis_from_stage else builder.up_axis))
    given = as_transform(wishes.xform, "add_usd()")
    world = transform_mul(IDENTITY if given is None else given, np.concatenate([np.zeros(3), turn]))
    scene = Scene(builder, stage, wishes, schemas, found, world, gains_scaling=wishes.joint_drive_gains_scaling)
    scene.cache = UsdGeom.XformCache()
    return scene


def _check_units(stage: Any) -> None:
    from pxr import UsdGeom, UsdPhysics

    for name, unit in (("metersPerUnit", UsdGeom.GetStageMetersPerUnit(stage)),
                       ("kilogramsPerUnit", UsdPhysics.GetStageKilogramsPerUnit(stage))):  # fmt: skip
        if stage.HasAuthoredMetadata(name) and not np.isclose(unit, 1.0):
            warnings.warn(f"{name} is {unit}: numbers are taken as they stand, in metres and kilograms", stacklevel=3)


def read_physics(scene: Scene) -> tuple[Any, dict[str, Any], np.ndarray | None]:
    """The first physics scene: its prim, its attributes, and gravity in the builder's world."""
    entries = list(scene.each("Scene"))
    if not entries:
        return None, {}, None
    _, path, desc = entries[0]
    prim = scene.prim(path)
    direction = np.asarray(desc.gravityDirection, dtype=float)
    length = np.linalg.norm(direction)
    from pxr import UsdGeom

    direction = direction / length if length > 0.0 else -axis_vector(str(UsdGeom.GetStageUpAxis(scene.stage)))
    turn = scene.world[3:]
    if scene.wishes.override_root_xform:
        up = axis_vector(str(UsdGeom.GetStageUpAxis(scene.stage)))
        turn = quat_between(up, axis_vector(scene.builder.up_axis))
    is_on = bool(scene.schemas.value(prim, "scene", "gravity_enabled", True))
    gravity = quat_rotate(turn, direction) * (float(desc.gravityMagnitude) if is_on else 0.0)
    scaling = authored(prim, "newton:joint_drive_gains_scaling")
    scene.gains_scaling = scene.gains_scaling if scaling is None else float(scaling)
    return prim, {attribute.GetName(): attribute.Get() for attribute in prim.GetAttributes()}, gravity


def set_gravity(builder: Any, gravity: np.ndarray | None) -> None:
    """Gravity of the open world, or of the builder where none is open."""
    if gravity is not None and builder.current_world >= 0:
        builder.world_gravity[builder.current_world] = gravity
    elif gravity is not None:
        builder.gravity = gravity
