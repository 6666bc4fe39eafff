"""The kinematic tree as written: bodies with what they hold, read from <worldbody>.

Order is MuJoCo's: bodies depth first; geoms, joints, sites, cameras and lights grouped by body in that order, and
inside one body as they stand in the document, frames included. Replicates and attachments are expanded in place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kinema.compile.defaults import DefaultClass, Defaults
from kinema.compile.element import Element, Scope
from kinema.compile.frames import Frame, read_frame
from kinema.errors import did_you_mean
from kinema.mjcf.source import Node

HELD = {"geom": "geom", "joint": "joint", "freejoint": "joint", "site": "site", "camera": "camera", "light": "light"}
"""Tags of what a body holds, and the kind each is."""

BODY_TAGS = (*HELD, "body", "frame", "replicate", "attach", "inertial", "plugin", "flexcomp")


@dataclass(slots=True, eq=False)
class Body:
    """One body: its element (None for the world), what it holds by kind, and its children."""

    element: Element
    parent: Body | None = None
    frame: Frame | None = None
    default: DefaultClass | None = None
    held: dict[str, list[Element]] = field(default_factory=lambda: {kind: [] for kind in HELD.values()})
    children: list[Body] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    inertial: Element | None = None
    plugin: Element | None = None
    id: int = -1
    record: Any = None

    @property
    def name(self) -> str:
        return "world" if self.parent is None and self.element.tag == "worldbody" else self.element.name

    @property
    def is_world(self) -> bool:
        return self.parent is None and self.element.tag == "worldbody"

    def walk(self) -> Iterator[Body]:
        """This body and all below it, depth first."""
        stack = [self]
        while stack:
            body = stack.pop()
            yield body
            stack.extend(reversed(body.children))


@dataclass(slots=True, eq=False)
class Spec:
    """One document read: its settings, classes, tree, and lists of everything outside the tree."""

    root: Node
    scope: Scope
    defaults: Defaults
    world: Body
    lists: dict[str, list[Element]] = field(default_factory=dict)
    files: Mapping[str, bytes] | None = None
    models: dict[str, Spec] = field(default_factory=dict)
    attached_keys: list[AttachedKey] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    elements: int = 0  # priced, before the tree is expanded
    bytes: int = 0

    def list(self, kind: str) -> list[Element]:
        return self.lists.setdefault(kind, [])

    def element(self, node: Node, kind: str, *, body: Body | None = None, frame: Frame | None = None) -> Element:
        """An element of this document, with the class it names (or the one its body or frame implies)."""
        name = node.attributes.get("class")
        if name is not None:
            default = self.defaults.find(name, node)
        elif frame is not None and frame.default is not None:
            default = frame.default
        elif body is not None and body.default is not None:
            default = body.default
        else:
            default = self.defaults.main
        layers = default.of(kind) if node.tag != "freejoint" else ()
        return Element(node, kind, self.scope, (*layers, node.attributes), default, body, frame)


@dataclass(slots=True, eq=False)
class AttachedKey:
    """A keyframe that came with an attachment.

    Attributes:
        element: The <key>, renamed.
        joint_elements: The child's joints, to whose positions its numbers belong in order.
        joints, actuators, mocaps: The copies of the child's joints, actuators and mocap bodies; None if not copied.
    """

    element: Element
    joint_elements: list[Element]
    joints: list[Element | None]
    actuators: list[Element | None]
    mocaps: list[Body | None]


def read_tree(spec: Spec) -> None:
    """Read every <worldbody> of the document into `spec.world`."""
    from kinema.compile.attach import attach_element  # attach and replicate call back into read_body
    from kinema.compile.flexcomp import expand_flexcomp
    from kinema.compile.replicate import replicate

    def read_body(node: Node, body: Body, frame: Frame | None) -> None:
        for child in node.children:
            tag = child.tag
            if tag in HELD:
                if HELD[tag] == "joint" and body.is_world:
                    raise spec.element(child, "joint").error("the world body cannot have joints")
                if HELD[tag] == "joint" and body.element.tag == "replicate":
                    raise spec.element(child, "joint").error("a joint cannot be a direct child of replicate")
                body.held[HELD[tag]].append(spec.element(child, HELD[tag], body=body, frame=frame))
            elif tag == "body":
                read_body(child, add_body(child, body, frame), None)
            elif tag == "frame":
                element = spec.element(child, "frame", body=body, frame=frame)
                inner = read_frame(element, frame, child_class(child, body, frame))
                body.frames.append(inner)
                read_body(child, body, inner)
            elif tag == "inertial":
                element = spec.element(child, "inertial", body=body, frame=frame)
                if body.is_world:
                    raise element.error("the world body cannot have inertia")
                body.inertial = element
            elif tag == "replicate":
                element = spec.element(child, "replicate", body=body, frame=frame)
                replicate(spec, element, body, frame, child_class(child, body, frame), read_body)
            elif tag == "attach":
                attach_element(spec, spec.element(child, "attach", body=body, frame=frame), body, frame)
            elif tag == "plugin":
                body.plugin = spec.element(child, "plugin", body=body, frame=frame)
            elif tag == "flexcomp":
                element = spec.element(child, "flexcomp", body=body, frame=frame)
                expand_flexcomp(spec, element, body, frame, add_generated)
            else:
                known = did_you_mean(tag, BODY_TAGS)
                raise spec.element(child, tag).error(f"unrecognized model element {tag!r}{known}")

    def child_class(node: Node, body: Body, frame: Frame | None) -> DefaultClass:
        name = node.attributes.get("childclass")
        if name is not None:
            return spec.defaults.find(name, node, "childclass")
        around = frame.default if frame is not None else body.default
        return around or spec.defaults.main

    def add_body(node: Node, parent: Body, frame: Frame | None) -> Body:
        element = Element(node, "body", spec.scope, (node.attributes,), None, None, frame)
        body = Body(element, parent, frame, child_class(node, parent, frame))
        parent.children.append(body)
        return body

    def add_generated(node: Node, parent: Body) -> None:
        read_body(node, add_body(node, parent, None), None)

    for node in spec.root.find("worldbody"):
        if node.attributes:
            raise Element(node, "body", spec.scope, (node.attributes,)).error("the world body cannot have attributes")
        read_body(node, spec.world, None)


def number_tree(world: Body) -> dict[str, list]:
    """Bodies and held elements in compiled order, ids set."""
    lists: dict[str, list] = {"body": list(world.walk()), **{kind: [] for kind in HELD.values()}}
    for index, body in enumerate(lists["body"]):
        body.id = index
        for kind, elements in body.held.items():
            lists[kind].extend(elements)
    return lists
