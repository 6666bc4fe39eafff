"""Helpers that walk a document: joints of bodies and frames, and default classes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kinema.mjcf import schema

_ACTUATOR_TAGS = tuple(schema.MUJOCO.children["actuator"].children)


def get_freejoint(element: Any) -> Any:
    """The free joint of a body, or None."""
    if element.tag != "body":
        return None
    if "freejoint" in element.spec.children and element.freejoint is not None:
        return element.freejoint
    joints = element.find_all("joint", immediate_children_only=True)
    return next((joint for joint in joints if joint.tag == "joint" and joint.type == "free"), None)


def get_attachment_frame(mjcf_model: Any) -> Any:
    """The frame an attached model hangs from."""
    return mjcf_model.parent_model.find("attachment_frame", mjcf_model.model)


def get_frame_freejoint(mjcf_model: Any) -> Any:
    """The free joint of the frame an attached model hangs from, or None."""
    return get_freejoint(get_attachment_frame(mjcf_model))


def get_frame_joints(mjcf_model: Any) -> list[Any] | None:
    """The joints of the frame an attached model hangs from."""
    frame = get_attachment_frame(mjcf_model)
    return frame.find_all("joint", immediate_children_only=True) if frame is not None else None


def default_classes(element: Any) -> list[Any]:
    """The <default> elements that speak for an element, nearest first: own class, else childclass, and those above."""
    default = element._get("class") if "class" in element.spec.attributes else None
    ancestor = element.parent
    while default is None and ancestor is not None:
        if "childclass" in ancestor.spec.attributes:
            default = ancestor._get("childclass")
        ancestor = ancestor.parent
    root = element.root
    if isinstance(default, str):
        main = root.default if default == "main" and root.has_main_class else None
        default = root.find("default", default) or main
    default = default if default is not None else root.default
    chain = []
    while default is not None and default.tag == "default":
        chain.append(default)
        default = default.parent
    return chain


def commit_defaults(element: Any, attributes: Iterable[str] | None = None) -> None:
    """Write what an element's default classes say into the element itself, where it says nothing.

    Args:
        element: The element.
        attributes: Which attributes; all by default.
    """
    family = {"spatial": "tendon", "fixed": "tendon"}
    own = element.spec.attributes
    chosen = None if attributes is None else set(attributes)
    for default in default_classes(element):
        tags = _ACTUATOR_TAGS if element.tag in _ACTUATOR_TAGS else (family.get(element.tag, element.tag),)
        for tag in tags:
            if tag not in default.spec.children:
                continue
            for name, value in default.get_children(tag).get_attributes().items():
                wanted = chosen is None or name in chosen
                if wanted and name in own and element._get(name) is None:
                    setattr(element, name, value)
