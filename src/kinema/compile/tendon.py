"""<tendon>: fixed tendons (weighted sums of joints) and spatial ones (paths through sites and around geoms)."""

from __future__ import annotations

import numpy as np

from kinema.compile.context import Compilation
from kinema.compile.element import Element
from kinema.compile.limits import limited
from kinema.mujoco_enums import Geom, Joint, Tendon, Wrap

SOLREF = (0.02, 1.0)
SOLIMP = (0.9, 0.95, 0.001, 0.5, 2.0)
RGBA = (0.5, 0.5, 0.5, 1.0)
"""mjGEOM codes of what a tendon may wrap around."""


def compile_tendon(c: Compilation) -> None:
    """Fill the tendon and wrap arrays; `tendon_lengthspring` stays -1, -1 where the length at qpos_spring is meant."""
    tendons = c.elements["tendon"]
    paths = [_path(c, e) for e in tendons]
    number = np.array([len(path) for path in paths], dtype=np.int32)
    wraps = [wrap for path in paths for wrap in path]
    a = c.arrays
    kinds = [Tendon.FIXED if path[0][0] == Wrap.JOINT else Tendon.SPATIAL for path in paths]
    a["tendon_type"] = np.array(kinds, dtype=np.int32)
    a["tendon_num"] = number
    a["tendon_adr"] = (np.cumsum(number) - number).astype(np.int32)
    a["wrap_type"] = np.array([w[0] for w in wraps], dtype=np.int32)
    a["wrap_objid"] = np.array([w[1] for w in wraps], dtype=np.int32)
    a["wrap_prm"] = np.array([w[2] for w in wraps], dtype=np.float64)
    c.sizes["nwrap"] = len(wraps)

    a["tendon_matid"] = np.array([c.reference(e, "material") for e in tendons], dtype=np.int32)
    a["tendon_group"] = np.array([e.integer("group", 0) for e in tendons], dtype=np.int32)
    a["tendon_rgba"] = _rows((e.vector("rgba", RGBA, length=4) for e in tendons), 4).astype(np.float32)
    for name, attribute, default in (
        ("tendon_width", "width", 0.003),
        ("tendon_margin", "margin", 0.0),
        ("tendon_armature", "armature", 0.0),
        ("tendon_frictionloss", "frictionloss", 0.0),
        ("tendon_springyield", "springyield", 0.0),
    ):
        a[name] = np.array([e.number(attribute, default) for e in tendons], dtype=np.float64)
    for name, attribute, default in (
        ("tendon_solref_lim", "solreflimit", SOLREF),
        ("tendon_solimp_lim", "solimplimit", SOLIMP),
        ("tendon_solref_fri", "solreffriction", SOLREF),
        ("tendon_solimp_fri", "solimpfriction", SOLIMP),
    ):
        a[name] = _rows((e.vector(attribute, default, at_most=len(default)) for e in tendons), len(default))
    for name, attribute in (("stiffness", "stiffness"), ("damping", "damping")):
        polynomial = _rows((e.vector(attribute, (0.0, 0.0, 0.0), at_most=3) for e in tendons), 3)
        a[f"tendon_{name}"], a[f"tendon_{name}poly"] = polynomial[:, 0].copy(), polynomial[:, 1:].copy()
    a["tendon_range"] = _rows((e.vector("range", (0.0, 0.0), length=2) for e in tendons), 2)
    a["tendon_actfrcrange"] = _rows((e.vector("actuatorfrcrange", (0.0, 0.0), length=2) for e in tendons), 2)
    for name, attribute, bounds in (
        ("tendon_limited", "limited", "range"),
        ("tendon_actfrclimited", "actuatorfrclimited", "actuatorfrcrange"),
    ):
        ranges = a[name.replace("limited", "range")]
        flags = [limited(e, attribute, r, bounds) for e, r in zip(tendons, ranges, strict=True)]
        a[name] = np.array(flags, dtype=np.uint8)
    a["tendon_lengthspring"] = _rows((spring_length(e) for e in tendons), 2)
    a["tendon_user"] = c.user_data("tendon", "nuser_tendon")
    _plastic(c)
    for index, e in enumerate(tendons):
        _check(c, e, index, paths[index])


def spring_length(e: Element) -> np.ndarray:
    """springlength layer by layer; one value stands for both ends of the dead band."""
    value = np.array([-1.0, -1.0])
    for layer in e.layers:
        given = Element(e.node, e.kind, e.scope, (layer,)).vector("springlength", at_most=2)
        if given is None:  # an empty attribute counts as unset
            continue
        value[: len(given)] = given
        if len(given) == 1:
            value[1] = given[0]
    return value


def _rows(rows, width: int) -> np.ndarray:
    return np.array([*rows], dtype=np.float64).reshape(-1, width)


def _path(c: Compilation, e: Element) -> list[tuple[int, int, float]]:
    """Wrap objects of a tendon: (type, object id, parameter)."""
    path: list[tuple[int, int, float]] = []
    for child in e.children():
        if child.tag == "joint":
            joint = c.reference(child, "joint", required=True)
            if c.arrays["jnt_type"][joint] not in (Joint.SLIDE, Joint.HINGE):
                raise child.error("only hinge and slide joints can be part of a fixed tendon", "joint")
            if any(w[0] == Wrap.JOINT and w[1] == joint for w in path):
                raise child.error("a joint can be part of a fixed tendon only once", "joint")
            child.required("coef")
            path.append((Wrap.JOINT, joint, child.number("coef")))
        elif child.tag == "site":
            path.append((Wrap.SITE, c.reference(child, "site", required=True), 0.0))
        elif child.tag == "geom":
            geom = c.reference(child, "geom", required=True)
            wraps: dict[int, int] = {Geom.SPHERE: Wrap.SPHERE, Geom.CYLINDER: Wrap.CYLINDER}
            kind = wraps.get(int(c.arrays["geom_type"][geom]))
            if kind is None:
                raise child.error("a tendon wraps only around spheres and cylinders", "geom")
            path.append((kind, geom, float(c.reference(child, "sidesite", "site"))))
        elif child.tag == "pulley":
            child.required("divisor")
            divisor = child.number("divisor")
            if divisor <= 0:
                raise child.error("pulley divisor must be positive", "divisor")
            path.append((Wrap.PULLEY, -1, divisor))
        else:
            raise child.error(f"unknown element {child.tag!r} in a tendon's path")
    if not path:
        raise e.error("tendon path cannot be empty")
    return path


def _check(c: Compilation, e: Element, index: int, path: list[tuple[int, int, float]]) -> None:
    a = c.arrays
    spatial = path[0][0] != Wrap.JOINT
    if a["tendon_armature"][index] < 0:
        raise e.error("tendon armature cannot be negative", "armature")
    if spatial:
        if len(path) < 2:
            raise e.error("a spatial tendon's path must contain at least two objects")
        if a["tendon_width"][index] <= 0:
            raise e.error("a spatial tendon must have positive width", "width")
        _check_path(c, e, index, path)
    elif any(w[0] != Wrap.JOINT for w in path):
        raise e.error("spatial object found in the path of a fixed tendon")
    low, high = a["tendon_range"][index]
    if a["tendon_limited"][index] and low >= high:
        raise e.error("tendon range must grow", "range")
    low, high = a["tendon_actfrcrange"][index]
    if a["tendon_actfrclimited"][index] and (low >= high or low > 0 or high < 0):
        raise e.error("actuatorfrcrange must grow and hold 0", "actuatorfrcrange")
    low, high = a["tendon_lengthspring"][index]
    if low > high:
        raise e.error("springlength must not fall", "springlength")
    if a["tendon_springyield"][index] < 0:
        raise e.error("springyield cannot be negative", "springyield")


def _check_path(c: Compilation, e: Element, index: int, path: list[tuple[int, int, float]]) -> None:
    kinds = [Wrap.PULLEY, *(w[0] for w in path), Wrap.PULLEY]  # both ends act like pulleys: nothing joins across them
    for i, (kind, obj, _) in enumerate(path):
        before, after = kinds[i], kinds[i + 2]
        if kind == Wrap.PULLEY:
            if i > 0 and before == Wrap.PULLEY:
                raise e.error(f"consecutive pulleys in a tendon's path (position {i})")
            if i == len(path) - 1:
                raise e.error("tendon path ends with a pulley")
        elif kind == Wrap.SITE:
            if before == after == Wrap.PULLEY:
                raise e.error(f"site at position {i} of a tendon's path needs a neighbour that is not a pulley")
            if after == Wrap.SITE and path[i + 1][1] == obj:
                raise e.error(f"site at position {i} of a tendon's path is repeated")
        elif kind in (Wrap.SPHERE, Wrap.CYLINDER):
            if before != Wrap.SITE or after != Wrap.SITE:
                raise e.error(f"geom at position {i} of a tendon's path is not bracketed by sites")
            if c.arrays["tendon_armature"][index] > 0:
                raise e.error("a tendon with armature cannot wrap around geoms", "armature")
        else:
            raise e.error(f"joint at position {i} of a spatial tendon's path")


def _plastic(c: Compilation) -> None:
    """Tendons that yield keep two numbers of plastic state each, after those of the joints."""
    address = int(c.sizes.get("nplastic", 0))
    yields = c.arrays["tendon_springyield"] > 0
    adr = np.full(len(yields), -1, dtype=np.int32)
    for t in np.flatnonzero(yields):
        adr[t] = address
        address += 2
    c.arrays["tendon_plasticadr"] = adr
    c.sizes["nplastic"] = address
