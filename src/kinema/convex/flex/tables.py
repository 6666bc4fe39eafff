"""What the stages know of flexes: lists by vertex, edge and element, over all flexes of a model.

MuJoCo's arrays are by flex, with addresses; stages run over vertices, edges or elements of all flexes at once. So the
lists here speak of global vertices, and every edge and element brings what its flex has to say:

    point     a vertex, or a node: x = sum of w_k (x_b + R_b p_k) over its supports (b, w, p), the bodies that carry it
    edge      two vertices, its row of the Jacobian; (rest length, inverse weight, stiffness, damping)
    element   two to four vertices; its flex

A vertex that is a body has one support. One that is interpolated has the nodes of its cell, weighted by the basis
functions at its place in the cell, which never changes: interpolation is linear in the nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinema.convex.flex.cells import elements, node_weights
from kinema.mujoco_enums import Disable, Equality, FlexSelf, Joint

CORNERS = 4  # vertices of the largest element


def has_flexes(m: Any) -> bool:
    """Does the model have flexes?"""
    return bool(getattr(m, "nflex", 0))


def owner(m: Any, what: str) -> np.ndarray:
    """The flex of each vertex, edge or element."""
    return np.repeat(np.arange(m.nflex), np.asarray(getattr(m, f"flex_{what}num")))


# ---------------------------------------------------------------------------------------------- vertices


def lagrange(order: int, x: np.ndarray) -> np.ndarray:
    """Basis functions at x in [0, 1], (order + 1, ...): 1 at their own node, 0 at the others."""
    nodes = np.arange(order + 1) / order
    found = []
    for k, at in enumerate(nodes):
        rest = np.delete(nodes, k)
        found.append(np.prod([(x - one) / (at - one) for one in rest], axis=0))
    return np.array(found)


def _cell_supports(m: Any, f: int) -> np.ndarray:
    """How much each node of the flex carries of each of its vertices, (vertices, nodes)."""
    order = abs(int(m.flex_interp[f]))
    first = int(m.flex_vertadr[f])
    coord = np.asarray(m.flex_vert0).reshape(-1, 3)[first : first + int(m.flex_vertnum[f])]
    cells = np.asarray(m.flex_cellnum).reshape(-1, 3)[f]
    cell = np.clip(np.floor(coord * cells).astype(int), 0, cells - 1)
    local = np.clip(coord * cells - cell, 0.0, 1.0)
    grid = cells * order + 1
    basis = [lagrange(order, local[:, axis]) for axis in range(3)]
    steps = np.arange(order + 1)
    number = [cell[:, axis, None] * order + steps for axis in range(3)]
    carried = node_weights(m, f)
    node = (number[0][:, :, None, None] * grid[1] + number[1][:, None, :, None]) * grid[2] + number[2][:, None, None, :]
    weight = basis[0].T[:, :, None, None] * basis[1].T[:, None, :, None] * basis[2].T[:, None, None, :]
    full = np.zeros((len(coord), len(carried)))
    np.put_along_axis(full, node.reshape(len(coord), -1), weight.reshape(len(coord), -1), axis=1)
    return full @ carried


def supports(m: Any) -> dict[str, np.ndarray]:
    """Where the supports of each vertex and then of each node begin; of each support the body, its point, its weight.

    A node has one support. The first of an interpolated vertex bears nothing: it holds the vertex's coordinates.
    """
    counts, bodies, places = [], [], []
    vert = np.asarray(m.flex_vert).reshape(-1, 3)
    for f in range(m.nflex):
        first, number = int(m.flex_vertadr[f]), int(m.flex_vertnum[f])
        centered = bool(m.flex_centered[f])
        if not m.flex_interp[f]:
            counts.append(np.ones(number, int))
            bodies.append(np.asarray(m.flex_vertbodyid)[first : first + number])
            local = np.zeros((number, 3)) if centered else vert[first : first + number]
            places.append(np.column_stack([local, np.ones(number)]))
            continue
        weight = _cell_supports(m, f)
        used = np.abs(weight) > 1e-12
        chosen = int(m.flex_nodeadr[f]) + np.nonzero(used)[1]
        local = np.zeros((len(chosen), 3)) if centered else np.asarray(m.flex_node).reshape(-1, 3)[chosen]
        place = np.column_stack([local, weight[used]])
        first = np.concatenate([[0], np.cumsum(used.sum(axis=1))[:-1]])
        coordinates = np.asarray(m.flex_vert0).reshape(-1, 3)[int(m.flex_vertadr[f]) :][:number]
        counts.append(1 + used.sum(axis=1))
        bodies.append(np.insert(np.asarray(m.flex_nodebodyid)[chosen], first, 0))
        places.append(np.insert(place, first, np.column_stack([coordinates, np.zeros(number)]), axis=0))
    counts.append(np.ones(m.nflexnode, int))
    bodies.append(np.asarray(m.flex_nodebodyid))
    centered = np.repeat(np.asarray(m.flex_centered).astype(bool), np.asarray(m.flex_nodenum))
    local = np.where(centered[:, None], 0.0, np.asarray(m.flex_node).reshape(-1, 3))
    places.append(np.column_stack([local, np.ones(m.nflexnode)]))
    count = np.concatenate([np.zeros(0, int), *counts])
    return {
        "flex_supportadr": np.concatenate([[0], np.cumsum(count)]),
        "flex_supportbody": np.concatenate([np.zeros(0, int), *bodies]),
        "flex_supportplace": np.concatenate([np.zeros((0, 4)), *places]),
    }


# ---------------------------------------------------------------------------------------------- edges


def edge_vertices(m: Any) -> np.ndarray:
    """The two vertices of each edge, counted over all flexes."""
    return np.asarray(m.flex_edge).reshape(-1, 2) + np.asarray(m.flex_vertadr)[owner(m, "edge")][:, None]


def is_live_edge(m: Any) -> np.ndarray:
    """Which edges have a length that may change, and is asked for: none of rigid or interpolated flexes."""
    flex = owner(m, "edge")
    dead = np.asarray(m.flex_rigid).astype(bool) | (np.asarray(m.flex_interp) != 0)
    return ~dead[flex]


def moves_by_edges(m: Any) -> np.ndarray:
    """For each flex, does it need the Jacobians of its edges? MuJoCo leaves them out otherwise."""
    wants = np.asarray(m.flex_edgeequality) == 1
    for name in ("flex_edgedamping", "flex_edgestiffness", "flex_damping"):
        wants = wants | (np.asarray(getattr(m, name)) != 0)
    return wants


def edge_rows(m: Any) -> np.ndarray:
    """Where the row of each edge is in the Jacobian of edges, and how long it is; 0 where it is not needed."""
    live = is_live_edge(m) & moves_by_edges(m)[owner(m, "edge")]
    return np.column_stack([np.asarray(m.flexedge_J_rowadr), np.where(live, np.asarray(m.flexedge_J_rownnz), 0)])


def vertex_bases(m: Any) -> np.ndarray:
    """The body whose frame each vertex slides in: its body's parent, its body if that has no joints; -1: it turns."""
    body = np.maximum(np.asarray(m.flex_vertbodyid), 0)
    found = np.where(np.asarray(m.body_jntnum)[body] == 0, body, np.asarray(m.body_parentid)[body])
    turning = np.zeros(m.nbody, bool)
    turning[np.asarray(m.jnt_bodyid)[np.asarray(m.jnt_type) != Joint.SLIDE]] = True
    return np.where((np.asarray(m.flex_vertbodyid) < 0) | turning[body], -1, found)


def edge_numbers(m: Any) -> np.ndarray:
    """Rest length, inverse weight, stiffness and damping of each edge; the last two are 0 of an edge in one body."""
    flex = owner(m, "edge")
    soft = ~np.asarray(m.flexedge_rigid).astype(bool) & ~np.asarray(m.flex_rigid).astype(bool)[flex]
    return np.column_stack([
        m.flexedge_length0, m.flexedge_invweight0, soft * np.asarray(m.flex_edgestiffness)[flex],
        soft * np.asarray(m.flex_edgedamping)[flex],
    ])  # fmt: skip


def has_edge_forces(m: Any) -> bool:
    """Does any edge have a spring or a damper of its own?"""
    return has_flexes(m) and bool(np.any(m.flex_edgestiffness) or np.any(m.flex_edgedamping))


# ---------------------------------------------------------------------------------------------- elements


def element_vertices(m: Any) -> np.ndarray:
    """The vertices of each element, counted over all flexes; -1 beyond its own."""
    flex = owner(m, "elem")
    found = np.full((len(flex), CORNERS), -1)
    for f in range(m.nflex):
        corners, first = int(m.flex_dim[f]) + 1, int(m.flex_elemdataadr[f])
        mine = np.asarray(m.flex_elem)[first : first + corners * int(m.flex_elemnum[f])].reshape(-1, corners)
        found[flex == f, :corners] = mine + int(m.flex_vertadr[f])
    return found


def active_elements(m: Any) -> np.ndarray:
    """Which elements may touch anything: of tetrahedra those near the surface, as many layers as are active."""
    flex = owner(m, "elem")
    near = np.asarray(m.flex_elemlayer) < np.asarray(m.flex_activelayers)[flex]
    return (np.asarray(m.flex_dim)[flex] < 3) | near


def search_of(m: Any, f: int) -> FlexSelf:
    """How elements of a flex that may touch each other are found: all with all, in a tree of boxes, or by a sweep."""
    way = FlexSelf(int(m.flex_selfcollide[f]))
    if int(m.opt.disableflags) & Disable.MIDPHASE or int(m.flex_bvhadr[f]) < 0:
        return FlexSelf.NARROW
    if way == FlexSelf.AUTO:
        return FlexSelf.BVH if int(m.flex_dim[f]) == 3 else FlexSelf.SAP
    return way


def element_places(m: Any) -> np.ndarray:
    """The place of each element in its flex, from 1 on; 0: it may touch nothing.

    Of two elements of a flex that touch, the contact leads from the earlier one to the other: by number, or by leaf
    where a tree of boxes finds them. Those of a sweep are told apart as it runs.
    """
    places = np.concatenate([np.arange(int(n)) for n in m.flex_elemnum] or [np.zeros(0, int)]) + 1
    for f in range(m.nflex):
        if search_of(m, f) == FlexSelf.BVH:
            nodes = int(m.flex_bvhadr[f]) + np.arange(int(m.flex_bvhnum[f]))
            leaves = nodes[(np.asarray(m.bvh_child).reshape(-1, 2)[nodes] < 0).all(axis=1)]
            places[int(m.flex_elemadr[f]) + np.asarray(m.bvh_nodeid)[leaves]] = np.arange(len(leaves)) + 1
    return np.where(active_elements(m), places, 0)


# ---------------------------------------------------------------------------------------------- equalities


def equality_edges(m: Any) -> tuple[np.ndarray, np.ndarray]:
    """Where the edges of each equality begin, and the edges: those of its flex that are not within one body."""
    starts, edges = [0], [np.zeros(0, int)]
    for e in range(m.neq):
        if int(m.eq_type[e]) == Equality.FLEX:
            f = int(m.eq_obj1id[e])
            mine = int(m.flex_edgeadr[f]) + np.arange(int(m.flex_edgenum[f]))
            edges.append(mine[~np.asarray(m.flexedge_rigid)[mine].astype(bool)])
            starts.append(starts[-1] + len(edges[-1]))
        else:
            starts.append(starts[-1])
    return np.array(starts), np.concatenate(edges)


def equality_list(m: Any) -> np.ndarray:
    """Rows of each equality, and the first of its edges, which follow; of one that keeps strain its cell."""
    starts, edges = equality_edges(m)
    first = m.neq + starts[:-1]
    for e in np.flatnonzero(np.asarray(m.eq_type) == Equality.FLEXSTRAIN):
        before = sum(len(elements(m, f)) for f in range(int(m.eq_obj1id[e])) if m.flex_interp[f])
        first[e] = before + _element(m, int(e))
    follow = np.column_stack([edges, np.zeros(len(edges), int)])
    return np.concatenate([np.column_stack([equality_rows(m), first]), follow]).astype(int)


def _element(m: Any, e: int) -> int:
    """The cell, or the square of a shell, whose strain an equality keeps, counted within its flex."""
    f = int(m.eq_obj1id[e])
    place = np.asarray(m.eq_data).reshape(m.neq, -1)[e, :3].astype(int)
    if int(m.flex_interp[f]) < 0:
        return int(place[0])
    return int(np.ravel_multi_index(tuple(place), tuple(np.asarray(m.flex_cellnum).reshape(-1, 3)[f])))


def strain_modes(m: Any, e: int) -> tuple[int, int]:
    """How many modes of strain an equality keeps at 0, and where they begin: MuJoCo has them for a stiffness."""
    f = int(m.eq_obj1id[e])
    if not m.flex_interp[f] or int(m.flex_stiffnessadr[f]) < 0:
        return 0, -1
    at = int(m.flex_stiffnessadr[f]) + _element(m, e) * (3 * len(elements(m, f)[0][0])) ** 2
    return int(np.asarray(m.flex_stiffness)[at]), at + 1


def equality_rows(m: Any) -> np.ndarray:
    """Rows of each equality."""
    kind = np.asarray(m.eq_type)
    rows = np.where(kind == Equality.CONNECT, 3, np.where(kind == Equality.WELD, 6, 1))
    if not has_flexes(m):
        return rows
    rows = np.where(kind == Equality.FLEX, np.diff(equality_edges(m)[0]), rows)
    for e in np.flatnonzero(kind == Equality.FLEXSTRAIN):
        rows[e] = strain_modes(m, int(e))[0]
    return rows


def leaves(m: Any) -> np.ndarray:
    """The elements of each flex as its tree of boxes is walked, the second child first; -1: there are no more."""
    found = np.full(m.nflexelem, -1)
    for f in range(m.nflex):
        first, count, root = int(m.flex_elemadr[f]), int(m.flex_elemnum[f]), int(m.flex_bvhadr[f])
        if root < 0:
            found[first : first + count] = np.arange(count)
            continue
        node, child = np.asarray(m.bvh_nodeid)[root:], np.asarray(m.bvh_child).reshape(-1, 2)[root:]
        order, waiting = [], [0]
        while waiting:
            at = waiting.pop()
            if node[at] >= 0:
                order.append(int(node[at]))
            else:
                waiting += [int(k) for k in child[at] if k >= 0]
        found[first : first + len(order)] = order
    return found


WIDE = 256, 1024  # bodies or dofs, and vertices, edges or elements, from which on a world with flexes is wide


def is_wide(m: Any) -> bool:
    """Has a world so much of everything that on CUDA a block, or several, should work on it alone?"""
    if not has_flexes(m):
        return False
    moving, drawn = max(m.nv, m.nbody), max(m.nflexvert, m.nflexedge, m.nflexelem)
    return bool(moving >= WIDE[0] or drawn >= WIDE[1])
