"""What a document will cost, counted before any of it is made.

A few characters can ask for anything: ``<replicate count="1000000000">``, four replicates of 1000 inside one another, a
texture of 200000 pixels a side. So a document is priced from what it says, with the schema's knowledge of what its
numbers mean, and refused past limits that the caller may raise:

    elements   those of the tree, times the counts of the replicates around them; an attachment counts as all of its
               model; a flexcomp as the bodies and joints it makes; what refers to a replicated element by name
               (actuators, sensors, tendons) as often as that one
    bytes      arrays that grow with a number alone: users' columns, height fields, textures, built-in meshes,
               keyframes, histories, sensors with a declared size, numerics, elements and cells of flexcomps
    steps      of the simulations that look for the length ranges of muscles

Counts are upper bounds where the true number needs the document compiled. Nothing is expanded to find them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from kinema.compile.element import Element
from kinema.compile.tree import HELD, Spec
from kinema.errors import TooLarge
from kinema.mjcf.source import Node


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How large a document may be.

    Attributes:
        elements: Elements after replicates and attachments are expanded.
        bytes: Bytes of all arrays and assets that the document only declares.
        steps: Steps of the simulations that find length ranges of muscles.
    """

    elements: int = 2_000_000
    bytes: int = 4 << 30
    steps: int = 1_000_000


USER = {
    "nuser_body": "body", "nuser_jnt": "joint", "nuser_geom": "geom", "nuser_site": "site", "nuser_cam": "camera",
    "nuser_tendon": "tendon", "nuser_actuator": "actuator", "nuser_sensor": "sensor",
}  # fmt: skip
"""Widths of users' columns, and whose rows they are."""

REFERRING = ("pair", "exclude", "tendon", "equality", "actuator", "sensor", "tuple")
NUMBER = 8
STATE_OF_JOINT = 7 + 6
"""Most numbers of a joint in a keyframe: position and velocity of a free one."""
CONTACT_DATA = 17
"""Numbers of one contact in a contact sensor, all of its data asked for."""
RAY_DATA = 10
"""Numbers of one pixel of a camera that measures distances, all of its data asked for."""


def price(spec: Spec, limits: Limits) -> None:
    """Refuse a document that is too large; `spec` has its lists and models but no tree yet. Sets what it found."""
    counted = _count_tree(spec)
    for kind in REFERRING:
        for e in spec.list(kind):
            times = max((counted.times.get(value, 1) for value in _values(e.node)), default=1)
            counted.add(kind, times, e.node)
    spec.elements = counted.total
    if counted.total > limits.elements:
        node = counted.most[1] or spec.root
        what = f"the document, most of it from this {node.tag},"
        _refuse(what, counted.total, limits.elements, "elements", Element(node, node.tag))
    declared = list(_declared(spec, counted))
    spec.bytes = sum(model.bytes for model in spec.models.values()) + sum(size for _, size, _ in declared)
    if spec.bytes > limits.bytes:
        what, _, e = max(declared, key=lambda entry: entry[1])
        _refuse(f"the document, most of it for {what},", spec.bytes, limits.bytes, "bytes", e)
    _price_pulling(spec, limits)


def _refuse(what: str, size: int, limit: int, name: str, e: Element) -> None:
    raise TooLarge(
        f"{what} comes to {size:,} {name}, more than the limit of {limit:,}; "
        f"if it is meant, raise it: compile_model(..., limits=Limits({name}={size}))",
        file=e.node.file, line=e.node.line, path=e.node.path,
    )  # fmt: skip


# ---- elements


@dataclass
class _Count:
    kinds: dict[str, int]
    times: dict[str, int]  # by name, how often a replicated element is there
    pixels: int = 1  # of the largest camera
    total: int = 0
    flexes: int = 0  # bytes of all flexcomps
    most: tuple[int, Node | None] = (0, None)  # the element that asks for most, and how many

    def rows(self, kind: str) -> int:
        """At most so many elements of a kind; any of those attached may be one."""
        return self.kinds.get(kind, 0) + self.kinds.get("attached", 0) + (kind == "body")

    def add(self, kind: str, times: int, where: Node) -> None:
        self.kinds[kind] = self.kinds.get(kind, 0) + times
        self.total += times
        if times > self.most[0]:
            self.most = times, where


def _count_tree(spec: Spec) -> _Count:
    """Elements of the tree by kind, and how often each name is there."""
    counted = _Count({}, {})
    own = sum(1 for world in spec.root.find("worldbody") for _ in world.walk())
    todo: list[tuple[Node, int, Node | None]] = []
    todo += [(child, 1, None) for world in spec.root.find("worldbody") for child in world.children]
    while todo:
        node, times, around = todo.pop()
        where = around or node
        if node.tag == "replicate":
            times *= max(0, _whole(spec, node, "count", 1))
            where = around = node
        elif node.tag == "attach":
            model = spec.models.get(node.attributes.get("model", ""))
            counted.add("attached", times * (model.elements if model else own), node)
        counted.add(HELD.get(node.tag, node.tag), times, where)
        if node.tag == "flexcomp":
            bodies, size = _flexcomp(Element(node, node.tag, spec.scope, (node.attributes,)))
            counted.add("body", times * bodies, where)
            counted.add("joint", times * 3 * bodies, where)
            counted.flexes += times * size
        if node.tag == "camera" and "resolution" in node.attributes:
            e = Element(node, node.tag, spec.scope, (node.attributes,))
            width, height = e.vector("resolution", (1, 1), length=2, dtype=int).tolist()
            counted.pixels = max(counted.pixels, width * height)
        name = node.attributes.get("name")
        if name and times > 1:
            counted.times[name] = max(times, counted.times.get(name, 1))
        todo += [(child, times, around) for child in node.children]
    return counted


FLEX_NUMBERS = {1: 40, 2: 60, 3: 200}
"""Numbers a point of a flex of each dimension stands for: elements, edges, stiffness, bounding volumes."""


def _flexcomp(e: Element) -> tuple[int, int]:
    """Bodies that a flexcomp makes, and bytes of its arrays; what comes from a file is as large as the file."""
    kind, dim = e.text("type", "grid"), min(max(e.integer("dim", 2), 1), 3)
    count = [max(0, n) for n in e.vector("count", (10, 10, 10), length=3, dtype=int).tolist()]
    if kind == "direct":
        points = e.count("point") // 3 + 1
    elif kind in ("mesh", "gmsh") or e.given("mesh"):
        points = 0
    elif kind in ("square", "disc") or (dim == 2 and kind in ("grid", "circle")):
        points = count[0] * count[1]
    else:
        points = count[0] if dim == 1 and kind in ("grid", "circle") else count[0] * count[1] * count[2]
    size = NUMBER * FLEX_NUMBERS[dim] * points
    order = {"trilinear": 1, "quadratic": 2}.get(e.text("dof", "full"), 0)
    if not order:
        return points, size
    cells = [max(0, n) for n in e.vector("cellcount", (1, 1, 1), length=3, dtype=int).tolist()]
    nodes = math.prod(order * n + 1 for n in cells)
    return nodes, size + NUMBER * math.prod(cells) * (3 * (order + 1) ** 3) ** 2


def _whole(spec: Spec, node: Node, attribute: str, default: int) -> int:
    return Element(node, node.tag, spec.scope, (node.attributes,)).integer(attribute, default)


def _values(node: Node) -> Iterator[str]:
    for part in node.walk():
        yield from part.attributes.values()


# ---- bytes


def _declared(spec: Spec, counted: _Count) -> Iterator[tuple[str, int, Element]]:
    """Everything whose size is a number in the document: what it is, its bytes, where it stands."""
    keys = len(spec.list("key"))
    state = STATE_OF_JOINT * counted.rows("joint") + 2 * counted.rows("actuator") + 7 * counted.rows("body")
    for node in spec.root.find("size"):
        e = Element(node, "size", spec.scope, (node.attributes,))
        for name, kind in USER.items():
            rows, width = counted.rows(kind), max(0, e.integer(name, 0))
            yield f"{name}={width} for {rows} elements", NUMBER * width * rows, e
        yield "nuserdata", NUMBER * max(0, e.integer("nuserdata", 0)), e
        declared = max(0, e.integer("nkey", 0))
        yield f"{declared} keyframes (nkey)", NUMBER * declared * state, e
    for e in spec.list("key")[:1]:
        yield f"{keys} keyframes", NUMBER * keys * state, e
    for e in spec.list("hfield"):
        rows, columns = max(0, e.integer("nrow", 0)), max(0, e.integer("ncol", 0))
        yield f"a height field of {rows} x {columns}", NUMBER * rows * columns, e
    for e in spec.list("texture"):
        yield _texture(e)
    for e in spec.list("mesh"):
        yield from _mesh(e)
    for e in spec.list("numeric"):
        yield "a numeric", NUMBER * max(0, e.integer("size", 0)), e
    for kind in ("sensor", "actuator"):
        for e in spec.list(kind):
            yield _running(e, counted.pixels)
    yield "flexcomps", counted.flexes, Element(spec.root, "flexcomp", spec.scope, (spec.root.attributes,))


def _texture(e: Element) -> tuple[str, int, Element]:
    width, channels = max(0, e.integer("width", 0)), max(1, e.integer("nchannel", 3))
    height = max(0, e.integer("height", 0)) if e.text("type", "cube") == "2d" else 6 * width
    return f"a texture of {width} x {height} with {channels} channels", width * height * channels, e


def _mesh(e: Element) -> Iterator[tuple[str, int, Element]]:
    """Built-in shapes: a sphere has 20 4^n triangles, the others at most a grid of the two largest numbers."""
    builtin = e.text("builtin", "none")
    numbers = e.vector("params", ())
    numbers = sorted((abs(float(n)) for n in numbers if n == n), reverse=True)
    if builtin == "none" or not numbers:
        return
    if builtin == "sphere":
        count = 20 * 4 ** int(min(numbers[0], 60.0))
    else:
        grid = [int(min(n, 1e9)) for n in numbers[:2]]
        count = 4 * (grid[0] + 1) * (grid[-1] + 1)
    yield f"the built-in mesh {builtin!r}", 12 * NUMBER * count, e


def _running(e: Element, pixels: int) -> tuple[str, int, Element]:
    """What a sensor or an actuator keeps while the model runs: its numbers, and the samples of its history."""
    wide = 1
    if e.kind == "sensor" and e.tag in ("user", "plugin"):
        wide = max(1, e.integer("dim", 1))
    elif e.kind == "sensor" and e.tag == "contact":
        wide = CONTACT_DATA * max(1, e.integer("num", 1))
    elif e.tag == "rangefinder" and e.given("camera"):
        wide = RAY_DATA * pixels
    elif e.kind == "actuator":
        wide = max(1, e.integer("actdim", -1))
    samples = max(0, e.integer("nsample", 0))
    return f"a {e.tag} of {wide} numbers and {samples} samples", NUMBER * (wide + samples * (1 + wide)), e


# ---- steps


def _price_pulling(spec: Spec, limits: Limits) -> None:
    """Length ranges are found by simulating: for `inttotal` seconds, unless no actuator asks."""
    settings = spec.scope.settings
    assert settings is not None
    options = settings.lengthrange
    pulling = [e for e in spec.list("actuator") if options.mode == "all" or _pulls(e)]
    if options.mode == "none" or not pulling:
        return
    step = options.timestep if options.timestep > 0 else _timestep(spec)
    steps = options.inttotal / step if step > 0 else float("inf")
    if not steps <= limits.steps:
        asked = f"finding length ranges over {options.inttotal:g} s in steps of {step:g} s"
        _refuse(asked, int(min(steps, 1e18)) if steps == steps else limits.steps + 1, limits.steps, "steps", pulling[0])


def _pulls(e: Element) -> bool:
    types = (e.text(name, "") for name in ("gaintype", "biastype"))
    return e.tag in ("muscle", "plugin") or any(word in ("muscle", "user") for word in types)


def _timestep(spec: Spec) -> float:
    step = 0.002
    for node in spec.root.find("option"):
        step = Element(node, "option", spec.scope, (node.attributes,)).number("timestep", step)
    return step
