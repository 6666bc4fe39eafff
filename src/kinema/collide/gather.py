"""Contacts that threads found side by side, brought into the order of pairs.

Whatever ran beside them, the list is the one that a single thread would have written: pairs in order, and of a pair
that several threads shared, the contacts in the order of its parts.

Where not even the slots sufficed, it is chance which contacts found one: a world then has none, rather than any.
"""

from functools import cache

import warp as wp

from kinema.collide.asleep import KEEP, LOOK
from kinema.collide.bundles import Contacts, Pairs, Settings, Touch
from kinema.collide.emit import PER_PAIR
from kinema.collide.hfield import MOST
from kinema.collide.narrow import OVERFLOW_CONTACTS, finish_contact, finish_world
from kinema.collide.swept import pair_at
from kinema.math.lanes import block_sync
from kinema.math.status import report
from kinema.math.touches import touches


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


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    return wp::vec2i(part, 16);
#else
    return part == 15 ? wp::vec2i(0, 1) : wp::vec2i(1 << 30, 1);
#endif
""")
def turns(part: int) -> wp.vec2i:
    """The first contact that a warp of a block moves, and how far the next is.

    On CUDA warps share contacts out; on the CPU, where each runs after the one before, the last moves them all.
    """


FEW = wp.constant(16)
few = wp.types.vector(length=16, dtype=wp.int32)


@wp.func
def orders(touch: Touch, w: int, link: int) -> few:
    """Order of the last few contacts of a pair, as they are linked; zeros, which nobody asks for, if one thread found
    them all."""
    found = few()
    if touch.order.shape[0] > 0:
        if touch.order[w, link / PER_PAIR - 1] >= 0:
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
def place_pair(touch: Touch, contacts: Contacts, w: int, pair: int, start: int) -> int:
    """Give the contacts of a pair of world w their places in the list, from ``start`` on; return their number.

    A place names its pair, and until the contact is complete, in `exclude`, the slot it is to come from.
    """
    link = touch.last[w, pair]
    if link == 0:  # as most pairs
        return 0
    n = wp.min(link % PER_PAIR, MOST)
    if n == 1:
        put_place(contacts, w, pair, start, link / PER_PAIR - 1)
        return 1
    order = orders(touch, w, link)
    while link != 0:
        slot = link / PER_PAIR - 1
        k = rank(touch, w, pair, link, order)
        if k < n:
            put_place(contacts, w, pair, start + k, slot)
        link = touch.before[w, slot]
    return n


@wp.func
def put_place(contacts: Contacts, w: int, pair: int, k: int, slot: int):
    """Let place k of the list name a pair, and the slot of its contact."""
    if k < contacts.dist.shape[1]:
        contacts.pair[w, k] = pair
        contacts.exclude[w, k] = slot


@wp.func
def move_contact(touch: Touch, pairs: Pairs, contacts: Contacts, w: int, k: int, ahead: bool):
    """Bring a contact from its slot to its place."""
    slot = contacts.exclude[w, k]
    contacts.dist[w, k] = touch.dist[w, slot]
    contacts.pos[w, k] = touch.pos[w, slot]
    contacts.frame[w, k] = touch.frame[w, slot]
    finish_contact(contacts, pairs, w, k, contacts.pair[w, k], ahead)


@wp.func
def finish_slots(touch: Touch, contacts: Contacts, w: int, used: int, found: int):
    """Record how many contacts a world has, and give its slots back; where they did not suffice it has none."""
    finish_world(contacts, w, wp.where(used > touch.dist.shape[1], used, found))
    if used > touch.dist.shape[1]:
        contacts.ncon[w] = 0
        report(contacts.status, w, OVERFLOW_CONTACTS)
    touch.used[w] = 0


@wp.func
def gather_world(w: int, part: int, lane: int, live: bool, none: bool, touch: Touch, pairs: Pairs, contacts: Contacts):
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
        start += place_pair(touch, contacts, w, pair, start)
    if live and part == GATHER - 1:
        finish_slots(touch, contacts, w, used, start)
    block_sync()
    if live:
        turn = turns(part)
        for k in range(turn[0], contacts.ncon[w], turn[1]):
            move_contact(touch, pairs, contacts, w, k, False)
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
                n = place_pair(touch, contacts, w, pair, start)
                for k in range(start, wp.min(start + n, contacts.dist.shape[1])):
                    move_contact(touch, pairs, contacts, w, k, settings.ahead[0].found[w, pair] > 0)
                start += n
        finish_slots(touch, contacts, w, used, start)
        if w == 0:
            for i in range(touch.queued.shape[0]):
                touch.queued[i] = 0

    return gather_in_order
