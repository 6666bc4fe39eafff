"""Random scenes in which deformable bodies meet much: each other, shapes of every kind, and all that hangs on bodies.

What flex_scenes.py draws, several at a time and close together, over hills and among ellipsoids, cylinders and meshes;
in the world, on what a mocap body or a joint moves and vertices are pinned to, or replicated; with tendons, actuators,
equalities and sensors on the bodies of vertices and nodes. Public files have these side by side.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from . import flex_scenes, mechanisms, scenes
from .scenes import Pen

OBSTACLES = ("ellipsoid", "cylinder", "capsule", "box", "sphere", "mesh", "hfield")


def scene(seed: int, *, integrator: str = "", flags: Sequence[str] = ()) -> str:
    """The scene of a seed, as MJCF that MuJoCo takes."""
    return scenes.first_valid(lambda attempt: draw(seed, attempt, integrator=integrator, flags=flags))


def draw(seed: int, attempt: int = 0, *, integrator: str = "", flags: Sequence[str] = ()) -> str:
    """One try at a scene, valid or not."""
    pen = Pen(seed + 1_000_000, attempt)
    scenes.settings(pen, integrator, flags)
    scenes.assets(pen)
    world = ET.SubElement(pen.root, "worldbody")
    scenes.ground(pen, world)
    _obstacle(pen, world)
    if pen.maybe(0.6) or not pen.names["body"]:
        scenes.tree(pen, world)
    for _ in range(pen.one((1, 2, 2))):
        parent = _parent(pen, world)
        flex_scenes._soft(pen, parent)
        _sense(pen, parent)
    mechanisms.draw(pen)
    ET.indent(pen.root)
    return ET.tostring(pen.root, encoding="unicode")


def _obstacle(pen: Pen, world: ET.Element) -> None:
    """A shape where flexes fall: at rest, on a mocap body, or free."""
    kind = pen.one(OBSTACLES)
    if kind in ("mesh", "hfield") and not pen.names[kind]:
        asset = pen.root.find("asset")
        if kind == "mesh":
            pen.add(asset, "mesh", "mesh", vertex=scenes.WEDGE)
        else:
            pen.add(asset, "hfield", "hfield", nrow=4, ncol=4, size=".4 .4 .06 .1", elevation=pen.numbers(16, 0, 1))
    body, place = world, f"{pen.numbers(2, -0.1, 0.1)} {pen.number(0.0, 0.08):.4g}"
    if kind != "hfield" and pen.maybe(0.5):
        mocap = pen.maybe(0.4)
        body = pen.add(world, "body", "body", pos=place, mocap=mocap or None)
        place = None
        if not mocap:
            pen.add(body, "freejoint", "joint")
    geom = pen.add(body, "geom", "geom", type=kind, pos=place)
    if kind in ("mesh", "hfield"):
        geom.set(kind, pen.one(pen.names[kind]))
    else:
        geom.set("size", pen.numbers(scenes.DIMENSIONS[kind], 0.04, 0.09))
    if kind != "hfield":
        pen.turn(geom)


def _parent(pen: Pen, world: ET.Element) -> ET.Element:
    """Where a flexcomp is put: the world, a frame, or copies of it side by side."""
    if pen.maybe(0.15):
        return pen.add(world, "replicate", count=2, offset=pen.numbers(3, 0.02, 0.12), euler="0 0 10")
    if pen.maybe(0.15):
        frame = pen.add(world, "frame", pos=pen.numbers(3, -0.03, 0.03))
        pen.turn(frame)
        return frame
    return world


def _sense(pen: Pen, parent: ET.Element) -> None:
    """Let names of vertices and nodes be drawn by what hangs on bodies; copies have others."""
    if parent.tag == "replicate":
        pen.names["body"] = [name for name in pen.names["body"] if not name.startswith(pen.names["flex"][-1])]
        inner = [e.get("name") for e in parent.iter() if e.get("name")]
        for kind in ("body", "joint", "geom", "free", "scalar"):
            pen.names[kind] = [name for name in pen.names[kind] if name not in inner]
        return
    soft = list(parent.iter("flexcomp"))[-1]
    if soft.get("dof") in ("trilinear", "quadratic") and soft.find("pin") is None and not soft.get("rigid"):
        pen.names["body"] += [f"{soft.get('name')}_0_0_{k}" for k in range(2)]
