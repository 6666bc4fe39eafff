"""Let some worlds rest while a recipe runs in the others: whoever starts an episode must not disturb its neighbours.

No stage runs in a world that is marked BAD_STATE (status.py). So worlds that are to rest are given that mark before a
run, and get their status back after it; what they have computed, the solver's warm start included, stays as it is.
Only collision detection on CUDA looks at no marks: contacts of a resting world are found once more, and nobody acts on
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import warp as wp

from kinema.convex.status import BAD_STATE


@wp.kernel(enable_backward=False)
def lay_down(mask: wp.array(dtype=int), status: wp.array(dtype=int), kept: wp.array(dtype=int)):
    """Mark the worlds that are not of the mask, and keep their status."""
    w = wp.tid()
    if mask[w] == 0:
        kept[w] = status[w]
        status[w] = status[w] | BAD_STATE


@wp.kernel(enable_backward=False)
def wake(mask: wp.array(dtype=int), status: wp.array(dtype=int), kept: wp.array(dtype=int)):
    """Give them their status back."""
    w = wp.tid()
    if mask[w] == 0:
        status[w] = kept[w]


class Resting:
    """Marks of worlds that rest.

    Args:
        status: The engine's status words, one a world.
    """

    def __init__(self, status: wp.array):
        self.status, self.kept = status, wp.zeros_like(status)

    @contextmanager
    def all_but(self, mask: wp.array) -> Iterator[None]:
        """While this lasts, only worlds of the mask (integers, one a world) are run."""
        inputs = [mask, self.status, self.kept]
        wp.launch(lay_down, dim=self.status.shape[0], inputs=inputs, device=self.status.device)
        try:
            yield
        finally:
            wp.launch(wake, dim=self.status.shape[0], inputs=inputs, device=self.status.device)
