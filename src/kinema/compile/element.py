"""One element of a document as the compiler sees it: attributes with class defaults applied, names as scoped.

A value is looked up in layers: the element's default class, outermost class first, then what the element itself says.
The last layer that sets an attribute wins, and unset stays distinct from any value. A short vector overwrites only the
first entries of the layer before it, as MuJoCo's reader does, so ``size="1 2 3"`` in a class and ``size="4"`` on the
element give ``4 2 3``.

Names are scoped: elements that arrive by <attach> or <replicate> carry a prefix and a suffix, which `name` and
`reference` apply.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kinema.errors import CompileError, did_you_mean
from kinema.mjcf.source import Node
from kinema.mujoco_enums import Limited, words

if TYPE_CHECKING:
    from kinema.compile.defaults import DefaultClass
    from kinema.compile.settings import Settings

FALSE, TRUE, AUTO = Limited
FALSE_TRUE = {"false": False, "true": True}
FALSE_TRUE_AUTO = words(Limited)

ASSET_KINDS = frozenset({"mesh", "hfield", "texture", "material", "skin", "numeric", "text"})
"""Kinds a model keeps once: copies made inside one model (replicate, self-attach) share them under their own names."""

FILE_KINDS = frozenset({"mesh", "hfield", "texture"})
"""Kinds named after their file when they have no name."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The document an element was written in, and what attaching did to its names.

    Attributes:
        settings: Compiler settings of that document.
        directory: Folder (or URI) its file names are relative to.
        file: Its own file: what is written in another was included.
        prefix, suffix: Added to names of things in the tree and of all that refers to the tree.
        asset_prefix, asset_suffix: Added to names of assets.
    """

    settings: Settings = None  # type: ignore[assignment]  # set when the document's <compiler> is read
    directory: str | None = None
    file: str | None = None
    prefix: str = ""
    suffix: str = ""
    asset_prefix: str = ""
    asset_suffix: str = ""

    def renamed(self, prefix: str, suffix: str, *, assets: bool) -> Scope:
        """This scope inside one more attachment; `assets` when the attachment crosses from another document."""
        return Scope(
            self.settings,
            self.directory,
            self.file,
            prefix + self.prefix,
            self.suffix + suffix,
            prefix + self.asset_prefix if assets else self.asset_prefix,
            self.asset_suffix + suffix if assets else self.asset_suffix,
        )

    def full_name(self, kind: str, name: str) -> str:
        """A name as written, with this scope's prefix and suffix; the empty name stays as it is."""
        if not name:
            return name
        if kind in ASSET_KINDS:
            return f"{self.asset_prefix}{name}{self.asset_suffix}"
        return f"{self.prefix}{name}{self.suffix}"


@dataclass(slots=True, eq=False)
class Element:
    """An element with its defaults, ready to be read.

    Attributes:
        node: Where it was written; `node.tag` is the tag.
        kind: What it is: ``"joint"``, ``"geom"``, ``"tendon"``, ``"actuator"``, ... (one of `context.KINDS`).
        scope: Document settings and name scope.
        layers: Attribute dictionaries, weakest first; the last one is the element's own.
        default: The default class it takes values from, if any.
        body: Owner of an element of the tree (a `tree.Body`), else None.
        frame: Innermost <frame> around an element of the tree (a `frames.Frame`), else None.
        resolved: Full names of references that attaching settled otherwise than by prefix and suffix, by attribute;
            those of a child by its place and attribute, ``"2:site"``.
        record: What the element compiled to, set by its section.
    """

    node: Node
    kind: str = ""
    scope: Scope = field(default_factory=Scope)
    layers: tuple[Mapping[str, str], ...] = ()
    default: DefaultClass | None = None
    body: Any = None
    frame: Any = None
    resolved: dict[str, str] = field(default_factory=dict)
    record: Any = None

    # ---- identity

    @property
    def tag(self) -> str:
        return self.node.tag

    @property
    def settings(self) -> Settings:
        assert self.scope.settings is not None
        return self.scope.settings

    @property
    def name(self) -> str:
        """The element's name with prefix and suffix; empty when it has none."""
        name = self.node.attributes.get("name", "")
        if not name and self.kind in FILE_KINDS:
            name = self.text("file", "").replace("\\", "/").rpartition("/")[2].rpartition(".")[0]
        return self.scope.full_name(self.kind, name)

    def copy(self, prefix: str, suffix: str, *, assets: bool) -> Element:
        """The same element inside one more attachment."""
        resolved = {key: prefix + name + suffix for key, name in self.resolved.items()}
        scope = self.scope.renamed(prefix, suffix, assets=assets)
        return Element(
            self.node, self.kind, scope, self.layers, self.default, self.body, self.frame, resolved, self.record
        )

    def error(self, message: str, attribute: str | None = None) -> CompileError:
        """An error at this element, to raise; with `attribute`, its value as written is quoted."""
        if attribute is not None:
            message = f"{message} ({attribute}={self.text(attribute, '')!r})"
        return CompileError(message, file=self.node.file, line=self.node.line, path=self.node.path)

    def children(self, *tags: str) -> Iterator[Element]:
        """Child elements with one of these tags (all if none given), in order, in the same scope, without defaults."""
        for index, child in enumerate(self.node.children):
            if not tags or child.tag in tags:
                start = f"{index}:"
                settled = {k[len(start) :]: name for k, name in self.resolved.items() if k.startswith(start)}
                yield Element(child, child.tag, self.scope, (child.attributes,), None, self.body, None, settled)

    # ---- values

    def given(self, attribute: str) -> bool:
        """Whether the element or a class it inherits from sets the attribute."""
        return any(attribute in layer for layer in self.layers)

    def text(self, attribute: str, default: Any = "") -> Any:
        for layer in reversed(self.layers):
            if attribute in layer:
                return layer[attribute]
        return default

    def required(self, attribute: str) -> str:
        value = self.text(attribute, None)
        if not value:
            raise self.error(f"{self.tag} needs {attribute!r}")
        return value

    def _words(self, attribute: str) -> str | None:
        """Text of a numeric attribute; one that is blank counts as unset."""
        for layer in reversed(self.layers):
            text = layer.get(attribute)
            if text is not None and text.strip():
                return text
        return None

    def number(self, attribute: str, default: Any = 0.0) -> Any:
        return self._single(attribute, default, float, "number")

    def integer(self, attribute: str, default: Any = 0) -> Any:
        return self._single(attribute, default, int, "integer")

    def _single(self, attribute: str, default: Any, kind: type, name: str) -> Any:
        text = self._words(attribute)
        if text is None:
            return default
        values = self._parse(attribute, text, kind)
        if len(values) != 1:
            raise self.error(f"{attribute!r} needs one {name}, not {len(values)}", attribute)
        return values[0]

    def vector(
        self,
        attribute: str,
        default: Sequence[float] | np.ndarray | None = None,
        *,
        length: int | None = None,
        at_most: int | None = None,
        dtype: type = float,
    ) -> Any:
        """An array attribute, layers applied from weakest to strongest.

        Args:
            default: Value when no layer sets it; with `at_most`, also the tail of a short one. None: return None.
            length: Exact number of entries each layer must give.
            at_most: Largest number of entries; fewer overwrite only the first ones.
            dtype: float or int. With neither `length` nor `at_most` any number of entries is taken and the strongest
                layer wins whole.
        """
        value = None if default is None else np.array(default, dtype=np.float64 if dtype is float else np.int64)
        for layer in self.layers:
            text = layer.get(attribute)
            if text is None or not text.strip():
                continue
            given = self._parse(attribute, text, dtype)
            limit = length if length is not None else at_most
            if limit is not None and len(given) > limit:
                raise self.error(f"{attribute!r} has too much data: {len(given)} values, at most {limit}", attribute)
            if length is not None and len(given) < length:
                raise self.error(f"{attribute!r} does not have enough data: {len(given)} values of {length}", attribute)
            new = np.array(given, dtype=np.float64 if dtype is float else np.int64)
            if length is not None or at_most is None or value is None:
                value = new
            else:
                value[: len(new)] = new
        return value

    def count(self, attribute: str) -> int:
        """How many values the strongest layer gives for a vector; 0 when unset."""
        return len(self.text(attribute, "").split())

    def keyword(self, attribute: str, table: Mapping[str, Any], default: Any = None) -> Any:
        """The value a keyword stands for in `table`."""
        text = self.text(attribute, None)
        if text is None:
            return default
        if text not in table:
            raise self.error(
                f"{attribute!r} must be one of {', '.join(table)}, not {text!r}{did_you_mean(text, table)}", None
            )
        return table[text]

    def flag(self, attribute: str, default: bool = False) -> bool:
        return self.keyword(attribute, FALSE_TRUE, default)

    def reference(self, attribute: str, kind: str) -> str:
        """The full name of what the attribute refers to; empty when unset."""
        if attribute in self.resolved:
            return self.resolved[attribute]
        return self.scope.full_name(kind, self.text(attribute, ""))

    def _parse(self, attribute: str, text: str, dtype: type) -> list:
        try:
            if dtype is int:
                return [_integer(word) for word in text.split()]
            return [float(word) for word in text.split()]
        except ValueError:
            wanted = "integers" if dtype is int else "numbers"
            raise self.error(f"{attribute!r} must hold {wanted}", attribute) from None


def _integer(word: str) -> int:
    value = int(word, 10)
    if not -(2**31) <= value < 2**31:
        raise ValueError(word)
    return value


def read_element(node: Node, scope: Scope | None = None) -> Element:
    """An element without a default class."""
    return Element(node, node.tag, scope or Scope(), (node.attributes,))
