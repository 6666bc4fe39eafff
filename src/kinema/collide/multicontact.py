"""Several contacts of two polyhedral faces, from the one deepest point that GJK or EPA found.

The features (vertices, corners, disks) that made the deepest point select candidate faces or edges on either shape. Two
faces that oppose each other within 5 degrees, or an edge that lies in a face, are clipped against each other, and the
remaining polygon, reduced to the four vertices of largest area, gives the contacts. Boxes, meshes and cylinders have
faces (a disk is a 16-gon), capsules one edge.
"""

import math
from functools import cache

import warp as wp

from kinema.collide.bundles import Meshes
from kinema.collide.precision import HALF, ONE, TINY, TWO, ZERO, axis_of, mat43r, real, unit, vec3r, vec4r
from kinema.collide.support import BOX, CAPSULE, CYLINDER, MESH, Shape, box_corner

FACE_TOL = wp.constant(wp.float64(0.996))  # mjFACE_TOL, cosine of 5 degrees
EDGE_TOL = wp.constant(wp.float64(0.0888))  # mjEDGE_TOL, sine of 5 degrees
DISK_SIDES = 16
DISK_STEP = wp.constant(wp.float64(math.pi / 8))


@wp.struct
class Manifold:
    """Up to four contacts: signed distances, points on either shape, and the normal from shape 1 to shape 2."""

    n: int
    dist: vec4r
    x1: mat43r
    x2: mat43r
    normal: vec3r


@wp.func
def has_face(s: Shape) -> bool:
    """Whether a shape has flat faces."""
    return s.type == BOX or s.type == MESH or s.type == CYLINDER


@wp.func
def may_have_several(s1: Shape, s2: Shape) -> bool:
    """Whether faces or edges of the two shapes can lie on each other."""
    return (has_face(s1) and (has_face(s2) or s2.type == CAPSULE)) or (has_face(s2) and s1.type == CAPSULE)


@wp.func
def feature_dim(id: wp.vec3i):
    """Number of distinct features (1 a point, 2 an edge, 3 a face), the distinct ones first."""
    if id[0] != id[1]:
        return wp.where(id[2] == id[0] or id[2] == id[1], 2, 3), id
    ordered = wp.vec3i(id[0], id[2], id[2])
    return wp.where(id[0] != id[2], 2, 1), ordered


@wp.func
def common_sign(ids: wp.vec3i, n: int, bit: int) -> int:
    """1 or -1 when the first n corners agree in the sign of a coordinate, else 0."""
    positive = int(0)
    for k in range(n):
        if (ids[k] & bit) != 0:
            positive += 1
    return wp.where(positive == n, 1, wp.where(positive == 0, -1, 0))


@wp.func
def box_normals(
    s: Shape, dim: int, ids: wp.vec3i, out: vec3r, normals: wp.array(dtype=vec3r), index: wp.array(dtype=int)
) -> int:
    """Faces of a box that contain the given corners; if they do not name one, the face along the direction out."""
    count = int(0)
    for axis in range(3):
        sign = common_sign(ids, dim, 1 << axis)
        if sign != 0:
            normals[count] = axis_of(s.mat, axis) * real(sign)
            index[count] = 2 * axis + wp.where(sign > 0, 0, 1)
            count += 1
    if dim == 1 or (dim == 2 and (count == 1 or count == 2)) or (dim == 3 and count == 1):
        return count
    local = wp.transpose(s.mat) * unit(out)
    for k in range(6):
        side = wp.where(k % 2 == 0, ONE, -ONE)
        if side * local[k // 2] > FACE_TOL:
            normals[0] = axis_of(s.mat, k // 2) * side
            index[0] = k
            return 1
    return 0


@wp.func
def polygon_has(m: Meshes, mesh: int, polygon: int, id: int) -> bool:
    """Whether a vertex belongs to a polygon of the mesh."""
    v = m.vertadr[mesh] + id
    for k in range(m.polymapnum[v]):
        if m.polymap[m.polymapadr[v] + k] == polygon:
            return True
    return False


@wp.func
def mesh_normals(
    m: Meshes, s: Shape, dim: int, ids: wp.vec3i, normals: wp.array(dtype=vec3r), index: wp.array(dtype=int)
) -> int:
    """Polygons of a mesh that contain the given vertices: one face, two faces at an edge, all faces at a vertex."""
    v = m.vertadr[s.mesh] + ids[0]
    count = int(0)
    edges = int(0)
    for k in range(m.polymapnum[v]):
        polygon = m.polymap[m.polymapadr[v] + k]
        ok = bool(True)
        if dim > 1:
            ok = polygon_has(m, s.mesh, polygon, ids[1])
            if ok:
                edges += 1
                ok = edges <= 2
        if ok and dim > 2:
            ok = polygon_has(m, s.mesh, polygon, ids[2])
        if ok and count < normals.shape[0] and not (dim == 3 and count == 1):
            normals[count] = s.mat * vec3r(m.polynormal[m.polyadr[s.mesh] + polygon])
            index[count] = polygon
            count += 1
    return count


@wp.func
def face_normals(
    m: Meshes, s: Shape, dim: int, ids: wp.vec3i, out: vec3r, normals: wp.array(dtype=vec3r), index: wp.array(dtype=int)
) -> int:
    """Outward normals of the candidate faces of a shape, and the ids of the faces."""
    if s.type == BOX:
        return box_normals(s, dim, ids, out, normals, index)
    if s.type == MESH:
        return mesh_normals(m, s, dim, ids, normals, index)
    if s.type == CYLINDER and dim == 1:
        normals[0] = axis_of(s.mat, 2) * wp.where(ids[0] == 0, ONE, -ONE)
        index[0] = ids[0]
        return 1
    return 0


@wp.func
def edge_directions(
    m: Meshes,
    s: Shape,
    dim: int,
    ids: wp.vec3i,
    point: vec3r,
    witness: vec3r,
    directions: wp.array(dtype=vec3r),
    ends: wp.array(dtype=vec3r),
):
    """Candidate edges of a shape: their common start, their number; unit directions and ends go to the arrays."""
    start = point
    if s.type == BOX:
        start = s.pos + s.mat * box_corner(s.size, ids[0])
        if dim == 2:
            ends[0] = s.pos + s.mat * box_corner(s.size, ids[1])
            directions[0] = unit(ends[0] - start)
            return start, 1
        for k in range(3):
            ends[k] = s.pos + s.mat * box_corner(s.size, ids[0] ^ (1 << k))
            directions[k] = unit(ends[k] - start)
        return start, 3
    if s.type == MESH:
        v = m.vertadr[s.mesh]
        start = s.pos + s.mat * vec3r(m.vert[v + ids[0]])
        if dim == 2:
            ends[0] = s.pos + s.mat * vec3r(m.vert[v + ids[1]])
            directions[0] = unit(ends[0] - start)
            return start, 1
        # the edge that enters the vertex in each polygon around it
        count = wp.min(m.polymapnum[v + ids[0]], ends.shape[0])
        for k in range(count):
            polygon = m.polyadr[s.mesh] + m.polymap[m.polymapadr[v + ids[0]] + k]
            adr = m.polyvertadr[polygon]
            n = m.polyvertnum[polygon]
            for j in range(n):
                if m.polyvert[adr + j] == ids[0]:
                    ends[k] = s.pos + s.mat * vec3r(m.vert[v + m.polyvert[adr + (j + n - 1) % n]])
                    directions[k] = unit(ends[k] - start)
        return start, count
    if s.type == CYLINDER:
        up = wp.where(ids[0] != 0, ONE, -ONE)
        if s.margin > ZERO:  # bring the inflated point back to the rim
            local = wp.transpose(s.mat) * (point - s.pos)
            rho = wp.sqrt(local[0] * local[0] + local[1] * local[1])
            scale = ZERO
            if rho >= TINY:
                scale = s.size[0] / rho
            start = s.pos + s.mat * vec3r(local[0] * scale, local[1] * scale, -up * s.size[1])
        directions[0] = axis_of(s.mat, 2) * up
        ends[0] = start + directions[0] * (TWO * s.size[1])
        return start, 1
    if s.type == CAPSULE:
        z = axis_of(s.mat, 2)
        along = wp.dot(witness - s.pos, z)
        start = witness - z * (along + s.size[1])
        directions[0] = z
        ends[0] = witness - z * (along - s.size[1])
        return start, 1
    return start, 0


@wp.func
def opposed_faces(n1: wp.array(dtype=vec3r), count1: int, n2: wp.array(dtype=vec3r), count2: int, d: vec3r) -> wp.vec2i:
    """The two most opposed normals that also face the contact; (-1, -1) without any. d points into shape 1."""
    res = wp.vec2i(-1, -1)
    limit = EDGE_TOL * wp.length(d)
    best = -FACE_TOL
    for i in range(count1):
        if wp.dot(n1[i], d) < -limit:
            for j in range(count2):
                if wp.dot(n2[j], d) > limit:
                    x = wp.dot(n1[i], n2[j])
                    if x < best:
                        best = x
                        res = wp.vec2i(i, j)
    return res


@wp.func
def edge_in_face(
    edges: wp.array(dtype=vec3r), nedge: int, faces: wp.array(dtype=vec3r), nface: int, d: vec3r
) -> wp.vec2i:
    """The first edge that lies in a face towards the contact; (-1, -1) without any."""
    for i in range(nface):
        if wp.dot(faces[i], d) > TINY:
            for j in range(nedge):
                if wp.abs(wp.dot(edges[j], faces[i])) < EDGE_TOL:
                    return wp.vec2i(j, i)
    return wp.vec2i(-1, -1)


@wp.func
def box_face(s: Shape, face: int, polygon: wp.array(dtype=vec3r)) -> int:
    """The four corners of a face of a box, clockwise seen from outside."""
    a = face // 2
    out = wp.where(face % 2 == 0, ONE, -ONE)
    # starting corners as in MuJoCo, so that contacts come in its order
    u = wp.where(a == 0, 1, 0)
    v = wp.where(a == 2, 1, 2)
    su = ONE
    sv = ONE
    if a == 0:
        sv = out
    elif a == 1:
        su = -ONE
        sv = -out
    else:
        su = -out
    c = vec3r()
    c[a] = out * s.size[a]
    for k in range(4):
        c[u] = su * s.size[u]
        c[v] = sv * s.size[v]
        polygon[k] = s.pos + s.mat * c
        if (k % 2 == 0) != (a == 0):
            su = -su
        else:
            sv = -sv
    return 4


@wp.func
def face_polygon(m: Meshes, s: Shape, face: int, polygon: wp.array(dtype=vec3r)) -> int:
    """Vertices of a face, clockwise seen from outside; their number."""
    if s.type == BOX:
        return box_face(s, face, polygon)
    if s.type == MESH:
        p = m.polyadr[s.mesh] + face
        n = wp.min(m.polyvertnum[p], polygon.shape[0])
        v = m.vertadr[s.mesh]
        for i in range(n):
            polygon[i] = s.pos + s.mat * vec3r(m.vert[v + m.polyvert[m.polyvertadr[p] + n - 1 - i]])
        return n
    up = wp.where(face == 0, ONE, -ONE)
    c = s.pos + axis_of(s.mat, 2) * (up * s.size[1])
    sides = int(DISK_SIDES)
    for i in range(sides):
        angle = real(i) * DISK_STEP
        x = axis_of(s.mat, 0) * (s.size[0] * wp.cos(angle))
        y = axis_of(s.mat, 1) * (up * s.size[0] * wp.sin(angle))
        polygon[i] = c + x - y
    return sides


@wp.func
def area4(a: vec3r, b: vec3r, c: vec3r, d: vec3r) -> real:
    """Area of a quadrilateral."""
    return HALF * wp.length(wp.cross(a - c, b - d))


@wp.func
def largest_quad(p: wp.array(dtype=vec3r), n: int) -> wp.vec4i:
    """The four vertices of a convex polygon that span the largest area, by rotating calipers."""
    b = int(1)
    c = int(2)
    d = int(3)
    res = wp.vec4i(0, 1, 2, 3)
    most = area4(p[0], p[1], p[2], p[3])
    for a in range(n):
        growing = bool(True)
        while growing:
            area = area4(p[a], p[b], p[c], p[(d + 1) % n])
            growing = area > most
            if growing:
                most = area
                d = (d + 1) % n
                res = wp.vec4i(a, b, c, d)
                area = area4(p[a], p[b], p[(c + 1) % n], p[d])
                while area > most:
                    most = area
                    c = (c + 1) % n
                    res = wp.vec4i(a, b, c, d)
                    area = area4(p[a], p[b], p[(c + 1) % n], p[d])
                area = area4(p[a], p[(b + 1) % n], p[c], p[d])
                while area > most:
                    most = area
                    b = (b + 1) % n
                    res = wp.vec4i(a, b, c, d)
                    area = area4(p[a], p[(b + 1) % n], p[c], p[d])
        if b == a:
            b = (b + 1) % n
            if c == b:
                c = (c + 1) % n
                if d == c:
                    d = (d + 1) % n
    return res


@wp.func
def set_point(r: Manifold, k: int, v: vec3r, p: vec3r, n: vec3r, d: vec3r) -> Manifold:
    """Contact k: the clipped vertex v of one face, and its projection on the other face (point p, normal n)."""
    on_face = v - n * wp.dot(v - p, n)
    dist = wp.dot(on_face - v, d)
    r.x1[k] = on_face
    r.x2[k] = on_face - d * dist
    r.dist[k] = dist
    r.n = wp.max(r.n, k + 1)
    return r


@wp.func
def clip_polygon(
    face: wp.array(dtype=vec3r),
    nface: int,
    n: vec3r,
    polygon: wp.array(dtype=vec3r),
    npolygon: int,
    buffer: wp.array(dtype=vec3r),
    margin: real,
) -> int:
    """Cut a polygon to the prism over a face, drop vertices farther above it than the margin; the number left."""
    for e in range(nface):
        a = face[e]
        side = unit(wp.cross(face[(e + 1) % nface] - a, n))
        count = int(0)
        for i in range(npolygon):
            p = polygon[i]
            q = polygon[(i + 1) % npolygon]
            inside_p = wp.dot(p - a, side) > -TINY
            inside_q = wp.dot(q - a, side) > -TINY
            if inside_p != inside_q:
                slope = wp.dot(side, q - p)
                if slope != ZERO:
                    t = (wp.dot(side, a) - wp.dot(side, p)) / slope
                    if t >= ZERO and t <= ONE and count < buffer.shape[0]:
                        buffer[count] = p + (q - p) * t
                        count += 1
            if inside_q and count < buffer.shape[0]:
                buffer[count] = q
                count += 1
        npolygon = count
        for i in range(count):
            polygon[i] = buffer[i]
    count = int(0)
    for i in range(npolygon):
        if wp.dot(polygon[i] - face[0], n) <= margin:
            polygon[count] = polygon[i]
            count += 1
    return count


@wp.func
def reduce_polygon(p: wp.array(dtype=vec3r), n: int, is_edge: bool, at: vec3r, normal: vec3r, d: vec3r) -> Manifold:
    """Contacts of a clipped polygon: all of up to four vertices, the two ends of an edge, the largest quadrilateral."""
    r = Manifold()
    if is_edge and n > 2:
        first = int(0)
        second = int(1)
        most = ZERO
        for i in range(n):
            for j in range(i + 1, n):
                e = wp.length_sq(p[j] - p[i])
                if e > most:
                    most = e
                    first = i
                    second = j
        r = set_point(r, 0, p[first], at, normal, d)
        return set_point(r, 1, p[second], at, normal, d)
    if n > 4:
        quad = largest_quad(p, n)
        for k in range(4):
            r = set_point(r, k, p[quad[k]], at, normal, d)
        return r
    for k in range(n):
        r = set_point(r, k, p[k], at, normal, d)
    return r


@cache
def multicontact(polygon_max: int, degree_max: int):
    """Multi-contact for faces of at most ``polygon_max`` vertices and vertices of at most ``degree_max`` faces."""

    @wp.func
    def several_contacts(
        m: Meshes, s1: Shape, s2: Shape, x1: vec3r, x2: vec3r, id1: wp.vec3i, id2: wp.vec3i, p1: vec3r, p2: vec3r
    ) -> Manifold:
        """Contacts of the faces at the deepest point x1, x2 (features id1, id2, first vertices p1, p2); n = 0: none."""
        n1 = wp.zeros(shape=(wp.static(degree_max),), dtype=vec3r)
        n2 = wp.zeros(shape=(wp.static(degree_max),), dtype=vec3r)
        edges = wp.zeros(shape=(wp.static(degree_max),), dtype=vec3r)
        ends = wp.zeros(shape=(wp.static(degree_max),), dtype=vec3r)
        index1 = wp.zeros(shape=(wp.static(degree_max),), dtype=int)
        index2 = wp.zeros(shape=(wp.static(degree_max),), dtype=int)
        face = wp.zeros(shape=(wp.static(polygon_max),), dtype=vec3r)
        polygon = wp.zeros(shape=(wp.static(2 * polygon_max),), dtype=vec3r)
        buffer = wp.zeros(shape=(wp.static(2 * polygon_max),), dtype=vec3r)

        dim1, id1 = feature_dim(id1)
        dim2, id2 = feature_dim(id2)
        d = x2 - x1
        count1 = face_normals(m, s1, dim1, id1, -d, n1, index1)
        count2 = face_normals(m, s2, dim2, id2, d, n2, index2)
        edge1 = bool(False)
        edge2 = bool(False)
        start = vec3r()
        res = opposed_faces(n1, count1, n2, count2, d)
        if res[0] < 0 and dim1 < 3 and count2 > 0 and (dim1 <= dim2 or count1 == 0):
            start, n = edge_directions(m, s1, dim1, id1, p1, x1, edges, ends)
            res = edge_in_face(edges, n, n2, count2, d)
            edge1 = res[0] >= 0
        if res[0] < 0 and dim2 < 3:
            start, n = edge_directions(m, s2, dim2, id2, p2, x2, edges, ends)
            res = edge_in_face(edges, n, n1, count1, -d)
            edge2 = res[0] >= 0
        r = Manifold()
        if res[0] < 0:
            return r

        # margins not yet in the points; a capsule's edge starts from an inflated witness already
        margin1 = wp.where(s1.type == CAPSULE, ZERO, HALF * s1.margin)
        margin2 = wp.where(s2.type == CAPSULE, ZERO, HALF * s2.margin)
        margin = margin1 + margin2
        if edge1:
            normal = n2[res[1]]
            nface = face_polygon(m, s2, index2[res[1]], face)
            polygon[0] = start
            polygon[1] = ends[res[0]]
            n = clip_polygon(face, nface, normal, polygon, 2, buffer, margin)
            r = reduce_polygon(polygon, n, True, face[0], normal, -normal)
            swap = r.x1
            r.x1 = r.x2
            r.x2 = swap
            r.normal = -normal
        elif edge2:
            normal = n1[res[1]]
            nface = face_polygon(m, s1, index1[res[1]], face)
            polygon[0] = start
            polygon[1] = ends[res[0]]
            n = clip_polygon(face, nface, normal, polygon, 2, buffer, margin)
            r = reduce_polygon(polygon, n, True, face[0], normal, -normal)
            r.normal = normal
        else:
            normal = n1[res[0]]
            nface = face_polygon(m, s1, index1[res[0]], face)
            n = face_polygon(m, s2, index2[res[1]], polygon)
            n = clip_polygon(face, nface, normal, polygon, n, buffer, margin)
            r = reduce_polygon(polygon, n, False, face[0], normal, n2[res[1]])
            r.normal = -n2[res[1]]
        for k in range(r.n):
            r.x1[k] = r.x1[k] + r.normal * margin1
            r.x2[k] = r.x2[k] - r.normal * margin2
            r.dist[k] = r.dist[k] - margin
        return r

    return several_contacts
