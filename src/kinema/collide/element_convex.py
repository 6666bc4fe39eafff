"""Elements of flexes as convex shapes: against geoms, and against each other, in one contact each.

An element is a simplex, its corners in the rows of ``mat``, the fourth in ``pos``; ``mesh`` says how many it has. Its
radius, ``size[0]``, is part of the shape: as in MuJoCo it is not shrunk to its core, as spheres and capsules are. What
depends on how far the search came, such as which of many contacts are kept, is then the same. Where nativeccd is
disabled a portal finds the contact (portal.py), and nothing mends its normal.
"""

from functools import cache

import warp as wp

from kinema.collide.bundles import Hulls, Options, Touch
from kinema.collide.convex import convex_distance
from kinema.collide.emit import emit
from kinema.collide.legacy import fixed_normal
from kinema.collide.portal import portal_overlap
from kinema.collide.precision import HALF, ZERO, mat33r, real, unit, vec3r
from kinema.collide.support import SIMPLEX, Shape
from kinema.collide.workspace import Workspace


@wp.func
def element_shape(a: wp.vec3, b: wp.vec3, c: wp.vec3, e: wp.vec3, corners: int, radius: float, margin: float) -> Shape:
    """An element, rounded, and inflated by half the margin."""
    s = Shape()
    s.type = SIMPLEX
    s.mesh = corners
    s.mat = mat33r()
    s.mat[0] = vec3r(a)
    s.mat[1] = vec3r(b)
    s.mat[2] = vec3r(c)
    s.pos = vec3r(e)
    s.size = vec3r(real(radius), ZERO, ZERO)
    s.margin = real(margin)
    return s


@wp.func
def portal_element(
    w: int, s1: Shape, s2: Shape, margin: float, flat: bool, hulls: Hulls, options: Options, touch: Touch, base: int,
    work: Workspace,
) -> int:  # fmt: skip
    """The contact where nativeccd is disabled."""
    r = portal_overlap(hulls, s1, s2, real(options.ccd_tolerance), options.ccd_iterations)
    if not r.found:
        return 0
    emit(touch, w, base, float(real(margin) - r.depth), wp.vec3(r.pos), wp.vec3(r.dir), wp.vec3())
    return 1


@cache
def convex_element(capacity: int, portal: bool = False):
    """Contact of two shapes of which the second is an element; ``capacity``: of EPA iterations, 0: scratch is lent."""
    if portal:
        return portal_element
    signed_distance = convex_distance(capacity)

    @wp.func
    def collide_shapes(
        w: int, s1: Shape, s2: Shape, margin: float, flat: bool, hulls: Hulls, options: Options, touch: Touch,
        base: int, work: Workspace,
    ) -> int:  # fmt: skip
        """Write the contact at slot ``base`` if there is one; normals of flat elements are taken from round geoms."""
        tolerance = real(options.ccd_tolerance)
        r = signed_distance(hulls, s1, s2, tolerance, options.ccd_iterations, ZERO, True, work)
        if not r.found or r.dist >= ZERO:
            return 0
        pos = HALF * (r.x1 + r.x2)
        normal = unit(r.x1 - r.x2)
        if flat:
            normal = fixed_normal(s1, s2, pos, normal)
        emit(touch, w, base, float(real(margin) + r.dist), wp.vec3(pos), wp.vec3(normal), wp.vec3())
        return 1

    return collide_shapes
