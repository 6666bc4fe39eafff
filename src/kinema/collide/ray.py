"""Rays: the first geom hit by p + t v, t >= 0, as mj_ray finds it.

A ray is mapped to the frame of the geom and its origin moved to the point nearest to the centre, p' = p + t0 v with
p'.v = 0, so that float32 solves |p' + t v| = r without cancellation however far away the ray begins. Functions return
the smallest t >= 0, or -1, and the outward normal in the geom frame. Planes are hit from above and within their
rendered size, meshes on their triangles, height fields on their surface, sides and base.
"""

import numpy as np
import warp as wp

from kinema.arrays import flat
from kinema.collide.bundles import Geoms, HeightFields
from kinema.math.vector import normalize
from kinema.mujoco_enums import MINVAL, Geom

MISS = wp.constant(-1.0)
NGROUP = 6  # mjNGROUP
VISIBLE = wp.constant(1)
STATIC = wp.constant(2)


@wp.struct
class RayTargets:
    """What a ray may hit."""

    flags: wp.array(dtype=int)  # (ngeom,) VISIBLE, STATIC
    group: wp.array(dtype=int)  # (ngeom,)
    bodyid: wp.array(dtype=int)  # (ngeom,)
    mesh: wp.array(dtype=wp.uint64)  # (nmesh,) bounding volume hierarchies of the meshes


@wp.struct
class RayFilter:
    """Which geoms a ray may hit: groups by bit, static geoms or not, and a body to leave out (-1: none)."""

    groups: int
    with_static: int
    bodyexclude: int


@wp.func
def roots(a: float, c: float) -> wp.vec2:
    """Both solutions of a t^2 + c = 0 in ascending order, or (-inf, -inf)."""
    if a < MINVAL or c > 0.0:
        return wp.vec2(-wp.inf, -wp.inf)
    t = wp.sqrt(-c / a)
    return wp.vec2(-t, t)


@wp.func
def first(t: wp.vec2, low: float) -> float:
    """The smaller solution not below low, or the infinite one."""
    if t[0] >= low:
        return t[0]
    if t[1] >= low:
        return t[1]
    return wp.inf


@wp.func
def nearest_parameter(p: wp.vec3, v: wp.vec3) -> float:
    """Parameter of the point of a line nearest to the origin."""
    return -wp.dot(p, v) / wp.max(wp.dot(v, v), MINVAL)


@wp.func
def ray_plane(p: wp.vec3, v: wp.vec3, size: wp.vec3):
    """Plane z = 0, from above, within the half sizes (0: infinite)."""
    if v[2] > -MINVAL or p[2] < 0.0:
        return MISS, wp.vec3()
    t = -p[2] / v[2]
    x = p + v * t
    if (size[0] > 0.0 and wp.abs(x[0]) > size[0]) or (size[1] > 0.0 and wp.abs(x[1]) > size[1]):
        return MISS, wp.vec3()
    return t, wp.vec3(0.0, 0.0, 1.0)


@wp.func
def ray_ellipsoid(p: wp.vec3, v: wp.vec3, size: wp.vec3):
    """Ellipsoid, or sphere: a unit sphere in scaled coordinates."""
    q = wp.cw_div(p, size)
    u = wp.cw_div(v, size)
    t0 = nearest_parameter(q, u)
    q = q + u * t0
    t = first(roots(wp.dot(u, u), wp.dot(q, q) - 1.0), -t0)
    if t == wp.inf:
        return MISS, wp.vec3()
    return t + t0, normalize(wp.cw_div(q + u * t, size))


@wp.func
def ray_side(p: wp.vec3, v: wp.vec3, radius: float, half: float) -> float:
    """Round side of a cylinder or capsule, open at both ends."""
    a = v[0] * v[0] + v[1] * v[1]
    if a < MINVAL:
        return wp.inf
    t0 = -(p[0] * v[0] + p[1] * v[1]) / a
    x = p[0] + v[0] * t0
    y = p[1] + v[1] * t0
    t = first(roots(a, x * x + y * y - radius * radius), -t0) + t0
    if wp.abs(p[2] + t * v[2]) <= half:
        return t
    return wp.inf


@wp.func
def ray_cap(p: wp.vec3, v: wp.vec3, radius: float, half: float) -> float:
    """Half sphere above z = half; below -|half| when half is negative."""
    q = p - wp.vec3(0.0, 0.0, half)
    t0 = nearest_parameter(q, v)
    q = q + v * t0
    t = roots(wp.dot(v, v), wp.dot(q, q) - radius * radius)
    sign = wp.where(half >= 0.0, 1.0, -1.0)
    for i in range(2):
        if t[i] + t0 >= 0.0 and sign * (q[2] + t[i] * v[2]) >= 0.0:
            return t[i] + t0
    return wp.inf


@wp.func
def ray_capsule(p: wp.vec3, v: wp.vec3, size: wp.vec3):
    """Capsule along z: the side and two half spheres."""
    side = ray_side(p, v, size[0], size[1])
    top = ray_cap(p, v, size[0], size[1])
    bottom = ray_cap(p, v, size[0], -size[1])
    t = wp.min(side, wp.min(top, bottom))
    if t == wp.inf:
        return MISS, wp.vec3()
    x = p + v * t
    z = wp.clamp(x[2], -size[1], size[1])
    return t, normalize(wp.vec3(x[0], x[1], x[2] - z))


@wp.func
def ray_cylinder(p: wp.vec3, v: wp.vec3, size: wp.vec3):
    """Cylinder along z: the side and two disks."""
    t = ray_side(p, v, size[0], size[1])
    end = float(0.0)
    if wp.abs(v[2]) > MINVAL:
        for k in range(2):
            sign = wp.where(k == 0, -1.0, 1.0)
            s = (sign * size[1] - p[2]) / v[2]
            x = p + v * s
            if s >= 0.0 and s < t and x[0] * x[0] + x[1] * x[1] <= size[0] * size[0]:
                t = s
                end = sign
    if t == wp.inf:
        return MISS, wp.vec3()
    if end != 0.0:
        return t, wp.vec3(0.0, 0.0, end)
    x = p + v * t
    return t, normalize(wp.vec3(x[0], x[1], 0.0))


@wp.func
def ray_box_face(p: wp.vec3, v: wp.vec3, size: wp.vec3, face: int) -> float:
    """Face 2 axis + side of a box, side 0 the negative one; -1 for a miss."""
    a = face // 2
    if wp.abs(v[a]) <= MINVAL:
        return MISS
    sign = wp.where(face % 2 == 0, -1.0, 1.0)
    t = (sign * size[a] - p[a]) / v[a]
    x = p + v * t
    b = (a + 1) % 3
    c = (a + 2) % 3
    if t < 0.0 or wp.abs(x[b]) > size[b] or wp.abs(x[c]) > size[c]:
        return MISS
    return t


@wp.func
def ray_box(p: wp.vec3, v: wp.vec3, size: wp.vec3):
    """Box: the nearest of six faces."""
    best = float(MISS)
    normal = wp.vec3()
    for face in range(6):
        t = ray_box_face(p, v, size, face)
        if t >= 0.0 and (best < 0.0 or t < best):
            best = t
            normal = wp.vec3()
            normal[face // 2] = wp.where(face % 2 == 0, -1.0, 1.0)
    return best, normal


@wp.func
def ray_triangle(p: wp.vec3, v: wp.vec3, a: wp.vec3, b: wp.vec3, c: wp.vec3):
    """Triangle, from either side; its normal by the right-hand rule (Moeller and Trumbore)."""
    e1 = b - a
    e2 = c - a
    n = wp.cross(e1, e2)
    det = -wp.dot(v, n)
    if wp.abs(det) < MINVAL:
        return MISS, wp.vec3()
    d = p - a
    q = wp.cross(d, v)
    u = wp.dot(e2, q) / det
    w = -wp.dot(e1, q) / det
    t = wp.dot(d, n) / det
    if u < -1e-6 or w < -1e-6 or u + w > 1.0 + 1e-6 or t < 0.0:
        return MISS, wp.vec3()
    return t, normalize(n)


@wp.func
def hfield_point(h: HeightFields, id: int, r: int, c: int) -> wp.vec3:
    """Point of the surface at row r and column c."""
    size = h.size[id]
    ncol = h.ncol[id]
    x = 2.0 * size[0] * float(c) / float(ncol - 1) - size[0]
    y = 2.0 * size[1] * float(r) / float(h.nrow[id] - 1) - size[1]
    return wp.vec3(x, y, h.data[h.adr[id] + r * ncol + c] * size[2])


@wp.func
def ray_hfield(p: wp.vec3, v: wp.vec3, h: HeightFields, id: int):
    """Height field: triangles of the surface, the base below it, and the sides between."""
    size = h.size[id]
    nrow = h.nrow[id]
    ncol = h.ncol[id]
    base = wp.vec3(0.0, 0.0, -0.5 * size[3])
    best, normal = ray_box(p - base, v, wp.vec3(size[0], size[1], 0.5 * size[3]))

    # the part of the ray within the box of the surface
    middle = wp.vec3(0.0, 0.0, 0.5 * size[2])
    half = wp.vec3(size[0], size[1], 0.5 * size[2])
    enter = float(wp.inf)
    leave = float(MISS)
    for face in range(6):
        t = ray_box_face(p - middle, v, half, face)
        if t >= 0.0:
            enter = wp.min(enter, t)
            leave = wp.max(leave, t)
    if leave < 0.0:
        return best, normal
    if enter == leave:  # it begins inside
        enter = 0.0
    a = p + v * enter
    b = p + v * leave
    sx = float(ncol - 1) / (2.0 * size[0])
    sy = float(nrow - 1) / (2.0 * size[1])
    cmin = wp.max(0, int(wp.floor((wp.min(a[0], b[0]) + size[0]) * sx)) - 1)
    cmax = wp.min(ncol - 1, int(wp.ceil((wp.max(a[0], b[0]) + size[0]) * sx)) + 1)
    rmin = wp.max(0, int(wp.floor((wp.min(a[1], b[1]) + size[1]) * sy)) - 1)
    rmax = wp.min(nrow - 1, int(wp.ceil((wp.max(a[1], b[1]) + size[1]) * sy)) + 1)
    for r in range(rmin, rmax):
        for c in range(cmin, cmax):
            corner = hfield_point(h, id, r, c)
            across = hfield_point(h, id, r + 1, c + 1)
            second = hfield_point(h, id, r, c + 1)
            third = across
            for _k in range(2):
                t, n = ray_triangle(p, v, corner, second, third)
                second = across
                third = hfield_point(h, id, r + 1, c)
                if t >= 0.0 and (best < 0.0 or t < best):
                    best = t
                    normal = n

    # sides: the point must be below the border of the surface
    for face in range(4):
        t = ray_box_face(p - middle, v, half, face)
        if t >= 0.0 and (best < 0.0 or t < best):
            x = p + v * t
            along = wp.where(face < 2, (x[1] + size[1]) * sy, (x[0] + size[0]) * sx)
            last = wp.where(face < 2, nrow, ncol) - 2
            i = wp.clamp(int(wp.floor(along)), 0, last)
            edge = wp.where(face % 2 == 0, 0, wp.where(face < 2, ncol, nrow) - 1)
            z0 = hfield_point(h, id, wp.where(face < 2, i, edge), wp.where(face < 2, edge, i))[2]
            z1 = hfield_point(h, id, wp.where(face < 2, i + 1, edge), wp.where(face < 2, edge, i + 1))[2]
            if x[2] < z0 + (z1 - z0) * (along - float(i)):
                best = t
                normal = wp.vec3()
                normal[face // 2] = wp.where(face % 2 == 0, -1.0, 1.0)
    return best, normal


@wp.func
def ray_mesh(p: wp.vec3, v: wp.vec3, mesh: wp.uint64):
    """Triangles of a mesh."""
    length = wp.length(v)
    hit = wp.mesh_query_ray(mesh, p, v / length, 1.0e10)
    if not hit.result:
        return MISS, wp.vec3()
    return hit.t / length, hit.normal


@wp.func
def ray_shape(kind: int, size: wp.vec3, mesh: wp.uint64, lp: wp.vec3, lv: wp.vec3):
    """Where a ray in the frame of a geom, not a height field, hits it: t, or -1, and the normal. No mesh: 0."""
    t = float(MISS)
    n = wp.vec3()
    if kind == Geom.PLANE:
        t, n = ray_plane(lp, lv, size)
    elif kind == Geom.SPHERE:
        t, n = ray_ellipsoid(lp, lv, wp.vec3(size[0]))
    elif kind == Geom.CAPSULE:
        t, n = ray_capsule(lp, lv, size)
    elif kind == Geom.ELLIPSOID:
        t, n = ray_ellipsoid(lp, lv, size)
    elif kind == Geom.CYLINDER:
        t, n = ray_cylinder(lp, lv, size)
    elif kind == Geom.BOX:
        t, n = ray_box(lp, lv, size)
    elif mesh != wp.uint64(0):
        t, n = ray_mesh(lp, lv, mesh)
    return t, n


@wp.func
def mesh_of(geoms: Geoms, meshes: wp.array(dtype=wp.uint64), g: int) -> wp.uint64:
    """The hierarchy of the mesh of a geom, or 0."""
    if geoms.type[g] >= Geom.MESH and geoms.dataid[g] >= 0:
        return meshes[geoms.dataid[g]]
    return wp.uint64(0)


@wp.func
def ray_geom(geoms: Geoms, hfields: HeightFields, targets: RayTargets, w: int, g: int, p: wp.vec3, v: wp.vec3):
    """Where the ray p + t v hits geom g of world w: t, or -1, and the normal."""
    mat = geoms.xmat[w, g]
    lp = wp.transpose(mat) * (p - geoms.xpos[w, g])
    lv = wp.transpose(mat) * v
    if geoms.type[g] == Geom.HFIELD:
        t, n = ray_hfield(lp, lv, hfields, geoms.dataid[g])
        return t, mat * n
    t, n = ray_shape(geoms.type[g], geoms.size[w, g], mesh_of(geoms, targets.mesh, g), lp, lv)
    return t, mat * n


@wp.func
def ray_world(
    geoms: Geoms, hfields: HeightFields, targets: RayTargets, filter: RayFilter, w: int, p: wp.vec3, v: wp.vec3
):
    """The first geom of world w that the ray p + t v hits: t and geom, or -1 and -1, and the normal there."""
    best = float(MISS)
    geom = int(-1)
    normal = wp.vec3()
    length = wp.length(v)
    for g in range(geoms.type.shape[0]):
        flags = targets.flags[g]
        take = targets.bodyid[g] != filter.bodyexclude and (flags & VISIBLE) != 0
        take = take and (filter.with_static != 0 or (flags & STATIC) == 0)
        take = take and (filter.groups & (1 << wp.clamp(targets.group[g], 0, 5))) != 0
        r = geoms.rbound[w, g]
        if take and r > 0.0:  # bounding sphere
            d = geoms.xpos[w, g] - p
            along = wp.dot(d, v) / length
            miss = wp.dot(d, d) - along * along > r * r * 1.0001 + 1e-6 * wp.dot(d, d)
            take = not miss and along > -r and (best < 0.0 or along - r <= best * length)
        if take:
            t, n = ray_geom(geoms, hfields, targets, w, g, p, v)
            if t >= 0.0 and (best < 0.0 or t < best):
                best = t
                geom = g
                normal = n
    return best, geom, normal


@wp.kernel(enable_backward=False)
def cast_rays(
    geoms: Geoms,
    hfields: HeightFields,
    targets: RayTargets,
    filter: RayFilter,
    origin: wp.array2d(dtype=wp.vec3),
    direction: wp.array2d(dtype=wp.vec3),
    dist: wp.array2d(dtype=float),
    geom: wp.array2d(dtype=int),
    normal: wp.array2d(dtype=wp.vec3),
):
    """One thread a ray: (nworld, nray) origins and directions to distances, geoms and normals."""
    k, w = wp.tid()
    t, g, n = ray_world(geoms, hfields, targets, filter, w, origin[w, k], direction[w, k])
    dist[w, k] = t
    geom[w, k] = g
    normal[w, k] = n


class RayScene:
    """The geoms of a model as targets of rays; keeps the bounding volume hierarchies of its meshes."""

    def __init__(self, model, *, device: str | wp.Device | None = None):
        m = model
        with wp.ScopedDevice(device):
            matid = np.asarray(m.geom_matid)
            alpha = np.asarray(m.geom_rgba)[:, 3].copy()
            has = matid >= 0
            if has.any():
                alpha[has] = np.asarray(m.mat_rgba)[matid[has], 3]
            static = np.asarray(m.body_weldid)[m.geom_bodyid] == 0
            self.meshes = [self._mesh(m, k) for k in range(int(m.nmesh))]
            t = RayTargets()
            t.flags = flat((alpha != 0).astype(np.int32) + 2 * static.astype(np.int32))
            t.group = flat(m.geom_group)
            t.bodyid = flat(m.geom_bodyid)
            t.mesh = flat(np.array([x.id for x in self.meshes], np.uint64), wp.uint64)
            self.targets = t

    @staticmethod
    def _mesh(m, k: int) -> wp.Mesh:
        vert = slice(int(m.mesh_vertadr[k]), int(m.mesh_vertadr[k] + m.mesh_vertnum[k]))
        face = slice(int(m.mesh_faceadr[k]), int(m.mesh_faceadr[k] + m.mesh_facenum[k]))
        points = wp.array(np.asarray(m.mesh_vert[vert], np.float32), dtype=wp.vec3)
        return wp.Mesh(points, wp.array(np.asarray(m.mesh_face[face], np.int32).reshape(-1), dtype=int))

    @staticmethod
    def filter(*, groups: list[bool] | None = None, static: bool = True, bodyexclude: int = -1) -> RayFilter:
        """Which geoms to consider; ``groups`` has one flag a geom group."""
        f = RayFilter()
        f.groups = sum(1 << i for i in range(NGROUP) if groups is None or groups[i])
        f.with_static = int(static)
        f.bodyexclude = bodyexclude
        return f
