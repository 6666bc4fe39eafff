"""Support functions: the point of a convex shape farthest along a direction.

    s(d) = argmax { d.x : x in the shape }

A shape is a geom type, a size, a pose and, for meshes, the id of its convex hull. Spheres and capsules may be used as
their core (a point, a segment) with the radius added afterwards. Hulls are searched by climbing their vertex graph,
starting from the best vertex along one of 27 directions; small ones and those without a graph vertex by vertex.
The prism of a height field keeps its three top corners in the rows of ``mat``, its bottom height in ``size[0]``, and in
``pos`` by how much a search is to begin beside its centre.
"""

import warp as wp

from kinema.collide.bundles import Geoms, Hulls
from kinema.collide.precision import HALF, TINY, ZERO, axis_of, mat33r, real, unit, vec3r
from kinema.mujoco_enums import Geom

POINT = wp.constant(20)  # core of a sphere
SEGMENT = wp.constant(21)  # core of a capsule
SIMPLEX = wp.constant(22)  # element of a flex: element_convex.py

HILLCLIMB_MIN = wp.constant(10)  # mjMESH_HILLCLIMB_MIN, meshes with fewer vertices are searched exhaustively
GRID = wp.constant(wp.float64(0.4))  # component of a direction that selects the outer cells of the 3x3x3 grid


@wp.struct
class Shape:
    """A convex shape at a pose."""

    type: int
    mesh: int  # mesh id, -1 otherwise
    pos: vec3r
    mat: mat33r
    size: vec3r
    margin: real  # the shape is inflated by half of it [m]


@wp.func
def geom_shape(geoms: Geoms, w: int, g: int, margin: real) -> Shape:
    """Geom g of world w, inflated by half the margin."""
    s = Shape()
    s.type = wp.min(geoms.type[g], Geom.MESH)  # a signed distance field is seen as its mesh
    s.mesh = geoms.dataid[g]
    s.pos = vec3r(geoms.xpos[w, g])
    s.mat = mat33r(geoms.xmat[w, g])
    s.size = vec3r(geoms.size[w, g])
    s.margin = margin
    return s


@wp.func
def grid_cell(x: real) -> int:
    """Cell 0, 1 or 2 of one component of a direction."""
    return wp.where(x > GRID, 2, wp.where(x < -GRID, 0, 1))


@wp.func
def mesh_support(m: Hulls, mesh: int, d: vec3r, warm: int):
    """Vertex farthest along a local direction: its id within the mesh, and where to start the next search."""
    vertadr = m.vertadr[mesh]
    graphadr = m.graphadr[mesh]
    if graphadr < 0 or m.vertnum[mesh] < HILLCLIMB_MIN:
        best = wp.max(warm, 0)
        most = wp.dot(d, vec3r(m.vert[vertadr + best]))
        for i in range(m.vertnum[mesh]):
            x = wp.dot(d, vec3r(m.vert[vertadr + i]))
            if x > most:
                most = x
                best = i
        return best, best

    n = m.graph[graphadr]
    edgeadr = graphadr + 2
    globalid = edgeadr + n
    localid = globalid + n
    hull = m.extrema[27 * mesh + 9 * grid_cell(d[0]) + 3 * grid_cell(d[1]) + grid_cell(d[2])]
    most = wp.dot(d, vec3r(m.vert[vertadr + m.graph[globalid + hull]]))
    if warm >= 0:
        x = wp.dot(d, vec3r(m.vert[vertadr + m.graph[globalid + warm]]))
        if x >= most:
            most = x
            hull = warm
    previous = int(-1)
    while hull != previous:
        previous = hull
        i = localid + m.graph[edgeadr + hull]
        neighbour = m.graph[i]
        while neighbour >= 0:
            x = wp.dot(d, vec3r(m.vert[vertadr + m.graph[globalid + neighbour]]))
            if x > most:
                most = x
                hull = neighbour
            i += 1
            neighbour = m.graph[i]
    return m.graph[globalid + hull], hull


@wp.func
def signed(x: real, size: real) -> real:
    """The size with the sign of x."""
    return wp.where(x >= ZERO, size, -size)


@wp.func
def support(m: Hulls, s: Shape, d: vec3r, warm: int):
    """Point farthest along the unit direction d, the id of the feature it belongs to, and where to search next.

    Features: vertices of meshes, corners of boxes numbered by the signs of their coordinates, disks of cylinders (0
    top, 1 bottom); -1 for other shapes, prisms of height fields among them.
    """
    feature = int(-1)
    x = vec3r()
    if s.type == Geom.HFIELD:
        top = d[2] >= ZERO
        most = -real(1e30)
        for i in range(3):
            v = s.mat[i]
            if not top:
                v[2] = s.size[0]
            e = wp.dot(v, d)
            if e > most:
                most = e
                x = v
    elif s.type == POINT:
        x = s.pos
    elif s.type == SEGMENT:
        z = axis_of(s.mat, 2)
        x = s.pos + z * signed(wp.dot(z, d), s.size[1])
    elif s.type == Geom.SPHERE:
        x = s.pos + d * s.size[0]
    elif s.type == SIMPLEX:
        x = s.mat[0]
        for i in range(1, s.mesh):
            v = s.pos
            if i < 3:
                v = s.mat[i]
            if wp.dot(v, d) > wp.dot(x, d):
                x = v
        x = x + d * s.size[0]
    else:
        l = wp.transpose(s.mat) * d
        if s.type == Geom.CAPSULE:
            x = l * s.size[0]
            x[2] = x[2] + signed(l[2], s.size[1])
        elif s.type == Geom.ELLIPSOID:
            x = wp.cw_mul(unit(wp.cw_mul(l, s.size)), s.size)
        elif s.type == Geom.CYLINDER:
            rho = wp.sqrt(l[0] * l[0] + l[1] * l[1])
            scale = ZERO
            if rho >= TINY:
                scale = s.size[0] / rho
            x = vec3r(l[0] * scale, l[1] * scale, signed(l[2], s.size[1]))
            feature = wp.where(l[2] >= ZERO, 0, 1)
        elif s.type == Geom.BOX:
            feature = wp.where(l[0] >= ZERO, 1, 0) + wp.where(l[1] >= ZERO, 2, 0) + wp.where(l[2] >= ZERO, 4, 0)
            x = box_corner(s.size, feature)
        else:
            feature, warm = mesh_support(m, s.mesh, l, warm)
            x = vec3r(m.vert[m.vertadr[s.mesh] + feature])
        x = s.pos + s.mat * x
    if s.margin > ZERO:
        x = x + d * (HALF * s.margin)
    return x, feature, warm


@wp.func
def box_corner(size: vec3r, i: int) -> vec3r:
    """Corner i of a box: bit k of i is set where coordinate k is positive."""
    return vec3r(size[0] * real(2 * (i & 1) - 1), size[1] * real((i & 2) - 1), size[2] * real((i & 4) // 2 - 1))


@wp.func
def center(s: Shape) -> vec3r:
    """A point inside the shape."""
    if s.type == Geom.HFIELD:
        c = (s.mat[0] + s.mat[1] + s.mat[2]) / real(3.0)
        return vec3r(c[0], c[1], HALF * (c[2] + s.size[0])) + s.pos
    if s.type == SIMPLEX:
        low = s.mat[0]
        high = s.mat[0]
        for i in range(1, s.mesh):
            v = s.pos
            if i < 3:
                v = s.mat[i]
            low = wp.min(low, v)
            high = wp.max(high, v)
        return HALF * (low + high)
    return s.pos


@wp.func
def is_discrete(s1: Shape, s2: Shape) -> bool:
    """Whether both shapes are polyhedra, for which the algorithms end after finitely many steps."""
    flat1 = s1.type == Geom.HFIELD or s1.type == Geom.BOX or s1.type == Geom.MESH
    flat2 = s2.type == Geom.HFIELD or s2.type == Geom.BOX or s2.type == Geom.MESH
    return flat1 and flat2 and s1.margin == ZERO and s2.margin == ZERO
