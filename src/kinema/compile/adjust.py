"""A document as whoever adds it to a builder wants it: placed, floating or fixed, without what is not to be read.

Newton's importers take these wishes as arguments. Each is an edit of the source tree before it is compiled, so that
what follows from it (inertias, weights, sparsity) is what MuJoCo computes for the edited document:

    xform                 everything of the world in a <frame>; with override_root_xform the root bodies exactly there
    floating              a free joint on every root body, or none of them
    base_joint            other joints on the root body
    armature_scale        armature of joints, of default classes too
    ignore_names          elements left out whose name matches, from its start
    ignore_classes        geoms left out whose class matches
    enable_self_collisions, skip_equality_constraints
    up_axis               a document that is written with another axis up is turned

Keyframes keep their numbers, as MuJoCo keeps those of an attached model. Sensors that name nothing in the document,
which MuJoCo refuses and Newton does not read, are left out with a warning.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinema.errors import BuildError, did_you_mean
from kinema.mjcf.source import Node
from kinema.model.enums import MAXVAL, Axis, JointType
from kinema.model.joints import axis_vector
from kinema.model.transform import IDENTITY, quat_between, transform_mul
from kinema.model.worlds import pose as as_transform

PLACED = {"body", "geom", "site", "camera", "light", "frame", "replicate", "attach", "composite", "flexcomp"}
"""What stands in a world at a place."""
JOINTS = ("joint", "freejoint")
NAMED = {
    "site": "site", "joint": "joint", "joint1": "joint", "joint2": "joint", "tendon": "tendon", "actuator": "actuator",
    "body": "body", "body1": "body", "body2": "body", "geom": "geom", "geom1": "geom", "geom2": "geom",
    "subtree1": "body", "subtree2": "body", "camera": "camera",
}  # fmt: skip
"""Attributes of sensors that name an element, and of which kind."""
SECTIONS = {"actuator": "actuator", "spatial": "tendon", "fixed": "tendon"}


@dataclass(frozen=True)
class Wishes:
    """What is to be done to a document; see the top of this file."""

    xform: Any = None
    override_root_xform: bool = False
    floating: bool | None = None
    base_joint: Mapping[str, Any] | None = None
    armature_scale: float = 1.0
    ignore_names: Sequence[str] = ()
    ignore_classes: Sequence[str] = ()
    enable_self_collisions: bool = True
    skip_equality_constraints: bool = False
    ignore_inertial_definitions: bool = False
    up_axis: Any = Axis.Z

    def check(self) -> None:
        """Raise where wishes contradict each other."""
        if self.floating is not None and self.base_joint is not None:
            raise BuildError("floating= and base_joint= both say how the root is held: give one of them")
        if self.override_root_xform and self.xform is None:
            raise BuildError("override_root_xform=True needs xform=, where the root is to be")


def adjust(root: Node, wishes: Wishes, up: Any = Axis.Z) -> None:
    """Edit a source tree; `up` is the axis that is up where the document goes."""
    worlds = list(root.find("worldbody"))
    _leave_out(root, wishes)
    angles = [compiler.attributes.get("angle") for compiler in root.find("compiler")]
    _hold(worlds, wishes, "radian" not in angles)
    if wishes.armature_scale != 1.0:
        _scale_armature(root, wishes.armature_scale)
    if wishes.ignore_inertial_definitions:
        _drop_inertials(root)
    if not wishes.enable_self_collisions:
        _exclude_all(root, worlds)
    if wishes.skip_equality_constraints:
        root.children = [child for child in root.children if child.tag != "equality"]
    _drop_blind_sensors(root)
    _place(worlds, wishes, up)


def _drop_inertials(root: Node) -> None:
    """Masses that bodies state, where they have geoms to have one of."""
    for body in root.walk():
        if body.tag == "body" and any(child.tag == "geom" for child in body.children):
            body.children = [child for child in body.children if child.tag != "inertial"]


# ---- places


def _place(worlds: list[Node], wishes: Wishes, up: Any) -> None:
    given = as_transform(wishes.xform, "add_mjcf()")
    if wishes.override_root_xform:
        for body in _roots(worlds):
            for name in ("pos", "quat", "axisangle", "euler", "xyaxes", "zaxis"):
                body.attributes.pop(name, None)
    turn = quat_between(axis_vector(wishes.up_axis), axis_vector(up))
    pose = transform_mul(IDENTITY if given is None else given, np.concatenate([np.zeros(3), turn]))
    if np.array_equal(pose, IDENTITY):
        return
    for world in worlds:
        inside = [child for child in world.children if child.tag in PLACED]
        world.children = [child for child in world.children if child.tag not in PLACED]
        quat = pose[[6, 3, 4, 5]]
        frame = Node("frame", {"pos": _text(pose[:3]), "quat": _text(quat)}, file=world.file, line=world.line)
        world.add(frame)
        for child in inside:
            frame.add(child)


def _text(values: Any) -> str:
    return " ".join(repr(float(v)) for v in values)


def _roots(worlds: list[Node]) -> list[Node]:
    """Bodies whose parent is the world, in frames or not."""
    found: list[Node] = []
    stack = list(reversed(worlds))
    while stack:
        node = stack.pop()
        if node.tag == "body":
            found.append(node)
        else:
            stack.extend(reversed([child for child in node.children if child.tag in PLACED]))
    return found


# ---- how roots are held


def _hold(worlds: list[Node], wishes: Wishes, in_degrees: bool) -> None:
    if wishes.floating is None and wishes.base_joint is None:
        return
    for body in _roots(worlds):
        if body.attributes.get("mocap") == "true":
            continue
        is_free = [child.tag == "freejoint" or child.attributes.get("type") == "free" for child in body.find(*JOINTS)]
        if wishes.floating and any(is_free):
            continue
        if not wishes.floating and wishes.base_joint is None:
            body.children = [c for c in body.children if not _is_free(c)]
            continue
        body.children = [child for child in body.children if child.tag not in JOINTS]
        new = [{"type": "free"}] if wishes.base_joint is None else _base_joints(wishes.base_joint, in_degrees)
        for k, attributes in enumerate(new):
            node = Node("joint", attributes, file=body.file, line=body.line, parent=body)
            body.children.insert(k, node)


def _is_free(node: Node) -> bool:
    return node.tag == "freejoint" or (node.tag == "joint" and node.attributes.get("type") == "free")


def _base_joints(wanted: Mapping[str, Any], in_degrees: bool) -> list[dict[str, str]]:
    """MuJoCo's joints for a specification in the words of `ModelBuilder.add_joint`."""
    known = {"joint_type", "linear_axes", "angular_axes", "label", "key"}
    unknown = sorted(set(wanted) - known)
    if unknown:
        raise BuildError(f"base_joint: {unknown[0]!r} is not known{did_you_mean(unknown[0], known)}")
    kind = JointType(wanted.get("joint_type", JointType.FREE))
    if kind == JointType.FIXED:
        return []
    if kind in (JointType.FREE, JointType.BALL):
        return [{"type": kind.name.lower()}]
    axes = [("slide", axis) for axis in wanted.get("linear_axes") or ()]
    axes += [("hinge", axis) for axis in wanted.get("angular_axes") or ()]
    if not axes:
        raise BuildError(f"base_joint: a {kind.name} joint needs linear_axes or angular_axes")
    return [_axis(name, axis, in_degrees) for name, axis in axes]


def _axis(kind: str, axis: Any, in_degrees: bool) -> dict[str, str]:
    config = axis if hasattr(axis, "axis") else None
    found = {"type": kind, "axis": _text(axis_vector(axis if config is None else config.axis))}
    if config is None:
        return found
    for name, attribute in (("armature", "armature"), ("friction", "frictionloss"), ("damping", "damping")):
        if getattr(config, name):
            found[attribute] = repr(float(getattr(config, name)))
    if config.limit_lower > -MAXVAL or config.limit_upper < MAXVAL:
        ends = np.array([config.limit_lower, config.limit_upper], float)
        found |= {"limited": "true", "range": _text(np.degrees(ends) if kind == "hinge" and in_degrees else ends)}
    return found


# ---- what is left out, or changed


def _leave_out(root: Node, wishes: Wishes) -> None:
    names = [re.compile(pattern) for pattern in wishes.ignore_names]
    classes = [re.compile(pattern) for pattern in wishes.ignore_classes]

    def unwanted(node: Node) -> bool:
        name, own = node.attributes.get("name", ""), node.attributes.get("class", "")
        named = node.tag in PLACED and name and any(p.match(name) for p in names)
        return bool(named or (node.tag == "geom" and own and any(p.match(own) for p in classes)))

    if names or classes:
        for node in list(root.walk()):
            node.children = [child for child in node.children if not unwanted(child)]


def _scale_armature(root: Node, scale: float) -> None:
    for node in root.walk():
        if node.tag in JOINTS and "armature" in node.attributes:
            values = node.attributes["armature"].split()
            node.attributes["armature"] = _text(scale * float(value) for value in values)


def _exclude_all(root: Node, worlds: list[Node]) -> None:
    """No two bodies of the document touch each other."""
    bodies = [node for world in worlds for node in world.walk() if node.tag == "body"]
    for k, body in enumerate(bodies):
        body.attributes.setdefault("name", f"unnamed body {k}")
    contact = root.add(Node("contact", file=root.file, line=root.line))
    names = [body.attributes["name"] for body in bodies]
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            contact.add(Node("exclude", {"body1": one, "body2": other}, file=root.file, line=root.line))


def _drop_blind_sensors(root: Node) -> None:
    """Sensors of what is not there; where elements are made by others (attach, replicate), nobody can tell yet."""
    if any(node.tag in ("attach", "replicate", "composite", "flexcomp") for node in root.walk()):
        return
    names = _names(root)
    for section in root.find("sensor"):
        kept = []
        for sensor in section.children:
            missing = [
                (kind, name) for attribute, kind in NAMED.items()
                if (name := sensor.attributes.get(attribute)) is not None and name not in names.get(kind, ())
            ]  # fmt: skip
            if missing:
                kind, name = missing[0]
                where = f"{sensor.file or ''}:{sensor.line}: " if sensor.line else ""
                hint = did_you_mean(name, names.get(kind, set()))
                warnings.warn(f"{where}sensor left out: there is no {kind} {name!r}{hint}", stacklevel=2)
            else:
                kept.append(sensor)
        section.children = kept


def _names(root: Node) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {"body": {"world"}}
    for node in root.walk():
        above = node.parent.tag if node.parent is not None else ""
        kind = "actuator" if above == "actuator" else SECTIONS.get(node.tag, node.tag)
        kind = "joint" if kind == "freejoint" else kind
        if "name" in node.attributes:
            found.setdefault(kind, set()).add(node.attributes["name"])
    return found


def editing(wishes: Wishes, up: Any) -> Callable[[Node], None]:
    """The edit that wishes amount to, for `compile_tree`."""
    wishes.check()
    return lambda root: adjust(root, wishes, up)
