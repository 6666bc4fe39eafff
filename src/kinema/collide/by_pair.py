"""Detection with a thread a pair of a world: CUDA's shape of execution.

Contacts go into slots of the world, linked pair by pair (emit.py), and are brought into order afterwards (gather.py).
Neighbouring threads hold the same pair of neighbouring worlds, so they take the same branch and read adjacent memory.
Pairs that need more scratch than registers hold are left in a queue, and finished by a crew of octets that have some
(workspace.py).
"""

from functools import cache

import warp as wp

from kinema.collide.asleep import LOOK
from kinema.collide.build import Build
from kinema.collide.bundles import Geoms, HeightFields, Meshes, Pairs, Settings, Touch
from kinema.collide.emit import PER_PAIR
from kinema.collide.narrow import is_near, is_near_and_awake, pair_function
from kinema.collide.speculative import speculative_pair
from kinema.collide.swept import may_meet
from kinema.collide.workspace import ASK, ROW, Queue, Workspace, enqueue, lanes_of, queue_length, turn_of

TURNS = 8  # pairs of a thread where bodies may sleep


@cache
def pair_kernel(build: Build):
    """One thread a pair of a world: CUDA's shape of execution. Contacts go to slots of the world."""
    collide_pair = pair_function(build)
    mask = build.mask

    near = is_near_and_awake if build.sleeps else is_near

    @wp.func
    def detect_pair(
        k: int, w: int, pair: int, geoms: Geoms, meshes: Meshes, hfields: HeightFields, pairs: Pairs,
        settings: Settings, touch: Touch, queue: Queue,
    ):  # fmt: skip
        mine = pair < pairs.count[w] and (mask >> pairs.function[w, pair]) & 1 != 0
        if wp.static(build.ahead):
            mine = mine and settings.ahead[0].found[w, pair] == 0  # its contacts are there already
        if mine:
            touch.last[w, pair] = 0
            if near(w, pair, geoms, pairs):
                options = settings.options
                base = pair * PER_PAIR
                n = collide_pair(w, pair, geoms, meshes, hfields, pairs, options, touch, base, Workspace())
                if wp.static(build.epa == ASK):
                    if n < 0:
                        enqueue(touch.queued, queue, k * pairs.count.shape[0] + w, 0)

    @wp.kernel(module="unique", enable_backward=False)
    def detect_pairs(
        selected: wp.array(dtype=int),
        geoms: Geoms,
        meshes: Meshes,
        hfields: HeightFields,
        pairs: Pairs,
        settings: Settings,
        touch: Touch,
        queue: Queue,
    ):
        k, w = wp.tid()
        detect_pair(k, w, selected[k], geoms, meshes, hfields, pairs, settings, touch, queue)

    @wp.kernel(module="unique", enable_backward=False)
    def detect_pairs_awake(
        selected: wp.array(dtype=int),
        geoms: Geoms,
        meshes: Meshes,
        hfields: HeightFields,
        pairs: Pairs,
        settings: Settings,
        touch: Touch,
        queue: Queue,
        rows: int,
    ):
        first, w = wp.tid()
        if geoms.look[w] == LOOK:  # most worlds may sleep, so a thread takes every rows-th pair
            for k in range(first, selected.shape[0], rows):
                detect_pair(k, w, selected[k], geoms, meshes, hfields, pairs, settings, touch, queue)

    return detect_pairs_awake if build.sleeps else detect_pairs


@cache
def crew_kernel(build: Build):
    """A crew of octets with scratch of their own finishes the pairs that ask for it, in turns."""
    collide_pair = pair_function(build)
    lanes = lanes_of(build.epa).lanes

    @wp.kernel(module="unique", enable_backward=False)
    def finish_pairs(
        selected: wp.array(dtype=int),
        geoms: Geoms,
        meshes: Meshes,
        hfields: HeightFields,
        pairs: Pairs,
        settings: Settings,
        touch: Touch,
        queue: Queue,
        work: Workspace,
        octets: int,
    ):
        nworld = pairs.count.shape[0]
        for place in range(turn_of(wp.tid() / lanes(), octets), queue_length(touch.queued, queue), octets):
            item = queue.item[place]
            w = item[0] % nworld
            pair = selected[item[0] / nworld]
            options = settings.options
            collide_pair(w, pair, geoms, meshes, hfields, pairs, options, touch, pair * PER_PAIR, work)

    return finish_pairs


@cache
def ahead_kernel():
    """Speculative contacts on CUDA, before all others: a crew of threads takes the pairs of all worlds in turns."""
    collide_ahead = speculative_pair(ROW, ROW)

    @wp.kernel(module="unique", enable_backward=False)
    def look_ahead(
        geoms: Geoms,
        meshes: Meshes,
        hfields: HeightFields,
        pairs: Pairs,
        settings: Settings,
        touch: Touch,
        work: Workspace,
        threads: int,
    ):
        nworld = pairs.count.shape[0]
        ahead = settings.ahead[0]
        for item in range(wp.tid(), pairs.geom.shape[1] * nworld, threads):
            w = item % nworld
            pair = item / nworld
            touch.last[w, pair] = 0
            n = int(0)
            if may_meet(geoms, ahead, pairs, w, pair):
                base = pair * PER_PAIR
                n = collide_ahead(w, pair, geoms, meshes, pairs, ahead, settings.options, touch, base, work)
            ahead.found[w, pair] = n

    return look_ahead
