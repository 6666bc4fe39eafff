"""Bodies that sleep: which pairs of geoms need not be looked at, and which worlds.

A sleeping body counts as a static one: a pair is looked at only if one of its bodies is awake. Contacts may wake
bodies, which then have contacts of their own; so detection may be run twice, and a world says what it wants of it:

    KEEP      leave its contacts as they are
    NOTHING   it has none: nobody is awake
    LOOK      find them
"""

import warp as wp

from kinema.collide.bundles import Geoms, Pairs

KEEP = wp.constant(0)
NOTHING = wp.constant(1)
LOOK = wp.constant(2)


@wp.func
def one_is_awake(geoms: Geoms, w: int, g1: int, g2: int) -> bool:
    """Whether one of two geoms is of a body that is awake."""
    return geoms.awake[w, geoms.body[g1]] == 1 or geoms.awake[w, geoms.body[g2]] == 1


@wp.func
def pair_is_awake(geoms: Geoms, pairs: Pairs, w: int, pair: int) -> bool:
    """The same of a pair."""
    g = pairs.geom[w, pair]
    return one_is_awake(geoms, w, g[0], g[1])
