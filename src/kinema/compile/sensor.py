"""<sensor>: what each type measures, on which object, at which stage, and how many numbers it gives.

One table says it all for most types: code, MJCF attribute and kind of the measured object, datatype, stage, dimension.
The others (rangefinder, contact, distances, user, plugin, tactile) have a reader of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from kinema.compile.constants.enums import DataType, Joint, Obj, Stage
from kinema.compile.context import Compilation
from kinema.compile.custom import OBJECTS
from kinema.compile.element import Element
from kinema.errors import did_you_mean

MAX_SAMPLES = 2**24
HFIELD = 1

REAL, POSITIVE, AXIS, QUATERNION = DataType
POS, VEL, ACC = Stage.POS, Stage.VEL, Stage.ACC

# tag: (code, attribute naming the object, datatype, stage, dimension)
SIMPLE: dict[str, tuple[int, str, int, int, int]] = {
    "touch": (0, "site", POSITIVE, ACC, 1), "accelerometer": (1, "site", REAL, ACC, 3),
    "velocimeter": (2, "site", REAL, VEL, 3), "gyro": (3, "site", REAL, VEL, 3),
    "force": (4, "site", REAL, ACC, 3), "torque": (5, "site", REAL, ACC, 3),
    "magnetometer": (6, "site", REAL, POS, 3),
    "jointpos": (9, "joint", REAL, POS, 1), "jointvel": (10, "joint", REAL, VEL, 1),
    "tendonpos": (11, "tendon", REAL, POS, 1), "tendonvel": (12, "tendon", REAL, VEL, 1),
    "actuatorpos": (13, "actuator", REAL, POS, 1), "actuatorvel": (14, "actuator", REAL, VEL, 1),
    "actuatorfrc": (15, "actuator", REAL, ACC, 1), "jointactuatorfrc": (16, "joint", REAL, ACC, 1),
    "tendonactuatorfrc": (17, "tendon", REAL, ACC, 1),
    "ballquat": (18, "joint", QUATERNION, POS, 4), "ballangvel": (19, "joint", REAL, VEL, 3),
    "jointlimitpos": (20, "joint", REAL, POS, 1), "jointlimitvel": (21, "joint", REAL, VEL, 1),
    "jointlimitfrc": (22, "joint", REAL, ACC, 1), "tendonlimitpos": (23, "tendon", REAL, POS, 1),
    "tendonlimitvel": (24, "tendon", REAL, VEL, 1), "tendonlimitfrc": (25, "tendon", REAL, ACC, 1),
    "subtreecom": (35, "body", REAL, POS, 3), "subtreelinvel": (36, "body", REAL, VEL, 3),
    "subtreeangmom": (37, "body", REAL, VEL, 3),
    "e_potential": (43, "", REAL, POS, 1), "e_kinetic": (44, "", REAL, POS, 1), "clock": (45, "", REAL, POS, 1),
}  # fmt: skip
FRAME: dict[str, tuple[int, int, int, int]] = {
    "framepos": (26, REAL, POS, 3), "framequat": (27, QUATERNION, POS, 4), "framexaxis": (28, AXIS, POS, 3),
    "frameyaxis": (29, AXIS, POS, 3), "framezaxis": (30, AXIS, POS, 3), "framelinvel": (31, REAL, VEL, 3),
    "frameangvel": (32, REAL, VEL, 3), "framelinacc": (33, REAL, ACC, 3), "frameangacc": (34, REAL, ACC, 3),
}  # fmt: skip
FRAME_OBJECTS = {"body": "body", "xbody": "body", "geom": "geom", "site": "site", "camera": "camera"}
DISTANCE = {"distance": (39, REAL, 1), "normal": (40, AXIS, 3), "fromto": (41, REAL, 6)}
RAY_FIELDS = {"dist": 1, "dir": 3, "origin": 3, "point": 3, "normal": 3, "depth": 1}
CONTACT_FIELDS = {
    "found": 1, "force": 3, "torque": 3, "dist": 1, "pos": 3, "normal": 3, "tangent": 3, "linvel": 3, "angvel": 3,
}  # fmt: skip
CONTACT_STAGES = {"force": ACC, "torque": ACC, "linvel": VEL, "angvel": VEL}
REDUCE = {"none": 0, "mindist": 1, "maxforce": 2, "netforce": 3}
DATATYPES = {t.name.lower(): int(t) for t in DataType}
STAGES = {s.name.lower(): int(s) for s in Stage}
INTERPOLATION = {"zoh": 0, "linear": 1, "cubic": 2}


@dataclass
class Row:
    """One sensor, resolved."""

    type: int
    datatype: int = REAL
    needstage: int = POS
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
    is_direction = row.datatype == QUATERNION or (row.datatype == AXIS and e.tag != "normal")
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
    return Row(8, REAL, POS, 2, Obj.SITE, site, Obj.CAMERA, _camera(c, e))


def _rangefinder(c: Compilation, e: Element) -> Row:
    if e.given("site") == e.given("camera"):
        raise e.error("rangefinder needs either a site or a camera")
    words = _fields(e, RAY_FIELDS, ("dist",))
    width = sum(RAY_FIELDS[word] for word in words)
    row = Row(7, REAL, POS, width, intprm=[_bits(words, RAY_FIELDS), 0, 0])
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
    if reduce == REDUCE["netforce"] and {"linvel", "angvel"} & set(words):
        raise e.error("netforce reduction is incompatible with linvel and angvel", "data")
    row = Row(42, REAL, POS, number * sum(CONTACT_FIELDS[w] for w in words))
    row.intprm = [_bits(words, CONTACT_FIELDS), reduce, number]
    row.needstage = max((CONTACT_STAGES.get(word, POS) for word in words), default=POS)
    if reduce >= REDUCE["maxforce"]:
        row.needstage = ACC
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
    row = Row(38, POSITIVE, POS, 1, reftype=Obj.SITE, refid=c.reference(e, "site", required=True))
    row.objtype, row.objid = _object(c, e, "obj", FRAME_OBJECTS)
    if e.flag("enclosed", False):
        row.datatype, row.intprm[0] = REAL, 1  # how far the object juts out, or how clear it is
    return row


def _distance(c: Compilation, e: Element) -> Row:
    code, datatype, dim = DISTANCE[e.tag]
    ends = []
    for number in "12":
        attributes = (f"geom{number}", f"body{number}")
        kind, obj = _criterion(c, e, attributes)
        if obj < 0:
            raise e.error(f"one of {', '.join(attributes)} must be specified")
        if kind == Obj.GEOM and c.arrays["geom_type"][obj] == HFIELD:
            raise e.error("height fields are not supported in geom distance sensors")
        ends.append((kind, obj))
    if ends[0] == ends[1]:
        raise e.error("the two bodies or geoms must be different")
    return Row(code, datatype, POS, dim, *ends[0], *ends[1])


def _tactile(c: Compilation, e: Element) -> Row:
    mesh, geom = c.reference(e, "mesh", required=True), c.reference(e, "geom", required=True)
    vertices = int(c.arrays["mesh_vertnum"][mesh])
    return Row(46, REAL, VEL, 3 * vertices, Obj.MESH, mesh, Obj.GEOM, geom)


def _user(c: Compilation, e: Element) -> Row:
    e.required("dim")
    row = Row(48, dim=e.integer("dim"))
    row.datatype = e.keyword("datatype", DATATYPES, REAL)
    row.needstage = e.keyword("needstage", STAGES, ACC)
    if e.given("objtype") or e.given("objname"):
        row.objtype, row.objid = _object(c, e, "obj", OBJECTS)
    if row.dim < 0:
        raise e.error("sensor dim must be non-negative", "dim")
    if row.datatype == AXIS and row.dim != 3:
        raise e.error("datatype axis requires dim 3", "dim")
    if row.datatype == QUATERNION and row.dim != 4:
        raise e.error("datatype quaternion requires dim 4", "dim")
    return row


def _plugin(c: Compilation, e: Element, index: int) -> Row:
    instance = c.scratch["plugin_instances"][int(c.arrays["sensor_plugin"][index])]
    row = Row(47, needstage=int(instance.info.stage), dim=instance.info.outputs(instance.config))
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
