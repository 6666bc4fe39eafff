"""The status word of a world, changed safely by whoever runs at the same time.

Detection on a second stream, a row that finds no room, an actuator's warp: all set bits of one word. A load, an `or`
and a store would lose what another thread sets in between, so every change goes through `report`, which is one atomic
operation; `or` gives the same word in any order.
"""

import warp as wp

from kinema.math.touches import touches


@wp.func
@touches(writes="status[w]")
def report(status: wp.array(dtype=int), w: int, bits: int):
    """Set bits of the status of world w."""
    wp.atomic_or(status, w, bits)
