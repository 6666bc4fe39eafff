"""Rods in a builder: capsules along segments, joined by joints that stretch, shear, bend and twist.

    segment k     from its first point to its second, z along it; its frame at the first ("start") or midway ("com")
    joints        between segments that share a point, as a tree found breadth first, a free joint at its first segment;
                  or, without articulations, from the first segment at each point to all others there
    frames        of a joint: z from the parent into the child; turned about y by π where a segment runs the other way
    closed        one more joint, from the last segment to the first, in no articulation: it closes a loop
    stiffness     of a joint, where the rod has rigidities R: R / L, L half the length of its two segments together
"""

from __future__ import annotations

import itertools
import warnings
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import BuildError
from .enums import ShapeFlags
from .rod import MODES, aligned_frames, chain_edges, check_edges, check_frames, check_lengths, rigidities_of
from .shapes import PALETTE


@dataclass
class Graph:
    """Segments of a rod: which points they join, and where they stand."""

    points: np.ndarray
    edges: np.ndarray
    lengths: np.ndarray
    turns: np.ndarray

    def __post_init__(self) -> None:
        self.at_point: list[list[int]] = [[] for _ in self.points]
        for k, (u, v) in enumerate(self.edges.tolist()):
            self.at_point[u].append(k)
            self.at_point[v].append(k)

    @property
    def is_chain(self) -> bool:
        """Whether segments join each point to the next."""
        return np.array_equal(self.edges, chain_edges(len(self.points)))


def graph_of(points: Any, edges: Any, quaternions: Any, call: str) -> Graph:
    """Segments of points and edges (each point and the next if None), checked."""
    places = np.asarray([[float(x) for x in p] for p in points], dtype=float)
    if places.ndim != 2 or len(places) < 2:
        raise BuildError(f"{call}: a rod has two points or more, of three numbers each")
    pairs = chain_edges(len(places)) if edges is None else check_edges(edges, len(places), call)
    along, lengths = check_lengths(places, pairs, call)
    turns = aligned_frames(along) if quaternions is None else check_frames(quaternions, along, call)
    return Graph(places, pairs, lengths, turns)


@dataclass
class Assembly:
    """A rod while it is added."""

    builder: Any
    graph: Graph
    label: str | None
    back: float  # where frames of segments are: 0 at the first point, 0.5 midway
    gains: dict[str, float | None]
    rigidities: dict[str, float]
    call: str
    bodies: list[int] = field(default_factory=list)
    joints: list[int] = field(default_factory=list)
    pairs: set[tuple[int, int]] = field(default_factory=set)

    def named(self, what: str, number: int | None = None) -> str | None:
        """The label of a part."""
        return None if not self.label else f"{self.label}_{what}" + ("" if number is None else f"_{number}")

    def add_segments(self, radius: float | None, cfg: Any, color: Any) -> None:
        """A body and a capsule for each segment."""
        g = self.graph
        for k, (length, turn) in enumerate(zip(g.lengths, g.turns, strict=True)):
            first, second = g.points[g.edges[k]]
            middle = (0.5 - self.back) * length
            place = np.concatenate([first + self.back * (second - first), turn])
            body = self.builder.add_link(xform=place, com=(0.0, 0.0, middle), label=self.named("edge_body", k))
            self.builder.add_shape_capsule(
                body, xform=(0.0, 0.0, middle, 0.0, 0.0, 0.0, 1.0), radius=0.1 if radius is None else radius,
                half_height=0.5 * length, cfg=cfg, label=self.named("edge_capsule", k),
                color=np.array(PALETTE[0]) / 255.0 if color is None else color,
            )  # fmt: skip
            self.bodies.append(body)

    def end(self, segment: int, far: bool, *, turned: bool = False) -> tuple[float, ...]:
        """The frame at an end of a segment; turned: with z the other way."""
        z = float(((1.0 if far else 0.0) - self.back) * self.graph.lengths[segment])
        return (0.0, 0.0, z, 0.0, 1.0, 0.0, 0.0) if turned else (0.0, 0.0, z, 0.0, 0.0, 0.0, 1.0)

    def join(self, parent: int, child: int, frame_p: tuple[float, ...], frame_c: tuple[float, ...]) -> int:
        """A joint between two segments."""
        half = 0.5 * (self.graph.lengths[parent] + self.graph.lengths[child])
        stiff = {f"{mode}_stiffness": value / half for mode, value in self.rigidities.items()}
        joint = self.builder.add_joint_rod(
            self.bodies[parent], self.bodies[child], parent_xform=frame_p, child_xform=frame_c,
            label=self.named("cable", len(self.joints) + 1), collision_filter_parent=True, **{**self.gains, **stiff},
        )  # fmt: skip
        self.joints.append(joint)
        self.pairs.add((min(parent, child), max(parent, child)))
        return joint

    def add_forest(self) -> None:
        """An articulation for each part that hangs together, joints breadth first from its first segment."""
        g, held = self.graph, set()
        for number, first in enumerate(k for k in range(len(g.edges)) if k not in held):
            which = None if number == 0 else number
            joints = [self.builder.add_joint_free(self.bodies[first], label=self.named("free_joint", which))]
            held.add(first)
            waiting, count = deque([first]), 0
            points: set[int] = set()
            while waiting:
                parent = waiting.popleft()
                u, v = g.edges[parent].tolist()
                count, points = count + 1, points | {u, v}
                for point in (u, v):
                    for child in g.at_point[point]:
                        if child not in held:
                            far = point == g.edges[child, 1]
                            frame_p = self.end(parent, point == v, turned=point == u)
                            joints.append(self.join(parent, child, frame_p, self.end(child, far, turned=far)))
                            held.add(child)
                            waiting.append(child)
            if count > len(points) - 1:
                warnings.warn(
                    f"{self.call}: segments close a circle, which a tree of joints leaves open; "
                    "wrap_in_articulation=False joins them all", stacklevel=5,
                )  # fmt: skip
            self.builder.add_articulation(joints, label=self.named("articulation", which))

    def add_stars(self) -> None:
        """At each point, joints from its first segment to all others."""
        for point, (first, *others) in ((p, found) for p, found in enumerate(self.graph.at_point) if found):
            for child in others:
                ends = [self.end(k, point == self.graph.edges[k, 1]) for k in (first, child)]
                self.join(first, child, *ends)

    def filter_junctions(self) -> None:
        """Segments that meet at a point with others do not touch, whether joined or not."""
        flags, shapes = self.builder.rows("shape_flags"), self.builder.rows_by("shape", "shape_body")
        for segments in self.graph.at_point:
            pairs = itertools.combinations(segments, 2) if len(segments) > 2 else ()
            for a, b in (pair for pair in pairs if pair not in self.pairs):
                for one, other in itertools.product(shapes[self.bodies[a]], shapes[self.bodies[b]]):
                    if flags[one] & flags[other] & ShapeFlags.COLLIDE_SHAPES:
                        self.builder.add_shape_collision_filter_pair(one, other)


def _check_rigidities(graph: Graph, wrapped: bool, call: str) -> None:
    """Rigidities say how stiff a joint is only where two segments meet, and all that meet are joined."""
    if graph.is_chain and len(graph.edges) > 1:
        return
    if any(len(found) > 2 for found in graph.at_point):
        raise BuildError(f"{call}: a rod that branches needs stiffnesses of its joints, not rigidities")
    if wrapped and len(graph.edges) >= len(set(graph.edges.reshape(-1).tolist())):
        raise BuildError(f"{call}: a rod in a circle that has rigidities needs wrap_in_articulation=False")


def add_rod(
    builder: Any, graph: Graph, *, radius: float | None, cfg: Any, closed: bool, label: str | None,
    wrap_in_articulation: bool, color: Any, body_frame_origin: str | None, gains: dict[str, float | None],
    rigidities: dict[str, float] | None, junction_collision_filter: bool, call: str,
) -> tuple[list[int], list[int]]:  # fmt: skip
    """Add a rod; see `ModelBuilder.add_rod`. Returns its bodies and joints."""
    if body_frame_origin not in (None, "start", "com"):
        raise BuildError(f"{call}: body_frame_origin={body_frame_origin!r} is not 'start' or 'com'")
    if radius is not None and not (np.isfinite(radius) and radius > 0.0):
        raise BuildError(f"{call}: radius={radius!r} must be greater than zero")
    stiff = {mode: value for mode, value in (rigidities or {}).items() if gains[f"{mode}_stiffness"] is None}
    if any(stiff.values()):
        _check_rigidities(graph, wrap_in_articulation, call)
    gains = dict(gains)
    for mode, leader in (("shear", "stretch"), ("twist", "bend")):
        if mode in stiff and gains[f"{mode}_damping"] is None:  # damping follows though stiffness does not
            gains[f"{mode}_damping"] = gains[f"{leader}_damping"]
    made = Assembly(builder, graph, label, 0.5 if body_frame_origin == "com" else 0.0, gains, stiff, call)
    made.add_segments(radius, cfg, color)
    made.add_forest() if wrap_in_articulation else made.add_stars()
    if closed:
        last = len(graph.edges) - 1
        made.join(last, 0, made.end(last, True), made.end(0, False))
    if junction_collision_filter:
        made.filter_junctions()
    return made.bodies, made.joints


def check_chain(positions: Sequence[Any], call: str) -> None:
    """A chain given by points alone has a joint."""
    if len(positions) < 3:
        raise BuildError(f"{call}: a rod has two segments or more, so three points; got {len(positions)}")


def gains_of(given: dict[str, Any]) -> dict[str, float | None]:
    """Stiffness and damping of joints among some arguments."""
    return {f"{mode}_{name}": given[f"{mode}_{name}"] for mode in MODES for name in ("stiffness", "damping")}


def rod_parts(rod: Any, call: str) -> tuple[Graph, dict[str, Any]]:
    """Segments of a `Rod` (or Newton's), and its numbers."""
    graph = graph_of(rod.points, getattr(rod, "edges", None), rod.quaternions, call)
    return graph, {"radius": rod.radius, "closed": bool(rod.closed), "rigidities": rigidities_of(rod)}
