"""Writing contacts: the one place where the narrow phase touches output arrays.

One thread that finds all contacts of a world writes contact k into slot k. Where a thread takes a pair, nobody knows
yet how many contacts the pairs before it will have, so slots are taken as contacts are found: there need be room for
the contacts there are, not for those every pair could make. Which slot that is, is chance; so the contacts of a pair
are linked, the last one first, and whoever gathers them goes by pairs and links and never by slots. A link is a number,

    link = PER_PAIR * (slot + 1) + contacts of the pair up to that one        0: none

so the link of a pair tells where its last contact is, and how many there are. Contacts that several threads find for
one pair have an order of their own beside, a number that only grows from one contact to the next.
"""

import warp as wp

from kinema.collide.bundles import Touch
from kinema.math.frame import make_frame

PER_PAIR = wp.constant(256)  # more than the contacts of a pair: mjMAXCONPAIR is 50


@wp.func
def take_slot(touch: Touch, w: int, k: int) -> int:
    """The slot of contact ``k % PER_PAIR`` of pair ``k / PER_PAIR``; beyond the capacity it is counted, not linked."""
    slot = wp.atomic_add(touch.used, w, 1)
    if slot < touch.dist.shape[1]:
        pair = k / PER_PAIR
        touch.before[w, slot] = touch.last[w, pair]
        touch.last[w, pair] = PER_PAIR * (slot + 1) + k % PER_PAIR + 1
        if touch.order.shape[0] > 0:
            touch.order[w, slot] = -1
    return slot


@wp.func
def emit(touch: Touch, w: int, k: int, dist: float, pos: wp.vec3, normal: wp.vec3, tangent: wp.vec3):
    """Store contact k of world w; contacts beyond the capacity are counted by the caller but not stored."""
    slot = k
    if touch.used.shape[0] > 0:
        slot = take_slot(touch, w, k)
    if slot < touch.dist.shape[1]:
        touch.dist[w, slot] = dist
        touch.pos[w, slot] = pos
        touch.frame[w, slot] = make_frame(normal, tangent)


@wp.func
def emit_ordered(
    touch: Touch, w: int, base: int, count: int, order: int, dist: float, pos: wp.vec3, normal: wp.vec3
):
    """Store a contact; ``count`` of the pair were stored before it, or others may be storing some at the same time."""
    if touch.order.shape[0] == 0:
        emit(touch, w, base + count, dist, pos, normal, wp.vec3())
    else:
        slot = wp.atomic_add(touch.used, w, 1)
        if slot < touch.dist.shape[1]:
            touch.order[w, slot] = order
            touch.dist[w, slot] = dist
            touch.pos[w, slot] = pos
            touch.frame[w, slot] = make_frame(normal, wp.vec3())
            pair = base / PER_PAIR
            link = touch.last[w, pair]
            seen = int(-1)
            while seen != link:
                if seen >= 0:
                    link = seen
                touch.before[w, slot] = link
                seen = wp.atomic_cas(touch.last, w, pair, link, PER_PAIR * (slot + 1) + link % PER_PAIR + 1)
