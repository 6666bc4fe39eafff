"""Random scenes with deformable bodies: flexcomps of every type, among the bodies that scenes.py draws.

What flexes are made of is drawn so that most scenes are sound: ropes have edges or a section, sheets and solids edges,
strain or a Young's modulus. Whatever MuJoCo refuses is drawn again, as there. Meshes are small, about thirty vertices.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from . import mechanisms, scenes
from .scenes import Pen

TYPES = {
    1: ("grid", "grid", "circle", "direct"),
    2: ("grid", "grid", "square", "disc", "box", "cylinder", "ellipsoid", "direct", "mesh"),
    3: ("grid", "grid", "box", "cylinder", "ellipsoid", "direct"),
}
COUNTS = {1: (3, 7), 2: (3, 5), 3: (2, 4)}
"""Types of flexcomp, and counts along an axis, by dim."""

DIRECT = {
    1: ("0 0 0 .08 0 0 .16 .02 0 .2 .08 .01", "0 1 1 2 2 3"),
    2: ("0 0 0 .1 0 0 .1 .1 0 0 .1 .02 .2 .05 .03", "0 1 2 0 2 3 1 4 2"),
    3: ("0 0 0 .1 0 0 0 .1 0 0 0 .1 .1 .1 .1", "0 1 2 3 1 2 3 4"),
}
SHEET = ("-.1 -.11 0 .12 -.1 0 .09 .1 .01 -.1 .13 0 .01 0 .04", "0 1 4 1 2 4 2 3 4 3 0 4")


def scene(seed: int, *, integrator: str = "", flags: Sequence[str] = ()) -> str:
    """The scene of a seed, as MJCF that MuJoCo takes."""
    return scenes.first_valid(lambda attempt: draw(seed, attempt, integrator=integrator, flags=flags))


def draw(seed: int, attempt: int = 0, *, integrator: str = "", flags: Sequence[str] = ()) -> str:
    """One try at a scene, valid or not."""
    pen = Pen(seed, attempt)
    scenes.settings(pen, integrator, flags)
    scenes.assets(pen)
    world = ET.SubElement(pen.root, "worldbody")
    scenes.ground(pen, world)
    for _ in range(pen.one((0, 1, 1, 2))):
        scenes.tree(pen, world)
    for _ in range(pen.one((1, 1, 1, 2))):
        _soft(pen, world)
    if pen.names["joint"] and pen.names["body"] and pen.maybe(0.3):
        mechanisms.draw(pen)
    else:
        _ties(pen)
    ET.indent(pen.root)
    return ET.tostring(pen.root, encoding="unicode")


def _soft(pen: Pen, world: ET.Element) -> None:
    """A flexcomp: in the world, in a body at rest, or in one that moves and that vertices are pinned to."""
    pinned = pen.maybe(0.35)
    place = f"{pen.numbers(2, -0.2, 0.2)} {pen.number(0.02, 0.25):.4g}"
    parent = world
    if pen.maybe(0.25):
        parent = pen.add(world, "body", "body", pos=place)
        pen.turn(parent)
        place = pen.numbers(3, -0.02, 0.02)
        if pinned and pen.maybe(0.7):
            pen.add(parent, *pen.one((("freejoint", "joint"), ("joint", "joint"))))
            pen.add(parent, "geom", "geom", size=".04")
    dim = pen.one((1, 2, 2, 3, 3))
    kind = pen.one(TYPES[dim])
    soft = pen.add(parent, "flexcomp", "flex", type=kind, dim=dim, pos=place, radius=pen.number(0.002, 0.02))
    soft.set("mass", f"{pen.number(0.05, 0.5):.4g}")
    counts = [pen.count(*COUNTS[dim]) if axis < dim or kind in ("box", "cylinder", "ellipsoid") else 1
              for axis in range(3)]  # fmt: skip
    if kind == "direct":
        soft.set("point", DIRECT[dim][0])
        soft.set("element", DIRECT[dim][1])
    elif kind == "mesh":
        name = f"sheet{len(pen.names['flex'])}"
        pen.add(pen.root.find("asset"), "mesh", name=name, vertex=SHEET[0], face=SHEET[1], inertia="shell")
        soft.set("mesh", name)
    else:
        soft.set("count", " ".join(map(str, counts)))
        soft.set("spacing", pen.numbers(3, 0.04, 0.09))
    pen.turn(soft, 0.3)
    pen.perhaps(soft, 0.1, scale=lambda: pen.numbers(3, 0.8, 1.3), inertiabox=0.01, flatskin=True, rigid=True,
                group=lambda: pen.count(0, 3))  # fmt: skip
    if dim > 1 and pen.maybe(0.35):
        soft.set("dof", pen.one(("trilinear", "trilinear", "quadratic", "radial", "2d")))
        if soft.get("dof") in ("trilinear", "quadratic") and pen.maybe(0.4):
            soft.set("cellcount", " ".join(str(pen.count(1, 2)) for _ in range(3)))
    _material(pen, soft, dim)
    _contact(pen, soft)
    if pinned:
        _pin(pen, soft, dim, counts)
    if soft.get("dof", "full") == "full" and not pinned:
        pen.names["body"] += [f"{soft.get('name')}_{k}" for k in range(3)]


def _material(pen: Pen, soft: ET.Element, dim: int) -> None:
    """What keeps the flex together: rows, springs, or elasticity."""
    way = pen.one(("edges", "elastic", *(("springs", "both") if dim == 1 else ("elastic",))))
    if soft.get("dof") in ("trilinear", "quadratic") and way == "edges":
        way = "strain"
    if way in ("edges", "both", "strain"):
        edge = pen.add(soft, "edge", equality="strain" if way == "strain" else "true")
        pen.perhaps(edge, 0.3, solref=pen.solref, solimp=pen.solimp)
    if way == "springs":
        pen.add(soft, "edge", stiffness=pen.number(5, 50), damping=pen.number(0, 0.2))
    if way not in ("elastic", "both"):
        return
    elastic = pen.add(soft, "elasticity", young=pen.one((1e3, 1e4, 5e4)), poisson=pen.number(0, 0.45))
    pen.perhaps(elastic, 0.6, damping=lambda: pen.number(0, 0.01))
    if dim == 2:
        elastic.set("thickness", f"{pen.number(1e-3, 1e-2):.4g}")
        elastic.set("elastic2d", pen.one(("bend", "stretch", "both", "both")))
    if dim == 1:
        elastic.set("thickness", f"{pen.number(2e-3, 1e-2):.4g}")
        pen.perhaps(elastic, 0.3, shear=lambda: pen.number(1e3, 1e4))
    if dim > 1:
        pen.perhaps(elastic, 0.1, **{"yield": lambda: pen.number(10, 1000)})


def _contact(pen: Pen, soft: ET.Element) -> None:
    contact = pen.add(soft, "contact")
    pen.perhaps(contact, 0.6, selfcollide=lambda: pen.one(("none", "none", "narrow", "bvh", "sap", "auto")))
    pen.perhaps(
        contact, 0.2, condim=lambda: pen.one((1, 3, 4, 6)), priority=lambda: pen.count(0, 1),
        friction=lambda: pen.numbers(1, 0.2, 1.5), solmix=lambda: pen.one((0.5, 2.0)), solref=pen.solref,
        solimp=pen.solimp, margin=lambda: pen.number(0, 0.02), gap=lambda: pen.number(0, 0.01),
        activelayers=lambda: pen.count(1, 2),
    )  # fmt: skip
    if pen.maybe(0.1):
        contact.set("contype", str(pen.count(0, 3)))
        contact.set("conaffinity", str(pen.count(0, 3)))


def _pin(pen: Pen, soft: ET.Element, dim: int, counts: Sequence[int]) -> None:
    """Some vertices, or nodes, in one of the ways to say which."""
    ways = ("id", "range", "grid", "gridrange") if soft.get("type") == "grid" and dim > 1 else ("id", "range")
    way = pen.one(ways)
    corner = [pen.count(0, max(0, counts[axis] - 1)) for axis in range(dim)]
    value = {
        "id": lambda: [0, 2],
        "range": lambda: [0, 1],
        "grid": lambda: corner,
        "gridrange": lambda: [0] * dim + [0 if axis else max(0, counts[1] - 1) for axis in range(dim)],
    }[way]()
    pen.add(soft, "pin", **{way: " ".join(map(str, value))})


def _ties(pen: Pen) -> None:
    """A body held to a vertex, sometimes; and a contact that is left out."""
    bodies = pen.names["body"]
    if len(bodies) > 1 and pen.maybe(0.4):
        one, other = pen.several(bodies, 2)
        equality = ET.SubElement(pen.root, "equality")
        kind = pen.one(("connect", "weld"))
        pen.add(equality, kind, body1=one, body2=other, anchor="0 0 0" if kind == "connect" else None)
