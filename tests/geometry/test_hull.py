"""Convex hulls, their graph and their sides."""

import numpy as np
import pytest

from kinema.geometry.hull import DegenerateHull, graph_faces, hull_extrema, hull_faces, hull_graph, mirrored_graph
from kinema.geometry.polygons import hash_map_order, mirrored, newell_normals, polygons


def box(sizes=(1.0, 2.0, 3.0)) -> np.ndarray:
    return np.array([[x, y, z] for x in (0, sizes[0]) for y in (0, sizes[1]) for z in (0, sizes[2])], float)


def cloud(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, 3))


def enclosed_volume(vert: np.ndarray, face: np.ndarray) -> float:
    a, b, c = vert[face[:, 0]], vert[face[:, 1]], vert[face[:, 2]]
    return float((np.cross(a, b) * c).sum() / 6)


@pytest.mark.parametrize("count", [4, 10, 200])
def test_faces_look_outward_and_close(count):
    vert = cloud(count)
    face = hull_faces(vert)
    edge = {(a, b) for row in face.tolist() for a, b in zip(row, row[1:] + row[:1], strict=True)}
    assert len(edge) == 3 * len(face) and all((b, a) in edge for a, b in edge)
    normal = np.cross(vert[face[:, 1]] - vert[face[:, 0]], vert[face[:, 2]] - vert[face[:, 0]])
    assert ((normal[:, None] * (vert - vert[face[:, 0]][:, None])).sum(-1) <= 1e-9).all()
    assert enclosed_volume(vert, face) > 0


def test_slivers_are_oriented_by_their_neighbours():
    """Many points on straight edges give triangles without area; they must still fit the rest."""
    line = np.linspace(0, 1, 21)
    edges = [np.stack([line, np.full(21, y), np.full(21, z)], 1) for y in (0.0, 2.0) for z in (0.0, 3.0)]
    face = hull_faces(np.concatenate(edges))
    edge = {(a, b) for row in face.tolist() for a, b in zip(row, row[1:] + row[:1], strict=True)}
    assert len(edge) == 3 * len(face) and all((b, a) in edge for a, b in edge)


def test_graph_layout():
    face = hull_faces(box())
    graph = hull_graph(face)
    nvert, nface = graph[:2]
    assert (nvert, nface) == (8, 12) and len(graph) == 2 + 3 * nvert + 6 * nface
    address, ids = graph[2 : 2 + nvert], graph[2 + nvert : 2 + 2 * nvert]
    edges = graph[2 + 2 * nvert : 2 + 3 * nvert + 3 * nface]
    assert sorted(ids) == list(range(8)) and (edges == -1).sum() == nvert
    assert (edges[address[1:] - 1] == -1).all() and edges[-1] == -1
    assert (graph_faces(graph) == face).all()
    back = mirrored_graph(graph)
    assert (graph_faces(back) == face[:, [0, 2, 1]]).all() and (back[: -face.size] == graph[: -face.size]).all()


def test_extrema_are_the_farthest_vertices():
    vert = cloud(100).astype(np.float32)
    graph = hull_graph(hull_faces(vert.astype(float)))
    nvert = graph[0]
    point = vert[graph[2 + nvert : 2 + 2 * nvert]]
    found = hull_extrema(graph, vert)
    directions = [(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)]
    for local, direction in zip(found, directions, strict=True):
        assert point[local] @ direction == pytest.approx((point @ direction).max(), abs=1e-6)


@pytest.mark.parametrize("limit", [4, 8, 20])
def test_maxhullvert(limit):
    assert hull_graph(hull_faces(cloud(500), maxhullvert=limit))[0] <= limit


@pytest.mark.parametrize(
    ("points", "word"),
    [
        (np.zeros((5, 3)), "colocated"),
        (np.outer(np.arange(5), [1, 2, 3]).astype(float), "collinear"),
        (np.array([[0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1], [0.3, 0.2, 1]], float), "coplanar"),
    ],
)
def test_degenerate(points, word):
    with pytest.raises(DegenerateHull, match=word):
        hull_faces(points)


def test_sides_of_a_box_are_six_rectangles():
    vert = box()
    sides = polygons(vert, hull_faces(vert))
    assert sides.num.tolist() == [4] * 6 and sorted(sides.mapnum) == [3] * 8
    normal = newell_normals(vert, sides)
    axes = {tuple(int(x) for x in row) for row in normal.round(9).tolist()}
    assert axes == {(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)}
    start = np.cumsum(sides.num) - sides.num
    for begin, n in zip(start, normal, strict=True):
        corner = vert[sides.vert[begin : begin + 4]]
        assert np.ptp(corner @ n) < 1e-12 and (corner @ n).max() >= (vert @ n).max() - 1e-12
    back = mirrored(sides)
    assert newell_normals(vert, back) == pytest.approx(-normal)
    assert (back.vert[start] == sides.vert[start]).all()


def test_map_lists_the_polygons_of_each_vertex():
    vert = cloud(60, 5)
    sides = polygons(vert, hull_faces(vert))
    owner = np.repeat(np.arange(len(sides.num)), sides.num)
    start = np.cumsum(sides.mapnum) - sides.mapnum
    for vertex in range(len(vert)):
        mine = sides.map[start[vertex] : start[vertex] + sides.mapnum[vertex]]
        assert mine.tolist() == owner[sides.vert == vertex].tolist()


def test_hash_map_order_is_a_permutation():
    keys = np.random.default_rng(0).integers(-314, 314, (500, 2)).astype(float)
    keys = np.unique(keys, axis=0)
    assert sorted(hash_map_order(keys)) == list(range(len(keys)))
    assert hash_map_order(keys[:1]) == [0] and hash_map_order(keys[:0]) == []
