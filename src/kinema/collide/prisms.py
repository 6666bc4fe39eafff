"""Height fields on CUDA: a thread a prism.

A robot that walks has a dozen prisms under some of its geoms and none under the others, and one that lies is deep in
some of them. A thread that took all prisms of a pair would hold up its neighbours. So one thread a pair looks which
prisms may touch and leaves them in a queue; a thread for each finds their distance; and those that overlap deeper than
rims go into a second queue, for the crew that has room for polytopes (workspace.py). Whoever finds a contact stores it
under the number of its prism, which gives their order (emit.py).

Where the first queue is full, or a pair has too many prisms, the crew takes the rest of the pair.
"""

from functools import cache

import warp as wp

from kinema.collide.asleep import LOOK, pair_is_awake
from kinema.collide.bundles import Geoms, HeightFields, Meshes, Pairs, Settings, Touch
from kinema.collide.convex import convex_distance
from kinema.collide.emit import PER_PAIR, emit_ordered
from kinema.collide.hfield import contact, find_cells, hfield_pair, is_under, meet, prism
from kinema.collide.precision import ZERO, real
from kinema.collide.workspace import ASK, CREW_BLOCK, Queue, Workspace, enqueue, lanes_of, queue, queue_length, turn_of
from kinema.mujoco_enums import Geom

PRISM_QUEUES = 2
ROOM = 6  # prisms of a pair there is room for, all pairs together
MANY = wp.constant(48)  # prisms that a pair may leave
TURNS = 4  # threads that take prisms, in crews


def prism_queues(items: int, first: int) -> list[Queue]:
    """Queues of prisms that may touch, and of what waits for scratch, for so many pairs of worlds."""
    return [queue(first, ROOM * items), queue(first + 1, (ROOM + 1) * items)]


@wp.func
def find_prisms_of(
    i: int, w: int, pair: int, geoms: Geoms, meshes: Meshes, hfields: HeightFields, pairs: Pairs, touch: Touch,
    near: Queue, deep: Queue,
):  # fmt: skip
    """Which prisms of a pair may touch."""
    if pair < pairs.count[w] and geoms.type[pairs.geom[w, pair][0]] == Geom.HFIELD:
        touch.last[w, pair] = 0
        g1 = pairs.geom[w, pair][0]
        g2 = pairs.geom[w, pair][1]
        margin = pairs.margin[w, pair] + pairs.gap[w, pair]
        t = find_cells(meet(geoms, w, g1, g2, margin), meshes.hull, hfields, geoms.rbound[w, g2])
        width = 2 * hfields.ncol[t.field]
        item = i * pairs.count.shape[0] + w
        found = int(0)
        for r in range(t.cells[0], t.cells[1]):
            for k in range(2 * (t.cells[2] + 1), 2 * (t.cells[3] + 1)):
                number = width * r + k
                if is_under(t, meshes.hull, prism(hfields, t.field, number, t.margin)):
                    found += 1
                    left = bool(False)
                    if found <= MANY:
                        left = enqueue(touch.queued, near, item, number)
                    if not left:
                        enqueue(touch.queued, deep, item, -1 - number)
                        return


@wp.kernel(enable_backward=False)
def find_prisms(
    selected: wp.array(dtype=int),
    geoms: Geoms,
    meshes: Meshes,
    hfields: HeightFields,
    pairs: Pairs,
    _settings: Settings,
    touch: Touch,
    near: Queue,
    deep: Queue,
):
    """Which prisms of all pairs may touch."""
    i, w = wp.tid()
    find_prisms_of(i, w, selected[i], geoms, meshes, hfields, pairs, touch, near, deep)


@wp.kernel(enable_backward=False)
def find_prisms_awake(
    selected: wp.array(dtype=int),
    geoms: Geoms,
    meshes: Meshes,
    hfields: HeightFields,
    pairs: Pairs,
    _settings: Settings,
    touch: Touch,
    near: Queue,
    deep: Queue,
):
    """The same of pairs of which one body is awake, in worlds that look for contacts (asleep.py)."""
    i, w = wp.tid()
    pair = selected[i]
    if geoms.look[w] == LOOK and pair < pairs.count[w]:
        if geoms.type[pairs.geom[w, pair][0]] == Geom.HFIELD and not pair_is_awake(geoms, pairs, w, pair):
            touch.last[w, pair] = 0
        else:
            find_prisms_of(i, w, pair, geoms, meshes, hfields, pairs, touch, near, deep)


@cache
def meet_kernel():
    """Distances of single prisms."""
    signed_distance = convex_distance(ASK)

    @wp.kernel(module="unique", enable_backward=False)
    def meet_prisms(
        selected: wp.array(dtype=int),
        geoms: Geoms,
        meshes: Meshes,
        hfields: HeightFields,
        pairs: Pairs,
        settings: Settings,
        touch: Touch,
        near: Queue,
        deep: Queue,
        threads: int,
    ):
        nworld = pairs.count.shape[0]
        for place in range(wp.tid(), queue_length(touch.queued, near), threads):
            item = near.item[place]
            w = item[0] % nworld
            pair = selected[item[0] / nworld]
            g = pairs.geom[w, pair]
            t = meet(geoms, w, g[0], g[1], pairs.margin[w, pair] + pairs.gap[w, pair])
            t.shape.margin = t.margin
            s = prism(hfields, t.field, item[1], t.margin)
            tolerance = real(settings.options.ccd_tolerance)
            iterations = settings.options.ccd_iterations
            d = signed_distance(meshes.hull, s, t.shape, tolerance, iterations, ZERO, True, Workspace())
            if d.wanted:
                enqueue(touch.queued, deep, item[0], item[1])
            elif d.found and d.dist < ZERO:
                pos, normal = contact(t, d)
                dist = float(t.margin + d.dist)
                emit_ordered(touch, w, pair * PER_PAIR, 0, item[1], dist, wp.vec3(pos), wp.vec3(normal))

    return meet_prisms


@cache
def finish_kernel(capacity: int):
    """Depths of single prisms, and the rest of pairs that have many, by a crew of octets."""
    collide_hfield = hfield_pair(capacity)
    lanes = lanes_of(capacity).lanes

    @wp.kernel(module="unique", enable_backward=False)
    def finish_prisms(
        selected: wp.array(dtype=int),
        geoms: Geoms,
        meshes: Meshes,
        hfields: HeightFields,
        pairs: Pairs,
        settings: Settings,
        touch: Touch,
        _near: Queue,
        deep: Queue,
        work: Workspace,
        octets: int,
    ):
        nworld = pairs.count.shape[0]
        for place in range(turn_of(wp.tid() / lanes(), octets), queue_length(touch.queued, deep), octets):
            item = deep.item[place]
            w = item[0] % nworld
            pair = selected[item[0] / nworld]
            g = pairs.geom[w, pair]
            margin = pairs.margin[w, pair] + pairs.gap[w, pair]
            base = pair * PER_PAIR
            options = settings.options
            collide_hfield(w, g[0], g[1], margin, geoms, meshes, hfields, options, touch, base, item[1], work)

    return finish_prisms


def prism_launches(
    chosen: wp.array, nworld: int, inputs: list, crew: int, finish: tuple, *, sleeps: bool = False
) -> list[tuple]:
    """The three kernels, of which the last is given: (kernel, dim, inputs, block size)."""
    return [
        (find_prisms_awake if sleeps else find_prisms, (len(chosen), nworld), inputs, 128),
        (meet_kernel(), TURNS * crew, [*inputs, TURNS * crew], CREW_BLOCK),
        finish,
    ]
