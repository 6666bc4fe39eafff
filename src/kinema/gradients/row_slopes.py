"""How reference acceleration and regularization of a row change with its position and velocity.

    aref = -b v - k d(y) (y - margin),    D = d / (1 - d) / A          y: position, d: impedance
      =>  s_y = -k (d + d' (y - margin)),   s_v = -b,   s_D = d(log D)/dy = d' / (d (1 - d))

for integrators of continuous time; three numbers a row. The discrete one takes spring and damper at the end of the
step, and softens springs that a step cannot resolve (math/impedance.py): with s = k d,

    g = 1 + h b + h^2 s,    aref = (-(b + h s) v - s (y - margin)) / g,    D = g d / (1 - d) / A
      =>  s_y = (-(b' + h s') v - s' (y - margin) - s - g' aref) / g,   s_v = -(b + h s) / g,   s_D = ... + g' / g

where s' = k d' and b' = 0, or of a softened spring s = 1 / h^2, s' = 0, and b falls with d. How rows that couple dofs
change with position is known from duals (others.py): of theirs s_v counts, and 1 / g, which Jdot v is divided by.
"""

import warp as wp

from kinema.convex.bundle import vec5
from kinema.convex.constraint.row import row_time
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.math.impedance import (
    MAXIMP,
    damping,
    impedance,
    implicit_factor,
    regularization,
    resolvable,
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
def softened_slope(b: float, imp: float, h: float) -> float:
    """db/dd of the damper beside a spring that was softened: it falls with the root of d, or with what R can follow."""
    most = MAXIMP * (1.0 - imp) / (imp * (1.0 - MAXIMP))
    if most <= 2.0:
        return 0.0
    if b >= (most - 2.0) / h:
        return -MAXIMP / (h * (1.0 - MAXIMP) * imp * imp)
    return -0.5 * b / imp


@wp.func
def slopes_of(ref: wp.vec2, solimp: vec5, r: float, vel: float, time: wp.vec3) -> wp.vec3:
    """s_y, s_v and s_D of a contact or limit at distance r from its margin, for a safe solref and solimp.

    Args:
        vel: The velocity of the row.
        time: What `row_time` says.
    """
    imp = impedance(solimp, r)
    slope = impedance_slope(solimp, r)
    k = stiffness(ref, solimp[1])
    b = damping(ref, solimp[1])
    h = time[1]
    spring_slope = k * slope
    damper_slope = float(0.0)
    if time[2] > 0.0 and ref[0] > 0.0 and h * h * k * imp > 1.0:
        softened = resolvable(k, b, imp, h)
        k = softened[0]
        b = softened[1]
        spring_slope = 0.0
        damper_slope = softened_slope(b, imp, h) * slope
    spring = k * imp
    g = implicit_factor(k, b, imp, h)
    rise = h * damper_slope + h * h * spring_slope
    aref = (-(b + h * spring) * vel - spring * r) / g
    by_place = (-(damper_slope + h * spring_slope) * vel - spring_slope * r - spring - rise * aref) / g
    stiffer = float(0.0)
    if regularization(imp, 1.0) / g > regularization(MAXIMP, 1.0):
        stiffer = slope / (imp * (1.0 - imp)) + rise / g
    return wp.vec3(by_place, -(b + h * spring) / g, stiffer)


@wp.func
def damper_alone(solref: wp.vec2, solimp: vec5, r: float, sprung: float, softens: bool, time: wp.vec3) -> wp.vec3:
    """s_v and 1 / g of a row that knows no position, or whose position is known otherwise.

    Args:
        r: How far it is from its margin.
        sprung: 1, or 0 where it has no spring.
        softens: Whether a spring is softened that a step cannot resolve.
        time: What `row_time` says.
    """
    ref = safe_solref(solref, time[0])
    safe = safe_solimp(solimp)
    imp = impedance(safe, r)
    k = sprung * stiffness(ref, safe[1])
    b = damping(ref, safe[1])
    h = time[1]
    if softens and time[2] > 0.0 and ref[0] > 0.0:
        softened = resolvable(k, b, imp, h)
        k = softened[0]
        b = softened[1]
    g = implicit_factor(k, b, imp, h)
    return wp.vec3(0.0, -(b + h * k * imp) / g, 1.0 / g)


@wp.func
def equality_gap(m: Model, d: Data, w: int, r: int, e: int) -> float:
    """What the impedance of an equality is taken at: rows of a connect or weld share the length of their residual."""
    end = d.efc.start[w, e]
    gap = float(0.0)
    while end < d.efc.ne[w] and d.efc.id[w, end] == e:
        gap += d.efc.pos[w, end] * d.efc.pos[w, end]
        end += 1
    if end == d.efc.start[w, e] + 1:
        return d.efc.pos[w, r]
    return wp.sqrt(gap)


@wp.func
def row_slopes(m: Model, d: Data, w: int, lane: int, slot: int, out: wp.array2d(dtype=wp.vec3)):
    """Those of all rows; lanes share them out."""
    time = row_time(m.opt, w)
    for r in range(lane, d.efc.nefc[w], lane_count()):
        kind = d.efc.type[w, r]
        i = d.efc.id[w, r]
        past = d.efc.pos[w, r] - d.efc.margin[w, r]
        vel = d.efc.vel[w, r]
        # what a row is made of first, so that formulas are written out once
        solref = wp.vec2()
        solimp = vec5()
        sprung = float(1.0)
        sliding = False
        if kind == Constraint.FRICTION_DOF:
            solref = m.dof.solref[w, i]
            solimp = m.dof.solimp[w, i]
            sprung = 0.0
            past = 0.0
        elif kind == Constraint.LIMIT_JOINT:
            solref = m.jnt.solref[w, i]
            solimp = m.jnt.solimp[w, i]
        elif kind == Constraint.EQUALITY:
            solref = m.eq.solref[w, i]
            solimp = m.eq.solimp[w, i]
            past = equality_gap(m, d, w, r, i)
        elif kind == Constraint.FRICTION_TENDON:
            solref = m.tendon.solref_fri[w, i]
            solimp = m.tendon.solimp_fri[w, i]
            sprung = 0.0
            past = 0.0
        elif kind == Constraint.LIMIT_TENDON:
            solref = m.tendon.solref_lim[w, i]
            solimp = m.tendon.solimp_lim[w, i]
        else:
            solref = d.con.solref[w, i]
            solimp = d.con.solimp[w, i]
            past = d.con.dist[w, i] - d.con.includemargin[w, i]
            head = d.crow.address[w, i]
            sliding = kind == Constraint.CONTACT_ELLIPTIC and r != head
            vel = d.efc.vel[w, wp.where(sliding, head, r)]
        if kind == Constraint.LIMIT_JOINT or kind >= Constraint.CONTACT_FRICTIONLESS:
            ref = safe_solref(solref, time[0])
            safe = safe_solimp(solimp)
            own = slopes_of(ref, safe, past, vel, time)
            if sliding:
                slide = damping(safe_friction_solref(d.con.solreffriction[w, i], ref, time[0]), safe[1])
                own = wp.vec3(0.0, -slide / implicit_factor(0.0, slide, 0.0, time[1]), own[2])
            out[slot, r] = own
        else:
            own = damper_alone(solref, solimp, past, sprung, kind == Constraint.LIMIT_TENDON, time)
            if kind == Constraint.FRICTION_DOF:
                own = wp.vec3(0.0, own[1], 0.0)
            out[slot, r] = own
    sync()
