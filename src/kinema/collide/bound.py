"""Cheap tests that two geoms are apart: bounding spheres, spheres against planes, oriented bounding boxes."""

import warp as wp

from kinema.collide.bundles import Geoms
from kinema.math.vector import column
from kinema.mujoco_enums import Geom

ROUNDING = wp.constant(5e-7)  # of a distance, relative to the coordinates and sizes it is made of


@wp.func
def rounding(geoms: Geoms, w: int, g1: int, g2: int) -> float:
    """How far apart floats may put two geoms that touch exactly [m].

    Models are full of geoms placed side by side in round numbers. Doubles make their distance 0, which is a contact of
    MuJoCo's (without rows, for it does not press); floats make it 0 or a little more. So a pair that is apart by no
    more than rounding touches.
    """
    p = wp.abs(geoms.xpos[w, g1]) + wp.abs(geoms.xpos[w, g2])
    return ROUNDING * (wp.max(p) + geoms.rbound[w, g1] + geoms.rbound[w, g2])


@wp.func
def spheres_apart(geoms: Geoms, w: int, g1: int, g2: int, margin: float) -> bool:
    """Whether the bounding spheres are farther apart than the margin; a plane (geom 1) bounds nothing but its side."""
    r1 = geoms.rbound[w, g1]
    r2 = geoms.rbound[w, g2]
    d = geoms.xpos[w, g2] - geoms.xpos[w, g1]
    if r1 > 0.0 and r2 > 0.0:
        reach = r1 + r2 + margin
        return wp.dot(d, d) > reach * reach
    if geoms.type[g1] == Geom.PLANE and r2 > 0.0:
        return wp.dot(d, column(geoms.xmat[w, g1], 2)) > margin + r2
    return False


@wp.func
def boxes_apart(geoms: Geoms, w: int, g1: int, g2: int, margin: float) -> bool:
    """Whether the oriented bounding boxes are separated along a face normal by more than the margin."""
    mat1 = geoms.xmat[w, g1]
    mat2 = geoms.xmat[w, g2]
    half1 = geoms.aabb_half[w, g1]
    half2 = geoms.aabb_half[w, g2]
    c1 = geoms.xpos[w, g1] + mat1 * geoms.aabb_center[w, g1]
    c2 = geoms.xpos[w, g2] + mat2 * geoms.aabb_center[w, g2]
    d = c2 - c1
    rot = wp.transpose(mat1) * mat2
    d1 = wp.transpose(mat1) * d
    d2 = wp.transpose(mat2) * d
    for i in range(3):
        reach = half1[i] + wp.dot(wp.abs(rot[i]), half2)
        if wp.abs(d1[i]) > reach + margin:
            return True
        reach = half2[i] + wp.dot(wp.abs(column(rot, i)), half1)
        if wp.abs(d2[i]) > reach + margin:
            return True
    return False
