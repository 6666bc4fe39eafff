"""<visual>: settings of the visualizer, kept for the model's sake; nothing in the physics reads them."""

from __future__ import annotations

from typing import Any

from kinema.compile.context import Compilation
from kinema.compile.element import FALSE_TRUE, FALSE_TRUE_AUTO, Element, read_element

INTEGERS = {
    "global": {"cameraid": -1, "offwidth": 640, "offheight": 480},
    "quality": {"shadowsize": 4096, "offsamples": 4, "numslices": 28, "numstacks": 16, "numquads": 4},
}
SWITCHES = {"global": {"orthographic": 0, "ellipsoidinertia": 0, "bvactive": 0}}
NUMBERS = {
    "global": {
        "fovy": 45.0, "ipd": 0.068, "azimuth": 90.0, "elevation": -45.0, "linewidth": 1.0, "glow": 0.3, "realtime": 1.0,
    },
    "map": {
        "stiffness": 100.0, "stiffnessrot": 500.0, "force": 0.005, "torque": 0.1, "alpha": 0.3, "fogstart": 3.0,
        "fogend": 10.0, "znear": 0.01, "zfar": 50.0, "haze": 0.3, "shadowclip": 1.0, "shadowscale": 0.6,
        "actuatortendon": 2.0,
    },
    "scale": {
        "forcewidth": 0.1, "contactwidth": 0.3, "contactheight": 0.1, "connect": 0.2, "com": 0.4, "camera": 0.3,
        "light": 0.3, "selectpoint": 0.2, "jointlength": 1.0, "jointwidth": 0.1, "actuatorlength": 0.7,
        "actuatorwidth": 0.2, "framelength": 1.0, "framewidth": 0.1, "constraint": 0.1, "slidercrank": 0.2,
        "frustum": 10.0,
    },
}  # fmt: skip
COLORS: dict[str, dict[str, tuple[float, ...]]] = {
    "headlight": {"ambient": (0.1, 0.1, 0.1), "diffuse": (0.4, 0.4, 0.4), "specular": (0.5, 0.5, 0.5)},
    "rgba": {
        "fog": (0, 0, 0, 1), "haze": (1, 1, 1, 1), "force": (1, 0.5, 0.5, 1), "inertia": (0.8, 0.2, 0.2, 0.6),
        "joint": (0.2, 0.6, 0.8, 1), "actuator": (0.2, 0.25, 0.2, 1), "actuatornegative": (0.2, 0.6, 0.9, 1),
        "actuatorpositive": (0.9, 0.4, 0.2, 1), "com": (0.9, 0.9, 0.9, 1), "camera": (0.6, 0.9, 0.6, 1),
        "light": (0.6, 0.6, 0.9, 1), "selectpoint": (0.9, 0.9, 0.1, 1), "connect": (0.2, 0.2, 0.8, 1),
        "contactpoint": (0.9, 0.6, 0.2, 1), "contactforce": (0.7, 0.9, 0.9, 1), "contactfriction": (0.9, 0.8, 0.4, 1),
        "contacttorque": (0.9, 0.7, 0.9, 1), "contactgap": (0.5, 0.8, 0.9, 1), "rangefinder": (1, 1, 0.1, 1),
        "constraint": (0.9, 0, 0, 1), "slidercrank": (0.5, 0.3, 0.8, 1), "crankbroken": (0.9, 0, 0, 1),
        "frustum": (1, 1, 0, 0.2), "bv": (0, 1, 0, 0.5), "bvactive": (1, 0, 0, 0.5),
    },
}  # fmt: skip
GROUPS = ("global", "quality", "headlight", "map", "scale", "rgba")


def read_visual(c: Compilation) -> None:
    """Set `c.visual` from every <visual> in order."""
    visual: dict[str, dict] = {group: {} for group in GROUPS}
    tables: Any = (INTEGERS, SWITCHES, NUMBERS, COLORS)
    for table in tables:
        for group, defaults in table.items():
            visual[group] |= defaults
    visual["headlight"]["active"] = 2
    for section in c.root.find("visual"):
        for e in read_element(section).children():
            if e.tag in visual:
                _apply(visual[e.tag], e)
    c.visual.update(visual)


def _apply(group: dict, e: Element) -> None:
    for name in INTEGERS.get(e.tag, ()):
        group[name] = e.integer(name, group[name])
    for name in SWITCHES.get(e.tag, ()):
        group[name] = int(e.keyword(name, FALSE_TRUE, group[name]))
    for name in NUMBERS.get(e.tag, ()):
        group[name] = e.number(name, group[name])
    for name, default in COLORS.get(e.tag, {}).items():
        group[name] = tuple(e.vector(name, group[name], length=len(default)).tolist())
    if e.tag == "headlight" and e.given("active"):
        table = {**FALSE_TRUE_AUTO, "0": 0, "1": 1, "2": 2}
        group["active"] = e.keyword("active", table)
    if e.tag == "global" and group["realtime"] <= 0:
        raise e.error("realtime must be greater than 0", "realtime")
    if e.tag == "map" and group["znear"] <= 0:
        raise e.error("znear must be strictly positive", "znear")
