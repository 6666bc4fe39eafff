"""Distances between geoms of all worlds (`collide.distance` has the geometry).

Kernels are made for families of pairs rather than for the pairs of a model, so that models share them: analytic pairs,
these and convex ones, and height fields besides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from kinema.arrays import empty_worlds
from kinema.collide.build import epa_room
from kinema.collide.bundles import Touch
from kinema.collide.distance import ANALYTIC, CONVEX, HFIELD, distance_kernel
from kinema.collide.table import PAIR_FUNCTION, PairFunction, function_mask, max_contacts, uses_native
from kinema.engine import Engine
from kinema.errors import BuildError
from kinema.mujoco_enums import Geom


def _functions(model: Any, pairs: np.ndarray) -> np.ndarray:
    """The pair function of each pair of geoms; an error where there is none."""
    kinds = np.sort(np.asarray(model.geom_type)[pairs], axis=1)
    functions = PAIR_FUNCTION[kinds[:, 0], kinds[:, 1]]
    unknown = (functions == PairFunction.NONE) | (functions > PairFunction.HFIELD_CONVEX)
    if unknown.any():
        first = int(np.argmax(unknown))
        names = " and a ".join(Geom(int(kind)).name.lower() for kind in kinds[first])
        raise BuildError(f"geoms {pairs[first, 0]} and {pairs[first, 1]}: no distance is known between a {names}")
    return functions


def _family(functions: np.ndarray) -> int:
    """Bits of the pair functions of the smallest family that has them all."""
    mask = function_mask(functions)
    return next(family for family in (ANALYTIC, ANALYTIC | CONVEX, ANALYTIC | CONVEX | HFIELD) if not mask & ~family)


def distances(engine: Engine, pairs: np.ndarray, distmax: float) -> tuple[wp.array, wp.array, wp.array]:
    """Distances of pairs of geoms and the ends of their segments, each [world, pair]; at most distmax."""
    functions = _functions(engine.source, pairs)
    kinds = np.sort(np.asarray(engine.source.geom_type)[pairs], axis=1)
    slots = np.array([max_contacts(engine.source, int(a), int(b)) for a, b in kinds])
    start = np.concatenate([[0], np.cumsum(slots)])
    kernel = distance_kernel(_family(functions), epa_room(engine.source), not uses_native(engine.source))
    shapes, device, shape = engine.shapes(), engine.device, (engine.nworld, len(pairs))
    room = (engine.nworld, max(1, int(start[-1])))
    touch = Touch()
    lent = [empty_worlds(room, dtype, device) for dtype in (float, wp.vec3, wp.mat33)]
    touch.dist, touch.pos, touch.frame = lent
    rows = np.column_stack([pairs, functions, start[:-1]]).astype(np.int32)
    spec = wp.array(rows, dtype=wp.vec4i, device=device)
    cutoff = wp.full(len(pairs), float(distmax), dtype=float, device=device)
    out = [wp.zeros(shape, dtype=dtype, device=device) for dtype in (float, wp.vec3, wp.vec3)]
    inputs = [spec, cutoff, shapes.geoms, shapes.meshes, shapes.hfields, shapes.settings, touch]
    wp.launch(kernel, shape[::-1], inputs, out, device=device)
    return out[0], out[1], out[2]
