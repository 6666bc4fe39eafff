"""Random scenes: MJCF that nobody wrote, drawn from a seed.

A scene is drawn part by part: options, assets, trees of bodies with joints and geoms (here), then what refers to them
(mechanisms.py). A `Pen` holds the random numbers, the document so far and the names that later parts may refer to, each
kind in a list. Every attribute that MJCF has for a part is there with some probability, so that a few hundred scenes
hold most pairs of them. Sizes are of a table top: lengths about 0.1, masses about 0.1 to 1, steps of milliseconds.

What MuJoCo refuses is drawn again, with the next number of tries as part of the seed: the same seed, the same scene.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Callable, Sequence

import mujoco
import numpy as np

TRIES = 50

INTEGRATORS = ("Euler", "RK4", "implicit", "implicitfast", "discrete")
SWITCHES = (
    "constraint", "equality", "frictionloss", "limit", "contact", "spring", "damper", "gravity", "clampctrl",
    "warmstart", "filterparent", "actuation", "refsafe", "sensor", "midphase", "eulerdamp", "nativeccd", "island",
    "multiccd",
)  # fmt: skip
PRIMITIVES = ("sphere", "capsule", "ellipsoid", "cylinder", "box")
DIMENSIONS = {"sphere": 1, "capsule": 2, "ellipsoid": 3, "cylinder": 2, "box": 3, "plane": 3}
TETRAHEDRON = ".06 0 -.02 -.03 .05 -.02 -.03 -.05 -.02 0 0 .07"
WEDGE = "-.05 -.03 -.02 .05 -.03 -.02 .05 .03 -.02 -.05 .03 -.02 -.05 0 .05 .04 0 .03"


class Pen:
    """Draws a scene.

    Attributes:
        rng: All that is random.
        degrees: Are angles written in degrees?
        root: The document.
        names: What has been named so far, by kind: body, joint, geom, site, tendon, actuator, ...
    """

    def __init__(self, *seed: int):
        self.rng = np.random.default_rng(seed)
        self.root = ET.Element("mujoco", model=f"scene {seed[0]}")
        self.degrees = False
        self.names: defaultdict[str, list[str]] = defaultdict(list)

    def maybe(self, probability: float) -> bool:
        return bool(self.rng.uniform() < probability)

    def number(self, low: float, high: float) -> float:
        return float(self.rng.uniform(low, high))

    def count(self, low: int, high: int) -> int:
        """An integer, both ends included."""
        return int(self.rng.integers(low, high + 1))

    def one(self, of: Sequence):
        return of[int(self.rng.integers(len(of)))]

    def several(self, of: Sequence, number: int) -> list:
        return [of[int(k)] for k in self.rng.permutation(len(of))[:number]]

    def numbers(self, number: int, low: float, high: float) -> str:
        return " ".join(f"{self.number(low, high):.4g}" for _ in range(number))

    def direction(self) -> str:
        """A unit vector: often along an axis, as people write it."""
        if self.maybe(0.6):
            return self.one(("1 0 0", "0 1 0", "0 0 1", "0 -1 0"))
        return " ".join(f"{x:.4g}" for x in self.rng.normal(size=3))

    def add(self, parent: ET.Element, tag: str, kind: str = "", /, **attributes) -> ET.Element:
        """An element; of a kind that is referred to, it gets a name. None is left out."""
        if kind:
            attributes = {"name": f"{kind}{len(self.names[kind])}", **attributes}
            self.names[kind].append(attributes["name"])
        said = {key: _text(value) for key, value in attributes.items() if value is not None}
        return ET.SubElement(parent, tag, said)

    def perhaps(self, element: ET.Element, probability: float, **attributes) -> None:
        """Each attribute with a probability; a value may be a function that draws it."""
        for name, value in attributes.items():
            if self.maybe(probability):
                element.set(name, _text(value() if callable(value) else value))

    def turn(self, element: ET.Element, probability: float = 0.5) -> None:
        """An orientation, in one of the ways to write it."""
        if not self.maybe(probability):
            return
        way = self.one(("quat", "axisangle", "euler", "zaxis", "xyaxes"))
        values = self.rng.normal(size={"quat": 4, "axisangle": 4, "euler": 3, "zaxis": 3, "xyaxes": 6}[way])
        if way in ("axisangle", "euler") and self.degrees:
            values[-1 if way == "axisangle" else slice(None)] *= 60
        element.set(way, " ".join(f"{x:.4g}" for x in values))

    def angle(self, radians: float) -> float:
        return float(np.rad2deg(radians)) if self.degrees else radians

    def solref(self) -> str:
        if self.maybe(0.2):
            return self.numbers(2, -300, -5)
        return f"{self.number(0.01, 0.05):.4g} {self.number(0.6, 1.5):.4g}"

    def solimp(self) -> str:
        low = self.number(0.5, 0.9)
        ends = f"{low:.4g} {self.number(low, 0.97):.4g} {self.number(1e-3, 0.05):.4g}"
        return f"{ends} {self.number(0.3, 0.7):.4g} {self.one((1, 2, 3, 2.5))}"

    def range(self, low: float, high: float, *, turns: bool = False) -> str:
        """A range around 0."""
        ends = -self.number(low, high), self.number(low, high)
        return " ".join(f"{self.angle(x) if turns else x:.4g}" for x in ends)

    def place(self, least: float, angle: float, length: float, *, turns: bool) -> float:
        """Where a joint may be: from a part of it to the whole of an angle, or of a length."""
        return self.angle(self.number(least, 1) * angle) if turns else self.number(least, 1) * length

    def polynomial(self, low: float, high: float) -> str:
        """A coefficient, and sometimes those of the square and the cube."""
        return self.numbers(self.one((1, 1, 1, 2, 3)), low, high)


def _text(value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


# ---------------------------------------------------------------------------------------------- the whole


def scene(seed: int, *, integrator: str = "", flags: Sequence[str] = ()) -> str:
    """The scene of a seed, as MJCF that MuJoCo takes.

    Args:
        seed: Decides everything.
        integrator: In place of the one drawn.
        flags: Flags to enable.
    """
    return first_valid(lambda attempt: draw(seed, attempt, integrator=integrator, flags=flags))


def first_valid(drawn: Callable[[int], str]) -> str:
    """The first of some tries at a scene that MuJoCo takes."""
    for attempt in range(TRIES):
        text = drawn(attempt)
        try:
            mujoco.MjModel.from_xml_string(text)
        except ValueError:
            continue
        return text
    raise AssertionError(f"MuJoCo refuses {TRIES} scenes in a row; the last:\n{text}")


def draw(seed: int, attempt: int = 0, *, integrator: str = "", flags: Sequence[str] = ()) -> str:
    """One try at a scene, valid or not."""
    from . import mechanisms

    pen = Pen(seed, attempt)
    settings(pen, integrator, flags)
    assets(pen)
    _defaults(pen)
    world = ET.SubElement(pen.root, "worldbody")
    ground(pen, world)
    for _ in range(pen.count(1, 4)):
        tree(pen, world)
    mechanisms.draw(pen)
    ET.indent(pen.root)
    return ET.tostring(pen.root, encoding="unicode")


def settings(pen: Pen, integrator: str, flags: Sequence[str]) -> None:
    pen.degrees = pen.maybe(0.5)
    compiler = pen.add(pen.root, "compiler", angle="degree" if pen.degrees else "radian")
    pen.perhaps(
        compiler, 0.1, eulerseq=lambda: pen.one(("xyz", "zyx", "XYZ", "zxz", "YZX")), balanceinertia=True,
        boundmass=0.05, boundinertia=1e-4, fusestatic=True, alignfree=True, inertiagrouprange="0 3",
        discardvisual=True, autolimits=True, inertiafromgeom=lambda: pen.one(("auto", "true")),
    )  # fmt: skip
    option = pen.add(
        pen.root, "option", timestep=pen.one((0.001, 0.002, 0.002, 0.004)),
        integrator=integrator or pen.one(INTEGRATORS), cone=pen.one(("pyramidal", "elliptic")),
        solver=pen.one(("Newton", "Newton", "Newton", "CG", "PGS")),
        jacobian=pen.one(("dense", "sparse", "auto")),
    )  # fmt: skip
    pen.perhaps(
        option, 0.25, impratio=lambda: pen.number(1, 10), iterations=lambda: pen.one((1, 2, 4, 10, 30)),
        ls_iterations=lambda: pen.one((1, 2, 4, 10)), gravity=lambda: pen.numbers(3, -10, 3),
        density=lambda: pen.number(1, 1000), viscosity=lambda: pen.number(0.001, 0.5),
        wind=lambda: pen.numbers(3, -1, 1), magnetic=lambda: pen.numbers(3, -1, 1),
        tolerance=lambda: pen.one((1e-6, 1e-10)), ls_tolerance=lambda: pen.one((0.1, 0.001)),
    )  # fmt: skip
    pen.perhaps(option, 0.1, noslip_iterations=lambda: pen.count(1, 4), actuatorgroupdisable="2")
    chosen = pen.several(SWITCHES, pen.one((0, 0, 0, 1, 2)))
    flag = pen.add(option, "flag", **dict.fromkeys(chosen, "disable"), **dict.fromkeys(flags, "enable"))
    pen.perhaps(flag, 0.3, energy="enable")
    if pen.maybe(0.15):
        flag.set("override", "enable")
        pen.perhaps(
            option, 0.5, o_margin=lambda: pen.number(0, 0.02), o_solref=pen.solref, o_solimp=pen.solimp,
            o_friction=lambda: pen.numbers(5, 0.001, 1),
        )  # fmt: skip
    if pen.maybe(0.1):
        pen.add(pen.root, "statistic", meaninertia=pen.number(0.01, 1), extent=pen.number(0.5, 2))


def assets(pen: Pen) -> None:
    asset = ET.SubElement(pen.root, "asset")
    if pen.maybe(0.4):
        mesh = pen.add(asset, "mesh", "mesh", vertex=pen.one((TETRAHEDRON, WEDGE)))
        pen.perhaps(
            mesh, 0.3, scale=lambda: pen.numbers(3, 0.7, 1.5), refpos=lambda: pen.numbers(3, -0.02, 0.02),
            refquat=lambda: pen.numbers(4, -1, 1), inertia=lambda: pen.one(("convex", "exact", "shell", "legacy")),
        )  # fmt: skip
    if pen.maybe(0.2):
        kind, params = pen.one((("sphere", "1"), ("cone", "6 1"), ("wedge", "4 4 60 60 0"), ("hemisphere", "1")))
        pen.add(asset, "mesh", "mesh", builtin=kind, params=params, scale=pen.numbers(3, 0.03, 0.07))
    if pen.maybe(0.15):
        pen.add(asset, "hfield", "hfield", nrow=5, ncol=6, size="1.5 1.2 .1 .2", elevation=pen.numbers(30, 0, 1))


def _defaults(pen: Pen) -> None:
    """The main class and two others, one in the other."""
    main = ET.SubElement(pen.root, "default")
    if pen.maybe(0.4):
        geom = pen.add(main, "geom")
        pen.perhaps(geom, 0.3, density=400, friction=".8", solref=pen.solref, margin=0.002, condim=4)
        joint = pen.add(main, "joint")
        pen.perhaps(joint, 0.3, damping=0.05, armature=0.01, solreflimit=pen.solref, frictionloss=0.01)
    for depth in range(pen.count(0, 2)):
        name = f"class{depth}"
        pen.names["class"].append(name)
        main = ET.SubElement(main, "default", {"class": name})
        pen.perhaps(
            pen.add(main, "geom"), 0.3, friction=lambda: pen.numbers(2, 0.2, 1), rgba="1 0 0 1",
            condim=lambda: pen.one((1, 3, 4, 6)), group=lambda: pen.count(0, 3), type=lambda: pen.one(PRIMITIVES),
            size=".05 .04 .03",
        )  # fmt: skip
        pen.perhaps(
            pen.add(main, "joint"), 0.3, damping=lambda: pen.number(0, 0.2), stiffness=lambda: pen.number(0, 1),
            armature=lambda: pen.number(0, 0.02), axis=pen.direction, type=lambda: pen.one(("hinge", "slide")),
        )  # fmt: skip
        pen.perhaps(pen.add(main, "site"), 0.3, size=".02", type="box")


# ---------------------------------------------------------------------------------------------- bodies


def ground(pen: Pen, world: ET.Element) -> None:
    """What lies still: a floor, sometimes hills, walls and posts."""
    if pen.maybe(0.85):
        floor = pen.add(world, "geom", "geom", type="plane", size="2 2 .1", pos="0 0 0")
        if pen.maybe(0.2):
            floor.set("euler", pen.numbers(3, *((-8, 8) if pen.degrees else (-0.15, 0.15))))
        _touch(pen, floor)
    for name in pen.names["hfield"]:
        _touch(pen, pen.add(world, "geom", "geom", type="hfield", hfield=name, pos="0 0 -.02"))
    for _ in range(pen.one((0, 0, 1, 2))):
        geom = pen.add(world, "geom", "geom", pos=f"{pen.numbers(2, -0.4, 0.4)} {pen.number(0, 0.15):.4g}")
        _shape(pen, geom)
        _touch(pen, geom)
        pen.turn(geom)
    pen.add(world, "site", "site", pos=pen.numbers(3, -0.2, 0.5))
    _eye(pen, world)


def tree(pen: Pen, world: ET.Element) -> None:
    place = f"{pen.numbers(2, -0.5, 0.5)} {pen.number(0.08, 0.4):.4g}"
    kind = pen.one(("free", "free", "free", "jointed", "jointed", "mocap", "static"))
    if kind == "mocap":
        body = pen.add(world, "body", "body", mocap=True, pos=place)
        _shaped(pen, body)
        pen.names["mocap"].append(body.get("name"))
        return
    body = _body(pen, world, place)
    if kind == "free":
        if pen.maybe(0.6):
            joint = pen.add(body, "freejoint", "joint")
            pen.perhaps(joint, 0.2, align=lambda: pen.one(("true", "false", "auto")))
        else:
            joint = pen.add(body, "joint", "joint", type="free", range=None)
            pen.perhaps(
                joint, 0.3, damping=lambda: pen.number(0, 0.1), armature=lambda: pen.number(0, 0.05),
                frictionloss=lambda: pen.number(0, 0.05), stiffness=lambda: pen.number(0, 0.5), limited=False,
            )  # fmt: skip
        pen.names["free"].append(joint.get("name"))
    elif kind == "jointed":
        _joints(pen, body)
    _grow(pen, body, pen.count(0, 3))


def _grow(pen: Pen, body: ET.Element, number: int) -> None:
    """Children, as a chain or a bush."""
    while number > 0:
        parent = pen.add(body, "frame") if pen.maybe(0.15) else body
        if parent.tag == "frame":
            parent.set("pos", pen.numbers(3, -0.05, 0.05))
            pen.turn(parent)
        child = _body(pen, parent, pen.numbers(3, -0.15, 0.15))
        if pen.maybe(0.9):
            _joints(pen, child)
        number -= 1
        if pen.maybe(0.6):
            body = child


def _body(pen: Pen, parent: ET.Element, place: str) -> ET.Element:
    body = pen.add(parent, "body", "body", pos=place)
    pen.turn(body, 0.4)
    pen.perhaps(body, 0.12, gravcomp=lambda: pen.number(0, 1.5))
    if pen.names["class"]:
        pen.perhaps(body, 0.12, childclass=lambda: pen.one(pen.names["class"]))
    if pen.maybe(0.15):
        inertial = pen.add(body, "inertial", pos=pen.numbers(3, -0.03, 0.03), mass=pen.number(0.1, 1))
        if pen.maybe(0.3):
            inertial.set("fullinertia", f"{pen.numbers(3, 0.01, 0.015)} {pen.numbers(3, -0.002, 0.002)}")
        else:
            inertial.set("diaginertia", pen.numbers(3, 0.01, 0.019))
            pen.turn(inertial, 0.5)
    _shaped(pen, body)
    for _ in range(pen.count(1, 2)):
        site = pen.add(body, "site", "site", pos=pen.numbers(3, -0.08, 0.08), size=pen.numbers(3, 0.01, 0.06))
        site.set("type", pen.one(PRIMITIVES))
        pen.turn(site, 0.3)
    if pen.maybe(0.1):
        _eye(pen, body)
    return body


def _shaped(pen: Pen, body: ET.Element) -> None:
    for _ in range(pen.one((1, 1, 1, 2, 3))):
        geom = pen.add(body, "geom", "geom")
        _shape(pen, geom)
        if "fromto" not in geom.attrib:
            pen.perhaps(geom, 0.5, pos=lambda: pen.numbers(3, -0.06, 0.06))
            pen.turn(geom, 0.3)
        if pen.maybe(0.5):
            geom.set(*pen.one((("mass", f"{pen.number(0.05, 0.5):.4g}"), ("density", "600"))))
        _touch(pen, geom)
        pen.perhaps(
            geom, 0.1, fluidshape="ellipsoid", group=lambda: pen.count(0, 4),
            surfacevel=lambda: pen.numbers(6, -0.5, 0.5),
        )  # fmt: skip
        if geom.get("fluidshape"):
            pen.perhaps(geom, 0.5, fluidcoef=lambda: pen.numbers(5, 0.1, 1.5))
        if geom.get("type") in PRIMITIVES:
            pen.perhaps(geom, 0.1, shellinertia=True)
        if geom.get("type") in ("sphere", "cylinder"):
            pen.names["wrap"].append(geom.get("name"))


def _shape(pen: Pen, geom: ET.Element) -> None:
    meshes = pen.names["mesh"]
    kind = pen.one((*PRIMITIVES, *(("mesh",) * 2 if meshes else ())))
    geom.set("type", kind)
    if kind == "mesh":
        geom.set("mesh", pen.one(meshes))
    elif kind in ("capsule", "cylinder", "box", "ellipsoid") and pen.maybe(0.25):
        geom.set("size", f"{pen.number(0.02, 0.06):.4g}")
        geom.set("fromto", f"{pen.numbers(3, -0.1, 0)} {pen.numbers(3, 0.02, 0.1)}")
    else:
        geom.set("size", pen.numbers(DIMENSIONS[kind], 0.03, 0.1))


def _touch(pen: Pen, geom: ET.Element) -> None:
    """How a geom touches others."""
    pen.perhaps(
        geom, 0.15, condim=lambda: pen.one((1, 3, 4, 6)), priority=lambda: pen.count(0, 1),
        friction=lambda: pen.one((pen.numbers(1, 0.2, 1.5), f"{pen.number(0.2, 1):.4g} {pen.numbers(2, 0.001, 0.05)}")),
        solmix=lambda: pen.one((0.0, 0.5, 2.0)), solref=pen.solref, solimp=pen.solimp,
        margin=lambda: pen.number(0, 0.02), gap=lambda: pen.number(0, 0.01), adhesion=lambda: pen.number(0, 1),
    )  # fmt: skip
    if pen.maybe(0.15):
        geom.set("contype", str(pen.count(0, 3)))
        geom.set("conaffinity", str(pen.count(0, 3)))


def _joints(pen: Pen, body: ET.Element) -> None:
    kinds = pen.one((("hinge",), ("hinge",), ("hinge",), ("slide",), ("ball",), ("slide", "hinge"), ("hinge", "hinge"),
                     ("slide", "slide", "hinge"), ("slide", "ball")))  # fmt: skip
    for kind in kinds:
        joint = pen.add(body, "joint", "joint", type=kind)
        turns = kind != "slide"
        pen.perhaps(joint, 0.5, pos=lambda: pen.numbers(3, -0.05, 0.05))
        if kind != "ball":
            joint.set("axis", pen.direction())
            pen.names["scalar"].append(joint.get("name"))
        else:
            pen.names["ball"].append(joint.get("name"))
        if pen.maybe(0.4):
            joint.set("limited", "true")
            reach = (0.2, 1.0) if turns else (0.02, 0.2)
            most = f"0 {pen.angle(pen.number(*reach)):.4g}"
            joint.set("range", most if kind == "ball" else pen.range(*reach, turns=turns))
            pen.names["limited"].append(joint.get("name"))
        pen.perhaps(
            joint, 0.2, damping=lambda: pen.polynomial(0, 0.3), stiffness=lambda: pen.polynomial(0, 3),
            armature=lambda: pen.number(0.001, 0.05), frictionloss=lambda: pen.number(0.01, 0.2),
            solreflimit=pen.solref, solimplimit=pen.solimp, solreffriction=lambda: f"{pen.number(0.01, 0.05):.4g} 1",
            solimpfriction=pen.solimp, actuatorgravcomp=True,
            margin=lambda turns=turns: pen.place(0, 0.1, 0.02, turns=turns),
        )  # fmt: skip
        if kind != "ball":
            pen.perhaps(
                joint, 0.15, ref=lambda turns=turns: pen.place(-1, 0.3, 0.1, turns=turns),
                springref=lambda turns=turns: pen.place(-1, 0.5, 0.1, turns=turns),
                actuatorfrcrange=lambda: pen.range(0.1, 2), springdamper=lambda: pen.numbers(2, 0.1, 1),
            )  # fmt: skip


def _eye(pen: Pen, body: ET.Element) -> None:
    camera = pen.add(body, "camera", "camera", pos=pen.numbers(3, -1, 1), resolution="4 3")
    pen.perhaps(camera, 0.3, mode=lambda: pen.one(("fixed", "track", "trackcom")), fovy=lambda: pen.number(30, 90))
    pen.turn(camera)
    pen.add(body, "light", pos=pen.numbers(3, -1, 1), dir=pen.direction())
