"""Flat sides of a convex hull: coplanar triangles merged into polygons.

Triangles whose normals fall into the same cell of a 0.01 rad grid of (azimuth, polar angle) make one side; its outline
is what remains after cancelling inner edges. MuJoCo keeps the sides in a hash map and writes them in the map's order,
so that order is reproduced here (`hash_map_order`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kinema.geometry.inertia import cross, dot3
from kinema.geometry.mesh import Float64, Int32
from kinema.mujoco_enums import MINVAL

ANGLE_TOL = 0.01


@dataclass(frozen=True)
class Polygons:
    """Sides of a hull.

    Attributes:
        vert: Vertex indices of all polygons, one after another.
        num: (npoly,) corners of each.
        map: Polygons of each mesh vertex, one vertex after another.
        mapnum: (nvert,) how many polygons each vertex belongs to.
    """

    vert: Int32
    num: Int32
    map: Int32
    mapnum: Int32


def polygons(vert: Float64, face: Int32) -> Polygons:
    """The sides of the hull with triangles ``face`` (n, 3) over mesh vertices ``vert``."""
    key, valid = _cells(vert, face)
    face = face[valid]
    _, first, inverse = np.unique(key[valid], axis=0, return_index=True, return_inverse=True)
    inverse = inverse.ravel()
    arrival = np.argsort(first)  # cells in the order the hash map received them
    cells = key[valid][first[arrival]]
    rank = np.empty(len(arrival), np.int64)
    rank[arrival] = np.arange(len(arrival))
    cell = rank[inverse]
    by_cell = np.argsort(cell, kind="stable")
    triangle = face[by_cell].tolist()
    start = np.concatenate(([0], np.cumsum(np.bincount(cell, minlength=len(cells))))).tolist()
    outlines: list[list[int]] = []
    for c in hash_map_order(cells):
        begin, end = start[c], start[c + 1]
        if end - begin == 1:
            outlines.append(triangle[begin])
        else:
            outlines.extend(_outlines(triangle[begin:end]))
    num = np.array([len(outline) for outline in outlines], np.int32)
    flat = np.array([v for outline in outlines for v in outline], np.int32)
    owner = np.repeat(np.arange(len(num), dtype=np.int32), num)
    by_vertex = np.argsort(flat, kind="stable")
    return Polygons(flat, num, owner[by_vertex], np.bincount(flat, minlength=len(vert)).astype(np.int32))


def _cells(vert: Float64, face: Int32) -> tuple[Float64, np.ndarray]:
    """Rounded (azimuth, polar angle) of each face's normal, and which faces are large enough to have one."""
    a = vert[face[:, 0]]
    normal = cross(vert[face[:, 1]] - a, vert[face[:, 2]] - a)
    norm = np.sqrt(dot3(normal, normal))
    valid = norm >= MINVAL
    normal = normal / np.where(valid, norm, 1.0)[:, None] + 0.0  # no negative zeros: arctan2 would tell them apart
    z = normal[:, 2]
    pole = np.abs(z) > 1.0 - 1e-7
    azimuth = _round(np.arctan2(normal[:, 1], normal[:, 0]) / ANGLE_TOL)
    polar = _round(np.arccos(np.clip(z, -1, 1)) / ANGLE_TOL)
    azimuth = np.where(pole, 0.0, azimuth)
    polar = np.where(pole, np.where(z < 0, _round(np.array(np.pi / ANGLE_TOL)), 0.0), polar)
    return np.stack([azimuth, polar], 1), valid


def _round(x: Float64) -> Float64:
    """Half away from zero, as C rounds; np.round goes to even."""
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def _outlines(triangles: list[list[int]]) -> list[list[int]]:
    """The closed outlines of a side, given its triangles in order.

    Edges are kept in order of arrival with the number of the island (connected part) they belong to; an edge and its
    reverse cancel. This follows MuJoCo's bookkeeping, which decides where each outline starts.
    """
    v0, v1, v2 = triangles[0]
    edges: dict[tuple[int, int], int] = {(v0, v1): 0, (v1, v2): 0, (v2, v0): 0}
    islands = 1
    for v0, v1, v2 in triangles[1:]:
        island = -1
        fresh = []
        for edge in ((v0, v1), (v1, v2), (v2, v0)):
            twin = (edge[1], edge[0])
            if twin not in edges:
                fresh.append(edge)
                continue
            other = edges[twin]
            if island == -1:
                island = other
            elif other != island:
                islands -= 1
                island, gone = min(island, other), max(island, other)
                for key, value in edges.items():
                    if value >= gone:
                        edges[key] = island if value == gone else value - 1
            del edges[twin]
        if island == -1:
            island = islands
            islands += 1
        for edge in fresh:
            edges[edge] = island
    return _walk(edges, islands)


def _walk(edges: dict[tuple[int, int], int], islands: int) -> list[list[int]]:
    """Follow each island's edges from its first one until it closes."""
    first: dict[int, tuple[int, int]] = {}
    follow: dict[tuple[int, int], int] = {}
    for index, ((start, end), island) in enumerate(edges.items()):
        first.setdefault(island, (start, end))
        if index:  # MuJoCo never steps along the very first edge
            follow.setdefault((island, start), end)
    paths = []
    for island in range(islands):
        if island not in first:
            continue
        path = list(first[island])
        for _ in range(len(edges)):
            step = follow.get((island, path[-1]))
            if step is None:
                break
            if step == path[0]:
                if len(path) >= 3:
                    paths.append(path)
                break
            path.append(step)
    return paths


# ---- the order of the hash map


def hash_map_order(keys: Float64) -> list[int]:
    """The order in which libc++'s unordered_map of (double, double) keys iterates, after inserting them in order.

    A double hashes to its bits (zero to 0); a pair mixes the second into the first. A new bucket goes to the front of
    the list and a new key to the front of its bucket; when there are more keys than buckets the table grows to the next
    prime after twice the size, and nodes are chained again in the order they stood in.
    """
    bits = np.where(keys == 0, 0.0, keys).view(np.uint64)
    a, b = bits[:, 0], bits[:, 1]
    with np.errstate(over="ignore"):
        hashes = (a ^ (b + np.uint64(0x9E3779B9) + (a << np.uint64(6)) + (a >> np.uint64(2)))).tolist()
    order: list[int] = []
    count = 0
    while count < len(hashes):
        size = _bucket_count(count + 1)
        buckets = _rehashed(order, hashes, size)
        # from the back: buckets in reverse of the list, so that "to the front" is an append
        backward = {b: members[::-1] for b, members in reversed(buckets.items())}
        upto = min(size, len(hashes))
        for index in range(count, upto):
            backward.setdefault(hashes[index] % size, []).append(index)
        count = upto
        order = [index for members in reversed(backward.values()) for index in reversed(members)]
    return order


def _rehashed(order: list[int], hashes: list[int], size: int) -> dict[int, list[int]]:
    """Chain the nodes again for ``size`` buckets: a run stays together, a straggler goes to the front of its bucket."""
    buckets: dict[int, list[int]] = {}
    last = -1
    for index in order:
        bucket = hashes[index] % size
        if bucket == last:
            buckets[bucket].append(index)
        elif bucket not in buckets:
            buckets[bucket] = [index]
            last = bucket
        else:
            buckets[bucket].insert(0, index)
    return buckets


_COUNTS = [2]


def _bucket_count(needed: int) -> int:
    """The table size libc++ has once it holds ``needed`` keys, growing one by one from empty."""
    while _COUNTS[-1] < needed:
        _COUNTS.append(_next_prime(2 * _COUNTS[-1] + 1))
    return next(size for size in _COUNTS if size >= needed)


def _next_prime(n: int) -> int:
    while any(n % d == 0 for d in range(2, int(n**0.5) + 1)):
        n += 1
    return n


def mirrored(poly: Polygons) -> Polygons:
    """The same sides seen in a mirror: each outline runs backwards from its first corner."""
    begin = np.repeat(np.cumsum(poly.num) - poly.num, poly.num)
    step = np.arange(len(poly.vert)) - begin
    back = np.where(step == 0, 0, np.repeat(poly.num, poly.num) - step)
    return replace(poly, vert=poly.vert[begin + back])


def newell_normals(vert: Float64, poly: Polygons) -> Float64:
    """(npoly, 3) unit normals from the whole outline: the sum of cross products of consecutive corners."""
    end = np.cumsum(poly.num)
    begin = end - poly.num
    following = np.arange(1, len(poly.vert) + 1)
    following[end - 1] = begin
    origin = vert[poly.vert[begin]].repeat(poly.num, axis=0)
    here, there = vert[poly.vert] - origin, vert[poly.vert[following]] - origin
    if len(begin) == 0:
        return np.zeros((0, 3))
    total = np.add.reduceat(cross(here, there), begin, axis=0)
    norm = np.sqrt(dot3(total, total))
    small = norm < 1e-14
    total = total / np.where(small, 1.0, norm)[:, None]
    total[small] = (1.0, 0.0, 0.0)
    return total
