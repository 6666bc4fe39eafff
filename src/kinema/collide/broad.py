"""Broad phase for scenes of many geoms: which pairs are near, in the order of MuJoCo's contacts.

Geoms are sorted into rows of a grid: cells of one width (the largest diameter) in y and z, position in x within a row.
A geom then finds its neighbours in nine rows, each a contiguous range of the sorted list that a binary search finds:
O(n log n) for n geoms of similar size. Much larger ones, planes and height fields are paired with all others in advance
(``special`` pairs). The sorted list is kept from step to step, where an insertion sort repairs it in nearly linear
time; what is found does not depend on it.

Pairs of a body lie together, sorted by the key (other body, geoms): each body counts its pairs, a scan gives every body
its place, then it writes them. No order depends on threads.
"""

import warp as wp

from kinema.collide.asleep import LOOK
from kinema.collide.bound import rounding, spheres_apart
from kinema.collide.bundles import Geoms, Pairs, Sweep
from kinema.collide.parameters import mixed_condim, mixed_parameters
from kinema.math.status import report

OVERFLOW_PAIRS = wp.constant(16)  # bit of Contacts.status
ROWS = wp.constant(32768)  # cells to either side of the origin


@wp.func
def pack(row_z: int, row_y: int, x: int) -> wp.int64:
    """Sort key of a cell: row, then x."""
    return (wp.int64(row_z) << wp.int64(48)) | (wp.int64(row_y) << wp.int64(32)) | wp.int64(x)


@wp.func
def row_of(y: float, width: float) -> int:
    """Cell along y or z."""
    return wp.clamp(int(wp.floor(y / width)) + ROWS, 1, 2 * ROWS - 3)


@wp.func
def column_of(x: float, width: float) -> int:
    """Position along x, in 1024ths of a cell."""
    return wp.clamp(int(wp.floor(x / width * 1024.0)) + (1 << 29), 0, (1 << 30) - 1)


@wp.func
def lower_bound(list: wp.array(dtype=wp.int64), n: int, x: wp.int64) -> int:
    """Index of the first element of a sorted list that is not below x."""
    low = int(0)
    high = n
    while low < high:
        mid = (low + high) // 2
        if list[mid] < x:
            low = mid + 1
        else:
            high = mid
    return low


@wp.func
def is_listed(list: wp.array(dtype=wp.int64), x: wp.int64) -> bool:
    """Whether a sorted list contains x."""
    i = lower_bound(list, list.shape[0], x)
    return i < list.shape[0] and list[i] == x


@wp.func
def sort_world(geoms: Geoms, s: Sweep, w: int):
    """Bring the sorted list of world w up to date."""
    for k in range(s.active.shape[0]):
        g = s.order[w, k]
        p = geoms.xpos[w, g]
        cell = pack(row_of(p[2], s.width), row_of(p[1], s.width), column_of(p[0], s.width))
        i = k
        while i > 0 and s.cell[w, i - 1] > cell:
            s.cell[w, i] = s.cell[w, i - 1]
            s.order[w, i] = s.order[w, i - 1]
            i -= 1
        s.cell[w, i] = cell
        s.order[w, i] = g


@wp.func
def bodies_may_collide(s: Sweep, b1: int, b2: int) -> bool:
    """The body half of the filter, see filter.py."""
    w1 = s.weld[b1]
    w2 = s.weld[b2]
    if w1 == w2 or (s.moves[b1] == 0 and s.moves[b2] == 0):
        return False
    if w1 != 0 and w2 != 0 and (w1 == s.weldparent[b2] or w2 == s.weldparent[b1]):
        return False
    return not is_listed(s.exclude, (wp.int64(b1) << wp.int64(32)) | wp.int64(b2))


@wp.func
def may_collide(geoms: Geoms, s: Sweep, w: int, g1: int, g2: int) -> bool:
    """Whether geoms g1 < g2 of world w are near and pass the filter."""
    d = geoms.xpos[w, g2] - geoms.xpos[w, g1]
    reach = geoms.rbound[w, g1] + geoms.rbound[w, g2] + s.margin[g1] + s.margin[g2] + rounding(geoms, w, g1, g2)
    if wp.dot(d, d) > reach * reach:
        return False
    bits1 = s.bits[g1]
    bits2 = s.bits[g2]
    if (bits1[0] & bits2[1]) == 0 and (bits2[0] & bits1[1]) == 0:
        return False
    if not bodies_may_collide(s, s.body[g1], s.body[g2]):
        return False
    return not is_listed(s.listed, (wp.int64(g1) << wp.int64(32)) | wp.int64(g2))


@wp.func
def pair_key(geoms: Geoms, s: Sweep, g1: int, g2: int) -> wp.int64:
    """Sort key of a pair among those of the body of g1: other body, then geoms as MuJoCo orders them."""
    b1 = s.body[g1]
    b2 = s.body[g2]
    first = g1
    second = g2
    if (s.tree[b1] != 0 or s.tree[b2] != 0) and geoms.type[g1] > geoms.type[g2]:
        first = g2
        second = g1
    return (wp.int64(b2) << wp.int64(42)) | (wp.int64(first + 1) << wp.int64(21)) | wp.int64(second)


@wp.func
def insert(pairs: Pairs, s: Sweep, w: int, base: int, n: int, geom: wp.vec2i, key: wp.int64, source: int):
    """Insert a pair into the sorted pairs base .. base + n - 1 of world w; pairs beyond the capacity are not stored."""
    i = base + n
    if i < pairs.geom.shape[1]:
        while i > base and s.key[w, i - 1] > key:
            s.key[w, i] = s.key[w, i - 1]
            s.source[w, i] = s.source[w, i - 1]
            pairs.geom[w, i] = pairs.geom[w, i - 1]
            i -= 1
        s.key[w, i] = key
        s.source[w, i] = source
        pairs.geom[w, i] = geom


@wp.func
def gather_pairs(geoms: Geoms, s: Sweep, pairs: Pairs, w: int, body: int, base: int, write: bool) -> int:
    """Pairs whose lower body is the given one: count them, and write them from ``base`` on."""
    n = int(0)
    for k in range(s.specialadr[body], s.specialadr[body + 1]):
        g = s.special.geom[0, k]
        if not special_apart(geoms, s, w, k):
            if write:
                insert(pairs, s, w, base, n, g, s.specialkey[k], k)
            n += 1

    size = s.active.shape[0]
    for a in range(s.bodyadr[body], s.bodyadr[body + 1]):
        g1 = s.active[a]
        p = geoms.xpos[w, g1]
        rz = row_of(p[2], s.width)
        ry = row_of(p[1], s.width)
        x = column_of(p[0], s.width)
        rows = int(9)
        for row in range(rows):
            z = rz + row // 3 - 1
            y = ry + row % 3 - 1
            i = lower_bound(s.cell[w], size, pack(z, y, wp.max(x - 1026, 0)))
            last = pack(z, y, x + 1026)
            while i < size and s.cell[w, i] <= last:
                g2 = s.order[w, i]
                if g2 > g1 and may_collide(geoms, s, w, g1, g2):
                    if write:
                        g = wp.vec2i(g1, g2)
                        if geoms.type[g1] > geoms.type[g2]:
                            g = wp.vec2i(g2, g1)
                        insert(pairs, s, w, base, n, g, pair_key(geoms, s, g1, g2), -1)
                    n += 1
                i += 1
    return n


@wp.func
def special_apart(geoms: Geoms, s: Sweep, w: int, k: int) -> bool:
    """Whether the bounding spheres of a special pair are farther apart than its margin."""
    g = s.special.geom[0, k]
    margin = s.special.margin[0, k] + s.special.gap[0, k]
    return spheres_apart(geoms, w, g[0], g[1], margin + rounding(geoms, w, g[0], g[1]))


@wp.func
def fill_pair(geoms: Geoms, s: Sweep, pairs: Pairs, w: int, p: int):
    """Function and parameters of pair p of world w."""
    k = s.source[w, p]
    g = pairs.geom[w, p]
    pairs.function[w, p] = s.table[geoms.type[g[0]], geoms.type[g[1]]]
    if k >= 0:
        pairs.condim[w, p] = s.special.condim[0, k]
        pairs.margin[w, p] = s.special.margin[0, k]
        pairs.gap[w, p] = s.special.gap[0, k]
        pairs.friction[w, p] = s.special.friction[0, k]
        pairs.solref[w, p] = s.special.solref[0, k]
        pairs.solreffriction[w, p] = s.special.solreffriction[0, k]
        pairs.solimp[w, p] = s.special.solimp[0, k]
        pairs.adhesion[w, p] = s.special.adhesion[0, k]
        return
    friction, solref, solimp, adhesion = mixed_parameters(s.parameters, w, g[0], g[1])
    pairs.condim[w, p] = mixed_condim(s.parameters, g[0], g[1])
    pairs.margin[w, p] = s.parameters.margin[w, g[0]] + s.parameters.margin[w, g[1]]
    pairs.gap[w, p] = s.parameters.gap[w, g[0]] + s.parameters.gap[w, g[1]]
    pairs.friction[w, p] = friction
    pairs.solref[w, p] = solref
    pairs.solreffriction[w, p] = wp.vec2()
    pairs.solimp[w, p] = solimp
    pairs.adhesion[w, p] = adhesion


@wp.func
def finish_pairs(pairs: Pairs, status: wp.array(dtype=int), w: int, n: int):
    """Record how many pairs a world has, and whether some were lost."""
    pairs.count[w] = wp.min(n, pairs.geom.shape[1])
    if n > pairs.geom.shape[1]:
        report(status, w, OVERFLOW_PAIRS)


@wp.func
def sweep_world(geoms: Geoms, s: Sweep, pairs: Pairs, status: wp.array(dtype=int), w: int):
    """All near pairs of world w, by one thread."""
    sort_world(geoms, s, w)
    n = int(0)
    for body in range(s.weld.shape[0]):
        n += gather_pairs(geoms, s, pairs, w, body, n, True)
    finish_pairs(pairs, status, w, n)
    for p in range(pairs.count[w]):
        fill_pair(geoms, s, pairs, w, p)


@wp.kernel(enable_backward=False)
def sort_geoms(geoms: Geoms, s: Sweep):
    """One thread a world."""
    sort_world(geoms, s, wp.tid())


@wp.kernel(enable_backward=False)
def count_pairs(geoms: Geoms, s: Sweep, pairs: Pairs):
    """One thread a body of a world."""
    body, w = wp.tid()
    s.count[w, body] = gather_pairs(geoms, s, pairs, w, body, 0, False)


@wp.kernel(enable_backward=False)
def sort_awake(geoms: Geoms, s: Sweep):
    """`sort_geoms` of the worlds that look for contacts (asleep.py)."""
    w = wp.tid()
    if geoms.look[w] == LOOK:
        sort_world(geoms, s, w)


@wp.kernel(enable_backward=False)
def count_awake(geoms: Geoms, s: Sweep, pairs: Pairs):
    """`count_pairs` of the same; of the others none are counted."""
    body, w = wp.tid()
    n = int(0)
    if geoms.look[w] == LOOK:
        n = gather_pairs(geoms, s, pairs, w, body, 0, False)
    s.count[w, body] = n


@wp.kernel(enable_backward=False)
def write_awake(geoms: Geoms, s: Sweep, pairs: Pairs):
    """`write_pairs` of the same."""
    body, w = wp.tid()
    if geoms.look[w] == LOOK:
        base = s.count[w, body]
        n = gather_pairs(geoms, s, pairs, w, body, base, True)
        for p in range(base, wp.min(base + n, pairs.geom.shape[1])):
            fill_pair(geoms, s, pairs, w, p)


awake_sweep = (sort_awake, count_awake, write_awake)
"""What takes the place of `sort_geoms`, `count_pairs`, `write_pairs` where bodies may sleep."""


@wp.kernel(enable_backward=False)
def place_pairs(s: Sweep, pairs: Pairs, status: wp.array(dtype=int)):
    """One thread a world: turn counts into places."""
    w = wp.tid()
    n = int(0)
    for body in range(s.weld.shape[0]):
        c = s.count[w, body]
        s.count[w, body] = n
        n += c
    finish_pairs(pairs, status, w, n)


@wp.kernel(enable_backward=False)
def write_pairs(geoms: Geoms, s: Sweep, pairs: Pairs):
    """One thread a body of a world."""
    body, w = wp.tid()
    base = s.count[w, body]
    n = gather_pairs(geoms, s, pairs, w, body, base, True)
    for p in range(base, wp.min(base + n, pairs.geom.shape[1])):
        fill_pair(geoms, s, pairs, w, p)
