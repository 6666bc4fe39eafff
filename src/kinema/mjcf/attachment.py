"""Attaching one model to another.

The child's <worldbody> becomes a body of the parent, the attachment frame, and its other sections are merged into the
parent's. Sections with attributes (<option>, <compiler>, <visual>...) become one: values must agree, or combine as the
schema says (`merge`), and from then on both models read and write the same values until the child is detached. Nothing
is copied: the parent's sections remember the child's, and show and write their elements after their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from kinema.errors import BadValue
from kinema.mjcf import debugging, schema
from kinema.mjcf.constants import PREFIX_SEPARATOR
from kinema.mjcf.holder import KEPT, put
from kinema.mjcf.place import placed
from kinema.mjcf.tree import ElementImpl

if TYPE_CHECKING:
    from kinema.mjcf.namescope import NameScope

_UNITS = {"K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}


# ---------------------------------------------------------------- merging sections


def _bytes(text: str) -> int:
    """A size such as ``10M`` in bytes."""
    digits, unit = (text, "") if text.isdigit() else (text[:-1], text[-1:].upper())
    if not digits.isdigit() or (unit and unit not in _UNITS):
        raise BadValue(f"unit of `size.memory` should be one of [{', '.join(_UNITS)}], got {text!r}")
    return int(digits) << _UNITS.get(unit, 0)


_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "min": min,
    "max": max,
    "bytes": lambda first, second: str(max(_bytes(first), _bytes(second))),
}


def check_conflicts(element: ElementImpl, other: ElementImpl) -> None:
    """Raise ValueError when two elements that are to become one disagree."""
    for name, theirs in other._attributes.items():
        rule = element._spec.attributes[name].merge
        mine = element._held(name).get(name)
        if rule in ("agree", "unit") and mine is not None and not np.array_equal(mine, theirs):
            raise placed(BadValue(f"Conflicting values for attribute `{name}`: {mine} vs {theirs}"), element)
        if rule == "bytes":
            _bytes(theirs)


def merge_attributes(element: ElementImpl, other: ElementImpl, *, copying: bool) -> None:
    """Take over what another element sets. `copying` (rather than attaching) takes over what would stay its own too."""
    check_conflicts(element, other)
    for name, theirs in other.get_attributes().items():
        name = "class" if name == "dclass" else name
        rule = element._spec.attributes[name].merge
        mine = element._get(name)
        if rule in _COMBINE and mine is not None:
            element._assign(name, _COMBINE[rule](mine, theirs))
        elif copying or rule not in KEPT:
            element._assign(name, theirs)


def _sections(parent: ElementImpl, child: ElementImpl) -> list[tuple[ElementImpl, ElementImpl]]:
    """Pairs of elements that become one when the child root is attached to the parent root."""
    pairs = []
    todo = [(parent, child)]
    while todo:
        mine, theirs = todo.pop()
        for tag in mine._spec.singletons:
            if tag not in ("worldbody", "default"):
                pairs.append((mine._single(tag), theirs._single(tag)))
                todo.append(pairs[-1])
    return pairs


def _link(element: ElementImpl, other: ElementImpl) -> None:
    if element._attachments is None:
        put(element, "_attachments", {})
    element._attachments[other.namescope] = other


def _share(element: ElementImpl, other: ElementImpl) -> None:
    """Let both, and all that already share with `other`, read and write the attributes of `element`."""
    if other._own_attributes is None:
        put(other, "_own_attributes", other._attributes)
    put(other, "_attributes", element._attributes)
    for attached in (other._attachments or {}).values():
        _share(element, attached)


def _unshare(element: ElementImpl) -> None:
    """Give an element its own attributes back, with the values they have now; those it kept stay as they are."""
    own = element._own_attributes
    if own is None:
        return
    shared = element._attributes
    for name in list(own):
        if element._spec.attributes[name].merge not in KEPT and name not in shared:
            del own[name]
    own.update({name: value for name, value in shared.items() if element._spec.attributes[name].merge not in KEPT})
    put(element, "_attributes", own)
    put(element, "_own_attributes", None)
    for attached in (element._attachments or {}).values():
        _share(element, attached)


def attach(anchor: ElementImpl, model: Any) -> AttachmentFrame:
    """Attach a model at a site or worldbody; returns the frame. A failed attach changes nothing.

    The frame stands right after the site and the frames it already has, or last in the worldbody.
    """
    kept = schema.ATTACHMENT_FRAME.attributes
    pose = {name: np.copy(value) for name, value in anchor._attributes.items() if name in kept}
    if anchor.tag == "worldbody":
        return attach_in(anchor, len(anchor._list), model, pose)
    siblings = anchor._parent._list
    index = next(number for number, child in enumerate(siblings) if child is anchor) + 1
    while index < len(siblings) and isinstance(siblings[index], AttachmentFrame):
        index += 1
    return attach_in(anchor._parent, index, model, pose)


def attach_in(parent: ElementImpl, index: int, model: Any, pose: dict[str, Any]) -> AttachmentFrame:
    """Attach a model with a frame of this pose, at an index among the children of a body."""
    root = parent.root
    if not getattr(model, "is_root", False):
        raise BadValue(f"Expected a mjcf.RootElement: got {model}")
    if model.namescope.parent is not None:
        raise BadValue("The model specified is already attached elsewhere")
    if model is root:
        raise BadValue("Cannot merge a model to itself")
    if model.namescope is root.namescope.root:
        raise BadValue("Cannot attach a model to one that is attached to it")
    pairs = _sections(root, model)
    for mine, theirs in pairs:
        check_conflicts(mine, theirs)

    with debugging.freeze_current_stack_trace():
        _make_name_free(root.namescope, model)
        model.namescope.parent = root.namescope
        frame = AttachmentFrame(parent, pose, model)
        parent._list.insert(index, frame)
        for mine, theirs in pairs:
            merge_attributes(mine, theirs, copying=False)
            _link(mine, theirs)
            _share(mine, theirs)
        _link(root.default, model.default)
        _link(root, model)
    root.namescope.structure_changed()
    return frame


def _make_name_free(scope: NameScope, model: Any) -> None:
    name, number = model.model, 0
    while scope.has_identifier("namescope", name):
        number += 1
        name = f"{model.model}_{number}"
    if number:
        model.model = name


def detach(model: Any) -> None:
    """Take an attached model off again."""
    parent = model.parent_model
    if parent is None:
        raise RuntimeError("Cannot `detach` a model that is not attached to some other model.")
    frame = parent.namescope.get("attachment_frame", model.model)
    _unmerge(frame)
    frame.remove()


def _unmerge(frame: AttachmentFrame) -> None:
    """Take the model of a frame out of all sections and name scopes."""
    parent, model = frame.root, frame.attachment
    for mine, theirs in _sections(parent, model):
        _unshare(theirs)
        mine._attachments.pop(theirs.namescope, None)
    parent.default._attachments.pop(model.namescope, None)
    parent._attachments.pop(model.namescope, None)
    frame._attachments.clear()
    parent.namescope.remove("attachment_frame", model.model)
    parent.namescope.remove("attached_model", model.model)
    model.namescope.parent = None
    parent.namescope.structure_changed()


# ---------------------------------------------------------------- the elements it takes


class AttachableElement(ElementImpl):
    """A <site> in a body, or the <worldbody>: where another model can be attached."""

    __slots__ = ()

    def attach(self, attachment: Any) -> AttachmentFrame:
        """Attach another model here.

        Args:
            attachment: The `RootElement` of the model.

        Returns:
            The attachment frame, a body of this model that holds the content of the other's <worldbody>. Joints added
            to it let the model move.

        Raises:
            ValueError: When it is no model, attached already, or its options conflict; nothing is changed then.
        """
        return attach(self, attachment)


class AttachmentFrame(ElementImpl):
    """The <body> that an attached model hangs from."""

    __slots__ = ("_attachment",)

    def __init__(self, parent: ElementImpl, pose: dict[str, Any], attachment: Any):
        in_world = parent.tag == "worldbody"
        super().__init__(schema.WORLD_ATTACHMENT_FRAME if in_world else schema.ATTACHMENT_FRAME, parent, pose)
        put(self, "_attachment", attachment)
        put(self, "_attachments", {attachment.namescope: attachment.worldbody})
        self.namescope.add("attachment_frame", attachment.model, self)
        self.namescope.add("attached_model", attachment.model, attachment)

    @property
    def attachment(self) -> Any:
        """The root of the attached model."""
        return self._attachment

    def prefixed_identifier(self, prefix_root: NameScope | None = None) -> str:
        return self.namescope.full_prefix(prefix_root) + self._attachment.model + PREFIX_SEPARATOR

    def _path_name(self, values: dict[str, Any]) -> str | None:
        return self._attachment.model + PREFIX_SEPARATOR

    def _is_kind(self, namespace: str) -> bool:
        return namespace == schema.ATTACHMENT_FRAME_NAMESPACE

    def _end(self, affect_attachments: bool) -> None:
        """With the frame the model goes: it is emptied of its bodies and detached."""
        if self._attachments:
            self._attachment.worldbody.remove(affect_attachments=True)
            _unmerge(self)
        super()._end(affect_attachments)


class AttachmentFrameChild(ElementImpl):
    """A joint of an attachment frame. It is written under the frame's name, so that two frames may use one name."""

    __slots__ = ()

    def _identifier_namespace(self) -> str:
        return f"{self._spec.namespace}@attachment_frame_{id(self._parent)}"

    def prefixed_identifier(self, prefix_root: NameScope | None = None) -> str | None:
        if self._spec.namespace is None:
            return None
        prefix = self._parent.prefixed_identifier(prefix_root)
        name = self._attributes.get("name")
        return prefix + name + PREFIX_SEPARATOR if name else prefix
