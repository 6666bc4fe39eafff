"""Rod: points, the segments between them, a frame for each segment, and what the rod is made of.

    frames       z along the segment; along a chain carried on without twist, so that each is the one before, turned by
                 the least rotation that brings its z to the new direction; elsewhere turned from z on its own
    rigidities   of a round section of radius r, Young's modulus E and shear modulus G = E / (2 (1 + ν)):
                 stretch E A, shear 0.9 G A, bend E I, twist G J, with A = π r², I = π r⁴ / 4, J = π r⁴ / 2
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from ..closed import Closed
from ..errors import BuildError
from .transform import quat_between, quat_mul, quat_rotate

LEAST = 1e-9
"""Length [m] that a segment must be longer than."""
SHEAR = 0.9
"""Share of a round section that bears shear."""
MODES = ("stretch", "shear", "bend", "twist")
UP = np.array([0.0, 0.0, 1.0])


def chain_edges(count: int) -> np.ndarray:
    """Edges of a chain of points."""
    return np.column_stack([np.arange(count - 1), np.arange(1, count)]).astype(np.int32)


def check_edges(edges: Any, count: int, call: str) -> np.ndarray:
    """Edges between points that exist and differ, each pair once."""
    found = np.asarray(edges)
    if found.ndim != 2 or found.shape[1:] != (2,) or found.dtype.kind not in "iu" or not len(found):
        raise BuildError(f"{call}: edges are pairs of indices of points, one or more; got {edges!r}")
    wrong = np.flatnonzero(((found < 0) | (found >= count)).any(axis=1))
    if len(wrong):
        raise BuildError(f"{call}: edge {wrong[0]}, {found[wrong[0]].tolist()}: there are {count} points")
    same = np.flatnonzero(found[:, 0] == found[:, 1])
    if len(same):
        raise BuildError(f"{call}: edge {same[0]} joins point {found[same[0], 0]} to itself")
    return found.astype(np.int32)


def check_lengths(points: np.ndarray, edges: np.ndarray, call: str) -> tuple[np.ndarray, np.ndarray]:
    """Segments as vectors and their lengths, none too short."""
    along = points[edges[:, 1]] - points[edges[:, 0]]
    lengths = np.linalg.norm(along, axis=1)
    if np.any(lengths <= LEAST):
        short = int(np.argmin(lengths))
        raise BuildError(f"{call}: segment {short} has length {lengths[short]:g}: points must differ")
    return along, lengths


def check_frames(quaternions: Any, along: np.ndarray, call: str) -> np.ndarray:
    """A frame for each segment, z along it."""
    turns = np.asarray([[float(x) for x in q] for q in quaternions], dtype=float)
    if turns.shape != (len(along), 4):
        raise BuildError(f"{call}: {len(along)} segments need as many quaternions, got {len(turns)}")
    turns = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    z = quat_rotate(turns, np.tile(UP, (len(turns), 1)))
    wrong = np.flatnonzero(~(np.sum(z * along, axis=1) >= 0.999 * np.linalg.norm(along, axis=1)))
    if len(wrong):
        raise BuildError(f"{call}: quaternion {wrong[0]} does not turn z along its segment")
    return turns


def aligned_frames(along: np.ndarray) -> np.ndarray:
    """Frames turned from z to each segment."""
    return np.array([quat_between(UP, d / np.linalg.norm(d)) for d in along])


def carried_frames(along: np.ndarray, twist: float = 0.0) -> np.ndarray:
    """Frames carried along a chain without twist, and then twisted by equal parts of `twist` [rad]."""
    directions = along / np.linalg.norm(along, axis=1, keepdims=True)
    frames: list[np.ndarray] = []
    for before, here in zip([UP, *directions[:-1]], directions, strict=True):
        turn = quat_between(before, here)
        frame = quat_mul(turn, frames[-1]) if frames else turn
        if twist != 0.0:
            angle = 0.5 * twist / len(directions)
            frame = quat_mul(np.append(np.sin(angle) * here, np.cos(angle)), frame)
        frames.append(frame)
    return np.array(frames)


class Rod(Closed):
    """A rod to be added by `ModelBuilder.add_rod`.

    Args:
        points: Points of the centre line [m], shape (N, 3).
        edges: Pairs of points that segments join; each point and the next if None.
        quaternions: Frames of the segments (xyzw), z along each; carried along the chain if None.
        closed: Join the last segment of a chain to the first; its first and last points lie at one place.
        radius: Radius [m] of capsules and section; capsules have 0.1 if None.
        youngs_modulus: E [Pa], with radius and one of the next two.
        poissons_ratio: ν.
        shear_modulus: G [Pa].
        stretch_rigidity: E A [N], with the next three and instead of moduli.
        shear_rigidity: 0.9 G A [N].
        bend_rigidity: E I [N m²].
        twist_rigidity: G J [N m²].
    """

    def __init__(
        self, points: Sequence[Any] | np.ndarray, *, edges: Any = None, quaternions: Any = None, closed: bool = False,
        radius: float | None = None, youngs_modulus: float | None = None, poissons_ratio: float | None = None,
        shear_modulus: float | None = None, stretch_rigidity: float | None = None, shear_rigidity: float | None = None,
        bend_rigidity: float | None = None, twist_rigidity: float | None = None,
    ):  # fmt: skip
        rows = np.array([[float(x) for x in point] for point in points], dtype=np.float32)
        if rows.ndim != 2 or rows.shape[1:] != (3,) or len(rows) < 2 or not np.isfinite(rows).all():
            raise BuildError(f"Rod(): points are two or more places of three finite numbers; got shape {rows.shape}")
        if closed and edges is not None:
            raise BuildError("Rod(): closed=True is about a chain of points: leave edges= out")
        self.points = rows
        self.edges = chain_edges(len(rows)) if edges is None else check_edges(edges, len(rows), "Rod()")
        if len({tuple(sorted(edge)) for edge in self.edges.tolist()}) != len(self.edges):
            raise BuildError("Rod(): two edges join the same points")
        if closed and (len(rows) < 3 or not np.allclose(rows[0], rows[-1], rtol=0.0, atol=1e-6)):
            raise BuildError("Rod(): closed=True needs two segments or more, the last point where the first is")
        self.closed = bool(closed)
        self.radius = radius
        self.youngs_modulus, self.poissons_ratio, self.shear_modulus = youngs_modulus, poissons_ratio, shear_modulus
        self.stretch_rigidity, self.shear_rigidity = stretch_rigidity, shear_rigidity
        self.bend_rigidity, self.twist_rigidity = bend_rigidity, twist_rigidity
        rigidities_of(self)
        along, _ = check_lengths(self.points.astype(float), self.edges, "Rod()")
        self.quaternions: np.ndarray
        if quaternions is None:
            self.compute_frames()
        else:
            self.quaternions = check_frames(quaternions, along, "Rod()").astype(np.float32)

    @staticmethod
    def create_straight(
        start: Any, direction: Any, length: float, *, segment_count: int, twist_total: float = 0.0, **made_of: Any
    ) -> Rod:
        """A straight rod of equal segments, twisted by `twist_total` [rad] in all."""
        first, way = (np.array([float(x) for x in v]) for v in (start, direction))
        if segment_count < 1 or not length > 0.0 or not np.linalg.norm(way) > 0.0:
            raise BuildError(
                f"Rod.create_straight(): length={length!r}, segment_count={segment_count!r} and "
                f"direction={direction!r} must be greater than zero"
            )
        steps = np.linspace(0.0, float(length), int(segment_count) + 1)[:, None]
        rod = Rod(first + steps * way / np.linalg.norm(way), **made_of)
        rod.compute_frames(twist_total=twist_total)
        return rod

    @property
    def is_chain(self) -> bool:
        """Whether segments join each point to the next."""
        return np.array_equal(self.edges, chain_edges(len(self.points)))

    @property
    def point_count(self) -> int:
        """Number of points."""
        return len(self.points)

    @property
    def segment_count(self) -> int:
        """Number of segments."""
        return len(self.edges)

    @property
    def segment_lengths(self) -> np.ndarray:
        """Length [m] of each segment."""
        return np.linalg.norm(self.points[self.edges[:, 1]] - self.points[self.edges[:, 0]], axis=1)

    def compute_frames(self, *, twist_total: float = 0.0) -> None:
        """Find the frames anew from the points; `twist_total` [rad] is for chains."""
        along, _ = check_lengths(self.points.astype(float), self.edges, "Rod.compute_frames()")
        if twist_total != 0.0 and not self.is_chain:
            raise BuildError("Rod.compute_frames(): only a chain has a twist_total")
        frames = carried_frames(along, float(twist_total)) if self.is_chain else aligned_frames(along)
        self.quaternions = frames.astype(np.float32)

    def copy(self) -> Rod:
        """Another rod with the same numbers."""
        return deepcopy(self)


def rigidities_of(rod: Any) -> dict[str, float] | None:
    """Rigidities by mode, of a rod's numbers or of its material; None where it has neither."""
    given = {mode: getattr(rod, f"{mode}_rigidity", None) for mode in MODES}
    moduli = {name: getattr(rod, name, None) for name in ("youngs_modulus", "poissons_ratio", "shear_modulus")}
    stated = [name for name, value in moduli.items() if value is not None]
    for name in (*(f"{mode}_rigidity" for mode in MODES), "youngs_modulus", "shear_modulus"):
        value = getattr(rod, name, None)
        if value is not None and not (np.isfinite(value) and value >= 0.0):
            raise BuildError(f"a rod's {name}={value!r} must be finite and not below zero")
    if any(value is not None for value in given.values()):
        missing = [f"{mode}_rigidity" for mode, value in given.items() if value is None]
        if missing or stated:
            raise BuildError(f"a rod has all four rigidities or a material: {', '.join(missing or stated)} is at odds")
        return {mode: float(value) for mode, value in given.items() if value is not None}
    if not stated:
        return None
    radius, young, ratio, shear = rod.radius, *moduli.values()
    if radius is None or young is None or (ratio is None) == (shear is None):
        raise BuildError("a rod's material is radius=, youngs_modulus= and one of poissons_ratio= and shear_modulus=")
    if ratio is not None and not -1.0 < ratio < 0.5:
        raise BuildError(f"a rod's poissons_ratio={ratio!r} must lie between -1 and 0.5")
    if shear is None:
        shear = young / (2.0 * (1.0 + float(ratio or 0.0)))
    area, fourth = np.pi * radius**2, np.pi * radius**4
    values = (young * area, SHEAR * shear * area, young * fourth / 4.0, shear * fourth / 2.0)
    return dict(zip(MODES, map(float, values), strict=True))
