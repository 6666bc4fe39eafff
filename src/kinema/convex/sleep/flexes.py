"""Flexes among trees that may sleep: which trees a flex has, what couples them, and what wakes them.

A vertex or node is a tree of its own, and so is a segment of a rod that turns: a flex has very many. What couples them
counts as rows do: an edge that is kept, a cell whose strain is, and stiffness, which couples all trees of a flex. So a
flex sleeps as a whole, or in parts where pins divide it; an equality wakes all parts once one is awake. Of a contact
one vertex or node is woken that may move: the ring does the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from kinema.convex.constraint.bearing import bearers, bearing, side_coordinates, side_vertices, side_weights
from kinema.convex.data import Data
from kinema.convex.flex.rods import chain_of
from kinema.convex.flex.tables import has_flexes
from kinema.convex.model import Model
from kinema.convex.sleep.rings import STATIC_BODY, wake_ring
from kinema.mujoco_enums import Equality

HEAD = wp.constant(3)


def is_coupled(m: Any, f: int) -> bool:
    """Does stiffness couple the vertices or nodes of a flex? Of cells the first may be empty."""
    if m.flex_rigid[f]:
        return False
    if int(m.flex_bendingadr[f]) >= 0:
        return True
    first = int(m.flex_stiffnessadr[f])
    if int(m.flex_dim[f]) < 2 or first < 0:
        return False
    return bool(m.flex_interp[f]) or bool(np.asarray(m.flex_stiffness).ravel()[first])


def tree_list(m: Any) -> np.ndarray:
    """Of each flex where its trees begin, their number, whether stiffness couples them; then the trees of all."""
    if not has_flexes(m):
        return np.zeros(0, int)
    heads: list[list[int]] = []
    trees: list[int] = []
    for f in range(m.nflex):
        lattice = int(m.flex_nodenum[f]) > 0
        first, number, bodies = (
            (m.flex_nodeadr, m.flex_nodenum, m.flex_nodebodyid) if lattice
            else (m.flex_vertadr, m.flex_vertnum, m.flex_vertbodyid)
        )  # fmt: skip
        own = np.asarray(bodies)[int(first[f]) : int(first[f]) + int(number[f])]
        chain = chain_of(m, f)
        turning = [int(m.jnt_bodyid[j]) for j in chain.joints if j >= 0] if chain else []
        of = dict.fromkeys(t for t in np.asarray(m.body_treeid)[[*own, *turning]].tolist() if t >= 0)
        heads.append([3 * m.nflex + len(trees), len(of), int(is_coupled(m, f))])
        trees += of
    return np.array([*np.ravel(heads), *trees], dtype=int)


# ---------------------------------------------------------------------------------------------- who is awake


@wp.func
def flex_head(m: Model, f: int, part: int) -> int:
    """Where the trees of a flex begin, their number, whether stiffness couples them."""
    return m.flex.bodypoint[m.size.nflextreeadr + HEAD * f + part]


@wp.func
def flex_tree(m: Model, f: int, k: int) -> int:
    """One of the trees of a flex."""
    return m.flex.bodypoint[m.size.nflextreeadr + flex_head(m, f, 0) + k]


@wp.func
def flex_state(m: Model, d: Data, w: int, f: int) -> int:
    """Whether any tree of a flex is awake: 1, all are asleep: 0, or it has none: -1."""
    count = flex_head(m, f, 1)
    if count == 0:
        return STATIC_BODY
    state = int(0)
    for k in range(count):
        state = wp.max(state, d.sleep.tree_awake[w, flex_tree(m, f, k)])
    return state


@wp.func
def flex_pair_is_awake(m: Model, d: Data, w: int, p: int) -> bool:
    """Is either side of a pair of flex/pairs.py awake? Mocap bodies do not count."""
    pair = m.flex.pair[p]
    if flex_state(m, d, w, pair[2]) == 1:
        return True
    if pair[0] < 0:
        return flex_state(m, d, w, pair[1]) == 1
    t = m.body.treeid[m.geom.bodyid[pair[0]]]
    return t >= 0 and d.sleep.tree_awake[w, wp.max(t, 0)] != 0


# ---------------------------------------------------------------------------------------------- contacts


@wp.func
def next_bearer(m: Model, d: Data, w: int, c: int, side: int, k: int):
    """The k-th of what may bear one side of a contact: its tree, or -1; and whether there are more.

    All corners of an element count, also those that a contact on the opposite side does not load.
    """
    g = d.con.geom[w, c][side]
    if g >= 0:
        return m.body.treeid[m.geom.bodyid[g]], False
    f = d.fcon.flex[w, c][side]
    corners = side_vertices(m, d, w, c, side)
    share = side_weights(m, d, w, c, corners)
    body, part = bearing(m, f, corners, share, side_coordinates(m, w, corners, share), k)
    tree = int(-1)
    if part != 0.0 or m.flex.span[f][4] == 0:
        tree = m.body.treeid[body]
    return tree, k + 1 < bearers(m, f)


# ---------------------------------------------------------------------------------------------- equalities


@wp.func
def keeps_flex(kind: int) -> bool:
    """Is it an equality of a flex?"""
    return kind == Equality.FLEX or kind == Equality.FLEXSTRAIN


@wp.func
def wake_flex(m: Model, d: Data, w: int, f: int) -> int:
    """Wake the sleeping parts of a flex of which another is awake, as wide awake as that; 1 if so."""
    widest = int(0)
    asleep = int(0)
    for k in range(flex_head(m, f, 1)):
        t = flex_tree(m, f, k)
        if d.sleep.tree_awake[w, t] != 0:
            widest = wp.min(widest, d.state.tree_asleep[w, t])
        else:
            asleep = 1
    if widest == 0 or asleep == 0:
        return 0
    for k in range(flex_head(m, f, 1)):
        t = flex_tree(m, f, k)
        if d.state.tree_asleep[w, t] >= 0:
            wake_ring(d.state.tree_asleep, m.size.ntree, w, t, widest)
    return 1


@wp.func
def edge_trees(m: Model, edge: int, k: int) -> int:
    """The tree of the k-th dof that an edge pulls at; -1: there are no more."""
    row = m.flex.edgelist[edge]
    if k >= row[3]:
        return -1
    return m.dof.treeid[m.flex.flexedge_J_colind[row[2] + k]]


@wp.func
def node_tree(m: Model, c: int, k: int) -> int:
    """The tree of a node of a cell."""
    cell = m.flex.cell[c]
    return m.body.treeid[m.flex.point[m.flex.cell[m.size.nflexcell + cell[2] + k][1]][1]]


@wp.func
def first_tree(m: Model, c: int) -> int:
    """The first tree of the nodes of a cell."""
    found = int(-1)
    for k in range(m.flex.cell[c][3]):
        found = wp.where(found < 0, node_tree(m, c, k), found)
    return found
