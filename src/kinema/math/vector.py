"""Small helpers on 3-vectors, with MuJoCo's rules at the singular points.

A vector shorter than ``MINVAL`` has no direction; MuJoCo then answers with the x axis, and so do we.
"""

import warp as wp

from kinema.mujoco_enums import MINVAL

MAXVAL = wp.constant(1e10)  # mjMAXVAL


@wp.func
def normalize(v: wp.vec3) -> wp.vec3:
    """Unit vector along v; (1, 0, 0) when v vanishes (mju_normalize3)."""
    n = wp.length(v)
    if n < MINVAL:
        return wp.vec3(1.0, 0.0, 0.0)
    return v / n


@wp.func
def normalize_with_length(v: wp.vec3):
    """Unit vector along v, and the length of v; (1, 0, 0) when v vanishes (mju_normalize3)."""
    n = wp.length(v)
    if n < MINVAL:
        return wp.vec3(1.0, 0.0, 0.0), n
    return v / n, n


@wp.func
def column(m: wp.mat33, i: int) -> wp.vec3:
    """Column i of a 3x3 matrix."""
    return wp.vec3(m[0, i], m[1, i], m[2, i])


@wp.func
def max_element(v: wp.vec3) -> float:
    """Largest of the three components."""
    return wp.max(v[0], wp.max(v[1], v[2]))
