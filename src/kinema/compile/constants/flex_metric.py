"""What the metric M + h² K of elastic flexes has that does not change: the factor of its bending part, and an order.

    efm0    sparse factor of H = M + (h² + h d) K_bend over the dofs of the vertices of bending sheets, H = Lᵀ L;
            without h² where springs are switched off, and without h d where dampers are. The last row is eliminated
            first, so L is lower triangular. Vertices of a flap couple, each of its coordinates with all of the
            others' (but not with each other), whatever the numbers are
    efmC    an order of the vertices of all flexes that are elastic or held by their edges, in which K factors with
            little fill: the one with the fewest neighbours goes next, among equals who lost one last; stored from
            the last to the first

Only vertices that are a body of their own on the ground, with sliders along x, y and z, take part; for the factor they
must be in that order, and all others of the flex fixed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np

from kinema.compile.constants.kinematics import Pose
from kinema.mujoco_enums import Disable, Joint

Array = np.ndarray

STRAIN = 3  # flex_edgeequality of a flex whose strain is kept by rows
MOST_VERTICES = 8192
"""More are not put in order."""


def flex_metric(m, pose: Pose) -> dict[str, Any]:
    """The efm0 and efmC arrays."""
    return _bending_factor(m, pose) | {"efmC_perm": _order(m)}


# ---- who takes part


def _elastic(m, f: int) -> tuple[bool, bool]:
    """Whether a flex bends, and whether it stretches, by vertices of its own."""
    if m.flex_interp[f] or m.flex_rigid[f]:
        return False, False
    bends = m.flex_dim[f] < 3 and m.flex_bendingadr[f] >= 0
    adr = m.flex_stiffnessadr[f]
    return bends, adr >= 0 and bool(np.asarray(m.flex_stiffness)[adr] != 0)


def _held(m, f: int) -> bool:
    """Whether the edges of a sheet or a solid keep their lengths."""
    return m.flex_edgeequality[f] == 1 and m.flex_dim[f] > 1 and not m.flex_interp[f] and not m.flex_rigid[f]


def _bodies(m, f: int) -> Array:
    return np.asarray(m.flex_vertbodyid)[m.flex_vertadr[f] : m.flex_vertadr[f] + m.flex_vertnum[f]]


def _sliding(m, f: int) -> tuple[Array, bool]:
    """Which vertices have a body with three sliders on the ground, and whether all others are fixed."""
    weld = np.asarray(m.body_weldid)[_bodies(m, f)]
    fixed = np.asarray(m.body_dofnum)[weld] == 0
    own = _slides(m, f, lambda axes: np.array_equal(axes, np.eye(3)))
    return own, bool((own | fixed).all())


def _slides(m, f: int, fit: Callable[[Array], bool]) -> Array:
    """Which vertices have a body with three sliders on the ground, along axes that fit."""
    body = _bodies(m, f)
    parent = np.asarray(m.body_weldid)[np.asarray(m.body_parentid)[body]]
    first = np.asarray(m.body_jntadr)[body]
    kind = np.asarray(m.jnt_type)
    three = (np.asarray(m.body_dofnum)[body] == 3) & (np.asarray(m.body_jntnum)[body] == 3)
    axes = np.asarray(m.jnt_axis).reshape(-1, 3)
    slides = np.array([
        bool(t) and (kind[j : j + 3] == Joint.SLIDE).all() and fit(axes[j : j + 3])
        for t, j in zip(three, first, strict=True)
    ])  # fmt: skip
    return slides & (np.asarray(m.body_dofnum)[parent] == 0)


def _along_axes(axes: Array) -> bool:
    """Is each along x, y or z, in whatever order?"""
    return bool((np.count_nonzero(axes, axis=1) == 1).all())


def flaps(m, f: int) -> Array:
    """Vertices of two triangles that share an edge, those of the edge first."""
    edges = slice(m.flex_edgeadr[f], m.flex_edgeadr[f] + m.flex_edgenum[f])
    flap = np.concatenate([np.asarray(m.flex_edge)[edges], np.asarray(m.flex_edgeflap)[edges]], axis=1)
    return flap[flap[:, 3] >= 0]


def bend_vertices(m, f: int) -> Array:
    """Vertices of the bends of a rod, four each; where there are three, the last one twice."""
    adr = m.flex_bendingadr[f]
    number = int(np.asarray(m.flex_bending)[adr])
    record = np.asarray(m.flex_bending)[adr + 1 : adr + 1 + 10 * number].reshape(number, 10)[:, :4].astype(int)
    record[record[:, 3] < 0, 3] = record[record[:, 3] < 0, 2]
    return record


def _stencils(m, f: int) -> list[Array]:
    """Groups of vertices that a flex couples: flaps, hinges of rods, elements, edges that are held."""
    bends, stretches = _elastic(m, f)
    found = []
    if _held(m, f):
        found.append(np.asarray(m.flex_edge)[m.flex_edgeadr[f] : m.flex_edgeadr[f] + m.flex_edgenum[f]])
    if bends and m.flex_dim[f] == 2:
        found.append(flaps(m, f))
    elif bends:
        found.append(bend_vertices(m, f))
    if stretches:
        width = int(m.flex_dim[f]) + 1
        adr = m.flex_elemdataadr[f]
        found.append(np.asarray(m.flex_elem)[adr : adr + width * m.flex_elemnum[f]].reshape(-1, width))
    return found


def _coupled(stencil: Array, slot: Array) -> Array:
    """Pairs of slots (n, 2), each once, larger first, that share a stencil; -1 takes no part."""
    slots = slot[stencil]
    width = slots.shape[1]
    pairs = np.concatenate([slots[:, [a, b]] for a in range(width) for b in range(a)] or [np.zeros((0, 2), int)])
    pairs = pairs[(pairs >= 0).all(axis=1) & (pairs[:, 0] != pairs[:, 1])]
    return np.unique(np.sort(pairs, axis=1)[:, ::-1], axis=0)


# ---- the factor of bending


def _bending_factor(m, pose: Pose) -> dict[str, Any]:
    """Rows of L, flex after flex."""
    dofs: list[Array] = []
    colind: list[Array] = []
    values: list[Array] = []
    count: list[int] = []
    for f in range(m.nflex):
        own, simple = _sliding(m, f) if m.flex_dim[f] == 2 and _elastic(m, f)[0] else (np.zeros(0, bool), False)
        if not simple or not own.any():
            continue
        slot = np.where(own, np.cumsum(own) - 1, -1)
        first = np.asarray(m.body_dofadr)[_bodies(m, f)[own]]
        rows = _factor_rows(3 * int(own.sum()), _coupled(flaps(m, f), slot))
        start = sum(len(part) for part in dofs)
        dofs.append((first[:, None] + np.arange(3)).ravel())
        matrix = _bending_matrix(m, pose, f, slot, first)
        values += _reverse_cholesky(matrix, rows)
        count += [len(row) for row in rows]
        colind += [row + start for row in rows]
    number = np.array(count, np.int32)
    return {
        "efm0_dofid": _joined(dofs, np.int32), "efm0_L_rownnz": number,
        "efm0_L_rowadr": (np.cumsum(number) - number).astype(np.int32), "efm0_L_colind": _joined(colind, np.int32),
        "efm0_L": _joined(values, np.float64),
    }  # fmt: skip


def _joined(parts: list[Array], dtype: Any) -> Array:
    return np.concatenate([np.zeros(0, dtype), *parts]).astype(dtype)


def _factor_rows(number: int, pairs: Array) -> list[Array]:
    """Columns of every row of L, diagonal last.

    Eliminating a row couples all its columns, the largest of which inherits the others.
    """
    below: list[list[Array]] = [[] for _ in range(number)]
    order = np.argsort(pairs[:, 0], kind="stable")
    pairs = pairs[order]
    begin = np.searchsorted(pairs[:, 0], np.arange(number // 3 + 1))
    rows: list[Array] = [np.zeros(0, np.int64)] * number
    for i in range(number - 1, -1, -1):
        vertex = i // 3
        near = pairs[begin[vertex] : begin[vertex + 1], 1]
        own = (3 * near[:, None] + np.arange(3)).ravel()
        columns = np.unique(np.concatenate([own, *below[i]]))
        if len(columns):
            below[columns[-1]].append(columns[:-1])
        below[i] = []
        rows[i] = np.append(columns, i)
    return rows


def _bending_matrix(m, pose: Pose, f: int, slot: Array, first: Array) -> Array:
    """H of one flex: (3, n, n), one matrix a coordinate where all bodies are turned alike; else (1, 3n, 3n)."""
    h, damping = float(m.opt.timestep), float(m.flex_damping[f])
    edges, adr = slice(m.flex_edgeadr[f], m.flex_edgeadr[f] + m.flex_edgenum[f]), m.flex_bendingadr[f]
    flap = np.concatenate([np.asarray(m.flex_edge)[edges], np.asarray(m.flex_edgeflap)[edges]], axis=1)
    form = np.asarray(m.flex_bending)[adr : adr + 17 * len(flap)].reshape(-1, 17)[:, :16].reshape(-1, 4, 4)
    inner = (flap[:, 3] >= 0) & (np.trace(form, axis1=1, axis2=2) >= 0)  # one of negative stiffness is left out
    slots, n = slot[flap[inner]], len(first)
    stiffness = np.zeros((n, n))
    row, column = np.broadcast_arrays(slots[:, :, None], slots[:, None, :])
    free = (row >= 0) & (column >= 0)
    np.add.at(stiffness, (row[free], column[free]), form[inner][free])
    off = int(m.opt.disableflags)
    stiffness *= (0.0 if off & Disable.SPRING else h * h) + (0.0 if off & Disable.DAMPER else h * damping)
    dof = first[:, None] + np.arange(3)
    mass = np.asarray(m.body_mass)[np.asarray(m.dof_bodyid)[dof]] + np.asarray(m.dof_armature)[dof]
    axes = pose.cdof[0][dof][..., 3:]  # (n, 3, 3): a row a slider
    turned = np.einsum("aik,bjk->abij", axes, axes)
    if np.allclose(turned, np.eye(3), atol=1e-12):
        return stiffness + np.stack([np.diag(mass[:, k]) for k in range(3)])
    full = (stiffness[:, :, None, None] * turned).transpose(0, 2, 1, 3).reshape(3 * n, 3 * n)
    return (full + np.diag(mass.ravel()))[None]


def _reverse_cholesky(matrix: Array, rows: list[Array]) -> list[Array]:
    """Values of the rows of L with H = Lᵀ L."""
    flipped = np.linalg.cholesky(matrix[:, ::-1, ::-1])
    factor = flipped[:, ::-1, ::-1].swapaxes(1, 2)
    if len(factor) == 1:
        return [factor[0, i, row] for i, row in enumerate(rows)]
    return [np.where(row % 3 == i % 3, factor[i % 3, i // 3, row // 3], 0.0) for i, row in enumerate(rows)]


# ---- the order


def _order(m) -> Array:
    """First dofs of vertices in the order of a factor that fills little; -1 in what is left."""
    room = _room(m)
    perm = np.full(room, -1, np.int32)
    active = [f for f in range(m.nflex) if any(_elastic(m, f)) or _held(m, f)]
    cells = any(
        m.flex_interp[f] and m.flex_stiffnessadr[f] >= 0 and m.flex_edgeequality[f] != STRAIN for f in range(m.nflex)
    )
    if not room or cells:
        return perm
    pairs, alone = [np.zeros((0, 2), int)], [np.zeros(0, int)]
    for f in active:
        dof = np.where(_slides(m, f, _along_axes), np.asarray(m.body_dofadr)[_bodies(m, f)], -1)
        if _held(m, f):
            alone.append(dof)  # those that no edge has too
        for stencil in _stencils(m, f):
            pairs.append(_coupled(stencil, dof))
            alone.append(dof[stencil].ravel())
    edges = np.unique(np.concatenate(pairs), axis=0)
    dofs = np.unique(np.concatenate(alone))
    dofs = dofs[dofs >= 0]
    number = len(dofs)
    if not 0 < number <= min(room, MOST_VERTICES):
        return perm
    perm[:number] = dofs[_minimum_degree(number, np.searchsorted(dofs, edges))][::-1]
    return perm


def _room(m) -> int:
    """Vertices of flexes that may be elastic; never more than triples of dofs."""
    number = 0
    for f in range(m.nflex):
        if m.flex_interp[f] or m.flex_rigid[f] or (m.flex_dim[f] == 1 and m.flex_bendingadr[f] < 0):
            continue
        number += int(m.flex_vertnum[f])
    return min(number, m.nv // 3)


def _minimum_degree(number: int, edges: Array) -> Array:
    """Vertices in the order of elimination; neighbours are the bits of an integer a vertex."""
    near = [0] * number
    for a, b in edges.tolist():
        near[a] |= 1 << b
        near[b] |= 1 << a
    degree = [bits.bit_count() for bits in near]
    stamp = list(range(number))  # who lost a neighbour last goes first
    heap = [(degree[v], stamp[v], v) for v in range(number)]
    heapq.heapify(heap)
    order, clock = [], 0
    while heap:
        fewest, when, vertex = heapq.heappop(heap)
        if (fewest, when) != (degree[vertex], stamp[vertex]):
            continue
        order.append(vertex)
        degree[vertex] = -1
        clique, gone = near[vertex], 1 << vertex
        left = clique
        while left:
            low = left & -left
            other = low.bit_length() - 1
            left ^= low
            near[other] = (near[other] | clique) & ~(gone | low)
            clock -= 1
            degree[other], stamp[other] = near[other].bit_count(), clock
            heapq.heappush(heap, (degree[other], clock, other))
    return np.array(order)
