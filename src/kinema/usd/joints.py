"""Joints of a stage.

    X_p, X_c     local poses 0 and 1; where body 0 is no body of the model, the two change places
    limits, targets and drives of turns are per degree in a stage and per radian in a model
    PhysicsJoint is a D6: an axis whose limits leave no room is locked, one without limits is free; limits that are
    written count, whether the schema they belong to was applied or not
    several hinges and slides between the same two bodies are one D6, as MuJoCo's joints of one body are

What holds a body to the world is written relative to a frame nobody names. It is found from the body: the child's
imported pose is where its joint is at rest.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import BuildError
from ..model import AttributeFrequency, JointDofConfig, JointTargetMode
from ..model.transform import IDENTITY, quat_rotate, transform_inverse, transform_mul
from .pose import between, pose_of
from .scene import Scene
from .schemas import authored
from .shapes import applies

DEGREE = np.pi / 180.0
HARD = 1e8
"""Stiffness of a limit that is said to be infinitely stiff."""
D6 = {
    name: (name, np.eye(3)[k % 3], k >= 3)
    for k, name in enumerate(("TransX", "TransY", "TransZ", "RotX", "RotY", "RotZ"))
}
SINGLE = ("RevoluteJoint", "PrismaticJoint")
PER_JOINT = (AttributeFrequency.JOINT,)
PER_AXIS = (AttributeFrequency.JOINT_DOF, AttributeFrequency.JOINT_COORD)


def kind_of(desc: Any) -> str:
    """RevoluteJoint and the like."""
    return str(desc.type).rpartition(".")[2]


def ends(desc: Any, bodies: dict[str, int]) -> tuple[int, int, np.ndarray, np.ndarray] | None:
    """Parent, child, and the joint's pose in each; the child is a body. None where neither is."""
    parent, child = bodies.get(str(desc.body0), -1), bodies.get(str(desc.body1), -1)
    pose_p = pose_of(desc.localPose0Position, desc.localPose0Orientation)
    pose_c = pose_of(desc.localPose1Position, desc.localPose1Orientation)
    if child >= 0:
        return parent, child, pose_p, pose_c
    return None if parent < 0 else (child, parent, pose_c, pose_p)


# ---- one axis


def _limit_gain(scene: Scene, prim: Any, axis: str, name: str, unit: float) -> float:
    """Stiffness or damping of a limit, per metre or radian."""
    default = float(getattr(scene.builder.default_joint_cfg, f"limit_{name}"))
    shared = scene.schemas.value(prim, "joint", f"limit_{name}")
    stiff = scene.schemas.value(prim, "joint", "limit_ke")
    if name == "kd" and (stiff == float("inf") or shared == float("inf")):
        return 0.0
    if shared is None:
        own = scene.schemas.value(prim, "joint", f"limit_{axis}_{name}")
        return default if own is None else float(own) / unit
    if shared == float("-inf"):
        return default
    return (HARD if shared == float("inf") else float(shared)) / unit


def _damping(scene: Scene, prim: Any, unit: float) -> float:
    found = scene.schemas.first(prim, "joint", ("damping", "damping_per_rad"))
    if found is None:
        return float(scene.builder.default_joint_cfg.damping)
    return float(found[1]) / (unit if found[0] == "damping" else 1.0)


def axis_config(
    scene: Scene, prim: Any, axis: str, direction: Any, limits: tuple[float, float], drive: Any,
    unlimited: float | None = None,
) -> JointDofConfig:  # fmt: skip
    """One axis: `axis` is linear, angular, transX, rotX …; limits and drive as the stage has them.

    `unlimited` is the largest effort where nobody limits it; the builder's if None.
    """
    default = scene.builder.default_joint_cfg
    unit = DEGREE if axis == "angular" or axis.startswith("rot") else 1.0
    speed = scene.schemas.value(prim, "joint", "velocity_limit")
    speed = None if speed is None or not np.isfinite(speed) else float(speed) * unit
    on = drive is not None and bool(drive.enabled)
    gain = scene.gains_scaling / unit if unit != 1.0 else 1.0
    ke, kd = (float(drive.stiffness) * gain, float(drive.damping) * gain) if on else (0.0, 0.0)
    efforts = [float(drive.forceLimit)] if on else []
    effort = scene.schemas.value(prim, "joint", "effort_limit")
    efforts += [] if effort is None else [float(effort)]
    efforts = efforts or [default.effort_limit if unlimited is None else unlimited]
    force = scene.wishes.force_position_velocity_actuation
    return JointDofConfig(
        axis=direction, limit_lower=float(limits[0]) * unit, limit_upper=float(limits[1]) * unit,
        limit_ke=_limit_gain(scene, prim, axis, "ke", unit), limit_kd=_limit_gain(scene, prim, axis, "kd", unit),
        target_pos=float(drive.targetPosition) * unit if on else 0.0,
        target_vel=float(drive.targetVelocity) * unit if on else 0.0, target_ke=ke, target_kd=kd,
        damping=_damping(scene, prim, unit),
        armature=float(scene.schemas.value(prim, "joint", "armature", default.armature)),
        friction=float(scene.schemas.value(prim, "joint", "friction", default.friction)),
        velocity_limit=default.velocity_limit if speed is None else speed,
        actuator_mode=JointTargetMode.from_gains(ke, kd, force, has_drive=True) if on else JointTargetMode.NONE,
        effort_limit=min(efforts),
    )  # fmt: skip


def _start(scene: Scene, prim: Any, axis: str) -> tuple[float | None, float | None]:
    """Where an axis begins, and how fast."""
    unit = DEGREE if axis == "angular" or axis.startswith("rot") else 1.0
    values = (scene.schemas.value(prim, "joint", f"{axis}_{name}") for name in ("position", "velocity"))
    position, velocity = (None if value is None else float(value) * unit for value in values)
    return position, velocity


def _single(scene: Scene, desc: Any, direction: Any = None, unlimited: float | None = None) -> tuple:
    """The axis of a hinge or a slide, and where it begins."""
    prim = scene.prim(desc.primPath)
    axis = "angular" if kind_of(desc) == "RevoluteJoint" else "linear"
    along = np.eye(3)[int(desc.axis)] if direction is None else direction
    config = axis_config(scene, prim, axis, along, (desc.limit.lower, desc.limit.upper), desc.drive, unlimited)
    return config, _start(scene, prim, axis)


# ---- joints


def add_joint(scene: Scene, descs: Sequence[Any], root: np.ndarray | None = None) -> int | None:
    """Add a joint of one description, or one D6 of several between the same bodies.

    Args:
        scene: The import.
        descs: The descriptions; those that are switched off are left out, unless they are wanted too.
        root: The frame that the world's side is written in.
    """
    wanted = [d for d in descs if d.jointEnabled or not scene.wishes.only_load_enabled_joints]
    if not wanted:
        return None
    first = wanted[0]
    found = ends(first, scene.bodies)
    if found is None:
        raise BuildError(f"{first.primPath}: neither end of the joint is a body")
    parent, child, pose_p, pose_c = found
    prim = scene.prim(first.primPath)
    if applies(prim, "MjcEqualityConnectAPI"):  # one anchor, which is where it is on both bodies as they stand
        here = [IDENTITY if body < 0 else np.asarray(scene.builder.rows("body_q")[body], float) for body in found[:2]]
        pose_c = between(here[1], transform_mul(here[0], pose_p))
    options: dict[str, Any] = {
        "parent": parent, "child": child, "child_xform": pose_c, "label": str(first.primPath),
        "parent_xform": pose_p if root is None else transform_mul(root, pose_p),
        "collision_filter_parent": parent >= 0 and not all(d.collisionEnabled for d in wanted),
        "enabled": bool(first.jointEnabled),
    }  # fmt: skip
    kind = kind_of(first)
    if len(wanted) > 1:
        joint = _add_stack(scene, wanted, options, pose_p)
    elif kind in SINGLE:
        config, start = _single(scene, first)
        add = scene.builder.add_joint_revolute if kind == "RevoluteJoint" else scene.builder.add_joint_prismatic
        joint = add(axis=config, custom_attributes=scene.custom(prim, *PER_JOINT, *PER_AXIS), **options)
        _begin(scene, joint, [start])
    elif kind == "D6Joint":
        joint = _add_d6(scene, first, options)
    else:
        joint = _add_plain(scene, kind, first, options)
    turns_last = sorted(wanted, key=lambda d: kind_of(d) == "RevoluteJoint")  # as a D6 lists its axes
    for k, desc in enumerate(turns_last):
        scene.joints[str(desc.primPath)] = joint
        if kind in (*SINGLE, "SphericalJoint"):
            scene.dofs[str(desc.primPath)] = int(scene.builder.rows("joint_qd_start")[joint]) + k
    return joint


def _add_plain(scene: Scene, kind: str, desc: Any, options: dict[str, Any]) -> int:
    """Joints without axes of their own."""
    prim, builder = scene.prim(desc.primPath), scene.builder
    options["custom_attributes"] = scene.custom(prim, *PER_JOINT)
    if kind == "FixedJoint":
        return builder.add_joint_fixed(**options)
    if kind == "SphericalJoint":
        default = builder.default_joint_cfg
        return builder.add_joint_ball(
            armature=float(scene.schemas.value(prim, "joint", "armature", default.armature)),
            friction=float(scene.schemas.value(prim, "joint", "friction", default.friction)),
            damping=_damping(scene, prim, DEGREE), **options,
        )  # fmt: skip
    if kind == "DistanceJoint":
        low, high = desc.limit.lower, desc.limit.upper
        return builder.add_joint_distance(
            min_distance=float(low) if desc.minEnabled else -1.0,
            max_distance=float(high) if desc.maxEnabled else -1.0, **options,
        )  # fmt: skip
    raise BuildError(f"{desc.primPath}: joints of type {kind} are not known")


def _add_d6(scene: Scene, desc: Any, options: dict[str, Any]) -> int:
    prim = scene.prim(desc.primPath)
    limits = {str(pair.first).rpartition(".")[2]: pair.second for pair in desc.jointLimits}
    drives = {str(pair.first).rpartition(".")[2]: pair.second for pair in desc.jointDrives}
    axes: dict[bool, list[JointDofConfig]] = {False: [], True: []}
    starts = []
    for name, direction, turns in D6.values():
        limit, word = limits.get(name), name[0].lower() + name[1:]
        low, high = (limit.lower, limit.upper) if limit is not None and limit.enabled else _written(prim, word)
        if low >= high:
            continue
        axes[turns].append(axis_config(scene, prim, word, direction, (low, high), drives.get(name), np.inf))
        starts.append(_start(scene, prim, word))
    joint = scene.builder.add_joint_d6(
        linear_axes=axes[False], angular_axes=axes[True],
        custom_attributes=scene.custom(prim, *PER_JOINT, *PER_AXIS), **options,
    )  # fmt: skip
    _begin(scene, joint, starts)
    return joint


def _written(prim: Any, axis: str) -> tuple[float, float]:
    """Limits of an axis that are written without the schema they belong to; none where nothing is."""
    ends = ((f"limit:{axis}:physics:{name}", default) for name, default in (("low", -np.inf), ("high", np.inf)))
    low, high = (default if authored(prim, name) is None else float(authored(prim, name)) for name, default in ends)
    return low, high


def _add_stack(scene: Scene, descs: Sequence[Any], options: dict[str, Any], pose_p: np.ndarray) -> int:
    """Hinges and slides between the same two bodies as one D6, in the frame of the first."""
    axes: dict[bool, list] = {False: [], True: []}
    for desc in descs:
        if kind_of(desc) not in SINGLE:
            raise BuildError(f"{desc.primPath}: only hinges and slides can share two bodies with {descs[0].primPath}")
        found = ends(desc, scene.bodies)
        assert found is not None
        there = transform_mul(transform_inverse(pose_p), found[2])
        if not np.allclose(there[:3], 0.0, atol=1e-6):
            warnings.warn(f"{desc.primPath}: taken where {descs[0].primPath} is, with which it shares two bodies",
                          stacklevel=4)  # fmt: skip
        config, start = _single(scene, desc, quat_rotate(there[3:], np.eye(3)[int(desc.axis)]), np.inf)
        own = scene.custom(scene.prim(desc.primPath), *PER_AXIS)
        axes[kind_of(desc) == "RevoluteJoint"].append((config, start, own))
    ordered = [*axes[False], *axes[True]]
    custom: dict[str, Any] = scene.custom(scene.prim(descs[0].primPath), *PER_JOINT)
    for k, (_, _, own) in enumerate(ordered):
        for key, value in own.items():
            custom.setdefault(key, {})[k] = value
    joint = scene.builder.add_joint_d6(
        linear_axes=[a[0] for a in axes[False]], angular_axes=[a[0] for a in axes[True]], custom_attributes=custom,
        **options,
    )  # fmt: skip
    _begin(scene, joint, [a[1] for a in ordered])
    return joint


def _begin(scene: Scene, joint: int, starts: Sequence[tuple[float | None, float | None]]) -> None:
    builder = scene.builder
    q, qd = int(builder.rows("joint_q_start")[joint]), int(builder.rows("joint_qd_start")[joint])
    for k, (position, velocity) in enumerate(starts):
        if position is not None:
            builder.edit("joint_q")[q + k] = position
        if velocity is not None:
            builder.edit("joint_qd")[qd + k] = velocity


# ---- what the world's side of a joint is written in


def frame_of_child(scene: Scene, desc: Any) -> np.ndarray:
    """The world's side of a joint, so that the child is where it was imported."""
    found = ends(desc, scene.bodies)
    assert found is not None
    _, child, pose_p, pose_c = found
    here = np.asarray(scene.builder.rows("body_q")[child], dtype=float)
    return transform_mul(transform_mul(here, pose_c), transform_inverse(pose_p))


def root_frame(scene: Scene, desc: Any, inside: set[str]) -> np.ndarray:
    """The world's side of the first joint of an articulation: the prim it names, or what its child says.

    A joint that says where it is in the world is believed, one that does not is where its child is.
    """
    outside = next((str(path) for path in (desc.body0, desc.body1) if str(path) not in inside), "")
    prim = scene.prim(outside) if outside else None
    if prim:
        return scene.stands(prim)[0]
    found = ends(desc, scene.bodies)
    assert found is not None
    if np.allclose(found[2][:3], 0.0, atol=1e-6) and abs(found[2][6]) > 1.0 - 1e-6:
        return frame_of_child(scene, desc)
    home = next((home for root, home in scene.rebased.items() if any(p.startswith(root) for p in inside)), IDENTITY)
    return transform_mul(scene.world, transform_inverse(home))
