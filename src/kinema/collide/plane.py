"""Plane against sphere, capsule, ellipsoid, cylinder and box.

A plane is a point p and a unit normal n; the solid half-space lies below. Every contact is a point x of the other
shape with signed distance d = n.(x - p), reported half way to the plane: position x - n d/2, normal n (from the plane,
geom 1, to the shape, geom 2). Functions return distances and positions; the caller keeps those with d <= margin.
An absent contact has distance ``NO_CONTACT``.
"""

import warp as wp

from kinema.math.vector import column, normalize

NO_CONTACT = wp.constant(1e10)

mat23 = wp.types.matrix(shape=(2, 3), dtype=float)
mat43 = wp.types.matrix(shape=(4, 3), dtype=float)
HALF_SQRT_3 = wp.constant(0.8660254037844386)


@wp.func
def plane_sphere(n: wp.vec3, p: wp.vec3, center: wp.vec3, radius: float):
    """Distance and position of the contact of a plane with a sphere."""
    dist = wp.dot(center - p, n) - radius
    return dist, center - n * (0.5 * dist + radius)


@wp.func
def plane_capsule(n: wp.vec3, p: wp.vec3, center: wp.vec3, axis: wp.vec3, radius: float, half_length: float):
    """Distances and positions at the two ends of a capsule; its contact frames are aligned with the axis."""
    dist1, pos1 = plane_sphere(n, p, center + axis * half_length, radius)
    dist2, pos2 = plane_sphere(n, p, center - axis * half_length, radius)
    return wp.vec2(dist1, dist2), wp.matrix_from_rows(pos1, pos2)


@wp.func
def plane_ellipsoid(n: wp.vec3, p: wp.vec3, center: wp.vec3, mat: wp.mat33, size: wp.vec3):
    """Distance and position at the lowest point of an ellipsoid, the support point along -n."""
    on_unit_sphere = normalize(wp.cw_mul(wp.transpose(mat) * -n, size))
    lowest = center + mat * wp.cw_mul(on_unit_sphere, size)
    dist = wp.dot(lowest - p, n)
    return dist, lowest - n * (0.5 * dist)


@wp.func
def plane_cylinder(n: wp.vec3, p: wp.vec3, center: wp.vec3, mat: wp.mat33, radius: float, half_length: float):
    """Up to four contacts: lowest rim point of the lower disk, of the upper disk, and two more on the lower rim.

    The last two complete an equilateral triangle with the first, so that a standing cylinder has three feet. The first
    contact is always the deepest.
    """
    axis = column(mat, 2)
    along = wp.dot(n, axis)
    if along > 0.0:  # let the axis point towards the plane
        axis = -axis
        along = -along
    dist0 = wp.dot(center - p, n)

    # steepest descent direction within the disk, from the components of n there: n - (n . axis) axis would cancel
    across = wp.vec2(wp.dot(column(mat, 0), n), wp.dot(column(mat, 1), n))
    slope = wp.length(across)
    down = column(mat, 0) * radius  # disk parallel to the plane: any direction does, MuJoCo takes the x axis
    drop = across[0] * radius
    if slope >= 1e-7:
        down = (column(mat, 0) * across[0] + column(mat, 1) * across[1]) * (-radius / slope)
        drop = -radius * slope
    axis = axis * half_length
    along = along * half_length

    dist = wp.vec4(dist0 + along + drop, dist0 - along + drop, dist0 + along - 0.5 * drop, dist0 + along - 0.5 * drop)
    side = normalize(wp.cross(down, axis)) * (radius * HALF_SQRT_3)
    pos = wp.matrix_from_rows(
        center + down + axis - n * (0.5 * dist[0]),
        center + down - axis - n * (0.5 * dist[1]),
        center + side + axis - 0.5 * down - n * (0.5 * dist[2]),
        center - side + axis - 0.5 * down - n * (0.5 * dist[3]),
    )
    return dist, pos


@wp.func
def plane_box(n: wp.vec3, p: wp.vec3, center: wp.vec3, mat: wp.mat33, size: wp.vec3, margin: float):
    """The first four corners, in binary order, that lie on the lower half of the box and within the margin."""
    dist0 = wp.dot(center - p, n)
    local_n = wp.transpose(mat) * n
    dist = wp.vec4(NO_CONTACT)
    pos = mat43()
    count = int(0)
    for i in range(8):
        corner = wp.vec3(
            wp.where((i & 1) != 0, size[0], -size[0]),
            wp.where((i & 2) != 0, size[1], -size[1]),
            wp.where((i & 4) != 0, size[2], -size[2]),
        )
        height = wp.dot(local_n, corner)
        if count < 4 and height <= 0.0 and dist0 + height <= margin:
            dist[count] = dist0 + height
            pos[count] = center + mat * corner - n * (0.5 * (dist0 + height))
            count += 1
    return dist, pos
