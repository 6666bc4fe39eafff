"""The lattice of nodes that an interpolated flex lies in: which nodes its cells have, and the squares that bound it.

Nodes are counted along the axes, the last one fastest; a cell of order p has p + 1 of them along each axis and shares
those of its sides with its neighbours.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np


def node_number(grid: np.ndarray, place: Any) -> int:
    """The node at a place of the lattice, counted within its flex."""
    return int((place[0] * grid[1] + place[1]) * grid[2] + place[2])


def volumes(order: int, grid: np.ndarray) -> list[tuple[list[int], int]]:
    """Nodes of every cell, and -1: it has no normal."""
    local = list(product(range(order + 1), repeat=3))
    found = []
    for cell in product(*(range(int(n)) for n in (grid - 1) // order)):
        found.append(([node_number(grid, np.multiply(cell, order) + at) for at in local], -1))
    return found


def squares(order: int, grid: np.ndarray) -> list[tuple[list[int], int]]:
    """Nodes of every square of the boundary, and the axis it is normal to."""
    cells = (grid - 1) // order
    found = []
    for axis, far in product(range(3), (0, 1)):
        slow, fast = (axis + 1) % 3, (axis + 2) % 3
        for q0, q1 in product(range(int(cells[slow])), range(int(cells[fast]))):
            nodes = []
            for l0, l1 in product(range(order + 1), repeat=2):
                place = np.zeros(3, int)
                place[[axis, slow, fast]] = far * (grid[axis] - 1), q0 * order + l0, q1 * order + l1
                nodes.append(node_number(grid, place))
            found.append((nodes, axis))
    return found


@lru_cache(maxsize=64)
def lattice_elements(order: int, grid: tuple[int, int, int], shell: bool) -> list[tuple[list[int], int]]:
    """What is elastic in a lattice of so many nodes: its cells, or of a shell the squares."""
    return (squares if shell else volumes)(order, np.array(grid))
