"""Height field against convex shapes.

Between four neighbouring samples lie two triangles; each is the top of a prism that reaches down to the bottom of the
field. The shape is tested against every prism under its bounding box, in the frame of the field, and each prism it
penetrates gives one contact. Most prisms are parted from the shape by their top or one of their sides, which is quickly
seen: on even ground the tops of neighbours are one plane, and a foot that stands on some is above them all.
"""

from functools import cache

import warp as wp

from kinema.collide.bundles import Geoms, HeightFields, Hulls, Meshes, Options, Touch
from kinema.collide.convex import convex_distance
from kinema.collide.emit import emit
from kinema.collide.epa import Depth
from kinema.collide.legacy import fixed_normal
from kinema.collide.portal import portal_overlap
from kinema.collide.precision import HALF, ONE, ZERO, mat33r, real, unit, vec3r
from kinema.collide.support import Shape, geom_shape, support
from kinema.collide.workspace import Workspace
from kinema.mujoco_enums import Geom

MOST = wp.constant(50)  # mjMAXCONPAIR
ROUNDING = wp.constant(wp.float64(1e-12))  # of a plane [m]


@wp.func
def extent(m: Hulls, s: Shape, axis: int):
    """Smallest and largest coordinate of a shape along an axis."""
    d = vec3r()
    d[axis] = ONE
    high, _f1, _w1 = support(m, s, d, -1)
    low, _f2, _w2 = support(m, s, -d, -1)
    return low[axis], high[axis]


@wp.func
def sample(h: HeightFields, id: int, r: int, c: int) -> vec3r:
    """Point of the surface at row r and column c."""
    size = h.size[id]
    nrow = h.nrow[id]
    ncol = h.ncol[id]
    dx = real(2.0 * size[0]) / real(ncol - 1)
    dy = real(2.0 * size[1]) / real(nrow - 1)
    z = real(h.data[h.adr[id] + r * ncol + c]) * real(size[2])
    return vec3r(dx * real(c) - real(size[0]), dy * real(r) - real(size[1]), z)


@wp.func
def is_parted(m: Hulls, prism: Shape, s: Shape) -> bool:
    """Does the plane of the top or of a side part the prism from a shape, both inflated?"""
    up = wp.cross(prism.mat[1] - prism.mat[0], prism.mat[2] - prism.mat[0])
    turn = wp.where(up[2] > ZERO, ONE, -ONE)  # whether the corners go round to the left
    beyond = HALF * prism.margin + ROUNDING
    four = int(4)
    for i in range(four):
        outward = up
        corner = prism.mat[i % 3]
        if i < 3:
            edge = prism.mat[(i + 1) % 3] - corner
            outward = vec3r(edge[1], -edge[0], ZERO)
        outward = unit(outward * turn)
        nearest, _feature, _warm = support(m, s, -outward, -1)
        if wp.dot(outward, nearest - corner) > beyond:
            return True
    return False


@wp.func
def portal_distance(
    m: Hulls,
    s1: Shape,
    s2: Shape,
    tolerance: real,
    iterations: int,
    _cutoff: real,
    _need_depth: bool,
    _work: Workspace,
) -> Depth:
    """Depth of a prism and a shape by a portal, with points that have the contact between them."""
    r = portal_overlap(m, s1, s2, tolerance, iterations)
    n = fixed_normal(s1, s2, r.pos, r.dir) * (HALF * r.depth)
    d = Depth()
    d.found = r.found
    d.dist = -r.depth
    d.x1 = r.pos + n
    d.x2 = r.pos - n
    return d


@cache
def hfield_pair(capacity: int, portal: bool = False):
    """Contacts of a height field with a convex geom; ``capacity``: of EPA iterations, or how else they find room."""
    signed_distance = portal_distance if portal else convex_distance(capacity)

    @wp.func
    def collide_hfield(
        w: int,
        g1: int,
        g2: int,
        margin: float,
        geoms: Geoms,
        meshes: Meshes,
        hfields: HeightFields,
        options: Options,
        touch: Touch,
        base: int,
        first: int,
        done: int,
        work: Workspace,
    ) -> int:
        """Write the contacts of height field g1 and geom g2 of world w from slot ``base`` on; return their number.

        The search goes on at prism ``first``, with ``done`` contacts so far. Where scratch is wanted it ends, with
        -1 less the number of the prism.
        """
        id = geoms.dataid[g1]
        size = hfields.size[id]
        m = real(margin)
        pos1 = vec3r(geoms.xpos[w, g1])
        mat1 = mat33r(geoms.xmat[w, g1])
        s2 = geom_shape(geoms, w, g2, ZERO)
        s2.pos = wp.transpose(mat1) * (s2.pos - pos1)
        s2.mat = wp.transpose(mat1) * s2.mat

        radius = real(geoms.rbound[w, g2]) + m
        for k in range(3):
            low = wp.where(k == 2, -real(size[3]), -real(size[k]))
            if s2.pos[k] - radius > real(size[k]) or s2.pos[k] + radius < low:
                return 0
        xmin, xmax = extent(meshes.hull, s2, 0)
        ymin, ymax = extent(meshes.hull, s2, 1)
        zmin, zmax = extent(meshes.hull, s2, 2)
        if zmin - m > real(size[2]) or zmax + m < -real(size[3]):
            return 0
        if xmin - m > real(size[0]) or xmax + m < -real(size[0]):
            return 0
        if ymin - m > real(size[1]) or ymax + m < -real(size[1]):
            return 0

        nrow = hfields.nrow[id]
        ncol = hfields.ncol[id]
        sx = real(ncol - 1) / real(2.0 * size[0])
        sy = real(nrow - 1) / real(2.0 * size[1])
        cmin = wp.max(0, int(wp.floor((xmin - m + real(size[0])) * sx)))
        cmax = wp.min(ncol - 1, int(wp.ceil((xmax + m + real(size[0])) * sx)))
        rmin = wp.max(0, int(wp.floor((ymin - m + real(size[1])) * sy)))
        rmax = wp.min(nrow - 1, int(wp.ceil((ymax + m + real(size[1])) * sy)))

        s2.margin = m
        s1 = Shape()
        s1.type = Geom.HFIELD
        s1.margin = m
        s1.size = vec3r(-real(size[3]), ZERO, ZERO)
        tolerance = real(options.ccd_tolerance)
        count = int(done)
        prism = int(-1)
        for r in range(rmin, rmax):
            s1.mat[1] = sample(hfields, id, r + 1, cmin)
            s1.mat[2] = sample(hfields, id, r, cmin)
            for k in range(2 * (cmin + 1), 2 * (cmax + 1)):
                s1.mat[0] = s1.mat[1]
                s1.mat[1] = s1.mat[2]
                s1.mat[2] = sample(hfields, id, r + 1 - k % 2, k // 2)
                top = wp.max(s1.mat[0, 2], wp.max(s1.mat[1, 2], s1.mat[2, 2]))
                prism += 1
                near = prism >= first and count < MOST and top >= zmin - m
                if wp.static(not portal):
                    near = near and not is_parted(meshes.hull, s1, s2)
                if near:
                    d = signed_distance(meshes.hull, s1, s2, tolerance, options.ccd_iterations, ZERO, True, work)
                    if d.wanted:
                        return -1 - prism
                    if d.found and d.dist < ZERO:
                        normal = mat1 * unit(d.x1 - d.x2)
                        pos = pos1 + mat1 * (HALF * (d.x1 + d.x2))
                        emit(touch, w, base + count, float(m + d.dist), wp.vec3(pos), wp.vec3(normal), wp.vec3())
                        count += 1
        return count

    return collide_hfield
