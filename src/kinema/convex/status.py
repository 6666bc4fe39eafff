"""What can go wrong in a world, as bits of `d.state.status`; set by `report` (math/status.py) or what stands below.

A world with BAD_STATE is frozen: no stage runs in it until it is reset; in one that is WAITING, until there is room. So
every stage reads those bits, and one that sets them needs a barrier before and after, unlike one that sets another: to
the scheduler "status.frozen" is an array.
"""

import warp as wp

from kinema.math.status import report
from kinema.math.touches import touches

CONTACT_OVERFLOW = wp.constant(1)  # contacts were found that the list has no room for
ROW_OVERFLOW = wp.constant(2)  # constraint rows were wanted that the arrays have no room for
BAD_CONTROL = wp.constant(8)  # a control is not a number; all of the world's count as 0
BAD_STATE = wp.constant(4)  # qpos, qvel or qacc is not finite, or huge
BAD_PLUGIN = wp.constant(32)  # a plugin gave a number that is not finite; its instance is in the bits from 16 on
PLUGIN_SHIFT = wp.constant(16)

PAIR_OVERFLOW = wp.constant(16)  # the broad phase found more near pairs than it has room for
WAITING = wp.constant(64)  # the world found no room, and waits until there is some: nothing runs in it (capacity.py)
OVERFLOW = wp.constant(1 | 2 | 16)
IDLE = wp.constant(4 | 64)  # marks of a world in which no stage runs


@wp.func
@touches(writes="status[w] status.frozen[w]")
def freeze(status: wp.array(dtype=int), w: int):
    """Leave world w as it is from now on."""
    report(status, w, BAD_STATE)


@wp.func
@touches(writes="status[w] status.frozen[w]")
def wait(status: wp.array(dtype=int), w: int):
    """Leave world w as it is until there is room."""
    report(status, w, WAITING)


@wp.func
@touches(reads="status[w]", writes="status[w] status.frozen[w]")
def blame(status: wp.array(dtype=int), w: int, instance: int):
    """Freeze world w and put a plugin instance on record; of several at the same time the one of the lowest number."""
    flags = BAD_PLUGIN | BAD_STATE
    old = status[w]
    done = int(0)
    while done == 0:
        culprit = instance
        if (old & BAD_PLUGIN) != 0:
            culprit = wp.min(instance, old >> PLUGIN_SHIFT)
        rest = old & ((1 << PLUGIN_SHIFT) - 1)
        seen = wp.atomic_cas(status, w, old, rest | flags | (culprit << PLUGIN_SHIFT))
        if seen == old:
            done = 1
        old = seen


LOST = int(BAD_STATE) | int(BAD_PLUGIN)
"""Marks of a world that can no longer be trusted."""

MEANING = {
    1: "contact list is full",
    2: "constraint rows are full",
    4: "state is not finite",
    8: "a control is not finite",
    16: "list of near pairs is full",
    32: "a plugin gave a number that is not finite",
}
