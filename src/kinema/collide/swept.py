"""Who may meet within a step: geoms that move fast for their size, and spheres that sweep past each other.

No point of a geom moves farther than s = |dx| + |dw| r in a step. A pair is looked at ahead of time when one of its
geoms moves farther than half the smallest size of either, for only then could one pass the other unseen. Their bounding
spheres are nearest at t in [0, 1] where |p + t v| is smallest, p and v being the relative position and displacement; a
geom that does not move so far stands still there.
"""

import warp as wp

from kinema.collide.bundles import Ahead, Geoms, Pairs
from kinema.collide.table import PairFunction
from kinema.math.vector import column
from kinema.mujoco_enums import MINVAL, Geom


@wp.func
def thickness(geoms: Geoms, w: int, g: int) -> float:
    """The smallest half size of a geom."""
    return wp.min(geoms.aabb_half[w, g])


@wp.func
def is_fast(geoms: Geoms, ahead: Ahead, w: int, g1: int, g2: int) -> bool:
    """Whether one of two geoms moves farther than the thinner of them is thick."""
    return wp.max(ahead.reach[w, g1], ahead.reach[w, g2]) > wp.min(thickness(geoms, w, g1), thickness(geoms, w, g2))


@wp.func
def fast_travel(geoms: Geoms, ahead: Ahead, w: int, g: int, thin: float) -> wp.vec3:
    """The displacement of a geom that moves farther than what is thin, or 0."""
    if ahead.reach[w, g] > thin:
        return ahead.travel[w, g]
    return wp.vec3()


@wp.func
def spheres_pass(geoms: Geoms, ahead: Ahead, w: int, g1: int, g2: int, margin: float) -> bool:
    """Whether the bounding spheres come within the margin of each other in this step."""
    p = geoms.xpos[w, g2] - geoms.xpos[w, g1]
    thin = wp.min(thickness(geoms, w, g1), thickness(geoms, w, g2))
    v = fast_travel(geoms, ahead, w, g2, thin) - fast_travel(geoms, ahead, w, g1, thin)
    r1 = geoms.rbound[w, g1]
    r2 = geoms.rbound[w, g2]
    if geoms.type[g1] == Geom.PLANE:
        n = column(geoms.xmat[w, g1], 2)
        d = wp.dot(n, p)
        return wp.min(d, d + wp.dot(n, v)) <= r2 + margin
    t = wp.clamp(-wp.dot(p, v) / wp.max(wp.dot(v, v), MINVAL), 0.0, 1.0)
    return wp.length(p + v * t) <= r1 + r2 + margin


@wp.func
def may_meet(geoms: Geoms, ahead: Ahead, pairs: Pairs, w: int, pair: int) -> bool:
    """Whether a pair is worth looking at ahead of time: of convex geoms, fast, and not passing at a distance."""
    g = pairs.geom[w, pair]
    function = pairs.function[w, pair]
    if function > wp.static(int(PairFunction.CONVEX)) or geoms.type[g[1]] == Geom.SDF:
        return False
    if not is_fast(geoms, ahead, w, g[0], g[1]):
        return False
    return spheres_pass(geoms, ahead, w, g[0], g[1], pairs.margin[w, pair] + pairs.gap[w, pair])


@wp.func
def pair_at(ahead: Ahead, pairs: Pairs, w: int, place: int) -> int:
    """The pair whose contacts come at a place of the list.

    MuJoCo walks trees of boxes, and then orders by type, unless something of the two bodies is fast.
    """
    g = pairs.geom[w, place]
    b1 = ahead.body[g[0]]
    b2 = ahead.body[g[1]]
    reach = wp.max(ahead.body_reach[w, b1], ahead.body_reach[w, b2])
    if reach > wp.min(ahead.body_thin[w, b1], ahead.body_thin[w, b2]):
        return ahead.plain[place]
    return place
