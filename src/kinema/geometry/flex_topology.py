"""What follows from a flex's elements alone: edges, flaps, shell and layers.

    edges    every pair of points that share an element, once, in order of appearance
    flaps    (triangles) of each edge the points across it: of the first triangle that has it, and of the last other
    shell    sides that one element alone has, as that element winds them
    layers   (tetrahedra) how many elements lie between one and the shell

A side of an element is all its points but one. Two elements that share a side are neighbours; where more than two do,
each is the neighbour of the next in number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinema.geometry.mesh import Int32

EDGES = {
    1: np.array([[0, 1]]),
    2: np.array([[1, 2], [2, 0], [0, 1]]),
    3: np.array([[0, 1], [1, 2], [2, 0], [2, 3], [0, 3], [1, 3]]),
}
"""Points of the edges of one element, by dimension."""
SIDES = {
    1: np.array([[0], [1]]),
    2: np.array([[0, 1], [2, 0], [1, 2]]),
    3: np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]]),
}
"""Points of the sides of one element, wound outwards."""


@dataclass(frozen=True)
class Edges:
    """Edges of a flex.

    Attributes:
        edge: (nedge, 2) points, smaller number first.
        elemedge: (nelem, 1, 3 or 6) edges of each element.
        flap: (nedge, 4) of triangles: the edge, then the points across; else -1.
    """

    edge: Int32
    elemedge: Int32
    flap: Int32


def edges_of(element: Int32, dim: int) -> Edges:
    """The edges of all elements (n, dim + 1)."""
    pairs = element[:, EDGES[dim]]  # (n, k, 2)
    flat = np.sort(pairs.reshape(-1, 2), axis=1)
    key = flat[:, 0].astype(np.int64) * (int(element.max(initial=0)) + 1) + flat[:, 1]
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int32)
    order = np.argsort(first)
    rank[order] = np.arange(len(first), dtype=np.int32)
    number = rank[inverse.reshape(-1)]
    edge = flat[np.sort(first)].astype(np.int32)
    flap = np.full((len(edge), 4), -1, np.int32)
    if dim == 2:
        across = element.reshape(-1)  # edge k of a triangle is the one without point k
        begin = np.sort(first)
        flap[:, :2] = edge
        flap[:, 2] = across[begin]
        later = np.ones(len(number), bool)
        later[begin] = False
        flap[number[later], 3] = across[later]  # the last one stays
    return Edges(edge, number.reshape(len(element), -1).astype(np.int32), flap)


def shell_and_layers(element: Int32, dim: int) -> tuple[Int32, Int32]:
    """Sides on the outside (m, dim), and the layer of each element (all 0 but for tetrahedra)."""
    number = len(element)
    side = element[:, SIDES[dim]].reshape(-1, dim)
    owner = np.repeat(np.arange(number), dim + 1)
    ordered = np.sort(side, axis=1)
    columns = (*side.T[::-1], owner, *ordered.T[::-1])
    order = np.lexsort(columns)
    side, owner, ordered = side[order], owner[order], ordered[order]
    same = (ordered[1:] == ordered[:-1]).all(axis=1)
    alone = ~(np.append(same, False) | np.insert(same, 0, False))
    layer = np.zeros(number, np.int32)
    if dim == 3:
        layer = _layers(number, owner[alone], owner[:-1][same], owner[1:][same])
    return side[alone].astype(np.int32), layer


def _layers(number: int, border: np.ndarray, one: np.ndarray, two: np.ndarray) -> Int32:
    """Steps from a border element to each element, neighbour by neighbour; number + 1 where none leads there."""
    layer = np.full(number, number + 1, np.int32)
    layer[border] = 0
    for step in range(1, number + 1):
        reached = np.concatenate([two[layer[one] == step - 1], one[layer[two] == step - 1]])
        reached = reached[layer[reached] > step]
        if not len(reached):
            break
        layer[reached] = step
    return layer
