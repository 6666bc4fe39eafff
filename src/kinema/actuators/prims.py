"""Actuators in USD stages: prims of type NewtonActuator, whose applied schemas are their parts.

    def NewtonActuator "motor" (prepend apiSchemas = ["NewtonPDControlAPI", "NewtonMaxEffortClampingAPI"]) {
        rel newton:targets = </World/knee>
        float newton:kp = 100
        float newton:maxEffort = 50
    }

Attributes are arguments of the parts: `newton:maxEffort` is `max_effort`. The table of parts can be added to.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ..errors import BuildError, did_you_mean
from .clamping import ClampingDCMotor, ClampingMaxEffort, ClampingPositionBased
from .delay import Delay
from .drives import DrivePD, DrivePID
from .neural import drive_of, is_torch

JOINTS = ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint")


class ComponentKind(Enum):
    """What a part of an actuator is."""

    DRIVE = "drive"
    CLAMPING = "clamping"
    DELAY = "delay"


class SchemaNames:
    """Newton's names in stages."""

    ACTUATOR = "NewtonActuator"
    PD_CONTROL = "NewtonPDControlAPI"
    PID_CONTROL = "NewtonPIDControlAPI"
    NEURAL_CONTROL = "NewtonNeuralControlAPI"
    MAX_EFFORT_CLAMPING = "NewtonMaxEffortClampingAPI"
    DC_MOTOR_CLAMPING = "NewtonDCMotorClampingAPI"
    POSITION_BASED_CLAMPING = "NewtonPositionBasedClampingAPI"
    DELAY = "NewtonActuatorDelayAPI"


@dataclass
class ActuatorParsed:
    """An actuator as a stage describes it."""

    drive_class: type
    drive_kwargs: dict[str, Any] = field(default_factory=dict)
    component_specs: list[tuple[type, dict[str, Any]]] = field(default_factory=list)
    target_path: str = ""
    """Path of the joint."""


_PARTS: dict[str, tuple[type | Callable[[dict[str, Any]], type], ComponentKind]] = {
    SchemaNames.PD_CONTROL: (DrivePD, ComponentKind.DRIVE),
    SchemaNames.PID_CONTROL: (DrivePID, ComponentKind.DRIVE),
    SchemaNames.NEURAL_CONTROL: (drive_of, ComponentKind.DRIVE),
    SchemaNames.MAX_EFFORT_CLAMPING: (ClampingMaxEffort, ComponentKind.CLAMPING),
    SchemaNames.DC_MOTOR_CLAMPING: (ClampingDCMotor, ComponentKind.CLAMPING),
    SchemaNames.POSITION_BASED_CLAMPING: (ClampingPositionBased, ComponentKind.CLAMPING),
    SchemaNames.DELAY: (Delay, ComponentKind.DELAY),
}


def register_actuator_component(
    schema_name: str, component_class: type | Callable[[dict[str, Any]], type], kind: ComponentKind
) -> None:
    """Let an applied schema stand for a part: a class, or a function of its arguments that gives one."""
    if schema_name in _PARTS:
        warnings.warn(f"actuator schema {schema_name!r} is registered already; it is replaced", stacklevel=2)
    _PARTS[schema_name] = (component_class, kind)


def _arguments(prim: Any, schema: str) -> dict[str, Any]:
    """Attributes of a schema as arguments; all of `newton:` where USD does not know the schema."""
    from pxr import Sdf, Usd

    known = Usd.SchemaRegistry().FindAppliedAPIPrimDefinition(schema)
    names = None if known is None else set(known.GetPropertyNames())
    found = {}
    for one in prim.GetAuthoredPropertiesInNamespace("newton"):
        if not isinstance(one, Usd.Attribute) or not one.HasAuthoredValue():
            continue
        if names is not None and one.GetName() not in names:
            continue
        value = one.Get()
        if isinstance(value, Sdf.AssetPath):
            value = value.resolvedPath or value.path
        word = one.GetName().removeprefix("newton:")
        found[re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", word).lower()] = value
    return found


def _joint_of(prim: Any) -> str:
    """Path of the joint that an actuator moves."""
    path = prim.GetPath()
    relation = prim.GetRelationship("newton:targets")
    targets = [str(target) for target in relation.GetTargets()] if relation else []
    if not targets:
        raise BuildError(f"{path}: an actuator without newton:targets; name the joint, or deactivate the prim")
    if len(targets) > 1:
        warnings.warn(f"{path}: an actuator moves one joint, {targets[0]}; {targets[1:]} are left out", stacklevel=3)
    joint = prim.GetStage().GetPrimAtPath(targets[0])
    if not joint:
        raise BuildError(f"{path}: newton:targets names {targets[0]}, which does not exist")
    if str(joint.GetTypeName()) not in JOINTS:
        raise BuildError(f"{path}: {targets[0]} is a {joint.GetTypeName()}; actuators move {' and '.join(JOINTS)}")
    return targets[0]


def parse_actuator_prim(prim: Any, *, allow_unsafe_torch_checkpoints: bool = False) -> ActuatorParsed | None:
    """An actuator of a prim; None where the prim is none.

    Args:
        prim: The prim.
        allow_unsafe_torch_checkpoints: Whether a stage may name a file of PyTorch's, which may run code when loaded.
    """
    if str(prim.GetTypeName()) != SchemaNames.ACTUATOR:
        return None
    path, target = prim.GetPath(), _joint_of(prim)
    written = prim.GetMetadata("apiSchemas")
    applied = [*prim.GetAppliedSchemas(), *(written.GetAddedOrExplicitItems() if written else ())]
    drives: list[tuple[type, dict[str, Any]]] = []
    rest: list[tuple[type, dict[str, Any]]] = []
    for schema in dict.fromkeys(str(name) for name in applied):
        if schema not in _PARTS:
            continue
        part, kind = _PARTS[schema]
        arguments = _arguments(prim, schema)
        named = str(arguments.get("model_path") or "")
        if schema == SchemaNames.NEURAL_CONTROL and is_torch(named) and not allow_unsafe_torch_checkpoints:
            raise BuildError(
                f"{path}: newton:modelPath is {named!r}, a file that may run code when it is loaded; pass "
                "allow_unsafe_torch_checkpoints=True if the stage and the file are to be trusted"
            )
        try:
            cls = part if isinstance(part, type) else part(arguments)
        except ValueError as problem:
            raise BuildError(f"{path}: {problem}") from None
        (drives if kind is ComponentKind.DRIVE else rest).append((cls, arguments))
    if len(drives) != 1:
        names = [cls.__name__ for cls, _ in drives] or [f"none of {sorted(map(str, applied))}"]
        hint = "" if drives else "".join(did_you_mean(str(name), _PARTS) for name in applied)
        raise BuildError(f"{path}: an actuator has one drive, this one {', '.join(names)}{hint}")
    return ActuatorParsed(*drives[0], rest, target)
