"""The number type of the iterative convex algorithms.

GJK and EPA subtract nearly equal numbers by design: in float32 they stall, and witness points of smooth shapes are good
to 1e-4 of the size only. Inputs and outputs stay float32; what runs between them is double precision, so that contacts
agree with MuJoCo's to rounding. A pair costs microseconds and only pairs that pass the bounding tests get here.
"""

import warp as wp

real = wp.float64
vec2r = wp.vec2d
vec3r = wp.vec3d
mat33r = wp.mat33d
mat43r = wp.types.matrix(shape=(4, 3), dtype=wp.float64)
vec4r = wp.vec4d

ZERO = wp.constant(wp.float64(0.0))
HALF = wp.constant(wp.float64(0.5))
ONE = wp.constant(wp.float64(1.0))
TWO = wp.constant(wp.float64(2.0))
TINY = wp.constant(wp.float64(1e-15))  # mjMINVAL
HUGE = wp.constant(wp.float64(1e10))  # mjMAXVAL


@wp.func
def unit(v: vec3r) -> vec3r:
    """Unit vector along v; (1, 0, 0) when v vanishes."""
    n = wp.length(v)
    if n < TINY:
        return vec3r(ONE, ZERO, ZERO)
    return v / n


@wp.func
def axis_of(m: mat33r, i: int) -> vec3r:
    """Column i of a matrix."""
    return vec3r(m[0, i], m[1, i], m[2, i])
