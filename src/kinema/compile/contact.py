"""<contact>: pairs of geoms to collide whatever their masks say, and pairs of bodies never to.

A pair takes nothing from its geoms: what it and its class leave unset has the built-in value. Both lists are stored in
increasing order of signature, body1 << 16 + body2 with the lower body first.
"""

from __future__ import annotations

import numpy as np

from kinema.compile.context import Compilation
from kinema.compile.element import Element
from kinema.compile.tendon import SOLIMP, SOLREF

FRICTION = (1.0, 1.0, 0.005, 0.0001, 0.0001)


def compile_contact(c: Compilation) -> None:
    """Fill the pair and exclude arrays, and sort both lists of elements by signature."""
    _pairs(c)
    _excludes(c)


def _pairs(c: Compilation) -> None:
    body = c.arrays["geom_bodyid"]
    geoms = []
    for e in c.elements["pair"]:
        one, two = (c.reference(e, name, "geom", required=True) for name in ("geom1", "geom2"))
        if body[one] > body[two]:
            one, two = two, one
        geoms.append((one, two, (int(body[one]) << 16) + int(body[two])))
    order = _sort(c, "pair", [signature for _, _, signature in geoms])
    pairs, geoms = c.elements["pair"], [geoms[i] for i in order]
    a = c.arrays
    for k, name in enumerate(("pair_geom1", "pair_geom2", "pair_signature")):
        a[name] = np.array([row[k] for row in geoms], dtype=np.int32)
    a["pair_dim"] = np.array([_condim(e) for e in pairs], dtype=np.int32)
    for name in ("margin", "gap", "adhesion"):
        a[f"pair_{name}"] = np.array([e.number(name, 0.0) for e in pairs], dtype=np.float64)
    vectors = {"friction": FRICTION, "solref": SOLREF, "solreffriction": (0.0, 0.0), "solimp": SOLIMP}
    for name, default in vectors.items():
        rows = [e.vector(name, default, at_most=len(default)) for e in pairs]
        a[f"pair_{name}"] = np.array(rows, dtype=np.float64).reshape(-1, len(default))


def _condim(e: Element) -> int:
    condim = e.integer("condim", 3)
    if condim not in (1, 3, 4, 6):
        raise e.error("condim must be 1, 3, 4 or 6", "condim")
    return condim


def _excludes(c: Compilation) -> None:
    signatures = []
    for e in c.elements["exclude"]:
        one, two = sorted(c.reference(e, name, "body", required=True) for name in ("body1", "body2"))
        signatures.append((one << 16) + two)
    _sort(c, "exclude", signatures)
    c.arrays["exclude_signature"] = np.array(sorted(signatures), dtype=np.int32)


def _sort(c: Compilation, kind: str, signatures: list[int]) -> list[int]:
    """Sort the elements of a kind by signature, keeping the order of equal ones; returns the order."""
    order = sorted(range(len(signatures)), key=signatures.__getitem__)
    c.elements[kind] = [c.elements[kind][i] for i in order]
    c.renumber(kind)
    return order
