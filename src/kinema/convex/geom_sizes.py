"""Sizes of geoms while a model runs, and per world: spheres, capsules, ellipsoids, cylinders and boxes.

    rbound  radius of the bounding sphere      sphere r   capsule r + h   ellipsoid max   cylinder √(r² + h²)   box |s|
    aabb    half sizes of the bounding box     (r, r, r)  (r, r, r + h)   s               (r, r, h)             s

Bounds follow the sizes. Masses and inertias do not, as in MuJoCo: set them too where they should. Meshes, height fields
and distance fields keep their shape.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from kinema.arrays import per_world_or_shared
from kinema.collide.detect import Detector
from kinema.convex.bundle import Field
from kinema.convex.layout import Layout
from kinema.convex.present import FOLLOWS
from kinema.errors import BuildError
from kinema.mujoco_enums import Geom

SIZE, RADIUS = "geom_size", "geom_rbound"
SIZED = (Geom.PLANE, Geom.SPHERE, Geom.CAPSULE, Geom.ELLIPSOID, Geom.CYLINDER, Geom.BOX)


def bounds(kind: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounding radius (..., ngeom) and half sizes of the bounding box (..., ngeom, 3) of geoms that have sizes."""
    r, h = size[..., 0], size[..., 1]
    box = np.linalg.norm(size, axis=-1)
    radius = np.select([kind == k for k in (Geom.SPHERE, Geom.CAPSULE, Geom.ELLIPSOID, Geom.CYLINDER)],
                       [r, r + h, size.max(axis=-1), np.hypot(r, h)], box)  # fmt: skip
    length = np.select([kind == Geom.SPHERE, kind == Geom.CAPSULE, kind == Geom.CYLINDER], [r, r + h, h], size[..., 2])
    round_ = np.isin(kind, (Geom.SPHERE, Geom.CAPSULE, Geom.CYLINDER))
    half = np.stack([r, np.where(round_, r, h), length], axis=-1)
    return radius, half


def declare(layout: Layout) -> None:
    """Make the array of sizes, which collision detection reads too."""
    layout.array(Field("param", wp.vec3, ("ngeom",), False, SIZE))


def _sized_anew(m, source) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Geoms whose sizes are not those they were compiled with, their radii and their half sizes."""
    size, kind = np.asarray(m.geom_size), np.asarray(m.geom_type)
    own = np.isin(kind, SIZED) & (kind != Geom.PLANE) & np.any(size != np.asarray(source.geom_size), axis=-1)
    radius, half = bounds(kind, size)
    return own, radius, half


def _rbound(m, source) -> np.ndarray:
    own, radius, _ = _sized_anew(m, source)
    return np.where(own, radius, np.asarray(source.geom_rbound))


def _aabb(m, source) -> np.ndarray:
    own, _, half = _sized_anew(m, source)
    box = np.array(source.geom_aabb)
    box[own, 3:] = half[own]
    return box


FOLLOWS |= {"geom_rbound": _rbound, "geom_aabb": _aabb}


def is_changed(layout: Layout) -> bool:
    """Whether any size is not the compiled model's any more."""
    return SIZE in layout.expanded or not np.array_equal(_row(layout), _host(layout))


def check(detector: Detector, layout: Layout, size: np.ndarray) -> None:
    """Raise where these sizes cannot be given while running."""
    if detector.build.distance is not None:
        raise BuildError("geom_size is fixed: the model has signed distance fields; give their parameters instead")
    kind = np.asarray(layout.source.geom_type)
    shaped = np.flatnonzero(~np.isin(kind, SIZED))
    if np.any(size[..., shaped, :] != _host(layout)[shaped]):
        raise BuildError("geom_size of meshes, height fields and distance fields is fixed: it follows from their data")


def resize(detector: Detector, layout: Layout) -> None:
    """Let collision detection follow the sizes of the layout: their array, should it have moved, and bounds."""
    per_world = SIZE in layout.expanded
    size = layout.arrays[SIZE].numpy() if per_world else _row(layout)[None]
    kind = np.asarray(layout.source.geom_type)
    radius, half = bounds(kind, size)
    own = np.isin(kind, SIZED) & (kind != Geom.PLANE)
    radius = np.where(own, radius, np.asarray(layout.source.geom_rbound)).astype(np.float32)
    half = np.where(own[:, None], half, np.asarray(layout.source.geom_aabb)[:, 3:]).astype(np.float32)
    geoms = detector.geoms
    geoms.size = layout.arrays[SIZE]
    geoms.rbound = per_world_or_shared(radius, layout.nworld, float, layout.device)
    geoms.aabb_half = per_world_or_shared(half, layout.nworld, wp.vec3, layout.device)
    detector.geoms = geoms
    detector.bounds = geoms.rbound, geoms.aabb_half  # the struct does not own their memory


def _row(layout: Layout) -> np.ndarray:
    return layout.arrays[SIZE].stored.numpy().reshape(-1, 3)


def _host(layout: Layout) -> np.ndarray:
    return np.asarray(layout.host(SIZE)).astype(np.float32)
