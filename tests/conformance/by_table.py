"""Random scenes by the table of MJCF: attributes and elements that nobody thought of drawing.

`scenes.py` draws what its author knew. Here the schema draws: an attribute that an element of a scene may have, or an
element that may stand in it, is picked from the table, with a value of the type that the table gives. MuJoCo says
whether the scene is still one; if not, it stays as it was. Only how large numbers are is said here, since the table
does not know: `RANGES`, by attribute, or by element and attribute.

What MuJoCo refuses must be refused by us, and what it takes be taken: `tries` gives both.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterator, Sequence

import mujoco

from kinema.mjcf import schema
from kinema.mjcf.schema import AttributeSpec, ElementSpec

from .scenes import Pen, scene

TRIES = 60
"""Attributes and elements that are tried a scene; MuJoCo takes about every third."""

ELSEWHERE = frozenset(
    "attach model plugin instance config extension flex flexcomp skin bone texture layer material visual statistic "
    "deformable include asset default size".split()
)
"""Elements that need files or libraries, and those with tests or scenes of their own."""

FORMS = frozenset(("id", "prefix", "file", "dir", "string"))
"""Types of text that no table knows what to write into; some have their words in WORDS."""

WORDS = {
    "eulerseq": ("xyz", "zyx", "XYZ", "zxz", "YZX"), "input": ("pos", "pos vel", "pos vel ff", "pos ff"),
    "sep": ("_", "-"), ("text", "data"): ("some text",), "objtype": ("body", "geom", "site"),
}  # fmt: skip

RANGES = {
    "default": (0.01, 1), "int": (0, 3),
    **dict.fromkeys(("pos", "anchor", "offset", "refpos", "relpose", "ref", "springref"), (-0.1, 0.1)),
    **dict.fromkeys(("quat", "axis", "axisangle", "euler", "xyaxes", "zaxis", "dir", "refquat", "user"), (-1, 1)),
    **dict.fromkeys(("gear", "coef", "wind", "magnetic", "surfacevel", "qvel", "ctrl", "polycoef", "data"), (-1, 1)),
    "gravity": (-10, 3), "bias": (-1, 0), "gainprm": (-1, 2), "biasprm": (-1, 0), "dynprm": (0.02, 0.2),
    "fromto": (-0.1, 0.1), "size": (0.03, 0.1), "timestep": (0.001, 0.004), "tolerance": (1e-10, 1e-6),
    "armature": (0.001, 0.05), "margin": (0, 0.02), "gap": (0, 0.01), "density": (1, 1000), "mass": (0.05, 0.5),
    "interval": (0.002, 0.01), "delay": (0.002, 0.008), "nsample": (1, 5), "condim": (1, 6), "count": (1, 3),
    "ccd_tolerance": (1e-8, 1e-5), "ccd_iterations": (20, 60), "noslip_tolerance": (1e-8, 1e-4),
    "sleep_tolerance": (1e-5, 1e-3), "iterations": (1, 50), "ls_iterations": (1, 50), "noslip_iterations": (0, 4),
    "diaginertia": (0.01, 0.019), "fullinertia": (0.005, 0.006), "impratio": (1, 10), "settotalmass": (0.5, 3),
    "boundmass": (0.01, 0.1), "boundinertia": (1e-5, 1e-3), "resolution": (2, 4), "fovy": (20, 90),
    "maxhullvert": (4, 8), "divisor": (1, 3), "frictionloss": (0.01, 0.2), "num": (1, 4), "force": (1, 10),
    "vmax": (1, 3), "lmin": (0.3, 0.6), "lmax": (1.4, 1.8), "fpmax": (1, 1.5), "fvmax": (1, 1.5), "springyield": (0, 1),
    "focalpixel": (50, 200), "principalpixel": (-20, 20), "solmix": (0, 2), "torquescale": (0.1, 2), "accel": (5, 20),
    "maxforce": (0, 5), "inttotal": (1, 3), ("lengthrange", "timestep"): (0.005, 0.01), ("user", "dim"): (1, 3),
    ("replicate", "euler"): (0, 0.5), "time": (0, 1), "tausmooth": (0, 0.3), "viscosity": (0.001, 0.5),
    ("numeric", "size"): (1, 5), "slewmax": (0.5, 3), "kp": (0.5, 5), "kv": (0, 0.5), "dampratio": (0.2, 1.2),
    "contype": (0, 3), "conaffinity": (0, 3), "priority": (0, 1), "group": (0, 5), "inheritrange": (0.5, 1.2),
}  # fmt: skip
"""How large numbers are: lengths of a table top, masses below a kilogram, steps of milliseconds."""

AROUND_ZERO = ("range", "ctrlrange", "forcerange", "actrange", "actuatorfrcrange", "posrange", "velrange", "ffrange")
PER_MODEL = {"qpos": "nq", "qvel": "nv", "act": "na", "ctrl": "nu", "mpos": "nmocap", "mquat": "nmocap"}
"""Numbers of a keyframe: as many as the model has."""


def scene_by_table(seed: int, *, integrator: str = "", flags: Sequence[str] = ()) -> str:
    """The scene of a seed, and what the table adds to it, as MJCF that MuJoCo takes."""
    text = scene(seed, integrator=integrator, flags=flags)
    for tried, taken in tries(text, seed):
        text = tried if taken else text
    return text


def tries(text: str, seed: int) -> Iterator[tuple[str, bool]]:
    """What a scene becomes with one attribute or element more, and whether MuJoCo takes it; then with the next."""
    pen = Pen(seed, 77)
    m = mujoco.MjModel.from_xml_string(text)
    for _ in range(TRIES):
        pen.root = ET.fromstring(text)
        if not Table(pen, m).change():
            continue
        tried = ET.tostring(pen.root, encoding="unicode")
        try:
            m = mujoco.MjModel.from_xml_string(tried)
        except ValueError:
            yield tried, False
            continue
        text = tried
        yield text, True


class Table:
    """Adds something that the schema allows to a document.

    Attributes:
        pen: All that is random, and the document.
        m: The model it is, for how many numbers it has.
        specs: What the schema says of each element of the document.
        named: What may be referred to, by namespace.
    """

    def __init__(self, pen: Pen, m: mujoco.MjModel):
        self.pen, self.m = pen, m
        self.specs: list[tuple[ET.Element, ElementSpec]] = []
        self.named: defaultdict[str, list[str]] = defaultdict(list)
        self._look(pen.root, schema.root())

    def _look(self, element: ET.Element, spec: ElementSpec) -> None:
        if element.tag == "default" and element.get("class"):
            self.named["default"].append(element.get("class"))
        if element.tag not in ELSEWHERE:
            self.specs.append((element, spec))
        if spec.namespace and element.get(spec.identifier):
            self.named[spec.namespace].append(element.get(spec.identifier))
        for child in element:
            if child.tag in spec.children:
                self._look(child, spec.children[child.tag])

    def change(self) -> bool:
        """An attribute, or an element; false: what was picked cannot be drawn."""
        kinds = sorted({element.tag for element, _ in self.specs})
        kind = self.pen.one(kinds)  # each kind as often as any other, however many there are of it
        element, spec = self.pen.one([found for found in self.specs if found[0].tag == kind])
        if spec.children and self.pen.maybe(0.4):
            return self._add(element, spec)
        free = [name for name in spec.attributes if name not in element.attrib]
        return bool(free) and self._set(element, spec.attributes[self.pen.one(free)])

    def _add(self, parent: ET.Element, spec: ElementSpec) -> bool:
        """A child, with all that it must have and some of what it may have."""
        child = spec.children[self.pen.one(tuple(spec.children))]
        standing = parent.find(child.name)
        if child.name in ELSEWHERE or (standing is not None and not child.repeated):
            return False
        element = ET.SubElement(parent, child.name)
        if child.identifier:
            element.set("name", f"more{sum(map(len, self.named.values()))}")
        for name in self._needs(child):
            if not self._set(element, child.attributes[name]):
                return False
        for name in self.pen.several([n for n in child.attributes if n not in element.attrib], self.pen.count(0, 2)):
            self._set(element, child.attributes[name])
        return True

    def _needs(self, spec: ElementSpec) -> list[str]:
        """What an element of a kind cannot be without: what the table says, and one of several choices."""
        names = list(spec.needed)
        for constraint in spec.constraints:
            if constraint.kind == "oneof":
                names += self.pen.one(constraint.bundles)
        transmissions = [n for n in ("joint", "tendon", "site", "body") if n in spec.attributes]
        if transmissions and not set(transmissions) & set(names):
            names.append(self.pen.one(transmissions))
        return list(dict.fromkeys(names))

    def _set(self, element: ET.Element, spec: AttributeSpec) -> bool:
        value = self._value(element, spec)
        if value is not None:
            element.set(spec.name, value)
        return value is not None

    def _value(self, element: ET.Element, spec: AttributeSpec) -> str | None:
        """What is written into an attribute; None: nothing is known to be."""
        words = WORDS.get((element.tag, spec.name)) or (WORDS.get(spec.name) if spec.type in (*FORMS, "chars") else ())
        if words:
            return self.pen.one(words)
        if spec.type == "keyword":
            return self.pen.one(spec.keywords)
        if spec.type == "flags":
            return " ".join([word for word in spec.keywords if self.pen.maybe(0.5)] or spec.keywords[:1])
        if spec.type in ("ref", "names"):
            kind = spec.namespace or ""
            kind = element.get(kind[1:], "") if kind.startswith("@") else kind
            known = self.named["body" if kind == "xbody" else kind]
            return self.pen.one(known) if known else None
        return self._numbers(element.tag, spec) if spec.type in ("float", "int") else None

    def _numbers(self, tag: str, spec: AttributeSpec) -> str:
        pen = self.pen
        if spec.name.startswith(("solref", "o_solref")):
            return pen.solref()
        if spec.name.startswith(("solimp", "o_solimp")):
            return pen.solimp()
        if spec.name in AROUND_ZERO:
            return pen.range(0.2, 2)
        if spec.name == "lengthrange":
            return "0.05 0.8"
        if tag == "key" and spec.name in PER_MODEL:
            return self._keyframe(spec.name)
        least, most = max(spec.min, 1), spec.max or spec.min + 3
        low, high = RANGES.get((tag, spec.name)) or RANGES.get(spec.name) or RANGES[
            "int" if spec.type == "int" else "default"
        ]  # fmt: skip
        if spec.type == "int":
            return " ".join(str(pen.count(int(low), int(high))) for _ in range(pen.count(least, most)))
        return pen.numbers(pen.count(least, most), low, high)

    def _keyframe(self, name: str) -> str:
        number = getattr(self.m, PER_MODEL[name])
        if name == "qpos":
            return " ".join(f"{x + self.pen.number(-0.02, 0.02):.5g}" for x in self.m.qpos0)
        number *= {"mpos": 3, "mquat": 4}.get(name, 1)
        return self.pen.numbers(number, -0.3, 0.3)
