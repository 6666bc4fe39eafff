"""Fields computed from others, row by row of one source.

They are computed once per template and tiled with its other columns, so their cost does not grow with worlds.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .enums import GeoType
from .fields import FIELDS
from .inertia import correct_inertia, inverse_inertia
from .merge import Template


def derive(source: Template, *, balance: bool, bound_mass: float | None, bound_inertia: float | None) -> None:
    """Fill `source.prepared` with every derived column."""
    columns = {name: source.column(FIELDS[name]) for name in _INPUTS}
    mass, inertia, changed = correct_inertia(
        columns["body_mass"],
        columns["body_inertia"],
        balance=balance,
        bound_mass=bound_mass,
        bound_inertia=bound_inertia,
    )
    if changed.any():
        labels = source.column(FIELDS["body_label"])[changed]
        warnings.warn(
            f"finalize(): mass or inertia of {changed.sum()} bodies is not physical and was corrected, "
            f"first {labels[0]!r}",
            stacklevel=5,
        )
    lower, upper = local_boxes(columns["shape_type"], columns["shape_scale"], columns["shape_source"])
    source.prepared = {
        "body_mass": mass,
        "body_inertia": inertia,
        "body_inv_mass": reciprocal(mass),
        "body_inv_inertia": inverse_inertia(inertia).astype(np.float32),
        "particle_inv_mass": reciprocal(columns["particle_mass"]),
        "joint_ancestor": joint_ancestors(
            columns["joint_parent"], columns["joint_child"], columns["joint_articulation"]
        ),
        "shape_collision_aabb_lower": lower,
        "shape_collision_aabb_upper": upper,
    }


_INPUTS = (
    "body_mass", "body_inertia", "particle_mass", "joint_parent", "joint_child", "joint_articulation", "shape_type",
    "shape_scale", "shape_source",
)  # fmt: skip


def reciprocal(values: np.ndarray) -> np.ndarray:
    """1 / x, and 0 for 0 (what has no mass does not move by forces)."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values != 0.0)


def joint_ancestors(parent: np.ndarray, child: np.ndarray, articulation: np.ndarray) -> np.ndarray:
    """For each joint the joint whose child is its parent body; in an articulation, only joints of the same."""
    ancestor = np.full(len(parent), -1, np.int32)
    if len(parent) == 0:
        return ancestor
    bodies = max(int(child.max()), int(parent.max())) + 1
    joint_of = np.full(bodies + 1, -1, np.int32)  # the last entry answers parent -1
    joints = np.arange(len(parent), dtype=np.int32)
    joint_of[child] = joints
    tree = articulation >= 0
    joint_of[child[tree]] = joints[tree]  # joints of a tree win over loop closures
    ancestor[:] = joint_of[np.where(parent < 0, bodies, parent)]
    keys = articulation[tree].astype(np.int64) * bodies + child[tree]
    order = np.argsort(keys, kind="stable")
    wanted = articulation[tree].astype(np.int64) * bodies + parent[tree]
    place = np.searchsorted(keys[order], wanted, side="right") - 1
    found = (place >= 0) & (parent[tree] >= 0)
    found[found] = keys[order][place[found]] == wanted[found]
    within = np.full(int(tree.sum()), -1, np.int32)
    within[found] = joints[tree][order[place[found]]]
    ancestor[tree] = within
    return ancestor


def local_boxes(types: np.ndarray, scales: np.ndarray, sources: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper corners [m] of the shapes in their own frames, sizes applied, margins not."""
    upper = np.ones((len(types), 3))
    r, h = scales[:, 0].astype(np.float64), scales[:, 1].astype(np.float64)
    by_type: dict[int, Any] = {
        GeoType.SPHERE: (r, r, r),
        GeoType.BOX: scales.T,
        GeoType.ELLIPSOID: scales.T,
        GeoType.CAPSULE: (r, r, h + r),
        GeoType.CONE: (r, r, h),
    }
    for kind, extents in by_type.items():
        mine = types == kind
        if mine.any():
            upper[mine] = np.stack([np.broadcast_to(e, len(types))[mine] for e in extents], axis=1)
    barrels = types == GeoType.CYLINDER
    if barrels.any():
        b = scales[barrels, 2].astype(np.float64)
        arc = b + np.sqrt(np.maximum(b**2 - h[barrels] ** 2, 0.0))
        wide = r[barrels] + np.divide(h[barrels] ** 2, arc, out=np.zeros_like(b), where=b > 0.0)
        upper[barrels] = np.stack([wide, wide, h[barrels]], axis=1)
    lower = -upper
    for i in np.flatnonzero(np.isin(types, (GeoType.MESH, GeoType.CONVEX_MESH, GeoType.HFIELD))):
        corners = source_box(int(types[i]), sources[i])
        if corners is not None:
            scaled = corners * scales[i].astype(np.float64)
            lower[i], upper[i] = scaled.min(axis=0), scaled.max(axis=0)
    return lower.astype(np.float32), upper.astype(np.float32)


def source_box(kind: int, source: Any) -> np.ndarray | None:
    """Two opposite corners of a mesh or height field before scaling, shape (2, 3)."""
    if source is None:
        return None
    if kind == GeoType.HFIELD:
        return np.array([[-source.hx, -source.hy, source.min_z], [source.hx, source.hy, source.max_z]])
    vertices = np.asarray(source.vertices, np.float64)
    return np.stack([vertices.min(axis=0), vertices.max(axis=0)])
