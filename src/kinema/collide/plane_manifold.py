"""Several contacts of a convex shape with a plane that it is about to touch.

The lowest point names the face that points most directly at the plane: of a box, of the polygons at a vertex of a mesh,
or the disk of a cylinder. All its vertices within reach are contacts, or the four that span the largest area. Capsules
and cylinders that lie, within 5 degrees, touch along a line.
"""

import warp as wp

from kinema.collide.bundles import Meshes
from kinema.collide.multicontact import EDGE_TOL, Manifold, face_polygon, largest_quad
from kinema.collide.precision import HALF, ONE, TWO, axis_of, real, vec3r
from kinema.collide.support import Shape
from kinema.mujoco_enums import Geom

LEVEL = wp.constant(wp.float64(1.0 + 1e-12))  # areas of a disk's vertices are the same but for rounding


@wp.func
def facing_box(s: Shape, n: vec3r) -> int:
    """The face of a box that points most directly against n."""
    l = wp.transpose(s.mat) * n
    a = int(0)
    for k in range(1, 3):
        if wp.abs(l[k]) > wp.abs(l[a]):
            a = k
    return 2 * a + wp.where(l[a] > real(0.0), 1, 0)


@wp.func
def facing_polygon(m: Meshes, s: Shape, n: vec3r, vertex: int) -> int:
    """The polygon at a vertex of a mesh that points most directly against n; -1 without any."""
    l = wp.transpose(s.mat) * n
    v = m.hull.vertadr[s.mesh] + vertex
    best = int(-1)
    least = TWO
    for k in range(m.polymapnum[v]):
        polygon = m.polymap[m.polymapadr[v] + k]
        x = wp.dot(m.polynormal[m.polyadr[s.mesh] + polygon], l)
        if x < least:
            least = x
            best = polygon
    return best


@wp.func
def lying_edge(s: Shape, n: vec3r, low: vec3r, feature: int, reach: real, polygon: wp.array(dtype=vec3r)) -> int:
    """The line along which a lying capsule or cylinder would touch, as two points; their number, 0 where it stands."""
    z = axis_of(s.mat, 2)
    if wp.abs(wp.dot(z, n)) >= EDGE_TOL:
        return 0
    if s.type == Geom.CYLINDER:
        polygon[0] = low
        polygon[1] = low + z * (wp.where(feature == 0, -ONE, ONE) * TWO * s.size[1])
        return 2
    along = wp.dot(low - n * (HALF * reach) - s.pos, z)  # of a capsule inflated by half the reach
    polygon[0] = low - z * (along + s.size[1])
    polygon[1] = low - z * (along - s.size[1])
    return 2


@wp.func
def plane_manifold(
    m: Meshes, s: Shape, on_plane: vec3r, n: vec3r, low: vec3r, feature: int, reach: real,
    polygon: wp.array(dtype=vec3r),
) -> Manifold:  # fmt: skip
    """Contacts of a shape above a plane (normal n) with its lowest point; none where that is the only one.

    Args:
        feature: what the lowest point belongs to (support.py).
        reach: height above which vertices do not count.
        polygon: scratch.
    """
    r = Manifold()
    count = int(0)
    if s.type == Geom.CAPSULE or s.type == Geom.CYLINDER:
        count = lying_edge(s, n, low, feature, reach, polygon)
    if count == 0:
        face = int(-1)
        if s.type == Geom.BOX:
            face = facing_box(s, n)
        elif s.type == Geom.MESH:
            face = facing_polygon(m, s, n, feature)
        elif s.type == Geom.CYLINDER:
            face = feature
        if face >= 0:
            count = face_polygon(m, s, face, polygon, 0)
    left = int(0)
    for k in range(count):
        v = polygon[k]
        if wp.dot(v - on_plane, n) <= reach:
            polygon[left] = v
            left += 1
    chosen = wp.vec4i(0, 1, 2, 3)
    r.n = wp.min(left, 4)
    if left > 4:
        chosen = largest_quad(polygon, 0, left, LEVEL)
    for k in range(r.n):
        v = polygon[chosen[k]]
        r.x2[k] = v
        r.x1[k] = v - n * wp.dot(v - on_plane, n)
    return r
