"""Angles of composed documents: every model keeps the unit and Euler sequence it was written in.

MuJoCo has one `compiler/angle` and one `compiler/eulerseq` for a whole document. A model that sets them means it; a
model that does not follows the nearest model above it that does, and else means degrees and ``xyz``. When a document is
written, angles of models with another unit than the document's are converted, and Euler angles of another sequence
become quaternions. What users read and set stays in their own unit.

The document's unit is that of its own root, else that of the first attached model that sets one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kinema.errors import BadValue
from kinema.mjcf import orientation
from kinema.mjcf.orientation import DEFAULT_SEQUENCE, DEGREE
from kinema.mjcf.traversal_utils import default_classes

if TYPE_CHECKING:
    from kinema.mjcf.element import RootElement
    from kinema.mjcf.namescope import NameScope


def resolved(element: Any, name: str) -> Any:
    """What an element says, or else its default classes; None when nobody does."""
    value = element._get(name)
    if value is not None:
        return value
    for default in default_classes(element):
        value = default._single(element.tag)._get(name) if element.tag in default.spec.children else None
        if value is not None:
            return value
    return None


def meant(model: RootElement, name: str) -> str | None:
    """The unit or sequence a model means, if it or a model above it says so."""
    here: RootElement | None = model
    while here is not None:
        value = here.compiler._get(name)
        if value is not None:
            return value
        here = here.parent_model
    return None


def _document(model: RootElement, name: str) -> str | None:
    value = meant(model, name)
    todo = list(reversed(model.attached_models()))
    while value is None and todo:
        attached = todo.pop()
        value = attached.compiler._get(name)
        todo.extend(reversed(attached.attached_models()))
    return value


class Units:
    """The angles of one written document."""

    def __init__(self, model: RootElement):
        self.compiler = model.compiler
        self.angle = _document(model, "angle")
        self.sequence = _document(model, "eulerseq")
        self._rules: dict[NameScope, tuple[str, str] | None] = {}

    def _rule(self, model: RootElement) -> tuple[str, str] | None:
        """The (unit, sequence) of a model when its angles must be rewritten, else None."""
        scope = model.namescope
        if scope not in self._rules:
            own = (meant(model, "angle") or DEGREE, meant(model, "eulerseq") or DEFAULT_SEQUENCE)
            document = (self.angle or DEGREE, self.sequence or DEFAULT_SEQUENCE)
            self._rules[scope] = own if own != document else None
        return self._rules[scope]

    def adjust(self, element: Any) -> dict[str, Any]:
        """Values to write instead of an element's own; None for those to leave out."""
        if element is self.compiler:
            return {"angle": self.angle, "eulerseq": self.sequence}
        rule = self._rule(element._root)
        if rule is None:
            return {}
        if element.tag == "joint" and element.parent.tag != "default" and "type" in element.spec.attributes:
            return self._joint(element, rule[0])
        if "euler" in element._attributes or "axisangle" in element._attributes:
            return self._rotation(element, *rule)
        return {}

    def _turned(self, value: Any, unit: str) -> Any:
        """A value in a unit, in the document's."""
        if unit == (self.angle or DEGREE):
            return value
        return value * (np.pi / 180) if unit == DEGREE else value * (180 / np.pi)

    def _joint(self, joint: Any, unit: str) -> dict[str, Any]:
        """Ranges and references of hinges and balls. They are written out, since a class may serve slides too."""
        kind = resolved(joint, "type") or "hinge"
        names = {"hinge": ("range", "ref", "springref", "springyield"), "ball": ("range", "springyield")}
        values = {name: resolved(joint, name) for name in names.get(kind, ())}
        return {name: self._turned(value, unit) for name, value in values.items() if value is not None}

    def _rotation(self, element: Any, unit: str, sequence: str) -> dict[str, Any]:
        euler, axisangle = element._get("euler"), element._get("axisangle")
        changed: dict[str, Any] = {}
        if axisangle is not None and len(axisangle) == 4:
            changed["axisangle"] = np.array([*axisangle[:3], self._turned(axisangle[3], unit)])
        if euler is not None and len(euler) == 3:
            if sequence == (self.sequence or DEFAULT_SEQUENCE):
                changed["euler"] = self._turned(euler, unit)
            elif "quat" in element.spec.attributes:
                angles = {"euler": euler}
                quat = orientation.quaternion(angles, degrees=unit == DEGREE, sequence=sequence)
                changed |= {"euler": None, "quat": quat}
            else:
                raise BadValue(
                    f"<{element.tag}> uses euler angles of sequence {sequence!r} in a document of sequence "
                    f"{self.sequence or DEFAULT_SEQUENCE!r}, and cannot be written otherwise",
                    file=element.source_file,
                    line=element.source_line,
                    path=element._path(),
                )
        return changed
