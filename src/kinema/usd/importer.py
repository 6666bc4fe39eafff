"""A stage into a builder, in Newton's order: bodies and joints, what is only seen, what touches, masses, filters.

Arrays come out as Newton's importer makes them (`docs/from-newton.md` lists where they differ on purpose). Everything
happens or nothing: a stage that is refused leaves the builder as it was.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from ..errors import BuildError, did_you_mean
from ..model import Axis
from .bodies import add_trees
from .cables import add_cables
from .cloth import add_cloth
from .drives import add_actuators
from .filters import filter_shapes
from .joints import DEGREE, kind_of
from .loose import add_loose, set_free_velocities
from .mass import give_masses
from .mujoco_elements import add_mujoco_elements
from .scene import JOINTS, Scene, Wishes, read_physics, read_scene, set_gravity
from .schemas import Schemas, authored
from .shapes import add_colliders, add_static_seen, applies, approximate
from .soft import add_soft

ANY = object()
NEEDLESS = {
    "verbose": ANY, "parse_mujoco_options": ANY, "mesh_maxhullvert": None, "convert_mjc_equality_constraints": True,
    "legacy_margin_gap": False, "legacy_angular_velocity_units": False, "legacy_springref_units": False,
    "parent_body": -1,
}  # fmt: skip
"""Arguments of Newton's that are taken at this value only, which is what happens here."""
LEFT_OUT = {
    "Points": "particles of MPM: no solver here has them",
    "MjcKeyframe": "set State.joint_q, or use keyframes of a document",
    "PhysicsAttachment": "attachments of soft bodies: none is made",
}
"""Types of prims that something is simulated of elsewhere and not here, and what to do about it."""
LEFT_OUT_SCHEMAS = {
    "PhysxTendonAxisAPI": "tendons of PhysX: write an MjcTendon",
    "PhysxTendonAxisRootAPI": "tendons of PhysX: write an MjcTendon",
    "PhysxTendonAttachmentAPI": "tendons of PhysX: write an MjcTendon",
    "PhysxTendonAttachmentRootAPI": "tendons of PhysX: write an MjcTendon",
    "PhysxVehicleAPI": "vehicles of PhysX",
    "PhysxParticleSystem": "particles of PhysX: use builder.add_particle",
}
"""Schemas of prims, likewise."""


def add_usd(builder: Any, source: Any, *, schema_resolvers: Iterable[Any] | None = None, **wishes: Any) -> dict:
    """Add a stage to a builder, to its open world if there is one.

    Args:
        builder: Takes the rows.
        source: Path of a file, or a `pxr.Usd.Stage`.
        schema_resolvers: Whose attributes to hear beside UsdPhysics': "newton", "physx", "mjc", or Newton's objects of
            these names, the first that says something deciding; Newton's if None.
        wishes: What Newton's `add_usd` can be asked for (`scene.Wishes`); and the words of `NEEDLESS`.

    Returns:
        What Newton returns: indices by path (`path_body_map`, `path_joint_map`, `path_shape_map`), and what the stage
        says of itself.
    """
    more = bool(wishes.pop("return_deformable_results", False))
    scene = read_scene(builder, source, _wishes(wishes), Schemas(schema_resolvers))
    from pxr import UsdGeom

    with builder.all_or_nothing():
        physics, attributes, gravity = read_physics(scene)
        touching, left = add_trees(scene)
        if scene.wishes.load_visual_shapes and scene.wishes.load_static_visual_shapes:
            add_static_seen(scene)
        colliders = add_colliders(scene)
        give_masses(scene, colliders)
        add_loose(scene, left, touching)
        set_free_velocities(scene)
        filter_shapes(scene, touching)
        _follow(scene)
        approximate(scene, colliders)
        add_cables(scene)
        add_cloth(scene)
        add_soft(scene)
        add_mujoco_elements(scene)
        actuators = add_actuators(scene)
    if scene.wishes.apply_up_axis_from_stage:
        builder.up_axis = Axis.from_any(str(UsdGeom.GetStageUpAxis(scene.stage)))
    set_gravity(builder, gravity)
    _warn_left_out(scene)
    collapsed = builder.collapse_fixed_joints() if scene.wishes.collapse_fixed_joints else None
    result = _result(scene, physics, attributes, collapsed)
    result["actuator_count"] = actuators
    if more:
        result |= {"path_soft_map": scene.soft, "path_cable_map": scene.cables, "path_cloth_map": scene.cloth,
                   "path_attachment_map": {}}  # fmt: skip
    return result


def _wishes(given: dict[str, Any]) -> Wishes:
    known = {f.name for f in fields(Wishes)}
    for name, value in given.items():
        if name in known:
            continue
        if name not in NEEDLESS:
            raise BuildError(f"add_usd() has no argument {name!r}{did_you_mean(name, [*known, *NEEDLESS])}")
        if NEEDLESS[name] is not ANY and value != NEEDLESS[name]:
            raise BuildError(f"add_usd(): {name}={value!r} is not supported; leave it at {NEEDLESS[name]!r}")
    wanted = {name: value for name, value in given.items() if name in known}
    if wanted.get("ignore_paths", ()) is None:
        del wanted["ignore_paths"]
    return Wishes(**wanted)


def _follow(scene: Scene) -> None:
    """Joints that follow others (NewtonMimicAPI, MjcEqualityJointAPI)."""
    for _, path, desc in scene.each(*JOINTS):
        prim = scene.prim(path)
        if path not in scene.joints or not applies(prim, "NewtonMimicAPI", "MjcEqualityJointAPI"):
            continue
        relation = prim.GetRelationship("newton:mimicJoint") or prim.GetRelationship("mjc:target")
        targets = relation.GetTargets() if relation else []
        leader = scene.joints.get(str(targets[0])) if targets else None
        if leader is None:
            warnings.warn(f"{path}: follows no joint of the model, and is left alone", stacklevel=3)
            continue
        offset, factor = authored(prim, "newton:mimicCoef0"), authored(prim, "newton:mimicCoef1")
        offset = None if offset is None else float(offset) * (DEGREE if kind_of(desc) == "RevoluteJoint" else 1.0)
        if applies(prim, "MjcEqualityJointAPI"):  # MuJoCo's own words, in radians
            offset = authored(prim, "mjc:coef0") if offset is None else offset
            factor = authored(prim, "mjc:coef1") if factor is None else factor
            higher = [name for name in ("mjc:coef2", "mjc:coef3", "mjc:coef4") if authored(prim, name)]
            if higher:
                warnings.warn(f"{path}: {', '.join(higher)} are left out: followers are linear", stacklevel=3)
        enabled = authored(prim, "newton:mimicEnabled")
        scene.builder.add_constraint_mimic(
            scene.joints[path], leader, 0.0 if offset is None else float(offset),
            1.0 if factor is None else float(factor),
            enabled=enabled is None or bool(enabled), label=path,
        )  # fmt: skip


def _warn_left_out(scene: Scene) -> None:
    """Say of what nothing was made, with the first path of each kind."""
    from pxr import Usd

    found: dict[str, list[str]] = {}
    for prim in Usd.PrimRange(scene.prim(scene.wishes.root_path), Usd.TraverseInstanceProxies()):
        if scene.ignored(prim.GetPath()):
            continue
        kinds = [kind for kind in (str(prim.GetTypeName()),) if kind in LEFT_OUT]
        kinds += [name for name in LEFT_OUT_SCHEMAS if _carries(prim, name)]
        for kind in kinds:
            found.setdefault(kind, []).append(str(prim.GetPath()))
    for kind, paths in found.items():
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        reason = {**LEFT_OUT, **LEFT_OUT_SCHEMAS}[kind]
        warnings.warn(f"{paths[0]}{more}: {kind} is left out ({reason})", stacklevel=3)


def _carries(prim: Any, schema: str) -> bool:
    """Whether a prim carries a schema, once or under names (PhysxTendonAxisAPI:inst)."""
    written = prim.GetMetadata("apiSchemas")
    listed = [*prim.GetAppliedSchemas(), *(written.GetAddedOrExplicitItems() if written else ())]
    return any(str(name).partition(":")[0] == schema for name in listed)


def _result(scene: Scene, physics: Any, attributes: dict[str, Any], collapsed: Any) -> dict[str, Any]:
    from pxr import UsdGeom, UsdPhysics

    stage, schemas = scene.stage, scene.schemas
    rate = None if physics is None else float(schemas.value(physics, "scene", "steps_per_second", 1000))
    units = {
        name: float(read(stage)) if stage.HasAuthoredMetadata(key) else 1.0
        for name, key, read in (("mass_unit", "kilogramsPerUnit", UsdPhysics.GetStageKilogramsPerUnit),
                                ("linear_unit", "metersPerUnit", UsdGeom.GetStageMetersPerUnit))
    }  # fmt: skip
    return {
        "fps": stage.GetFramesPerSecond(), "duration": stage.GetEndTimeCode() - stage.GetStartTimeCode(),
        "up_axis": Axis.from_any(str(UsdGeom.GetStageUpAxis(stage))), "path_body_map": scene.bodies,
        "path_joint_map": scene.joints, "path_shape_map": scene.shapes, "path_shape_scale": scene.scales,
        "path_particle_map": {}, **units, "scene_attributes": attributes,
        "physics_scene_path": None if physics is None else str(physics.GetPath()),
        "physics_dt": None if rate is None else 1.0 / rate if rate > 0.0 else 0.001, "collapse_results": collapsed,
        "schema_attrs": schemas.seen, "path_body_relative_transform": {},
        "max_solver_iterations": None if physics is None else schemas.value(physics, "scene", "iterations", -1),
        "particle_scene_path": None, "actuator_count": 0,
    }  # fmt: skip
