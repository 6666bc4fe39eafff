"""Interpolated flexes whose shell is elastic: the faces of the lattice of cells stretch, and fold along their edges.

Faces are numbered side by side: x = 0, x = max, y = 0, ...; on the side across axis n they run along the axes n + 1
(slow) and n + 2 (fast). A face has (p + 1)^2 nodes.

    stretching   K of a plane face (flex_stiffness.py); where strain is held, the vectors √λ v of its deformations, and
                 one of its twist out of the plane, w = (1 - 2 s)(1 - 2 t), of stiffness 4 D (1 - ν) / area
    folding      for each edge of two faces: their numbers, the middle of the edge in the coordinates of either,
                 D length / distance, and the difference of their normals; D = E t³ / 12 (1 - ν²)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from kinema.compile.flex_stiffness import face_stiffness, slopes, values
from kinema.geometry.jacobi import eigenvectors

if TYPE_CHECKING:
    from kinema.compile.flex import Flex

Cells = tuple[int, int, int]
FOLD = 10
"""Numbers kept for each edge of two faces."""
TINY = 1e-12


def shares(count: tuple[int, ...], order: int) -> np.ndarray:
    """What mass every node takes: the same with trilinear dofs, the weights of Simpson's rule with quadratic ones."""
    if order == 1:
        return np.ones(count)
    weights = []
    for number in count:
        weight = np.where(np.arange(number) % 2 == 1, 2 / 3, 1 / 3)
        weight[[0, -1]] = 1 / 6
        weights.append(weight)
    return weights[0][:, None, None] * weights[1][:, None] * weights[2]


def face_names(cells: Cells) -> np.ndarray:
    """(n, 3): the number of each face, and -1 twice."""
    x, y, z = cells
    number = 2 * (y * z + x * z + x * y)
    return np.stack([np.arange(number), np.full(number, -1), np.full(number, -1)], axis=1)


class _Faces:
    """The faces of a lattice and their nodes."""

    def __init__(self, cells: Cells, order: int, node: np.ndarray):
        self.cells, self.order = cells, order
        self.node = node.reshape(*(n * order + 1 for n in cells), 3)
        self.counts = [(cells[(n + 1) % 3], cells[(n + 2) % 3]) for n in (0, 0, 1, 1, 2, 2)]
        sizes = [a * b for a, b in self.counts]
        self.first = [sum(sizes[:side]) for side in range(6)]

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        """Side, and place along the slow and the fast axis, in order of number."""
        for side, (slow, fast) in enumerate(self.counts):
            for a in range(slow):
                for b in range(fast):
                    yield side, a, b

    def number(self, side: int, a: int, b: int) -> int:
        return self.first[side] + a * self.counts[side][1] + b

    def nodes(self, side: int, a: int, b: int) -> np.ndarray:
        """((p + 1)^2, 3) positions, fast axis first."""
        n, p = side // 2, self.order
        index: list = [0, 0, 0]
        index[n] = -1 if side % 2 else 0
        index[(n + 1) % 3] = np.arange(a * p, a * p + p + 1)[:, None]
        index[(n + 2) % 3] = np.arange(b * p, b * p + p + 1)[None]
        return self.node[tuple(index)].reshape(-1, 3)

    def neighbour(self, side: int, a: int, b: int, along: int, step: int) -> tuple[tuple[int, int, int], list[float]]:
        """The face beyond an edge, and the middle of that edge in its coordinates."""
        place, n = [a, b], side // 2
        place[along] += step
        if 0 <= place[along] < self.counts[side][along]:
            middle = [0.5, 0.5]
            middle[along] = 0.0 if step > 0 else 1.0
            return (side, place[0], place[1]), middle
        axis = (n + 1 + along) % 3  # round the corner, onto the side across this axis
        other = 2 * axis + (step > 0)
        end = self.cells[n] - 1 if side % 2 else 0
        edge = float(side % 2)
        if along == 0:
            return (other, b, end), [0.5, edge]
        return (other, end, a), [edge, 0.5]


def compile_shell(f: Flex, node: np.ndarray) -> None:
    """Set how stiff the faces of the lattice are, and its folds."""
    faces = _Faces(f.cells, f.order, node)
    if f.strained or (f.young > 0 and f.elastic2d >= 2):
        f.row["flex_stiffness"] = np.concatenate([_stretching(f, faces, *face) for face in faces])
    if f.young > 0 and f.elastic2d in (1, 3):
        f.row["flex_bending"] = _folding(f, faces)
    flows = f.row["flex_yield"][0] > 0 and f.young > 0 and f.elastic2d >= 2 and not f.rigid
    f.row["flex_plasticmode"] = 2 * int(flows)
    f.plastic = 3 * len(list(faces)) * int(flows)


def _stretching(f: Flex, faces: _Faces, side: int, a: int, b: int) -> np.ndarray:
    from kinema.compile.flex_cells import STRAIN_MATERIAL

    young, poisson = STRAIN_MATERIAL if f.strained else (f.young, f.poisson)
    at, n = faces.nodes(side, a, b), side // 2
    axes = (n + 1) % 3, (n + 2) % 3
    size = float(at[-1, axes[0]] - at[0, axes[0]]), float(at[-1, axes[1]] - at[0, axes[1]])
    if not all(size):
        raise f.e.error("a face of the shell has no area: the lattice of nodes is flat")
    stiffness = face_stiffness(size, axes, f.order, young, poisson, f.thickness)
    if not f.strained:
        return stiffness.ravel()
    rows, number = eigenvectors(stiffness[None])
    width, found = len(stiffness), int(number[0])
    rigidity = young * f.thickness**3 / (12.0 * (1.0 - poisson * poisson))
    twist = rigidity * (1.0 - poisson) * 4.0 / abs(size[0] * size[1])
    rows[0, 1 + found * width : 1 + (found + 1) * width] = math.sqrt(twist) * _twist(at, f.order, n)
    rows[0, 0] = found + 1
    return rows[0]


def _twist(at: np.ndarray, order: int, normal: int) -> np.ndarray:
    """The unit displacement w = (1 - 2 s)(1 - 2 t) out of a face, what is rigid in it left out."""
    s = np.linspace(0.0, 1.0, order + 1)
    warp = np.zeros_like(at)
    warp[:, normal] = np.outer(1 - 2 * s, 1 - 2 * s).ravel()
    arm = at - at.mean(axis=0)
    rigid = [np.broadcast_to(axis, at.shape).ravel() for axis in np.eye(3)]
    rigid += [np.cross(axis, arm).ravel() for axis in np.eye(3)]
    basis: list[np.ndarray] = []
    for mode in (*rigid, warp.ravel()):
        mode = mode.copy()
        for one in basis:
            mode -= (mode @ one) * one
        length = math.sqrt(mode @ mode)
        basis.append(mode / length if length > 1e-10 else mode)
    return basis[-1]


def _folding(f: Flex, faces: _Faces) -> np.ndarray:
    rigidity = f.young * f.thickness**3 / (12.0 * (1.0 - f.poisson * f.poisson))
    rows = []
    for side, a, b in faces:
        mine = faces.number(side, a, b)
        for along in range(2):
            for step in (-1, 1):
                other, theirs_at = faces.neighbour(side, a, b, along, step)
                theirs = faces.number(*other)
                if mine < theirs:
                    mine_at = [0.5, 0.5]
                    mine_at[along] = 1.0 if step > 0 else 0.0
                    rows.append(_fold(f, faces, (side, a, b), mine, mine_at, other, theirs, theirs_at, rigidity))
    return np.concatenate([[float(len(rows))], *rows])


def _fold(f, faces, one, mine, mine_at, other, theirs, theirs_at, rigidity) -> np.ndarray:
    row = np.zeros(FOLD)
    normals, along, across = [], [], []
    for face, at in ((one, mine_at), (other, theirs_at)):
        first, second = _tangents(faces.nodes(*face), at, f.order)
        normal = np.cross(first, second)
        length = np.linalg.norm(normal)
        if length < TINY:
            return row
        normals.append(normal / length)
        sides = [float(np.linalg.norm(first)), float(np.linalg.norm(second))]
        runs = 0 if at[0] == 0.5 else 1
        along.append(sides[runs])
        across.append(sides[1 - runs])
    row[:7] = mine, theirs, *mine_at, *theirs_at, rigidity * (sum(along) / 2) / max(sum(across) / 2, TINY)
    row[7:] = normals[0] - normals[1]
    return row


def _tangents(at: np.ndarray, place: list[float], order: int) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of the position on a face along its axes."""
    phi, slope = [values(x, order) for x in place], [slopes(x, order) for x in place]
    first = np.outer(slope[0], phi[1]).ravel() @ at
    second = np.outer(phi[0], slope[1]).ravel() @ at
    return first, second
