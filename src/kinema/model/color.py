"""Graph colouring for Gauss-Seidel sweeps: rows of one colour share no element and can be updated together.

Nodes take the first colour free among their neighbours, in one of two orders: GREEDY, largest degree first (Welsh and
Powell 1967), or MCS, most coloured neighbours first (maximum cardinality search, Tarjan and Yannakakis 1984; optimal on
chordal graphs). Both are deterministic and use at most one colour more than the largest degree.
"""

from __future__ import annotations

import heapq
from enum import IntEnum

import numpy as np


class ColoringAlgorithm(IntEnum):
    """Order in which nodes are coloured."""

    MCS = 0
    GREEDY = 1


def _neighbours(count: int, edges: np.ndarray) -> list[list[int]]:
    edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
    both = np.concatenate([edges, edges[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    starts = np.searchsorted(both[:, 0], np.arange(count + 1))
    return [both[first:last, 1].tolist() for first, last in zip(starts[:-1], starts[1:], strict=True)]


def _search_order(neighbours: list[list[int]]) -> list[int]:
    """Maximum cardinality search: next the node with most visited neighbours, lowest index first."""
    seen = [0] * len(neighbours)
    heap = [(0, node) for node in range(len(neighbours))]
    order: list[int] = []
    done = [False] * len(neighbours)
    while heap:
        weight, node = heapq.heappop(heap)
        if done[node] or -weight != seen[node]:
            continue
        done[node] = True
        order.append(node)
        for other in neighbours[node]:
            if not done[other]:
                seen[other] += 1
                heapq.heappush(heap, (-seen[other], other))
    return order


def color_graph(
    count: int,
    edges: np.ndarray,
    algorithm: ColoringAlgorithm = ColoringAlgorithm.MCS,
    balance_ratio: float | None = None,
) -> np.ndarray:
    """Colours of `count` nodes such that the ends of every edge differ.

    Args:
        count: Number of nodes.
        edges: Pairs of nodes, shape (n, 2).
        algorithm: Order of the nodes.
        balance_ratio: Move nodes from the largest to smaller groups until their sizes differ by no more than this.
    """
    neighbours = _neighbours(count, edges)
    if algorithm == ColoringAlgorithm.MCS:
        order = _search_order(neighbours)
    else:
        order = sorted(range(count), key=lambda node: -len(neighbours[node]))
    colors = [-1] * count
    for node in order:
        taken = {colors[other] for other in neighbours[node]}
        color = 0
        while color in taken:
            color += 1
        colors[node] = color
    if balance_ratio is not None:
        _balance(colors, neighbours, balance_ratio)
    return np.array(colors, dtype=np.int32)


def _balance(colors: list[int], neighbours: list[list[int]], ratio: float) -> None:
    """Recolour nodes of the largest group with the smallest colour their neighbours allow."""
    sizes = np.bincount(colors) if colors else np.zeros(0, int)
    for node in range(len(colors)):
        own = colors[node]
        if sizes[own] < sizes.max() or sizes.max() <= ratio * sizes.min():
            continue
        taken = {colors[other] for other in neighbours[node]}
        free = [color for color in range(len(sizes)) if color not in taken and sizes[color] + 1 < sizes[own]]
        if free:
            colors[node] = min(free, key=lambda color: sizes[color])
            sizes[own] -= 1
            sizes[colors[node]] += 1


def _pairs(elements: np.ndarray) -> np.ndarray:
    """All pairs of corners of elements; missing corners (-1) have none."""
    width = elements.shape[1] if elements.ndim == 2 else 0
    pairs = [elements[:, [a, b]] for a in range(width) for b in range(a + 1, width)]
    found = np.concatenate(pairs) if pairs else np.empty((0, 2), int)
    return found[(found >= 0).all(axis=1)]


def element_edges(*elements: np.ndarray) -> np.ndarray:
    """Edges of the graph in which the corners of every element are neighbours."""
    return np.concatenate([_pairs(rows) for rows in elements])
