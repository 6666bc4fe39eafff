"""Support functions: the point of a convex shape farthest along a direction.

    s(d) = argmax { d.x : x in the shape }

A shape is a geom type, a size, a pose and, for meshes, the id of its convex hull. Spheres and capsules may be used as
their core (a point, a segment) with the radius added afterwards. Meshes are searched by climbing their vertex graph,
starting from the best vertex along one of 27 directions; small ones and those without a graph vertex by vertex.
Height-field prisms keep their six corners in the shape.
"""

import warp as wp

from kinema.collide.bundles import Meshes
from kinema.collide.table import GeomType
from kinema.math.vector import column, normalize

PLANE = wp.constant(int(GeomType.PLANE))
HFIELD = wp.constant(int(GeomType.HFIELD))
SPHERE = wp.constant(int(GeomType.SPHERE))
CAPSULE = wp.constant(int(GeomType.CAPSULE))
ELLIPSOID = wp.constant(int(GeomType.ELLIPSOID))
CYLINDER = wp.constant(int(GeomType.CYLINDER))
BOX = wp.constant(int(GeomType.BOX))
MESH = wp.constant(int(GeomType.MESH))
SDF = wp.constant(int(GeomType.SDF))
POINT = wp.constant(20)  # core of a sphere
SEGMENT = wp.constant(21)  # core of a capsule

HILLCLIMB_MIN = wp.constant(10)  # mjMESH_HILLCLIMB_MIN, meshes with fewer vertices are searched exhaustively

mat63 = wp.types.matrix(shape=(6, 3), dtype=float)


@wp.struct
class Shape:
    """A convex shape at a pose."""

    type: int
    pos: wp.vec3
    mat: wp.mat33
    size: wp.vec3
    mesh: int  # mesh id, -1 otherwise
    margin: float  # the shape is inflated by half of it [m]
    prism: mat63  # corners of a height-field prism, bottom three first


@wp.func
def mesh_support(m: Meshes, mesh: int, d: wp.vec3, warm: int):
    """Hull vertex farthest along a local direction: its id within the mesh, and its hull id (-1 without a graph)."""
    vertadr = m.vertadr[mesh]
    graphadr = m.graphadr[mesh]
    if graphadr < 0 or m.vertnum[mesh] < HILLCLIMB_MIN:
        best = int(0)
        if warm >= 0:
            best = warm
        most = wp.dot(d, m.vert[vertadr + best])
        for i in range(m.vertnum[mesh]):
            x = wp.dot(d, m.vert[vertadr + i])
            if x > most:
                most = x
                best = i
        return best, int(-1)

    n = m.graph[graphadr]
    edgeadr = graphadr + 2
    globalid = edgeadr + n
    localid = globalid + n
    cx = wp.where(d[0] > 0.4, 2, wp.where(d[0] < -0.4, 0, 1))
    cy = wp.where(d[1] > 0.4, 2, wp.where(d[1] < -0.4, 0, 1))
    cz = wp.where(d[2] > 0.4, 2, wp.where(d[2] < -0.4, 0, 1))
    hull = m.extrema[27 * mesh + 9 * cx + 3 * cy + cz]
    most = wp.dot(d, m.vert[vertadr + m.graph[globalid + hull]])
    if warm >= 0:
        x = wp.dot(d, m.vert[vertadr + m.graph[globalid + warm]])
        if x >= most:
            most = x
            hull = warm
    previous = int(-1)
    while hull != previous:
        previous = hull
        i = localid + m.graph[edgeadr + hull]
        neighbour = m.graph[i]
        while neighbour >= 0:
            x = wp.dot(d, m.vert[vertadr + m.graph[globalid + neighbour]])
            if x > most:
                most = x
                hull = neighbour
            i += 1
            neighbour = m.graph[i]
    return m.graph[globalid + hull], hull


@wp.func
def support(m: Meshes, s: Shape, d: wp.vec3, warm: int):
    """Point farthest along the unit direction d, the id of that vertex, and where to start the next search.

    Vertices of boxes are numbered by the signs of their coordinates; smooth shapes have no vertices (-1).
    """
    vertex = int(-1)
    x = wp.vec3()
    if s.type == HFIELD:
        start = wp.where(d[2] < 0.0, 0, 3)
        vertex = start
        most = wp.dot(s.prism[start], d)
        for i in range(1, 3):
            e = wp.dot(s.prism[start + i], d)
            if e > most:
                most = e
                vertex = start + i
        x = s.prism[vertex]
    elif s.type == POINT:
        x = s.pos
    elif s.type == SEGMENT:
        z = column(s.mat, 2)
        x = s.pos + z * wp.where(wp.dot(z, d) >= 0.0, s.size[1], -s.size[1])
    elif s.type == SPHERE:
        x = s.pos + d * s.size[0]
    else:
        l = wp.transpose(s.mat) * d
        if s.type == CAPSULE:
            x = l * s.size[0]
            x[2] = x[2] + wp.where(l[2] >= 0.0, s.size[1], -s.size[1])
        elif s.type == ELLIPSOID:
            x = wp.cw_mul(normalize(wp.cw_mul(l, s.size)), s.size)
        elif s.type == CYLINDER:
            rho = wp.sqrt(l[0] * l[0] + l[1] * l[1])
            scale = float(0.0)
            if rho >= 1e-15:
                scale = s.size[0] / rho
            x = wp.vec3(l[0] * scale, l[1] * scale, wp.where(l[2] >= 0.0, s.size[1], -s.size[1]))
        elif s.type == BOX:
            vertex = wp.where(l[0] >= 0.0, 1, 0) + wp.where(l[1] >= 0.0, 2, 0) + wp.where(l[2] >= 0.0, 4, 0)
            x = wp.vec3(
                wp.where(l[0] >= 0.0, s.size[0], -s.size[0]),
                wp.where(l[1] >= 0.0, s.size[1], -s.size[1]),
                wp.where(l[2] >= 0.0, s.size[2], -s.size[2]),
            )
        else:
            vertex, warm = mesh_support(m, s.mesh, l, warm)
            x = m.vert[m.vertadr[s.mesh] + vertex]
            if warm < 0:
                warm = vertex
        x = s.pos + s.mat * x
    if s.margin > 0.0:
        x = x + d * (0.5 * s.margin)
    return x, vertex, warm
