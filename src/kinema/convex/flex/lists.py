"""The lists of flexes that bundles hold, by name: how each follows from mjModel's arrays, and how long it is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kinema.convex.flex import cells, elastic, pairs, rods, tables
from kinema.convex.sleep import flexes
from kinema.mujoco_enums import Geom


def _part(make: Callable[[Any], Any], key: Any, m: Any) -> np.ndarray:
    return make(m)[key]


LISTS: dict[str, tuple[Callable[[Any], np.ndarray], str, int]] = {
    "flex_point": (elastic.points, "nflexpoint", 7),
    "flex_supportbody": (partial(_part, tables.supports, "flex_supportbody"), "nflexsupport", 1),
    "flex_supportplace": (partial(_part, tables.supports, "flex_supportplace"), "nflexsupport", 4),
    "flex_edgelist": (lambda m: np.column_stack([tables.edge_vertices(m), tables.edge_rows(m)]), "", 4),
    "flex_edgenumber": (tables.edge_numbers, "", 4),
    "flex_elemvert": (tables.element_vertices, "", 4),
    "flex_elemlist": (elastic.element_list, "", 10),
    "flex_span": (pairs.spans, "nflex", 10),
    "flex_pair": (partial(_part, pairs.pair_lists, 0), "nflexpair", 6),
    "flex_pairnumber": (partial(_part, pairs.pair_lists, 1), "nflexpair", 17),
    "flex_number": (elastic.flex_numbers, "nflex", 4),
    "flex_hinge": (elastic.hinge_lists, "nflexfold", 6),
    "flex_cell": (cells.cell_rows, "nflexcells", 5),
    "flex_elastic": (elastic.numbers, "nflexelastic", 1),
    "flex_rod": (rods.rod_list, "nflexrods", rods.LIST),
    "flex_bodypoint": (lambda m: np.concatenate([elastic.body_points(m), flexes.tree_list(m)]), "nflexbodypoint", 1),
    "eq_rows": (tables.equality_list, "neq_flex", 2),
}
"""Lists that MuJoCo does not have: how they are made, the name of their length if it is no size of the model's, and how
many numbers an entry has."""

ELASTIC_ONLY = ("flex_hinge", "flex_elastic", "flex_rod")
"""Lists that only elastic and interpolated flexes need."""


def flex_list(name: str, m: Any) -> np.ndarray:
    """One of the lists, for any model."""
    make, _, width = LISTS[name]
    if tables.has_flexes(m) and (name not in ELASTIC_ONLY or elastic.is_elastic(m) or cells.interpolated(m)):
        return make(m)
    return np.zeros((0, width) if width > 1 else 0)


def sizes(m: Any) -> dict[str, int]:
    """Lengths of the lists."""
    lengths = {size: name for name, (_, size, _) in LISTS.items() if size not in ("", "nflex", "nflexvert")}
    own = {size: len(flex_list(name, m)) for size, name in lengths.items()}
    soft = int(elastic.is_elastic(m))
    creases = cells.creases(m) if tables.has_flexes(m) else np.zeros((0, 6), int)
    hinges = own["nflexfold"] - soft * len(creases)
    lattice = [len(part) for part in cells.cell_lists(m)[:2]] if tables.has_flexes(m) else [0, 0]
    before = 4 * (m.nflexelem + hinges) + lattice[1] + 2 * int(creases[:, 3].sum())
    bent = rods.sizes(m)
    met = any(kind != Geom.PLANE for kind, _ in pairs.kinds(m))
    return {
        **own, "nflextreeadr": own["nflexbodypoint"] - len(flexes.tree_list(m)),
        "nflexcell": lattice[0], "nflexcellnode": lattice[1], "nflexhinge": hinges,
        "nflexcrease": soft * len(creases), "nflexelem_met": met * m.nflexelem,
        "nflexelem_neo": int(elastic.has_neo_hookean(m)) * m.nflexelem,
        **bent, "nflexbendpart": before, "nflexplastic": elastic.plastic_start(m),
        "nflexpart": soft * (before + 4 * bent["nflexbend"]), "nflexpoint_force": soft * own["nflexpoint"],
    }  # fmt: skip
