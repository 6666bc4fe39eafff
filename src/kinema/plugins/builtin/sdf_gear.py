"""mujoco.sdf.gear: a spur gear with involute teeth, extruded along z.

Flanks are involutes of the base circle: the distance to one from a point at (rho, f) is sqrt(rho^2 - Rb^2) -
Rb (f + acos(Rb / rho)). Angles are folded to one tooth, once for each flank.
"""

import warp as wp

from kinema.plugins import P, field, plugin

ZERO, HALF, ONE, TWO = (wp.constant(wp.float64(value)) for value in (0.0, 0.5, 1.0, 2.0))
TURN = wp.constant(wp.float64(6.283185307179586))


@wp.func
def folded(angle: wp.float64, stride: wp.float64) -> wp.float64:
    """The angle within one stride."""
    return angle - stride * wp.floor(angle / stride)


@wp.func
def smooth_union(a: wp.float64, b: wp.float64, k: wp.float64) -> wp.float64:
    """Union of two shapes with a fillet of size k."""
    h = wp.clamp(HALF + HALF * (b - a) / k, ZERO, ONE)
    return b * (ONE - h) + a * h - k * h * (ONE - h)


@wp.func
def smooth_intersection(a: wp.float64, b: wp.float64, k: wp.float64) -> wp.float64:
    """Intersection of two shapes with a rounding of size k."""
    return wp.max(wp.max(a, b), -smooth_union(wp.max(a, -b), wp.max(b, -a), k))


@wp.func
def profile(
    x: wp.vec3d, alpha: wp.float64, diameter: wp.float64, teeth: wp.float64, innerdiameter: wp.float64
) -> wp.float64:
    """Distance to the gear in the plane of the wheel."""
    pressure = wp.float64(3.096e-5) * teeth * teeth - wp.float64(6.557e-3) * teeth + wp.float64(0.551)
    module = diameter / teeth
    outer = diameter / TWO + module
    depth = wp.float64(2.2) * module
    inner = outer - depth - wp.float64(0.14) * diameter
    if innerdiameter >= ZERO:
        inner = innerdiameter / TWO
    rho = wp.sqrt(x[0] * x[0] + x[1] * x[1])
    if inner - rho > ZERO:
        return inner - rho
    if rho - outer > wp.float64(0.2):
        return rho - outer

    base = diameter * wp.cos(pressure) / TWO
    angle = wp.atan2(x[1], x[0]) + alpha
    stride = TURN / teeth
    at_pitch = wp.acos(TWO * base / diameter)
    shift = stride / TWO - TWO * (wp.tan(at_pitch) - at_pitch)
    ahead = folded(angle + shift / TWO, stride) - shift / TWO
    behind = folded(-angle - shift / TWO, stride) - shift / TWO
    flank_ahead = wp.float64(-1.0e6)
    flank_behind = wp.float64(-1.0e6)
    if base < rho:
        tangent = wp.sqrt(rho * rho - base * base)
        unrolled = wp.acos(base / rho)
        flank_ahead = tangent - base * (ahead + unrolled)
        flank_behind = tangent - base * (behind + unrolled)
    cogs = wp.max(wp.max(ahead, behind) - (stride - shift), wp.max(flank_ahead, flank_behind))
    cogs = smooth_intersection(rho - outer, cogs, wp.float64(0.0035) * diameter)
    cogs = smooth_union(rho - (outer - depth), cogs, base - outer + depth)
    return wp.max(cogs, -(rho - inner))


@plugin("mujoco.sdf.gear")
class Gear:
    """Rotation about z [rad], pitch diameter [m], teeth, thickness [m], diameter of the hole (negative: chosen) [m]."""

    alpha: float = 0.0
    diameter: float = field(2.8, above=0.0)
    teeth: int = field(25, min=3)
    thickness: float = field(0.2, above=0.0)
    innerdiameter: float = -1.0

    @wp.func
    def sdf(x: wp.vec3d, p: P) -> wp.float64:
        flat = profile(
            x, wp.float64(p.alpha), wp.float64(p.diameter), wp.float64(p.teeth), wp.float64(p.innerdiameter)
        )
        above = wp.abs(x[2]) - wp.float64(p.thickness) / TWO
        outside = wp.vec2d(wp.max(flat, ZERO), wp.max(above, ZERO))
        return wp.min(wp.max(flat, above), ZERO) + wp.length(outside)

    def aabb(self) -> tuple[float, float, float]:
        radius = 1.25 * self.diameter / 2
        return radius, radius, 1.1 * self.thickness / 2
