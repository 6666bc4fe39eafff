"""Cells of interpolated flexes: their nodes, and how a cell has turned and stretched follows from them.

A flex with trilinear or quadratic dofs lies in a lattice of nodes, order + 1 a cell and axis. Volumes are elastic in
their cells; shells in the squares that bound the lattice, and nodes inside follow from those on the boundary
(transfinite interpolation, Gordon and Hall 1973): faces, minus edges, plus corners,

    x(s, t, u) = sum over pairs of opposite faces  -  over pairs of opposite edges  +  over corners

so they are weighted sums of the others, and all that hangs on them is too.

The gradient of the place at the middle of a cell by the place at rest is F = sum of x_j g_j' over its nodes, with
constant g_j: derivatives of the basis functions over the size of the cell. Of squares it has two columns, and the
normal they make is the third.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from kinema.geometry.flex_lattice import lattice_elements, node_number
from kinema.mujoco_enums import MINVAL, Joint

STRAIN = 3  # flex_edgeequality of a flex whose strain is kept
CREASE = 10  # numbers of a crease: two squares, two places, stiffness, the jump of the normal at rest
GRADIENT = {1: ([0.5, 0.5], [-1.0, 1.0]), 2: ([0.0, 1.0, 0.0], [-1.0, 0.0, 1.0])}
"""Basis functions and their derivatives in the middle of a cell, by order."""


def lattice(m: Any, f: int) -> tuple[int, np.ndarray]:
    """Order of a flex, and its nodes along each axis."""
    order = abs(int(m.flex_interp[f]))
    return order, np.asarray(m.flex_cellnum).reshape(-1, 3)[f] * order + 1


def elements(m: Any, f: int) -> list[tuple[list[int], int]]:
    """What an interpolated flex is elastic in: cells of a volume, squares of a shell."""
    order, grid = lattice(m, f)
    return lattice_elements(order, tuple(grid.tolist()), int(m.flex_interp[f]) < 0)


def interpolated(m: Any) -> list[int]:
    """The flexes whose vertices hang on nodes."""
    return [f for f in range(m.nflex) if m.flex_interp[f]]


def keeps_strain(m: Any, f: int) -> bool:
    """Is the strain of a flex kept by rows, so that modes of strain lie where its stiffness would?"""
    return int(m.flex_edgeequality[f]) == STRAIN


def stiffness_of(m: Any, f: int) -> np.ndarray:
    """Where the stiffness of each element of an interpolated flex begins; -1: it has none."""
    found = elements(m, f)
    adr = int(m.flex_stiffnessadr[f])
    if adr < 0 or keeps_strain(m, f) or m.flex_rigid[f]:
        return np.full(len(found), -1)
    size = (3 * len(found[0][0])) ** 2
    each = adr + size * np.arange(len(found))
    if int(m.flex_interp[f]) < 0:
        alive = bool(np.any(np.asarray(m.flex_stiffness)[adr : adr + size * len(found)]))
        return np.where(alive, each, -1)
    return np.where(np.asarray(m.flex_stiffness)[each] != 0, each, -1)


def node_bases(m: Any) -> np.ndarray:
    """For each flex the body whose frame all its nodes slide in; -1: there is no such body."""
    turning = np.zeros(m.nbody, bool)
    turning[np.asarray(m.jnt_bodyid)[np.asarray(m.jnt_type) != Joint.SLIDE]] = True
    found = np.full(m.nflex, -1)
    for f in interpolated(m):
        first = int(m.flex_nodeadr[f])
        body = np.asarray(m.flex_nodebodyid)[first : first + int(m.flex_nodenum[f])]
        base = np.where(np.asarray(m.body_jntnum)[body] == 0, body, np.asarray(m.body_parentid)[body])
        if not turning[body].any() and (base == base[0]).all():
            found[f] = base[0]
    return found


def cell_lists(m: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cells, their nodes, and six numbers a node: its gradient, and its rest place from that of the first.

    The second number of a cell says where its stiffness begins; -1: it has none; -2 - where its modes of strain do.
    """
    cells: list[tuple[int, ...]] = []
    nodes: list[tuple[int, ...]] = []
    numbers: list[list[float]] = []
    before = len(m.flex_stiffness) + len(m.flex_bending)
    node0 = np.asarray(m.flex_node0).reshape(-1, 3)
    for f in interpolated(m):
        order = abs(int(m.flex_interp[f]))
        first = int(m.flex_nodeadr[f])
        for k, ((own, axis), adr) in enumerate(zip(elements(m, f), stiffness_of(m, f), strict=True)):
            if keeps_strain(m, f) and int(m.flex_stiffnessadr[f]) >= 0:
                adr = -2 - (int(m.flex_stiffnessadr[f]) + k * (3 * len(own)) ** 2 + 1)
            cells.append((f, int(adr), len(nodes), len(own), axis))
            rest = node0[first + np.array(own)]
            for place, gradient in zip(rest, gradients(order, axis, rest[-1] - rest[0]), strict=True):
                nodes.append((len(cells) - 1, int(m.nflexvert) + first + own[len(numbers) - cells[-1][2]],
                              before + 6 * len(numbers)))  # fmt: skip
                numbers.append([*gradient, *(place - rest[0])])
    return (
        np.array(cells, int).reshape(-1, 5), np.array(nodes, int).reshape(-1, 3), np.array(numbers).reshape(-1, 6)
    )  # fmt: skip


def plastic_of_cells(m: Any) -> np.ndarray:
    """Where the plastic state of each cell begins, six numbers of a cell, three of a square; -1: it does not yield."""
    found = [np.zeros(0, int)]
    for f in interpolated(m):
        stiff = stiffness_of(m, f)
        numbers = 3 if int(m.flex_interp[f]) < 0 else 6
        soft = (stiff >= 0) & (int(m.flex_plasticmode[f]) != 0)
        found.append(np.where(soft, int(m.flex_plasticadr[f]) + numbers * np.arange(len(stiff)), -1))
    return np.concatenate(found)


def cell_rows(m: Any) -> np.ndarray:
    """Cells, then their nodes, five numbers each.

        cell    flex, address of its stiffness (cell_lists), first of its nodes, their number, the axis it is normal to
        node    cell, the node as a point, address of its gradient and rest place, 0, 0
    """
    cell, node, _ = cell_lists(m)
    return np.concatenate([cell, np.pad(node, ((0, 0), (0, 2)))])


def gradients(order: int, axis: int, size: np.ndarray) -> np.ndarray:
    """g_j of the nodes of a cell; of a square 0 along its normal."""
    value, slope = (np.array(part) for part in GRADIENT[order])
    scale = np.where(size > MINVAL, size, 1.0)
    axes = [0, 1, 2] if axis < 0 else [(axis + 1) % 3, (axis + 2) % 3]
    found = []
    for place in product(range(order + 1), repeat=len(axes)):
        g = np.zeros(3)
        for a, along in enumerate(axes):
            parts = [slope[k] if b == a else value[k] for b, k in enumerate(place)]
            g[along] = np.prod(parts) / scale[along]
        found.append(g)
    return np.array(found)


def creases(m: Any) -> np.ndarray:
    """Where two squares of a shell that resists bending meet: six numbers each.

        0, 1  the squares, as cells     2  first of its slots, one for each node of both     3  nodes of a square
        4     its flex                  5  address of its numbers
    """
    found, slot, first = [], 0, 0
    for f in interpolated(m):
        squares_of = elements(m, f)
        adr = int(m.flex_bendingadr[f])
        if int(m.flex_interp[f]) < 0 and adr >= 0 and not m.flex_rigid[f]:
            nodes = len(squares_of[0][0])
            for e in range(int(m.flex_bending[adr])):
                at = adr + 1 + CREASE * e
                one, two = (first + int(m.flex_bending[at + k]) for k in range(2))
                if m.flex_bending[at + 6] > 0:
                    found.append((one, two, slot, nodes, f, len(m.flex_stiffness) + at))
                    slot += 2 * nodes
        first += len(squares_of)
    return np.array(found, int).reshape(-1, 6)


def vertex_cells(m: Any) -> np.ndarray:
    """The cell of each vertex, its three numbers in ten bits each; -1 where vertices are bodies."""
    found = np.full(m.nflexvert, -1)
    for f in interpolated(m):
        order, grid = lattice(m, f)
        mine = slice(int(m.flex_vertadr[f]), int(m.flex_vertadr[f]) + int(m.flex_vertnum[f]))
        x, y, z = np.unravel_index(np.asarray(m.flex_vertcell)[mine], tuple((grid - 1) // order))
        found[mine] = x + 1024 * (y + 1024 * z)
    return found


def node_weights(m: Any, f: int) -> np.ndarray:
    """Nodes as weighted sums of nodes with places of their own, (nodes, nodes): the identity but inside of a shell."""
    _, grid = lattice(m, f)
    found = np.eye(int(np.prod(grid)))
    if int(m.flex_interp[f]) > 0 or grid.min() < 3:
        return found
    for place in product(*(range(1, int(n) - 1) for n in grid)):
        row = np.zeros(len(found))
        share = np.array(place) / (grid - 1)
        for moved in product((False, True), repeat=3):
            axes = np.flatnonzero(moved)
            sign = (0, 1, -1, 1)[len(axes)]
            for ends in product((0, 1), repeat=len(axes)):
                at = np.array(place)
                at[axes] = np.array(ends, int) * (grid[axes] - 1)
                weight = np.prod(np.where(np.array(ends) == 1, share[axes], 1 - share[axes])) if len(axes) else 0.0
                row[node_number(grid, at)] += sign * weight
        found[node_number(grid, place)] = row
    return found
