"""Contact frames: an orthonormal basis whose first ROW is the contact normal (MuJoCo's convention)."""

import warp as wp

from kinema.math.vector import normalize


@wp.func
def make_frame(x: wp.vec3, y_hint: wp.vec3) -> wp.mat33:
    """Rows x, y, z from a normal and a hint for y (mju_makeFrame).

    A hint shorter than 1/2 counts as absent: then y starts as (0, 1, 0), or (0, 0, 1) where x is near that axis.
    """
    x = normalize(x)
    y = y_hint
    if wp.dot(y, y) < 0.25:
        if x[1] < 0.5 and x[1] > -0.5:
            y = wp.vec3(0.0, 1.0, 0.0)
        else:
            y = wp.vec3(0.0, 0.0, 1.0)
    y = normalize(y - wp.dot(x, y) * x)
    return wp.matrix_from_rows(x, y, wp.cross(x, y))
