"""The lists of flexes that bundles hold, by name: how each follows from mjModel's arrays, and how long it is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kinema.convex.flex import elastic, pairs, tables


def _part(make: Callable[[Any], Any], key: Any, m: Any) -> np.ndarray:
    return make(m)[key]


LISTS: dict[str, tuple[Callable[[Any], np.ndarray], str, int]] = {
    "flex_supportadr": (partial(_part, tables.supports, "flex_supportadr"), "nflexvertend", 1),
    "flex_supportbody": (partial(_part, tables.supports, "flex_supportbody"), "nflexsupport", 1),
    "flex_supportplace": (partial(_part, tables.supports, "flex_supportplace"), "nflexsupport", 4),
    "flex_edgelist": (lambda m: np.column_stack([tables.edge_vertices(m), tables.edge_rows(m)]), "", 4),
    "flex_edgebase": (tables.edge_bases, "", 1),
    "flex_edgenumber": (tables.edge_numbers, "", 4),
    "flex_elemvert": (tables.element_vertices, "", 4),
    "flex_elemlist": (elastic.element_list, "", 3),
    "flex_span": (pairs.spans, "nflex", 4),
    "flex_pair": (partial(_part, pairs.pair_lists, 0), "nflexpair", 4),
    "flex_pairnumber": (partial(_part, pairs.pair_lists, 1), "nflexpair", 15),
    "flex_number": (lambda m: np.column_stack([m.flex_radius, m.flex_damping]), "nflex", 2),
    "flex_elemedges": (elastic.element_edges, "nflexelem_edge", 1),
    "flex_hingevert": (elastic.hinge_vertices, "nflexhinge", 4),
    "flex_hingelist": (elastic.hinge_list, "nflexhinge", 2),
    "flex_elastic": (lambda m: np.concatenate([m.flex_stiffness, m.flex_bending]), "nflexelastic", 1),
    "flex_vertlist": (lambda m: np.column_stack([elastic.own_dofs(m), elastic.corners(m)[0]]), "nflexvert", 2),
    "flex_corner": (partial(_part, elastic.corners, 1), "nflexcorner", 1),
    "flex_bodyvertadr": (partial(_part, elastic.body_vertices, 0), "nbodyend_flex", 1),
    "flex_bodyvert": (partial(_part, elastic.body_vertices, 1), "nflexbodyvert", 1),
    "eq_rows": (tables.equality_list, "neq_flex", 2),
    "eq_edge": (partial(_part, tables.equality_edges, 1), "neqedge", 1),
}
"""Lists that MuJoCo does not have: how they are made, the name of their length if it is no size of the model's, and how
many numbers an entry has."""

ELASTIC_ONLY = ("flex_elemedges", "flex_hingevert", "flex_hingelist", "flex_elastic", "flex_corner")
"""Lists that only elastic flexes need."""


def flex_list(name: str, m: Any) -> np.ndarray:
    """One of the lists, for any model."""
    make, _, width = LISTS[name]
    if tables.has_flexes(m) and not (name in ELASTIC_ONLY and not elastic.is_elastic(m)):
        return make(m)
    return np.zeros((0, width) if width > 1 else 0)


def sizes(m: Any) -> dict[str, int]:
    """Lengths of the lists."""
    lengths = {size: name for name, (_, size, _) in LISTS.items() if size not in ("", "nflex", "nflexvert")}
    own = {size: len(flex_list(name, m)) for size, name in lengths.items()}
    soft = int(elastic.is_elastic(m))
    sweeps = tables.has_flexes(m) and any(pairs.touches_itself(m, f) for f in range(m.nflex))
    return {
        **own, "nflexelem_self": sweeps * m.nflexelem, "nflexpart": soft * 4 * (m.nflexelem + own["nflexhinge"]),
        "nflexvert_force": soft * m.nflexvert,
    }  # fmt: skip
