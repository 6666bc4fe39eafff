"""Parameters of geoms that contacts are made with: how those of a pair follow from those of its geoms.

Pairs have parameters of their own, mixed before a step (collide/parameters.py), so a direction of geom g moves those of
every pair that g is part of:

    friction        of the geom of higher priority, or the larger number
    solref, solimp  of the geom of higher priority, or the mean by solmix
    margin, gap     the sum

Explicit pairs keep theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kinema.convex.contact_parameters import MIXED
from kinema.errors import BuildError
from kinema.gradients.tangents import Direction

PARTS = {"friction": ((0, 1), (2,), (3, 4))}
"""Which numbers of a pair each number of a geom gives; otherwise the same."""


def is_mixed(name: str) -> bool:
    """Is it a parameter of geoms that pairs take theirs from?"""
    return name in MIXED and name not in ("geom_solmix", "geom_adhesion")


def directions(engine: Any, name: str) -> list[tuple[Direction, ...]]:
    """A direction for every number of such a parameter."""
    detector, source = engine.collider.detector, engine.source
    if detector.build.sweep:
        raise BuildError(f"{name} has no gradient: the model has so many geoms that a broad phase pairs them")
    if not MIXED.keys().isdisjoint(engine.expanded):
        raise BuildError(f"{name} has no gradient where parameters of contacts differ per world")
    short = name.removeprefix("geom_")
    values = np.asarray(engine.read(name)[0], float).reshape(int(source.ngeom), -1)
    mix = np.asarray(engine.read("geom_solmix")[0], float)
    found: list[list[Direction]] = [[] for _ in range(values.size)]
    pairs = detector.pairs.geom.numpy()[0] if detector.pairs.geom.size else np.zeros((0, 2), int)
    for pair in np.flatnonzero(detector.host.explicit < 0):
        first, second = (int(g) for g in pairs[pair])
        for own, other in ((first, second), (second, first)):
            for c, weight in _weights(short, values, mix, np.asarray(source.geom_priority), own, other, own == first):
                seeds = PARTS[short][c] if short in PARTS else (c,)
                found[own * values.shape[1] + c] += [
                    Direction(f"Pairs.{short}", int(pair), component=part, weight=weight) for part in seeds
                ]
    return [tuple(each) for each in found]


def _weights(
    short: str, values: np.ndarray, mix: np.ndarray, priority: np.ndarray, own: int, other: int, is_first: bool
) -> Iterator[tuple[int, float]]:
    """By how much each number of geom `own` moves that of its pair with `other`; those that do not are left out."""
    for c in range(values.shape[1]):
        mine, theirs = values[own, c], values[other, c]
        if short in ("margin", "gap"):
            yield c, 1.0
        elif priority[own] != priority[other]:
            if priority[own] > priority[other]:
                yield c, 1.0
        elif short == "friction":
            if mine > theirs or (mine == theirs and is_first):
                yield c, 1.0
        elif short == "solref" and min(values[own, 0], values[other, 0]) <= 0:
            if mine < theirs or (mine == theirs and is_first):
                yield c, 1.0
        else:
            yield c, _share(mix[own], mix[other])


def _share(own: float, other: float) -> float:
    """The weight of a geom in the mean."""
    least = 1e-15
    if own >= least and other >= least:
        return own / (own + other)
    if own < least and other < least:
        return 0.5
    return float(own >= least)
