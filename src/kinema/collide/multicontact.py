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
from kinema.collide.support import Shape, box_corner
from kinema.collide.workspace import IN_ROOM, LENT, ROOM, ROW, SHARED, Sizes, Workspace, crew_row, octet_room
from kinema.math.octet import octet_row
from kinema.mujoco_enums import Geom

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
    return s.type == Geom.BOX or s.type == Geom.MESH or s.type == Geom.CYLINDER


@wp.func
def may_have_several(s1: Shape, s2: Shape) -> bool:
    """Whether faces or edges of the two shapes can lie on each other."""
    return (has_face(s1) and (has_face(s2) or s2.type == Geom.CAPSULE)) or (has_face(s2) and s1.type == Geom.CAPSULE)


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
    s: Shape, dim: int, ids: wp.vec3i, out: vec3r, normals: wp.array(dtype=vec3r), index: wp.array(dtype=int), o: int
) -> int:
    """Faces of a box that contain the given corners; if they do not name one, the face along the direction out."""
    count = int(0)
    three = int(3)
    for axis in range(three):
        sign = common_sign(ids, dim, 1 << axis)
        if sign != 0:
            normals[o + count] = axis_of(s.mat, axis) * real(sign)
            index[o + count] = 2 * axis + wp.where(sign > 0, 0, 1)
            count += 1
    if dim == 1 or (dim == 2 and (count == 1 or count == 2)) or (dim == 3 and count == 1):
        return count
    local = wp.transpose(s.mat) * unit(out)
    for k in range(2 * three):
        side = wp.where(k % 2 == 0, ONE, -ONE)
        if side * local[k // 2] > FACE_TOL:
            normals[o] = axis_of(s.mat, k // 2) * side
            index[o] = k
            return 1
    return 0


@wp.func
def polygon_has(m: Meshes, mesh: int, polygon: int, id: int) -> bool:
    """Whether a vertex belongs to a polygon of the mesh."""
    v = m.hull.vertadr[mesh] + id
    for k in range(m.polymapnum[v]):
        if m.polymap[m.polymapadr[v] + k] == polygon:
            return True
    return False


@wp.func
def mesh_normals(
    m: Meshes, s: Shape, dim: int, ids: wp.vec3i, normals: wp.array(dtype=vec3r), index: wp.array(dtype=int), o: int
) -> int:
    """Polygons of a mesh that contain the given vertices: one face, two faces at an edge, all faces at a vertex."""
    v = m.hull.vertadr[s.mesh] + ids[0]
    room = normals.shape[0] // 2
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
        if ok and count < room and not (dim == 3 and count == 1):
            normals[o + count] = s.mat * m.polynormal[m.polyadr[s.mesh] + polygon]
            index[o + count] = polygon
            count += 1
    return count


@wp.func
def face_normals(
    m: Meshes,
    s: Shape,
    dim: int,
    ids: wp.vec3i,
    out: vec3r,
    normals: wp.array(dtype=vec3r),
    index: wp.array(dtype=int),
    o: int,
) -> int:
    """Outward normals and ids of the candidate faces of a shape, written from offset o on; their number."""
    if s.type == Geom.BOX:
        return box_normals(s, dim, ids, out, normals, index, o)
    if s.type == Geom.MESH:
        return mesh_normals(m, s, dim, ids, normals, index, o)
    if s.type == Geom.CYLINDER and dim == 1:
        normals[o] = axis_of(s.mat, 2) * wp.where(ids[0] == 0, ONE, -ONE)
        index[o] = ids[0]
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
    if s.type == Geom.BOX:
        start = s.pos + s.mat * box_corner(s.size, ids[0])
        if dim == 2:
            ends[0] = s.pos + s.mat * box_corner(s.size, ids[1])
            directions[0] = unit(ends[0] - start)
            return start, 1
        three = int(3)
        for k in range(three):
            ends[k] = s.pos + s.mat * box_corner(s.size, ids[0] ^ (1 << k))
            directions[k] = unit(ends[k] - start)
        return start, three
    if s.type == Geom.MESH:
        v = m.hull.vertadr[s.mesh]
        start = s.pos + s.mat * vec3r(m.hull.vert[v + ids[0]])
        if dim == 2:
            ends[0] = s.pos + s.mat * vec3r(m.hull.vert[v + ids[1]])
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
                    ends[k] = s.pos + s.mat * vec3r(m.hull.vert[v + m.polyvert[adr + (j + n - 1) % n]])
                    directions[k] = unit(ends[k] - start)
        return start, count
    if s.type == Geom.CYLINDER:
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
    if s.type == Geom.CAPSULE:
        z = axis_of(s.mat, 2)
        along = wp.dot(witness - s.pos, z)
        start = witness - z * (along + s.size[1])
        directions[0] = z
        ends[0] = witness - z * (along - s.size[1])
        return start, 1
    return start, 0


@wp.func
def opposed_faces(normals: wp.array(dtype=vec3r), count1: int, count2: int, d: vec3r) -> wp.vec2i:
    """The two most opposed normals that also face the contact; (-1, -1) without any. d points into shape 1."""
    res = wp.vec2i(-1, -1)
    limit = EDGE_TOL * wp.length(d)
    best = -FACE_TOL
    o = normals.shape[0] // 2
    for i in range(count1):
        if wp.dot(normals[i], d) < -limit:
            for j in range(count2):
                if wp.dot(normals[o + j], d) > limit:
                    x = wp.dot(normals[i], normals[o + j])
                    if x < best:
                        best = x
                        res = wp.vec2i(i, j)
    return res


@wp.func
def edge_in_face(
    edges: wp.array(dtype=vec3r), nedge: int, faces: wp.array(dtype=vec3r), o: int, nface: int, d: vec3r
) -> wp.vec2i:
    """The first edge that lies in a face towards the contact; (-1, -1) without any. Faces begin at offset o."""
    for i in range(nface):
        if wp.dot(faces[o + i], d) > TINY:
            for j in range(nedge):
                if wp.abs(wp.dot(edges[j], faces[o + i])) < EDGE_TOL:
                    return wp.vec2i(j, i)
    return wp.vec2i(-1, -1)


@wp.func
def box_face(s: Shape, face: int, polygon: wp.array(dtype=vec3r), o: int) -> int:
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
    four = int(4)
    for k in range(four):
        c[u] = su * s.size[u]
        c[v] = sv * s.size[v]
        polygon[o + k] = s.pos + s.mat * c
        if (k % 2 == 0) != (a == 0):
            su = -su
        else:
            sv = -sv
    return four


@wp.func
def face_polygon(m: Meshes, s: Shape, face: int, polygon: wp.array(dtype=vec3r), o: int) -> int:
    """Vertices of a face, clockwise seen from outside, written from offset o on; their number."""
    if s.type == Geom.BOX:
        return box_face(s, face, polygon, o)
    if s.type == Geom.MESH:
        p = m.polyadr[s.mesh] + face
        n = wp.min(m.polyvertnum[p], polygon.shape[0] // 3)
        v = m.hull.vertadr[s.mesh]
        for i in range(n):
            polygon[o + i] = s.pos + s.mat * vec3r(m.hull.vert[v + m.polyvert[m.polyvertadr[p] + n - 1 - i]])
        return n
    up = wp.where(face == 0, ONE, -ONE)
    c = s.pos + axis_of(s.mat, 2) * (up * s.size[1])
    sides = int(DISK_SIDES)
    for i in range(sides):
        angle = real(i) * DISK_STEP
        x = axis_of(s.mat, 0) * (s.size[0] * wp.cos(angle))
        y = axis_of(s.mat, 1) * (up * s.size[0] * wp.sin(angle))
        polygon[o + i] = c + x - y
    return sides


@wp.func
def area4(a: vec3r, b: vec3r, c: vec3r, d: vec3r) -> real:
    """Area of a quadrilateral."""
    return HALF * wp.length(wp.cross(a - c, b - d))


@wp.func
def largest_quad(p: wp.array(dtype=vec3r), o: int, n: int, more: real) -> wp.vec4i:
    """The four vertices of a convex polygon that span the largest area, by rotating calipers.

    ``more`` is how many times larger an area must be to count as larger.
    """
    b = int(1)
    c = int(2)
    d = int(3)
    res = wp.vec4i(0, 1, 2, 3)
    most = area4(p[o + 0], p[o + 1], p[o + 2], p[o + 3])
    for a in range(n):
        growing = bool(True)
        while growing:
            area = area4(p[o + a], p[o + b], p[o + c], p[o + (d + 1) % n])
            growing = area > most * more
            if growing:
                most = area
                d = (d + 1) % n
                res = wp.vec4i(a, b, c, d)
                area = area4(p[o + a], p[o + b], p[o + (c + 1) % n], p[o + d])
                while area > most * more:
                    most = area
                    c = (c + 1) % n
                    res = wp.vec4i(a, b, c, d)
                    area = area4(p[o + a], p[o + b], p[o + (c + 1) % n], p[o + d])
                area = area4(p[o + a], p[o + (b + 1) % n], p[o + c], p[o + d])
                while area > most * more:
                    most = area
                    b = (b + 1) % n
                    res = wp.vec4i(a, b, c, d)
                    area = area4(p[o + a], p[o + (b + 1) % n], p[o + c], p[o + d])
        if b == a:
            b = (b + 1) % n
            if c == b:
                c = (c + 1) % n
                if d == c:
                    d = (d + 1) % n
    return res


@wp.func
def clip_polygon(
    p: wp.array(dtype=vec3r), nface: int, n: vec3r, npolygon: int, buffer: wp.array(dtype=vec3r), margin: real
) -> int:
    """Cut a polygon to the prism over a face, drop vertices farther above it than the margin; the number left.

    The first third of p holds the face (normal n), the rest the polygon.
    """
    o = p.shape[0] // 3
    for e in range(nface):
        a = p[e]
        side = unit(wp.cross(p[(e + 1) % nface] - a, n))
        count = int(0)
        for i in range(npolygon):
            v = p[o + i]
            w = p[o + (i + 1) % npolygon]
            inside_v = wp.dot(v - a, side) > -TINY
            inside_w = wp.dot(w - a, side) > -TINY
            if inside_v != inside_w:
                slope = wp.dot(side, w - v)
                if slope != ZERO:
                    t = (wp.dot(side, a) - wp.dot(side, v)) / slope
                    if t >= ZERO and t <= ONE and count < buffer.shape[0]:
                        buffer[count] = v + (w - v) * t
                        count += 1
            if inside_w and count < buffer.shape[0]:
                buffer[count] = w
                count += 1
        npolygon = count
        for i in range(count):
            p[o + i] = buffer[i]
    count = int(0)
    for i in range(npolygon):
        if wp.dot(p[o + i] - p[0], n) <= margin:
            p[o + count] = p[o + i]
            count += 1
    return count


@wp.func
def reduce_polygon(p: wp.array(dtype=vec3r), n: int, is_edge: bool, normal: vec3r, d: vec3r) -> Manifold:
    """Contacts of a clipped polygon: all of up to four vertices, the two ends of an edge, the largest quadrilateral."""
    o = p.shape[0] // 3
    chosen = wp.vec4i(0, 1, 2, 3)
    count = n
    if is_edge and n > 2:
        count = int(2)
        most = ZERO
        for i in range(n):
            for j in range(i + 1, n):
                e = wp.length_sq(p[o + j] - p[o + i])
                if e > most:
                    most = e
                    chosen = wp.vec4i(i, j, 0, 0)
    elif n > 4:
        count = int(4)
        chosen = largest_quad(p, o, n, ONE)
    r = Manifold()
    r.n = count
    for k in range(count):
        v = p[o + chosen[k]]
        on_face = v - normal * wp.dot(v - p[0], normal)
        dist = wp.dot(on_face - v, d)
        r.x1[k] = on_face
        r.x2[k] = on_face - d * dist
        r.dist[k] = dist
    return r


@wp.func
def contacts_of_faces(
    m: Meshes,
    s1: Shape,
    s2: Shape,
    x1: vec3r,
    x2: vec3r,
    id1: wp.vec3i,
    id2: wp.vec3i,
    p1: vec3r,
    p2: vec3r,
    normals: wp.array(dtype=vec3r),
    index: wp.array(dtype=int),
    edges: wp.array(dtype=vec3r),
    ends: wp.array(dtype=vec3r),
    polygon: wp.array(dtype=vec3r),
    buffer: wp.array(dtype=vec3r),
) -> Manifold:
    """Contacts of the faces at the deepest point x1, x2 (features id1, id2, first vertices p1, p2); n = 0: none.

    Whatever concerns either shape runs in a loop over both: functions are compiled in place wherever they are called.
    """
    o = edges.shape[0]
    room = polygon.shape[0] // 3
    two = int(2)

    d = x2 - x1
    dim = wp.vec2i()
    count = wp.vec2i()
    s = s1
    id = id1
    out = -d
    for k in range(two):
        dim_k, id = feature_dim(id)
        dim[k] = dim_k
        count[k] = face_normals(m, s, dim_k, id, out, normals, index, k * o)
        s = s2
        id = id2
        out = d
    res = opposed_faces(normals, count[0], count[1], d)

    # without opposed faces: an edge of one shape in a face of the other
    edge = int(-1)
    start = vec3r()
    s = s1
    id = id1
    p = p1
    x = x1
    out = d
    for k in range(two):
        other = count[1 - k]
        first = k == 0 and dim[0] < 3 and other > 0 and (dim[0] <= dim[1] or count[0] == 0)
        if res[0] < 0 and (first or (k == 1 and dim[1] < 3)):
            dim_k, id = feature_dim(id)
            start, n = edge_directions(m, s, dim_k, id, p, x, edges, ends)
            res = edge_in_face(edges, n, normals, (1 - k) * o, other, out)
            if res[0] >= 0:
                edge = k
        s = s2
        id = id2
        p = p2
        x = x2
        out = -d
    if res[0] < 0:
        return Manifold()

    # the face of one shape, and the polygon or edge of the other that is clipped to it
    i = wp.where(edge == -1, res[0], wp.where(edge == 0, o + res[1], res[1]))
    normal = normals[i]
    along = -normal
    s = s1
    if edge == 0:
        s = s2
    face = index[i]
    nface = int(0)
    n = int(2)
    for k in range(wp.where(edge < 0, 2, 1)):
        n = face_polygon(m, s, face, polygon, k * room)
        if k == 0:
            nface = n
        s = s2
        face = index[o + res[1]]
    if edge < 0:
        along = normals[o + res[1]]
    else:
        n = two
        polygon[room] = start
        polygon[room + 1] = ends[res[0]]

    # margins not yet in the points; a capsule's edge starts from an inflated witness already
    margin1 = wp.where(s1.type == Geom.CAPSULE, ZERO, HALF * s1.margin)
    margin2 = wp.where(s2.type == Geom.CAPSULE, ZERO, HALF * s2.margin)
    n = clip_polygon(polygon, nface, normal, n, buffer, margin1 + margin2)
    r = reduce_polygon(polygon, n, edge >= 0, normal, along)
    r.normal = -along
    if edge == 0:  # shape 2 has the face
        swap = r.x1
        r.x1 = r.x2
        r.x2 = swap
        r.normal = along
    for k in range(r.n):
        r.x1[k] = r.x1[k] + r.normal * margin1
        r.x2[k] = r.x2[k] - r.normal * margin2
        r.dist[k] = r.dist[k] - (margin1 + margin2)
    return r


@wp.func
def shared_contacts(
    m: Meshes,
    s1: Shape,
    s2: Shape,
    x1: vec3r,
    x2: vec3r,
    id1: wp.vec3i,
    id2: wp.vec3i,
    p1: vec3r,
    p2: vec3r,
    work: Workspace,
) -> Manifold:
    """Contacts of faces, with polygons in shared memory."""
    at = octet_room(work.room)
    normals = wp.array(ptr=at + wp.static(IN_ROOM["normals"]), shape=(wp.static(ROOM["normals"]),), dtype=vec3r)
    index = wp.array(ptr=at + wp.static(IN_ROOM["index"]), shape=(wp.static(ROOM["index"]),), dtype=int)
    edges = wp.array(ptr=at + wp.static(IN_ROOM["edges"]), shape=(wp.static(ROOM["edges"]),), dtype=vec3r)
    ends = wp.array(ptr=at + wp.static(IN_ROOM["ends"]), shape=(wp.static(ROOM["ends"]),), dtype=vec3r)
    polygon = wp.array(ptr=at + wp.static(IN_ROOM["polygon"]), shape=(wp.static(ROOM["polygon"]),), dtype=vec3r)
    buffer = wp.array(ptr=at + wp.static(IN_ROOM["buffer"]), shape=(wp.static(ROOM["buffer"]),), dtype=vec3r)
    return contacts_of_faces(m, s1, s2, x1, x2, id1, id2, p1, p2, normals, index, edges, ends, polygon, buffer)


@cache
def lent_contacts(row: wp.Function):
    """Contacts of faces, with polygons in a row of a workspace."""

    @wp.func
    def several_contacts_lent(
        m: Meshes,
        s1: Shape,
        s2: Shape,
        x1: vec3r,
        x2: vec3r,
        id1: wp.vec3i,
        id2: wp.vec3i,
        p1: vec3r,
        p2: vec3r,
        work: Workspace,
    ) -> Manifold:
        t = row()
        return contacts_of_faces(
            m, s1, s2, x1, x2, id1, id2, p1, p2,
            work.normals[t], work.index[t], work.edges[t], work.ends[t], work.polygon[t], work.buffer[t],
        )  # fmt: skip

    return several_contacts_lent


@cache
def multicontact(polygon_max: int, degree_max: int):
    """Multi-contact for faces of at most ``polygon_max`` vertices and vertices of at most ``degree_max`` faces.

    Scratch lies on the stack; or where SHARED, LENT or ROW says (workspace.py).
    """
    if polygon_max == SHARED:
        return shared_contacts
    if polygon_max in (LENT, ROW):
        return lent_contacts(octet_row if polygon_max == LENT else crew_row)
    length = Sizes.of(0, polygon_max, degree_max).polygons

    @wp.func
    def several_contacts(
        m: Meshes,
        s1: Shape,
        s2: Shape,
        x1: vec3r,
        x2: vec3r,
        id1: wp.vec3i,
        id2: wp.vec3i,
        p1: vec3r,
        p2: vec3r,
        _work: Workspace,
    ) -> Manifold:
        """Contacts of faces, with polygons on the stack."""
        normals = wp.zeros(shape=(wp.static(length["normals"]),), dtype=vec3r)
        index = wp.zeros(shape=(wp.static(length["index"]),), dtype=int)
        edges = wp.zeros(shape=(wp.static(length["edges"]),), dtype=vec3r)
        ends = wp.zeros(shape=(wp.static(length["ends"]),), dtype=vec3r)
        polygon = wp.zeros(shape=(wp.static(length["polygon"]),), dtype=vec3r)
        buffer = wp.zeros(shape=(wp.static(length["buffer"]),), dtype=vec3r)
        return contacts_of_faces(
            m, s1, s2, x1, x2, id1, id2, p1, p2, normals, index, edges, ends, polygon, buffer
        )

    return several_contacts
