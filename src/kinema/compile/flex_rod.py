"""Rods: flexes of dimension 1 that bend and twist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kinema.compile.context import Compilation
from kinema.compile.element import Element
from kinema.mjcf.source import Node

if TYPE_CHECKING:
    from kinema.compile.flex import Flex
    from kinema.compile.flexcomp import Flexcomp

RADIUS = 0.005


def radius_of(e: Element) -> float:
    """Radius around the elements of a flex."""
    return e.number("radius", RADIUS)


def twist_bodies(f: Flexcomp) -> Iterator[Node]:
    return iter(())


def compile_rod(c: Compilation, f: Flex) -> None:
    if f.young > 0:
        raise f.e.error("elastic flexes of dim 1 are not supported yet")
