"""What bolt and nut share: a screw thread along z, and a hexagonal head. Lengths are those of a head one metre wide."""

import warp as wp

HALF = wp.constant(wp.float64(0.5))
DIAGONAL = wp.constant(wp.float64(0.7071067811865476))
TURN = wp.constant(wp.float64(6.283185307179586))
SIXTH = wp.constant(wp.float64(1.0471975511965976))
PITCHES = wp.constant(wp.float64(12.0))  # threads a metre


@wp.func
def thread(x: wp.vec3d, radius: wp.float64) -> wp.float64:
    """A thread of infinite length."""
    r = wp.sqrt(x[0] * x[0] + x[1] * x[1]) - radius
    turns = x[2] * PITCHES - wp.atan2(x[1], x[0]) / TURN
    tooth = wp.abs(turns - wp.floor(turns) - HALF)
    return (r - tooth / PITCHES) * DIAGONAL


@wp.func
def cone(x: wp.vec3d, radius: wp.float64) -> wp.float64:
    """A cone that opens along z, for bevels."""
    return (x[2] - (wp.sqrt(x[0] * x[0] + x[1] * x[1]) - radius)) * DIAGONAL


@wp.func
def hexagon(x: wp.vec3d, radius: wp.float64) -> wp.float64:
    """The head: six sides, bevelled."""
    angle = wp.round(wp.atan2(x[1], x[0]) / SIXTH) * SIXTH
    side = wp.cos(angle) * x[0] + wp.sin(angle) * x[1] - HALF
    flat = wp.abs(x[2] + HALF * HALF) - HALF * HALF
    r = wp.sqrt(x[0] * x[0] + x[1] * x[1]) - radius
    bevel = (x[2] + r - wp.float64(0.22)) * DIAGONAL
    return wp.max(wp.max(side, flat), bevel)
