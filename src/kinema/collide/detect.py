"""The driver: from geom poses to ordered contacts, for all worlds.

On the CPU one thread takes a world and walks its pairs in order, writing contacts as it finds them (``detect_world``, a
``wp.func`` that a fused kernel of the engine can call as one of its stages). On CUDA one thread takes a pair of a world
and writes into slots of the world, linked pair by pair (emit.py); a second kernel then moves the contacts of each world
into the order of pairs. Pairs that need more scratch than registers hold are left in a queue, and finished by a crew of
threads that have some (workspace.py). Neighbouring threads hold the same pair of neighbouring worlds, so they take the
same branch and read adjacent memory. Both ways give the same contacts in the same order, whatever runs beside them.

Contacts beyond the capacity are not stored, but counted in ``Contacts.found`` and flagged in ``Contacts.status``. Where
not even the slots suffice, it is chance which contacts found one: a world then has none, rather than any.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import warp as wp

from kinema.arrays import empty_worlds, one_of
from kinema.collide import cull, upload
from kinema.collide.asleep import KEEP, LOOK, pair_is_awake
from kinema.collide.bound import boxes_apart, rounding, spheres_apart
from kinema.collide.broad import awake_sweep, count_pairs, place_pairs, sort_geoms, sweep_world, write_pairs
from kinema.collide.bundles import (
    Ahead,
    Contacts,
    Cull,
    Geoms,
    HeightFields,
    Meshes,
    Options,
    Pairs,
    Settings,
    Sweep,
    Touch,
)
from kinema.collide.convex import convex_pair
from kinema.collide.cull import find_near, next_near
from kinema.collide.emit import PER_PAIR
from kinema.collide.filter import geom_pairs
from kinema.collide.hfield import MOST, hfield_pair
from kinema.collide.legacy import collide_portal
from kinema.collide.primitive import primitive_pair
from kinema.collide.prisms import PRISM_QUEUES, prism_launches, prism_queues
from kinema.collide.ray import RayScene
from kinema.collide.sdf import Fields, sdf_pair
from kinema.collide.sdf_mesh import sdf_mesh_pair
from kinema.collide.speculative import speculative_pair
from kinema.collide.sweep import MANY, colliding
from kinema.collide.sweep import bundle as sweep_bundle
from kinema.collide.sweep import plan as sweep_plan
from kinema.collide.swept import may_meet, pair_at
from kinema.collide.table import FAMILIES, PairFunction, function_mask, uses_native
from kinema.collide.workspace import (
    ASK,
    CREW_BLOCK,
    LENT,
    Queue,
    Sizes,
    Workspace,
    crew,
    enqueue,
    queue,
    queue_length,
    turn_of,
    workspace,
)
from kinema.devices import device_named
from kinema.errors import BuildError
from kinema.math.status import report
from kinema.math.touches import touches
from kinema.mujoco_enums import Enable, Geom

OVERFLOW_CONTACTS = 1  # bit of Contacts.status
TURNS = 8  # pairs of a thread where bodies may sleep


def family_mask(name: str) -> int:
    """Bits of all functions of a family."""
    return function_mask(np.array([int(f) for f in FAMILIES[name]]))


PRIMITIVES = family_mask("primitive")
CONVEX = family_mask("convex")
HFIELD = family_mask("hfield")
FIELD = 1 << PairFunction.SDF_DESCENT
FIELD_MESH = 1 << PairFunction.SDF_MESH


class Build(NamedTuple):
    """What a kernel is compiled for: the key of all factories here."""

    mask: int  # bits of the pair functions
    epa: int  # iterations of EPA there is room for; LENT, ASK: where else room is found (workspace.py)
    polygon: int  # vertices of the largest polygon of a mesh
    degree: int  # polygons at one vertex of a mesh
    sweep: bool  # whether the pairs of a world are found by sweeping
    distance: "wp.Function | None" = None  # of the signed distance fields
    gradient: "wp.Function | None" = None  # of the same
    portal: bool = False  # whether convex shapes meet as without nativeccd
    sleeps: bool = False  # whether bodies may sleep (asleep.py)
    ahead: bool = False  # whether contacts are made ahead of impact (speculative.py)

    @staticmethod
    def of(m, mask: int, sweep: bool = False, fields: Fields | None = None, ahead: bool = False) -> "Build":
        """The build for a model, sizes rounded up so that models share kernels."""

        def bucket(n: int, least: int) -> int:
            return max(least, 1 << (int(n) - 1).bit_length())

        if not mask & ~PRIMITIVES and not ahead:
            return Build(mask, 0, 0, 0, sweep)
        polygon, degree = int(np.max(m.mesh_polyvertnum, initial=0)), int(np.max(m.mesh_polymapnum, initial=0))
        epa = 36 if m.opt.ccd_iterations <= 36 else bucket(m.opt.ccd_iterations, 64)
        distance, gradient = (fields.distance, fields.gradient) if fields else (None, None)
        portal = not uses_native(m)
        sizes = bucket(polygon, 16), bucket(degree, 8)
        return Build(mask, epa, *sizes, sweep, distance, gradient, portal, ahead=ahead)

    @property
    def listed(self) -> bool:
        """Whether pairs are listed once for all worlds, and looked at in their order: cells cull them (cull.py)."""
        return not self.sweep and not self.ahead

    @property
    def scratch(self) -> Sizes | None:
        """The scratch that pairs need, if it is more than registers hold."""
        needed = (self.mask & (CONVEX | HFIELD) and not self.portal) or (self.ahead and self.polygon)
        return Sizes.of(self.epa, self.polygon, self.degree) if needed else None

    def lending(self) -> "Build":
        """The same with scratch that is lent: its sizes do not matter then."""
        return self._replace(epa=LENT, polygon=0, degree=0)

    def asking(self) -> "Build":
        """The same without scratch, if any is needed; it is asked for."""
        return self._replace(epa=ASK, polygon=0, degree=0) if self.scratch else self

    def only(self, mask: int) -> "Build":
        """The same for some of the functions."""
        mask &= self.mask
        return self._replace(mask=mask) if mask & ~PRIMITIVES else Build(
            mask, 0, 0, 0, self.sweep, sleeps=self.sleeps, ahead=self.ahead
        )


@wp.func
def is_near(w: int, pair: int, geoms: Geoms, pairs: Pairs) -> bool:
    """Whether the bounding spheres of a pair overlap, and for convex pairs the boxes; asked before any costly call."""
    g = pairs.geom[w, pair]
    margin = pairs.margin[w, pair] + pairs.gap[w, pair]
    if spheres_apart(geoms, w, g[0], g[1], margin + rounding(geoms, w, g[0], g[1])):
        return False
    convex = pairs.function[w, pair] == wp.static(int(PairFunction.CONVEX))
    return not (convex and boxes_apart(geoms, w, g[0], g[1], margin))


@wp.func
def is_near_and_awake(w: int, pair: int, geoms: Geoms, pairs: Pairs) -> bool:
    """The same, of pairs of which one body is awake."""
    if not pair_is_awake(geoms, pairs, w, pair):
        return False
    return is_near(w, pair, geoms, pairs)


@cache
def pair_function(build: Build):
    """The narrow phase of the pair functions in the mask, behind one door; other functions are not compiled."""
    mask = build.mask
    collide_primitive = primitive_pair(mask & PRIMITIVES)
    collide_convex = None
    if mask & CONVEX:
        collide_convex = collide_portal if build.portal else convex_pair(build.epa, build.polygon, build.degree)
    collide_hfield = hfield_pair(build.epa, build.portal) if mask & HFIELD else None
    collide_sdf = sdf_pair(build.distance, build.gradient) if mask & FIELD else None
    collide_sdf_mesh = sdf_mesh_pair(build.distance, build.gradient) if mask & FIELD_MESH else None

    @wp.func
    def collide_pair(
        w: int,
        pair: int,
        geoms: Geoms,
        meshes: Meshes,
        hfields: HeightFields,
        pairs: Pairs,
        options: Options,
        touch: Touch,
        base: int,
        work: Workspace,
    ) -> int:
        """Write the contacts of one near pair of world w from slot ``base`` on; return their number, -1: scratch is
        wanted."""
        g1 = pairs.geom[w, pair][0]
        g2 = pairs.geom[w, pair][1]
        margin = pairs.margin[w, pair] + pairs.gap[w, pair]
        function = pairs.function[w, pair]
        n = int(0)
        if wp.static(mask & PRIMITIVES != 0):
            reach = margin + rounding(geoms, w, g1, g2)
            n += collide_primitive(w, g1, g2, function, reach, geoms, meshes, touch, base)
        if wp.static(mask & CONVEX != 0):
            if function == wp.static(int(PairFunction.CONVEX)):
                n += collide_convex(w, g1, g2, margin, geoms, meshes, options, touch, base, work)
        if wp.static(mask & HFIELD != 0):
            if function == wp.static(int(PairFunction.HFIELD_CONVEX)):
                n += collide_hfield(w, g1, g2, margin, geoms, meshes, hfields, options, touch, base, 0, work)
        if wp.static(mask & FIELD != 0):
            if function == wp.static(int(PairFunction.SDF_DESCENT)):
                n += collide_sdf(w, g1, g2, geoms, meshes.solid, options, touch, base)
        if wp.static(mask & FIELD_MESH != 0):
            if function == wp.static(int(PairFunction.SDF_MESH)):
                n += collide_sdf_mesh(w, g1, g2, geoms, meshes, options, touch, base)
        return n

    return collide_pair


@wp.func
def finish_contact(contacts: Contacts, pairs: Pairs, w: int, k: int, pair: int, ahead: bool):
    """Complete contact k, whose geometry is already there, with the parameters of its pair.

    One ahead of impact has rows whatever its distance, which says how much to stop (speculative.py).
    """
    margin = pairs.margin[w, pair]
    adhesion = pairs.adhesion[w, pair]
    beyond = contacts.dist[w, k] >= margin and not ahead
    contacts.includemargin[w, k] = margin
    contacts.friction[w, k] = pairs.friction[w, pair]
    contacts.solref[w, k] = pairs.solref[w, pair]
    contacts.solreffriction[w, k] = pairs.solreffriction[w, pair]
    contacts.solimp[w, k] = pairs.solimp[w, pair]
    contacts.adhesion[w, k] = adhesion
    contacts.geom[w, k] = pairs.geom[w, pair]
    contacts.pair[w, k] = pair
    # within the gap only: no rows, except that adhesion pulls along the normal
    contacts.exclude[w, k] = wp.where(beyond and adhesion == 0.0, 1, 0)
    contacts.dim[w, k] = wp.where(beyond and adhesion != 0.0, 1, pairs.condim[w, pair])


@wp.func
def finish_world(contacts: Contacts, w: int, found: int):
    """Record how many contacts a world has, and whether some were lost."""
    contacts.found[w] = found
    contacts.ncon[w] = wp.min(found, contacts.dist.shape[1])
    if found > contacts.dist.shape[1]:
        report(contacts.status, w, OVERFLOW_CONTACTS)


@cache
def world_function(build: Build):
    """``detect_world(w, geoms, meshes, hfields, pairs, settings, contacts)``: all contacts of one world, in order."""
    collide_pair = pair_function(build)
    collide_ahead = speculative_pair(build.polygon, build.degree) if build.ahead else None
    near = is_near_and_awake if build.sleeps else is_near

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
    """A crew of threads with scratch of their own finishes the pairs that ask for it, in turns."""
    collide_pair = pair_function(build)

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
    ):
        nworld = pairs.count.shape[0]
        for place in range(turn_of(wp.tid(), work.p1.shape[0]), queue_length(touch.queued, queue), work.p1.shape[0]):
            item = queue.item[place]
            w = item[0] % nworld
            pair = selected[item[0] / nworld]
            options = settings.options
            collide_pair(w, pair, geoms, meshes, hfields, pairs, options, touch, pair * PER_PAIR, work)

    return finish_pairs


@cache
def ahead_kernel():
    """Speculative contacts on CUDA, before all others: a crew of threads takes the pairs of all worlds in turns."""
    collide_ahead = speculative_pair(0, 0)

    @wp.kernel(module="unique", enable_backward=False)
    def look_ahead(
        geoms: Geoms,
        meshes: Meshes,
        hfields: HeightFields,
        pairs: Pairs,
        settings: Settings,
        touch: Touch,
        work: Workspace,
    ):
        nworld = pairs.count.shape[0]
        ahead = settings.ahead[0]
        for item in range(wp.tid(), pairs.geom.shape[1] * nworld, work.p1.shape[0]):
            w = item % nworld
            pair = item / nworld
            touch.last[w, pair] = 0
            n = int(0)
            if may_meet(geoms, ahead, pairs, w, pair):
                base = pair * PER_PAIR
                n = collide_ahead(w, pair, geoms, meshes, pairs, ahead, settings.options, touch, base, work)
            ahead.found[w, pair] = n

    return look_ahead


@wp.func_native("""
    const char* at = (const char*)last.data + w * (size_t)last.strides[0];
    int sum = 0;
    #pragma unroll 8
    for (int k = first; k < end; ++k) sum += wp::min(*(const int*)(at + k * (size_t)last.strides[1]) % 256, 50);
    return sum;
""")
def count_contacts(last: wp.array2d(dtype=int), w: int, first: int, end: int) -> int:
    """Contacts of a range of pairs of one world, from the links of its pairs (PER_PAIR is 256, MOST 50)."""


touches(reads="last[w]")(count_contacts.func)


@wp.func_native("""
    int before = 0;
#if defined(__CUDA_ARCH__)
    __shared__ int sums[16][32];
    sums[part][lane] = own;
    __syncthreads();
    for (int p = 0; p < part; ++p) before += sums[p][lane];
#else
    const char* at = (const char*)last.data + w * (size_t)last.strides[0];
    for (int k = 0; k < first; ++k) before += wp::min(*(const int*)(at + k * (size_t)last.strides[1]) % 256, 50);
#endif
    return before;
""")
def contacts_before(last: wp.array2d(dtype=int), w: int, first: int, own: int, part: int, lane: int) -> int:
    """Contacts of the pairs before `first`; warps of a block tell each other how many their own ranges hold."""


touches(reads="last[w]")(contacts_before.func)


FEW = wp.constant(16)
few = wp.types.vector(length=16, dtype=wp.int32)


@wp.func
def orders(touch: Touch, w: int, link: int) -> few:
    """Order of the last few contacts of a pair that several threads found, as they are linked."""
    found = few()
    if touch.order.shape[0] > 0:
        for i in range(FEW):
            if link != 0:
                slot = link / PER_PAIR - 1
                found[i] = touch.order[w, slot]
                link = touch.before[w, slot]
    return found


@wp.func
def rank(touch: Touch, w: int, pair: int, link: int, order: few) -> int:
    """The place of a contact among those of its pair."""
    mine = int(-1)
    if touch.order.shape[0] > 0:
        mine = touch.order[w, link / PER_PAIR - 1]
    if mine < 0:  # one thread found them all, in order
        return link % PER_PAIR - 1
    before = int(0)
    other = touch.last[w, pair]
    n = other % PER_PAIR
    if n <= FEW:
        for i in range(n):
            if order[i] < mine:
                before += 1
        return before
    while other != 0:
        slot = other / PER_PAIR - 1
        if touch.order[w, slot] < mine:
            before += 1
        other = touch.before[w, slot]
    return before


GATHER = wp.constant(16)  # warps that share out the pairs of 32 worlds


@wp.func
def gather_pair(touch: Touch, pairs: Pairs, contacts: Contacts, w: int, pair: int, start: int, ahead: bool) -> int:
    """Move the contacts of a pair of world w to the list, from place ``start`` on; return their number."""
    link = touch.last[w, pair]
    n = wp.min(link % PER_PAIR, MOST)
    order = orders(touch, w, link)
    while link != 0:
        slot = link / PER_PAIR - 1
        k = start + rank(touch, w, pair, link, order)
        if k < wp.min(start + n, contacts.dist.shape[1]):
            contacts.dist[w, k] = touch.dist[w, slot]
            contacts.pos[w, k] = touch.pos[w, slot]
            contacts.frame[w, k] = touch.frame[w, slot]
            finish_contact(contacts, pairs, w, k, pair, ahead)
        link = touch.before[w, slot]
    return n


@wp.func
def finish_slots(touch: Touch, contacts: Contacts, w: int, used: int, found: int):
    """Record how many contacts a world has, and give its slots back; where they did not suffice it has none."""
    finish_world(contacts, w, wp.where(used > touch.dist.shape[1], used, found))
    if used > touch.dist.shape[1]:
        contacts.ncon[w] = 0
        report(contacts.status, w, OVERFLOW_CONTACTS)
    touch.used[w] = 0


@wp.func
def gather_world(
    w: int, part: int, lane: int, live: bool, none: bool, touch: Touch, pairs: Pairs, contacts: Contacts
):
    """One warp's share of the contacts of a world; `none`: it is known that there are none."""
    npair = int(0)
    used = int(0)
    if live and not none:
        used = touch.used[w]
        if used <= touch.dist.shape[1]:
            npair = pairs.count[w]
    first = npair * part / GATHER
    end = npair * (part + 1) / GATHER
    own = int(0)
    if live:
        own = count_contacts(touch.last, w, first, end)
    start = contacts_before(touch.last, w, first, own, part, lane)  # from here on all of the block have read `used`
    for pair in range(first, end):
        start += gather_pair(touch, pairs, contacts, w, pair, start, False)
    if live and part == GATHER - 1:
        finish_slots(touch, contacts, w, used, start)
    if w == 0 and part == 0:
        for i in range(touch.queued.shape[0]):
            touch.queued[i] = 0


@wp.kernel(enable_backward=False, launch_bounds=(512, 2))  # 32 * GATHER threads
def gather_contacts(nworld: int, touch: Touch, pairs: Pairs, contacts: Contacts):
    """Move the contacts of each world from its slots to one list, in the order of pairs.

    Warp `part` of a block takes one range of the pairs of 32 worlds: it learns how many contacts the ranges before its
    own hold, and goes on from there.
    """
    block, part, lane = wp.tid()
    w = 32 * block + lane
    gather_world(w, part, lane, w < nworld, False, touch, pairs, contacts)


@wp.kernel(enable_backward=False, launch_bounds=(512, 2))
def gather_awake(nworld: int, look: wp.array(dtype=int), touch: Touch, pairs: Pairs, contacts: Contacts):
    """The same where bodies may sleep: of the worlds that ask for it."""
    block, part, lane = wp.tid()
    w = 32 * block + lane
    wish = look[wp.min(w, nworld - 1)]
    gather_world(w, part, lane, w < nworld and wish != KEEP, wish != LOOK, touch, pairs, contacts)


@cache
def ordering_kernel():
    """The same where the order of pairs is not the same in every world and step: one thread a world."""

    @wp.kernel(module="unique", enable_backward=False)
    def gather_in_order(touch: Touch, pairs: Pairs, settings: Settings, contacts: Contacts):
        w = wp.tid()
        used = touch.used[w]
        start = int(0)
        if used <= touch.dist.shape[1]:
            for place in range(pairs.count[w]):
                pair = pair_at(settings.ahead[0], pairs, w, place)
                start += gather_pair(touch, pairs, contacts, w, pair, start, settings.ahead[0].found[w, pair] > 0)
        finish_slots(touch, contacts, w, used, start)
        if w == 0:
            for i in range(touch.queued.shape[0]):
                touch.queued[i] = 0

    return gather_in_order


def require_fields(m, mask: int, fields: Fields | None) -> None:
    """Refuse models whose signed distance fields would be passed through silently."""
    if not mask & (FIELD | FIELD_MESH):
        return
    for g in np.flatnonzero(np.asarray(m.geom_type) == Geom.SDF):
        mesh = m.geom_dataid[g]
        if (fields is None or fields.kind[g] < 0) and (mesh < 0 or m.mesh_octadr[mesh] < 0 or m.geom_plugin[g] >= 0):
            raise BuildError(
                f"geom {g} is of type sdf and collides, but no distance function was given: pass Detector(fields=...)"
            )


class Detector:
    """Contacts of ``nworld`` worlds of one model.

    ``model`` is any object with mjModel's attributes. ``geom_xpos`` and ``geom_xmat`` are the arrays of poses that the
    engine writes, ``geom_size`` its array of sizes, (nworld, ngeom); allocated when not given. ``contacts`` holds the
    result. ``thread_per_pair`` chooses the shape of execution (by default: on CUDA), ``sweep`` the broad phase: a
    fixed list of all pairs, or a search for near ones (by default: for many geoms), with room for at least ``pairs``
    of them. With a thread a pair, ``slots`` is the room for contacts of a world as they are found (by default: for all
    that its pairs could make). ``fields`` brings the signed distance fields of geoms of type sdf; ``motion`` how geoms
    move within the step (arrays of ``Ahead``, by name), which asks for speculative contacts: all pairs are then listed.
    ``detect()`` only launches kernels and allocates nothing.
    """

    def __init__(
        self,
        model,
        nworld: int,
        *,
        capacity: int | None = None,
        pairs: int = 0,
        geom_xpos: wp.array | None = None,
        geom_xmat: wp.array | None = None,
        geom_size: wp.array | None = None,
        status: wp.array | None = None,
        contacts: "Contacts | None" = None,
        thread_per_pair: bool | None = None,
        sweep: bool | None = None,
        slots: int | None = None,
        fields: Fields | None = None,
        sleep: tuple[wp.array, wp.array] | None = None,
        motion: dict[str, wp.array] | None = None,
        device: Any = None,
    ):
        self.device = device_named(device)
        self.nworld = nworld
        self.adhesion: Any = None  # arrays of whoever mixes parameters, kept alive: structs do not own memory
        self.bounds: Any = None
        sweep = len(colliding(model)) > MANY if sweep is None else sweep
        sweep = sweep and not int(model.opt.enableflags) & Enable.OVERRIDE  # overridden parameters come in lists only
        sweep = sweep and motion is None  # cells are no larger than geoms that stand still
        plan = sweep_plan(model) if sweep else None
        if plan and pairs > plan.capacity:
            plan = plan._replace(capacity=pairs)
        self.host = plan.special if plan else geom_pairs(model)
        self.mask = plan.mask if plan else function_mask(self.host.function)
        require_fields(model, self.mask, fields)
        build = Build.of(model, self.mask, sweep, fields, ahead=motion is not None)
        self.build = build._replace(sleeps=sleep is not None)
        with wp.ScopedDevice(self.device):
            self.geoms = upload.geoms(model, nworld, geom_xpos, geom_xmat, geom_size, fields, sleep)
            self.meshes = upload.meshes(model, solid=bool(self.mask & (FIELD | FIELD_MESH)))
            self.hfields = upload.height_fields(model)
            self.settings = upload.settings(model)
            self.motion, self.scene = motion, None  # kept alive: structs do not own memory
            if motion is not None:
                self.scene = RayScene(model) if model.nmesh else None
                self.set_ahead(upload.ahead(model, self.host, motion, self.scene))
            if plan:
                sweep_arrays, self.pairs = sweep_bundle(model, plan, nworld)
                self.set_sweep(sweep_arrays)
                self.slots = np.full(plan.capacity, plan.slots)
                self.capacity = capacity or 8 * len(plan.active)
            else:
                self.pairs = upload.pairs(self.host, nworld)
                self.slots = self.host.slots
                self.capacity = capacity or upload.estimate_capacity(self.host)
            self.contacts = contacts if contacts is not None else upload.contacts(nworld, self.capacity, status)
            self.thread_per_pair = self.device.is_cuda if thread_per_pair is None else thread_per_pair
            if self.thread_per_pair:
                self._allocate_slots(int(self.slots.sum()) if slots is None else slots)
                self._share_out()
            if build.listed and self.mask and not self.device.is_cuda:
                self.cells = cull.bundle(model, self.host, nworld)
                self.culled = one_of(self.cells, Cull)  # kept: structs do not own memory
                self.settings.cull = self.culled

    def regrow(self, contacts: Contacts, slots: int | None = None) -> None:
        """Write to other lists of contacts; with a thread a pair, with room for so many as they are found."""
        self.contacts, self.capacity = contacts, contacts.dist.shape[1]
        if self.thread_per_pair:
            with wp.ScopedDevice(self.device):
                self._allocate_slots(int(self.slots.sum()) if slots is None else slots)

    def set_sweep(self, sweep: Sweep) -> None:
        """Let the broad phase use these arrays."""
        self.sweep = sweep
        self.swept = one_of(sweep, Sweep, self.device)
        self.settings.sweep = self.swept

    def set_ahead(self, ahead: Ahead) -> None:
        """Let speculative contacts use these arrays."""
        self.ahead = ahead
        self.looked = one_of(ahead, Ahead, self.device)
        self.settings.ahead = self.looked

    def _allocate_slots(self, slots: int) -> None:
        """Slots and links for the thread-per-pair shape, worlds interleaved."""
        self.touch = upload.touch(self.nworld, slots)
        by_prisms = self.build.only(HFIELD).scratch is not None
        upload.link(self.touch, self.nworld, len(self.slots), slots, by_prisms, 1 + PRISM_QUEUES)

    def _share_out(self) -> None:
        """Which pairs each kernel takes, and scratch for crews."""
        npair = len(self.slots)
        self.launches: list[tuple[Build, wp.array, list[Queue]]] = []
        most = 0
        if self.build.ahead:
            self.ahead.found = empty_worlds((self.nworld, npair), int)
            self.set_ahead(self.ahead)
            most = crew(npair * self.nworld, self.device)
        for family in FAMILIES:
            build = self.build.only(family_mask(family))
            if build.mask:
                chosen = np.arange(npair)
                if not self.build.sweep:
                    chosen = np.flatnonzero((1 << self.host.function.astype(np.int64)) & build.mask)
                items = len(chosen) * self.nworld
                queues = [Queue()]
                if build.scratch:
                    queues = prism_queues(items, first=1) if build.mask & HFIELD else [queue(0, items)]
                    most = max(most, crew(items, self.device))
                self.launches.append((build, wp.array(chosen.astype(np.int32)), queues))
        if self.build.scratch and most:
            self.work = workspace(self.build.scratch, most)

    @property
    def detect_world(self):
        """The ``wp.func`` that detects the contacts of one world, for kernels that fuse several stages."""
        return world_function(self.build)

    def launch_list(self) -> list[tuple]:
        """What detection launches: (kernel, dim, inputs, block size)."""
        inputs = [self.geoms, self.meshes, self.hfields, self.pairs, self.settings]
        if not self.thread_per_pair:
            return [(world_kernel(self.build), self.nworld, [*inputs, self.contacts], 256)]
        n = self.nworld
        launches = []
        if self.build.sweep:
            sweep = self.sweep
            nbody = sweep.weld.shape[0]
            sort, count, write = awake_sweep if self.build.sleeps else (sort_geoms, count_pairs, write_pairs)
            launches += [
                (sort, n, [self.geoms, sweep], 32),
                (count, (nbody, n), [self.geoms, sweep, self.pairs], 128),
                (place_pairs, n, [sweep, self.pairs, self.contacts.status], 32),
                (write, (nbody, n), [self.geoms, sweep, self.pairs], 128),
            ]
        if self.build.ahead:
            launches.append((ahead_kernel(), self.work.p1.shape[0], [*inputs, self.touch, self.work], CREW_BLOCK))
        for build, chosen, queues in self.launches:
            given = [chosen, *inputs, self.touch, *queues]
            if build.scratch and build.mask & HFIELD:
                launches += prism_launches(chosen, n, given, self.work, sleeps=build.sleeps)
                continue
            rows = -(-len(chosen) // TURNS) if build.sleeps else len(chosen)
            more = [rows] if build.sleeps else []
            launches.append((pair_kernel(build.asking()), (rows, n), [*given, *more], 128))
            if build.scratch:  # as many as there are rows of scratch, which is what they step by
                threads = self.work.p1.shape[0]
                launches.append((crew_kernel(build.lending()), threads, [*given, self.work], CREW_BLOCK))
        if self.build.ahead:
            ordered = [self.touch, self.pairs, self.settings, self.contacts]
            return [*launches, (ordering_kernel(), n, ordered, 32)]
        gather, looks = (gather_awake, [self.geoms.look]) if self.build.sleeps else (gather_contacts, [])
        moved = [n, *looks, self.touch, self.pairs, self.contacts]
        launches.append((gather, (-(-n // 32), GATHER, 32), moved, 32 * GATHER))
        return launches

    def detect(self) -> None:
        """Find the contacts of all worlds at the current geom poses."""
        for kernel, dim, inputs, block in self.launch_list():
            wp.launch(kernel, dim, inputs, device=self.device, block_dim=block)
