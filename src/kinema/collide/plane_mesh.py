"""Plane against the convex hull of a mesh: the deepest vertex, and up to three more of the face that lies lowest.

Of the polygons at the deepest vertex the one most opposed to the plane is taken; of its vertices, the deepest one and
three others that together span the largest area. Those above the centre of the mesh or the margin are left out.
"""

import warp as wp

from kinema.collide.bundles import Meshes, Touch
from kinema.collide.emit import emit
from kinema.collide.precision import real, vec3r
from kinema.collide.support import mesh_support


@wp.func
def polygon_vertex(m: Meshes, mesh: int, polygon: int, i: int) -> vec3r:
    """Vertex i, counted around, of a polygon."""
    return vec3r(m.hull.vert[m.hull.vertadr[mesh] + m.polyvert[m.polyvertadr[polygon] + i % m.polyvertnum[polygon]]])


@wp.func
def quad_area(m: Meshes, mesh: int, polygon: int, a: int, b: int, c: int, d: int) -> real:
    """Twice the area spanned by four vertices of a polygon."""
    ac = polygon_vertex(m, mesh, polygon, a) - polygon_vertex(m, mesh, polygon, c)
    bd = polygon_vertex(m, mesh, polygon, b) - polygon_vertex(m, mesh, polygon, d)
    return wp.length(wp.cross(ac, bd))


@wp.func
def largest_quad_at(m: Meshes, mesh: int, polygon: int, a: int) -> wp.vec4i:
    """Vertices of a polygon, a among them, that span the largest area. (Counted around: not reduced modulo n.)"""
    b = a + 1
    c = a + 2
    d = a + 3
    if m.polyvertnum[polygon] <= 4:
        return wp.vec4i(a, b, c, d)
    most = quad_area(m, mesh, polygon, a, b, c, d)
    growing = bool(True)
    while growing:
        area = quad_area(m, mesh, polygon, a, b, c, d + 1)
        growing = area > most
        if growing:
            most = area
            d += 1
            area = quad_area(m, mesh, polygon, a, b, c + 1, d)
            while area > most:
                most = area
                c += 1
                area = quad_area(m, mesh, polygon, a, b, c + 1, d)
            area = quad_area(m, mesh, polygon, a, b + 1, c, d)
            while area > most:
                most = area
                b += 1
                area = quad_area(m, mesh, polygon, a, b + 1, c, d)
    return wp.vec4i(a, b, c, d)


@wp.func
def plane_mesh(
    w: int,
    n: wp.vec3,
    p: wp.vec3,
    center: wp.vec3,
    mat: wp.mat33,
    mesh: int,
    margin: float,
    m: Meshes,
    touch: Touch,
    base: int,
) -> int:
    """Write the contacts from slot ``base`` on and return their number."""
    local_n = wp.transpose(mat) * n
    vertadr = m.hull.vertadr[mesh]
    deepest, _warm = mesh_support(m.hull, mesh, -vec3r(local_n), int(-1))
    x = center + mat * m.hull.vert[vertadr + deepest]
    dist = wp.dot(x - p, n)
    if dist > margin:
        return 0
    none = wp.vec3()
    emit(touch, w, base, dist, x - n * (0.5 * dist), n, none)
    count = int(1)
    if m.polynum[mesh] == 0:
        return count

    polygon = int(-1)
    most = real(1.0)
    for k in range(m.polymapnum[vertadr + deepest]):
        candidate = m.polyadr[mesh] + m.polymap[m.polymapadr[vertadr + deepest] + k]
        e = wp.dot(m.polynormal[candidate], vec3r(local_n))
        if e < most:
            most = e
            polygon = candidate
    if polygon < 0:
        return count
    a = int(0)
    sides = m.polyvertnum[polygon]
    for i in range(sides):
        if m.polyvert[m.polyvertadr[polygon] + i] == deepest:
            a = i
    quad = largest_quad_at(m, mesh, polygon, a)
    for k in range(1, wp.min(sides, 4)):
        r = mat * wp.vec3(polygon_vertex(m, mesh, polygon, quad[k]))
        x = center + r
        dist = wp.dot(x - p, n)
        if wp.dot(r, n) <= 0.0 and dist <= margin:
            emit(touch, w, base + count, dist, x - n * (0.5 * dist), n, none)
            count += 1
    return count
