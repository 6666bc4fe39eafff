"""Geoms: shape, pose, mass, bounds and contact parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinema.compile import pose
from kinema.compile.context import Compilation
from kinema.compile.element import Element
from kinema.compile.fluid import fluid_coefficients
from kinema.compile.frames import apply_frame
from kinema.compile.inertia import Inertial, box_inertia, shape_inertia, shape_volume
from kinema.compile.orientation import read_orientation
from kinema.mujoco_enums import Geom

SIZE_COUNT: dict[int, int] = {
    Geom.PLANE: 3, Geom.HFIELD: 0, Geom.SPHERE: 1, Geom.CAPSULE: 2, Geom.ELLIPSOID: 3, Geom.CYLINDER: 2, Geom.BOX: 3,
    Geom.MESH: 0, Geom.SDF: 0,
}  # fmt: skip
GEOM_TYPES = {Geom(kind).name.lower(): kind for kind in map(int, SIZE_COUNT)}
FROMTO_TYPES = (Geom.CAPSULE, Geom.CYLINDER, Geom.ELLIPSOID, Geom.BOX)
SOLREF, SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)
FAR = 1e10
"""Half extent of an infinite plane."""


@dataclass(slots=True)
class CompiledGeom:
    """A compiled geom: what later stages change or read before the arrays are filled."""

    kind: int
    size: list[float]
    pos: list[float]
    quat: list[float]
    contype: int
    conaffinity: int
    margin: float
    group: int
    mesh: int = -1
    hfield: int = -1
    asset: Element | None = None
    """The mesh asset it names, also when it is only fitted to it."""
    inertial: Inertial = field(default_factory=Inertial)
    aabb: list[float] = field(default_factory=lambda: [0.0] * 6)
    rbound: float = 0.0
    surfacevel: list[float] = field(default_factory=lambda: [0.0] * 6)
    fluid: list[float] = field(default_factory=lambda: [0.0] * 12)

    @property
    def is_visual(self) -> bool:
        return not self.contype and not self.conaffinity


def compile_geom(c: Compilation, e: Element, infer_inertia: bool) -> CompiledGeom:
    """One geom, in its body's coordinates; its mass only when asked for."""
    kind = e.keyword("type", GEOM_TYPES, Geom.SPHERE)
    condim = e.integer("condim", 3)
    if condim not in (1, 3, 4, 6):
        raise e.error("condim must be 1, 3, 4 or 6", "condim")
    size = e.vector("size", (0, 0, 0), at_most=3).tolist()
    g = CompiledGeom(
        kind, size, [0.0] * 3, list(pose.IDENTITY), e.integer("contype", 1), e.integer("conaffinity", 1),
        e.number("margin", 0.0) + e.number("gap", 0.0), e.integer("group", 0),
    )  # fmt: skip
    g.mesh = c.reference(e, "mesh")
    g.hfield = c.reference(e, "hfield")
    if kind in (Geom.MESH, Geom.SDF) and g.mesh < 0:
        raise e.error("a mesh geom needs 'mesh', the name of a mesh asset")
    if (kind == Geom.HFIELD) != (g.hfield >= 0):
        raise e.error("a height field geom needs 'hfield', and no other geom may have it")
    if kind == Geom.PLANE and not _is_static(e):
        raise e.error("a plane is only allowed in static bodies")
    g.pos, g.quat, g.size = read_pose(e, kind, size)
    g.surfacevel = e.vector("surfacevel", (0.0,) * 6, at_most=6).tolist()
    mesh = None
    if g.mesh >= 0:
        mesh, g.asset = c.scratch["meshes"][g.mesh], c.elements["mesh"][g.mesh]
        _take_mesh_frame(e, g, mesh)
        if g.kind not in (Geom.MESH, Geom.SDF):
            g.mesh, mesh = -1, None
    check_size(e, g.kind, g.size)
    hfield_size = c.scratch["hfields"][g.hfield] if g.kind == Geom.HFIELD else None
    _set_bounds(g, mesh, hfield_size)
    if any(math.isnan(s) for s in g.size):
        raise e.error("nan size in geom", "size")
    if infer_inertia:
        g.inertial = _inertial(e, g, mesh)
    if e.keyword("fluidshape", {"none": False, "ellipsoid": True}, False):
        g.fluid = fluid_coefficients(g.kind, g.size, e.vector("fluidcoef", (0.5, 0.25, 1.5, 1, 1), at_most=5).tolist())
    g.pos, g.quat = apply_frame(e.frame, g.pos, g.quat)
    return g


def _is_static(e: Element) -> bool:
    """Whether the geom's body cannot move: no joints up to the world, or fixed to a mocap body."""
    body = e.body
    while body is not None:
        if body.element.text("mocap", "false") == "true" and not body.is_world:
            return True
        if body.held["joint"]:
            return False
        body = body.parent
    return True


def read_pose(e: Element, kind: int, size: list[float]) -> tuple[list[float], list[float], list[float]]:
    """Position, orientation and size of a geom or site, by its own attributes or by fromto."""
    pos = e.vector("pos", (0, 0, 0), length=3).tolist()
    fromto = e.vector("fromto", length=6)
    if fromto is None:
        return pos, read_orientation(e), size
    if kind not in FROMTO_TYPES:
        raise e.error("fromto requires a capsule, cylinder, box or ellipsoid", "fromto")
    if any(pos):
        raise e.error("both pos and fromto are defined", "fromto")
    start, end = fromto[:3].tolist(), fromto[3:].tolist()
    direction, length = pose.normalize([a - b for a, b in zip(start, end, strict=True)])
    if length / 2 < pose.EPS:
        raise e.error("fromto points are too close", "fromto")
    along = length / 2
    size = [size[0], size[0], along] if kind in (Geom.ELLIPSOID, Geom.BOX) else [size[0], along, size[2]]
    middle = [(a + b) / 2 for a, b in zip(start, end, strict=True)]
    return middle, pose.z_to(direction), size


def check_size(e: Element, kind: int, size: list[float]) -> None:
    if kind == Geom.PLANE:
        if size[2] <= 0:
            raise e.error("the third size of a plane must be positive", "size")
        return
    for index in range(SIZE_COUNT[kind]):
        if size[index] <= 0:
            raise e.error(f"size {index} must be positive in {e.tag}", "size")


def _take_mesh_frame(e: Element, g: CompiledGeom, mesh: Any) -> None:
    """Move the geom to its mesh's inertial frame; fit a primitive to the mesh if the geom is one."""
    if e.given("fromto"):
        raise e.error("fromto cannot be used with a mesh", "fromto")
    center = [0.0, 0.0, 0.0]
    if g.kind not in (Geom.MESH, Geom.SDF):
        fitted, center = mesh.fit(g.kind, e.number("fitscale", 1.0), e.settings.fitaabb)
        used = SIZE_COUNT[g.kind]
        g.size = fitted[:used] + g.size[used:]  # numbers that the type has no use for stay as they were given
    elif e.flag("shellinertia", False):
        raise e.error("for mesh geoms, inertia is specified in the mesh asset", "shellinertia")
    turned = pose.rotate(mesh.quat, center)
    offset = [a + b for a, b in zip(turned, mesh.pos, strict=True)]
    g.pos, g.quat = pose.compose(g.pos, g.quat, offset, mesh.quat)
    if any(g.surfacevel):
        linear, angular = g.surfacevel[:3], g.surfacevel[3:]
        linear = [a + b for a, b in zip(linear, pose.cross(angular, offset), strict=True)]
        back = pose.conjugate(mesh.quat)
        g.surfacevel = pose.rotate(back, linear) + pose.rotate(back, angular)


def _set_bounds(g: CompiledGeom, mesh: Any, hfield: Any) -> None:
    """Size of meshes and height fields, axis-aligned box (centre, half size) and bounding radius."""
    kind, size = g.kind, g.size
    low = high = None
    if kind == Geom.HFIELD:
        x, y, top, bottom = (float(v) for v in hfield)
        g.size = [x, y, 0.25 * top + 0.5 * bottom]
        low, high = [-x, -y, -bottom], [x, y, top]
        g.rbound = math.sqrt(x * x + y * y + max(top * top, bottom * bottom))
    elif kind in (Geom.MESH, Geom.SDF):
        low, high = [float(v) for v in mesh.aamm[:3]], [float(v) for v in mesh.aamm[3:]]
        g.size = [max(abs(a), abs(b)) for a, b in zip(low, high, strict=True)]
        g.rbound = math.sqrt(sum(s * s for s in g.size))
    elif kind == Geom.PLANE:
        low, high = [-FAR] * 3, [FAR, FAR, 0.0]
    elif kind == Geom.SPHERE:
        high, g.rbound = [size[0]] * 3, size[0]
    elif kind == Geom.CAPSULE:
        high, g.rbound = [size[0], size[0], size[0] + size[1]], size[0] + size[1]
    elif kind == Geom.CYLINDER:
        high, g.rbound = [size[0], size[0], size[1]], math.sqrt(size[0] * size[0] + size[1] * size[1])
    else:
        high = list(size)
        g.rbound = max(size) if kind == Geom.ELLIPSOID else math.sqrt(sum(s * s for s in size))
    low = [-h for h in high] if low is None else low
    g.aabb = [(a + b) / 2 for a, b in zip(low, high, strict=True)] + [
        (b - a) / 2 for a, b in zip(low, high, strict=True)
    ]


def _inertial(e: Element, g: CompiledGeom, mesh: Any) -> Inertial:
    shell = e.flag("shellinertia", False)
    density = e.number("density", 1000.0)
    mass = e.number("mass", None)
    volume = mesh.volume if mesh is not None else shape_volume(g.kind, g.size, shell)
    total = 0.0
    if mass is None:
        total = density * volume
    elif mass and volume > pose.EPS:
        total = mass
    moments = [0.0, 0.0, 0.0]
    if total:
        moments = (
            box_inertia(mesh.inertia_box, total) if mesh is not None else shape_inertia(g.kind, g.size, total, shell)
        )
    if total < 0 or min(moments) < 0 or density < 0:
        raise e.error("mass, inertia or density is negative in geom")
    return Inertial(total, [0.0] * 3, list(pose.IDENTITY), moments)


def fill_geoms(c: Compilation) -> None:
    """Set every geom_* array."""
    elements = c.elements["geom"]
    records: list[CompiledGeom] = [e.record for e in elements]
    n = len(elements)
    a = c.arrays

    def floats(values: list, width: int) -> np.ndarray:
        return np.array(values, dtype=np.float64).reshape(n, width)

    def ints(values: list) -> np.ndarray:
        return np.array(values, dtype=np.int32).reshape(n)

    a["geom_type"] = ints([g.kind for g in records])
    a["geom_contype"] = ints([g.contype for g in records])
    a["geom_conaffinity"] = ints([g.conaffinity for g in records])
    a["geom_condim"] = ints([e.integer("condim", 3) for e in elements])
    a["geom_bodyid"] = ints([e.body.id for e in elements])
    a["geom_dataid"] = ints([g.mesh if g.mesh >= 0 else g.hfield for g in records])
    a["geom_matid"] = ints([material_of(c, e) for e in elements])
    a["geom_group"] = ints([g.group for g in records])
    a["geom_priority"] = ints([e.integer("priority", 0) for e in elements])
    a["geom_castshadow"] = np.array([e.flag("castshadow", True) for e in elements], dtype=np.uint8)
    a["geom_solmix"] = floats([e.number("solmix", 1.0) for e in elements], 1).reshape(n)
    a["geom_solref"] = floats([e.vector("solref", SOLREF, at_most=2) for e in elements], 2)
    a["geom_solimp"] = floats([e.vector("solimp", SOLIMP, at_most=5) for e in elements], 5)
    a["geom_size"] = floats([g.size for g in records], 3)
    a["geom_aabb"] = floats([g.aabb for g in records], 6)
    a["geom_rbound"] = floats([g.rbound for g in records], 1).reshape(n)
    a["geom_pos"] = floats([g.pos for g in records], 3)
    a["geom_quat"] = floats([g.quat for g in records], 4)
    a["geom_friction"] = floats([e.vector("friction", (1, 0.005, 0.0001), at_most=3) for e in elements], 3)
    a["geom_margin"] = floats([e.number("margin", 0.0) for e in elements], 1).reshape(n)
    a["geom_gap"] = floats([e.number("gap", 0.0) for e in elements], 1).reshape(n)
    a["geom_surfacevel"] = floats([g.surfacevel for g in records], 6)
    a["geom_adhesion"] = floats([e.number("adhesion", 0.0) for e in elements], 1).reshape(n)
    a["geom_fluid"] = floats([g.fluid for g in records], 12)
    a["geom_rgba"] = floats([e.vector("rgba", (0.5, 0.5, 0.5, 1), length=4) for e in elements], 4).astype(np.float32)
    a["geom_user"] = c.user_data("geom", "nuser_geom")
    a["geom_sameframe"] = np.array(
        [same_frame(g.pos, g.quat, e.body.record) for g, e in zip(records, elements, strict=True)], np.uint8
    )
    c.sizes["flg_surfacevel"] = int(np.any(a["geom_surfacevel"]))


def material_of(c: Compilation, e: Element) -> int:
    """Material of a geom or site: its own, else that of its mesh."""
    own = c.reference(e, "material")
    mesh = getattr(e.record, "asset", None)
    return own if own >= 0 or mesh is None else c.reference(mesh, "material")


def same_frame(pos: list[float], quat: list[float], body: Any) -> int:
    """MuJoCo's mjtSameFrame: 1 as the body, 2 as its inertia, 3 and 4 the same for rotation alone, 0 neither."""
    zero = (0.0, 0.0, 0.0)
    if pose.same_rotation(quat, pose.IDENTITY):
        return 1 if pose.same_position(pos, zero) else 3
    if pose.same_rotation(quat, body.inertial.quat):
        return 2 if pose.same_position(pos, body.inertial.pos) else 4
    return 0
