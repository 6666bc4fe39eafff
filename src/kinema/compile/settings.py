"""What the <compiler> elements of one document say: units, directories, how inertia and limits are inferred."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from kinema.compile.element import AUTO, FALSE_TRUE_AUTO, Element, read_element
from kinema.mjcf.source import Node
from kinema.mujoco_enums import Conflict, LengthRangeMode, words


@dataclass(frozen=True, slots=True)
class LengthRange:
    """How <compiler><lengthrange/></compiler> asks actuator length ranges to be computed (MuJoCo's mjLROpt)."""

    mode: str = "muscle"
    useexisting: bool = True
    uselimit: bool = False
    accel: float = 20.0
    maxforce: float = 0.0
    timeconst: float = 1.0
    timestep: float = 0.01
    inttotal: float = 10.0
    interval: float = 2.0
    tolrange: float = 0.05


@dataclass(frozen=True, slots=True)
class Settings:
    """Compiler settings of one document; each element is compiled with those of the document it was written in."""

    autolimits: bool = True
    boundmass: float = 0.0
    boundinertia: float = 0.0
    settotalmass: float = -1.0
    balanceinertia: bool = False
    strippath: bool = False
    degree: bool = True
    fitaabb: bool = False
    eulerseq: str = "xyz"
    meshdir: str = ""
    texturedir: str = ""
    discardvisual: bool = False
    fusestatic: bool = False
    inertiafromgeom: int = AUTO
    inertiagrouprange: tuple[int, int] = (0, 5)
    saveinertial: bool = False
    alignfree: bool = False
    conflict: str = "warning"
    passthrough: str = "none"
    lengthrange: LengthRange = field(default_factory=LengthRange)


def read_settings(root: Node) -> Settings:
    """Settings of a document, its <compiler> sections applied in order."""
    settings = Settings()
    for node in root.find("compiler"):
        settings = _apply(settings, read_element(node))
    return settings


NUMBERS = ("boundmass", "boundinertia", "settotalmass")
FLAGS = (
    "autolimits", "balanceinertia", "strippath", "fitaabb", "discardvisual", "fusestatic", "saveinertial", "alignfree",
)  # fmt: skip


def _apply(old: Settings, e: Element) -> Settings:
    coordinate = e.keyword("coordinate", {"local": "local", "global": "global"}, "local")
    if coordinate == "global":
        raise e.error("global coordinates are gone; load and save the model in MuJoCo 2.3.3 first", "coordinate")
    directory = e.text("assetdir", None)
    seq = e.text("eulerseq", old.eulerseq)
    if len(seq) != 3:
        raise e.error("eulerseq must have exactly three letters of xyzXYZ", "eulerseq")
    low, high = e.vector("inertiagrouprange", old.inertiagrouprange, length=2, dtype=int)
    lengthrange = old.lengthrange
    for child in e.children("lengthrange"):
        lengthrange = _lengthrange(lengthrange, child)
    return replace(
        _numbers_and_flags(old, e, NUMBERS, FLAGS),
        degree=e.keyword("angle", {"radian": False, "degree": True}, old.degree),
        eulerseq=seq,
        meshdir=e.text("meshdir", old.meshdir if directory is None else directory),
        texturedir=e.text("texturedir", old.texturedir if directory is None else directory),
        inertiafromgeom=e.keyword("inertiafromgeom", FALSE_TRUE_AUTO, old.inertiafromgeom),
        inertiagrouprange=(int(low), int(high)),
        conflict=e.keyword("conflict", {word: word for word in words(Conflict)}, old.conflict),
        passthrough=e.keyword("passthrough", {"none": "none", "textures": "textures"}, old.passthrough),
        lengthrange=lengthrange,
    )


def _lengthrange(old: LengthRange, e: Element) -> LengthRange:
    modes = {word: word for word in words(LengthRangeMode)}
    numbers = ("accel", "maxforce", "timeconst", "timestep", "inttotal", "interval", "tolrange")
    found = _numbers_and_flags(old, e, numbers, ("useexisting", "uselimit"))
    return replace(found, mode=e.keyword("mode", modes, old.mode))


def _numbers_and_flags(old: Any, e: Element, numbers: tuple[str, ...], flags: tuple[str, ...]) -> Any:
    """Settings with what an element says of these attributes."""
    given = {name: e.number(name, getattr(old, name)) for name in numbers}
    given |= {name: e.flag(name, getattr(old, name)) for name in flags}
    return replace(old, **given)
