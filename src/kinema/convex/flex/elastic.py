"""Which flexes are elastic, and the lists forces go by (elasticity.py): elements, hinges, cells, who gathers what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kinema.convex.flex import cells, rods
from kinema.convex.flex.tables import (
    element_places,
    element_vertices,
    has_flexes,
    leaves,
    owner,
    supports,
    vertex_bases,
)
from kinema.mujoco_enums import MINVAL, Equality

RECORD = {2: 21, 3: 24}  # numbers of the stiffness of an element, by dim: an upper triangle, and room
HINGE = 17  # numbers of a hinge: four by four, and one for a rest shape that is not flat


def is_stretchy(m: Any) -> np.ndarray:
    """Which flexes resist stretching of their elements."""
    adr = np.asarray(m.flex_stiffnessadr)
    first = np.array([m.flex_stiffness[a] if a >= 0 else 0.0 for a in adr])
    solid = (np.asarray(m.flex_dim) > 1) & (np.asarray(m.flex_interp) == 0) & ~np.asarray(m.flex_rigid).astype(bool)
    return solid & ((first != 0) | is_neo_hookean(m))


def is_neo_hookean(m: Any) -> np.ndarray:
    """Which flexes are Stable Neo-Hookean solids (neohookean.py)."""
    solid = (np.asarray(m.flex_dim) == 3) & (np.asarray(m.flex_interp) == 0) & (np.asarray(m.flex_elemnum) > 0)
    solid &= ~np.asarray(m.flex_rigid).astype(bool) & (np.asarray(m.flex_stiffnessadr) >= 0)
    for f in np.flatnonzero(solid):
        solid[f] = m.flex_stiffness[int(m.flex_stiffnessadr[f]) + 21] != 0
    return solid


def has_neo_hookean(m: Any) -> bool:
    """Is any flex such a solid?"""
    return has_flexes(m) and bool(np.any(is_neo_hookean(m)))


def is_bendy(m: Any) -> np.ndarray:
    """Which flexes resist bending at the edges between their triangles."""
    solid = (np.asarray(m.flex_dim) == 2) & (np.asarray(m.flex_interp) == 0) & ~np.asarray(m.flex_rigid).astype(bool)
    return solid & (np.asarray(m.flex_bendingadr) >= 0)


def is_meshed(m: Any) -> bool:
    """Is any flex elastic in the elements of its mesh?"""
    return has_flexes(m) and bool(np.any(is_stretchy(m) | is_bendy(m)))


def has_soft_cells(m: Any) -> bool:
    """Is any interpolated flex elastic?"""
    return has_flexes(m) and any((cells.stiffness_of(m, f) >= 0).any() for f in cells.interpolated(m))


def has_creases(m: Any) -> bool:
    """Does any interpolated shell resist bending?"""
    return has_flexes(m) and len(cells.creases(m)) > 0


def keeps_any_strain(m: Any) -> bool:
    """Do rows keep the strain of any flex?"""
    return bool(np.any(np.asarray(m.eq_type) == Equality.FLEXSTRAIN)) if has_flexes(m) else False


def is_elastic(m: Any) -> bool:
    """Does any flex have elastic forces?"""
    return is_meshed(m) or has_soft_cells(m) or has_creases(m) or rods.has_rods(m)


def element_stiffness(m: Any) -> np.ndarray:
    """Where the stiffness of each element begins; -1: it has none."""
    flex = owner(m, "elem")
    record = np.array([RECORD.get(int(dim), 0) for dim in m.flex_dim])[flex]
    adr = np.asarray(m.flex_stiffnessadr)[flex] + record * (np.arange(len(flex)) - np.asarray(m.flex_elemadr)[flex])
    return np.where(is_stretchy(m)[flex], adr, -1)


def element_list(m: Any) -> np.ndarray:
    """Of each element its flex, its place or 0, where its stiffness begins or -1, its edges; and the flex's leaves."""
    return np.column_stack([owner(m, "elem"), element_places(m), element_stiffness(m), element_edges(m), leaves(m)])


def element_edges(m: Any) -> np.ndarray:
    """The edges of each elastic element, six places each, counted over all flexes; -1: none.

    Of a segment of a rod that turns (rods.py) the first place holds which it is.
    """
    flex = owner(m, "elem")
    found = np.full((len(flex), 6), -1)
    for f in np.flatnonzero(is_stretchy(m)):
        number, first = (3, 6)[int(m.flex_dim[f]) - 2], int(m.flex_elemedgeadr[f])
        mine = np.asarray(m.flex_elemedge)[first : first + number * int(m.flex_elemnum[f])].reshape(-1, number)
        found[flex == f, :number] = mine + int(m.flex_edgeadr[f])
    return np.column_stack([np.maximum(found[:, 0], rods.segment_of_element(m)), found[:, 1:]])


def hinges(m: Any) -> np.ndarray:
    """Edges between two triangles of flexes that resist bending: edge, its flex."""
    flex = owner(m, "edge")
    inner = np.asarray(m.flex_edgeflap).reshape(-1, 2)[:, 1] >= 0
    edge = np.flatnonzero(inner & is_bendy(m)[flex])
    return np.column_stack([edge, flex[edge]]).astype(int)


def hinge_lists(m: Any) -> np.ndarray:
    """Of each hinge four vertices, its flex, and where its numbers begin; then creases of shells: cells.creases."""
    return np.concatenate([np.column_stack([hinge_vertices(m), hinge_list(m)]), cells.creases(m)])


def hinge_vertices(m: Any) -> np.ndarray:
    """The two vertices of each such edge, and those opposite to it."""
    edge, flex = hinges(m).T
    both = np.concatenate([np.asarray(m.flex_edge), np.asarray(m.flex_edgeflap)], axis=1).reshape(-1, 4)
    return both[edge] + np.asarray(m.flex_vertadr)[flex][:, None]


def hinge_list(m: Any) -> np.ndarray:
    """The flex of each hinge, and where its numbers begin, after the stiffness of all elements."""
    edge, flex = hinges(m).T
    return np.column_stack([flex, len(m.flex_stiffness) + _bending(m, edge, flex)])


def _bending(m: Any, edge: np.ndarray, flex: np.ndarray) -> np.ndarray:
    return np.asarray(m.flex_bendingadr)[flex] + HINGE * (edge - np.asarray(m.flex_edgeadr)[flex])


BENDS, STRETCHES = 1, 2  # bits of flex_plasticmode


def has_yielding_mesh(m: Any) -> bool:
    """Does any flex yield in the elements or hinges of its mesh?"""
    return is_meshed(m) and bool(np.any(np.asarray(m.flex_plasticmode)[np.asarray(m.flex_interp) == 0]))


def has_yielding_cells(m: Any) -> bool:
    """Does any interpolated flex yield?"""
    return has_soft_cells(m) and bool(np.any(np.asarray(m.flex_plasticmode)[np.asarray(m.flex_interp) != 0]))


def yields(m: Any) -> bool:
    """Does any flex yield?"""
    return has_yielding_mesh(m) or has_yielding_cells(m)


def plastic_places(m: Any) -> np.ndarray:
    """Where the plastic state of each element begins, then that of each hinge; their edges; then that of each cell.

    -1: it has none. Empty where nothing yields.
    """
    if not yields(m):
        return np.zeros(0, int)
    flex = owner(m, "elem")
    edges = np.array([{2: 3, 3: 6}.get(int(dim), 0) for dim in m.flex_dim])
    mode, adr = np.asarray(m.flex_plasticmode), np.asarray(m.flex_plasticadr)
    local = np.arange(len(flex)) - np.asarray(m.flex_elemadr)[flex]
    soft = (mode[flex] & STRETCHES > 0) & (element_stiffness(m) >= 0)
    elements = np.where(soft, adr[flex] + edges[flex] * local, -1)
    edge, of = hinges(m).T
    before = np.where(mode & STRETCHES, edges * np.asarray(m.flex_elemnum), 0)
    bent = adr[of] + before[of] + edge - np.asarray(m.flex_edgeadr)[of]
    places = [elements, np.where(mode[of] & BENDS, bent, -1), edge, cells.plastic_of_cells(m)]
    return np.concatenate(places).astype(int)


def plastic_start(m: Any) -> int:
    """Where these places begin in `body_points`; 0: nothing yields."""
    return len(body_points(m)) - len(plastic_places(m)) if has_flexes(m) and yields(m) else 0


def flex_numbers(m: Any) -> np.ndarray:
    """Of each flex radius, damping, the strain an element bears, and the curvature a hinge does; -1: no end to it."""
    strain, bent = np.asarray(m.flex_yield, dtype=float).reshape(-1, 2).T
    curvature = np.full(m.nflex, -1.0)
    for f in np.flatnonzero(np.asarray(m.flex_plasticmode) & BENDS):
        thickness = float(m.flex_stiffness[int(m.flex_stiffnessadr[f]) + 6])  # MuJoCo keeps it there
        if thickness > MINVAL:
            curvature[f] = 2 * max(0.0, bent[f]) / thickness
    return np.column_stack([m.flex_radius, m.flex_damping, strain, curvature])


def own_dofs(m: Any) -> np.ndarray:
    """The first of the three dofs of the body of each point; -1 where it has another number of them."""
    body = np.concatenate([np.asarray(m.flex_vertbodyid), np.asarray(m.flex_nodebodyid)]).astype(int)
    own = (body >= 0) & (np.asarray(m.body_dofnum)[np.maximum(body, 0)] == 3)
    return np.where(own, np.asarray(m.body_dofadr)[np.maximum(body, 0)], -1)


def corners(m: Any) -> tuple[np.ndarray, np.ndarray]:
    """Where the corners of each point end, and the corners.

    Numbered 4 element + k, then 4 (elements + hinge) + k, then 4 (elements + hinges) + node of a cell, then slots of
    creases, then 4 bend + k of rods.
    """
    vertices, places = [], []
    if np.any(is_stretchy(m)):
        soft = element_stiffness(m) >= 0
        of = np.where(soft[:, None], element_vertices(m), -1).ravel()
        vertices.append(of[of >= 0])
        places.append(np.flatnonzero(of >= 0))
    bent = hinge_vertices(m).ravel()
    vertices.append(bent)
    places.append(4 * int(m.nflexelem) + np.arange(len(bent)))
    cell, node, _ = cells.cell_lists(m)
    soft = np.flatnonzero(cell[node[:, 0], 1] >= 0)
    vertices.append(node[soft, 1])
    before = 4 * (int(m.nflexelem) + len(bent) // 4)
    places.append(before + soft)
    for one, two, slot, count, _, _ in cells.creases(m):
        vertices.append(np.concatenate([node[cell[k, 2] : cell[k, 2] + count, 1] for k in (one, two)]))
        places.append(before + len(node) + slot + np.arange(2 * count))
    before += len(node) + 2 * int(cells.creases(m)[:, 3].sum())
    for b, bent in enumerate(rods.bend_vertices(m)):
        vertices.append(bent)
        places.append(before + 4 * b + np.arange(len(bent)))
    vertex, place = np.concatenate(vertices).astype(int), np.concatenate(places)
    order = np.argsort(vertex, kind="stable")
    return np.cumsum(np.bincount(vertex, minlength=m.nflexvert + m.nflexnode)), place[order].astype(int)


def coupled_dofs(m: Any) -> Iterator[np.ndarray]:
    """The dofs that each element, hinge, cell and bend couples: those that move any of its points."""
    if not is_elastic(m):
        return
    body = np.concatenate([np.asarray(m.flex_vertbodyid), np.asarray(m.flex_nodebodyid)]).astype(int)
    parts = [element_vertices(m)[element_stiffness(m) >= 0], hinge_vertices(m)] if is_meshed(m) else []
    cell, node, _ = cells.cell_lists(m)
    each = [row[row >= 0] for part in parts for row in part]
    each += [node[first : first + count, 1] for _, adr, first, count, _ in cell if adr >= 0]
    each += rods.bend_vertices(m)
    yield from rods.twist_dofs(m)
    moved: dict[int, list[int]] = {}
    for part in each:
        bodies = body[part]
        for b in bodies:
            if b not in moved:
                moved[b] = _moving_dofs(m, int(b))
        yield np.unique(np.concatenate([np.zeros(0, int), *(np.array(moved[b], int) for b in bodies)]))


def _moving_dofs(m: Any, body: int) -> list[int]:
    """All dofs that move a body."""
    found: list[int] = []
    while body > 0:
        first = int(m.body_dofadr[body])
        found += range(first, first + int(m.body_dofnum[body]))
        body = int(m.body_parentid[body])
    return found


def points(m: Any) -> np.ndarray:
    """Vertices, then nodes: seven numbers each.

        0  the first of the three dofs of its body, or -1     4  end of its supports
        1  its body; of interpolated vertices -1              5  the body whose frame it slides in, or -1
        2  end of its corners                                 6  the cell an interpolated vertex is in, or -1;
        3  first of its supports                                 -2 - the segment of a rod that leaves it: rods.py
    """
    dofs = own_dofs(m)
    base = np.concatenate([vertex_bases(m), np.repeat(cells.node_bases(m), np.asarray(m.flex_nodenum))])
    body = np.concatenate([np.asarray(m.flex_vertbodyid), np.asarray(m.flex_nodebodyid)]).astype(int)
    before = m.nbody + 1 + int(np.sum(body >= 0))
    last = before + (corners(m)[0] if is_elastic(m) else np.zeros(len(body), int))
    start = supports(m)["flex_supportadr"]
    segment = rods.segment_of_vertex(m)
    vertex = np.where(segment >= 0, -2 - segment, cells.vertex_cells(m))
    cell = np.concatenate([vertex, np.full(m.nflexnode, -1)])
    return np.column_stack([dofs, body, last, start[:-1], start[1:], base, cell])


def body_points(m: Any) -> np.ndarray:
    """Where the points of each body begin, the end, then the points; then corners of points; then `plastic_places`."""
    body = np.concatenate([np.asarray(m.flex_vertbodyid), np.asarray(m.flex_nodebodyid)]).astype(int)
    own = np.flatnonzero(body >= 0)
    own = own[np.argsort(body[own], kind="stable")]
    start = m.nbody + 1 + np.concatenate([[0], np.cumsum(np.bincount(body[own], minlength=m.nbody))])
    return np.concatenate([start, own, corners(m)[1] if is_elastic(m) else [], plastic_places(m)]).astype(int)


def numbers(m: Any) -> np.ndarray:
    """Stiffness of elements and cells, numbers of hinges and bends, of nodes of cells, and of chains of rods."""
    return np.concatenate([m.flex_stiffness, m.flex_bending, cells.cell_lists(m)[2].ravel(), rods.numbers(m)])
