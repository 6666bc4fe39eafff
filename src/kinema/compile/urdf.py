"""URDF as MJCF: the document MuJoCo makes of a robot description.

Links become bodies under the world (the root is fixed; a link called `world` is the world), joints sit in their child,
collision geometry becomes geoms, visual geometry too unless visuals are discarded. As in MuJoCo, angles are radians,
static bodies are fused and visuals discarded, unless the `<mujoco><compiler/></mujoco>` extension
says otherwise.
"""

from __future__ import annotations

import math
import os
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field

from kinema import mjcf, resources
from kinema.compile import pose
from kinema.compile.element import Element, read_element
from kinema.compile.inertia import principal_axes
from kinema.compile.orientation import from_euler
from kinema.mjcf.source import Node, read_xml
from kinema.mjcf.write import serialise

JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical")
COMPILER = {"angle": "radian", "fusestatic": "true", "discardvisual": "true"}


@dataclass
class _Reader:
    """What is gathered while a description is read."""

    discard_visual: bool
    strip: bool
    colors: dict[str, str] = field(default_factory=dict)
    meshes: dict[str, list[tuple[str, tuple[float, ...]]]] = field(default_factory=dict)
    assets: list[Node] = field(default_factory=list)
    geom_names: set[str] = field(default_factory=set)


def urdf_to_mjcf(root: Node, settings: Mapping[str, str] | None = None) -> Node:
    """The MJCF source tree of a URDF source tree (root <robot>); `settings`: of the compiler, instead of COMPILER's."""
    mujoco = Node("mujoco", file=root.file, line=root.line)
    if root.attributes.get("name"):
        mujoco.attributes["model"] = root.attributes["name"]
    compiler = _extension(root, mujoco, {**COMPILER, **(settings or {})})
    reader = _Reader(compiler["discardvisual"] == "true", compiler.get("strippath") == "true")
    for node in root.walk():
        if node.tag == "material" and node.attributes.get("name"):
            color = next(node.find("color"), None)
            if color is not None:
                reader.colors.setdefault(node.attributes["name"], read_element(color).required("rgba"))
    links = _links(root)
    joints, children, has_parent = _connections(root, links)
    asset = mujoco.add(Node("asset", file=root.file, line=root.line))
    world = mujoco.add(Node("worldbody", file=root.file, line=root.line))

    stack = [(name, world) for name in reversed(list(links)) if name not in has_parent]
    while stack:
        name, owner = stack.pop()
        link = links[name]
        body = owner
        if name != "world":
            body = owner.add(Node("body", {"name": name}, file=link.file, line=link.line))
            if name in joints:
                _joint(joints[name], body)
        _link(link, body, reader)
        stack.extend((child, body) for child in reversed(children[name]))
    for node in reader.assets:
        asset.add(node)
    return mujoco


def _extension(root: Node, mujoco: Node, settings: dict[str, str]) -> dict[str, str]:
    """Sections of the <mujoco> extension, and the compiler settings in force."""
    compiler = mujoco.add(Node("compiler", settings, file=root.file, line=root.line))
    for extension in root.find("mujoco"):
        for section in extension.find("compiler"):
            settings.update({k: v for k, v in section.attributes.items() if k != "angle"})
            for child in section.children:
                compiler.add(child)
        for section in extension.find("option", "size"):
            mujoco.add(section)
    return settings


def _links(root: Node) -> dict[str, Node]:
    links: dict[str, Node] = {}
    for node in root.find("link"):
        name = read_element(node).required("name")
        if name in links:
            raise read_element(node).error(f"repeated link name {name!r}")
        links[name] = node
    return links


def _connections(root: Node, links: dict[str, Node]) -> tuple[dict[str, Node], dict[str, list[str]], set[str]]:
    """The joint above each link, the links below each, and which links have one above."""
    joints: dict[str, Node] = {}
    children: dict[str, list[str]] = {name: [] for name in links}
    for node in root.find("joint"):
        e = read_element(node)
        parent, child = (_one(e, tag).required("link") for tag in ("parent", "child"))
        for name in (parent, child):
            if name not in links:
                raise e.error(f"joint connects a link that does not exist: {name!r}")
        if child in joints:
            raise e.error(f"link {child!r} has more than one parent")
        joints[child] = node
        children[parent].append(child)
    for name in links:  # a ring of joints hangs in the air
        seen, here = {name}, name
        while here in joints:
            here = _one(read_element(joints[here]), "parent").required("link")
            if here in seen:
                raise read_element(joints[name]).error(f"joints form a loop through link {name!r}")
            seen.add(here)
    return joints, children, set(joints)


def _one(e: Element, tag: str) -> Element:
    found = next(e.children(tag), None)
    if found is None:
        raise e.error(f"{e.tag} needs <{tag}>")
    return found


def _numbers(values) -> str:
    return " ".join(repr(float(value)) for value in values)


def _origin(e: Element) -> tuple[list[float], list[float]]:
    for origin in e.children("origin"):
        angles = origin.vector("rpy", (0, 0, 0), length=3).tolist()
        return origin.vector("xyz", (0, 0, 0), length=3).tolist(), from_euler(angles, "XYZ", False)
    return [0.0, 0.0, 0.0], list(pose.IDENTITY)


def _joint(node: Node, body: Node) -> None:
    e = read_element(node)
    kind = e.keyword("type", {word: word for word in JOINT_TYPES})
    if kind is None:
        raise e.error("joint needs 'type'")
    name = e.required("name")
    pos, quat = _origin(e)
    body.attributes |= {"pos": _numbers(pos), "quat": _numbers(quat)}
    axis = [1.0, 0.0, 0.0]
    for element in e.children("axis"):
        axis = element.vector("xyz", length=3).tolist() if element.given("xyz") else axis
    if kind == "fixed":
        return
    common = _limits_and_damping(e)
    made: list[tuple[str, str, list[float]]]
    if kind in ("revolute", "continuous"):
        made = [(name, "hinge", axis)]
    elif kind == "prismatic":
        made = [(name, "slide", axis)]
    elif kind == "spherical":
        made = [(name, "ball", axis)]
    elif kind == "floating":
        made = [(name, "free", [0.0, 0.0, 1.0])]
    else:
        m = pose.matrix(pose.z_to(pose.normalize(axis)[0]))
        made = [(f"{name}_TX", "slide", m[0::3]), (f"{name}_TY", "slide", m[1::3]), (f"{name}_RZ", "hinge", axis)]
    for index, (label, joint, direction) in enumerate(made):
        attributes = {"name": label, "type": joint}
        if joint != "free":
            attributes["axis"] = _numbers(direction)
        damping = {key: value for key, value in common.items() if key in ("damping", "frictionloss")}
        attributes |= common if index == 0 else damping
        body.add(Node("joint", attributes, file=node.file, line=node.line))


def _limits_and_damping(e: Element) -> dict[str, str]:
    found: dict[str, str] = {}
    for dynamics in e.children("dynamics"):
        for name, target in (("damping", "damping"), ("friction", "frictionloss")):
            if dynamics.given(name):
                found[target] = repr(dynamics.number(name))
    for limit in e.children("limit"):
        lower, upper = limit.number("lower", None), limit.number("upper", None)
        if (lower is None) != (upper is None) or (lower is not None and lower > upper):
            found["limited"] = "false"
        if lower is not None or upper is not None:
            found["range"] = _numbers((lower or 0.0, upper or 0.0))
        effort = abs(limit.number("effort", 0.0))
        if effort > 0:
            found["actuatorfrcrange"] = _numbers((-effort, effort))
    return found


def _link(node: Node, body: Node, reader: _Reader) -> None:
    e = read_element(node)
    for inertial in e.children("inertial"):
        if body.tag == "body":
            body.add(_inertial(inertial))
        break
    color: str | None = None
    for child in e.children("visual", "collision"):
        if child.tag == "visual":
            for material in child.children("material"):
                own = next(material.children("color"), None)
                color = own.required("rgba") if own is not None else reader.colors.get(material.required("name"), color)
        if child.tag == "collision" or not reader.discard_visual:
            body.add(_geom(child, color, reader))


def _inertial(e: Element) -> Node:
    """<inertial> with the tensor's principal axes turned by the origin."""
    pos, quat = _origin(e)
    mass = _one(e, "mass").number("value", None)
    if mass is None:
        raise e.error("mass needs 'value'")
    tensor = _one(e, "inertia")
    full = []
    for name in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"):
        value = tensor.number(name, None)
        if value is None:
            raise tensor.error(f"inertia needs {name!r}")
        full.append(value)
    attributes = {"pos": _numbers(pos), "mass": repr(mass)}
    if any(full):
        moments, axes = principal_axes(full)
        attributes |= {"quat": _numbers(pose.multiply(quat, axes)), "diaginertia": _numbers(moments)}
    else:
        attributes["quat"] = _numbers(quat)
    return Node("inertial", attributes, file=e.node.file, line=e.node.line)


def _geom(e: Element, color: str | None, reader: _Reader) -> Node:
    geometry = _one(e, "geometry")
    attributes: dict[str, str] = {}
    name = e.text("name", "")
    if name and name not in reader.geom_names:
        attributes["name"] = name
        reader.geom_names.add(name)
    if e.tag == "visual":
        attributes |= {"contype": "0", "conaffinity": "0", "group": "1", "density": "0"}
    attributes |= _shape(geometry, reader)
    pos, quat = _origin(e)
    attributes |= {"pos": _numbers(pos), "quat": _numbers(quat)}
    if color is not None:
        attributes["rgba"] = color
    return Node("geom", attributes, file=e.node.file, line=e.node.line)


def _shape(geometry: Element, reader: _Reader) -> dict[str, str]:
    for shape in geometry.children("box"):
        return {"type": "box", "size": _numbers(side / 2 for side in shape.vector("size", (math.nan,) * 3, length=3))}
    for shape in geometry.children("cylinder", "capsule"):
        shape.required("radius"), shape.required("length")
        return {"type": shape.tag, "size": _numbers((shape.number("radius"), shape.number("length") / 2))}
    for shape in geometry.children("sphere"):
        shape.required("radius")
        return {"type": "sphere", "size": repr(shape.number("radius"))}
    for shape in geometry.children("mesh"):
        return {"type": "mesh", "mesh": _mesh(shape, reader)}
    raise geometry.error("geometry needs a box, cylinder, capsule, sphere or mesh")


def _mesh(e: Element, reader: _Reader) -> str:
    """Name of the mesh asset for a file at a scale; the same file at another scale is another mesh."""
    file = e.required("filename")
    scale = tuple(e.vector("scale", (1, 1, 1), length=3).tolist())
    if reader.strip:
        file = posixpath.basename(file.replace("\\", "/"))
    name = posixpath.splitext(posixpath.basename(file.replace("\\", "/")))[0]
    known = reader.meshes.setdefault(name, [])
    for label, at in known:
        if at == scale:
            return label
    label = name if not known else f"{name}{len(known)}"
    known.append((label, scale))
    attributes = {"name": label, "file": file}
    if scale != (1, 1, 1):
        attributes["scale"] = _numbers(scale)
    reader.assets.append(Node("mesh", attributes, file=e.node.file, line=e.node.line))
    return label


def from_urdf(path: str | os.PathLike, *, assets: Mapping[str, bytes] | None = None) -> mjcf.RootElement:
    """A URDF file as an editable MJCF document, whose meshes are found beside the file."""
    name = os.fspath(path)
    resource = resources.read(name, assets=assets)
    tree = urdf_to_mjcf(read_xml(resource.data, file=name))
    return mjcf.from_xml_string(serialise(tree), model_dir=resources.getdir(name), assets=dict(assets or {}))
