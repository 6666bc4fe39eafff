"""Graph colouring for Gauss-Seidel sweeps: rows of one colour share no element and can be updated together.

Greedy, largest degree first (Welsh and Powell 1967): at most one colour more than the largest degree, deterministic.
"""

from __future__ import annotations

import numpy as np


def greedy_coloring(count: int, edges: np.ndarray) -> np.ndarray:
    """Colours of `count` nodes such that the ends of every edge differ; `edges` has shape (n, 2)."""
    edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
    both = np.concatenate([edges, edges[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    starts = np.searchsorted(both[:, 0], np.arange(count + 1))
    neighbours = both[:, 1].tolist()
    colors = [-1] * count
    for node in np.argsort(-np.diff(starts), kind="stable").tolist():
        taken = {colors[other] for other in neighbours[starts[node] : starts[node + 1]]}
        color = 0
        while color in taken:
            color += 1
        colors[node] = color
    return np.array(colors, dtype=np.int32)


def _pairs(elements: np.ndarray) -> np.ndarray:
    """All pairs of corners of elements; missing corners (-1) have none."""
    width = elements.shape[1] if elements.ndim == 2 else 0
    pairs = [elements[:, [a, b]] for a in range(width) for b in range(a + 1, width)]
    found = np.concatenate(pairs) if pairs else np.empty((0, 2), int)
    return found[(found >= 0).all(axis=1)]


def color_particles(
    count: int, triangles: np.ndarray, tetrahedra: np.ndarray, springs: np.ndarray, bending: np.ndarray | None
) -> np.ndarray:
    """Colours of particles that elements connect."""
    elements = [triangles, tetrahedra, springs, *([] if bending is None else [bending])]
    return greedy_coloring(count, np.concatenate([_pairs(rows) for rows in elements]))


def color_bodies(count: int, parent: np.ndarray, child: np.ndarray) -> np.ndarray:
    """Colours of bodies that joints connect; the world has none."""
    return greedy_coloring(count, _pairs(np.stack([parent, child], axis=1)))
