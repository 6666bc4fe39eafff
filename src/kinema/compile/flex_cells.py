"""Interpolated flexes: vertices carried along by the nodes of a lattice of cells around them.

A cell has (p + 1)^3 nodes, p = 1 (trilinear) or 2 (quadratic); a vertex at (s, t, u) in its cell is where the nodes'
polynomials φ_i(s) φ_j(t) φ_k(u) put it. The lattice fills the box around the points.

    solid    what is elastic is what lies inside the surface of the flex (finite cell method): energies are integrated
             over cut cells (geometry/cell_filling.py), what is outside counts a millionth
    shell    (elastic2d) what is elastic is the surface of the lattice: faces that stretch and fold (flex_shell.py)
    empty    cells that hold nothing; nodes of empty cells alone belong to the parent body, as do those inside a shell
    mass     ∫ N_i over what lies inside, N the hat function or quadratic B-spline of a node, which are positive; of
             each cell at least a fiftieth of what a full one would give

The stiffness of a cell is K = -∫ Bᵀ C B, isotropic. Where a strain constraint holds a flex it is kept as the vectors
√λ v of its deformations instead (rigid motions left out), for a material of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kinema.compile import flex_shell, pose
from kinema.compile.element import Element
from kinema.compile.flex_stiffness import BASIS, cut_stiffness, whole_stiffness
from kinema.geometry.cell_filling import Filling, filling
from kinema.geometry.cell_moments import full_moments
from kinema.geometry.flex_points import FlexPoints
from kinema.geometry.jacobi import eigenvectors
from kinema.mujoco_enums import MINVAL

if TYPE_CHECKING:
    from kinema.compile.flex import Flex
    from kinema.compile.flexcomp import Flexcomp

OUTSIDE = 1e-6
"""What material outside the surface counts, so that a cell that is hardly filled can be inverted."""
LIGHTEST = 0.02
"""Least mass that a cell gives a node, as a share of what a full one would."""
STRAIN_MATERIAL = 10.0, 0.3
"""Young's modulus and Poisson's ratio of the deformations that strain constraints hold."""
FLAT = 1e-8

Cells = tuple[int, int, int]
Box = tuple[np.ndarray, np.ndarray]

SPREAD = {1: BASIS[1], 2: np.array([[0.5, -1, 0.5], [0.5, 1, -1], [0, 0, 0.5]])}
"""Coefficients of N_i, by which mass is shared out."""


# ---- nodes, made by flexcomps


@dataclass(frozen=True)
class Lattice:
    """Nodes around the points of a flexcomp.

    Attributes:
        count: Nodes along each axis.
        position: (n, 3) where they are, x slowest.
        held: Which of them move nothing, and belong to the parent.
        share: (n,) what mass each takes.
    """

    count: Cells
    position: np.ndarray
    held: np.ndarray
    share: np.ndarray

    def mass(self, held: np.ndarray, total: float) -> np.ndarray:
        """Mass of every node, of which those that are not held sum up to `total`."""
        return self.share * (total / self.share[~held].sum() if (~held).any() else 0.0)


def lattice_of(points: FlexPoints, cells: Cells, order: int, box: Box, *, shell: bool, e: Element) -> Lattice:
    """The lattice of nodes that fills a box, and what it holds."""
    if min(cells) < 1:
        raise e.error("cellcount must be positive along each axis", "cellcount")
    count = tuple(order * n + 1 for n in cells)
    low, high = box
    at = np.stack(np.meshgrid(*(np.arange(n) / (n - 1) for n in count), indexing="ij"), axis=-1).reshape(-1, 3)
    inner = np.zeros(count, bool)
    if shell:
        inner[1:-1, 1:-1, 1:-1] = True
        share = flex_shell.shares(count, order)
    else:
        content = filling(points.point, points.element, points.dim, cells, order, low, high)
        inner = ~_touched(~content.empty, order)
        share = _shares(content, order)
    return Lattice(count, low + at * (high - low), inner.ravel(), share.ravel())  # type: ignore[arg-type]


def _touched(cells: np.ndarray, order: int) -> np.ndarray:
    """Nodes of chosen cells."""
    nodes = np.zeros([order * n + 1 for n in cells.shape], bool)
    for cell in np.argwhere(cells):
        nodes[tuple(slice(order * i, order * i + order + 1) for i in cell)] = True
    return nodes


def _shares(content: Filling, order: int) -> np.ndarray:
    """What mass every node takes, in volumes of a cell."""
    spread = SPREAD[order]
    width = order + 1
    moments = content.moments[..., :width, :width, :width]
    inside = np.einsum("...ijk,ai,bj,ck->...abc", moments, spread, spread, spread)
    whole = np.einsum("ijk,ai,bj,ck->abc", full_moments(order), spread, spread, spread)
    inside = np.maximum(inside + OUTSIDE * (whole - inside), LIGHTEST * whole)
    share = np.zeros([order * n + 1 for n in content.empty.shape])
    for cell in np.argwhere(~content.empty):
        share[tuple(slice(order * i, order * i + width) for i in cell)] += inside[tuple(cell)]
    return share


def strained(f: Flexcomp) -> np.ndarray:
    """Rows (n, 3) that name what a strain constraint of a flexcomp holds: cells, or faces of a shell."""
    if f.shell:
        return flex_shell.face_names(f.cells)
    return np.argwhere(~filling(f.points.point, f.points.element, f.points.dim, f.cells, f.order, *f.box).empty)


# ---- the flex


def check_nodes(f: Flex) -> None:
    """Nodes must be as many as the cells have."""
    number = len(f.nodebody)
    if number and not f.order:
        raise f.e.error("a flex with nodes needs dof='trilinear' or 'quadratic'")
    if not f.order:
        return
    if min(f.cells) < 1:
        raise f.e.error("cellcount must be positive along each axis", "cellcount")
    wanted = int(np.prod([n * f.order + 1 for n in f.cells]))
    if number != wanted:
        raise f.e.error(f"the flex has {number} nodes, but its cellcount and dof ask for {wanted}")
    if len(f.node) not in (0, number):
        raise f.e.error(f"nodecoord holds {len(f.node)} places for {number} nodes")


def compile_cells(f: Flex) -> None:
    """Set where nodes and vertices are in the lattice, and how stiff its cells are."""
    grid = f.xnode.reshape(*(n * f.order + 1 for n in f.cells), 3)
    axes = _axes(f, grid)
    node, vert = _along(f.xnode, axes), _along(f.xvert, axes)
    low, high = node.min(axis=0), node.max(axis=0)
    wide = high - low > MINVAL
    inside = np.where(wide, (vert - low) / np.where(wide, high - low, 1.0), 0.5)
    cell = np.clip((inside * np.array(f.cells)).astype(int), 0, np.array(f.cells) - 1)
    f.row |= {"flex_size": (high - low) / 2, "flex_vert0": inside, "flex_node0": node}
    if f.shell:
        flex_shell.compile_shell(f, node)
    else:
        content = filling(vert, f.element, f.dim, f.cells, f.order, low, high)
        cell = _into_full_cells(f, inside, cell, content.empty)
        if f.young > 0 or f.strained:
            _solid(f, content, (high - low) / np.array(f.cells))
    f.row["flex_vertcell"] = np.ravel_multi_index(tuple(cell.T), f.cells)


def _into_full_cells(f: Flex, inside: np.ndarray, cell: np.ndarray, empty: np.ndarray) -> np.ndarray:
    """Cells of vertices; one that only reaches to an empty cell is in the nearest that holds something."""
    outside, full = np.flatnonzero(empty[tuple(cell.T)]), np.argwhere(~empty)
    if len(outside) and len(full):
        at = inside[outside, None] * np.array(f.cells)
        away = np.maximum(np.maximum(full - at, at - full - 1), 0.0)
        cell[outside] = full[np.argmin((away**2).sum(axis=2), axis=1)]
    return cell


def _along(point: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Coordinates along the axes, summed in order: which cell a vertex on a boundary is in hangs on the last digit."""
    return np.stack([a[0] * point[:, 0] + a[1] * point[:, 1] + a[2] * point[:, 2] for a in axes], axis=1)


def _axes(f: Flex, grid: np.ndarray) -> np.ndarray:
    """Directions of the lattice, a row each; they must be at right angles."""
    p = f.order
    sides = np.stack([grid[p, 0, 0], grid[0, p, 0], grid[0, 0, p]]) - grid[0, 0, 0]
    axes = np.array([pose.normalize(side)[0] for side in sides.tolist()])
    if np.abs(axes @ axes.T - np.eye(3)).max() > FLAT:
        raise f.e.error("the lattice of nodes is flat or not at right angles: its axes must be orthonormal")
    return axes


def _solid(f: Flex, content: Filling, size: np.ndarray) -> None:
    empty, moments = content.empty.ravel(), content.moments.reshape(-1, *content.moments.shape[3:])
    moments = moments + OUTSIDE * (full_moments(2 * f.order) - moments)
    material = STRAIN_MATERIAL if f.strained else (f.young, f.poisson)
    whole = moments[~empty, 0, 0, 0] > 1.0 - FLAT
    stiffness = cut_stiffness(moments[~empty], size, f.order, *material)
    if whole.any():
        stiffness[whole] = whole_stiffness(size, f.order, *material)
    number = stiffness.shape[-1]
    out = np.zeros((len(empty), number * number))
    out[~empty] = eigenvectors(stiffness)[0] if f.strained else stiffness.reshape(len(stiffness), -1)
    f.row["flex_stiffness"] = out.ravel()
    flows = f.row["flex_yield"][0] > 0 and f.young > 0 and not f.rigid
    f.row["flex_plasticmode"] = 2 * int(flows)
    f.plastic = 6 * len(empty) * int(flows)


def idle_nodes(f: Flex) -> np.ndarray:
    """Which nodes move nothing: those inside a shell, or of empty cells alone."""
    if f.shell:
        inner = np.zeros([n * f.order + 1 for n in f.cells], bool)
        inner[1:-1, 1:-1, 1:-1] = True
        return inner.ravel()
    size = 2 * f.row["flex_size"]
    content = filling(f.row["flex_vert0"] * size, f.element, f.dim, f.cells, f.order, np.zeros(3), size)
    return ~_touched(~content.empty, f.order).ravel()
