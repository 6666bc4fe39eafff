"""How stiff a constraint is: from solref and solimp to regularization and reference acceleration.

    d(r)   impedance in (0, 1): from dmin at r = 0 to dmax at |r| = width, a power curve about its midpoint
    R      = (1 - d)/d * A,            A: approximate inverse inertia of the row; D = 1/R
    aref   = -B v - K d (r - margin)   K, B from time constant and damping ratio, or given directly (negative solref)

All functions are pure: numbers in, numbers out.
"""

import warp as wp

from kinema.convex.bundle import vec5
from kinema.mujoco_enums import MINVAL

MINIMP = wp.constant(0.0001)  # mjMINIMP
MAXIMP = wp.constant(0.9999)  # mjMAXIMP


@wp.func
def safe_solref(solref: wp.vec2, floor: float) -> wp.vec2:
    """A usable solref: one format in both numbers, and a time constant not below the floor."""
    ref = solref
    if (ref[0] > 0.0) != (ref[1] > 0.0):
        ref = wp.vec2(0.02, 1.0)
    if ref[0] > 0.0:
        ref = wp.vec2(wp.max(ref[0], floor), ref[1])
    return ref


@wp.func
def safe_friction_solref(solref: wp.vec2, normal: wp.vec2, floor: float) -> wp.vec2:
    """solreffriction where it is given, the normal's solref where it is zero."""
    ref = solref
    if (ref[0] > 0.0) != (ref[1] > 0.0):
        ref = wp.vec2(0.0, 0.0)
    if ref[0] > 0.0:
        ref = wp.vec2(wp.max(ref[0], floor), ref[1])
    if ref[0] == 0.0 and ref[1] == 0.0:
        ref = normal
    return ref


@wp.func
def safe_solimp(solimp: vec5) -> vec5:
    return vec5(
        wp.clamp(solimp[0], MINIMP, MAXIMP),
        wp.clamp(solimp[1], MINIMP, MAXIMP),
        wp.max(0.0, solimp[2]),
        wp.clamp(solimp[3], MINIMP, MAXIMP),
        wp.max(1.0, solimp[4]),
    )


@wp.func
def power(a: float, b: float) -> float:
    """a^b, exact for the usual exponents."""
    if b == 1.0:
        return a
    if b == 2.0:
        return a * a
    return wp.pow(a, b)


@wp.func
def impedance(solimp: vec5, r: float) -> float:
    """d(r) for a safe solimp."""
    dmin = solimp[0]
    dmax = solimp[1]
    width = solimp[2]
    mid = solimp[3]
    p = solimp[4]
    if dmin == dmax or width <= MINVAL:
        return 0.5 * (dmin + dmax)
    x = wp.abs(r) / width
    if x >= 1.0:
        return dmax
    if x <= 0.0:
        return dmin
    y = x
    if p > 1.0:
        if x <= mid:
            y = power(x, p) / power(mid, p - 1.0)
        else:
            y = 1.0 - power(1.0 - x, p) / power(1.0 - mid, p - 1.0)
    return dmin + y * (dmax - dmin)


@wp.func
def regularization(imp: float, diag: float) -> float:
    """R of a row with impedance imp and inverse inertia diag."""
    return wp.max(MINVAL, (1.0 - imp) * diag / imp)


@wp.func
def stiffness(solref: wp.vec2, dmax: float) -> float:
    """K of the reference acceleration, for a safe solref."""
    if solref[0] > 0.0:
        return 1.0 / wp.max(MINVAL, dmax * dmax * solref[0] * solref[0] * solref[1] * solref[1])
    return -solref[0] / wp.max(MINVAL, dmax * dmax)


@wp.func
def damping(solref: wp.vec2, dmax: float) -> float:
    """B of the reference acceleration, for a safe solref."""
    if solref[1] > 0.0:
        return 2.0 / wp.max(MINVAL, dmax * solref[0])
    return -solref[1] / wp.max(MINVAL, dmax)
