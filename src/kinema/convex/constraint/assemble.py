"""All rows of a world, in MuJoCo's order: equality, friction loss, limits, contacts."""

import warp as wp

from kinema.convex.constraint.contact import contact_rows
from kinema.convex.constraint.equality import equality_rows
from kinema.convex.constraint.friction import friction_rows
from kinema.convex.constraint.limit import limit_rows
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.status import ROW_OVERFLOW
from kinema.math.lanes import sync

DISABLE_CONSTRAINT = wp.constant(1)


@wp.func
def make_rows(m: Model, d: Data, w: int, lane: int):
    """Write every active row and the counts of each kind; a world with too many rows is flagged."""
    ne = int(0)
    nf = int(0)
    nl = int(0)
    n = int(0)
    if lane == 0:
        d.efc.dropped[w] = 0
    if (m.opt.disableflags & DISABLE_CONSTRAINT) == 0:
        ne = equality_rows(m, d, w, lane, 0)
        nf = friction_rows(m, d, w, lane, ne)
        nl = limit_rows(m, d, w, lane, nf)
        n = contact_rows(m, d, w, lane, nl)
    if lane == 0:
        if d.efc.dropped[w] > 0:
            d.state.status[w] = d.state.status[w] | ROW_OVERFLOW
        d.efc.ne[w] = ne
        d.efc.nf[w] = nf - ne
        d.efc.nl[w] = nl - nf
        d.efc.nefc[w] = n
    sync()
