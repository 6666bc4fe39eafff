"""The children of one tag, as a list that also knows names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kinema.errors import UnknownElement, did_you_mean
from kinema.mjcf.constants import PREFIX_SEPARATOR

if TYPE_CHECKING:
    from kinema.mjcf.namescope import NameScope
    from kinema.mjcf.schema import ElementSpec


class ElementList:
    """A live view: it follows the document. Children of attached models that are merged in come after the own ones."""

    __slots__ = ("_parent", "_spec")

    def __init__(self, spec: ElementSpec, parent: Any):
        self._spec = spec
        self._parent = parent

    @property
    def spec(self) -> ElementSpec:
        return self._spec

    @property
    def tag(self) -> str:
        return self._spec.name

    @property
    def parent(self) -> Any:
        return self._parent

    @property
    def namescope(self) -> NameScope:
        return self._parent.namescope

    def _elements(self) -> list[Any]:
        tag = self._spec.name
        return [child for child in self._parent._present_children() if child._spec.name == tag]

    def __len__(self) -> int:
        return len(self._elements())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._elements())

    def __contains__(self, element: object) -> bool:
        return any(child is element for child in self._elements())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            return self._named(index)
        return self._elements()[index]

    def _named(self, index: str) -> Any:
        scope, separator, rest = index.partition(PREFIX_SEPARATOR)
        identifier = self._spec.identifier
        if separator and identifier:
            for attached_scope, attached in (self._parent._attachments or {}).items():
                if attached_scope.name == scope:
                    try:
                        return ElementList(self._spec, attached)._named(rest)
                    except KeyError:
                        break
        elif identifier:
            for child in self._parent._own_children():
                if child._spec is self._spec and child._attributes.get(identifier) == index:
                    return child
        names = [child._attributes.get(identifier) for child in self._parent._own_children()] if identifier else []
        hint = did_you_mean(index, [name for name in names if isinstance(name, str)])
        raise UnknownElement(f"An element <{self._spec.name}> with {identifier}={index!r} does not exist{hint}")

    def __delitem__(self, index: Any) -> None:
        found = self[index]
        for element in found if isinstance(found, list) else [found]:
            element.remove()

    def clear(self) -> None:
        """Remove all of them."""
        for child in self._elements():
            child.remove()

    def __str__(self) -> str:
        scope = self.namescope
        return str(
            [child.to_xml_string(prefix_root=scope, self_only=True, pretty_print=False) for child in self._elements()]
        )

    def __repr__(self) -> str:
        return f"MJCF Elements List: {self}"
