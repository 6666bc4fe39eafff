"""Bodies: pose, inertia (given or from geoms), and the numbers that follow from the tree's shape.

Each body is compiled with all it holds. Inertia comes from <inertial> or, when that is missing (or overruled by
`inertiafromgeom`), from the geoms in `inertiagrouprange`; then it is bounded, balanced and checked. A free body without
children may be aligned with its inertia.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinema.compile import pose
from kinema.compile.camera import compile_camera
from kinema.compile.context import Compilation
from kinema.compile.element import AUTO, FALSE_TRUE_AUTO, TRUE, Element
from kinema.compile.frames import apply_frame
from kinema.compile.geom import CompiledGeom, compile_geom
from kinema.compile.inertia import Inertial, combine, principal_axes
from kinema.compile.joint import NV, CompiledJoint, compile_joint
from kinema.compile.light import compile_light
from kinema.compile.orientation import read_orientation
from kinema.compile.site import compile_site
from kinema.compile.tree import Body
from kinema.mujoco_enums import MINVAL, Joint, SleepPolicy, words

SLEEP = words(SleepPolicy, "auto", "never", "allowed", "init")


@dataclass(slots=True)
class BodyRecord:
    """A compiled body."""

    pos: list[float]
    quat: list[float]
    inertial: Inertial
    mocap: bool = False
    adjusted: bool = False
    """Whether bounds or balancing changed the inertia."""
    dofnum: int = 0
    joints: list[CompiledJoint] = field(default_factory=list)


def compile_body(c: Compilation, body: Body) -> None:
    """One body and all it holds; sets `record` on the body and on each element."""
    e = body.element
    if body.is_world:
        pos, quat = [0.0, 0.0, 0.0], list(pose.IDENTITY)
    else:
        pos = e.vector("pos", (0, 0, 0), length=3).tolist()
        quat = read_orientation(e)
    settings = e.settings
    low, high = settings.inertiagrouprange
    for geom in body.held["geom"]:
        infer = (
            not body.is_world
            and (body.inertial is None or settings.inertiafromgeom == TRUE)
            and low <= geom.integer("group", 0) <= high
        )
        geom.record = compile_geom(c, geom, infer)
    inertial = Inertial(0.0, list(pos), list(quat)) if body.inertial is None else _explicit(body.inertial)
    from_geoms = not body.is_world and (
        settings.inertiafromgeom == TRUE or (body.inertial is None and settings.inertiafromgeom == AUTO)
    )
    if from_geoms:
        inertial = _from_geoms(body) or (
            inertial if body.inertial is not None else Inertial(0.0, list(pos), list(quat))
        )
    adjusted = False if body.is_world else _bound(e, inertial)
    pos, quat = apply_frame(body.frame, pos, quat)
    record = BodyRecord(pos, quat, inertial, not body.is_world and e.flag("mocap", False), adjusted)
    body.record = record

    undo = _align_free(body)
    record.joints = [compile_joint(joint) for joint in body.held["joint"]]
    for joint, compiled in zip(body.held["joint"], record.joints, strict=True):
        joint.record = compiled
    _check_joints(body)
    for site in body.held["site"]:
        site.record = compile_site(c, site)
    for camera in body.held["camera"]:
        camera.record = compile_camera(c, camera)
    for light in body.held["light"]:
        light.record = compile_light(light)
    if undo is not None:
        _move_held(body, ("site", "camera", "light"), *undo)


def _explicit(e: Element) -> Inertial:
    """What <inertial> says, in the body's frame: frames around it move it as they move all they hold."""
    inertial = _written(e)
    inertial.pos, inertial.quat = apply_frame(e.frame, inertial.pos, inertial.quat)
    return inertial


def _written(e: Element) -> Inertial:
    for required in ("pos", "mass"):
        if not e.given(required):
            raise e.error(f"inertial needs {required!r}")
    inertial = Inertial(e.number("mass"), e.vector("pos", length=3).tolist(), read_orientation(e))
    inertial.inertia = e.vector("diaginertia", (0, 0, 0), length=3).tolist()
    full = e.vector("fullinertia", length=6)
    if full is None:
        return inertial
    if any(e.given(name) for name in ("axisangle", "xyaxes", "zaxis", "euler", "quat")):
        raise e.error("fullinertia and an inertial orientation cannot both be specified", "fullinertia")
    if any(inertial.inertia):
        raise e.error("fullinertia and diaginertia cannot both be specified", "fullinertia")
    inertial.inertia, inertial.quat = principal_axes(full.tolist())
    if inertial.inertia[2] < pose.EPS and e.settings.boundinertia <= 0:
        raise e.error("fullinertia must have positive eigenvalues (or set the compiler's boundinertia)", "fullinertia")
    return inertial


def _from_geoms(body: Body) -> Inertial | None:
    """Inertia of the body's geoms that have mass and lie in the group range; None without any."""
    low, high = body.element.settings.inertiagrouprange
    parts = []
    for e in body.held["geom"]:
        g: CompiledGeom = e.record
        if low <= g.group <= high and g.inertial.mass > pose.EPS:
            parts.append(Inertial(g.inertial.mass, g.pos, g.quat, g.inertial.inertia))
    if not parts:
        return None
    if len(parts) == 1:
        only = parts[0]
        return Inertial(only.mass, list(only.pos), list(only.quat), list(only.inertia))
    mass, com, full = combine(parts)
    moments, quat = principal_axes(full)
    if moments[2] < pose.EPS and body.element.settings.boundinertia <= 0:
        raise body.element.error("inertia from geoms must have positive eigenvalues (or set boundinertia)")
    return Inertial(mass, com, quat, moments)


def _bound(e: Element, inertial: Inertial) -> bool:
    """Apply boundmass, boundinertia and balanceinertia; whether anything changed."""
    settings = e.settings
    before = (inertial.mass, *inertial.inertia)
    inertial.mass = max(inertial.mass, settings.boundmass)
    inertial.inertia = [max(moment, settings.boundinertia) for moment in inertial.inertia]
    if inertial.mass < 0 or min(inertial.inertia) < 0:
        raise e.error("mass and inertia cannot be negative")
    a, b, c = inertial.inertia
    if a + b < c or a + c < b or b + c < a:
        if not settings.balanceinertia:
            raise e.error(f"inertia must satisfy A + B >= C, but is {a:g} {b:g} {c:g}; use 'balanceinertia' to fix it")
        inertial.inertia = [(a + b + c) / 3.0] * 3
    return before != (inertial.mass, *inertial.inertia)


def _align_free(body: Body) -> tuple[list[float], list[float]] | None:
    """Align a free, childless body with its inertia if asked for; the transformation its contents must follow."""
    joints = body.held["joint"]
    if len(joints) != 1 or joints[0].tag != "freejoint" and joints[0].text("type", "hinge") != "free" or body.children:
        return None
    align = joints[0].keyword("align", FALSE_TRUE_AUTO, AUTO)
    if align != TRUE and not (align == AUTO and body.element.settings.alignfree):
        return None
    record = body.record
    undo = pose.invert(record.inertial.pos, record.inertial.quat)
    record.pos, record.quat = pose.compose(record.pos, record.quat, record.inertial.pos, record.inertial.quat)
    record.inertial.pos, record.inertial.quat = [0.0, 0.0, 0.0], list(pose.IDENTITY)
    _move_held(body, ("geom",), *undo)
    return undo


def _move_held(body: Body, kinds: tuple[str, ...], pos: list[float], quat: list[float]) -> None:
    for kind in kinds:
        for e in body.held[kind]:
            move_record(e.record, pos, quat)


def move_record(record: Any, pos: list[float], quat: list[float]) -> None:
    """Express a compiled geom, site, camera or light in the coordinates this pose is given in."""
    if hasattr(record, "dir"):
        record.pos = pose.compose(pos, quat, record.pos, pose.IDENTITY)[0]
        record.dir = pose.rotate(quat, record.dir)
    else:
        record.pos, record.quat = pose.compose(pos, quat, record.pos, record.quat)


def _check_joints(body: Body) -> None:
    record, e = body.record, body.element
    kinds = [joint.kind for joint in record.joints]
    record.dofnum = sum(NV[kind] for kind in kinds)
    if record.dofnum > 6:
        raise e.error(f"more than 6 degrees of freedom in body {body.name!r}: {record.dofnum}")
    for index, kind in enumerate(kinds):
        if kind in (Joint.BALL, Joint.HINGE) and Joint.BALL in kinds[:index]:
            raise e.error(f"ball joint followed by a rotation in body {body.name!r}")
    if Joint.FREE in kinds:
        if len(kinds) > 1:
            raise e.error("a free joint can only appear by itself")
        if body.parent is None or not body.parent.is_world:
            raise e.error("a free joint can only be used on top level")
    if record.mocap and (record.dofnum or body.parent is None or not body.parent.is_world):
        raise e.error(f"mocap body {body.name!r} is not a fixed child of world")


def check_moving_mass(bodies: list[Body]) -> None:
    """A body with joints needs mass and inertia, itself or in what is rigidly attached below it."""
    for body in bodies[1:]:
        if body.held["joint"] and not _has_mass(body):
            raise body.element.error(
                "mass and inertia of moving bodies must be larger than mjMINVAL; give it a geom or <inertial>"
            )


def _has_mass(body: Body) -> bool:
    stack = [body]
    while stack:
        here = stack.pop()
        inertial = here.record.inertial
        if inertial.mass >= MINVAL and min(inertial.inertia) >= MINVAL:
            return True
        stack.extend(child for child in here.children if not child.held["joint"])
    return False


def fill_bodies(c: Compilation) -> None:
    """Set the body_* arrays that need no dynamics, and the tree's shape."""
    bodies = c.bodies
    records: list[BodyRecord] = [body.record for body in bodies]
    n, a = len(bodies), c.arrays

    def ints(values: list) -> np.ndarray:
        return np.array(values, dtype=np.int32).reshape(n)

    parent = [body.parent.id if body.parent is not None else 0 for body in bodies]
    root, weld = list(range(n)), [0] * n
    for i, body in enumerate(bodies):
        if i and parent[i]:
            root[i] = root[parent[i]]
        weld[i] = i if i and (body.held["joint"] or records[i].mocap) else weld[parent[i]]
    mocaps = np.cumsum([r.mocap for r in records]) - 1
    jntnum, dofnum = [len(b.held["joint"]) for b in bodies], [r.dofnum for r in records]
    geomnum = [len(b.held["geom"]) for b in bodies]
    a["body_parentid"], a["body_rootid"], a["body_weldid"] = ints(parent), ints(root), ints(weld)
    a["body_mocapid"] = ints([int(m) if r.mocap else -1 for m, r in zip(mocaps, records, strict=True)])
    c.sizes["nmocap"] = int(sum(r.mocap for r in records))
    for name, counts in (("jnt", jntnum), ("dof", dofnum), ("geom", geomnum)):
        number = ints(counts)
        start = np.cumsum(number) - number
        a[f"body_{name}num"], a[f"body_{name}adr"] = number, np.where(number > 0, start, -1).astype(np.int32)
    a["body_pos"] = np.array([r.pos for r in records], dtype=np.float64)
    a["body_quat"] = np.array([r.quat for r in records], dtype=np.float64)
    a["body_ipos"] = np.array([r.inertial.pos for r in records], dtype=np.float64)
    a["body_iquat"] = np.array([r.inertial.quat for r in records], dtype=np.float64)
    a["body_mass"] = np.array([r.inertial.mass for r in records], dtype=np.float64)
    a["body_inertia"] = np.array([r.inertial.inertia for r in records], dtype=np.float64)
    a["body_gravcomp"] = np.array([b.element.number("gravcomp", 0.0) for b in bodies], dtype=np.float64)
    a["body_user"] = c.user_data("body", "nuser_body")
    c.sizes["ngravcomp"] = int(np.count_nonzero(a["body_gravcomp"] > 0))
    c.sizes["flg_gravcomp"] = int(c.sizes["ngravcomp"] > 0)
    contype, conaffinity, margin = [], [], []
    for body in bodies:
        geoms: list[CompiledGeom] = [e.record for e in body.held["geom"]]
        contype.append(_or(g.contype for g in geoms))
        conaffinity.append(_or(g.conaffinity for g in geoms))
        margin.append(max((g.margin for g in geoms), default=0.0))
    a["body_contype"], a["body_conaffinity"] = ints(contype), ints(conaffinity)
    a["body_margin"] = np.maximum(np.array(margin, dtype=np.float64), 0.0)
    a["body_sameframe"] = np.array([_same_frame(r.inertial) for r in records], dtype=np.uint8)
    a["body_simple"] = _simple(c, parent, root)
    _fill_dof_tree(c, parent)


def _or(values) -> int:
    total = 0
    for value in values:
        total |= value
    return total


def _same_frame(inertial: Inertial) -> int:
    if not pose.same_rotation(inertial.quat, pose.IDENTITY):
        return 0
    return 1 if pose.same_position(inertial.pos, (0.0, 0.0, 0.0)) else 3


def _simple(c: Compilation, parent: list[int], root: list[int]) -> np.ndarray:
    """Which bodies have a diagonal inertia matrix in their own coordinates: 1, or 2 for sliders alone."""
    bodies = c.bodies
    same, dofnum = c.arrays["body_sameframe"], c.arrays["body_dofnum"]
    simple = np.zeros(len(bodies), dtype=np.uint8)
    for i, body in enumerate(bodies):
        on_ground = root[i] == i or (parent[parent[i]] == 0 and dofnum[parent[i]] == 0)
        allowed = body.is_world or body.element.keyword("simple", {"false": False, "auto": True}, True)
        simple[i] = bool(same[i] == 1 and on_ground and allowed)
        if parent[i] > 0:
            simple[parent[i]] = 0
        rotation = False
        joints: list[CompiledJoint] = body.record.joints
        for joint in joints:
            aligned = sum(abs(x) > pose.EPS for x in joint.axis) == 1
            centred = pose.same_position(joint.pos, (0.0, 0.0, 0.0))
            if rotation or not centred or (joint.kind in (Joint.HINGE, Joint.SLIDE) and not aligned):
                simple[i] = 0
            rotation = rotation or joint.kind in (Joint.BALL, Joint.HINGE)
        if simple[i] and joints:
            simple[i] = 2 if all(joint.kind == Joint.SLIDE for joint in joints) else 1
    return simple


def _fill_dof_tree(c: Compilation, parent: list[int]) -> None:
    """dof_parentid, dof_treeid, body_treeid and the sleep policy each tree asks for."""
    a, bodies = c.arrays, c.bodies
    nv = c.size("nv")
    dof_parent, last = np.full(nv, -1, dtype=np.int32), [-1] * len(bodies)
    dof = 0
    for i, body in enumerate(bodies):
        last[i] = last[parent[i]] if i else -1
        for _ in range(body.record.dofnum):
            dof_parent[dof] = last[i]
            last[i] = dof
            dof += 1
    a["dof_parentid"] = dof_parent
    a["dof_treeid"] = (np.cumsum(dof_parent == -1) - 1).astype(np.int32)
    c.sizes["ntree"] = int(np.count_nonzero(dof_parent == -1))
    weld_dof = a["body_dofadr"][a["body_weldid"]]
    treeid = np.full(len(bodies), -1, dtype=np.int32)
    moving = weld_dof >= 0
    treeid[moving] = a["dof_treeid"][weld_dof[moving]]
    a["body_treeid"] = treeid
    policy = np.zeros(c.sizes["ntree"], dtype=np.int32)
    for i, body in enumerate(bodies[1:], start=1):
        wanted = body.element.keyword("sleep", SLEEP, 0)
        if wanted:
            if treeid[i] == -1 or treeid[i] == treeid[i - 1]:
                raise body.element.error("a sleep policy is only allowed for movable root bodies", "sleep")
            policy[treeid[i]] = wanted
    a["tree_sleep_policy"] = policy
