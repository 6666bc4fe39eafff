"""Objects that refuse attributes they do not know, so that a misspelt name is an error and not a number that vanishes.

    sim.crtl = 1          UnknownKey: a Simulation has no attribute 'crtl'; did you mean sim.d.ctrl?

Known is what the classes of an object declare (attributes, properties, annotations), what its own methods assign to
`self`, and what it already has. So a subclass may keep whatever its code names, without declaring anything; only names
that come from outside are checked. Names that begin with an underscore are the owner's affair.
"""

from __future__ import annotations

import dis
from collections.abc import Iterable, Iterator
from functools import cache
from inspect import unwrap
from types import CodeType
from typing import Any

from kinema.errors import UnknownKey, did_you_mean


class Closed:
    """Base of classes whose instances refuse unknown attributes."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        kind: Any = type(self)
        if not (name in attributes_of(kind) or name[:1] == "_" or name in getattr(self, "__dict__", ())):
            if not self._takes(name):
                raise UnknownKey(self._refusal(name))
        super().__setattr__(name, value)

    def _takes(self, name: str) -> bool:
        """Whether an attribute that no class names is this object's all the same: a column, an array of a table."""
        return False

    def _refusal(self, name: str) -> str:
        """The message for an unknown attribute."""
        kind = type(self).__name__
        return f"a {kind} has no attribute {name!r}{did_you_mean(name, self._known())}"

    def _known(self) -> Iterable[str]:
        """Names to suggest."""
        kind: Any = type(self)
        return {n for n in (*attributes_of(kind), *getattr(self, "__dict__", ())) if not n.startswith("_")}


@cache
def attributes_of(cls: type) -> frozenset[str]:
    """What the classes of an object declare, and what their methods assign."""
    found: set[str] = set()
    for base in cls.__mro__[:-1]:
        found.update(vars(base), vars(base).get("__annotations__", ()))
        for member in vars(base).values():
            for function in _functions(member):
                found.update(_names(function.__code__))
    return frozenset(found)


def _functions(member: Any) -> Iterator[Any]:
    """The functions behind a member of a class: methods, class methods, parts of properties, decorated ones."""
    parts = (member.fget, member.fset, member.fdel) if isinstance(member, property) else (member,)
    for part in parts:
        function = unwrap(getattr(part, "__func__", part)) if part is not None else None
        if hasattr(function, "__code__"):
            yield function


def _names(code: CodeType) -> set[str]:
    """Attributes that a function assigns, those of functions inside it included."""
    found = {step.argval for step in dis.get_instructions(code) if step.opname == "STORE_ATTR"}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _names(constant)
    return found
