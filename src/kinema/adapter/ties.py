"""Joints made by hand between parts that are joined already: parts of documents, or of a document and of a builder.

A body of a document is held by what the document says. A further joint that a user adds to it (`add_joint_fixed`
between the flanges of two robots, say) closes a loop, and becomes equality constraints between the two bodies:

    fixed      weld       the joint's frames coincide
    ball       connect    their origins coincide
    revolute   connect twice: their origins, and a second point of the axis

Other kinds are refused, by name. In a weld of bodies 1 and 2 MuJoCo keeps (anchor in 2, the same point in 1,
orientation of 2 in 1, torquescale); in a connect (anchor in 1, the same point in 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from kinema.compile.host_model import HostModel
from kinema.errors import BuildError
from kinema.model.enums import JointType
from kinema.model.mujoco_fields import model_arrays
from kinema.model.transform import quat_mul, transform_mul
from kinema.mujoco_enums import Equality, Obj

if TYPE_CHECKING:
    from kinema.adapter.view import Source

SOLREF = (0.02, 1.0)
SOLIMP = (0.9, 0.95, 0.001, 0.5, 2.0)


def tying_joints(rows: Mapping[str, np.ndarray], bodies: set[int], claimed: set[int]) -> list[int]:
    """Joints made by hand that concern bodies of documents, without those that hold a body built by hand.

    Args:
        rows: Core columns of the world.
        bodies: Bodies of documents.
        claimed: Joints of documents.
    """
    found, held = [], set()
    order = np.argsort(np.asarray(rows["joint_articulation"]) < 0, kind="stable").tolist()
    for joint in order:
        parent, child = int(rows["joint_parent"][joint]), int(rows["joint_child"][joint])
        if joint in claimed:
            continue
        holds = child not in bodies and child not in held
        held.add(child)
        if not holds and (child in bodies or parent in bodies):
            found.append(joint)
    return found


def add_ties(source: Source, rows: Mapping[str, np.ndarray], joints: list[int]) -> None:
    """Give the compiled model of a class of worlds the equality constraints that joints amount to."""
    if not joints:
        return
    place = {int(core): body for body, core in enumerate(source.bodies) if core >= 0} | {-1: 0}
    found: list[tuple[int, int, int, bool, np.ndarray]] = []
    for joint in joints:
        first, second = (place[int(rows[key][joint])] for key in ("joint_parent", "joint_child"))
        active = bool(rows["joint_enabled"][joint])
        found += [(kind, first, second, active, data) for kind, data in _constraints(rows, joint)]
    source.host = _with_equalities(source.host, found)


def _constraints(rows: Mapping[str, np.ndarray], joint: int) -> list[tuple[int, np.ndarray]]:
    """The constraints of one joint: kind and eq_data."""
    kind = JointType(int(rows["joint_type"][joint]))
    above, below = (np.asarray(rows[key][joint], dtype=float) for key in ("joint_X_p", "joint_X_c"))
    if kind == JointType.FIXED:
        back = below[3:] * [-1.0, -1.0, -1.0, 1.0]
        turn = quat_mul(above[3:], back)[[3, 0, 1, 2]]
        return [(int(Equality.WELD), np.concatenate([below[:3], above[:3], turn, [1.0]]))]
    if kind in (JointType.BALL, JointType.REVOLUTE):
        points = [np.zeros(3)]
        if kind == JointType.REVOLUTE:
            points.append(np.asarray(rows["joint_axis"][int(rows["joint_qd_start"][joint])], dtype=float))
        return [(int(Equality.CONNECT), np.concatenate([_at(above, p), _at(below, p), np.zeros(5)])) for p in points]
    raise BuildError(
        f"joint {str(rows['joint_label'][joint])!r} ties bodies that are held already, one of them a document's, "
        f"which a {kind.name} joint cannot: use a fixed, ball or revolute joint, or put it into the document"
    )


def _at(frame: np.ndarray, point: np.ndarray) -> np.ndarray:
    return transform_mul(frame, np.concatenate([point, [0.0, 0.0, 0.0, 1.0]]))[:3]


def _with_equalities(host: HostModel, ties: list[tuple[int, int, int, bool, np.ndarray]]) -> HostModel:
    """The compiled model with more equality constraints between bodies."""
    kinds, first, second, active, data = (np.array(column) for column in zip(*ties, strict=True))
    count = len(ties)
    more = {
        "eq_type": kinds, "eq_obj1id": first, "eq_obj2id": second, "eq_objtype": np.full(count, int(Obj.BODY)),
        "eq_active0": active, "eq_solref": np.tile(SOLREF, (count, 1)), "eq_solimp": np.tile(SOLIMP, (count, 1)),
        "eq_data": np.pad(data, [(0, 0), (0, host.eq_data.shape[1] - data.shape[1])]),
    }  # fmt: skip
    arrays = dict(host.arrays)
    for field in model_arrays():  # whatever else mjModel says of them
        if field.shape[0] == "neq":
            more.setdefault(field.name, np.zeros((count, *arrays[field.name].shape[1:])))
    arrays |= {name: np.concatenate([arrays[name], rows]).astype(arrays[name].dtype) for name, rows in more.items()}
    names = {**host._names, "equality": [*host.names("equality"), *[""] * count]}
    sizes = {**host.sizes, "neq": int(host.neq) + count}
    return HostModel(
        arrays, sizes, host.opt, host.stat, host.vis, host.modelname, host.warnings, names, dict(host.stated)
    )
