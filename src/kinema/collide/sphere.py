"""Sphere against sphere, capsule, cylinder and box.

Normals point from geom 1 (the sphere) to geom 2. Positions lie half way between the two surfaces.
"""

import warp as wp

from kinema.collide.plane import plane_sphere
from kinema.math.vector import column, normalize
from kinema.mujoco_enums import MINVAL

ROUNDING = wp.constant(2.5e-7)  # of a position: centres nearer than that coincide, and their direction is noise


@wp.func
def sphere_sphere(p1: wp.vec3, r1: float, p2: wp.vec3, r2: float, axis1: wp.vec3, axis2: wp.vec3):
    """Distance, position, normal. Where the centres coincide the normal is the cross product of the shapes' z axes."""
    d = p2 - p1
    length = wp.length(d)
    normal = wp.vec3()
    if length < ROUNDING * (wp.length(p1) + r1 + r2):
        normal = normalize(wp.cross(axis1, axis2))
    else:
        normal = d / length
    dist = length - r1 - r2
    return dist, p1 + normal * (r1 + 0.5 * dist), normal


@wp.func
def sphere_capsule(p1: wp.vec3, r1: float, axis1: wp.vec3, p2: wp.vec3, axis2: wp.vec3, r2: float, half_length: float):
    """Distance, position, normal: the sphere against the nearest point of the capsule's segment."""
    x = wp.clamp(wp.dot(axis2, p1 - p2), -half_length, half_length)
    return sphere_sphere(p1, r1, p2 + axis2 * x, r2, axis1, axis2)


@wp.func
def sphere_cylinder(
    p1: wp.vec3, r1: float, axis1: wp.vec3, p2: wp.vec3, mat2: wp.mat33, radius: float, half_length: float
):
    """Distance, position, normal: against the side, a cap, or the rim, whichever is nearest to the centre."""
    axis = column(mat2, 2)
    d = p1 - p2
    x = wp.dot(axis, d)
    radial = d - axis * x
    rho = wp.length(radial)

    beside = wp.abs(x) < half_length
    above = rho < radius
    if beside and above:  # centre inside: leave through the nearer surface
        if half_length - wp.abs(x) < radius - rho:
            beside = False
        else:
            above = False

    dist = float(0.0)
    pos = wp.vec3()
    normal = wp.vec3()
    if beside:
        dist, pos, normal = sphere_sphere(p1, r1, p2 + axis * x, radius, axis1, axis)
    elif above:
        up = axis * wp.where(x > 0.0, 1.0, -1.0)
        dist, pos = plane_sphere(up, p2 + up * half_length, p1, r1)
        normal = -up
    else:
        rim = p2 + axis * wp.where(x > 0.0, half_length, -half_length) + radial * (radius / rho)
        dist, pos, normal = sphere_sphere(p1, r1, rim, 0.0, axis1, axis)
    return dist, pos, normal


@wp.func
def sphere_box(p1: wp.vec3, r1: float, p2: wp.vec3, mat2: wp.mat33, size2: wp.vec3):
    """Distance, position, normal: against the nearest point of the box, or out of the nearest face from within."""
    center = wp.transpose(mat2) * (p1 - p2)
    clamped = wp.vec3(
        wp.clamp(center[0], -size2[0], size2[0]),
        wp.clamp(center[1], -size2[1], size2[1]),
        wp.clamp(center[2], -size2[2], size2[2]),
    )
    toward = clamped - center
    dist = wp.length(toward)
    pos = wp.vec3()
    normal = wp.vec3()
    if dist <= MINVAL:
        depth = 2.0 * (size2[0] + size2[1] + size2[2])
        for k in range(6):
            face = wp.where(k % 2 == 1, 1.0, -1.0)
            d = wp.abs(face * size2[k // 2] - center[k // 2])
            if d < depth:
                depth = d
                normal = wp.vec3()
                normal[k // 2] = -face
        pos = center + normal * (0.5 * (r1 - depth))
        dist = -depth
    else:
        normal = toward / dist
        pos = 0.5 * (clamped + center + normal * r1)
    return dist - r1, p2 + mat2 * pos, mat2 * normal
