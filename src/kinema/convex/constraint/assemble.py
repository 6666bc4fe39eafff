"""All rows of a world, in MuJoCo's order: equality, friction loss, limits, contacts."""

import numpy as np
import warp as wp

from kinema.convex.constraint.contact import contact_addresses, contact_columns, contact_scalars
from kinema.convex.constraint.equality import anchor_rows, begin_rows, coupling_rows
from kinema.convex.constraint.friction import friction_addresses, friction_rows
from kinema.convex.constraint.limit import limit_addresses, limit_rows
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.stage import Stage
from kinema.convex.status import ROW_OVERFLOW

DISABLE_EQUALITY, DISABLE_FRICTIONLOSS, DISABLE_LIMIT, DISABLE_CONTACT = 2, 4, 8, 16
CONNECT, WELD = 0, 1


@wp.func
def close_addresses(m: Model, d: Data, w: int):
    """Flag a world whose rows did not all find room, and keep the marks of high water."""
    d.efc.most[w] = wp.max(d.efc.most[w], d.efc.nefc[w] + d.efc.dropped[w])
    d.crow.most[w] = wp.max(d.crow.most[w], d.con.found[w])
    if d.efc.dropped[w] > 0:
        d.state.status[w] = d.state.status[w] | ROW_OVERFLOW


def stages(m) -> tuple[list[Stage], list[Stage]]:
    """The stages for the rows a model can have: those that give constraints their rows, and those that fill them."""
    off = int(m.opt.disableflags)
    anchors = np.isin(np.asarray(m.eq_type), (CONNECT, WELD))
    give, fill = [Stage(begin_rows)], []
    if not off & DISABLE_EQUALITY:
        fill += [Stage(anchor_rows, lanes=True, blocks=6)] if anchors.any() else []
        fill += [Stage(coupling_rows, lanes=True, blocks=6)] if (~anchors).any() else []
    if not off & DISABLE_FRICTIONLOSS and (np.any(m.dof_frictionloss) or np.any(m.tendon_frictionloss)):
        give.append(Stage(friction_addresses))
        fill.append(Stage(friction_rows, lanes=True, blocks=6))
    if not off & DISABLE_LIMIT and (np.any(m.jnt_limited) or np.any(m.tendon_limited)):
        give.append(Stage(limit_addresses))
        fill.append(Stage(limit_rows, lanes=True, blocks=6))
    if not off & DISABLE_CONTACT:
        give.append(Stage(contact_addresses))
        fill += [Stage(contact_columns, lanes=True, blocks=6), Stage(contact_scalars, lanes=True, blocks=6)]
    return [*give, Stage(close_addresses)], fill
