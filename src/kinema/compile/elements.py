"""MJCF's elements beside what is built by hand: actuators and tendons that act on joints, bodies and shapes of rows.

A document names what its elements act on; a world built by hand has rows. So an element is kept as its tag and
attributes, and what it refers to as rows of a second frequency, which merging moves like any other index:

    mujoco:element_json              ["tendon", "fixed", {...}, [["joint", {"joint": 0, "coef": "2"}]]]
    mujoco:element_control           its control, a row of `mujoco:ctrl`, or -1
    mujoco:reference_element, _dof, _body, _shape, _target      which element, and the row it refers to; -1: no such

Attributes that are numbers in the JSON stand for references of the element, counted from 0. What is written for them
is known where the world becomes a document (`kinema.adapter.lower`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from kinema.compile.rows import NAMESPACE, frequency, register_mujoco_attributes
from kinema.errors import BuildError
from kinema.mjcf.source import Node
from kinema.model import CustomAttribute, CustomFrequency, ModelBuilder

ELEMENT, REFERENCE = f"{NAMESPACE}:element", f"{NAMESPACE}:reference"
KINDS = {"dof": "joint_dof", "body": "body", "shape": "shape", "target": ELEMENT}
"""What an element can refer to, and the frequency of its rows; a target is another element."""

Attributes = Mapping[str, str | int]


@dataclass(frozen=True)
class Element:
    """One element: its section and tag, attributes (numbers are references), children, and what it refers to."""

    section: str
    tag: str
    attributes: Attributes
    children: Sequence[tuple[str, Attributes]] = ()
    references: Sequence[tuple[str, int]] = ()
    control: int = -1
    row: int = -1

    def node(self, named: Callable[[str, int], str]) -> Node:
        """The element of a document, what it refers to called as `named` says."""

        def written(attributes: Attributes) -> dict[str, str]:
            return {key: named(*self.references[value]) if isinstance(value, int) else value
                    for key, value in attributes.items()}  # fmt: skip

        node = Node(self.tag, {"name": element_name(self.row), **written(self.attributes)})
        for tag, attributes in self.children:
            node.add(Node(tag, written(attributes)))
        return node


def element_name(row: int) -> str:
    """What the element of a row is called in a document."""
    return f"element{row}"


def register_elements(builder: ModelBuilder) -> None:
    """Let a builder keep elements; doing so again changes nothing."""
    register_mujoco_attributes(builder)
    for name in ("element", "reference"):
        builder.add_custom_frequency(CustomFrequency(name=name, namespace=NAMESPACE))
    columns: list[tuple[str, Any, str, str | None]] = [
        ("element_label", str, ELEMENT, None), ("element_json", str, ELEMENT, None),
        ("element_control", wp.int32, ELEMENT, frequency("nu")), ("element_world", wp.int32, ELEMENT, "world"),
        ("reference_element", wp.int32, REFERENCE, ELEMENT), ("reference_world", wp.int32, REFERENCE, "world"),
        *((f"reference_{kind}", wp.int32, REFERENCE, rows) for kind, rows in KINDS.items()),
    ]  # fmt: skip
    for name, dtype, rows, refers in columns:
        default = None if dtype is str else -1
        builder.add_custom_attribute(CustomAttribute(
            name=name, namespace=NAMESPACE, dtype=dtype, frequency=rows, references=refers, default=default,
        ))  # fmt: skip


def add_element(builder: ModelBuilder, element: Element, label: str = "", *, activations: int = 0) -> int:
    """Add an element; an actuator gets a control, and as many activations as are said. Returns its row."""
    register_elements(builder)
    control = -1
    if element.section == "actuator":
        control = _one_more(builder, "nu")
        for _ in range(activations):
            _one_more(builder, "na")
    said = [element.section, element.tag, dict(element.attributes), [[t, dict(a)] for t, a in element.children]]
    row = builder.add_custom_values(**{
        f"{NAMESPACE}:element_json": json.dumps(said), f"{NAMESPACE}:element_control": control,
        f"{NAMESPACE}:element_label": label,
    })[f"{NAMESPACE}:element_json"]  # fmt: skip
    for kind, refers in element.references:
        builder.add_custom_values(**{
            f"{NAMESPACE}:reference_element": row, f"{NAMESPACE}:reference_{kind}": int(refers),
        })  # fmt: skip
    return row


def _one_more(builder: ModelBuilder, symbol: str) -> int:
    """A row of a size of MuJoCo's, after those of documents."""
    key = f"{frequency(symbol)}_world"
    builder.add_custom_values(**{key: None})
    return len(builder.custom_attributes[key].values) - 1


def elements_of(rows: Mapping[str, np.ndarray]) -> list[Element]:
    """Elements among the rows of a world."""
    if f"{NAMESPACE}:element_json" not in rows:
        return []
    texts, controls = rows[f"{NAMESPACE}:element_json"], rows[f"{NAMESPACE}:element_control"]
    if not len(texts):
        return []
    owners = np.asarray(rows[f"{NAMESPACE}:reference_element"])
    columns = {kind: np.asarray(rows[f"{NAMESPACE}:reference_{kind}"]) for kind in KINDS}
    found = []
    for row, (text, control) in enumerate(zip(texts, controls, strict=True)):
        section, tag, attributes, children = json.loads(text)
        refers = [
            next((kind, int(column[k])) for kind, column in columns.items() if column[k] != -1)
            for k in np.flatnonzero(owners == row)
        ]
        found.append(Element(section, tag, attributes, [(t, a) for t, a in children], refers, int(control), row))
    return found


def check_order(elements: Sequence[Element], documents: int) -> None:
    """Controls of documents come first: those of elements follow."""
    early = [e for e in elements if 0 <= e.control < documents]
    if early:
        raise BuildError(
            "a document was added after MuJoCo's actuators of a stage: add documents first, then the stage"
        )
