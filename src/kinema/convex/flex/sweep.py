"""The order in which a sweep finds elements of a flex that touch each other.

MuJoCo sorts elements by where they begin along the axis in which the flex is longest. Where one begins, those that have
begun and not ended meet it, in the order they began in; so contacts stand in the order of the element that begins
later, then of the other. Elements are found in another way here (tree.py, near.py), and put into this order.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model


@wp.func
def low_end(m: Model, d: Data, w: int, e: int, axis: int) -> float:
    """Where an element begins along an axis, its radius left out; equal ends are equal to the bit."""
    corners = m.flex.elemvert[e]
    low = d.flex.vert_xpos[w, corners[0]][axis]
    for k in range(1, 4):
        if corners[k] >= 0:
            low = wp.min(low, d.flex.vert_xpos[w, corners[k]][axis])
    return low


@wp.func
def comes_before(m: Model, d: Data, w: int, one: int, two: int, axis: int) -> bool:
    """The order of a sweep: by where boxes begin, then by number."""
    a = low_end(m, d, w, one, axis)
    b = low_end(m, d, w, two, axis)
    return a < b or (a == b and one < two)


@wp.func
def is_first(m: Model, d: Data, w: int, p: int, one: int, two: int, axis: int) -> bool:
    """Does a contact of two elements of a flex lead from the one to the other?"""
    if (m.flex.pair[p][5] & 1) != 0:
        return comes_before(m, d, w, one, two, axis)
    return m.flex.elemlist[one][1] < m.flex.elemlist[two][1]


@wp.func
def longest(size: wp.vec3) -> int:
    """The axis of a box's longest side."""
    if size[0] > size[1] and size[0] > size[2]:
        return 0
    return wp.where(size[1] > size[2], 1, 2)
