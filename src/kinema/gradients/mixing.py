"""Parameters that contacts are made with: how those of a pair follow from those of its geoms.

Pairs have parameters of their own, mixed before a step (collide/parameters.py), so a direction of geom g moves those of
every pair that g is part of:

    friction        of the geom of higher priority, or the larger number
    solref, solimp  of the geom of higher priority, or the mean by solmix:  w a + (1 - w) b,  w = s / (s + t)
    solmix          moves that mean by  t / (s + t)^2 (a - b)
    adhesion        of the geom of higher priority, or the sum
    margin, gap     the sum

Explicit pairs have theirs from `pair_friction`, ..., as they stand. Flexes are mixed as geoms are, into numbers of
their own pairs (flex/pairs.py). With the flag `override` options say instead what
friction, solref, solimp and margin are, and nothing moves them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kinema.convex.contact_parameters import MIXED, PAIRED
from kinema.convex.flex.pairs import flex_pairs
from kinema.convex.flex.tables import has_flexes
from kinema.errors import BuildError
from kinema.gradients.direction import Direction
from kinema.mujoco_enums import MINVAL, Enable

PARTS = {"friction": ((0, 1), (2,), (3, 4))}
"""Which numbers of a pair each number of a geom gives; otherwise the same."""

FLEX_NUMBERS = {"margin": 0, "gap": 1, "friction": 2, "solref": 7, "solimp": 9, "adhesion": 14}
"""Where the numbers of a pair with a flex are (flex/pairs.py)."""

WEIGHED = ("solref", "solimp")
"""What solmix weighs."""

OVERRIDDEN = {"friction", "solref", "solreffriction", "solimp", "solmix", "margin"}
"""What the flag override takes from options."""


def is_mixed(name: str) -> bool:
    """Is it a parameter that pairs take theirs from?"""
    return name in MIXED or name in PAIRED


def directions(engine: Any, name: str) -> list[tuple[Direction, ...]]:
    """A direction for every number of such a parameter."""
    detector = engine.collider.detector
    if detector.build.sweep:
        raise BuildError(f"{name} has no gradient: the model has so many geoms that a broad phase pairs them")
    if not MIXED.keys().isdisjoint(engine.expanded):
        raise BuildError(f"{name} has no gradient where parameters of contacts differ per world")
    short = name.partition("_")[2]
    found: list[list[Direction]] = [[] for _ in range(int(np.prod(engine.shape(name)[1:])))]
    if not (int(engine.source.opt.enableflags) & Enable.OVERRIDE and short in OVERRIDDEN):
        moves = (_of_pairs if name in PAIRED else _of_geoms)(engine, detector, short)
        for number, array, pair, component, weight in moves:
            found[number].append(Direction(f"Pairs.{array}", pair, component=component, weight=weight))
        for number, array, pair, component, weight in () if name in PAIRED else _with_flexes(engine, short):
            at = FLEX_NUMBERS[array] + component
            found[number].append(Direction("flex_pairnumber", pair, component=at, weight=weight))
    return [tuple(each) for each in found]


Move = tuple[int, str, int, int, float]
"""A number of a parameter, and what it moves: an array of Pairs, which of them, which component, and how far."""


def _of_pairs(engine: Any, detector: Any, short: str) -> Iterator[Move]:
    """What parameters of explicit pairs move."""
    each = int(np.prod(engine.shape(f"pair_{short}")[2:]))
    for pair in np.flatnonzero(detector.host.explicit >= 0):
        first = int(detector.host.explicit[pair]) * each
        yield from ((first + c, short, int(pair), c, 1.0) for c in range(each))


def _of_geoms(engine: Any, detector: Any, short: str) -> Iterator[Move]:
    """What parameters of geoms move, of pairs of geoms."""
    pairs = detector.pairs.geom.numpy()[0] if detector.pairs.geom.size else np.zeros((0, 2), int)
    mixed = np.flatnonzero(detector.host.explicit < 0)
    rows = {name: _rows(engine, name) for name in (short, *WEIGHED, "solmix", "priority")}
    for pair, array, number, component, weight in _moves(short, rows, pairs[mixed]):
        yield number, array, int(mixed[pair]), component, weight


def _with_flexes(engine: Any, short: str) -> Iterator[Move]:
    """What parameters of geoms move, of pairs with flexes: these come behind the geoms."""
    if not has_flexes(engine.source):
        return
    ngeom, pairs = int(engine.source.ngeom), flex_pairs(engine.source)
    mixed = np.flatnonzero(pairs[:, 0] >= 0)
    rows = {
        name: np.concatenate([_rows(engine, name), _flex_rows(engine, name)])
        for name in (short, *WEIGHED, "solmix", "priority")
    }
    both = np.column_stack([pairs[mixed, 0], ngeom + pairs[mixed, 2]])
    for pair, array, number, component, weight in _moves(short, rows, both):
        if number < ngeom * rows[short].shape[1]:
            yield number, array, int(mixed[pair]), component, weight


def _moves(short: str, rows: dict[str, np.ndarray], pairs: np.ndarray) -> Iterator[tuple[int, str, int, int, float]]:
    """Of pairs of things with such parameters: which pair, which array of it, the number of the parameter that moves
    it, which component, and how far."""
    values, mix, priority = rows[short], rows["solmix"][:, 0], rows["priority"][:, 0]
    weighed = {array: rows[array] for array in WEIGHED}
    for pair, (first, second) in enumerate(pairs.tolist()):
        for own, other in ((first, second), (second, first)):
            if priority[own] < priority[other] and short not in ("margin", "gap"):
                continue
            alike = priority[own] == priority[other]
            if short == "solmix":
                for array, c, weight in _shift(weighed, mix, own, other) if alike else ():
                    yield pair, array, own, c, weight
                continue
            for c, weight in _weights(short, values, mix, own, other, own == first, alike):
                for part in PARTS[short][c] if short in PARTS else (c,):
                    yield pair, short, own * values.shape[1] + c, part, weight


def _rows(engine: Any, short: str) -> np.ndarray:
    """A parameter of geoms, a row each."""
    name, count = f"geom_{short}", int(engine.source.ngeom)
    now = engine.read(name)[0] if engine.is_parameter(name) else getattr(engine.source, name)
    return np.asarray(now, float).reshape(count, -1)


def _flex_rows(engine: Any, short: str) -> np.ndarray:
    """The same of flexes, which do not adhere."""
    count = int(engine.source.nflex)
    given = np.zeros(count) if short == "adhesion" else getattr(engine.source, f"flex_{short}")
    return np.asarray(given, float).reshape(count, -1)


def _weights(
    short: str, values: np.ndarray, mix: np.ndarray, own: int, other: int, is_first: bool, alike: bool
) -> Iterator[tuple[int, float]]:
    """By how much each number of geom `own` moves that of its pair with `other`, whose priority is not above its own
    (`alike`: it is the same); those that do not are left out."""
    for c in range(values.shape[1]):
        mine, theirs = values[own, c], values[other, c]
        if short in ("margin", "gap", "adhesion") or not alike:
            yield c, 1.0
        elif short == "friction":
            if mine > theirs or (mine == theirs and is_first):
                yield c, 1.0
        elif short == "solref" and min(values[own, 0], values[other, 0]) <= 0:
            if mine < theirs or (mine == theirs and is_first):
                yield c, 1.0
        else:
            yield c, _share(mix[own], mix[other])


def _shift(
    weighed: dict[str, np.ndarray], mix: np.ndarray, own: int, other: int
) -> Iterator[tuple[str, int, float]]:
    """By how much the solmix of a geom moves what it weighs, of its pair with another of the same priority."""
    if min(mix[own], mix[other]) < MINVAL:
        return  # one of them has all the weight
    rate = mix[other] / (mix[own] + mix[other]) ** 2
    for array, values in weighed.items():
        if array == "solref" and min(values[own, 0], values[other, 0]) <= 0:
            continue  # the smaller of the two
        for c in range(values.shape[1]):
            yield array, c, rate * (values[own, c] - values[other, c])


def _share(own: float, other: float) -> float:
    """The weight of a geom in the mean."""
    if own >= MINVAL and other >= MINVAL:
        return own / (own + other)
    if own < MINVAL and other < MINVAL:
        return 0.5
    return float(own >= MINVAL)
