"""The order of contacts where flexes are among them: MuJoCo's.

MuJoCo goes through pairs of bodies in order, and a flex counts as a body after all others. So what the geoms of a body
touch comes first of other bodies, in order, then of flexes; then the next body's. Flexes among themselves come last.

    key     of geoms on bodies a and b    2 min(a, b)
            of body a with a flex         2 a + 1
            of flexes                     2 nbody

Contacts of geoms are found first and those of flexes after them, each in order; runs that stand too late are rotated
to their place, by reversals, in which any number of threads can take part.

Where many contacts would hold few dofs, some are kept: the deepest, then again and again the one farthest from all
that are kept, which spreads them. Of a signed distance field's, the first so many, each point once.
"""

import warp as wp

from kinema.convex.bundle import vec5
from kinema.convex.data import Data
from kinema.convex.flex.sweep import comes_before
from kinema.convex.model import Model
from kinema.math.lanes import block_sync
from kinema.mujoco_enums import Exclude


@wp.func
def put_contact(m: Model, d: Data, w: int, k: int, p: int, elem: wp.vec2i, vert: wp.vec2i):
    """Complete contact k of pair p, whose geometry is there already."""
    pair = m.flex.pair[p]
    number = m.flex.pairnumber[w, p]
    margin = number[0]
    adhesion = number[14]
    beyond = d.con.dist[w, k] >= margin
    d.con.includemargin[w, k] = margin
    d.con.friction[w, k] = vec5(number[2], number[3], number[4], number[5], number[6])
    d.con.solref[w, k] = wp.vec2(number[7], number[8])
    d.con.solreffriction[w, k] = wp.vec2(number[15], number[16])
    d.con.solimp[w, k] = vec5(number[9], number[10], number[11], number[12], number[13])
    d.con.adhesion[w, k] = adhesion
    d.con.geom[w, k] = wp.vec2i(pair[0], -1)
    d.con.pair[w, k] = -1
    within_gap = wp.where(beyond and adhesion == 0.0, int(Exclude.GAP), int(Exclude.NONE))
    d.con.exclude[w, k] = wp.where((pair[5] & 2) != 0, int(Exclude.PASSIVE), within_gap)
    d.con.dim[w, k] = wp.where(beyond and adhesion != 0.0, 1, pair[3])
    d.fcon.flex[w, k] = wp.vec2i(pair[1], pair[2])
    d.fcon.elem[w, k] = elem
    d.fcon.vert[w, k] = vert


# ---------------------------------------------------------------------------------------------- few


@wp.func
def mark_distinct(d: Data, w: int, base: int, count: int, most: int):
    """Mark contacts of a pair that are to be kept: of the first so many, those at places of their own."""
    for k in range(base, wp.min(base + count, d.con.dist.shape[1])):
        new = k < base + most
        q = int(base)
        while new and q < k:
            same = d.con.solreffriction[w, q][1] != 0.0 and d.con.dist[w, q] == d.con.dist[w, k]
            new = not (same and wp.length(d.con.pos[w, q] - d.con.pos[w, k]) == 0.0)
            q += 1
        d.con.solreffriction[w, k] = wp.vec2(0.0, wp.where(new, 1.0, 0.0))


@wp.func
def keep_few(m: Model, d: Data, w: int, p: int, base: int, count: int, into: int) -> int:
    """Keep so many contacts of a pair, in their order, from place `into` on; returns how many are left.

    Meanwhile solreffriction holds the squared distance to the nearest one kept, and whether it is kept itself.
    """
    most = m.flex.pair[p][4]
    all = most == 0 or (most > 0 and count <= most) or base + count > d.con.dist.shape[1]
    if all and base == into:
        return count
    best = base
    for k in range(base, wp.min(base + count, d.con.dist.shape[1])):
        d.con.solreffriction[w, k] = wp.vec2(1.0e20, wp.where(all, 1.0, 0.0))
        if d.con.dist[w, k] < d.con.dist[w, best]:
            best = k
    if most < 0 and not all:
        mark_distinct(d, w, base, count, -most)
    for _turn in range(wp.where(all or most < 0, 0, most)):
        d.con.solreffriction[w, best] = wp.vec2(0.0, 1.0)
        x = d.con.pos[w, best]
        farthest = float(-1.0)
        for k in range(base, base + count):
            mark = d.con.solreffriction[w, k]
            if mark[1] == 0.0:
                gap = d.con.pos[w, k] - x
                near = wp.min(mark[0], wp.dot(gap, gap))
                d.con.solreffriction[w, k] = wp.vec2(near, 0.0)
                if near > farthest:
                    farthest = near
                    best = k
    n = into
    for k in range(base, wp.min(base + count, d.con.dist.shape[1])):
        if d.con.solreffriction[w, k][1] != 0.0:
            d.con.dist[w, n] = d.con.dist[w, k]
            d.con.pos[w, n] = d.con.pos[w, k]
            d.con.frame[w, n] = d.con.frame[w, k]
            put_contact(m, d, w, n, p, d.fcon.elem[w, k], d.fcon.vert[w, k])
            n += 1
    return n - into


@wp.func
def is_of_pair(m: Model, d: Data, w: int, k: int, p: int) -> bool:
    """Is a contact of flexes one of this pair?"""
    pair = m.flex.pair[p]
    flex = d.fcon.flex[w, k]
    return d.con.geom[w, k][0] == pair[0] and flex[0] == pair[1] and flex[1] == pair[2]


@wp.func
def keep_few_of_all(m: Model, d: Data, w: int, first: int, end: int) -> int:
    """`keep_few` of one pair after the other, whose contacts stand in order; returns where the last one ends."""
    k = int(first)
    n = int(first)
    for p in range(m.size.nflexpair):
        base = k
        while k < end and is_of_pair(m, d, w, wp.min(k, d.con.dist.shape[1] - 1), p):
            k += 1
        n += keep_few(m, d, w, p, base, k - base, n)
    return n


# ---------------------------------------------------------------------------------------------- order


@wp.func
def body_key(m: Model, d: Data, w: int, k: int) -> int:
    """Where a contact belongs."""
    geoms = d.con.geom[w, k]
    if geoms[1] >= 0:
        return 2 * wp.min(m.geom.bodyid[geoms[0]], m.geom.bodyid[geoms[1]])
    if geoms[0] >= 0:
        return 2 * m.geom.bodyid[geoms[0]] + 1
    return 2 * m.size.nbody


@wp.func
def swap_contacts(d: Data, w: int, i: int, j: int):
    """Let two contacts change places."""
    dist = d.con.dist[w, i]
    pos = d.con.pos[w, i]
    frame = d.con.frame[w, i]
    includemargin = d.con.includemargin[w, i]
    friction = d.con.friction[w, i]
    solref = d.con.solref[w, i]
    solreffriction = d.con.solreffriction[w, i]
    solimp = d.con.solimp[w, i]
    adhesion = d.con.adhesion[w, i]
    dim = d.con.dim[w, i]
    geom = d.con.geom[w, i]
    pair = d.con.pair[w, i]
    exclude = d.con.exclude[w, i]
    flex = d.fcon.flex[w, i]
    elem = d.fcon.elem[w, i]
    vert = d.fcon.vert[w, i]
    d.con.dist[w, i] = d.con.dist[w, j]
    d.con.pos[w, i] = d.con.pos[w, j]
    d.con.frame[w, i] = d.con.frame[w, j]
    d.con.includemargin[w, i] = d.con.includemargin[w, j]
    d.con.friction[w, i] = d.con.friction[w, j]
    d.con.solref[w, i] = d.con.solref[w, j]
    d.con.solreffriction[w, i] = d.con.solreffriction[w, j]
    d.con.solimp[w, i] = d.con.solimp[w, j]
    d.con.adhesion[w, i] = d.con.adhesion[w, j]
    d.con.dim[w, i] = d.con.dim[w, j]
    d.con.geom[w, i] = d.con.geom[w, j]
    d.con.pair[w, i] = d.con.pair[w, j]
    d.con.exclude[w, i] = d.con.exclude[w, j]
    d.fcon.flex[w, i] = d.fcon.flex[w, j]
    d.fcon.elem[w, i] = d.fcon.elem[w, j]
    d.fcon.vert[w, i] = d.fcon.vert[w, j]
    d.con.dist[w, j] = dist
    d.con.pos[w, j] = pos
    d.con.frame[w, j] = frame
    d.con.includemargin[w, j] = includemargin
    d.con.friction[w, j] = friction
    d.con.solref[w, j] = solref
    d.con.solreffriction[w, j] = solreffriction
    d.con.solimp[w, j] = solimp
    d.con.adhesion[w, j] = adhesion
    d.con.dim[w, j] = dim
    d.con.geom[w, j] = geom
    d.con.pair[w, j] = pair
    d.con.exclude[w, j] = exclude
    d.fcon.flex[w, j] = flex
    d.fcon.elem[w, j] = elem
    d.fcon.vert[w, j] = vert


@wp.func
def is_of_earlier(m: Model, d: Data, w: int, i: int, j: int, axis: int) -> bool:
    """Does contact i come before contact j, by elements, or as a sweep along an axis finds them; then as they stand?"""
    one = d.fcon.elem[w, i]
    two = d.fcon.elem[w, j]
    if axis >= 0:
        first = m.flex.span[d.fcon.flex[w, i][1]][2]
        if one[1] != two[1]:
            return comes_before(m, d, w, first + one[1], first + two[1], axis)
        if one[0] != two[0]:
            return comes_before(m, d, w, first + one[0], first + two[0], axis)
        return i < j
    if one[0] != two[0]:
        return one[0] < two[0]
    if one[1] != two[1]:
        return one[1] < two[1]
    return i < j


@wp.func
def sink(m: Model, d: Data, w: int, base: int, start: int, count: int, axis: int):
    """Let a contact's number sink to its place in a heap whose last comes first."""
    root = int(start)
    child = 2 * root + 1
    while child < count:
        if child + 1 < count:
            if is_of_earlier(m, d, w, d.crow.want[w, base + child], d.crow.want[w, base + child + 1], axis):
                child += 1
        if not is_of_earlier(m, d, w, d.crow.want[w, base + root], d.crow.want[w, base + child], axis):
            return
        swap = d.crow.want[w, base + root]
        d.crow.want[w, base + root] = d.crow.want[w, base + child]
        d.crow.want[w, base + child] = swap
        root = child
        child = 2 * root + 1


@wp.func
def sort_contacts(m: Model, d: Data, w: int, base: int, end: int, axis: int):
    """Sort contacts of a flex with itself, by elements or (axis >= 0) as a sweep; `want` says which goes where."""
    count = end - base
    for k in range(base, end):
        d.crow.want[w, k] = k
    for k in range(count / 2):
        sink(m, d, w, base, count / 2 - 1 - k, count, axis)
    for k in range(count - 1):
        last = base + count - 1 - k
        swap = d.crow.want[w, base]
        d.crow.want[w, base] = d.crow.want[w, last]
        d.crow.want[w, last] = swap
        sink(m, d, w, base, 0, count - 1 - k, axis)
    for k in range(base, end):
        source = d.crow.want[w, k]
        while source < k:  # it has been swapped away already
            source = d.crow.want[w, source]
        if source != k:
            swap_contacts(d, w, k, source)


@wp.func
def rotate(d: Data, w: int, lane: int, lanes: int, first: int, middle: int, end: int):
    """Let the contacts from `middle` on come before those from `first` on."""
    three = int(3)
    for turn in range(three):
        low = wp.where(turn == 1, middle, first)
        high = wp.where(turn == 0, middle, end)
        for k in range(lane, (high - low) / 2, lanes):
            swap_contacts(d, w, low + k, high - 1 - k)
        block_sync()


@wp.func
def interleave(m: Model, d: Data, w: int, lane: int, lanes: int, flexes: int, end: int):
    """Bring contacts into order: those of geoms stand before `flexes`, those of flexes from there on."""
    a = int(0)
    middle = int(flexes)
    while a < middle and middle < end:
        own = body_key(m, d, w, a)
        f = int(middle)
        while f < end and body_key(m, d, w, wp.min(f, end - 1)) < own:
            f += 1
        block_sync()
        if f > middle:
            rotate(d, w, lane, lanes, a, middle, f)
            a += f - middle
            middle = f
        a += 1
