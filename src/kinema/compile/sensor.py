"""<sensor>: what each type measures, on which object, at which stage, and how many numbers it gives.

One table says it all for most types: code, MJCF attribute and kind of the measured object, datatype, stage, dimension.
The others (rangefinder, contact, distances, user, plugin, tactile) have a reader of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from kinema.compile.context import Compilation
from kinema.compile.custom import OBJECTS
from kinema.compile.element import Element
from kinema.errors import did_you_mean
from kinema.mujoco_enums import ContactReduce, DataType, Geom, Interpolation, Joint, Obj, Stage, words
from kinema.mujoco_enums import Sensor as S

MAX_SAMPLES = 2**24


REAL, POSITIVE, AXIS, QUATERNION = DataType
_, POS, VEL, ACC = Stage

# tag: (code, attribute naming the object, datatype, stage, dimension)
SIMPLE: dict[str, tuple[S, str, DataType, Stage, int]] = {
    "touch": (S.TOUCH, "site", POSITIVE, ACC, 1),
    "accelerometer": (S.ACCELEROMETER, "site", REAL, ACC, 3),
    "velocimeter": (S.VELOCIMETER, "site", REAL, VEL, 3),
    "gyro": (S.GYRO, "site", REAL, VEL, 3),
    "force": (S.FORCE, "site", REAL, ACC, 3),
    "torque": (S.TORQUE, "site", REAL, ACC, 3),
    "magnetometer": (S.MAGNETOMETER, "site", REAL, POS, 3),
    "jointpos": (S.JOINTPOS, "joint", REAL, POS, 1),
    "jointvel": (S.JOINTVEL, "joint", REAL, VEL, 1),
    "tendonpos": (S.TENDONPOS, "tendon", REAL, POS, 1),
    "tendonvel": (S.TENDONVEL, "tendon", REAL, VEL, 1),
    "actuatorpos": (S.ACTUATORPOS, "actuator", REAL, POS, 1),
    "actuatorvel": (S.ACTUATORVEL, "actuator", REAL, VEL, 1),
    "actuatorfrc": (S.ACTUATORFRC, "actuator", REAL, ACC, 1),
    "jointactuatorfrc": (S.JOINTACTFRC, "joint", REAL, ACC, 1),
    "tendonactuatorfrc": (S.TENDONACTFRC, "tendon", REAL, ACC, 1),
    "ballquat": (S.BALLQUAT, "joint", QUATERNION, POS, 4),
    "ballangvel": (S.BALLANGVEL, "joint", REAL, VEL, 3),
    "jointlimitpos": (S.JOINTLIMITPOS, "joint", REAL, POS, 1),
    "jointlimitvel": (S.JOINTLIMITVEL, "joint", REAL, VEL, 1),
    "jointlimitfrc": (S.JOINTLIMITFRC, "joint", REAL, ACC, 1),
    "tendonlimitpos": (S.TENDONLIMITPOS, "tendon", REAL, POS, 1),
    "tendonlimitvel": (S.TENDONLIMITVEL, "tendon", REAL, VEL, 1),
    "tendonlimitfrc": (S.TENDONLIMITFRC, "tendon", REAL, ACC, 1),
    "subtreecom": (S.SUBTREECOM, "body", REAL, POS, 3),
    "subtreelinvel": (S.SUBTREELINVEL, "body", REAL, VEL, 3),
    "subtreeangmom": (S.SUBTREEANGMOM, "body", REAL, VEL, 3),
    "e_potential": (S.E_POTENTIAL, "", REAL, POS, 1),
    "e_kinetic": (S.E_KINETIC, "", REAL, POS, 1),
    "clock": (S.CLOCK, "", REAL, POS, 1),
}
FRAME: dict[str, tuple[S, DataType, Stage, int]] = {
    "framepos": (S.FRAMEPOS, REAL, POS, 3),
    "framequat": (S.FRAMEQUAT, QUATERNION, POS, 4),
    "framexaxis": (S.FRAMEXAXIS, AXIS, POS, 3),
    "frameyaxis": (S.FRAMEYAXIS, AXIS, POS, 3),
    "framezaxis": (S.FRAMEZAXIS, AXIS, POS, 3),
    "framelinvel": (S.FRAMELINVEL, REAL, VEL, 3),
    "frameangvel": (S.FRAMEANGVEL, REAL, VEL, 3),
    "framelinacc": (S.FRAMELINACC, REAL, ACC, 3),
    "frameangacc": (S.FRAMEANGACC, REAL, ACC, 3),
}
FRAME_OBJECTS = {"body": "body", "xbody": "body", "geom": "geom", "site": "site", "camera": "camera"}
DISTANCE = {"distance": (S.GEOMDIST, REAL, 1), "normal": (S.GEOMNORMAL, AXIS, 3), "fromto": (S.GEOMFROMTO, REAL, 6)}
RAY_FIELDS = {"dist": 1, "dir": 3, "origin": 3, "point": 3, "normal": 3, "depth": 1}
CONTACT_FIELDS = {
    "found": 1, "force": 3, "torque": 3, "dist": 1, "pos": 3, "normal": 3, "tangent": 3, "linvel": 3, "angvel": 3,
}  # fmt: skip
CONTACT_STAGES = {"force": Stage.ACC, "torque": Stage.ACC, "linvel": Stage.VEL, "angvel": Stage.VEL}
REDUCE = words(ContactReduce)
DATATYPES = words(DataType)
STAGES = words(Stage)
INTERPOLATION = words(Interpolation)


@dataclass
class Row:
    """One sensor, resolved."""

    type: int
    datatype: int = DataType.REAL
    needstage: int = Stage.POS
    dim: int = 1
    objtype: int = Obj.UNKNOWN
    objid: int = -1
    reftype: int = Obj.UNKNOWN
    refid: int = -1
    intprm: list[int] = field(default_factory=lambda: [0, 0, 0])


def compile_sensor(c: Compilation) -> None:
    """Fill the sensor arrays."""
    sensors = c.elements["sensor"]
    rows = []
    for index, e in enumerate(sensors):
        reader = _READERS.get(e.tag)
        if reader is None:
            raise e.error(f"unknown sensor {e.tag!r}{did_you_mean(e.tag, _READERS)}")
        row = reader(c, e) if e.tag != "plugin" else _plugin(c, e, index)
        _check(e, row)
        rows.append(row)
    a = c.arrays
    for name in ("type", "datatype", "needstage", "objtype", "objid", "reftype", "refid", "dim"):
        a[f"sensor_{name}"] = np.array([getattr(row, name) for row in rows], dtype=np.int32)
    a["sensor_intprm"] = np.array([row.intprm for row in rows], dtype=np.int32).reshape(-1, 3)
    a["sensor_adr"] = (np.cumsum(a["sensor_dim"]) - a["sensor_dim"]).astype(np.int32)
    for name in ("cutoff", "noise", "delay"):
        a[f"sensor_{name}"] = np.array([e.number(name, 0.0) for e in sensors], dtype=np.float64)
    a["sensor_interval"] = np.array([_interval(e) for e in sensors], dtype=np.float64).reshape(-1, 2)
    a["sensor_user"] = c.user_data("sensor", "nuser_sensor")
    if "sensor_plugin" not in a:
        a["sensor_plugin"] = np.full(len(sensors), -1, dtype=np.int32)
    c.sizes["nsensordata"] = int(a["sensor_dim"].sum())
    _history(c, sensors, rows)


def _history(c: Compilation, sensors: list[Element], rows: list[Row]) -> None:
    """Ring buffers of past values, after those of the actuators: [user, cursor, times (n), values (n × dim)]."""
    address, adr, pairs = int(c.sizes.get("nhistory", 0)), [], []
    for e, row in zip(sensors, rows, strict=True):
        samples = e.integer("nsample", 0)
        pairs.append((samples, e.keyword("interp", INTERPOLATION, 0)))
        adr.append(address if samples > 0 else -1)
        address += 2 + samples * (1 + row.dim) if samples > 0 else 0
    c.arrays["sensor_history"] = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    c.arrays["sensor_historyadr"] = np.array(adr, dtype=np.int32)
    c.sizes["nhistory"] = address


def _interval(e: Element) -> np.ndarray:
    return e.vector("interval", (0.0, 0.0), at_most=2)


def _check(e: Element, row: Row) -> None:
    for name in ("noise", "cutoff"):
        if e.number(name, 0.0) < 0:
            raise e.error(f"negative {name} in sensor", name)
    period, phase = _interval(e)
    if period < 0 or phase > 0 or (period > 0 and phase <= -period):
        raise e.error("interval is a period ≥ 0 and a phase in (-period, 0]", "interval")
    samples = e.integer("nsample", 0)
    if e.number("delay", 0.0) > 0 and samples <= 0:
        raise e.error("delay needs a history buffer: set nsample", "delay")
    if samples > MAX_SAMPLES:
        raise e.error("at most 2^24 samples in a history buffer", "nsample")
    is_direction = row.datatype == DataType.QUATERNION or (row.datatype == DataType.AXIS and e.tag != "normal")
    if e.number("cutoff", 0.0) > 0 and is_direction:
        raise e.error("cutoff cannot be applied to axes and quaternions", "cutoff")


# ---- readers


def _simple(c: Compilation, e: Element) -> Row:
    code, kind, datatype, stage, dim = SIMPLE[e.tag]
    row = Row(code, datatype, stage, dim)
    if not kind:
        return row
    row.objtype, row.objid = Obj[kind.upper()], c.reference(e, kind, required=True)
    a = c.arrays
    if e.tag in ("jointpos", "jointvel", "jointactuatorfrc") and a["jnt_type"][row.objid] < Joint.SLIDE:
        raise e.error("joint must be slide or hinge in this sensor", "joint")
    if e.tag in ("ballquat", "ballangvel") and a["jnt_type"][row.objid] != Joint.BALL:
        raise e.error("joint must be ball in this sensor", "joint")
    if e.tag.startswith("jointlimit") and not a["jnt_limited"][row.objid]:
        raise e.error("joint must be limited in this sensor", "joint")
    if e.tag.startswith("tendonlimit") and not a["tendon_limited"][row.objid]:
        raise e.error("tendon must be limited in this sensor", "tendon")
    if kind == "actuator":
        row.dim = int(a["actuator_outnum"][row.objid])
    return row


def _frame(c: Compilation, e: Element) -> Row:
    code, datatype, stage, dim = FRAME[e.tag]
    row = Row(code, datatype, stage, dim)
    row.objtype, row.objid = _object(c, e, "obj", FRAME_OBJECTS)
    if e.given("reftype") or e.given("refname"):
        row.reftype, row.refid = _object(c, e, "ref", FRAME_OBJECTS)
    return row


def _object(c: Compilation, e: Element, which: str, allowed: dict[str, str]) -> tuple[int, int]:
    """Type and id from objtype and objname (or reftype and refname), which come together."""
    word = e.required(f"{which}type")
    if word not in allowed:
        raise e.error(f"{which}type {word!r} is not one of {', '.join(allowed)}{did_you_mean(word, allowed)}")
    return Obj[word.upper()], c.reference(e, f"{which}name", allowed[word], required=True)


def _camera(c: Compilation, e: Element) -> int:
    """A camera that measures, which needs pixels."""
    camera = c.reference(e, "camera", required=True)
    if min(c.arrays["cam_resolution"][camera]) <= 0:
        raise e.error("this sensor needs a camera with a positive resolution", "camera")
    return camera


def _camprojection(c: Compilation, e: Element) -> Row:
    site = c.reference(e, "site", required=True)
    return Row(S.CAMPROJECTION, DataType.REAL, Stage.POS, 2, Obj.SITE, site, Obj.CAMERA, _camera(c, e))


def _rangefinder(c: Compilation, e: Element) -> Row:
    if e.given("site") == e.given("camera"):
        raise e.error("rangefinder needs either a site or a camera")
    words = _fields(e, RAY_FIELDS, ("dist",))
    width = sum(RAY_FIELDS[word] for word in words)
    row = Row(S.RANGEFINDER, DataType.REAL, Stage.POS, width, intprm=[_bits(words, RAY_FIELDS), 0, 0])
    if e.given("site"):
        row.objtype, row.objid = Obj.SITE, c.reference(e, "site", required=True)
    else:
        row.objtype, row.objid = Obj.CAMERA, _camera(c, e)
        row.dim *= int(np.prod(c.arrays["cam_resolution"][row.objid]))
    return row


def _fields(e: Element, table: dict[str, int], default: tuple[str, ...]) -> tuple[str, ...]:
    """The words of `data`, which must come in the table's order."""
    words = tuple(e.text("data", "").split()) or default
    for word in words:
        if word not in table:
            raise e.error(f"unknown data {word!r}{did_you_mean(word, table)}", "data")
    places = [list(table).index(word) for word in words]
    if places != sorted(set(places)):
        raise e.error(f"data must be in order: {', '.join(table)}", "data")
    return words


def _bits(words: tuple[str, ...], table: dict[str, int]) -> int:
    return sum(1 << list(table).index(word) for word in words)


def _contact(c: Compilation, e: Element) -> Row:
    words = _fields(e, CONTACT_FIELDS, ("found",))
    reduce, number = e.keyword("reduce", REDUCE, 0), e.integer("num", 1)
    if number <= 0:
        raise e.error("num must be positive", "num")
    if reduce == ContactReduce.NETFORCE and {"linvel", "angvel"} & set(words):
        raise e.error("netforce reduction is incompatible with linvel and angvel", "data")
    row = Row(S.CONTACT, DataType.REAL, Stage.POS, number * sum(CONTACT_FIELDS[w] for w in words))
    row.intprm = [_bits(words, CONTACT_FIELDS), reduce, number]
    row.needstage = max((CONTACT_STAGES.get(word, Stage.POS) for word in words), default=Stage.POS)
    if reduce >= ContactReduce.MAXFORCE:
        row.needstage = Stage.ACC
    row.objtype, row.objid = _criterion(c, e, ("geom1", "body1", "subtree1", "site"))
    row.reftype, row.refid = _criterion(c, e, ("geom2", "body2", "subtree2"))
    return row


def _criterion(c: Compilation, e: Element, attributes: tuple[str, ...]) -> tuple[int, int]:
    given = [name for name in attributes if e.given(name)]
    if len(given) > 1:
        raise e.error(f"at most one of {', '.join(attributes)} can be specified")
    if not given:
        return Obj.UNKNOWN, -1
    word = given[0].rstrip("12")
    kind = "body" if word == "subtree" else word
    code = Obj.XBODY if word == "subtree" else Obj[word.upper()]
    return code, c.reference(e, given[0], kind, required=True)


def _insidesite(c: Compilation, e: Element) -> Row:
    site = c.reference(e, "site", required=True)
    row = Row(S.INSIDESITE, DataType.POSITIVE, Stage.POS, 1, reftype=Obj.SITE, refid=site)
    row.objtype, row.objid = _object(c, e, "obj", FRAME_OBJECTS)
    if e.flag("enclosed", False):
        _check_enclosed(c, e, row)
        row.datatype, row.intprm[0] = DataType.REAL, 1  # how far the object juts out, or how clear it is
    return row


def _check_enclosed(c: Compilation, e: Element, row: Row) -> None:
    """What juts out of a site must have an extent, and a convex one."""
    if row.objtype == Obj.CAMERA:
        raise e.error("objtype=\"camera\" has no extent that a site could enclose: use body, xbody, geom or site")
    owner, parent = c.arrays["geom_bodyid"], c.arrays["body_parentid"]
    bodies = {row.objid}
    if row.objtype == Obj.XBODY:
        for body in range(row.objid + 1, len(parent)):
            bodies |= {body} if int(parent[body]) in bodies else set()
    geoms = [row.objid] if row.objtype == Obj.GEOM else []
    if row.objtype in (Obj.BODY, Obj.XBODY):
        geoms = [g for g, body in enumerate(owner) if int(body) in bodies]
        if not geoms:
            raise e.error(f"body {e.text('objname')!r} has no geom that a site could enclose")
    for g in geoms:
        if int(c.arrays["geom_type"][g]) in (Geom.PLANE, Geom.HFIELD, Geom.SDF):
            raise e.error(f"geom {g} is no compact convex shape, which enclosed=\"true\" asks for")


def _distance(c: Compilation, e: Element) -> Row:
    code, datatype, dim = DISTANCE[e.tag]
    ends = []
    for number in "12":
        attributes = (f"geom{number}", f"body{number}")
        kind, obj = _criterion(c, e, attributes)
        if obj < 0:
            raise e.error(f"one of {', '.join(attributes)} must be specified")
        if kind == Obj.GEOM and c.arrays["geom_type"][obj] == Geom.HFIELD:
            raise e.error("height fields are not supported in geom distance sensors")
        ends.append((kind, obj))
    if ends[0] == ends[1]:
        raise e.error("the two bodies or geoms must be different")
    return Row(code, datatype, Stage.POS, dim, *ends[0], *ends[1])


def _tactile(c: Compilation, e: Element) -> Row:
    mesh, geom = c.reference(e, "mesh", required=True), c.reference(e, "geom", required=True)
    vertices = int(c.arrays["mesh_vertnum"][mesh])
    return Row(S.TACTILE, DataType.REAL, Stage.VEL, 3 * vertices, Obj.MESH, mesh, Obj.GEOM, geom)


def _user(c: Compilation, e: Element) -> Row:
    e.required("dim")
    row = Row(S.USER, dim=e.integer("dim"))
    row.datatype = e.keyword("datatype", DATATYPES, DataType.REAL)
    row.needstage = e.keyword("needstage", STAGES, Stage.ACC)
    if e.given("objtype") or e.given("objname"):
        row.objtype, row.objid = _object(c, e, "obj", OBJECTS)
    if row.dim < 0:
        raise e.error("sensor dim must be non-negative", "dim")
    if row.datatype == DataType.AXIS and row.dim != 3:
        raise e.error("datatype axis requires dim 3", "dim")
    if row.datatype == DataType.QUATERNION and row.dim != 4:
        raise e.error("datatype quaternion requires dim 4", "dim")
    return row


def _plugin(c: Compilation, e: Element, index: int) -> Row:
    instance = c.scratch["plugin_instances"][int(c.arrays["sensor_plugin"][index])]
    row = Row(S.PLUGIN, needstage=int(instance.info.stage), dim=instance.info.outputs(instance.config))
    if e.given("objtype") or e.given("objname"):
        row.objtype, row.objid = _object(c, e, "obj", OBJECTS)
    if e.given("reftype") or e.given("refname"):
        row.reftype, row.refid = _object(c, e, "ref", FRAME_OBJECTS)
    return row


_READERS: dict[str, Callable[[Compilation, Element], Row]] = {
    **dict.fromkeys(SIMPLE, _simple), **dict.fromkeys(FRAME, _frame), **dict.fromkeys(DISTANCE, _distance),
    "camprojection": _camprojection, "rangefinder": _rangefinder, "contact": _contact, "insidesite": _insidesite,
    "tactile": _tactile, "user": _user, "plugin": _simple,
}  # fmt: skip
