"""<flexcomp>: a macro that becomes bodies with sliders, one <flex> that hangs on them, and its equality constraints.

    points      generated, read from a file or a mesh, or written down; then scaled, posed, and posed by frames around
    pinned      a point that belongs to the parent body and stays where it is in it
    others      a body each, at the point, with sliders: three (full), two (2d), or one away from the parent (radial)
    nodes       with trilinear or quadratic dofs the bodies stand at the nodes of a lattice around the points instead
    rods        an elastic open chain has a body more for each segment, which turns with its twist

What comes out is written as elements of a document, so that all that follows (defaults, attachments, replicates,
names, errors) treats it as if it had been written by hand. MuJoCo saves it so, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from kinema.compile import flex_cells, flex_rod, pose
from kinema.compile.element import FALSE_TRUE, Element
from kinema.compile.flexcomp_pins import pinned_nodes, pinned_points
from kinema.compile.flexcomp_points import TYPES, flexcomp_points
from kinema.compile.frames import Frame, apply_frame
from kinema.compile.orientation import read_orientation
from kinema.compile.tree import Body, Spec
from kinema.geometry.flex_points import FlexPoints
from kinema.mjcf.source import Node
from kinema.mujoco_enums import MINVAL

DOFS = ("full", "radial", "trilinear", "quadratic", "2d")
ORDERS = {"trilinear": 1, "quadratic": 2}
"""Degree of the polynomials that carry vertices along with nodes."""
AXES = ("1 0 0", "0 1 0", "0 0 1")
PASSED_ON = ("group", "radius", "material", "rgba", "flatskin")
EQUALITIES = {"false": "", "true": "flex", "strain": "flexstrain"}

AddBody = Callable[[Node, Body], None]


@dataclass(frozen=True, slots=True)
class Flexcomp:
    """A <flexcomp> as read: what its expansion depends on."""

    e: Element
    name: str
    kind: str
    dof: str
    points: FlexPoints
    rigid: bool
    mass: float
    inertiabox: float
    cells: tuple[int, int, int]
    box: tuple[np.ndarray, np.ndarray]

    @property
    def order(self) -> int:
        return ORDERS.get(self.dof, 0)

    def child(self, tag: str) -> Element | None:
        return next(iter(self.e.children(tag)), None)

    def node(self, tag: str, attributes: dict[str, str]) -> Node:
        """A generated element; errors point at the flexcomp."""
        return Node(tag, attributes, file=self.e.node.file, line=self.e.node.line, parent=self.e.node)

    @property
    def shell(self) -> bool:
        """Whether what is elastic is the surface of the lattice of cells."""
        child = self.child("elasticity")
        return child is not None and child.text("elastic2d", "none") != "none"


def expand_flexcomp(spec: Spec, e: Element, body: Body, frame: Frame | None, add_body: AddBody) -> None:
    """Replace one <flexcomp> in `body` by what it stands for.

    Args:
        add_body: Reads a generated <body> into the tree, below the body given with it.
    """
    flexcomp = read_flexcomp(spec, e, body, frame)
    if flexcomp.order and pinned_nodes(flexcomp).all():
        flexcomp = replace(flexcomp, rigid=True)
    flex = _flex_node(flexcomp)
    if flexcomp.order and not flexcomp.rigid:
        _place_nodes(flexcomp, flex, body, add_body)
        soft = True
    else:
        soft = _place_points(flexcomp, flex, body, spec.world, add_body)
    spec.list("flex").append(Element(flex, "flex", spec.scope, (flex.attributes,), spec.defaults.main))
    if soft:
        spec.list("equality").extend(_equalities(spec, flexcomp))


# ---- reading


def read_flexcomp(spec: Spec, e: Element, body: Body, frame: Frame | None) -> Flexcomp:
    """The flexcomp with its points where they are in the parent body."""
    name = e.required("name")
    if not body.name:
        raise e.error("the parent body of a flexcomp must have a name")
    kind = e.keyword("type", {word: word for word in TYPES}, "mesh" if e.given("mesh") else "grid")
    dof = e.keyword("dof", {word: word for word in DOFS}, "full")
    dim = e.integer("dim", 2)
    if not 1 <= dim <= 3:
        raise e.error("dim of a flexcomp must be 1, 2 or 3", "dim")
    count = e.vector("count", (10, 10, 10), length=3, dtype=int).tolist()
    least = 2 if dof == "radial" and dim == 3 else 1
    if min(count) < least:
        raise e.error(f"count is too small: at least {least} along each axis", "count")
    contact = next(iter(e.children("contact")), None)
    margin = 0.0 if contact is None else contact.number("margin", 0.0)
    spacing = e.vector("spacing", (0.02, 0.02, 0.02), length=3).tolist()
    room = 2 * e.number("radius", flex_rod.RADIUS) + margin
    if kind not in ("direct", "mesh", "gmsh") and min(spacing) < room:
        raise e.error(f"spacing must be larger than twice the radius and the margin, {room:g}", "spacing")
    scale = e.vector("scale", (1, 1, 1), length=3)
    if scale.min() < MINVAL:
        raise e.error("scale must be larger than mjMINVAL", "scale")
    mass, inertiabox = e.number("mass", 1.0), e.number("inertiabox", 0.005)
    if mass < MINVAL or inertiabox < MINVAL:
        raise e.error("mass and inertiabox must be larger than mjMINVAL")
    points = flexcomp_points(spec, e, kind, dim, count, spacing)
    _check_points(e, points)
    _move_points(e, points, scale if kind in ("direct", "mesh", "gmsh") else None, frame)
    if points.dim == 1 and dof != "full":
        flex_rod.refuse_box(e)
    cells = tuple(e.vector("cellcount", (1, 1, 1), length=3, dtype=int).tolist())
    rigid = e.keyword("rigid", FALSE_TRUE, False)
    box = points.point.min(axis=0), points.point.max(axis=0)  # of all points, whether elements use them or not
    return Flexcomp(e, name, kind, dof, points, rigid, mass, inertiabox, cells, box)


def _check_points(e: Element, points: FlexPoints) -> None:
    if not len(points.point) or not points.element.size:
        raise e.error("a flexcomp needs points and elements")
    number = len(points.point)
    flat = points.element.ravel()
    outside = np.flatnonzero((flat < 0) | (flat >= number))
    if len(outside):
        at = int(outside[0])
        raise e.error(f"entry {at} of the elements is point {flat[at]}, but there are {number} points")


def _move_points(e: Element, points: FlexPoints, scale: np.ndarray | None, frame: Frame | None) -> None:
    """Scale and pose the points; frames around the flexcomp pose them, too.

    MuJoCo turns points by the quaternion as it is written. One of three digits stretches them by 1e-3, and so it does
    here.
    """
    if scale is not None:
        points.point = points.point * scale
    at, turn = e.vector("pos", (0, 0, 0), length=3).tolist(), read_orientation(e, unit=False)
    at, turn = apply_frame(frame, at, turn)
    x, y, z = points.point.T
    moved = pose.rotate_parts(turn, x, y, z) if list(turn) != list(pose.IDENTITY) else (x, y, z)
    points.point = np.stack([a + b for a, b in zip(moved, at, strict=True)], axis=1)


# ---- what it becomes


def _flex_node(f: Flexcomp) -> Node:
    """The <flex>, but for the bodies and places of its vertices."""
    given = {name: f.e.text(name) for name in PASSED_ON if f.e.given(name)}
    if f.kind in ("box", "cylinder") or (f.kind == "grid" and f.points.dim == 3):
        given["flatskin"] = "true"
    flex = f.node("flex", {"name": f.name, "dim": str(f.points.dim), **given})
    for child in f.e.children("contact", "edge", "elasticity"):
        attributes = dict(child.node.attributes)
        for name in ("equality", "solref", "solimp") if child.tag == "edge" else ():
            attributes.pop(name, None)
        if child.tag == "elasticity" and f.order and child.count("yield") == 1:  # none of bending, rigid or not
            attributes["yield"] = f"{child.text('yield')} 0"
        flex.add(Node(child.tag, attributes, file=child.node.file, line=child.node.line))
    return flex


def _set_mesh(flex: Node, points: FlexPoints, used: np.ndarray) -> None:
    """Elements and texture coordinates, of the points that some element uses."""
    number = np.cumsum(used) - 1
    flex.attributes["element"] = _text(number[points.element])
    if len(points.texcoord):
        own = len(points.texcoord) == len(used) and not len(points.elemtexcoord)
        flex.attributes["texcoord"] = _text(points.texcoord[used] if own else points.texcoord)
    if len(points.elemtexcoord):
        flex.attributes["elemtexcoord"] = _text(points.elemtexcoord)


def _used(f: Flexcomp) -> np.ndarray:
    used = np.ones(len(f.points.point), bool)
    if f.kind in ("direct", "mesh", "gmsh"):
        used[:] = False
        used[f.points.element] = True
    return used


def _place_points(f: Flexcomp, flex: Node, body: Body, world: Body, add_body: AddBody) -> bool:
    """Give every point a body of its own, or the parent where it is pinned; False where all are: it is rigid."""
    used, parent = _used(f), body.element.text("name") or "world"
    pinned = pinned_points(f)
    _set_mesh(flex, f.points, used)
    point, pinned = f.points.point[used], pinned[used]
    if pinned.all():
        flex.attributes |= {"body": parent, "vertex": _text(point)}
        return False
    names = [parent if held else f"{f.name}_{i}" for i, held in enumerate(pinned)]
    flex.attributes["body"] = " ".join(names)
    if pinned.any():
        flex.attributes["vertex"] = _text(np.where(pinned[:, None], point, 0.0))
    mass = f.mass / len(point)
    for i in np.flatnonzero(~pinned):
        add_body(point_body(f, names[i], point[i], mass, f.dof), body)
    for node in flex_rod.twist_bodies(f, (np.cumsum(used) - 1)[f.points.element], pinned):
        add_body(node, world)
    return True


def _place_nodes(f: Flexcomp, flex: Node, body: Body, add_body: AddBody) -> None:
    """Bodies at the nodes of the lattice of cells; the points are carried along."""
    used, parent = _used(f), body.element.text("name") or "world"
    _set_mesh(flex, f.points, used)
    f.points.point, f.points.element = f.points.point[used], (np.cumsum(used) - 1)[f.points.element]
    lattice = flex_cells.lattice_of(f.points, f.cells, f.order, f.box, shell=f.shell, e=f.e)
    held = lattice.held | pinned_nodes(f)
    names = [
        parent if fixed else f"{f.name}_{i}_{j}_{k}"
        for fixed, (i, j, k) in zip(held, np.ndindex(*lattice.count), strict=True)
    ]
    flex.attributes |= {
        "body": " ".join([parent] * len(f.points.point)), "vertex": _text(f.points.point), "node": " ".join(names),
        "cellcount": _text(np.array(f.cells)), "dof": f.dof,
    }  # fmt: skip
    if held.any():
        flex.attributes["nodecoord"] = _text(np.where(held[:, None], lattice.position, 0.0))
    mass = lattice.mass(held, f.mass)
    for i in np.flatnonzero(~held):
        add_body(point_body(f, names[i], lattice.position[i], mass[i], "full"), body)


def point_body(f: Flexcomp, name: str, at: np.ndarray, mass: float, dof: str) -> Node:
    """A body of a point mass with its sliders."""
    node = f.node("body", {"name": name, "pos": _text(at)})
    inertia = mass * (2.0 * f.inertiabox * f.inertiabox) / 3.0
    node.add(f.node("inertial", {"pos": "0 0 0", "mass": repr(float(mass)), "diaginertia": _text([inertia] * 3)}))
    if dof == "radial":
        axes = [_text(pose.normalize(at.tolist())[0])]
    else:
        axes = list(AXES[:2] if dof == "2d" else AXES)
    for axis in axes:
        node.add(f.node("joint", {"type": "slide", "pos": "0 0 0", "axis": axis}))
    return node


def _equalities(spec: Spec, f: Flexcomp) -> list[Element]:
    """The constraints that <edge equality="..."> asks for."""
    edge = f.child("edge")
    tag = "" if edge is None else edge.keyword("equality", EQUALITIES, "")
    if edge is None or not tag:
        return []
    attributes = {"flex": f.name}
    attributes |= {name: edge.text(name) for name in ("solref", "solimp") if edge.given(name)}
    rows: list[Mapping[str, str]] = [attributes]
    if tag == "flexstrain":
        rows = [{**attributes, "cell": _text(cell)} for cell in flex_cells.strained(f)]
    elements = []
    for row in rows:
        node = f.node(tag, dict(row))
        elements.append(Element(node, "equality", spec.scope, (node.attributes,), spec.defaults.main))
    return elements


def _text(values) -> str:
    """Numbers as an attribute has them, all digits kept."""
    return " ".join(map(repr, np.asarray(values).ravel().tolist()))
