"""Numbers that parts of an actuator are given: names, defaults and bounds as a table, checked one dof at a time.

    PARAMETERS = {"kp": Number(0.0, least=0.0), ...}

Values are checked where they are given (`resolve_arguments`), as plain numbers; arrays of them are not read back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import warp as wp

from ..errors import BuildError


@dataclass(frozen=True)
class Number:
    """One number: its default, and what it must not be below (or, where `strict`, must be above)."""

    default: float
    least: float | None = None
    strict: bool = False

    def check(self, name: str, value: float) -> float:
        """The value, or an error that says what is wrong with it."""
        if self.least is not None and (value < self.least or (self.strict and value == self.least)):
            bound = f"{'greater than' if self.strict else 'at least'} {self.least:g}"
            raise BuildError(f"{name}={value!r} must be {bound}")
        return value


class Part:
    """A drive or a clamp: what it is given for each dof, and what all dofs of one actuator share."""

    PARAMETERS: ClassVar[Mapping[str, Number]] = {}
    SHARED_PARAMS: ClassVar[set[str]] = set()
    """Names of arguments that all dofs of an actuator share: files, tables."""

    @classmethod
    def resolve_arguments(cls, args: dict[str, Any]) -> dict[str, Any]:
        """Arguments of one dof, checked, with defaults where none is given."""
        if not cls.PARAMETERS:
            raise NotImplementedError(f"{cls.__name__} must say what it is given: PARAMETERS, or resolve_arguments")
        return {name: number.check(name, args.get(name, number.default)) for name, number in cls.PARAMETERS.items()}


def same_shape(**arrays: wp.array | None) -> None:
    """Arrays of one part have an entry for each dof."""
    given = {name: array.shape for name, array in arrays.items() if array is not None}
    first = next(iter(given))
    for name, shape in given.items():
        if shape != given[first]:
            raise BuildError(f"{name} shape {shape} must match {first} shape {given[first]}")


def bind_columns(owner: Any, names: tuple[str, ...], block: wp.array) -> None:
    """Copy arrays of a part into columns of a block and let the part's names mean the columns: later writes count."""
    for column, name in enumerate(names):
        if getattr(owner, name) is not None:
            block[:, column].assign(getattr(owner, name))
        setattr(owner, name, block[:, column])
