"""Interpolated flexes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinema.compile.element import Element

if TYPE_CHECKING:
    from kinema.compile.flex import Flex


def check_nodes(f: Flex) -> None:
    if f.interpolated:
        raise f.e.error("interpolated flexes are not supported yet")


def compile_cells(f: Flex) -> None: ...


def lattice_of(points: Any, cells: Any, order: int, *, shell: bool, e: Element) -> Any:
    raise e.error("an interpolated flex is not supported yet", "dof")


def strained(f: Any) -> Any:
    raise f.e.error("strain equality is not supported yet")
