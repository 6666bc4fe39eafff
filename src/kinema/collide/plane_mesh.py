"""Plane against the convex hull of a mesh.

The deepest vertex v is the support point along -n. Up to two more contacts are hull neighbours of v (or any vertices,
for meshes without a graph) below the margin, at least 0.3 of the bounding radius away from the first contact.
"""

import warp as wp

from kinema.collide.bundles import Meshes, Touch
from kinema.collide.emit import emit
from kinema.collide.support import HILLCLIMB_MIN, mesh_support

SPREAD = wp.constant(0.3)  # distance between contacts, relative to the bounding radius
MOST = wp.constant(3)


@wp.func
def plane_mesh(
    w: int,
    n: wp.vec3,
    p: wp.vec3,
    center: wp.vec3,
    mat: wp.mat33,
    mesh: int,
    rbound: float,
    margin: float,
    m: Meshes,
    touch: Touch,
    base: int,
) -> int:
    """Write the contacts from slot ``base`` on and return their number."""
    local = wp.transpose(mat) * -n
    vertadr = m.vertadr[mesh]
    best, hull = mesh_support(m, mesh, local, int(-1))
    deepest = center + mat * m.vert[vertadr + best]
    dist = wp.dot(deepest - p, n)
    if dist > margin:
        return 0
    none = wp.vec3()
    first = deepest - n * (0.5 * dist)
    emit(touch, w, base, dist, first, n, none)
    count = int(1)

    graphadr = m.graphadr[mesh]
    if graphadr >= 0 and m.vertnum[mesh] < HILLCLIMB_MIN:
        return 1  # MuJoCo knows no neighbours here: the search was exhaustive, but the mesh has a graph
    i = int(0)
    end = m.vertnum[mesh]
    globalid = graphadr + 2 + m.graph[wp.max(graphadr, 0)]
    if graphadr >= 0:
        i = globalid + m.graph[graphadr] + m.graph[graphadr + 2 + hull]
        end = m.graph.shape[0]
    while i < end and count < MOST:
        vertex = i
        if graphadr >= 0:
            if m.graph[i] < 0:
                return count
            vertex = m.graph[globalid + m.graph[i]]
        x = center + mat * m.vert[vertadr + vertex]
        dist = wp.dot(x - p, n)
        if dist < margin and wp.length(x - first) >= SPREAD * rbound:
            emit(touch, w, base + count, dist, x - n * (0.5 * dist), n, none)
            count += 1
        i += 1
    return count
