"""Rods: elastic flexes of dimension 1, discrete elastic rods (Bergou et al. 2008) with bending and torsion.

A vertex between two segments of lengths l0, l1 bends with k = E I / (l0 + l1) against its curvature binormal, of size
2 tan(θ / 2) at a turn θ, and twists with G J / (l0 + l1). Turns of less than 1e-4 rad count as straight.

    single   [v0, v1, v2, -1, k1, k2 - k1, |κ|, joint, kt, b]   a vertex, both principal stiffnesses, the joint of its
             second segment's twist (-1: none), and the smaller half size of a box section (negative: it is the first)
    pair     [v0, v1, v2, v3, w1, w2, |κ1|, |κ2|, kd cos ψ, kd sin ψ]   two bent neighbours without twist joints: their
             shares of k, and the angle ψ between the planes they bend in, held by kd = G J / 2 l

An open chain of two segments or more turns: every segment has a body of its own in the world with a hinge, named
<name>_twist_0, _1, ..., and <name>_twist for the last. A segment at an end whose two points are pinned is clamped and
has none. Such a rod keeps 6 n + n - 1 numbers of state: reference frames of its n segments, twists of its vertices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kinema.compile.context import Compilation
from kinema.compile.element import Element
from kinema.mjcf.source import Node
from kinema.mujoco_enums import MINVAL, Joint

if TYPE_CHECKING:
    from kinema.compile.flex import Flex
    from kinema.compile.flexcomp import Flexcomp

RADIUS = 0.005
STRAIGHT = 1e-4
"""Turns below this, in radians, are none."""
LIGHT = 1e-9
"""Mass of a body that only turns."""
RECORD = 10


@dataclass(frozen=True, slots=True)
class Section:
    """A cross-section: second moments of area, torsional constant, and half sizes of a box (None: a circle)."""

    weak: float
    strong: float
    torsion: float
    box: tuple[float, float] | None = None

    @property
    def minor(self) -> float:
        """The smaller half size of a box, negative where it is the first; 0 for a circle."""
        if self.box is None:
            return 0.0
        return -self.box[0] if self.box[0] < self.box[1] else self.box[1]


def _elasticity(e: Element) -> Element:
    return next(iter(e.children("elasticity")), None) or Element(e.node, "elasticity", e.scope, ({},))


def _box(e: Element) -> tuple[float, float] | None:
    """Half sizes of the box section of an elastic rod; None for a circle."""
    elasticity = _elasticity(e)
    if elasticity.text("section", "circle") != "box" or elasticity.number("young", 0.0) <= 0:
        return None
    a, b = elasticity.vector("sectionsize", (0.0, 0.0), length=2).tolist()
    return a, b


def radius_of(e: Element) -> float:
    """Radius around the elements of a flex: of a rod with a box section, its smaller half size."""
    rigid = len(set(e.text("body", "").split())) == 1  # nothing of it bends
    box = _box(e) if e.integer("dim", 2) == 1 and not rigid else None
    if box is None:
        return e.number("radius", RADIUS)
    minor = min(box)
    if minor <= 0:
        raise _elasticity(e).error("a box section needs two positive half sizes", "sectionsize")
    if e.given("radius") and e.number("radius") != minor:
        fix = f"remove radius or set it to {minor:g}"
        raise e.error(f"the radius of a box section is its smaller half size: {fix}", "radius")
    return minor


def refuse_box(e: Element) -> None:
    """Segments of a flexcomp with other dofs than full do not turn, which a box section must."""
    if _box(e) is not None:
        raise e.error("a rod with a box section needs dof='full', so that its segments can turn", "dof")


def section_of(e: Element, radius: float) -> Section:
    """The cross-section of a rod."""
    box = _box(e)
    if box is None:
        if radius <= 0:
            raise e.error("an elastic rod with a circular section needs a positive radius", "radius")
        area = math.pi * radius**4
        return Section(area / 4, area / 4, area / 2)
    w, h = 2 * min(box), 2 * max(box)
    torsion = h * w**3 / 3 * (1 - 0.63 * w / h * (1 - w**4 / (12 * h**4)))
    return Section(h * w**3 / 12, w * h**3 / 12, torsion, box)


# ---- chains


def neighbours(edge: np.ndarray, number: int) -> list[list[int]]:
    """Of every vertex the others it shares a segment with, in the order of the segments."""
    near: list[list[int]] = [[] for _ in range(number)]
    for a, b in edge.tolist():
        near[a].append(b)
        near[b].append(a)
    return near


def open_chain(edge: np.ndarray, number: int) -> list[int] | None:
    """Vertices along the segments, if these are one open chain of at least two; it begins at the end named first."""
    near = neighbours(edge, number)
    used = [v for v in range(number) if near[v]]
    ends = [v for v in used if len(near[v]) == 1]
    if len(edge) < 2 or len(ends) != 2 or any(len(near[v]) > 2 for v in used):
        return None
    here = next(v for v in edge.ravel().tolist() if len(near[v]) == 1)
    chain, before = [here], -1
    while True:
        ahead = [v for v in near[here] if v != before]
        if not ahead:
            break
        before, here = here, ahead[0]
        chain.append(here)
    return chain if len(chain) == len(used) else None


def twist_names(name: str, segments: int) -> list[str]:
    """Names of the joints of all segments of a chain."""
    return [f"{name}_twist_{i}" for i in range(segments - 1)] + [f"{name}_twist"]


def _clamped(held: list[bool]) -> list[bool]:
    """Which segments turn with the body that holds both their points: at the ends only, the last from three on."""
    segments = [a and b for a, b in zip(held, held[1:], strict=False)]
    last = len(segments) - 1
    return [both and (i == 0 or (i == last and last >= 2)) for i, both in enumerate(segments)]


# ---- bodies, made by flexcomps


def twist_bodies(f: Flexcomp, element: np.ndarray, pinned: np.ndarray) -> Iterator[Node]:
    """Bodies of the segments of an elastic open chain.

    Args:
        element: (n, 2) segments between points that are used.
        pinned: Which of these are pinned.
    """
    elasticity = _elasticity(f.e)
    if f.points.dim != 1 or elasticity.number("young", 0.0) <= 0:
        return
    if f.dof != "full":
        return
    section = section_of(f.e, radius_of(f.e))
    chain = open_chain(np.sort(element, axis=1), len(pinned))
    if chain is None:
        return
    size = sum(x * x for x in section.box) / 3 if section.box else radius_of(f.e) ** 2 / 2
    inertia = " ".join([repr(f.mass / len(element) * size)] * 3)
    clamped = _clamped([bool(pinned[v]) for v in chain])
    for name, still in zip(twist_names(f.name, len(clamped)), clamped, strict=True):
        if still:
            continue
        body = f.node("body", {"name": name})
        body.add(f.node("inertial", {"pos": "0 0 0", "mass": repr(LIGHT), "diaginertia": inertia}))
        body.add(f.node("joint", {"name": name, "type": "hinge", "pos": "0 0 0", "axis": "1 0 0"}))
        yield body


# ---- the flex


def compile_rod(c: Compilation, f: Flex) -> None:
    """Set the bending of a rod and the state it keeps."""
    elasticity = f.child("elasticity")
    if elasticity.number("shear", 0.0) < 0:
        raise elasticity.error("shear cannot be negative", "shear")
    if f.young <= 0 or f.rigid:
        return
    assert f.edges is not None
    section = section_of(f.e, f.radius)
    shear = elasticity.number("shear", 0.0) or f.young / (2 * (1 + f.poisson))
    rod = _Rod(f, section, shear)
    joints = _joints(c, f, rod.chain, section)
    if joints is None:
        rows = rod.pairs_and_singles()
    else:
        assert rod.chain is not None
        threes = zip(rod.chain, rod.chain[1:], rod.chain[2:], joints[1:], strict=False)
        rows = [rod.single(a, v, b, joint) for a, v, b, joint in threes]
        segments = len(rod.chain) - 1
        f.plastic = 6 * segments + segments - 1
    if rows:
        f.row["flex_bending"] = np.concatenate([[float(len(rows))], *rows])


class _Rod:
    """Records of a rod's vertices."""

    def __init__(self, f: Flex, section: Section, shear: float):
        assert f.edges is not None
        self.f, self.section, self.shear, self.x = f, section, shear, f.xvert
        self.edge = f.edges.edge
        self.near = neighbours(self.edge, len(self.x))
        self.chain = open_chain(self.edge, len(self.x))

    def turn(self, a: int, v: int, b: int) -> tuple[float, float]:
        """|κ| at a vertex, 0 where it is straight, and l0 + l1."""
        before, after = self.x[v] - self.x[a], self.x[b] - self.x[v]
        one, two = float(np.linalg.norm(before)), float(np.linalg.norm(after))
        along = one * two + float(before @ after)
        if one < MINVAL or two < MINVAL or along < MINVAL:
            raise self.f.e.error(f"the rod folds back, or has a segment without length, at vertex {v}")
        across = float(np.linalg.norm(np.cross(before, after)))
        bent = math.atan2(across, float(before @ after)) > STRAIGHT
        return (2 * across / along if bent else 0.0), one + two

    def single(self, a: int, v: int, b: int, joint: int = -1) -> np.ndarray:
        turn, length = self.turn(a, v, b)
        weak, strong = (self.f.young * moment / length for moment in (self.section.weak, self.section.strong))
        twist = self.shear * self.section.torsion / length
        return np.array([a, v, b, -1, weak, strong - weak, turn, joint, twist, self.section.minor])

    def pairs_and_singles(self) -> list[np.ndarray]:
        inner = {v: (near[0], near[1]) for v, near in enumerate(self.near) if len(near) == 2}
        turns = {v: self.turn(a, v, b) for v, (a, b) in inner.items()}
        bent = {v for v, (turn, _) in turns.items() if turn}
        pairs = [(a, b) for a, b in self.edge.tolist() if a in bent and b in bent]
        shared = {v: sum(v in pair for pair in pairs) for v in bent}
        rows = []
        for a, b in pairs:
            before, after = (next(w for w in self.near[v] if w != other) for v, other in ((a, b), (b, a)))
            weight = [self.f.young * self.section.weak / turns[v][1] / shared[v] for v in (a, b)]
            planes = self.dihedral(before, a, b, after)
            rows.append(np.array([before, a, b, after, *weight, turns[a][0], turns[b][0], *planes]))
        rows += [self.single(a, v, b) for v, (a, b) in inner.items() if not shared.get(v, 0)]
        return rows

    def dihedral(self, v0: int, v1: int, v2: int, v3: int) -> tuple[float, float]:
        """kd (cos ψ, sin ψ) of the angle between the planes two neighbours bend in."""
        e0, e1, e2 = (self.x[b] - self.x[a] for a, b in ((v0, v1), (v1, v2), (v2, v3)))
        length = float(np.linalg.norm(e1))
        one, two = np.cross(e0, e1), np.cross(e1, e2)
        angle = math.atan2(float(np.cross(one, two) @ e1) / length, float(one @ two))
        stiffness = self.shear * self.section.torsion / (2 * length)
        return stiffness * math.cos(angle), stiffness * math.sin(angle)


def _joints(c: Compilation, f: Flex, chain: list[int] | None, section: Section) -> list[int] | None:
    """Ids of the joints that turn the segments of a chain, -1 for clamped ones; None where it has none."""
    e = f.e
    if chain is None:
        if section.box is not None:
            raise e.error("a rod with a box section must be one open chain of at least two segments")
        return None
    names = twist_names(e.name, len(chain) - 1) if e.name else []
    table = _turning(c)
    clamped = _clamped_in(f, chain)
    if not any(name in table for name in names):
        if section.box is not None:
            wanted = ", ".join(names[:2]) if names else "a name, and"
            raise e.error(f"a rod with a box section needs joints {wanted} ... that turn its segments, as of flexcomps")
        return None
    found = []
    for name, still in zip(names, clamped, strict=True):
        if still and name in table:
            raise e.error(f"joint {name!r} would turn a segment that its pinned vertices clamp: remove it")
        if not still and name not in table:
            raise e.error(f"the rod's segments turn, but joint {name!r} is missing")
        if not still and c.arrays["jnt_type"][table[name]] != Joint.HINGE:
            raise e.error(f"joint {name!r}, which turns a segment of the rod, must be a hinge")
        found.append(-1 if still else table[name])
    if found[0] >= 0 and found[1] >= 0 and found[1] != found[0] + 1:
        raise e.error(f"joint {names[0]!r} must come immediately before {names[1]!r}")
    return found


def _turning(c: Compilation) -> dict[str, int]:
    """Joints that can turn a segment: of bodies of the world that hold nothing else."""
    a = c.arrays
    body = a["jnt_bodyid"]
    alone = (a["body_parentid"][body] == 0) & (a["body_jntnum"][body] == 1) & (a["body_geomnum"][body] == 0)
    return {name: joint for name, joint in c.ids("joint").items() if alone[joint]}


def _clamped_in(f: Flex, chain: list[int]) -> list[bool]:
    """Segments at the ends whose vertices are in one body."""
    same = [f.vertbody[a] == f.vertbody[b] for a, b in zip(chain, chain[1:], strict=False)]
    last = len(same) - 1
    return [both and (i == 0 or (i == last and last >= 2)) for i, both in enumerate(same)]
