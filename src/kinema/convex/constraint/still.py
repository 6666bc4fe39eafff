"""Constraints whose Jacobian is zero get no rows.

A tendon between two sites of one body has a length that nothing changes. MuJoCo leaves such rows out, all but those of
contacts. How it knows depends on how it stores the Jacobian: sparse rows are left out where no dof is in their list,
dense ones where every number is zero. The first is a matter of the model, and those who want rows say it
(`want_tendon_limit`, `moves_nothing`); the second is asked here of what wants rows already, and only where a model has
something that it is true of, not just by chance. A connect or a weld of two points of one body is such a thing only
where nothing turns that body: else, where the points differ, it resists turning.
"""

import numpy as np
import warp as wp

from kinema.convex.constraint.equality import coupled, tied_bodies
from kinema.convex.data import Data
from kinema.convex.jacobian import last_dof
from kinema.convex.model import Model
from kinema.convex.stage import Stage
from kinema.mujoco_enums import Equality, Jacobian, Joint, Obj, Tendon, Wrap

SPARSE_FROM = 60  # dofs, where the model leaves it open


@wp.func
def stands_still(m: Model, d: Data, w: int, t: int) -> bool:
    """Is every number of a tendon's Jacobian zero?"""
    row = m.tendon.ten_J_rowadr[t]
    for k in range(row, row + m.tendon.ten_J_rownnz[t]):
        if d.ten.J[w, k] != 0.0:
            return False
    return True


@wp.func
def drop_tendon(m: Model, d: Data, w: int, t: int, slot: int):
    """No row at a slot of a tendon that stands still."""
    if d.efc.want[w, slot] > 0:
        if stands_still(m, d, w, t):
            d.efc.want[w, slot] = 0


@wp.func
def drop_tendon_friction(m: Model, d: Data, w: int, t: int):
    """No row for the friction of a tendon that stands still."""
    drop_tendon(m, d, w, t, m.size.slot_friction + m.size.nv + t)


@wp.func
def drop_tendon_limit(m: Model, d: Data, w: int, t: int):
    """No row for the limits of a tendon that stands still."""
    drop_tendon(m, d, w, t, m.size.slot_limit + m.size.njnt + t)


@wp.func
def drop_tie(m: Model, d: Data, w: int, e: int):
    """No row for a connect or a weld of one body that only slides."""
    kind = m.eq.type[e]
    if d.efc.want[w, e] > 0 and (kind == Equality.CONNECT or kind == Equality.WELD):
        bodies = tied_bodies(m, e)
        drop = m.body.weldid[bodies[0]] == m.body.weldid[bodies[1]]
        i = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, bodies[0])
        while drop and i >= 0:
            drop = m.jnt.type[m.dof.jntid[i]] == Joint.SLIDE
            i = m.dof.parentid[i]
        if drop:
            d.efc.want[w, e] = 0


@wp.func
def drop_equality(m: Model, d: Data, w: int, e: int):
    """No row for an equality of tendons that stand still."""
    if d.efc.want[w, e] > 0 and m.eq.type[e] == Equality.TENDON:
        drop = stands_still(m, d, w, m.eq.obj1id[e])
        two = m.eq.obj2id[e]
        if drop and two >= 0:
            _what, slope = coupled(m, d, w, e)
            drop = slope == 0.0 or stands_still(m, d, w, two)
        if drop:
            d.efc.want[w, e] = 0


def is_dense(m) -> bool:
    """Does MuJoCo store the Jacobian of a model with all its zeros?"""
    kind = int(m.opt.jacobian)
    return kind == Jacobian.DENSE or (kind == Jacobian.AUTO and m.nv < SPARSE_FROM)


def still_tendons(m) -> np.ndarray:
    """Which tendons stand still by what they are: all they pass is of one body, or no coefficient is left of them."""
    welded, still = np.asarray(m.body_weldid), np.zeros(m.ntendon, dtype=bool)
    for t in range(m.ntendon):
        passed = slice(int(m.tendon_adr[t]), int(m.tendon_adr[t] + m.tendon_num[t]))
        kind, obj = (np.asarray(x)[passed] for x in (m.wrap_type, m.wrap_objid))
        if int(m.tendon_type[t]) == Tendon.FIXED:
            still[t] = not np.any(np.asarray(m.wrap_prm)[passed])
            continue
        bodies = np.concatenate([
            np.asarray(m.site_bodyid)[obj[kind == Wrap.SITE]],
            np.asarray(m.geom_bodyid)[obj[(kind == Wrap.SPHERE) | (kind == Wrap.CYLINDER)]],
        ])  # fmt: skip
        still[t] = len(np.unique(welded[bodies])) <= 1
    return still


def ties_itself(m) -> bool:
    """Does some connect or weld tie a body to itself, or to what is welded to it?"""
    for e in np.flatnonzero(np.isin(m.eq_type, (Equality.CONNECT, Equality.WELD))):
        tied = np.array([m.eq_obj1id[e], m.eq_obj2id[e]])
        bodies = tied if int(m.eq_objtype[e]) == Obj.BODY else np.asarray(m.site_bodyid)[tied]
        if len(np.unique(np.asarray(m.body_weldid)[bodies])) == 1:
            return True
    return False


def stages(m, equalities: bool, friction: bool, limits: bool) -> list[Stage]:
    """What drops rows again that the equalities, the friction and the limits of a model want."""
    if not is_dense(m):
        return []
    still = still_tendons(m)
    of_tendons = np.asarray(m.eq_type) == Equality.TENDON
    idle = still[np.asarray(m.eq_obj1id)[of_tendons]].any()
    found = [
        (drop_equality, "neq", equalities and idle),
        (drop_tie, "neq", equalities and ties_itself(m)),
        (drop_tendon_friction, "ntendon", friction and still.any()),
        (drop_tendon_limit, "ntendon", limits and still.any()),
    ]
    return [Stage(func, over, apart=("efc_want",)) for func, over, needed in found if needed]
