"""Bounding volumes of bodies: a hierarchy over each body's colliding geoms, in the body's inertial frame.

The boxes of all geoms are turned together. A body with one geom, as most have, is one leaf; only those with more are
sorted, each by itself.
"""

from __future__ import annotations

import numpy as np

from kinema.compile import pose
from kinema.compile.context import Compilation
from kinema.geometry.bvh import build, leaf_boxes

_CORNERS = np.array([[(v >> k) & 1 for k in range(3)] for v in range(8)]) * 2.0 - 1.0


def fill_hierarchies(c: Compilation) -> None:
    """Set body_bvhadr, body_bvhnum and the bodies' part of bvh_*."""
    ids, owner, records = [], [], []
    first = 0
    for body in c.bodies:
        for offset, e in enumerate(body.held["geom"]):
            if not e.record.is_visual:
                ids.append(first + offset)
                owner.append(body.id)
                records.append((e.record, body.record.inertial))
        first += len(body.held["geom"])
    number = np.bincount(np.array(owner, dtype=int), minlength=len(c.bodies))
    counts = np.maximum(2 * number - 1, 0)
    starts, begin = np.cumsum(counts) - counts, np.cumsum(number) - number
    centre, low, high = _boxes(records)

    total = int(counts.sum())
    child, nodeid = np.full((total, 2), -1, np.int32), np.full(total, -1, np.int32)
    depth, aabb = np.zeros(total, np.int32), np.zeros((total, 6))
    id_of, alone = np.array(ids, dtype=np.int32), np.flatnonzero(number == 1)
    nodeid[starts[alone]] = id_of[begin[alone]]
    aabb[starts[alone]] = leaf_boxes(low[begin[alone]], high[begin[alone]])
    for body in np.flatnonzero(number > 1).tolist():
        mine, there = slice(begin[body], begin[body] + number[body]), slice(starts[body], starts[body] + counts[body])
        tree = build(centre[mine], low[mine], high[mine], id_of[mine])
        child[there], nodeid[there], depth[there], aabb[there] = tree.child, tree.nodeid, tree.depth, tree.aabb

    a = c.arrays
    a["body_bvhnum"] = counts.astype(np.int32)
    a["body_bvhadr"] = np.where(counts > 0, starts, -1).astype(np.int32)
    a["bvh_aabb"], a["bvh_child"], a["bvh_nodeid"], a["bvh_depth"] = aabb, child, nodeid, depth


def _boxes(records: list) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centre, lower and upper corner of each geom's box in the inertial frame of its body, (n, 3) each."""
    if not records:
        none = np.zeros((0, 3))
        return none, none, none
    back = np.array([pose.conjugate(inertial.quat) for _, inertial in records]).T[..., None]  # (4, n, 1)
    quat = np.array([g.quat for g, _ in records], dtype=float).T[..., None]
    box = np.array([g.aabb for g, _ in records], dtype=float)
    at = [[a - b for a, b in zip(g.pos, inertial.pos, strict=True)] for g, inertial in records]
    corners = box[:, None, :3] + _CORNERS * box[:, None, 3:]  # (n, 8, 3)
    turned = pose.rotate_parts(quat, *corners.transpose(2, 0, 1))
    moved = (t + a[:, None] for t, a in zip(turned, np.array(at, dtype=float).T, strict=True))
    points = np.array(pose.rotate_parts(back, *moved))  # (3, n, 8)
    centre = [pose.rotate(pose.conjugate(inertial.quat), p) for p, (_, inertial) in zip(at, records, strict=True)]
    return np.array(centre, dtype=float), points.min(axis=2).T, points.max(axis=2).T
