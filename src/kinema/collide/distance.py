"""Smallest signed distance between two geoms, and the segment that spans it (mj_geomDistance).

Analytic pairs run their contact function with the cutoff as margin and take the nearest contact; convex pairs, boxes
among them, run GJK and EPA. Where nativeccd is disabled all pairs do as analytic ones: what a portal finds in shapes
inflated by the cutoff is rough. Geoms farther apart than the cutoff have the cutoff as distance and a zero segment.
"""

from functools import cache

import warp as wp

from kinema.collide.bundles import Geoms, HeightFields, Meshes, Options, Settings, Touch
from kinema.collide.convex import convex_distance
from kinema.collide.hfield import WHOLE, hfield_pair
from kinema.collide.legacy import collide_portal
from kinema.collide.precision import ZERO, real
from kinema.collide.primitive import primitive_pair
from kinema.collide.support import geom_shape
from kinema.collide.table import PairFunction
from kinema.collide.workspace import Workspace

BOX_BOX = 1 << PairFunction.BOX_BOX
CONVEX = 1 << PairFunction.CONVEX | BOX_BOX
HFIELD = 1 << PairFunction.HFIELD_CONVEX
ANALYTIC = (1 << PairFunction.CONVEX) - 2 & ~BOX_BOX


@cache
def distance_function(mask: int, capacity: int, portal: bool = False):
    """Distance for the pair functions in the mask; ``capacity`` is the largest number of EPA iterations, ``portal``
    whether convex shapes meet as without nativeccd.

    No scratch is lent here, so there must be room for EPA whenever it may run: for boxes too, whose contacts need none.
    """
    if mask & (CONVEX | HFIELD) and capacity <= 0:
        raise ValueError(f"no room for EPA: {capacity} iterations")
    analytic = mask & (ANALYTIC | BOX_BOX if portal else ANALYTIC)
    collide_primitive = primitive_pair(analytic)
    signed_distance = convex_distance(capacity) if mask & CONVEX and not portal else None
    collide_hfield = hfield_pair(capacity, portal) if mask & HFIELD else None

    @wp.func
    def geom_distance(
        w: int,
        geom: wp.vec2i,
        function: int,
        cutoff: float,
        geoms: Geoms,
        meshes: Meshes,
        hfields: HeightFields,
        options: Options,
        touch: Touch,
        base: int,
    ):
        """Distance of two geoms of world w, and its end points on the first and the second geom.

        ``function`` is the pair function of the two types; ``touch`` lends slots from ``base`` on for its contacts.
        """
        dist = cutoff
        start = wp.vec3()
        end = wp.vec3()
        if wp.static(signed_distance is not None):
            if function == wp.static(int(PairFunction.CONVEX)) or function == wp.static(int(PairFunction.BOX_BOX)):
                s1 = geom_shape(geoms, w, geom[0], ZERO)
                s2 = geom_shape(geoms, w, geom[1], ZERO)
                tolerance = real(options.ccd_tolerance)
                iterations = options.ccd_iterations
                r = signed_distance(meshes.hull, s1, s2, tolerance, iterations, real(cutoff), True, Workspace())
                if r.found and float(r.dist) < cutoff:
                    return float(r.dist), wp.vec3(r.x1), wp.vec3(r.x2)
                return cutoff, start, end

        flip = geoms.type[geom[0]] > geoms.type[geom[1]]
        g1 = wp.where(flip, geom[1], geom[0])
        g2 = wp.where(flip, geom[0], geom[1])
        n = int(0)
        if wp.static(analytic != 0):
            n = collide_primitive(w, g1, g2, function, cutoff, geoms, meshes, touch, base)
        if wp.static(portal and mask & CONVEX != 0):
            if function == wp.static(int(PairFunction.CONVEX)):
                n = collide_portal(w, g1, g2, cutoff, geoms, meshes, options, touch, base, Workspace())
        if wp.static(mask & HFIELD != 0):
            if function == wp.static(int(PairFunction.HFIELD_CONVEX)):
                n = collide_hfield(w, g1, g2, cutoff, geoms, meshes, hfields, options, touch, base, WHOLE, Workspace())
        for k in range(n):
            d = touch.dist[w, base + k]
            if d < dist:
                dist = d
                half = touch.frame[w, base + k][0] * (0.5 * wp.where(flip, -d, d))
                start = touch.pos[w, base + k] - half
                end = touch.pos[w, base + k] + half
        return dist, start, end

    return geom_distance


@cache
def distance_kernel(mask: int, capacity: int, portal: bool = False):
    """One thread a pair of a world: distances of listed geom pairs."""
    geom_distance = distance_function(mask, capacity, portal)

    @wp.kernel(module="unique", enable_backward=False)
    def measure_distances(
        pair: wp.array(dtype=wp.vec4i),  # geom 1, geom 2, pair function, first slot
        cutoff: wp.array(dtype=float),
        geoms: Geoms,
        meshes: Meshes,
        hfields: HeightFields,
        settings: Settings,
        touch: Touch,
        dist: wp.array2d(dtype=float),
        start: wp.array2d(dtype=wp.vec3),
        end: wp.array2d(dtype=wp.vec3),
    ):
        k, w = wp.tid()
        p = pair[k]
        d, a, b = geom_distance(
            w, wp.vec2i(p[0], p[1]), p[2], cutoff[k], geoms, meshes, hfields, settings.options, touch, p[3]
        )
        dist[w, k] = d
        start[w, k] = a
        end[w, k] = b

    return measure_distances
