"""Which flexes are elastic, and the lists forces go by (elasticity.py): elements, hinges, who gathers from whom."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinema.convex.flex.tables import active_elements, element_vertices, has_flexes, owner

RECORD = {2: 21, 3: 24}  # numbers of the stiffness of an element, by dim: an upper triangle, and room
HINGE = 17  # numbers of a hinge: four by four, and one for a rest shape that is not flat


def is_stretchy(m: Any) -> np.ndarray:
    """Which flexes resist stretching of their elements."""
    adr = np.asarray(m.flex_stiffnessadr)
    first = np.array([m.flex_stiffness[a] if a >= 0 else 0.0 for a in adr])
    solid = (np.asarray(m.flex_dim) > 1) & (np.asarray(m.flex_interp) == 0) & ~np.asarray(m.flex_rigid).astype(bool)
    return solid & (first != 0)


def is_bendy(m: Any) -> np.ndarray:
    """Which flexes resist bending at the edges between their triangles."""
    solid = (np.asarray(m.flex_dim) == 2) & (np.asarray(m.flex_interp) == 0) & ~np.asarray(m.flex_rigid).astype(bool)
    return solid & (np.asarray(m.flex_bendingadr) >= 0)


def is_elastic(m: Any) -> bool:
    """Does any flex have elastic forces?"""
    return has_flexes(m) and bool(np.any(is_stretchy(m) | is_bendy(m)))


def element_stiffness(m: Any) -> np.ndarray:
    """Where the stiffness of each element begins; -1: it has none."""
    flex = owner(m, "elem")
    record = np.array([RECORD.get(int(dim), 0) for dim in m.flex_dim])[flex]
    adr = np.asarray(m.flex_stiffnessadr)[flex] + record * (np.arange(len(flex)) - np.asarray(m.flex_elemadr)[flex])
    return np.where(is_stretchy(m)[flex], adr, -1)


def element_list(m: Any) -> np.ndarray:
    """Of each element its flex, whether it may touch anything, and where its stiffness begins or -1."""
    return np.column_stack([owner(m, "elem"), active_elements(m), element_stiffness(m)])


def element_edges(m: Any) -> np.ndarray:
    """The edges of each element, six places each, counted over all flexes."""
    flex = owner(m, "elem")
    found = np.full((len(flex), 6), -1)
    for f in np.flatnonzero(is_stretchy(m)):
        number, first = (3, 6)[int(m.flex_dim[f]) - 2], int(m.flex_elemedgeadr[f])
        mine = np.asarray(m.flex_elemedge)[first : first + number * int(m.flex_elemnum[f])].reshape(-1, number)
        found[flex == f, :number] = mine + int(m.flex_edgeadr[f])
    return found.ravel()


def hinges(m: Any) -> np.ndarray:
    """Edges between two triangles of flexes that resist bending: edge, its flex."""
    flex = owner(m, "edge")
    inner = np.asarray(m.flex_edgeflap).reshape(-1, 2)[:, 1] >= 0
    edge = np.flatnonzero(inner & is_bendy(m)[flex])
    return np.column_stack([edge, flex[edge]]).astype(int)


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


def own_dofs(m: Any) -> np.ndarray:
    """The first of the three dofs of the body of each vertex; -1 where it has another number of them."""
    body = np.asarray(m.flex_vertbodyid)
    own = (body >= 0) & (np.asarray(m.body_dofnum)[np.maximum(body, 0)] == 3)
    return np.where(own, np.asarray(m.body_dofadr)[np.maximum(body, 0)], -1)


def corners(m: Any) -> tuple[np.ndarray, np.ndarray]:
    """Where the corners of each vertex end, and the corners: 4 element + k, or 4 (elements + hinge) + k."""
    vertices, places = [], []
    if np.any(is_stretchy(m)):
        soft = element_stiffness(m) >= 0
        of = np.where(soft[:, None], element_vertices(m), -1).ravel()
        vertices.append(of[of >= 0])
        places.append(np.flatnonzero(of >= 0))
    bent = hinge_vertices(m).ravel()
    vertices.append(bent)
    places.append(4 * int(m.nflexelem) + np.arange(len(bent)))
    vertex, place = np.concatenate(vertices).astype(int), np.concatenate(places)
    order = np.argsort(vertex, kind="stable")
    return np.cumsum(np.bincount(vertex, minlength=m.nflexvert)), place[order]


def body_vertices(m: Any) -> tuple[np.ndarray, np.ndarray]:
    """Where the vertices of each body begin, and the vertices."""
    body = np.asarray(m.flex_vertbodyid)
    vertex = np.flatnonzero(body >= 0)
    vertex = vertex[np.argsort(body[vertex], kind="stable")]
    return np.concatenate([[0], np.cumsum(np.bincount(body[vertex], minlength=m.nbody))]), vertex
