"""The signed distance field of a mesh: values at the corners of an octree's cells, trilinear between them.

Beyond the box of the root the field is its value at the nearest point of the box, and the distance to the box. There
MuJoCo's gradient is a forward difference.
"""

import warp as wp

from kinema.collide.bundles import Solids
from kinema.collide.precision import HALF, ONE, TWO, ZERO, real, vec3r

STEP = wp.constant(wp.float64(1e-8))  # of forward differences [m]
INSET = wp.constant(wp.float64(1e-6))  # how far inside the box points from outside are put [m]
DEPTH = wp.constant(100)  # of the search


@wp.func
def into_box(p: vec3r, center: vec3r, half: vec3r):
    """The point moved into a box, and its distance from it, negative inside."""
    r = p - center
    q = wp.abs(r) - half
    if q[0] <= ZERO and q[1] <= ZERO and q[2] <= ZERO:
        return p, wp.max(q[0], wp.max(q[1], q[2]))
    dist2 = ZERO
    for k in range(3):
        if q[k] >= ZERO:
            dist2 += q[k] * q[k]
            p[k] = p[k] - wp.where(r[k] > ZERO, q[k] + INSET, -(q[k] + INSET))
    return p, wp.sqrt(dist2)


@wp.func
def cell_of(s: Solids, root: int, p: vec3r):
    """The leaf that contains a point, and the point's coordinates 0..1 in it."""
    node = int(root)
    c = vec3r()
    searching = bool(True)
    for _k in range(DEPTH):
        if searching:
            half = s.octbox[2 * node + 1]
            low = s.octbox[2 * node] - half
            high = s.octbox[2 * node] + half
            c = wp.cw_div(p - low, high - low)
            leaf = bool(True)
            for j in range(8):
                leaf = leaf and s.octchild[8 * node + j] < 0
            if leaf:
                searching = False
            else:
                x = wp.where(c[0] < HALF, 0, 1)
                y = wp.where(c[1] < HALF, 0, 2)
                z = wp.where(c[2] < HALF, 0, 4)
                node = root + s.octchild[8 * node + x + y + z]
    return node, c


@wp.func
def weight(c: real, high: int) -> real:
    return wp.where(high != 0, c, ONE - c)


@wp.func
def octree_distance(s: Solids, mesh: int, p: vec3r) -> real:
    """Signed distance of a point in the frame of a mesh."""
    root = s.octadr[mesh]
    x, outside = into_box(p, s.octbox[2 * root], s.octbox[2 * root + 1])
    node, c = cell_of(s, root, x)
    value = wp.max(outside, ZERO)
    for j in range(8):
        value += weight(c[0], j & 1) * weight(c[1], j & 2) * weight(c[2], j & 4) * s.octvalue[8 * node + j]
    return value


@wp.func
def octree_gradient(s: Solids, mesh: int, p: vec3r) -> vec3r:
    """Its gradient, as MuJoCo has it."""
    root = s.octadr[mesh]
    x, outside = into_box(p, s.octbox[2 * root], s.octbox[2 * root + 1])
    g = vec3r()
    if outside > ZERO:
        d0 = octree_distance(s, mesh, p)
        three = int(3)
        for k in range(three):
            y = p
            y[k] = y[k] + STEP
            g[k] = (octree_distance(s, mesh, y) - d0) / STEP
        return g
    node, c = cell_of(s, root, x)
    for j in range(8):
        wx = weight(c[0], j & 1)
        wy = weight(c[1], j & 2)
        wz = weight(c[2], j & 4)
        value = s.octvalue[8 * node + j]
        g[0] = g[0] + wp.where((j & 1) != 0, value, -value) * wy * wz
        g[1] = g[1] + wp.where((j & 2) != 0, value, -value) * wx * wz
        g[2] = g[2] + wp.where((j & 4) != 0, value, -value) * wx * wy
    return wp.cw_div(g, TWO * s.octbox[2 * node + 1])
