"""Rays through all worlds: the first geom that p + x v hits (`collide.ray` has the geometry).

The trees of boxes over the triangles of meshes are built when a ray is first cast, and kept for the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import warp as wp

from kinema.collide.ray import RayScene, cast_rays
from kinema.engine import Engine

_scenes: WeakKeyDictionary[Engine, RayScene] = WeakKeyDictionary()


def cast(
    engine: Engine, origin: wp.array, direction: wp.array, groups: Sequence[bool] | None, static: bool, exclude: int
) -> tuple[wp.array, wp.array, wp.array]:
    """Distances in units of the direction's length (-1: nothing was hit), geoms and normals, each [world, ray]."""
    if engine not in _scenes:
        _scenes[engine] = RayScene(engine.source, device=engine.device)
    scene, shapes, shape = _scenes[engine], engine.shapes(), origin.shape
    dist = wp.empty(shape, dtype=float, device=engine.device)
    geom = wp.empty(shape, dtype=int, device=engine.device)
    normal = wp.empty(shape, dtype=wp.vec3, device=engine.device)
    chosen = RayScene.filter(groups=None if groups is None else list(groups), static=static, bodyexclude=exclude)
    inputs = [shapes.geoms, shapes.hfields, scene.targets, chosen, origin, direction]
    wp.launch(cast_rays, shape[::-1], inputs, [dist, geom, normal], device=engine.device)
    return dist, geom, normal
