"""How stiff a constraint is: from solref and solimp to regularization and reference acceleration.

    d(r)   impedance in (0, 1): from dmin at r = 0 to dmax at |r| = width, a power curve about its midpoint
    R      = (1 - d)/d * A,            A: approximate inverse inertia of the row; D = 1/R
    aref   = -B v - K d (r - margin)   K, B from time constant and damping ratio, or given directly (negative solref)

The discrete integrator takes spring and damper at the end of the step h, which makes rows stiffer and slower:

    g      = 1 + h B + h^2 K d
    R      = max((1 - d)/d * A / g, that of the largest impedance)
    aref   = (-(B + h K d) v - K d (r - margin)) / g

With h = 0 these are the ones above. A spring that a step cannot resolve, h^2 K d > 1, would throw back what it hits: of
contacts and limits it is replaced by the stiffest one that does not.

All functions are pure: numbers in, numbers out.
"""

import warp as wp

from kinema.mujoco_enums import MINVAL

vec5 = wp.types.vector(length=5, dtype=float)

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
def implicit_factor(k: float, b: float, imp: float, h: float) -> float:
    """g: how much slower spring and damper are for being taken at the end of a step; 1 where h is 0."""
    return 1.0 + h * b + h * h * k * imp


@wp.func
def implicit_regularization(imp: float, diag: float, factor: float) -> float:
    """R of a row whose spring and damper are taken at the end of a step."""
    return wp.max(regularization(imp, diag) / factor, regularization(MAXIMP, diag))


@wp.func
def resolvable(k: float, b: float, imp: float, h: float) -> wp.vec2:
    """K and B that a step can resolve: h^2 K d is 1 at most, at the same damping ratio, while R can follow."""
    excess = h * h * k * imp
    if excess > 1.0:
        most = MAXIMP * (1.0 - imp) / (imp * (1.0 - MAXIMP))
        return wp.vec2(1.0 / (h * h * imp), wp.min(b / wp.sqrt(excess), wp.max(0.0, most - 2.0) / h))
    return wp.vec2(k, b)


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
