"""What random scenes have besides bodies: contact pairs, equalities, tendons, actuators, sensors, keyframes.

Each draws names that the bodies of the scene left behind (`Pen.names`); where there are none of a kind, it is left out.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable

from .scenes import Pen

FAMILIES = (
    "site", "joint", "tendon", "actuator", "frame", "acc", "subtree", "distance", "contact", "eye", "rest"
)  # fmt: skip
FRAMES = ("framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis", "framelinvel", "frameangvel")
AT_SITES = ("touch", "accelerometer", "velocimeter", "gyro", "force", "torque", "magnetometer")
OF_BODIES = ("subtreecom", "subtreelinvel", "subtreeangmom")
DISTANCES = ("distance", "normal", "fromto")
CONTACT_DATA = ("found", "force", "torque", "dist", "pos", "normal", "tangent", "linvel", "angvel")
RAY_DATA = ("dist", "dir", "origin", "point", "normal", "depth")


def draw(pen: Pen) -> None:
    """All of them, in an order in which names are there before they are referred to."""
    _contacts(pen)
    _tendons(pen)
    _equalities(pen)
    _actuators(pen)
    _sensors(pen)
    _keyframes(pen)


def _contacts(pen: Pen) -> None:
    contact = ET.SubElement(pen.root, "contact")
    geoms, bodies = pen.names["geom"], pen.names["body"]
    for _ in range(pen.one((0, 0, 0, 1, 2))):
        if len(geoms) > 1:
            one, other = pen.several(geoms, 2)
            pair = pen.add(contact, "pair", "pair", geom1=one, geom2=other)
            pen.perhaps(
                pair, 0.3, condim=lambda: pen.one((1, 3, 4, 6)), friction=lambda: pen.numbers(pen.count(1, 5), 0.05, 1),
                solref=pen.solref, solimp=pen.solimp, solreffriction=lambda: f"{pen.number(0.01, 0.05):.4g} 1",
                margin=lambda: pen.number(0, 0.02), gap=lambda: pen.number(0, 0.01), adhesion=lambda: pen.number(0, 1),
            )  # fmt: skip
    if len(bodies) > 1 and pen.maybe(0.2):
        one, other = pen.several(bodies, 2)
        pen.add(contact, "exclude", body1=one, body2=other)


# ---------------------------------------------------------------------------------------------- tendons, equalities


def _tendons(pen: Pen) -> None:
    tendon = ET.SubElement(pen.root, "tendon")
    for _ in range(pen.one((0, 0, 1, 2, 3))):
        if pen.maybe(0.5) and pen.names["scalar"]:
            element = pen.add(tendon, "fixed", "tendon")
            for joint in pen.several(pen.names["scalar"], pen.count(1, 3)):
                pen.add(element, "joint", joint=joint, coef=pen.number(-1, 1))
            _tension(pen, element, straight=True)
        elif len(pen.names["site"]) > 2:
            element = pen.add(tendon, "spatial", "tendon")
            straight = _path(pen, element)
            _tension(pen, element, straight=straight)


def _path(pen: Pen, tendon: ET.Element) -> bool:
    """Sites, geoms between some of them, sometimes a pulley; is it free of geoms?"""
    sites = pen.several(pen.names["site"], pen.count(2, 4))
    straight = True
    for k, site in enumerate(sites):
        pen.add(tendon, "site", site=site)
        if k == 1 and len(sites) == 4 and pen.maybe(0.3):
            pen.add(tendon, "pulley", divisor=2)
        elif k + 1 < len(sites) and pen.names["wrap"] and pen.maybe(0.5):
            geom = pen.add(tendon, "geom", geom=pen.one(pen.names["wrap"]))
            pen.perhaps(geom, 0.3, sidesite=lambda: pen.one(pen.names["site"]))
            straight = False
    return straight


def _tension(pen: Pen, tendon: ET.Element, *, straight: bool) -> None:
    if pen.maybe(0.3):
        tendon.set("limited", "true")
        lengths = f"{pen.number(0, 0.2):.4g} {pen.number(0.3, 0.8):.4g}"
        tendon.set("range", pen.range(0.05, 0.4) if tendon.tag == "fixed" else lengths)
        pen.names["limited tendon"].append(tendon.get("name"))
    pen.perhaps(
        tendon, 0.2, stiffness=lambda: pen.polynomial(0, 5), damping=lambda: pen.polynomial(0, 0.5),
        frictionloss=lambda: pen.number(0.01, 0.2), solreflimit=pen.solref, solimplimit=pen.solimp,
        margin=lambda: pen.number(0, 0.05), actuatorfrcrange=lambda: pen.range(0.1, 2),
        springlength=lambda: pen.one(("0.1", "0.05 0.3", "0.2")), solimpfriction=pen.solimp,
    )  # fmt: skip
    if straight:
        pen.perhaps(tendon, 0.2, armature=lambda: pen.number(0.001, 0.05))


def _equalities(pen: Pen) -> None:
    equality = ET.SubElement(pen.root, "equality")
    bodies, sites, joints, tendons = (pen.names[kind] for kind in ("body", "site", "scalar", "tendon"))
    for _ in range(pen.one((0, 0, 1, 2))):
        kind = pen.one(("connect", "weld", "joint", "tendon"))
        if kind in ("connect", "weld"):
            element = pen.add(equality, kind, "equality")
            if pen.maybe(0.5) and len(sites) > 1:
                one, other = pen.several(sites, 2)
                ends = {"site1": one, "site2": other}
            else:
                several = pen.several(bodies, 2)
                ends = {f"body{k + 1}": name for k, name in enumerate(several)}
                if kind == "connect":
                    ends["anchor"] = pen.numbers(3, -0.1, 0.1)
                else:
                    pen.perhaps(element, 0.3, anchor=lambda: pen.numbers(3, -0.1, 0.1))
            for name, value in ends.items():
                element.set(name, value)
            if kind == "weld":
                pen.perhaps(element, 0.3, torquescale=lambda: pen.number(0.1, 2))
        else:
            names = joints if kind == "joint" else tendons
            if not names:
                continue
            several = pen.several(names, pen.count(1, 2))
            element = pen.add(equality, kind, "equality")
            for k, name in enumerate(several):
                element.set(f"{kind}{k + 1}", name)
            pen.perhaps(element, 0.5, polycoef=lambda: pen.numbers(pen.count(1, 5), -0.5, 0.5))
        pen.perhaps(element, 0.3, solref=pen.solref, solimp=pen.solimp)
        pen.perhaps(element, 0.1, active=False)


# ---------------------------------------------------------------------------------------------- actuators


def _actuators(pen: Pen) -> None:
    actuator = ET.SubElement(pen.root, "actuator")
    for _ in range(pen.count(0, 4)):
        kind = pen.one(tuple(ACTUATORS))
        element = pen.add(actuator, kind, "actuator")
        if not ACTUATORS[kind](pen, element):
            actuator.remove(element)
            pen.names["actuator"].pop()
            continue
        pen.perhaps(element, 0.2, group=lambda: pen.count(0, 2))
        if pen.maybe(0.1):
            element.set("nsample", "3")
            element.set("delay", "0.004")
            pen.perhaps(element, 0.5, interp=lambda: pen.one(("zoh", "linear", "cubic")))


def _transmission(pen: Pen, element: ET.Element, *, sites: bool = True) -> bool:
    """What an actuator acts on, with gears."""
    kinds = ["joint", "joint", "jointinparent", "tendon", "slidersite", *(["site", "refsite"] if sites else [])]
    kind = pen.one(kinds)
    if kind == "tendon" and pen.names["tendon"]:
        element.set("tendon", pen.one(pen.names["tendon"]))
    elif kind in ("site", "refsite") and len(pen.names["site"]) > 1:
        one, other = pen.several(pen.names["site"], 2)
        element.set("site", one)
        if kind == "refsite":
            element.set("refsite", other)
        element.set("gear", pen.numbers(6, -1, 1))
    elif kind == "slidersite" and len(pen.names["site"]) > 1:
        one, other = pen.several(pen.names["site"], 2)
        element.set("slidersite", one)
        element.set("cranksite", other)
        element.set("cranklength", f"{pen.number(0.5, 1):.4g}")
    elif (pen.names["ball"] or pen.names["free"]) and pen.maybe(0.3):
        joint = pen.one([*pen.names["ball"], *pen.names["free"]])
        element.set(kind if kind == "jointinparent" else "joint", joint)
        element.set("gear", pen.numbers(6 if joint in pen.names["free"] else 3, -1, 1))
    elif pen.names["scalar"]:
        element.set(kind if kind == "jointinparent" else "joint", pen.one(pen.names["scalar"]))
    else:
        return False
    if "gear" not in element.attrib:
        pen.perhaps(element, 0.4, gear=lambda: pen.number(-2, 2))
    pen.perhaps(element, 0.1, damping=lambda: pen.polynomial(0, 0.2), armature=lambda: pen.number(0.001, 0.02))
    return True


def _limits(pen: Pen, element: ET.Element) -> None:
    pen.perhaps(element, 0.4, ctrlrange=lambda: pen.range(0.1, 1), forcerange=lambda: pen.range(0.2, 3))


def _motor(pen: Pen, element: ET.Element) -> bool:
    _limits(pen, element)
    return _transmission(pen, element)


def _general(pen: Pen, element: ET.Element) -> bool:
    """Every pair of gain and bias, with every dynamics that one number of activation has."""
    _limits(pen, element)
    dynamics = pen.one(("none", "integrator", "filter", "filterexact", "muscle"))
    element.set("dyntype", dynamics)
    if dynamics != "none":
        element.set("dynprm", "0.02 0.05 0" if dynamics == "muscle" else f"{pen.number(0.02, 0.2):.4g}")
        pen.perhaps(element, 0.3, actearly=True, actrange=lambda: pen.range(0.1, 0.6))
    gain, bias = pen.one(("fixed", "affine", "muscle")), pen.one(("none", "affine", "muscle"))
    element.set("gaintype", gain)
    element.set("biastype", bias)
    muscle = "0.75 1.05 2 200 0.5 1.6 1.5 1.3 1.2"
    element.set("gainprm", muscle if gain == "muscle" else pen.numbers(3 if gain == "affine" else 1, -1, 2))
    if bias != "none":
        element.set("biasprm", muscle if bias == "muscle" else pen.numbers(3, -1, 0))
    element.set("lengthrange", "0.05 1")
    return _transmission(pen, element)


def _position(pen: Pen, element: ET.Element) -> bool:
    _limits(pen, element)
    element.set("kp", f"{pen.number(0.5, 10):.4g}")
    element.set(*pen.one((("kv", f"{pen.number(0, 0.5):.4g}"), ("dampratio", f"{pen.number(0.2, 1.2):.4g}"))))
    if element.tag == "position":
        pen.perhaps(element, 0.3, timeconst=lambda: pen.number(0.01, 0.1))
    if not _transmission(pen, element):
        return False
    joint = element.get("joint")
    if joint in pen.names["limited"] and joint in pen.names["scalar"] and pen.maybe(0.4):
        element.set("inheritrange", "1")
        element.attrib.pop("ctrlrange", None)
    elif element.tag == "intvelocity":
        element.set("actrange", pen.range(0.2, 1))
    return True


def _velocity(pen: Pen, element: ET.Element) -> bool:
    element.set("kv", f"{pen.number(0.1, 1):.4g}")
    _limits(pen, element)
    return _transmission(pen, element)


def _damper(pen: Pen, element: ET.Element) -> bool:
    element.set("kv", f"{pen.number(0.1, 1):.4g}")
    element.set("ctrlrange", "0 1")
    return _transmission(pen, element)


def _cylinder(pen: Pen, element: ET.Element) -> bool:
    _limits(pen, element)
    pen.perhaps(
        element, 0.5, timeconst=lambda: pen.number(0.01, 0.2), bias=lambda: pen.numbers(3, -1, 0),
        **{pen.one(("area", "diameter")): lambda: pen.number(0.5, 2)},
    )  # fmt: skip
    return _transmission(pen, element)


def _muscle(pen: Pen, element: ET.Element) -> bool:
    element.set("lengthrange", "0.05 0.8")
    pen.perhaps(
        element, 0.3, force=lambda: pen.number(1, 10), timeconst="0.02 0.05", tausmooth=lambda: pen.number(0, 0.3),
        range="0.7 1.1", lmin=0.4, lmax=1.7, vmax=2.0, fpmax=1.1, fvmax=1.3, scale=100,
    )  # fmt: skip
    return _transmission(pen, element, sites=False)


def _adhesion(pen: Pen, element: ET.Element) -> bool:
    element.set("body", pen.one(pen.names["body"]))
    element.set("ctrlrange", "0 1")
    element.set("gain", f"{pen.number(0.5, 5):.4g}")
    return True


def _orientation(pen: Pen, element: ET.Element) -> bool:
    if pen.names["ball"] and pen.maybe(0.6):
        element.set("joint", pen.one(pen.names["ball"]))
    elif len(pen.names["site"]) > 1:
        one, other = pen.several(pen.names["site"], 2)
        element.set("site", one)
        element.set("refsite", other)
    else:
        return False
    element.set("kp", f"{pen.number(0.5, 3):.4g}")
    pen.perhaps(element, 0.5, kv=lambda: pen.number(0, 0.3), input=lambda: pen.one(("expmap", "quat")))
    return True


def _pid(pen: Pen, element: ET.Element) -> bool:
    element.set("kp", f"{pen.number(0.5, 3):.4g}")
    pen.perhaps(
        element, 0.4, kv=lambda: pen.number(0, 0.3), ki=lambda: pen.number(0.1, 2), slewmax=lambda: pen.number(0.5, 3),
        imax=lambda: pen.number(0.1, 1), input=lambda: pen.one(("pos", "pos vel", "pos vel ff", "pos ff")),
        forcerange=lambda: pen.range(0.2, 3),
    )  # fmt: skip
    return _transmission(pen, element)


def _dcmotor(pen: Pen, element: ET.Element) -> bool:
    element.set("motorconst", f"{pen.number(0.05, 0.3):.4g}")
    element.set("resistance", f"{pen.number(0.5, 3):.4g}")
    pen.perhaps(
        element, 0.3, inductance=lambda: f"0 {pen.number(0.005, 0.02):.4g}",
        thermal=lambda: f"2 {pen.number(1, 5):.4g} 0 0.004 25 25", saturation=lambda: f"{pen.number(0.5, 2):.4g} 0 0",
        cogging=lambda: f"{pen.number(0.01, 0.1):.4g} 4 0.3", lugre=lambda: "20 0.2 0.05 0.08 0.1",
    )  # fmt: skip
    if pen.maybe(0.3):
        element.set("input", pen.one(("pos", "pos vel", "pos vel ff")))
        element.set("controller", f"{pen.number(0.5, 3):.4g} {pen.one((0, 0.5))} 0.1 {pen.one((0, 2))} 0.5 12")
    return _transmission(pen, element, sites=False)


ACTUATORS: dict[str, Callable[[Pen, ET.Element], bool]] = {
    "motor": _motor, "general": _general, "position": _position, "velocity": _velocity, "intvelocity": _position,
    "damper": _damper, "cylinder": _cylinder, "muscle": _muscle, "adhesion": _adhesion, "orientation": _orientation,
    "pid": _pid, "dcmotor": _dcmotor,
}  # fmt: skip
"""Who draws an actuator; false: the scene has nothing for it to act on."""


# ---------------------------------------------------------------------------------------------- sensors, keyframes


def _sensors(pen: Pen) -> None:
    sensor = ET.SubElement(pen.root, "sensor")
    names = pen.names
    bodies, sites, geoms = names["body"], names["site"], names["geom"]

    def add(tag: str, **attributes) -> None:
        element = pen.add(sensor, tag, "sensor", **attributes)
        pen.perhaps(element, 0.1, cutoff=lambda: pen.number(0.1, 2), noise=0.1)
        if pen.maybe(0.08):
            element.set("nsample", "4")
            element.set("delay", "0.006")
            pen.perhaps(element, 0.5, interp=lambda: pen.one(("zoh", "linear", "cubic")), interval=0.004)

    def measured(prefix: str) -> dict[str, str]:
        kind = pen.one(("body", "xbody", "geom", "site", "camera"))
        return {f"{prefix}type": kind, f"{prefix}name": pen.one(names["body" if kind == "xbody" else kind])}

    for _ in range(pen.count(0, 10)):
        family = pen.one(FAMILIES)
        if family == "site":
            add(pen.one(AT_SITES), site=pen.one(sites))
        elif family == "joint" and names["scalar"]:
            add(pen.one(("jointpos", "jointvel", "jointactuatorfrc")), joint=pen.one(names["scalar"]))
            if names["ball"]:
                add(pen.one(("ballquat", "ballangvel")), joint=pen.one(names["ball"]))
            if names["limited"]:
                add(pen.one(("jointlimitpos", "jointlimitvel", "jointlimitfrc")), joint=pen.one(names["limited"]))
        elif family == "tendon" and names["tendon"]:
            add(pen.one(("tendonpos", "tendonvel", "tendonactuatorfrc")), tendon=pen.one(names["tendon"]))
            if names["limited tendon"]:
                limits = ("tendonlimitpos", "tendonlimitvel", "tendonlimitfrc")
                add(pen.one(limits), tendon=pen.one(names["limited tendon"]))
        elif family == "actuator" and names["actuator"]:
            add(pen.one(("actuatorpos", "actuatorvel", "actuatorfrc")), actuator=pen.one(names["actuator"]))
        elif family == "frame":
            add(pen.one(FRAMES), **measured("obj"), **(measured("ref") if pen.maybe(0.4) else {}))
        elif family == "acc":
            add(pen.one(("framelinacc", "frameangacc")), **measured("obj"))
        elif family == "subtree":
            add(pen.one(OF_BODIES), body=pen.one(bodies))
        elif family == "distance" and len(geoms) > 1 and len(bodies) > 1:
            kind = pen.one(("geom", "body"))
            one, other = pen.several(names[kind], 2)
            add(pen.one(DISTANCES), **{f"{kind}1": one, f"{kind}2": other}, cutoff=pen.number(0.1, 1))
        elif family == "contact":
            first = pen.one(("geom", "body", "subtree", "site"))
            one = pen.one(names["body" if first == "subtree" else first])
            data = [name for name in CONTACT_DATA if pen.maybe(0.4)] or ["found"]
            add("contact", **{first if first == "site" else f"{first}1": one}, num=pen.count(1, 4),
                data=" ".join(data), reduce=pen.one(("none", "mindist", "maxforce", "netforce")))  # fmt: skip
        elif family == "eye":
            data = [name for name in RAY_DATA if pen.maybe(0.4)] or ["dist"]
            if pen.maybe(0.5):
                add("rangefinder", site=pen.one(sites), data=" ".join(data))
            else:
                add("camprojection", site=pen.one(sites), camera=pen.one(names["camera"]))
        else:
            kind = pen.one(("clock", "e_potential", "e_kinetic", "insidesite"))
            add(kind, **({"site": pen.one(sites), **measured("obj")} if kind == "insidesite" else {}))


def _keyframes(pen: Pen) -> None:
    """Only what is the same whatever the sizes of the model are."""
    if pen.maybe(0.2):
        pen.add(ET.SubElement(pen.root, "keyframe"), "key", "key", time=pen.number(0, 1))
