"""Bounding volumes of bodies: a hierarchy over each body's colliding geoms, in the body's inertial frame."""

from __future__ import annotations

import numpy as np

from kinema.compile import pose
from kinema.compile.context import Compilation
from kinema.compile.tree import Body
from kinema.geometry.bvh import BoundingVolumes, build

_CORNERS = np.array([[(v >> k) & 1 for k in range(3)] for v in range(8)]) * 2.0 - 1.0


def _hierarchy(body: Body, first: int) -> BoundingVolumes:
    """The hierarchy of one body whose geoms are numbered from `first`."""
    inertial = body.record.inertial
    back = pose.conjugate(inertial.quat)
    low, high, centre, ids = [], [], [], []
    for offset, e in enumerate(body.held["geom"]):
        g = e.record
        if g.is_visual:
            continue
        at = [a - b for a, b in zip(g.pos, inertial.pos, strict=True)]
        corners = (np.array(g.aabb[:3]) + _CORNERS * np.array(g.aabb[3:])).T
        turned = pose.rotate_parts(g.quat, *corners)
        points = np.array(pose.rotate_parts(back, *(t + a for t, a in zip(turned, at, strict=True)))).T
        low.append(points.min(axis=0))
        high.append(points.max(axis=0))
        centre.append(pose.rotate(back, at))
        ids.append(first + offset)
    shape = (len(ids), 3)
    return build(np.array(centre).reshape(shape), np.array(low).reshape(shape), np.array(high).reshape(shape), ids)


def fill_hierarchies(c: Compilation) -> None:
    """Set body_bvhadr, body_bvhnum and the bodies' part of bvh_*."""
    trees, first = [], 0
    for body in c.bodies:
        trees.append(_hierarchy(body, first))
        first += len(body.held["geom"])
    counts = np.array([len(tree.nodeid) for tree in trees], dtype=np.int32)
    starts = np.cumsum(counts) - counts
    a = c.arrays
    a["body_bvhnum"] = counts
    a["body_bvhadr"] = np.where(counts > 0, starts, -1).astype(np.int32)
    a["bvh_aabb"] = np.concatenate([tree.aabb for tree in trees])
    a["bvh_child"] = np.concatenate([tree.child for tree in trees])
    a["bvh_nodeid"] = np.concatenate([tree.nodeid for tree in trees])
    a["bvh_depth"] = np.concatenate([tree.depth for tree in trees])
