"""Analytic pairs: load two geoms, call the pair's function, write the contacts within the margin."""

from functools import cache

import warp as wp

from kinema.collide.box import box_box
from kinema.collide.bundles import Geoms, Meshes, Touch
from kinema.collide.capsule import capsule_box, capsule_capsule
from kinema.collide.emit import emit
from kinema.collide.plane import plane_box, plane_capsule, plane_cylinder, plane_ellipsoid, plane_sphere
from kinema.collide.plane_mesh import plane_mesh
from kinema.collide.sphere import sphere_box, sphere_capsule, sphere_cylinder, sphere_sphere
from kinema.collide.table import PairFunction
from kinema.math.vector import column


@cache
def primitive_pair(mask: int):
    """A function for the analytic pairs whose bit is set in the mask; others are not compiled."""

    def has(function: PairFunction) -> bool:
        return bool(mask >> int(function) & 1)

    @wp.func
    def collide_primitive(
        w: int, g1: int, g2: int, function: int, margin: float, geoms: Geoms, meshes: Meshes, touch: Touch, base: int
    ) -> int:
        """Write the contacts of geoms g1, g2 of world w from slot ``base`` on; return their number."""
        p1 = geoms.xpos[w, g1]
        p2 = geoms.xpos[w, g2]
        mat1 = geoms.xmat[w, g1]
        mat2 = geoms.xmat[w, g2]
        size1 = geoms.size[w, g1]
        size2 = geoms.size[w, g2]
        z1 = column(mat1, 2)
        z2 = column(mat2, 2)
        none = wp.vec3()
        n = int(0)

        if wp.static(has(PairFunction.PLANE_SPHERE)):
            if function == wp.static(int(PairFunction.PLANE_SPHERE)):
                dist, pos = plane_sphere(z1, p1, p2, size2[0])
                if dist <= margin:
                    emit(touch, w, base, dist, pos, z1, none)
                    n = 1
        if wp.static(has(PairFunction.PLANE_CAPSULE)):
            if function == wp.static(int(PairFunction.PLANE_CAPSULE)):
                dist2, pos2 = plane_capsule(z1, p1, p2, z2, size2[0], size2[1])
                for k in range(2):
                    if dist2[k] <= margin:
                        emit(touch, w, base + n, dist2[k], pos2[k], z1, z2)
                        n += 1
        if wp.static(has(PairFunction.PLANE_ELLIPSOID)):
            if function == wp.static(int(PairFunction.PLANE_ELLIPSOID)):
                dist, pos = plane_ellipsoid(z1, p1, p2, mat2, size2)
                if dist <= margin:
                    emit(touch, w, base, dist, pos, z1, none)
                    n = 1
        if wp.static(has(PairFunction.PLANE_CYLINDER)):
            if function == wp.static(int(PairFunction.PLANE_CYLINDER)):
                dist4, pos4 = plane_cylinder(z1, p1, p2, mat2, size2[0], size2[1])
                for k in range(4):
                    if dist4[k] <= margin:
                        emit(touch, w, base + n, dist4[k], pos4[k], z1, none)
                        n += 1
        if wp.static(has(PairFunction.PLANE_BOX)):
            if function == wp.static(int(PairFunction.PLANE_BOX)):
                dist4, pos4 = plane_box(z1, p1, p2, mat2, size2, margin)
                for k in range(4):
                    if dist4[k] <= margin:
                        emit(touch, w, base + n, dist4[k], pos4[k], z1, none)
                        n += 1
        if wp.static(has(PairFunction.PLANE_MESH)):
            if function == wp.static(int(PairFunction.PLANE_MESH)):
                n = plane_mesh(w, z1, p1, p2, mat2, geoms.dataid[g2], margin, meshes, touch, base)
        if wp.static(has(PairFunction.SPHERE_SPHERE)):
            if function == wp.static(int(PairFunction.SPHERE_SPHERE)):
                dist, pos, normal = sphere_sphere(p1, size1[0], p2, size2[0], z1, z2)
                if dist <= margin:
                    emit(touch, w, base, dist, pos, normal, none)
                    n = 1
        if wp.static(has(PairFunction.SPHERE_CAPSULE)):
            if function == wp.static(int(PairFunction.SPHERE_CAPSULE)):
                dist, pos, normal = sphere_capsule(p1, size1[0], z1, p2, z2, size2[0], size2[1])
                if dist <= margin:
                    emit(touch, w, base, dist, pos, normal, none)
                    n = 1
        if wp.static(has(PairFunction.SPHERE_CYLINDER)):
            if function == wp.static(int(PairFunction.SPHERE_CYLINDER)):
                dist, pos, normal = sphere_cylinder(p1, size1[0], z1, p2, mat2, size2[0], size2[1])
                if dist <= margin:
                    emit(touch, w, base, dist, pos, normal, none)
                    n = 1
        if wp.static(has(PairFunction.SPHERE_BOX)):
            if function == wp.static(int(PairFunction.SPHERE_BOX)):
                dist, pos, normal = sphere_box(p1, size1[0], p2, mat2, size2)
                if dist <= margin:
                    emit(touch, w, base, dist, pos, normal, none)
                    n = 1
        if wp.static(has(PairFunction.CAPSULE_CAPSULE)):
            if function == wp.static(int(PairFunction.CAPSULE_CAPSULE)):
                dist2, pos2, normal2 = capsule_capsule(p1, mat1, size1, p2, mat2, size2)
                for k in range(2):
                    if dist2[k] <= margin:
                        emit(touch, w, base + n, dist2[k], pos2[k], normal2[k], none)
                        n += 1
        if wp.static(has(PairFunction.CAPSULE_BOX)):
            if function == wp.static(int(PairFunction.CAPSULE_BOX)):
                dist2, pos2, normal2 = capsule_box(p1, mat1, size1, p2, mat2, size2)
                for k in range(2):
                    if dist2[k] <= margin:
                        emit(touch, w, base + n, dist2[k], pos2[k], normal2[k], none)
                        n += 1
        if wp.static(has(PairFunction.BOX_BOX)):
            if function == wp.static(int(PairFunction.BOX_BOX)):
                dist8, pos8, normal = box_box(p1, mat1, size1, p2, mat2, size2, margin)
                # an edge contact was accepted with rounding slack, so presence decides rather than the margin
                for k in range(8):
                    if dist8[k] < 1.0e9:
                        emit(touch, w, base + n, dist8[k], pos8[k], normal, none)
                        n += 1
        return n

    return collide_primitive
