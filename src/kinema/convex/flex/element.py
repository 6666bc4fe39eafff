"""One element or hinge of a flex: its edges, where its stiffness has an entry, and what it keeps where it yields."""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model


@wp.func
def edge_corners(corners: int, k: int) -> wp.vec2i:
    """The two corners of edge k of an element: (1 2) (2 0) (0 1), or (0 1) (1 2) (2 0) (2 3) (0 3) (1 3)."""
    if corners == 3:
        return wp.vec2i((k + 1) % 3, (k + 2) % 3)
    if k < 3:
        return wp.vec2i(k, (k + 1) % 3)
    return wp.vec2i((k + 2) % 3, 3)


@wp.func
def triangle_index(n: int, i: int, j: int) -> int:
    """Where entry (i, j) of a symmetric n by n matrix is among its upper triangle, row by row."""
    low = wp.min(i, j)
    high = wp.max(i, j)
    return low * n - low * (low - 1) / 2 + high - low


@wp.func
def kept(m: Model, d: Data, w: int, item: int, k: int) -> float:
    """What an element keeps of the square of its k-th edge, or a hinge (items after elements) of its rest shape."""
    if m.size.nflexplastic == 0:
        return 0.0
    at = m.flex.bodypoint[m.size.nflexplastic + item]
    if at < 0:
        return 0.0
    return d.state.plastic[w, at + k]
