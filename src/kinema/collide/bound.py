"""Cheap tests that two geoms are apart: bounding spheres, spheres against planes, oriented bounding boxes."""

import warp as wp

from kinema.collide.bundles import Geoms
from kinema.math.lanes import NO_VECTORS, has_vectors
from kinema.math.touches import touches
from kinema.math.vector import column
from kinema.mujoco_enums import Geom

ROUNDING = wp.constant(5e-7)  # of a distance, relative to the coordinates and sizes it is made of


@wp.func
def rounding(geoms: Geoms, w: int, g1: int, g2: int) -> float:
    """How far apart floats may put two geoms that touch exactly [m].

    Models are full of geoms placed side by side in round numbers. Doubles make their distance 0, which is a contact of
    MuJoCo's (without rows, for it does not press); floats make it 0 or a little more. So a pair that is apart by no
    more than rounding touches. Of a plane (geom 1) only coordinates along its normal count: where it is drawn does not.
    """
    p = wp.abs(geoms.xpos[w, g1]) + wp.abs(geoms.xpos[w, g2])
    if geoms.type[g1] == Geom.PLANE:
        p = wp.cw_mul(p, wp.abs(column(geoms.xmat[w, g1], 2)))
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


@wp.func_native(f"""
#if {NO_VECTORS}
return false;
#else
""" + """
// the three axes of a box at once, one a lane; those of the second box only where the first does not tell
typedef float vec4 __attribute__((vector_size(16), aligned(4)));
typedef int ivec4 __attribute__((vector_size(16), aligned(4)));
const wp::mat33 &A = *wp::address(xmat, w, g1), &B = *wp::address(xmat, w, g2);
const wp::vec3 &a = *wp::address(center, w, g1), &b = *wp::address(center, w, g2);
const wp::vec3 &ha = *wp::address(half, w, g1), &hb = *wp::address(half, w, g2);
const wp::vec3 &p1 = *wp::address(xpos, w, g1), &p2 = *wp::address(xpos, w, g2);
float d[3];
for (int k = 0; k < 3; ++k) {
    const float c1 = p1[k] + (A.data[k][0] * a[0] + A.data[k][1] * a[1] + A.data[k][2] * a[2]);
    const float c2 = p2[k] + (B.data[k][0] * b[0] + B.data[k][1] * b[1] + B.data[k][2] * b[2]);
    d[k] = c2 - c1;
}
auto size_of = [](vec4 v) -> vec4 { return (vec4)((ivec4)v & 0x7fffffff); };
auto apart = [&](const wp::mat33& own, const wp::vec3& size, const wp::mat33& other, const wp::vec3& reach) -> bool {
    const float* from = &own.data[0][0];
    const vec4 x = *(const vec4*)from, y = *(const vec4*)(from + 3), last = *(const vec4*)(from + 5);
    const vec4 z = __builtin_shufflevector(last, last, 1, 2, 3, 3);
    vec4 r[3];
    for (int j = 0; j < 3; ++j)
        r[j] = size_of(x * other.data[0][j] + y * other.data[1][j] + z * other.data[2][j]) * reach[j];
    const vec4 along = size_of(x * d[0] + y * d[1] + z * d[2]), own_size = {size[0], size[1], size[2], 0.0f};
    const ivec4 beyond = along > own_size + (r[0] + r[1] + r[2]) + margin;
    return (beyond[0] | beyond[1] | beyond[2]) != 0;
};
return apart(A, ha, B, hb) || apart(B, hb, A, ha);
#endif
""")
def boxes_apart_early(
    xpos: wp.array2d(dtype=wp.vec3), xmat: wp.array2d(dtype=wp.mat33), center: wp.array2d(dtype=wp.vec3),
    half: wp.array2d(dtype=wp.vec3), w: int, g1: int, g2: int, margin: float,
) -> bool:  # fmt: skip
    """`boxes_apart` on a CPU thread, three axes at once; the arithmetic is the same."""
    ...


touches(reads="xpos[w] xmat[w] center[w] half[w]")(boxes_apart_early.func)


@wp.func
def boxes_apart(geoms: Geoms, w: int, g1: int, g2: int, margin: float) -> bool:
    """Whether the oriented bounding boxes are separated along a face normal by more than the margin."""
    if has_vectors():
        return boxes_apart_early(
            geoms.xpos, geoms.xmat, geoms.aabb_center, geoms.aabb_half, w, g1, g2, margin
        )  # fmt: skip
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
