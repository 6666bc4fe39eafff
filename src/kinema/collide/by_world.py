"""Detection with a thread a world: the CPU's shape of execution.

A thread walks the pairs of its world in order and writes contacts as it finds them, so they need no sorting.
``detect_world`` is a ``wp.func`` that a fused kernel of the engine can call as one of its stages.
"""

from functools import cache

import warp as wp

from kinema.collide.asleep import KEEP, LOOK
from kinema.collide.broad import sweep_world
from kinema.collide.build import CONVEX, Build
from kinema.collide.bundles import Contacts, Geoms, HeightFields, Meshes, Pairs, Settings, Touch
from kinema.collide.cull import find_near, next_near
from kinema.collide.last_axis import remembering_pair
from kinema.collide.narrow import (
    finish_contact,
    finish_world,
    is_near,
    is_near_and_awake,
    is_near_as_listed,
    pair_function,
)
from kinema.collide.speculative import speculative_pair
from kinema.collide.swept import may_meet, pair_at
from kinema.collide.table import PairFunction
from kinema.collide.workspace import Workspace


@cache
def world_function(build: Build):
    """``detect_world(w, geoms, meshes, hfields, pairs, settings, contacts)``: all contacts of one world, in order."""
    remembers = build.listed and build.mask & CONVEX != 0 and not build.portal
    collide_again = remembering_pair(build.epa, build.polygon, build.degree) if remembers else None
    collide_pair = pair_function(build._replace(mask=build.mask & ~CONVEX) if remembers else build)
    collide_ahead = speculative_pair(build.polygon, build.degree) if build.ahead else None
    near = is_near_and_awake if build.sleeps else is_near_as_listed if build.listed else is_near

    @wp.func
    def candidates(w: int, geoms: Geoms, pairs: Pairs, settings: Settings, contacts: Contacts) -> int:
        """How many pairs there are to look at; many geoms are swept for them."""
        if wp.static(build.sweep):
            sweep_world(geoms, settings.sweep[0], pairs, contacts.status, w)
        return pairs.count[w]

    @wp.func
    def detect_world(
        w: int,
        geoms: Geoms,
        meshes: Meshes,
        hfields: HeightFields,
        pairs: Pairs,
        settings: Settings,
        contacts: Contacts,
    ):
        touch = Touch()
        touch.dist = contacts.dist
        touch.pos = contacts.pos
        touch.frame = contacts.frame
        count = int(0)
        if wp.static(build.sleeps):
            look = geoms.look[w]
            if look == KEEP:
                return
            if look == LOOK:
                count = candidates(w, geoms, pairs, settings, contacts)
        else:
            count = candidates(w, geoms, pairs, settings, contacts)
        found = int(0)
        if wp.static(build.listed):
            pair = int(-1)
            if count > 0:
                find_near(geoms, pairs, settings.cull[0], w)
                pair = next_near(settings.cull[0].near, w, -1, count)
            while pair >= 0:
                if near(w, pair, geoms, pairs):
                    options = settings.options
                    n = collide_pair(w, pair, geoms, meshes, hfields, pairs, options, touch, found, Workspace())
                    if wp.static(remembers):
                        if pairs.function[w, pair] == wp.static(int(PairFunction.CONVEX)):
                            cull = settings.cull[0]
                            n = collide_again(w, pair, geoms, meshes, pairs, cull, options, touch, found)
                    for k in range(found, wp.min(found + n, contacts.dist.shape[1])):
                        finish_contact(contacts, pairs, w, k, pair, False)
                    found += n
                pair = next_near(settings.cull[0].near, w, pair, count)
        else:
            for place in range(count):
                options = settings.options
                pair = place
                n = int(0)
                early = bool(False)
                if wp.static(build.ahead):
                    pair = pair_at(settings.ahead[0], pairs, w, place)
                    if may_meet(geoms, settings.ahead[0], pairs, w, pair):
                        n = collide_ahead(
                            w, pair, geoms, meshes, pairs, settings.ahead[0], options, touch, found, Workspace()
                        )
                        early = n > 0
                if not early and near(w, pair, geoms, pairs):
                    n = collide_pair(w, pair, geoms, meshes, hfields, pairs, options, touch, found, Workspace())
                for k in range(found, wp.min(found + n, contacts.dist.shape[1])):
                    finish_contact(contacts, pairs, w, k, pair, early)
                found += n
        finish_world(contacts, w, found)

    return detect_world


@cache
def world_kernel(build: Build):
    """One thread a world: the CPU's shape of execution."""
    detect_world = world_function(build)

    @wp.kernel(module="unique", enable_backward=False)
    def detect_worlds(
        geoms: Geoms, meshes: Meshes, hfields: HeightFields, pairs: Pairs, settings: Settings, contacts: Contacts
    ):
        detect_world(wp.tid(), geoms, meshes, hfields, pairs, settings, contacts)

    return detect_worlds
