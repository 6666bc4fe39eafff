"""Signed distance fields: contacts by descent from points spread over the overlap of the bounding boxes.

With A the field of geom 2 and B that of geom 1, both as functions of a point x in the frame of geom 2, descend from
each of the Halton points on

    phi = A + B + |max(A, B)|       sdf_iterations steps: towards the overlap, if there is one
    max(A, B)                       one step: its value is the contact's distance

by gradient steps with a backtracking line search; a step that ends worse than it began is taken back and ends the
search. Points with distance <= 0 are contacts, with the normal of the midsurface A = B. Margins play no role.

The field of a geom of type sdf is the octree of its mesh, or comes from outside: ``distance(kind, p, parameters)`` is a
Warp function over all kinds of fields in the model, which kernels are built with. Gradients of these are forward
differences, as MuJoCo's are, unless ``gradient(kind, p, parameters)`` is given too.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import warp as wp

from kinema.collide.bundles import Geoms, Options, Solids, Touch
from kinema.collide.emit import emit
from kinema.collide.octree import octree_distance, octree_gradient
from kinema.collide.precision import HALF, ONE, TINY, TWO, ZERO, mat33r, real, unit, vec3r
from kinema.mujoco_enums import Geom

STEP = wp.constant(wp.float64(1e-8))  # of forward differences [m]
DECREASE = wp.constant(wp.float64(0.1))  # part of the expected decrease a step must reach
SMALLEST = wp.constant(wp.float64(1e-4))  # smallest step length tried
BOUND = wp.constant(wp.float64(1e10))  # larger gradients are rejected
MOST = 64  # contacts of a pair
OVERLAP = wp.constant(0)
INTERSECTION = wp.constant(1)


class Fields(NamedTuple):
    """The signed distance fields of a model.

    ``distance(kind: int, p: vec3d, parameters: array(float)) -> float64`` is a ``wp.Function``; kind and parameters are
    given for each geom, kind -1 for geoms that have no field.
    """

    distance: wp.Function
    kind: np.ndarray  # (ngeom,)
    parameters: np.ndarray  # (ngeom, n), or (nworld, ngeom, n) where worlds differ
    gradient: wp.Function | None = None  # (kind, p, parameters) -> vec3d; None: forward differences
    half: np.ndarray | None = None  # (nworld, ngeom, 3) half sizes of boxes around the fields; NaN: the model's box


@wp.func
def radial(a: vec3r, x: vec3r, size: vec3r) -> vec3r:
    """Unit field inside a box that turns from radial to the normals of the faces; a = |x| - size."""
    f = unit(vec3r(-size[0] / a[0], -size[1] / a[1], -size[2] / a[2]))
    return vec3r(
        wp.where(x[0] < ZERO, -f[0], f[0]), wp.where(x[1] < ZERO, -f[1], f[1]), wp.where(x[2] < ZERO, -f[2], f[2])
    )


@wp.func
def primitive_distance(kind: int, x: vec3r, size: vec3r) -> real:
    """Distance to a primitive in its own frame, exact outside."""
    if kind == Geom.SPHERE:
        return wp.length(x) - size[0]
    if kind == Geom.CAPSULE:
        return wp.length(vec3r(x[0], x[1], x[2] - wp.clamp(x[2], -size[1], size[1]))) - size[0]
    if kind == Geom.ELLIPSOID:
        k0 = wp.length(wp.cw_div(x, size))
        return k0 * (k0 - ONE) / wp.length(wp.cw_div(wp.cw_div(x, size), size))
    if kind == Geom.CYLINDER:
        beside = wp.sqrt(x[0] * x[0] + x[1] * x[1]) - size[0]
        above = wp.abs(x[2]) - size[1]
        outside = wp.vec2d(wp.max(beside, ZERO), wp.max(above, ZERO))
        return wp.min(wp.max(beside, above), ZERO) + wp.length(outside)
    if kind == Geom.BOX:
        a = wp.abs(x) - size
        if a[0] >= ZERO or a[1] >= ZERO or a[2] >= ZERO:
            return wp.length(wp.max(a, vec3r()))
        f = radial(a, x, size)
        t = wp.min(-a[0] / wp.abs(f[0]), wp.min(-a[1] / wp.abs(f[1]), -a[2] / wp.abs(f[2])))
        return -t * wp.length(f)
    return x[2]


@wp.func
def sign_of(x: real) -> real:
    """-1, 0 or 1."""
    return wp.where(x > ZERO, ONE, wp.where(x < ZERO, -ONE, ZERO))


@wp.func
def primitive_gradient(kind: int, x: vec3r, size: vec3r) -> vec3r:
    """Gradient of primitive_distance."""
    if kind == Geom.SPHERE:
        return x / wp.length(x)
    if kind == Geom.CAPSULE:
        a = vec3r(x[0], x[1], x[2] - wp.clamp(x[2], -size[1], size[1]))
        return a / wp.length(a)
    if kind == Geom.ELLIPSOID:
        a = wp.cw_div(x, size)
        b = wp.cw_div(a, size)
        k0 = wp.length(a)
        k1 = wp.length(b)
        c = wp.cw_div(wp.cw_div(b, size), size)
        return unit(b * ((TWO * k0 - ONE) / (k0 * k1)) - c * (k0 * (k0 - ONE) / (k1 * k1 * k1)))
    if kind == Geom.CYLINDER:
        rho = wp.max(wp.sqrt(x[0] * x[0] + x[1] * x[1]), ONE / BOUND)
        side = vec3r(x[0] / rho, x[1] / rho, ZERO)
        end = vec3r(ZERO, ZERO, x[2] / wp.max(wp.abs(x[2]), ONE / BOUND))
        beside = wp.sqrt(x[0] * x[0] + x[1] * x[1]) - size[0]
        above = wp.abs(x[2]) - size[1]
        if wp.max(beside, above) < ZERO:
            if beside > above:
                return side
            return end
        beside = wp.max(beside, ZERO)
        above = wp.max(above, ZERO)
        return (side * beside + end * above) / wp.max(wp.sqrt(beside * beside + above * above), ONE / BOUND)
    if kind == Geom.BOX:
        a = wp.abs(x) - size
        if a[0] < ZERO and a[1] < ZERO and a[2] < ZERO:
            return radial(a, x, size)
        b = wp.max(a, vec3r())
        return wp.cw_mul(b / wp.length(b), vec3r(sign_of(x[0]), sign_of(x[1]), sign_of(x[2])))
    return vec3r(ZERO, ZERO, ONE)


@wp.func
def halton(index: int, base: int) -> real:
    """Element of the Halton sequence."""
    b = real(base)
    f = ONE / b
    h = ZERO
    n = index
    while n > 0:
        h += f * real(n % base)
        f = f / b
        n = n // base
    return h


@wp.func
def is_bounded(x: real) -> bool:
    """Neither NaN nor huge."""
    return x <= BOUND and x >= -BOUND


@cache
def forward_difference(distance: wp.Function) -> wp.Function:
    """The gradient of a distance function by forward differences."""

    @wp.func
    def difference(kind: int, x: vec3r, parameters: wp.array(dtype=float)) -> vec3r:
        d0 = distance(kind, x, parameters)
        grad = vec3r()
        three = int(3)
        for i in range(three):
            y = x
            y[i] = y[i] + STEP
            grad[i] = (distance(kind, y, parameters) - d0) / STEP
        return grad

    return difference


@cache
def field_functions(distance: wp.Function | None, gradient: wp.Function | None = None):
    """Distance and gradient of the field of any geom, given the functions of fields that come from outside."""
    given = distance is not None
    if given and gradient is None:
        gradient = forward_difference(distance)

    @wp.func
    def field_distance(geoms: Geoms, solids: Solids, w: int, g: int, x: vec3r, size: vec3r) -> real:
        if geoms.type[g] == Geom.SDF:
            if wp.static(given):
                if geoms.field_kind[g] >= 0:
                    return distance(geoms.field_kind[g], x, geoms.field_parameters[w, g])
            return octree_distance(solids, geoms.dataid[g], x)
        return primitive_distance(geoms.type[g], x, size)

    @wp.func
    def field_gradient(geoms: Geoms, solids: Solids, w: int, g: int, x: vec3r, size: vec3r) -> vec3r:
        if geoms.type[g] == Geom.SDF:
            if wp.static(given):
                if geoms.field_kind[g] >= 0:
                    return gradient(geoms.field_kind[g], x, geoms.field_parameters[w, g])
            return octree_gradient(solids, geoms.dataid[g], x)
        return primitive_gradient(geoms.type[g], x, size)

    return field_distance, field_gradient


@cache
def sdf_pair(distance: wp.Function | None, gradient: wp.Function | None = None):
    """Contacts of a geom with a signed distance field, given the functions of fields that come from outside."""
    field_distance, field_gradient = field_functions(distance, gradient)

    @wp.func
    def descend(
        geoms: Geoms,
        solids: Solids,
        w: int,
        g1: int,
        g2: int,
        pos: vec3r,
        mat: mat33r,
        x: vec3r,
        objective: int,
        steps: int,
    ):
        """Steps of gradient descent from x. Returns the point, the value there, and whether gradients were sound.

        pos and mat map the frame of geom 2 to that of geom 1.
        """
        size1 = vec3r(geoms.size[w, g1])
        size2 = vec3r(geoms.size[w, g2])
        value = BOUND
        for _step in range(steps):
            # value and gradient at x; then values along the line
            x0 = x
            value0 = ZERO
            grad = vec3r()
            alpha = TWO
            wolfe = ZERO
            searching = bool(True)
            first = bool(True)
            while searching:
                y = pos + mat * x
                a = field_distance(geoms, solids, w, g2, x, size2)
                b = field_distance(geoms, solids, w, g1, y, size1)
                value = wp.max(a, b)
                if objective == OVERLAP:
                    value = a + b + wp.abs(value)
                if first:
                    first = False
                    value0 = value
                    grad_a = field_gradient(geoms, solids, w, g2, x, size2)
                    grad_b = wp.transpose(mat) * field_gradient(geoms, solids, w, g1, y, size1)
                    grad = grad_b
                    if a > b:
                        grad = grad_a
                    if objective == OVERLAP:
                        grad = grad_a + grad_b + grad * wp.where(wp.max(a, b) > ZERO, ONE, -ONE)
                    if not (is_bounded(grad[0]) and is_bounded(grad[1]) and is_bounded(grad[2])):
                        return x, BOUND
                    wolfe = -DECREASE * alpha * wp.dot(grad, grad)
                else:
                    searching = alpha > SMALLEST and value - value0 > wolfe
                if searching:
                    alpha = alpha * HALF
                    wolfe = wolfe * HALF
                    x = x0 - grad * alpha
            if value0 < value:
                return x0, value0
        return x, value

    @wp.func
    def collide_sdf(
        w: int, g1: int, g2: int, geoms: Geoms, solids: Solids, options: Options, touch: Touch, base: int
    ) -> int:
        """Write the contacts of geom g1 and field g2 of world w from slot ``base`` on; return their number."""
        pos1 = vec3r(geoms.xpos[w, g1])
        pos2 = vec3r(geoms.xpos[w, g2])
        mat1 = mat33r(geoms.xmat[w, g1])
        mat2 = mat33r(geoms.xmat[w, g2])
        to1 = wp.transpose(mat1)
        pos21 = to1 * (pos2 - pos1)
        mat21 = to1 * mat2

        # overlap of the bounding boxes in the frame of geom 1
        center1 = vec3r(geoms.aabb_center[w, g1])
        half1 = vec3r(geoms.aabb_half[w, g1])
        center2 = pos21 + mat21 * vec3r(geoms.aabb_center[w, g2])
        half = vec3r(geoms.aabb_half[w, g2])
        half2 = vec3r(wp.dot(wp.abs(mat21[0]), half), wp.dot(wp.abs(mat21[1]), half), wp.dot(wp.abs(mat21[2]), half))
        low = wp.max(center1 - half1, center2 - half2)
        high = wp.min(center1 + half1, center2 + half2)
        if low[0] > high[0] or low[1] > high[1] or low[2] > high[2]:
            return 0

        known = wp.zeros(shape=(wp.static(MOST),), dtype=vec3r)
        count = int(0)
        for j in range(options.sdf_initpoints):
            h = vec3r(halton(j, 2), halton(j, 3), halton(j, 5))
            x = wp.transpose(mat21) * (low + wp.cw_mul(high - low, h) - pos21)
            dist = BOUND
            two = int(2)
            for objective in range(two):
                steps = wp.where(objective == 0, options.sdf_iterations, 1)
                x, dist = descend(geoms, solids, w, g1, g2, pos21, mat21, x, objective, steps)
            new = dist <= ZERO and count < wp.static(MOST)
            for k in range(count):
                new = new and wp.length(known[k] - x) >= TINY
            if new:
                y = pos21 + mat21 * x
                grad2 = unit(field_gradient(geoms, solids, w, g2, x, half))
                grad1 = unit(wp.transpose(mat21) * field_gradient(geoms, solids, w, g1, y, vec3r(geoms.size[w, g1])))
                if wp.length(grad2 - grad1) >= TINY:
                    known[count] = x
                    normal = mat2 * -unit(grad2 - grad1)
                    pos = pos2 + mat2 * x + normal * (HALF * dist)
                    emit(touch, w, base + count, float(dist), wp.vec3(pos), wp.vec3(normal), wp.vec3())
                    count += 1
        return count

    return collide_sdf
