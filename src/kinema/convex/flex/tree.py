"""Boxes around boxes: which elements of a flex may touch a box, without asking all of them.

Elements stand in the order in which MuJoCo's tree of boxes is walked (tables.leaves), so that neighbours in it lie
close together. A leaf is up to LEAF of them, the number of leaves a power of two, and node k holds its children 2k and
2k + 1:

    1 | 2 3 | 4 5 6 7 | ...        the last row are the leaves

Nothing but boxes is kept, and they are made anew in every step. A walk needs no stack: after a node that is done, or
that is passed over, comes k + 1, halved while it is even.
"""

import warp as wp

from kinema.convex.bundle import vec6
from kinema.convex.data import Data
from kinema.convex.model import Model

LEAF = wp.constant(8)
FAR = wp.constant(1.0e30)


@wp.func
def leaf_count(elements: int) -> int:
    """Leaves of a tree; with the nodes above them, fewer than there are elements."""
    count = int(1)
    while count * LEAF < elements:
        count *= 2
    return count


@wp.func
def around(low: wp.vec3, high: wp.vec3) -> vec6:
    """A box by its ends."""
    return vec6(low[0], low[1], low[2], high[0], high[1], high[2])


@wp.func
def low_of(box: vec6) -> wp.vec3:
    return wp.vec3(box[0], box[1], box[2])


@wp.func
def high_of(box: vec6) -> wp.vec3:
    return wp.vec3(box[3], box[4], box[5])


@wp.func
def do_meet(a: vec6, b: vec6) -> bool:
    """Do two boxes have a point in common?"""
    meet = bool(True)
    for k in range(3):
        meet = meet and a[k] <= b[k + 3] and b[k] <= a[k + 3]
    return meet


@wp.func
def element_around(d: Data, w: int, e: int) -> vec6:
    """The box of an element by its ends."""
    box = d.flex.elem_aabb[w, e]
    center = low_of(box)
    half = high_of(box)
    return around(center - half, center + half)


@wp.func
def leaf_element(m: Model, first: int, i: int) -> int:
    """The i-th element of a flex as its tree is walked, counted over all flexes; -1: there is none that touches."""
    e = m.flex.elemlist[first + i][9]
    if e < 0 or m.flex.elemlist[first + wp.max(e, 0)][1] == 0:
        return -1
    return first + e


@wp.func
def build_tree(m: Model, d: Data, w: int, f: int):
    """Boxes around the elements of a flex that may touch something, from the leaves to the root."""
    first = m.flex.span[f][2]
    elements = m.flex.span[f][3]
    leaves = leaf_count(elements)
    size = (elements + leaves - 1) / leaves
    for leaf in range(leaves):
        low = wp.vec3(FAR)
        high = wp.vec3(-FAR)
        for i in range(leaf * size, wp.min(leaf * size + size, elements)):
            e = leaf_element(m, first, i)
            if e >= 0:
                box = element_around(d, w, e)
                low = wp.min(low, low_of(box))
                high = wp.max(high, high_of(box))
        d.flex.tree[w, first + leaves + leaf - 1] = around(low, high)
    for back in range(1, leaves):
        k = leaves - back
        one = d.flex.tree[w, first + 2 * k - 1]
        two = d.flex.tree[w, first + 2 * k]
        d.flex.tree[w, first + k - 1] = around(wp.min(low_of(one), low_of(two)), wp.max(high_of(one), high_of(two)))


@wp.func
def root_box(m: Model, d: Data, w: int, f: int) -> vec6:
    """The box around all elements of a flex that may touch something."""
    return d.flex.tree[w, m.flex.span[f][2]]


@wp.func
def find_elements(m: Model, d: Data, w: int, f: int, box: vec6, after: int) -> int:
    """Elements of a flex whose boxes meet a box, as the tree has them: `order` from its first on; returns how many.

    Only those that stand after a place in the tree; -1: all. The walk begins at its leaf, and never turns back.
    """
    first = m.flex.span[f][2]
    elements = m.flex.span[f][3]
    leaves = leaf_count(elements)
    size = (elements + leaves - 1) / leaves
    found = int(0)
    k = wp.where(after < 0, 1, leaves + wp.max(after, 0) / size)
    while k > 0:
        inside = do_meet(d.flex.tree[w, first + k - 1], box)
        if inside and k < leaves:
            k *= 2
        else:
            if inside:
                begin = (k - leaves) * size
                for i in range(wp.max(begin, after + 1), wp.min(begin + size, elements)):
                    e = leaf_element(m, first, i)
                    if e >= 0:
                        if do_meet(element_around(d, w, e), box):
                            d.flex.order[w, first + found] = e
                            found += 1
            k += 1
            while (k & 1) == 0:
                k >>= 1
            k = wp.where(k == 1, 0, k)
    return found


@wp.func
def sort_found(d: Data, w: int, first: int, count: int):
    """Bring what was found into the order of numbers (Shell 1959)."""
    gap = count / 2
    while gap > 0:
        for k in range(gap, count):
            e = d.flex.order[w, first + k]
            at = int(k)
            while at >= gap and d.flex.order[w, first + wp.max(at - gap, 0)] > e:
                d.flex.order[w, first + at] = d.flex.order[w, first + at - gap]
                at -= gap
            d.flex.order[w, first + at] = e
        gap = gap / 2
