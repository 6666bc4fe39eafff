"""How reference acceleration and regularization of a row change with its position and velocity.

    aref = -b v - k d(y) (y - margin),    D = d / (1 - d) / A          y: position, d: impedance
      =>  s_y = -k (d + d' (y - margin)),   s_v = -b,   s_D = d(log D)/dy = d' / (d (1 - d))

for integrators of continuous time; three numbers a row. How rows that couple dofs change with position is known from
duals (others.py): of theirs s_v counts.
"""

import warp as wp

from kinema.convex.bundle import vec5
from kinema.convex.constraint.row import row_time
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.math.impedance import (
    damping,
    impedance,
    safe_friction_solref,
    safe_solimp,
    safe_solref,
    stiffness,
)
from kinema.math.lanes import lane_count, sync
from kinema.mujoco_enums import MINVAL, Constraint


@wp.func
def impedance_slope(solimp: vec5, r: float) -> float:
    """d'(r) for a safe solimp."""
    width = solimp[2]
    p = solimp[4]
    if solimp[0] == solimp[1] or width <= MINVAL:
        return 0.0
    x = wp.abs(r) / width
    if x >= 1.0 or x <= 0.0:
        return 0.0
    rise = float(1.0)
    if p > 1.0:
        if x <= solimp[3]:
            rise = p * wp.pow(x / solimp[3], p - 1.0)
        else:
            rise = p * wp.pow((1.0 - x) / (1.0 - solimp[3]), p - 1.0)
    return wp.sign(r) * rise * (solimp[1] - solimp[0]) / width


@wp.func
def slopes_of(ref: wp.vec2, solimp: vec5, r: float) -> wp.vec3:
    """s_y, s_v and s_D of a row at distance r from its margin, for a safe solref and solimp."""
    imp = impedance(solimp, r)
    slope = impedance_slope(solimp, r)
    return wp.vec3(
        -stiffness(ref, solimp[1]) * (imp + slope * r), -damping(ref, solimp[1]), slope / (imp * (1.0 - imp))
    )


@wp.func
def damper_alone(solref: wp.vec2, solimp: vec5, floor: float) -> wp.vec3:
    """s_v of a row that knows no position, or whose position is known otherwise."""
    return wp.vec3(0.0, -damping(safe_solref(solref, floor), safe_solimp(solimp)[1]), 0.0)


@wp.func
def row_slopes(m: Model, d: Data, w: int, lane: int, slot: int, out: wp.array2d(dtype=wp.vec3)):
    """Those of all rows; lanes share them out."""
    floor = row_time(m.opt, w)[0]
    for r in range(lane, d.efc.nefc[w], lane_count()):
        kind = d.efc.type[w, r]
        i = d.efc.id[w, r]
        if kind == Constraint.FRICTION_DOF:
            out[slot, r] = damper_alone(m.dof.solref[w, i], m.dof.solimp[w, i], floor)
        elif kind == Constraint.LIMIT_JOINT:
            ref = safe_solref(m.jnt.solref[w, i], floor)
            out[slot, r] = slopes_of(ref, safe_solimp(m.jnt.solimp[w, i]), d.efc.pos[w, r] - d.efc.margin[w, r])
        elif kind == Constraint.EQUALITY:
            out[slot, r] = damper_alone(m.eq.solref[w, i], m.eq.solimp[w, i], floor)
        elif kind == Constraint.FRICTION_TENDON:
            out[slot, r] = damper_alone(m.tendon.solref_fri[w, i], m.tendon.solimp_fri[w, i], floor)
        elif kind == Constraint.LIMIT_TENDON:
            out[slot, r] = damper_alone(m.tendon.solref_lim[w, i], m.tendon.solimp_lim[w, i], floor)
        else:
            solimp = safe_solimp(d.con.solimp[w, i])
            ref = safe_solref(d.con.solref[w, i], floor)
            own = slopes_of(ref, solimp, d.con.dist[w, i] - d.con.includemargin[w, i])
            if kind == Constraint.CONTACT_ELLIPTIC and r != d.crow.address[w, i]:
                slide = damping(safe_friction_solref(d.con.solreffriction[w, i], ref, floor), solimp[1])
                own = wp.vec3(0.0, -slide, own[2])
            out[slot, r] = own
    sync()
