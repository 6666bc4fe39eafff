"""What every element of a document is, for `isinstance` and for reading.

The working class is in `element`; this one names its interface, so that modules below it can speak of elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinema.mjcf.namescope import NameScope
    from kinema.mjcf.schema import ElementSpec


class Element:
    """An element of an MJCF document: a tag, attributes, and children.

    Attributes and children are Python attributes under their MJCF names, but for ``class``, which is ``dclass``.
    Elements are made with `add` and `insert` of their parent and never by calling a class; only `RootElement` is.
    """

    __slots__ = ()

    @property
    def tag(self) -> str:
        raise NotImplementedError

    @property
    def spec(self) -> ElementSpec:
        raise NotImplementedError

    @property
    def parent(self) -> Any:
        raise NotImplementedError

    @property
    def root(self) -> Any:
        raise NotImplementedError

    @property
    def namescope(self) -> NameScope:
        raise NotImplementedError

    @property
    def is_removed(self) -> bool:
        raise NotImplementedError

    @property
    def full_identifier(self) -> str | None:
        raise NotImplementedError

    def prefixed_identifier(self, prefix_root: NameScope | None) -> str | None:
        """The identifier as written in the document whose scope is `prefix_root`."""
        raise NotImplementedError

    def __bool__(self) -> bool:
        return True

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
