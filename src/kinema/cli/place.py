"""Which element of a model a number belongs to: from a field and an index to "joint 'knee'"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinema.compile.host_model import KINDS, HostModel
from kinema.model.mujoco_fields import data_fields, model_fields
from kinema.mujoco_enums import Joint

KIND_OF_SIZE = {size: kind for kind, size in KINDS.items()}
RANGES = {
    "nq": ("joint", "jnt_qposadr"),
    "nu": ("actuator", "actuator_ctrladr"),
    "na": ("actuator", "actuator_actadr"),
    "nout": ("actuator", "actuator_outadr"),
    "nsensordata": ("sensor", "sensor_adr"),
}
"""Sizes whose ranges belong to elements: kind, and the field with the first index of each."""


def place_of(model: HostModel, field: str, index: Sequence[int]) -> str:
    """The element an entry of a field belongs to, and which of its numbers it is."""
    entry = data_fields().get(field) or model_fields().get(field)
    index = [int(i) for i in index]
    if entry is None or not entry.shape or not index:
        return str(index) if index else ""
    size, rest = str(entry.shape[0]), index[1:]
    tail = f" [{', '.join(map(str, rest))}]" if rest else ""
    if size in KIND_OF_SIZE:
        return element(model, KIND_OF_SIZE[size], index[0]) + tail
    if size == "nv":
        return _dof(model, index[0]) + tail
    if size == "nC":  # an entry of the inertia matrix
        row = int(np.searchsorted(model.M_rowadr, index[0], side="right")) - 1
        return f"{_dof(model, row)} and {_dof(model, int(model.M_colind[index[0]]))}"
    if size in RANGES:
        kind, first = RANGES[size]
        starts = np.asarray(getattr(model, first))
        owners = np.flatnonzero((starts >= 0) & (starts <= index[0]))
        if len(owners):
            owner = owners[np.argmax(starts[owners])]
            part = index[0] - int(starts[owner])
            return element(model, kind, int(owner)) + (f" [{part}]" if part else "") + tail
    return f"[{', '.join(map(str, index))}]"


def _dof(model: HostModel, dof: int) -> str:
    """A degree of freedom: its joint, and which of the joint's where it has several."""
    joint = int(model.dof_jntid[dof])
    several = model.jnt_type[joint] in (Joint.FREE, Joint.BALL)  # free and ball joints
    return element(model, "joint", joint) + (f" dof {dof - int(model.jnt_dofadr[joint])}" if several else "")


def element(model: HostModel, kind: str, number: int) -> str:
    """An element by name, or by number where it has none."""
    names = model.names(kind)
    name = names[number] if number < len(names) else ""
    return f"{kind} {name!r}" if name else f"{kind} {number}"


def geom_pair(model: HostModel, first: int, second: int) -> str:
    """Two geoms that touch."""
    return f"{element(model, 'geom', int(first))} and {element(model, 'geom', int(second))}"
