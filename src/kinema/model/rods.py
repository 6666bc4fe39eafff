"""Rods: capsules along points, each held to the one before by a joint that stretches, shears, bends and twists.

    segment k     from point k to point k + 1, its z along it; its frame at the first point ("start") or midway ("com")
    joint k       end of segment k to the beginning of segment k + 1
    closed        one more joint, from the last segment to the first, in no articulation: it closes a loop
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import BuildError
from .shapes import PALETTE
from .transform import quat_between, quat_rotate

LEAST = 1e-9
"""Length [m] that a segment must be longer than."""


def segment_frames(points: np.ndarray, quaternions: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of segments and their orientations (xyzw), z along each."""
    along = np.diff(points, axis=0)
    lengths = np.linalg.norm(along, axis=1)
    if np.any(lengths <= LEAST):
        short = int(np.argmin(lengths))
        raise BuildError(f"add_rod(): segment {short} has length {lengths[short]}: points must differ")
    if quaternions is None:
        turns = np.array([quat_between(np.array([0.0, 0.0, 1.0]), d) for d in along / lengths[:, None]])
        return lengths, turns
    turns = np.asarray([[float(x) for x in q] for q in quaternions], dtype=float)
    if turns.shape != (len(lengths), 4):
        raise BuildError(f"add_rod(): {len(lengths)} segments need as many quaternions, got {len(turns)}")
    z = quat_rotate(turns, np.tile([0.0, 0.0, 1.0], (len(turns), 1)))
    wrong = np.flatnonzero(np.sum(z * along, axis=1) < 0.999 * lengths)
    if len(wrong):
        raise BuildError(f"add_rod(): quaternion {wrong[0]} does not turn z along its segment")
    return lengths, turns


def chain_of(rod: Any) -> dict[str, Any]:
    """Points, frames, radius and whether it is closed, of an object such as Newton's Rod."""
    edges = getattr(rod, "edges", None)
    points = np.asarray(rod.points, dtype=float)
    ordered = [[k, k + 1] for k in range(len(points) - 1)]
    if edges is not None and np.asarray(edges).tolist() != ordered:
        raise BuildError("add_rod(): a rod that branches is not supported: add a rod for each branch")
    stated = [name for name in ("youngs_modulus", "stretch_rigidity", "bend_rigidity") if getattr(rod, name, None)]
    if stated:
        raise BuildError(f"add_rod(): {stated[0]} of a rod is not supported: give stiffnesses of its joints")
    return {"positions": points, "quaternions": rod.quaternions, "radius": rod.radius, "closed": rod.closed}


def add_rod(
    builder: Any, positions: Sequence[Any], *, quaternions: Any = None, radius: float | None = None, cfg: Any = None,
    closed: bool | None = None, label: str | None = None, wrap_in_articulation: bool = True, color: Any = None,
    body_frame_origin: str | None = None, gains: dict[str, float | None] | None = None,
) -> tuple[list[int], list[int]]:  # fmt: skip
    """Add a rod; see `ModelBuilder.add_rod`. Returns its bodies and joints."""
    points = np.asarray([[float(x) for x in p] for p in positions], dtype=float)
    if points.ndim != 2 or len(points) < 3:
        raise BuildError(f"add_rod(): a rod has two segments or more, so three points; got {len(points)}")
    if body_frame_origin not in (None, "start", "com"):
        raise BuildError(f"add_rod(): body_frame_origin={body_frame_origin!r} is not 'start' or 'com'")
    lengths, turns = segment_frames(points, quaternions)
    back = 0.5 if body_frame_origin == "com" else 0.0
    named = (lambda what: f"{label}_{what}") if label else (lambda what: None)
    bodies = []
    for k, (length, turn) in enumerate(zip(lengths, turns, strict=True)):
        origin = points[k] + back * (points[k + 1] - points[k])
        middle = (0.5 - back) * length
        body = builder.add_link(xform=np.concatenate([origin, turn]), com=(0.0, 0.0, middle),
                                label=named(f"edge_body_{k}"))  # fmt: skip
        builder.add_shape_capsule(
            body, xform=(0.0, 0.0, middle, 0.0, 0.0, 0.0, 1.0), radius=0.1 if radius is None else radius,
            half_height=0.5 * length, cfg=cfg, label=named(f"edge_capsule_{k}"),
            color=np.array(PALETTE[0]) / 255.0 if color is None else color,
        )  # fmt: skip
        bodies.append(body)

    def end(k: int, far: bool) -> tuple[float, ...]:
        return (0.0, 0.0, float(((1.0 if far else 0.0) - back) * lengths[k]), 0.0, 0.0, 0.0, 1.0)

    def join(a: int, b: int, number: int) -> int:
        return builder.add_joint_rod(
            bodies[a], bodies[b], parent_xform=end(a, True), child_xform=end(b, False),
            label=named(f"cable_{number}"), collision_filter_parent=True, **(gains or {}),
        )  # fmt: skip

    root = [builder.add_joint_free(bodies[0], label=named("free_joint"))] if wrap_in_articulation else []
    joints = [join(k, k + 1, k + 1) for k in range(len(bodies) - 1)]
    if wrap_in_articulation:
        builder.add_articulation([*root, *joints], label=named("articulation"))
    if closed:
        joints.append(join(len(bodies) - 1, 0, len(joints) + 1))
    return bodies, joints
