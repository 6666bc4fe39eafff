"""Sums over the children of a body: one step of a pass from the leaves of a tree to its root.

    s_b = own_b + sum of s_c over the children c of b

Whoever sweeps upwards (`Stage(..., sweep="up")`) meets the children of a body before the body.
"""

from typing import Any

import warp as wp

from kinema.convex.model import Model


@wp.func
def with_children(m: Model, values: wp.array2d(dtype=Any), w: int, b: int, own: Any):
    """What body b has of its own, and what is kept of its children; the last child first, as in a backward pass."""
    sum = own
    first = m.body.childadr[b]
    for k in range(first, first + m.body.childnum[b]):
        sum += values[w, m.body.child[k]]
    return sum
