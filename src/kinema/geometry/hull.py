"""Convex hulls as MuJoCo stores them: the graph of hull vertices, and hull triangles.

    graph = [nvert, nface, edgeadr[nvert], globalid[nvert], edge[nvert + 3 nface], face[3 nface]]

`edge` lists the neighbours of each hull vertex by local index, closed by -1; `face` holds mesh vertex indices. Qhull
does the work, through SciPy, with MuJoCo's options: faces come out the same and in the same order. The order of the
*vertices* inside the graph is Qhull's private list, which SciPy does not show; here they stand in order of first
appearance in the faces. The graph is the same graph, differently numbered.
"""

from __future__ import annotations

import numpy as np

from kinema.geometry.inertia import cross, dot3
from kinema.geometry.mesh import Float64, Int32
from kinema.mujoco_enums import MINVAL


class DegenerateHull(ValueError):
    """The points span no volume; the message says which way."""


def _check_volume(vert: Float64) -> None:
    """Raise where all points share a place, a line or a plane, with MuJoCo's measures and order of search."""
    offset = vert - vert[0]
    length = np.sqrt(dot3(offset, offset))
    apart = np.flatnonzero(length > MINVAL)
    if len(apart) == 0:
        raise DegenerateHull(
            "has colocated vertices, cannot compute convex hull. Consider using a small sphere instead"
        )
    first = apart[0]
    normal = cross(offset[first], offset)
    norm = np.sqrt(dot3(normal, normal))
    bent = (norm > MINVAL * length[first] * length) & (length >= MINVAL)
    bent[0] = bent[first] = False
    if not bent.any():
        raise DegenerateHull(
            "has collinear vertices, cannot compute convex hull. Consider using a thin capsule instead"
        )
    third = int(np.argmax(bent))
    plane = normal[third] / norm[third]
    height = dot3(vert, plane)
    if not (np.abs(height - height[0]) > MINVAL * length[first]).any():
        raise DegenerateHull(
            "has coplanar vertices, cannot compute convex hull. "
            "Consider using a primitive geom type (plane or thin box) instead"
        )


def hull_faces(vert: Float64, *, maxhullvert: int = -1) -> Int32:
    """Triangles of the convex hull, counter-clockwise seen from outside, in Qhull's order.

    Args:
        vert: (n, 3) points, at least four.
        maxhullvert: Stop after so many hull vertices; -1 for all.

    Raises:
        DegenerateHull: the points span no volume, or Qhull gave up.
    """
    from scipy.spatial import ConvexHull, QhullError  # imported on use: it takes a second

    _check_volume(vert)
    options = "Qt" if maxhullvert < 0 else f"Qt Q9 TA{maxhullvert - 4}"
    try:
        hull = ConvexHull(vert, qhull_options=options)
    except QhullError as error:
        raise DegenerateHull(f"qhull error: {str(error).splitlines()[0]}") from None
    face = np.ascontiguousarray(hull.simplices, np.int32)
    flip = _flipped(vert, face, hull.equations[:, :3], hull.neighbors)
    face[flip, 0], face[flip, 1] = face[flip, 1], face[flip, 0]
    return face


def _flipped(vert: Float64, face: Int32, normal: Float64, neighbor: Int32) -> np.ndarray:
    """Which faces run clockwise. A sliver's own cross product says nothing; its neighbours decide."""
    a, b, c = vert[face[:, 0]], vert[face[:, 1]], vert[face[:, 2]]
    ab, ac = b - a, c - a
    side = dot3(cross(ab, ac), normal)
    size = np.sqrt(dot3(ab, ab) * dot3(ac, ac))
    flip = side < 0
    unsure = set(np.flatnonzero(np.abs(side) <= 1e-9 * size).tolist())
    while unsure:
        settled = []
        for index in unsure:
            for k in range(3):
                other = int(neighbor[index, k])
                if other in unsure or other < 0:
                    continue
                # the shared edge runs one way here and must run the other way there
                here = _runs_forward(face[index], int(face[index, (k + 1) % 3]), int(face[index, (k + 2) % 3]))
                there = _runs_forward(face[other], int(face[index, (k + 1) % 3]), int(face[index, (k + 2) % 3]))
                flip[index] = (here == there) != flip[other]
                settled.append(index)
                break
        if not settled:
            break
        unsure.difference_update(settled)
    return flip


def _runs_forward(face: Int32, start: int, end: int) -> bool:
    """Whether a triangle's cycle goes from ``start`` straight to ``end``."""
    order = face.tolist()
    return order[(order.index(start) + 1) % 3] == end


def hull_graph(face: Int32) -> Int32:
    """MuJoCo's graph array of a hull given by its triangles."""
    flat = face.ravel()
    globalid, local = _by_first_appearance(flat)
    nvert, nface = len(globalid), len(face)
    corner = local.reshape(-1, 3)
    # every corner sees the other two; keep each neighbour once, in face order
    here = corner[:, [0, 0, 1, 1, 2, 2]].ravel()
    there = corner[:, [1, 2, 0, 2, 0, 1]].ravel()
    _, first = np.unique(here.astype(np.int64) * nvert + there, return_index=True)
    first = first[np.lexsort((first, here[first]))]
    degree = np.bincount(here[first], minlength=nvert)
    edgeadr = np.concatenate(([0], np.cumsum(degree + 1)[:-1]))
    edge = np.full(nvert + len(first), -1, np.int32)
    edge[np.arange(len(first)) + here[first]] = there[first]
    return np.concatenate(([nvert, nface], edgeadr, globalid, edge, flat)).astype(np.int32)


def _by_first_appearance(ids: Int32) -> tuple[Int32, Int32]:
    """Distinct ids in order of first appearance, and each entry's place among them."""
    distinct, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return distinct[order], rank[inverse.ravel()]


def graph_faces(graph: Int32) -> Int32:
    """The hull triangles held in a graph array, as mesh vertex indices."""
    nvert, nface = int(graph[0]), int(graph[1])
    return graph[2 + 3 * nvert + 3 * nface :].reshape(-1, 3)


def mirrored_graph(graph: Int32) -> Int32:
    """The graph of the mirrored hull: the same but for the winding of its faces."""
    face = graph_faces(graph)
    return np.concatenate([graph[: len(graph) - face.size], face[:, [0, 2, 1]].ravel()])


# The 26 directions to the features of a cube, and its centre, x slowest.
_DIRECTIONS = np.stack(np.meshgrid(*[np.arange(-1, 2)] * 3, indexing="ij"), axis=-1).reshape(-1, 3).astype(np.float32)


def hull_extrema(graph: Int32, vert: np.ndarray) -> Int32:
    """(27,) local indices of the hull vertices farthest along each of `_DIRECTIONS`, from float32 positions."""
    nvert = int(graph[0])
    point = vert[graph[2 + nvert : 2 + 2 * nvert]].astype(np.float32)
    d = _DIRECTIONS
    along = point[:, :1] * d[:, 0] + point[:, 1:2] * d[:, 1] + point[:, 2:] * d[:, 2]
    return np.argmax(along, axis=0).astype(np.int32)
