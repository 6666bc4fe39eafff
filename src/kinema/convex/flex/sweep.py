"""Elements of a flex in the order they begin along an axis: a flex is swept for pairs of elements that may touch.

The axis is the one it is longest in. A heap sorts in place, so that one thread needs no room but the order itself.
Where an element begins, those that have begun and not ended meet it, in the order they began in; so contacts stand in
the order of the element that begins later, then of the other.
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
def begun_since(m: Model, d: Data, w: int, base: int, count: int, place: float, axis: int) -> int:
    """How many of the first elements in order begin before a place."""
    low = int(0)
    high = int(count)
    while low < high:
        middle = (low + high) / 2
        if low_end(m, d, w, d.flex.order[w, base + middle], axis) < place:
            low = middle + 1
        else:
            high = middle
    return low


@wp.func
def sift(m: Model, d: Data, w: int, start: int, count: int, base: int, axis: int):
    """Let an element sink to its place in a heap whose last comes first."""
    root = int(start)
    child = 2 * root + 1
    while child < count:
        if child + 1 < count:
            if comes_before(m, d, w, d.flex.order[w, base + child], d.flex.order[w, base + child + 1], axis):
                child += 1
        if not comes_before(m, d, w, d.flex.order[w, base + root], d.flex.order[w, base + child], axis):
            return
        swap = d.flex.order[w, base + root]
        d.flex.order[w, base + root] = d.flex.order[w, base + child]
        d.flex.order[w, base + child] = swap
        root = child
        child = 2 * root + 1


@wp.func
def longest(size: wp.vec3) -> int:
    """The axis of a box's longest side."""
    if size[0] > size[1] and size[0] > size[2]:
        return 0
    return wp.where(size[1] > size[2], 1, 2)


@wp.func
def extent(m: Model, d: Data, w: int, f: int, first: int, step: int):
    """Between which places the active elements of a flex lie: the first of them, and every step-th from there."""
    span = m.flex.span[f]
    low = wp.vec3(1.0e30)
    high = wp.vec3(-1.0e30)
    for e in range(span[2] + first, span[2] + span[3], step):
        if m.flex.elemlist[e][1] != 0:
            box = d.flex.elem_aabb[w, e]
            center = wp.vec3(box[0], box[1], box[2])
            half = wp.vec3(box[3], box[4], box[5])
            low = wp.min(low, center - half)
            high = wp.max(high, center + half)
    return low, high


@wp.func
def longest_axis(m: Model, d: Data, w: int, f: int) -> int:
    """The axis along which the active elements of a flex extend farthest."""
    low, high = extent(m, d, w, f, 0, 1)
    return longest(high - low)


@wp.func
def widest_element(m: Model, d: Data, w: int, f: int, axis: int) -> float:
    """How far the widest active element of a flex extends along an axis."""
    span = m.flex.span[f]
    width = float(0.0)
    for e in range(span[2], span[2] + span[3]):
        if m.flex.elemlist[e][1] != 0:
            width = wp.max(width, 2.0 * d.flex.elem_aabb[w, e][axis + 3])
    return width


@wp.func
def sort_elements(m: Model, d: Data, w: int, f: int) -> wp.vec2i:
    """Sort the active elements of a flex along the axis it is longest in; returns their number, and the axis."""
    span = m.flex.span[f]
    axis = longest_axis(m, d, w, f)
    count = int(0)
    for e in range(span[2], span[2] + span[3]):
        if m.flex.elemlist[e][1] != 0:
            d.flex.order[w, span[2] + count] = e
            count += 1
    for k in range(count, span[3]):
        d.flex.order[w, span[2] + k] = -1
    for k in range(count / 2):
        sift(m, d, w, count / 2 - 1 - k, count, span[2], axis)
    for k in range(count - 1):
        last = span[2] + count - 1 - k
        swap = d.flex.order[w, span[2]]
        d.flex.order[w, span[2]] = d.flex.order[w, last]
        d.flex.order[w, last] = swap
        sift(m, d, w, 0, count - 1 - k, span[2], axis)
    return wp.vec2i(count, axis)
