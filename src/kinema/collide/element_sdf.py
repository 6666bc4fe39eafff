"""Triangles of flexes against signed distance fields: each is searched for its deepest point (sdf_mesh.py).

A triangle gives one contact at most, where it is deepest inside; its radius plays no role, nor do margins. Neighbours
that are deepest where they meet find the same point, which is counted once; and fifty triangles are looked at, in the
order of the flex's tree of boxes (convex/flex/order.py).
"""

from functools import cache

import warp as wp

from kinema.collide.bundles import Geoms, Meshes, Options, Touch
from kinema.collide.emit import emit
from kinema.collide.precision import HALF, ONE, TINY, TWO, ZERO, mat33r, real, unit, vec3r
from kinema.collide.sdf import field_functions, halton
from kinema.collide.sdf_mesh import face_reach, lowest_corner


@cache
def field_triangle(distance: wp.Function | None, gradient: wp.Function | None = None):
    """The contact of a field with a triangle, given the functions of fields that come from outside."""
    field_distance, field_gradient = field_functions(distance, gradient)
    reaches = face_reach(distance, gradient)

    @wp.func
    def collide_field_triangle(
        w: int, g: int, a: wp.vec3, b: wp.vec3, c: wp.vec3, geoms: Geoms, meshes: Meshes, options: Options,
        touch: Touch, base: int,
    ) -> int:  # fmt: skip
        """Write the contact at slot ``base`` if there is one; its normal leads out of the field."""
        pos = vec3r(geoms.xpos[w, g])
        mat = mat33r(geoms.xmat[w, g])
        size = vec3r(geoms.size[w, g])
        corners = mat33r()
        corners[0] = wp.transpose(mat) * (vec3r(a) - pos)
        corners[1] = wp.transpose(mat) * (vec3r(b) - pos)
        corners[2] = wp.transpose(mat) * (vec3r(c) - pos)
        if not reaches(geoms, meshes, w, g, corners[0], corners[1], corners[2]):
            return 0
        searched = wp.vec3i(0, 0, 0)  # the first step of a search leads to a corner: there are three searches
        best = vec3r()
        deepest = ZERO
        for j in range(wp.max(1, options.sdf_initpoints)):
            u = halton(j + 1, 2)
            v = halton(j + 1, 3)
            if u + v > ONE:
                u = ONE - u
                v = ONE - v
            x = corners[0] * (ONE - u - v) + corners[1] * u + corners[2] * v
            k = lowest_corner(corners, field_gradient(geoms, meshes.solid, w, g, x, size))
            if searched[k] == 0:
                searched[k] = 1
                x = corners[k]
                for step in range(1, options.sdf_iterations):
                    to = corners[lowest_corner(corners, field_gradient(geoms, meshes.solid, w, g, x, size))]
                    x = x + (to - x) * (TWO / (real(step) + TWO))
                dist = field_distance(geoms, meshes.solid, w, g, x, size)
                if dist < deepest:
                    deepest = dist
                    best = x
        if deepest >= ZERO:
            return 0
        grad = field_gradient(geoms, meshes.solid, w, g, best, size)
        if wp.length(grad) < TINY:
            return 0
        normal = mat * unit(grad)
        at = pos + mat * best - normal * (HALF * deepest)
        emit(touch, w, base, float(deepest), wp.vec3(at), wp.vec3(normal), wp.vec3())
        return 1

    return collide_field_triangle
