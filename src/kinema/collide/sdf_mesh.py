"""A mesh against a signed distance field: the faces that may reach into the field, each searched for deep points.

The mesh's tree of boxes is walked; a box is entered if the field at its center is below its radius, likewise a face by
its circumcircle (or the sphere through it and a point off its middle). From Halton points on the face Frank-Wolfe steps

    x += 2 / (k + 2) (corner - x)        corner: the one that the field's gradient at x points farthest away from

seek its deepest point. The first step leads to a corner, so there are three searches a face, whatever the number of
starts; starts that share a corner are counted, as MuJoCo does, against the largest number of candidates.
"""

from functools import cache

import warp as wp

from kinema.collide.bundles import Geoms, Meshes, Options, Touch
from kinema.collide.emit import emit
from kinema.collide.precision import HALF, ONE, TINY, TWO, ZERO, mat33r, real, unit, vec3r
from kinema.collide.sdf import field_functions, halton

MOST = 50  # mjMAXCONPAIR
STACK = 64  # nodes of the tree of boxes
FLAT = wp.constant(wp.float64(0.1))  # height below which a tetrahedron counts as flat [m]
SCALE = wp.constant(wp.float64(10.0))
THIRD = wp.constant(wp.float64(1.0 / 3.0))


@cache
def face_reach(distance: wp.Function | None, gradient: wp.Function | None = None):
    """``reaches(geoms, meshes, w, g, a, b, c)``: whether a face comes near enough to a field to be searched."""
    field_distance, _ = field_functions(distance, gradient)

    @wp.func
    def reaches(geoms: Geoms, meshes: Meshes, w: int, g: int, a: vec3r, b: vec3r, c: vec3r) -> bool:
        size = vec3r(geoms.size[w, g])
        middle = a * THIRD + b * THIRD + c * THIRD
        here = field_distance(geoms, meshes.solid, w, g, middle, size)
        h = -here / SCALE
        ab = wp.length(a - b)
        if wp.abs(h) < FLAT:
            bc = wp.length(b - c)
            ca = wp.length(c - a)
            s = (ab + bc + ca) / TWO
            area = wp.sqrt(s * (s - ab) * (s - bc) * (s - ca))
            return here < ab * bc * ca / (real(4.0) * wp.max(area, TINY))
        p = middle - unit(wp.cross(b - a, c - a)) * h
        u = a - p
        v = b - p
        t = c - p
        cross = wp.cross(v, t)
        denominator = TWO * wp.dot(u, cross)
        if wp.abs(denominator) < TINY:
            return here < ab
        o = cross * wp.dot(u, u) + wp.cross(t, u) * wp.dot(v, v) + wp.cross(u, v) * wp.dot(t, t)
        o = o * (ONE / denominator)
        return field_distance(geoms, meshes.solid, w, g, o + p, size) < wp.length(o)

    return reaches


@wp.func
def lowest_corner(corners: mat33r, grad: vec3r) -> int:
    """The corner farthest against a gradient."""
    best = int(0)
    for k in range(1, 3):
        if wp.dot(corners[k], grad) < wp.dot(corners[best], grad):
            best = k
    return best


@cache
def sdf_mesh_pair(distance: wp.Function | None, gradient: wp.Function | None = None):
    """Contacts of a mesh with a signed distance field, given the functions of all fields of the model."""
    field_distance, field_gradient = field_functions(distance, gradient)
    reaches = face_reach(distance, gradient)

    @wp.func
    def collide_sdf_mesh(
        w: int, g1: int, g2: int, geoms: Geoms, meshes: Meshes, options: Options, touch: Touch, base: int
    ) -> int:
        """Write the contacts of mesh g1 and field g2 of world w from slot ``base`` on; return their number."""
        mesh = geoms.dataid[g1]
        pos2 = vec3r(geoms.xpos[w, g2])
        mat2 = mat33r(geoms.xmat[w, g2])
        size2 = vec3r(geoms.size[w, g2])
        offset = wp.transpose(mat2) * (vec3r(geoms.xpos[w, g1]) - pos2)
        rotation = wp.transpose(mat2) * mat33r(geoms.xmat[w, g1])
        root = meshes.solid.bvhadr[mesh]
        starts = wp.max(1, options.sdf_initpoints)

        known = wp.zeros(shape=(wp.static(MOST),), dtype=vec3r)
        stack = wp.zeros(shape=(wp.static(STACK),), dtype=int)
        count = int(0)
        candidates = int(0)
        waiting = int(1)
        while waiting > 0:
            waiting -= 1
            node = stack[waiting]
            at = root + node
            middle = offset + rotation * meshes.solid.bvhbox[2 * at]
            if field_distance(geoms, meshes.solid, w, g2, middle, size2) < wp.length(meshes.solid.bvhbox[2 * at + 1]):
                links = meshes.solid.bvhnode[at]
                if links[0] < 0:
                    for i in range(1, 3):
                        if links[i] >= 0 and waiting < wp.static(STACK):
                            stack[waiting] = links[i]
                            waiting += 1
                else:
                    face = meshes.solid.face[meshes.solid.faceadr[mesh] + links[0]]
                    corners = mat33r()
                    for k in range(3):
                        corner = vec3r(meshes.hull.vert[meshes.hull.vertadr[mesh] + face[k]])
                        corners[k] = offset + rotation * corner
                    if reaches(geoms, meshes, w, g2, corners[0], corners[1], corners[2]):
                        # the deepest points of searches that begin at each corner, found when first wanted
                        points = corners
                        depths = vec3r()
                        searched = wp.vec3i(0, 0, 0)
                        for j in range(starts):
                            if candidates < wp.static(MOST):
                                u = halton(j + 1, 2)
                                v = halton(j + 1, 3)
                                if u + v > ONE:
                                    u = ONE - u
                                    v = ONE - v
                                x = corners[0] * (ONE - u - v) + corners[1] * u + corners[2] * v
                                grad = field_gradient(geoms, meshes.solid, w, g2, x, size2)
                                c = lowest_corner(corners, grad)
                                if searched[c] == 0:
                                    x = corners[c]
                                    for step in range(1, options.sdf_iterations):
                                        grad = field_gradient(geoms, meshes.solid, w, g2, x, size2)
                                        to = corners[lowest_corner(corners, grad)]
                                        x = x + (to - x) * (TWO / (real(step) + TWO))
                                    points[c] = x
                                    depths[c] = field_distance(geoms, meshes.solid, w, g2, x, size2)
                                x = points[c]
                                dist = depths[c]
                                if dist < ZERO:
                                    candidates += 1
                                    new = searched[c] == 0
                                    for k in range(count):
                                        new = new and wp.length(known[k] - x) >= TINY
                                    if new:
                                        known[count] = x
                                        grad = field_gradient(geoms, meshes.solid, w, g2, x, size2)
                                        if wp.length(grad) >= TINY:
                                            normal = mat2 * -unit(grad)
                                            pos = pos2 + mat2 * x + normal * (HALF * dist)
                                            slot = base + count
                                            emit(touch, w, slot, float(dist), wp.vec3(pos), wp.vec3(normal), wp.vec3())
                                            count += 1
                                searched[c] = 1
        return count

    return collide_sdf_mesh
