"""Box against box.

Stage 1, separating axes: among the 15 candidates (three face normals of each box, nine cross products of edges) find
the axis of largest separation. Boxes apart by more than the margin along any of them do not touch. Faces are preferred
on near ties, because they give several points.

Stage 2a, a face axis wins: its owner is the reference box. The most opposed face of the other (incident) box is clipped
against the four sides of the reference face (Sutherland-Hodgman). Every vertex within the margin is a contact, half way
between the surfaces. Edges that lie in one line, as those of fingers that close on each other, cross where rounding
says: a vertex as near to a side as poses are known lies on it, and an edge with both ends there crosses nothing.

Stage 2b, an edge axis wins: one contact, half way between the nearest points of the two supporting edges.

Everything runs in the frame of box 1: rot maps box 2 to box 1, pos21 is the centre of box 2 in box 1.
"""

import warp as wp

from kinema.collide.plane import NO_CONTACT
from kinema.math.vector import column, normalize

SEPARATION_SLACK = wp.constant(1e-6)  # rounding of the separation tests, times the sum of half sizes
PARALLEL_EDGES = wp.constant(1e-7)  # squared sine below which a cross product of edges has no direction
AMBIGUOUS_SIGN = wp.constant(1e-5)  # component of the axis below which both corners support it
SAME_POINT = wp.constant(1e-10)  # squared distance of equal vertices, relative to the face
EDGE_BIAS = wp.constant(1e-6)
ON_SIDE = wp.constant(3e-7)  # rounding of a vertex, times how far boxes are from the origin and how large

vec8 = wp.types.vector(length=8, dtype=float)
mat83 = wp.types.matrix(shape=(8, 3), dtype=float)


@wp.func
def abs_mat(m: wp.mat33) -> wp.mat33:
    """Element-wise absolute value."""
    return wp.matrix_from_rows(wp.abs(m[0]), wp.abs(m[1]), wp.abs(m[2]))


@wp.func
def edge_axis(rot: wp.mat33, i: int, j: int) -> wp.vec3:
    """Axis i of box 1 crossed with axis j of box 2, in the frame of box 1 (not normalised)."""
    i1 = (i + 1) % 3
    i2 = (i + 2) % 3
    axis = wp.vec3()
    axis[i1] = -rot[i2, j]
    axis[i2] = rot[i1, j]
    return axis


@wp.func
def separating_axis(
    rot: wp.mat33, pos21: wp.vec3, pos12: wp.vec3, size1: wp.vec3, size2: wp.vec3, margin: float
) -> int:
    """Code of the axis of largest separation: 0..2 face of box 1, 3..5 face of box 2, 6 + 3 i + j edges; -1 apart."""
    scale = size1[0] + size1[1] + size1[2] + size2[0] + size2[1] + size2[2]
    limit = margin + SEPARATION_SLACK * scale
    absrot = abs_mat(rot)
    best = float(-1e10)
    code = int(-1)
    radius2 = absrot * size2
    radius1 = wp.transpose(absrot) * size1
    for i in range(3):
        sep = wp.abs(pos21[i]) - size1[i] - radius2[i]
        if sep > limit:
            return -1
        if sep > best:
            best = sep
            code = i
    # on rounding-size ties the first box stays the reference
    for j in range(3):
        sep = wp.abs(pos12[j]) - size2[j] - radius1[j]
        if sep > limit:
            return -1
        if sep > best + wp.where(code < 3, 0.1 * SEPARATION_SLACK * scale, 0.0):
            best = sep
            code = 3 + j
    face_best = best
    face_code = code

    for i in range(3):
        for j in range(3):
            axis = edge_axis(rot, i, j)
            norm2 = wp.dot(axis, axis)
            if norm2 >= PARALLEL_EDGES:
                axis = axis / wp.sqrt(norm2)
                axis2 = wp.transpose(rot) * axis
                axis2[j] = 0.0
                sep = wp.abs(wp.dot(axis, pos21)) - wp.dot(wp.abs(axis), size1) - wp.dot(wp.abs(axis2), size2)
                if sep > limit:
                    return -1
                if sep - EDGE_BIAS * wp.abs(sep) > best and sep > face_best:
                    best = sep
                    code = 6 + 3 * i + j

    # an edge axis within 8 degrees of the best face, and not better by 5 % of its depth, gives way to the face
    if code >= 6:
        axis = normalize(edge_axis(rot, (code - 6) // 3, (code - 6) % 3))
        along = float(0.0)
        if face_code < 3:
            along = wp.abs(axis[face_code])
        else:
            along = wp.abs(wp.dot(axis, column(rot, face_code - 3)))
        if along > 0.99 and best < face_best + 0.05 * wp.abs(face_best) + 1e-15:
            code = face_code
    return code


@wp.func
def support_sign(x: float, flip: bool) -> float:
    """Sign of x, or its opposite."""
    return wp.where((x >= 0.0) != flip, 1.0, -1.0)


@wp.func
def edge_edge(rot: wp.mat33, pos21: wp.vec3, size1: wp.vec3, size2: wp.vec3, i: int, j: int):
    """Distance, position and normal, in the frame of box 1, of the contact of edge direction i with edge direction j.

    A component of the axis near zero is supported by both corners, and rounding may choose the wrong one; both are
    tried and the closer pair of points kept.
    """
    i1 = (i + 1) % 3
    i2 = (i + 2) % 3
    j1 = (j + 1) % 3
    j2 = (j + 2) % 3
    axis = normalize(edge_axis(rot, i, j))
    if wp.dot(axis, pos21) < 0.0:
        axis = -axis
    axis2 = wp.transpose(rot) * axis
    amb1 = int(-1)
    if wp.abs(axis[i1]) < AMBIGUOUS_SIGN:
        amb1 = i1
    elif wp.abs(axis[i2]) < AMBIGUOUS_SIGN:
        amb1 = i2
    amb2 = int(-1)
    if wp.abs(axis2[j1]) < AMBIGUOUS_SIGN:
        amb2 = j1
    elif wp.abs(axis2[j2]) < AMBIGUOUS_SIGN:
        amb2 = j2

    d2 = column(rot, j)
    b = d2[i]
    denom = 1.0 - b * b
    best = float(1e10)
    w1 = wp.vec3()
    w2 = wp.vec3()
    for trial in range(4):
        flip1 = (trial & 1) != 0
        flip2 = (trial & 2) != 0
        if (not flip1 or amb1 >= 0) and (not flip2 or amb2 >= 0):
            c1 = wp.vec3()
            c1[i1] = size1[i1] * support_sign(axis[i1], flip1 and amb1 == i1)
            c1[i2] = size1[i2] * support_sign(axis[i2], flip1 and amb1 == i2)
            c = wp.vec3()
            c[j1] = -size2[j1] * support_sign(axis2[j1], flip2 and amb2 == j1)
            c[j2] = -size2[j2] * support_sign(axis2[j2], flip2 and amb2 == j2)
            c2 = pos21 + rot * c

            # nearest points of c1 + e_i s and c2 + d2 t, each clamp re-solving the other parameter
            e = c2 - c1
            d1e = e[i]
            d2e = wp.dot(d2, e)
            s = float(0.0)
            if denom > 1e-12:
                s = (d1e - b * d2e) / denom
            s = wp.clamp(s, -size1[i], size1[i])
            t = wp.clamp(b * s - d2e, -size2[j], size2[j])
            s = wp.clamp(d1e + b * t, -size1[i], size1[i])
            q1 = c1
            q1[i] = q1[i] + s
            q2 = c2 + d2 * t
            gap2 = wp.length_sq(q2 - q1)
            if gap2 < best:
                best = gap2
                w1 = q1
                w2 = q2
    return wp.dot(w2 - w1, axis), 0.5 * (w1 + w2), axis


@wp.func
def beyond(x: float, limit: float, slack: float) -> float:
    """How far x is past a limit; 0 where it is there up to rounding."""
    return wp.where(wp.abs(x - limit) <= slack, 0.0, x - limit)


@wp.func
def clip(poly: mat83, n: int, coord: int, sign: float, limit: float, slack: float):
    """Polygon of n vertices cut to the half plane sign v[coord] <= limit; z rides along."""
    out = mat83()
    count = int(0)
    for k in range(n):
        p = poly[k]
        q = poly[(k + 1) % n]
        dp = beyond(sign * p[coord], limit, slack)
        dq = beyond(sign * q[coord], limit, slack)
        if dp <= 0.0 and count < 8:
            out[count] = p
            count += 1
        if ((dp < 0.0 and dq > 0.0) or (dp > 0.0 and dq < 0.0)) and count < 8:
            out[count] = p + (q - p) * (dp / (dp - dq))
            count += 1
    return out, count


@wp.func
def face_points(
    a: int,
    size_ref: wp.vec3,
    size_inc: wp.vec3,
    pos_inc: wp.vec3,
    rot_inc: wp.mat33,
    sign: float,
    margin: float,
    slack: float,
):
    """Contacts of face a of the reference box, in its frame: distances and positions.

    pos_inc and rot_inc are the pose of the incident box; sign says on which side of the reference box it lies; slack is
    how well the places of vertices are known.
    """
    # incident face: the one most opposed to the reference normal
    b = int(0)
    for k in range(1, 3):
        if wp.abs(rot_inc[a, k]) > wp.abs(rot_inc[a, b]):
            b = k
    sign_inc = wp.where(sign * rot_inc[a, b] > 0.0, -1.0, 1.0)
    x = (a + 1) % 3
    y = (a + 2) % 3
    u = (b + 1) % 3
    v = (b + 2) % 3

    # vertices (x, y, height above the reference face)
    c = pos_inc + column(rot_inc, b) * (sign_inc * size_inc[b])
    du = column(rot_inc, u) * size_inc[u]
    dv = column(rot_inc, v) * size_inc[v]
    c = wp.vec3(c[x], c[y], sign * c[a] - size_ref[a])
    du = wp.vec3(du[x], du[y], sign * du[a])
    dv = wp.vec3(dv[x], dv[y], sign * dv[a])
    poly = mat83()
    poly[0] = c + du + dv
    poly[1] = c - du + dv
    poly[2] = c - du - dv
    poly[3] = c + du - dv
    n = int(4)
    poly, n = clip(poly, n, 0, 1.0, size_ref[x], slack)
    poly, n = clip(poly, n, 0, -1.0, size_ref[x], slack)
    poly, n = clip(poly, n, 1, 1.0, size_ref[y], slack)
    poly, n = clip(poly, n, 1, -1.0, size_ref[y], slack)

    same = SAME_POINT * (size_ref[x] * size_ref[x] + size_ref[y] * size_ref[y])
    dist = vec8(NO_CONTACT)
    pos = mat83()
    kept = mat83()
    count = int(0)
    for k in range(n):
        p = poly[k]
        new = p[2] <= margin
        for q in range(count):
            dx = kept[q, 0] - p[0]
            dy = kept[q, 1] - p[1]
            if dx * dx + dy * dy < same:
                new = False
        if new:
            kept[count] = p
            dist[count] = p[2]
            at = wp.vec3()
            at[x] = p[0]
            at[y] = p[1]
            at[a] = sign * (size_ref[a] + 0.5 * p[2])
            pos[count] = at
            count += 1
    return dist, pos


@wp.func
def box_box(p1: wp.vec3, mat1: wp.mat33, size1: wp.vec3, p2: wp.vec3, mat2: wp.mat33, size2: wp.vec3, margin: float):
    """Up to eight distances and positions, and one normal from box 1 to box 2."""
    pos21 = wp.transpose(mat1) * (p2 - p1)
    pos12 = wp.transpose(mat2) * (p1 - p2)
    rot = wp.transpose(mat1) * mat2
    code = separating_axis(rot, pos21, pos12, size1, size2, margin)

    dist = vec8(NO_CONTACT)
    pos = mat83()
    normal = wp.vec3()
    if code >= 6:
        d, x, n = edge_edge(rot, pos21, size1, size2, (code - 6) // 3, (code - 6) % 3)
        dist[0] = d
        pos[0] = p1 + mat1 * x
        normal = mat1 * n
    elif code >= 0:
        first = code < 3
        a = code % 3
        size_ref = size2
        size_inc = size1
        pos_inc = pos12
        rot_inc = wp.transpose(rot)
        p_ref = p2
        mat_ref = mat2
        if first:
            size_ref = size1
            size_inc = size2
            pos_inc = pos21
            rot_inc = rot
            p_ref = p1
            mat_ref = mat1
        sign = wp.where(pos_inc[a] >= 0.0, 1.0, -1.0)
        slack = ON_SIDE * (wp.length(p1) + wp.length(p2) + wp.length(size1) + wp.length(size2))
        dist, pos = face_points(a, size_ref, size_inc, pos_inc, rot_inc, sign, margin, slack)
        for k in range(8):
            pos[k] = p_ref + mat_ref * pos[k]
        normal = column(mat_ref, a) * wp.where(first, sign, -sign)
    return dist, pos, normal
