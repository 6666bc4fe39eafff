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
from kinema.collide.emit import emit_ordered
from kinema.collide.epa import Depth
from kinema.collide.legacy import fixed_normal
from kinema.collide.portal import portal_overlap
from kinema.collide.precision import HALF, ONE, ZERO, axis_of, mat33r, real, unit, vec3r
from kinema.collide.support import Shape, geom_shape, support
from kinema.collide.workspace import Workspace, lanes_of
from kinema.mujoco_enums import Geom

MOST = wp.constant(50)  # mjMAXCONPAIR
WHOLE = wp.constant(-1)  # all prisms of a pair: those from number 0 on
ROUNDING = wp.constant(1e-5)  # of a plane, relative


@wp.func
def extents(m: Hulls, s: Shape):
    """Smallest and largest coordinates of a shape.

    One loop over six directions: the support function is large, and compiled in place wherever it is called.
    """
    low = vec3r()
    high = vec3r()
    six = int(6)
    for k in range(six):
        axis = k // 2
        d = vec3r()
        d[axis] = wp.where(k % 2 == 0, ONE, -ONE)
        x, _feature, _warm = support(m, s, d, -1)
        if k % 2 == 0:
            high[axis] = x[axis]
        else:
            low[axis] = x[axis]
    return low, high


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
def reach(m: Hulls, s: Shape, d: wp.vec3) -> float:
    """How far a shape extends from its centre along a unit vector; roughly, in single precision."""
    l = wp.vec3(wp.transpose(s.mat) * vec3r(d))
    size = wp.vec3(s.size)
    if s.type == Geom.SPHERE:
        return size[0]
    if s.type == Geom.CAPSULE:
        return size[0] + wp.abs(l[2]) * size[1]
    if s.type == Geom.CYLINDER:
        return size[0] * wp.sqrt(l[0] * l[0] + l[1] * l[1]) + wp.abs(l[2]) * size[1]
    if s.type == Geom.ELLIPSOID:
        return wp.length(wp.cw_mul(l, size))
    if s.type == Geom.BOX:
        return wp.dot(wp.abs(l), size)
    s.margin = ZERO
    x, _feature, _warm = support(m, s, vec3r(d), -1)
    return float(wp.dot(vec3r(d), x - s.pos))


@wp.func
def nearest_on(a: wp.vec3, b: wp.vec3, c: wp.vec3, p: wp.vec3) -> wp.vec3:
    """The point of a triangle nearest to p; roughly, in single precision."""
    n = wp.cross(b - a, c - a)
    best = p - n * (wp.dot(p - a, n) / wp.max(wp.dot(n, n), 1.0e-30))
    u = a
    v = b
    nearest = float(1.0e30)
    three = int(3)
    for k in range(three):  # sides ab, bc, ca
        e = v - u
        if wp.dot(wp.cross(e, p - u), n) < 0.0:  # beyond this one
            t = wp.clamp(wp.dot(p - u, e) / wp.max(wp.dot(e, e), 1.0e-30), 0.0, 1.0)
            x = u + e * t
            if wp.length_sq(p - x) < nearest:
                nearest = wp.length_sq(p - x)
                best = x
        u = v
        v = wp.where(k == 0, c, a)
    return best


@wp.func
def towards(prism: Shape, s: Shape) -> wp.vec3:
    """The direction from the top of a prism to the core of a sphere or capsule; nearly."""
    a = wp.vec3(prism.mat[0] - s.pos)
    b = wp.vec3(prism.mat[1] - s.pos)
    c = wp.vec3(prism.mat[2] - s.pos)
    z = wp.vec3(axis_of(s.mat, 2))
    half = wp.where(s.type == Geom.CAPSULE, float(s.size[1]), 0.0)
    p = wp.vec3()
    x = wp.vec3()
    turns = int(3)
    for _turn in range(turns):  # from the core to the top and back
        x = nearest_on(a, b, c, p)
        p = z * wp.clamp(wp.dot(x, z), -half, half)
    return p - x


@wp.func
def farthest(prism: Shape, d: wp.vec3) -> int:
    """The corner of the top of a prism that is farthest along d."""
    best = int(0)
    for i in range(1, 3):
        if wp.dot(wp.vec3(prism.mat[i] - prism.mat[best]), d) > 0.0:
            best = i
    return best


@wp.func
def is_parted(m: Hulls, prism: Shape, s: Shape) -> bool:
    """Does a plane part the prism from a shape, both inflated? No, if it is nearly so.

    The plane of its top or of a side; of what is round also the one across the shortest way from the top to it.
    """
    up = wp.vec3(wp.cross(prism.mat[1] - prism.mat[0], prism.mat[2] - prism.mat[0]))
    turn = wp.where(up[2] > 0.0, 1.0, -1.0)  # whether the corners go round to the left
    planes = wp.where(s.type == Geom.SPHERE or s.type == Geom.CAPSULE, 5, 4)
    for k in range(planes):
        i = (k + 3) % 4  # the top first
        outward = up
        corner = prism.mat[i % 3]
        if k == 4:
            outward = towards(prism, s) * turn
            if outward[2] * turn <= 0.0:
                return False
            corner = prism.mat[farthest(prism, outward * turn)]
        elif i < 3:
            edge = wp.vec3(prism.mat[(i + 1) % 3] - corner)
            outward = wp.vec3(edge[1], -edge[0], 0.0)
        outward = wp.normalize(outward) * turn
        away = wp.vec3(s.pos - corner)
        extent = reach(m, s, -outward)
        apart = wp.dot(outward, away) - extent - float(prism.margin)
        if apart > ROUNDING * (wp.length(away) + extent):
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


@wp.struct
class Meeting:
    """A convex shape over a height field, in the frame of the field."""

    field: int
    pos: vec3r  # of the field
    mat: mat33r
    shape: Shape
    margin: real
    lowest: real  # the lowest a prism may end and still meet the shape
    cells: wp.vec4i  # rows and columns under the shape: first row, end, first column, end


@wp.func
def meet(geoms: Geoms, w: int, g1: int, g2: int, margin: float) -> Meeting:
    """Geom g2 of world w in the frame of height field g1."""
    t = Meeting()
    t.field = geoms.dataid[g1]
    t.pos = vec3r(geoms.xpos[w, g1])
    t.mat = mat33r(geoms.xmat[w, g1])
    t.margin = real(margin)
    t.shape = geom_shape(geoms, w, g2, ZERO)
    t.shape.pos = wp.transpose(t.mat) * (t.shape.pos - t.pos)
    t.shape.mat = wp.transpose(t.mat) * t.shape.mat
    return t


@wp.func
def find_cells(t: Meeting, m: Hulls, h: HeightFields, rbound: float) -> Meeting:
    """The meeting with the cells under the shape; none where the shape is beside, above or below the field."""
    size = h.size[t.field]
    radius = real(rbound) + t.margin
    for k in range(3):
        bottom = wp.where(k == 2, -real(size[3]), -real(size[k]))
        if t.shape.pos[k] - radius > real(size[k]) or t.shape.pos[k] + radius < bottom:
            return t
    low, high = extents(m, t.shape)
    for k in range(3):
        bottom = wp.where(k == 2, -real(size[3]), -real(size[k]))
        if low[k] - t.margin > real(size[k]) or high[k] + t.margin < bottom:
            return t
    nrow = h.nrow[t.field]
    ncol = h.ncol[t.field]
    sx = real(ncol - 1) / real(2.0 * size[0])
    sy = real(nrow - 1) / real(2.0 * size[1])
    cmin = wp.max(0, int(wp.floor((low[0] - t.margin + real(size[0])) * sx)))
    cmax = wp.min(ncol - 1, int(wp.ceil((high[0] + t.margin + real(size[0])) * sx)))
    rmin = wp.max(0, int(wp.floor((low[1] - t.margin + real(size[1])) * sy)))
    rmax = wp.min(nrow - 1, int(wp.ceil((high[1] + t.margin + real(size[1])) * sy)))
    t.cells = wp.vec4i(rmin, rmax, cmin, cmax)
    t.lowest = low[2] - t.margin
    return t


@wp.func
def prism(h: HeightFields, id: int, number: int, margin: real) -> Shape:
    """Prism ``number``: 2 ncol r + k lies between rows r and r + 1, its corners zigzag up to column k / 2."""
    width = 2 * h.ncol[id]
    r = number / width
    k = number % width
    s = Shape()
    s.type = Geom.HFIELD
    s.margin = margin
    s.size = vec3r(-real(h.size[id][3]), ZERO, ZERO)
    s.mat[0] = sample(h, id, r + 1 - k % 2, k // 2 - 1)
    s.mat[1] = sample(h, id, r + k % 2, (k - 1) // 2)
    s.mat[2] = sample(h, id, r + 1 - k % 2, k // 2)
    return s


@wp.func
def reaches_up(t: Meeting, s: Shape) -> bool:
    """Does a prism end as high as the lowest point of the shape?"""
    return wp.max(s.mat[0, 2], wp.max(s.mat[1, 2], s.mat[2, 2])) >= t.lowest


@wp.func
def is_under(t: Meeting, m: Hulls, s: Shape) -> bool:
    """May a prism touch the shape?"""
    shape = t.shape
    shape.margin = t.margin
    return reaches_up(t, s) and not is_parted(m, s, shape)


@wp.func
def contact(t: Meeting, d: Depth):
    """Position and normal of the contact of a prism, in the frame of the world."""
    return t.pos + t.mat * (HALF * (d.x1 + d.x2)), t.mat * unit(d.x1 - d.x2)


@cache
def hfield_pair(capacity: int, portal: bool = False):
    """Contacts of a height field with a convex geom; ``capacity``: of EPA iterations, or how else they find room."""
    signed_distance = portal_distance if portal else convex_distance(capacity)
    lane = lanes_of(capacity).lane

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
        part: int,
        work: Workspace,
    ) -> int:
        """Write the contacts of height field g1 and geom g2 of world w from slot ``base`` on; return their number.

        ``part``: all prisms (WHOLE), the one of that number, which may touch, or -1 - n: those from number n on. Where
        slots are taken as contacts are found, those of the pair are in the order of prisms (emit.py).
        """
        t = meet(geoms, w, g1, g2, margin)
        if part < 0:
            t = find_cells(t, meshes.hull, hfields, geoms.rbound[w, g2])
        shape = t.shape
        shape.margin = t.margin
        tolerance = real(options.ccd_tolerance)
        count = int(0)
        wide = 2 * (t.cells[3] - t.cells[2])
        for k in range(wp.where(part < 0, wide * (t.cells[1] - t.cells[0]), 1)):
            number = part
            if part < 0:
                number = 2 * (hfields.ncol[t.field] * (t.cells[0] + k / wide) + t.cells[2] + 1) + k % wide
            if number >= -1 - part and count < MOST:
                s = prism(hfields, t.field, number, t.margin)
                near = part >= 0
                if not near:
                    near = reaches_up(t, s)
                    if wp.static(not portal):
                        near = near and is_under(t, meshes.hull, s)
                if near:
                    d = signed_distance(meshes.hull, s, shape, tolerance, options.ccd_iterations, ZERO, True, work)
                    if d.found and d.dist < ZERO:
                        pos, normal = contact(t, d)
                        dist = float(t.margin + d.dist)
                        if lane() == 0:
                            emit_ordered(touch, w, base, count, number, dist, wp.vec3(pos), wp.vec3(normal))
                        count += 1
        return count

    return collide_hfield
