"""The point of a segment, triangle or tetrahedron nearest to another, by its barycentric coordinates."""

import warp as wp


@wp.func
def element_weights(a: wp.vec3, b: wp.vec3, c: wp.vec3, e: wp.vec3, corners: int, p: wp.vec3) -> wp.vec4:
    """Barycentric coordinates of the point nearest to p of an element with so many corners."""
    if corners == 1:
        return wp.vec4(1.0, 0.0, 0.0, 0.0)
    if corners == 2:
        t = segment_weight(a, b, p)
        return wp.vec4(1.0 - t, t, 0.0, 0.0)
    if corners == 3:
        s = triangle_weights(a, b, c, p)
        return wp.vec4(s[0], s[1], s[2], 0.0)
    inside = tetrahedron_weights(a, b, c, e, p)
    if wp.min(inside) >= 0.0:
        return inside
    # on the surface: the nearest of the four faces
    best = float(1.0e30)
    found = wp.vec4()
    for k in range(4):
        x = wp.where(k == 0, b, a)
        y = wp.where(k <= 1, c, b)
        z = wp.where(k <= 2, e, c)
        s = triangle_weights(x, y, z, p)
        dist = wp.length_sq(s[0] * x + s[1] * y + s[2] * z - p)
        if dist < best:
            best = dist
            if k == 0:
                found = wp.vec4(0.0, s[0], s[1], s[2])
            elif k == 1:
                found = wp.vec4(s[0], 0.0, s[1], s[2])
            elif k == 2:
                found = wp.vec4(s[0], s[1], 0.0, s[2])
            else:
                found = wp.vec4(s[0], s[1], s[2], 0.0)
    return found


@wp.func
def segment_weight(a: wp.vec3, b: wp.vec3, p: wp.vec3) -> float:
    """Where between a (0) and b (1) the point nearest to p is."""
    along = b - a
    length = wp.length_sq(along)
    if length <= 0.0:
        return 0.0
    return wp.clamp(wp.dot(p - a, along) / length, 0.0, 1.0)


@wp.func
def triangle_weights(a: wp.vec3, b: wp.vec3, c: wp.vec3, p: wp.vec3) -> wp.vec3:
    """Barycentric coordinates of the point of a triangle nearest to p (Ericson 2005, 5.1.5)."""
    ab = b - a
    ac = c - a
    ap = p - a
    d1 = wp.dot(ab, ap)
    d2 = wp.dot(ac, ap)
    if d1 <= 0.0 and d2 <= 0.0:
        return wp.vec3(1.0, 0.0, 0.0)
    bp = p - b
    d3 = wp.dot(ab, bp)
    d4 = wp.dot(ac, bp)
    if d3 >= 0.0 and d4 <= d3:
        return wp.vec3(0.0, 1.0, 0.0)
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        v = d1 / (d1 - d3)
        return wp.vec3(1.0 - v, v, 0.0)
    cp = p - c
    d5 = wp.dot(ab, cp)
    d6 = wp.dot(ac, cp)
    if d6 >= 0.0 and d5 <= d6:
        return wp.vec3(0.0, 0.0, 1.0)
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        t = d2 / (d2 - d6)
        return wp.vec3(1.0 - t, 0.0, t)
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        t = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return wp.vec3(0.0, 1.0 - t, t)
    total = 1.0 / (va + vb + vc)
    return wp.vec3(1.0 - (vb + vc) * total, vb * total, vc * total)


@wp.func
def tetrahedron_weights(a: wp.vec3, b: wp.vec3, c: wp.vec3, e: wp.vec3, p: wp.vec3) -> wp.vec4:
    """Barycentric coordinates of p; one of them is negative outside."""
    u = b - a
    v = c - a
    t = e - a
    q = p - a
    volume = wp.dot(u, wp.cross(v, t))
    if wp.abs(volume) < 1.0e-30:
        return wp.vec4(-1.0, 0.0, 0.0, 0.0)
    y = wp.dot(q, wp.cross(v, t)) / volume
    z = wp.dot(u, wp.cross(q, t)) / volume
    x = wp.dot(u, wp.cross(v, q)) / volume
    return wp.vec4(1.0 - y - z - x, y, z, x)
