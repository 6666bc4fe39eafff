"""<pin>: which points of a flexcomp, or nodes of its lattice, belong to the parent body.

    id         numbers of points             grid        lattice coordinates, dim each
    range      first and last number         gridrange   two corners, dim coordinates each

Points on a lattice are numbered x slowest. A flexcomp with trilinear or quadratic dofs pins nodes: the same, over the
lattice of nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from kinema.compile.element import Element

if TYPE_CHECKING:
    from kinema.compile.flexcomp import Flexcomp


def pinned_points(f: Flexcomp) -> np.ndarray:
    """Which points are pinned: all of a rigid flexcomp; the centre of a radial one always is."""
    count = f.e.vector("count", (10, 10, 10), length=3, dtype=int).tolist()
    pinned = _pinned(f, len(f.points.point), count, on_lattice=f.kind == "grid" or f.order > 0)
    if f.rigid:
        pinned[:] = True
    if f.dof == "radial":
        pinned[0] = True
    return pinned


def pinned_nodes(f: Flexcomp) -> np.ndarray:
    """Which nodes of the lattice of an interpolated flexcomp are pinned."""
    count = [n * f.order + 1 for n in f.cells]
    return _pinned(f, int(np.prod(count)), count, on_lattice=True)


def _pinned(f: Flexcomp, number: int, count: list[int], *, on_lattice: bool) -> np.ndarray:
    pinned = np.zeros(number, bool)
    dim, rigid = f.points.dim, f.rigid
    for e in f.e.children("pin"):
        for (first,) in _groups(e, "id", 1, rigid):
            _check(e, "id", [first], [number])
            pinned[first] = True
        for first, last in _groups(e, "range", 2, rigid):
            _check(e, "range", [first, last], [number, number])
            pinned[first : last + 1] = True
        for attribute, width in (("grid", dim), ("gridrange", 2 * dim)):
            if not e.count(attribute):
                continue
            if dim == 1:
                raise e.error(f"pin {attribute} cannot be used with dim=1: give numbers by id or range", attribute)
            if not on_lattice:
                raise e.error(f"pin {attribute} needs type='grid', or trilinear or quadratic dofs", attribute)
            for corners in _groups(e, attribute, width, rigid):
                _check(e, attribute, corners, (count[:dim] * 2)[:width])
                _pin_block(pinned, count, corners[:dim], corners[-dim:])
    return pinned


def _pin_block(pinned: np.ndarray, count: list[int], low: list[int], high: list[int]) -> None:
    dim = len(low)
    if dim == 2:
        for x in range(low[0], high[0] + 1):
            pinned[x * count[1] + low[1] : x * count[1] + high[1] + 1] = True
        return
    block = tuple(slice(a, b + 1) for a, b in zip(low, high, strict=True))
    pinned.reshape(-1)[: int(np.prod(count))].reshape(count)[block] = True


def _groups(e: Element, attribute: str, width: int, rigid: bool) -> Iterator[list[int]]:
    """The numbers of an attribute, `width` at a time; of a rigid flexcomp none matters."""
    values = e.vector(attribute, (), dtype=int).tolist()
    if len(values) % width:
        raise e.error(f"pin {attribute} takes {width} numbers at a time, not {len(values)} in all", attribute)
    return (values[i : i + width] for i in range(0, 0 if rigid else len(values), width))


def _check(e: Element, attribute: str, values: list[int], limits: list[int]) -> None:
    for value, limit in zip(values, limits, strict=True):
        if not 0 <= value < limit:
            raise e.error(f"pin {attribute} is out of range: {value} of {limit}", attribute)
