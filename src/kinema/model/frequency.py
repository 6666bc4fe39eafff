"""Frequencies: how many rows an array has.

A frequency is an object with a key; the number of its rows is counted by whoever holds rows (builder, template, model).
Three spellings name one: a member of `AttributeFrequency` (entities every model knows), a string such as
``"mujoco:pair"`` (entities a user or a solver adds), and ``None`` (the private frequency of one attribute, whose key is
that attribute's key). Keys of built-in frequencies are also the words used in `references=`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from ..errors import BuildError


class AttributeAssignment(IntEnum):
    """Which object holds an attribute at run time."""

    MODEL = 0
    STATE = 1
    CONTROL = 2
    CONTACT = 3


class AttributeFrequency(IntEnum):
    """The entities every model knows."""

    ONCE = 0
    JOINT = 1
    JOINT_DOF = 2
    JOINT_COORD = 3
    JOINT_CONSTRAINT = 4
    BODY = 5
    SHAPE = 6
    ARTICULATION = 7
    EQUALITY_CONSTRAINT = 8
    PARTICLE = 9
    EDGE = 10
    TRIANGLE = 11
    TETRAHEDRON = 12
    SPRING = 13
    CONSTRAINT_MIMIC = 14
    WORLD = 15


EQUALITY = "mujoco:equality_constraint"
FILTER_PAIR = "shape_filter_pair"
MUSCLE = "muscle"
MUSCLE_POINT = "muscle_point"
ACTUATOR = "external_actuator"

ENUM_KEYS = {member: member.name.lower() for member in AttributeFrequency} | {
    AttributeFrequency.EQUALITY_CONSTRAINT: EQUALITY
}
"""Key of each enum frequency."""

KEY_ENUMS = {key: member for member, key in ENUM_KEYS.items()}

BUILT_IN = (*ENUM_KEYS.values(), MUSCLE, MUSCLE_POINT, FILTER_PAIR, ACTUATOR)
"""Keys of all frequencies every builder counts."""

UNORDERED = (FILTER_PAIR, ACTUATOR)
"""Frequencies whose rows may be added to worlds already closed; nothing points at them."""

COUNT_NAMES = {
    "joint_count": "joint",
    "joint_dof_count": "joint_dof",
    "joint_coord_count": "joint_coord",
    "joint_constraint_count": "joint_constraint",
    "body_count": "body",
    "shape_count": "shape",
    "articulation_count": "articulation",
    "particle_count": "particle",
    "edge_count": "edge",
    "tri_count": "triangle",
    "tet_count": "tetrahedron",
    "spring_count": "spring",
    "constraint_mimic_count": "constraint_mimic",
    "muscle_count": MUSCLE,
}
"""Names under which builders and models show the counts."""

ENTITIES = tuple(key for key in BUILT_IN if key not in ("once", "world"))
"""Built-in frequencies whose rows belong to worlds."""


@dataclass(eq=True)
class CustomFrequency:
    """A frequency a user adds: an entity with its own count, such as MuJoCo's contact pairs.

    Args:
        name: Name without namespace, e.g. ``"pair"``.
        namespace: Namespace; the key is then ``"namespace:name"``.
        usd_prim_filter: Kept for callers that describe USD import; Kinema does not call it.
        usd_entry_expander: As above.
        label_attribute: Name (without namespace) of the string attribute that holds the rows' labels; its values get
            the label prefix of a merge, like the labels of built-in entities.
    """

    name: str
    namespace: str | None = None
    usd_prim_filter: Callable[..., bool] | None = None
    usd_entry_expander: Callable[..., Any] | None = None
    label_attribute: str | None = None

    def __post_init__(self) -> None:
        for part, value in (("name", self.name), ("namespace", self.namespace)):
            if value is not None and (not value or ":" in value):
                raise BuildError(f"CustomFrequency({part}={value!r}): must be non-empty and hold no ':'")

    @property
    def key(self) -> str:
        """``namespace:name``, or the bare name."""
        return f"{self.namespace}:{self.name}" if self.namespace else self.name


def frequency_key(frequency: AttributeFrequency | int | str | None, own_key: str | None = None) -> str:
    """Canonical key of any spelling of a frequency (`own_key` is what ``None`` stands for)."""
    if frequency is None:
        if own_key is None:
            raise BuildError("frequency None only means something for an attribute")
        return own_key
    if isinstance(frequency, str):
        return EQUALITY if frequency == "equality_constraint" else frequency
    return ENUM_KEYS[AttributeFrequency(frequency)]


def public_frequency(key: str) -> AttributeFrequency | str:
    """The spelling users see of a key: the enum member where there is one."""
    return KEY_ENUMS.get(key, key) if key != EQUALITY else EQUALITY
