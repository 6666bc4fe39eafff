"""Joints: type, axis, limits, springs, and the rows of their degrees of freedom.

Limits and reference angles of hinges and balls are written in the document's unit and stored in radians. `limited`
may be left to the compiler: a range then means limits, unless `autolimits` is off, where a range without `limited` is
an error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kinema.compile import pose
from kinema.compile.context import Compilation
from kinema.compile.element import AUTO, FALSE, FALSE_TRUE_AUTO, TRUE, Element
from kinema.compile.frames import apply_frame
from kinema.compile.geom import SOLIMP, SOLREF
from kinema.mujoco_enums import Joint, words

JOINT_TYPES = words(Joint)
NQ, NV = (7, 4, 1, 1), (6, 3, 1, 1)
DEGREE = math.pi / 180.0


@dataclass(slots=True)
class CompiledJoint:
    """A compiled joint."""

    kind: int
    pos: list[float]
    axis: list[float]
    limited: bool
    range: list[float]
    actfrclimited: bool
    actfrcrange: list[float]
    ref: float
    springref: float
    springyield: float
    springdamper: list[float]


def joint_type(e: Element) -> int:
    return Joint.FREE if e.tag == "freejoint" else e.keyword("type", JOINT_TYPES, Joint.HINGE)


def compile_joint(e: Element) -> CompiledJoint:
    """One joint, in its body's coordinates."""
    kind = joint_type(e)
    springdamper = e.vector("springdamper", (0, 0), length=2).tolist()
    if any(springdamper) and min(springdamper) <= 0:
        raise e.error("springdamper values must both be positive", "springdamper")
    limited, limits = _limits(e, "limited", "range", applies=kind != Joint.FREE)
    degree = e.settings.degree
    if limited:
        if kind != Joint.BALL and limits[0] >= limits[1]:
            raise e.error("range[0] must be smaller than range[1]", "range")
        if kind == Joint.BALL and limits[0]:
            raise e.error("range[0] must be 0 in a ball joint", "range")
        if degree and kind in (Joint.HINGE, Joint.BALL):
            limits = [value * DEGREE for value in limits]
    scalar = kind in (Joint.HINGE, Joint.SLIDE)
    actfrclimited, actfrcrange = _limits(e, "actuatorfrclimited", "actuatorfrcrange", applies=scalar)
    if actfrclimited and actfrcrange[0] >= actfrcrange[1]:
        raise e.error("actuatorfrcrange[0] must be smaller than actuatorfrcrange[1]", "actuatorfrcrange")
    pos, axis = _anchor(e, kind)
    ref, springref = e.number("ref", 0.0), e.number("springref", 0.0)
    springyield = e.number("springyield", 0.0)
    if springyield < 0:
        raise e.error("springyield cannot be negative", "springyield")
    if springyield and kind == Joint.FREE:
        raise e.error("springyield is not supported on free joints", "springyield")
    if degree and kind == Joint.HINGE:
        ref, springref = ref * DEGREE, springref * DEGREE
    if degree and kind in (Joint.HINGE, Joint.BALL):
        springyield *= DEGREE
    return CompiledJoint(
        kind, pos, axis, limited, limits, actfrclimited, actfrcrange, ref, springref, springyield, springdamper
    )


def _limits(e: Element, switch: str, attribute: str, *, applies: bool) -> tuple[bool, list[float]]:
    limits = e.vector(attribute, (0, 0), length=2).tolist()
    limited = e.keyword(switch, FALSE_TRUE_AUTO, AUTO) if applies else FALSE
    if limited == AUTO and any(limits) and not e.settings.autolimits:
        raise e.error(
            f"{attribute!r} is given but {switch!r} is not: set {switch}, remove {attribute}, or use autolimits",
            attribute,
        )
    return limited == TRUE or (limited == AUTO and limits[0] < limits[1]), limits


def _anchor(e: Element, kind: int) -> tuple[list[float], list[float]]:
    pos, axis = e.vector("pos", (0, 0, 0), length=3).tolist(), e.vector("axis", (0, 0, 1), length=3).tolist()
    if kind in (Joint.FREE, Joint.BALL):
        axis = [0.0, 0.0, 1.0]
    elif e.frame is not None:
        axis = pose.rotate(e.frame.in_body()[1], axis)
    axis, norm = pose.normalize(axis)
    if norm < pose.EPS:
        raise e.error("axis is too small", "axis")
    pos = [0.0, 0.0, 0.0] if kind == Joint.FREE else apply_frame(e.frame, pos, pose.IDENTITY)[0]
    return pos, axis


def fill_joints(c: Compilation) -> None:
    """Set every jnt_* array, the dof arrays that follow from joints, qpos0 and qpos_spring."""
    elements = c.elements["joint"]
    records: list[CompiledJoint] = [e.record for e in elements]
    n, a = len(elements), c.arrays
    kinds = np.array([r.kind for r in records], dtype=np.int32)
    nq, nv = np.array(NQ)[kinds] if n else np.zeros(0, int), np.array(NV)[kinds] if n else np.zeros(0, int)
    c.sizes["nq"], c.sizes["nv"] = int(nq.sum()), int(nv.sum())

    def floats(values: list, width: int) -> np.ndarray:
        return np.array(values, dtype=np.float64).reshape(n, width)

    def column(attribute: str) -> np.ndarray:
        return np.array([e.number(attribute, 0.0) for e in elements], dtype=np.float64)

    a["jnt_type"] = kinds
    a["jnt_qposadr"] = _starts(nq)
    a["jnt_dofadr"] = _starts(nv)
    a["jnt_bodyid"] = np.array([e.body.id for e in elements], dtype=np.int32)
    a["jnt_actuatorid"] = np.full(n, -1, dtype=np.int32)
    a["jnt_group"] = np.array([e.integer("group", 0) for e in elements], dtype=np.int32)
    a["jnt_limited"] = np.array([r.limited for r in records], dtype=np.uint8)
    a["jnt_actfrclimited"] = np.array([r.actfrclimited for r in records], dtype=np.uint8)
    a["jnt_actgravcomp"] = np.array([e.flag("actuatorgravcomp", False) for e in elements], dtype=np.uint8)
    a["jnt_solref"] = floats([e.vector("solreflimit", SOLREF, at_most=2) for e in elements], 2)
    a["jnt_solimp"] = floats([e.vector("solimplimit", SOLIMP, at_most=5) for e in elements], 5)
    a["jnt_pos"] = floats([r.pos for r in records], 3)
    a["jnt_axis"] = floats([r.axis for r in records], 3)
    stiffness = floats([e.vector("stiffness", (0, 0, 0), at_most=3) for e in elements], 3)
    a["jnt_stiffness"], a["jnt_stiffnesspoly"] = stiffness[:, 0].copy(), stiffness[:, 1:].copy()
    a["jnt_springyield"] = np.array([r.springyield for r in records], dtype=np.float64)
    a["jnt_range"] = floats([r.range for r in records], 2)
    a["jnt_actfrcrange"] = floats([r.actfrcrange for r in records], 2)
    a["jnt_margin"] = column("margin")
    a["jnt_user"] = c.user_data("joint", "nuser_jnt")
    width = np.array([(4 if r.kind == Joint.BALL else 1) if r.springyield > 0 else 0 for r in records], dtype=np.int64)
    a["jnt_plasticadr"] = np.where(width > 0, _starts(width), -1).astype(np.int32)
    c.sizes["nplastic"] = c.sizes.get("nplastic", 0) + int(width.sum())
    c.scratch["springdamper"] = np.array([r.springdamper for r in records], dtype=np.float64).reshape(n, 2)
    _fill_positions(c, records)

    # one row per degree of freedom
    joint = np.repeat(np.arange(n, dtype=np.int32), nv)
    a["dof_jntid"] = joint
    a["dof_bodyid"] = a["jnt_bodyid"][joint]
    a["dof_solref"] = floats([e.vector("solreffriction", SOLREF, at_most=2) for e in elements], 2)[joint]
    a["dof_solimp"] = floats([e.vector("solimpfriction", SOLIMP, at_most=5) for e in elements], 5)[joint]
    a["dof_frictionloss"] = column("frictionloss")[joint]
    a["dof_armature"] = column("armature")[joint]
    damping = floats([e.vector("damping", (0, 0, 0), at_most=3) for e in elements], 3)[joint]
    a["dof_damping"], a["dof_dampingpoly"] = damping[:, 0].copy(), damping[:, 1:].copy()


def _fill_positions(c: Compilation, records: list[CompiledJoint]) -> None:
    qpos0: list[float] = []
    spring: list[float] = []
    for e, r in zip(c.elements["joint"], records, strict=True):
        if r.kind == Joint.FREE:
            values = [*e.body.record.pos, *e.body.record.quat]
        elif r.kind == Joint.BALL:
            values = list(pose.IDENTITY)
        else:
            values = [r.ref]
        qpos0 += values
        spring += values if r.kind in (Joint.FREE, Joint.BALL) else [r.springref]
    c.arrays["qpos0"] = np.array(qpos0, dtype=np.float64)
    c.arrays["qpos_spring"] = np.array(spring, dtype=np.float64)


def _starts(counts: np.ndarray) -> np.ndarray:
    return (np.cumsum(counts) - counts).astype(np.int32)
