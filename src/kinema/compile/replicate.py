"""Replicate: copies of a subtree, each turned and moved from the one before.

    pose_0 = identity,   pose_{i+1} = pose_i ∘ (offset, euler),   suffix = sep + i with as many digits as the count

Each copy is attached like a subtree of another model, so what refers to the copied elements from outside the tree
(actuators, sensors, tendons, ...) is copied with it under the same suffix, and the original goes.
"""

from __future__ import annotations

from collections.abc import Callable

from kinema.compile import pose
from kinema.compile.attach import attach_frame, drop_broken_references
from kinema.compile.defaults import DefaultClass
from kinema.compile.element import Element
from kinema.compile.frames import Frame
from kinema.compile.orientation import euler_of
from kinema.compile.tree import Body, Spec
from kinema.mjcf.source import Node


def replicate(
    spec: Spec,
    e: Element,
    body: Body,
    frame: Frame | None,
    default: DefaultClass,
    read_body: Callable[[Node, Body, Frame | None], None],
) -> None:
    """Expand one <replicate> into copies of its contents in `body`."""
    e.required("count")
    count = e.integer("count")
    offset = e.vector("offset", (0, 0, 0), length=3).tolist()
    euler = e.vector("euler", (0, 0, 0), length=3).tolist()
    separator = e.text("sep", "")
    step = euler_of(e, euler)

    template = Body(e, body, None, default)  # a body of its own until it is copied
    source = Frame(parent=frame, default=default)
    template.frames.append(source)
    body.children.append(template)
    read_body(e.node, template, source)

    pos, quat = [0.0, 0.0, 0.0], list(pose.IDENTITY)
    digits = len(str(count))
    for index in range(count):
        exact = euler_of(e, [index * angle for angle in euler])
        source.pos, source.quat = list(pos), exact
        pos, quat = pose.compose(pos, exact, offset, step)
        attach_frame(spec, body, frame, spec, template, source, "", f"{separator}{index:0{digits}d}")
    body.children.remove(template)
    drop_broken_references(spec, template)
