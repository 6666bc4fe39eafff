"""Compile an MJCF document into a builder: core arrays for every solver, and complete `mujoco` rows.

Core arrays follow Newton: one joint per body (bodies with several joints get a D6 joint), coordinates measured from
the reference configuration, quaternions xyzw. They are what users and other solvers read; MuJoCo's own structure, which
they cannot hold in full, is in the rows (see `rows.py`), and the convex solver reads those alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from kinema.compile.adjust import Wishes, editing
from kinema.compile.conflict import refuse_conflicts, warn_unheard
from kinema.compile.constants.kinematics import forward_kinematics
from kinema.compile.constants.tree import Tree
from kinema.compile.context import Compilation
from kinema.compile.element import Element
from kinema.compile.host_model import KINDS, HostModel
from kinema.compile.labels import Labels
from kinema.compile.pipeline import compile_tree
from kinema.compile.price import Limits
from kinema.compile.rows import (
    CORE,
    FREQUENCIES,
    NAMESPACE,
    add_rows,
    frequency,
    register_mujoco_attributes,
    stated_in_world,
)
from kinema.errors import BuildError, did_you_mean
from kinema.mjcf.source import Node
from kinema.model import (
    AttributeFrequency,
    CustomAttribute,
    GeoType,
    Heightfield,
    JointDofConfig,
    Mesh,
    ModelBuilder,
    ShapeConfig,
    parse_custom_attributes,
)
from kinema.model.frequency import frequency_key
from kinema.model.transform import rotation
from kinema.mujoco_enums import Geom, Joint

GEO_TYPES: dict[int, GeoType] = {
    Geom.PLANE: GeoType.PLANE, Geom.HFIELD: GeoType.HFIELD, Geom.SPHERE: GeoType.SPHERE, Geom.CAPSULE: GeoType.CAPSULE,
    Geom.ELLIPSOID: GeoType.ELLIPSOID, Geom.CYLINDER: GeoType.CYLINDER, Geom.BOX: GeoType.BOX,
    Geom.MESH: GeoType.MESH, Geom.SDF: GeoType.MESH,
}  # fmt: skip
READ_FROM = {
    "body": AttributeFrequency.BODY, "geom": AttributeFrequency.SHAPE, "joint": AttributeFrequency.JOINT,
}  # fmt: skip
"""Elements whose attributes feed users' attributes of a built-in frequency."""
_PLACES = {"body_index": "bodies", "body_joint": "joints", "geom_shape": "shapes", "site_shape": "sites"}


@dataclass
class MjcfResult:
    """Where a document's objects are in the builder.

    Attributes:
        host: The compiled model.
        bodies: Builder body of each mjModel body; -1 for the world.
        joints: Builder joint of each mjModel body; -1 for the world.
        shapes: Builder shape of each geom.
        sites: Builder shape of each site.
        rows: First row of each `mujoco` frequency, by size symbol.
    """

    host: HostModel
    bodies: list[int] = field(default_factory=list)
    joints: list[int] = field(default_factory=list)
    shapes: list[int] = field(default_factory=list)
    sites: list[int] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)


def add_mjcf(
    builder: ModelBuilder,
    source: Any,
    *,
    assets: Mapping[str, bytes] | None = None,
    limits: Limits | None = None,
    urdf: Mapping[str, str] | None = None,
    links: Mapping[str, str] | None = None,
    edit: Callable[[Node], None] | None = None,
    **wishes: Any,
) -> MjcfResult:
    """Compile a document and add it to a builder: to its open world, beside what that holds already.

    Documents of one world share its options, which are those of the first; one that states another value is refused.
    A keyframe of one document leaves the others where they start.

    Args:
        builder: Builder that takes the rows; the `mujoco` attributes are registered if they are not yet.
        source: Path, XML text, source tree or document.
        assets: Files by name that come before those on disk.
        limits: How large the document may be.
        urdf: Settings of the compiler for a URDF file that states none of its own.
        links: The joint above each link, where the source is a robot description.
        edit: A further edit of the document before it is compiled.
        wishes: What else Newton's importers can be asked for: xform, floating, base_joint, armature_scale,
            ignore_names, ignore_classes, enable_self_collisions, skip_equality_constraints,
            ignore_inertial_definitions, up_axis, override_root_xform, as `adjust.py` has them; and the words of
            `NEEDLESS`, which change nothing here.
    """
    asked = _wishes(wishes)
    wished = editing(asked, builder.up_axis)

    def edited(root: Node) -> None:
        wished(root)
        if edit is not None:
            edit(root)

    register_mujoco_attributes(builder)
    extra = _names_to_read(builder)
    c, host = compile_tree(source, assets=assets, extra=extra, limits=limits, edit=edited, urdf=urdf)
    stated = stated_in_world(builder)
    if stated is not None:
        refuse_conflicts(stated, host.stated)
        warn_unheard(stated, host.stated)
    result = MjcfResult(host)
    labels = Labels(c, host, builder.body_count, _base(asked), links)
    _add_bodies(builder, c, result, labels)
    _add_joints(builder, c, result, labels)
    _add_shapes(builder, c, result, labels)
    if stated is None:  # options are those of a world's first document
        builder.gravity = np.asarray(host.opt.gravity, dtype=float)
    rows = _user_rows(builder, c)
    for name, (symbol, _) in CORE.items():
        rows.setdefault(symbol, {})[f"{NAMESPACE}:{name}"] = getattr(result, _PLACES[name])
    result.rows = add_rows(builder, host, rows)
    return result


def _base(asked: Wishes) -> str | None:
    """What Newton calls the joint of a root that the caller asked for."""
    if asked.base_joint is not None:
        return str(asked.base_joint.get("label") or "base_joint")
    return None if asked.floating is None else "floating_base" if asked.floating else "fixed_base"


ANY = object()
NEEDLESS: Mapping[str, Any] = {
    "scale": 1.0, "hide_visuals": False, "parse_visuals_as_colliders": False, "parse_meshes": True, "parse_sites": True,
    "parse_visuals": True, "parse_mujoco_options": True, "visual_classes": ANY, "collider_classes": ANY,
    "no_class_as_colliders": True, "force_show_colliders": ANY,
    "collapse_fixed_joints": False, "collapse_massless_fixed_root": False, "convert_mjc_equality_constraints": True,
    "convert_3d_hinge_to_ball_joints": False, "mesh_maxhullvert": None, "ctrl_direct": ANY, "path_resolver": None,
    "legacy_margin_gap": False, "parent_body": -1, "verbose": ANY, "joint_ordering": "dfs",
    "bodies_follow_joint_ordering": True, "force_position_velocity_actuation": False, "joint_damping_mode": ANY,
}  # fmt: skip
"""Arguments of Newton's importers that are taken at this value only, which is what happens here."""


def _wishes(given: Mapping[str, Any]) -> Wishes:
    known = {f.name for f in fields(Wishes)}
    for name, value in given.items():
        if name in known:
            continue
        if name not in NEEDLESS:
            raise BuildError(f"add_mjcf() has no argument {name!r}{did_you_mean(name, [*known, *NEEDLESS])}")
        if NEEDLESS[name] is not ANY and value != NEEDLESS[name]:
            raise BuildError(f"{name}={value!r} is not supported here: a document is read as MuJoCo reads it; edit it")
    return Wishes(**{name: value for name, value in given.items() if name in known})


# ---- users' attributes


def _user_attributes(builder: ModelBuilder, kind: AttributeFrequency | str) -> list[CustomAttribute]:
    wanted = builder.get_custom_attributes_by_frequency([kind])
    return [a for a in wanted if a.mjcf_attribute_name or a.mjcf_value_transformer]


def _names_to_read(builder: ModelBuilder) -> dict[str, set[str]]:
    """XML attributes that registered attributes are read from, by the kind of element."""
    names: dict[str, set[str]] = {}
    for kind, builtin in READ_FROM.items():
        names[kind] = {a.mjcf_attribute_name or a.name for a in _user_attributes(builder, builtin)}
    for attribute in builder.custom_attributes.values():
        key = frequency_key(attribute.frequency, attribute.key)
        for kind, symbol in KINDS.items():
            if symbol in FREQUENCIES and key == frequency(symbol) and attribute.mjcf_attribute_name:
                names.setdefault(kind, set()).add(attribute.mjcf_attribute_name)
    names["joint"] |= {a.mjcf_attribute_name or a.name for a in _user_attributes(builder, AttributeFrequency.JOINT_DOF)}
    return {kind: found for kind, found in names.items() if found}


def _read(builder: ModelBuilder, e: Element, kind: AttributeFrequency | str) -> dict[str, Any]:
    """Values of users' attributes on one element, its default classes applied."""
    attributes = _user_attributes(builder, kind)
    if not attributes:
        return {}
    merged: dict[str, str] = {}
    for layer in e.layers:
        merged |= layer
    return parse_custom_attributes(merged, attributes, "mjcf", {"element": e.node, "builder": builder})


def _user_rows(builder: ModelBuilder, c: Compilation) -> dict[str, dict[str, Any]]:
    """Columns of users' attributes that share one of the `mujoco` frequencies."""
    found: dict[str, dict[str, Any]] = {}
    for kind, symbol in KINDS.items():
        if symbol not in FREQUENCIES:
            continue
        attributes = _user_attributes(builder, frequency(symbol))
        if not attributes:
            continue
        values = [_read(builder, e, frequency(symbol)) for e in c.elements[kind]]
        for attribute in attributes:
            default = attribute.field().fill
            found.setdefault(symbol, {})[attribute.key] = [row.get(attribute.key, default) for row in values]
    return found


# ---- core arrays


def _xform(pos: Any, quat: Any) -> np.ndarray:
    """Newton's transform of a position and a wxyz quaternion."""
    quat = np.asarray(quat, dtype=float)
    return np.concatenate([np.asarray(pos, dtype=float), quat[1:], quat[:1]])


def _add_bodies(builder: ModelBuilder, c: Compilation, result: MjcfResult, labels: Labels) -> None:
    m = result.host
    pose = forward_kinematics(m, Tree(m), np.asarray(m.qpos0)[None])
    result.bodies.append(-1)
    for i in range(1, m.nbody):
        turn = rotation(m.body_iquat[i])
        e = c.elements["body"][i]
        body = builder.add_link(
            xform=_xform(pose.xpos[0, i], pose.xquat[0, i]),
            com=m.body_ipos[i],
            inertia=turn @ np.diag(m.body_inertia[i]) @ turn.T,
            mass=float(m.body_mass[i]),
            label=labels.body(i),
            lock_inertia=True,
            is_kinematic=bool(m.body_mocapid[i] >= 0),
            custom_attributes=_read(builder, e, AttributeFrequency.BODY),
        )
        result.bodies.append(body)


def _add_joints(builder: ModelBuilder, c: Compilation, result: MjcfResult, labels: Labels) -> None:
    m = result.host
    result.joints.append(-1)
    trees: dict[int, list[int]] = {}
    for i in range(1, m.nbody):
        joint = _add_joint(builder, c, result, i, labels.joint(i))
        result.joints.append(joint)
        trees.setdefault(int(m.body_rootid[i]), []).append(joint)
    for root, joints in trees.items():
        builder.add_articulation(joints, label=labels.articulation(root, len(trees) > 1))


def _add_joint(builder: ModelBuilder, c: Compilation, result: MjcfResult, i: int, label: str) -> int:
    m = result.host
    parent, child = result.bodies[m.body_parentid[i]], result.bodies[i]
    start, number = int(m.body_jntadr[i]), int(m.body_jntnum[i])
    ids = range(start, start + number)
    placed = _xform(m.body_pos[i], m.body_quat[i])
    if number == 0:
        return builder.add_joint_fixed(parent, child, parent_xform=placed, label=label)
    first = c.elements["joint"][start]
    custom = _read(builder, first, AttributeFrequency.JOINT)
    if m.jnt_type[start] == Joint.FREE:
        return builder.add_joint_free(child, label=label, custom_attributes=custom)
    anchor = np.asarray(m.jnt_pos[start], dtype=float)
    turned = rotation(np.asarray(m.body_quat[i], dtype=float)) @ anchor
    frames: dict[str, Any] = {
        "parent_xform": _xform(m.body_pos[i] + turned, m.body_quat[i]),
        "child_xform": _xform(anchor, (1, 0, 0, 0)),
        "label": label,
    }
    if m.jnt_type[start] == Joint.BALL and number == 1:
        dof = int(m.jnt_dofadr[start])
        return builder.add_joint_ball(
            parent, child, armature=float(m.dof_armature[dof]), damping=float(m.dof_damping[dof]),
            friction=float(m.dof_frictionloss[dof]), custom_attributes=custom, **frames,
        )  # fmt: skip
    linear: list = []
    angular: list = []
    local: list = []
    for j in ids:
        if m.jnt_type[j] == Joint.BALL:  # three turns about the axes stand in for a ball among other joints
            angular += [JointDofConfig.create_unlimited(axis) for axis in np.eye(3)]
            continue
        (angular if m.jnt_type[j] == Joint.HINGE else linear).append(_axis(m, j))
        local.append(_read(builder, c.elements["joint"][j], AttributeFrequency.JOINT_DOF))
    for key in {key for row in local for key in row}:
        custom[key] = {index: row[key] for index, row in enumerate(local) if key in row}
    if number == 1:
        kind = builder.add_joint_revolute if angular else builder.add_joint_prismatic
        return kind(parent, child, axis=(angular or linear)[0], custom_attributes=custom, **frames)
    return builder.add_joint_d6(
        parent, child, linear_axes=linear, angular_axes=angular, custom_attributes=custom, **frames
    )


def _axis(m: HostModel, j: int) -> JointDofConfig:
    dof, reference = int(m.jnt_dofadr[j]), float(m.qpos0[m.jnt_qposadr[j]])
    more: dict[str, Any] = {}
    if m.jnt_limited[j]:
        more |= {
            "limit_lower": float(m.jnt_range[j, 0]) - reference,
            "limit_upper": float(m.jnt_range[j, 1]) - reference,
        }
    if m.jnt_actfrclimited[j]:
        more["effort_limit"] = float(np.abs(m.jnt_actfrcrange[j]).max())
    return JointDofConfig(
        axis=np.asarray(m.jnt_axis[j], dtype=float),
        damping=float(m.dof_damping[dof]),
        armature=float(m.dof_armature[dof]),
        friction=float(m.dof_frictionloss[dof]),
        **more,
    )


def _add_shapes(builder: ModelBuilder, c: Compilation, result: MjcfResult, labels: Labels) -> None:
    m = result.host
    meshes: dict[int, Any] = {}
    for g in range(m.ngeom):
        e = c.elements["geom"][g]
        kind = GEO_TYPES[int(m.geom_type[g])]
        source, scale = None, np.asarray(m.geom_size[g], dtype=float)
        if kind == GeoType.MESH:
            index = int(m.geom_dataid[g])
            source = meshes.setdefault(index, _mesh(m, index))
            scale = np.ones(3)
        elif kind == GeoType.HFIELD:
            source, scale = _hfield(m, int(m.geom_dataid[g])), np.ones(3)
        elif kind == GeoType.PLANE:
            scale = np.array([2 * scale[0], 2 * scale[1], 0.0])
        elif kind == GeoType.CYLINDER:
            scale = np.array([scale[0], scale[1], 0.0])
        collides = bool(m.geom_contype[g] or m.geom_conaffinity[g])
        friction = np.asarray(m.geom_friction[g], dtype=float)
        cfg = ShapeConfig(
            density=0.0, mu=friction[0], mu_torsional=friction[1], mu_rolling=friction[2],
            margin=float(m.geom_margin[g]), gap=float(m.geom_gap[g]), has_shape_collision=collides,
            has_particle_collision=collides, collision_group=1 if collides else 0,
        )  # fmt: skip
        rgba = np.asarray(m.mat_rgba[m.geom_matid[g]] if m.geom_matid[g] >= 0 else m.geom_rgba[g], dtype=float)
        shape = builder.add_shape(
            body=result.bodies[m.geom_bodyid[g]], type=kind, xform=_xform(m.geom_pos[g], m.geom_quat[g]), cfg=cfg,
            scale=scale, src=source, color=rgba[:3], opacity=float(rgba[3]),
            label=labels.part("geom", int(m.geom_bodyid[g]), e.name, "" if collides else "_visual"),
            custom_attributes=_read(builder, e, AttributeFrequency.SHAPE),
        )  # fmt: skip
        result.shapes.append(shape)
    for s in range(m.nsite):
        kind = GEO_TYPES[int(m.site_type[s])]
        drawable = kind if kind != GeoType.MESH else GeoType.SPHERE
        site = builder.add_site(
            result.bodies[m.site_bodyid[s]], xform=_xform(m.site_pos[s], m.site_quat[s]), type=drawable,
            scale=np.asarray(m.site_size[s], dtype=float),
            label=labels.part("site", int(m.site_bodyid[s]), c.elements["site"][s].name),
        )  # fmt: skip
        result.sites.append(site)


def _mesh(m: HostModel, index: int) -> Mesh:
    vert = slice(m.mesh_vertadr[index], m.mesh_vertadr[index] + m.mesh_vertnum[index])
    face = slice(m.mesh_faceadr[index], m.mesh_faceadr[index] + m.mesh_facenum[index])
    return Mesh(m.mesh_vert[vert], m.mesh_face[face].ravel())


def _hfield(m: HostModel, index: int) -> Heightfield:
    rows, columns, start = int(m.hfield_nrow[index]), int(m.hfield_ncol[index]), int(m.hfield_adr[index])
    x, y, top, _ = (float(v) for v in m.hfield_size[index])
    data = np.asarray(m.hfield_data[start : start + rows * columns], dtype=float).reshape(rows, columns) * top
    return Heightfield(data, rows, columns, hx=x, hy=y, min_z=0.0, max_z=top)


__all__ = ["NAMESPACE", "MjcfResult", "add_mjcf", "register_mujoco_attributes"]
