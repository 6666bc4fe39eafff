"""What an element holds by itself: its place in the tree, its identifier, its attributes.

Values are kept in a plain dictionary, by name. Three kinds of attribute reach beyond the element: identifiers are
registered in the model's name scope, references forget elements that were removed, files are listed at the root. After
attach, sections of two models share one dictionary, but for attributes of which every model keeps its own.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from kinema.errors import DocumentError, MissingAttribute, UnknownAttribute, did_you_mean
from kinema.mjcf import attribute, base, debugging, write
from kinema.mjcf.constants import PREFIX_SEPARATOR, WORLD, XML_DEFAULT_PRECISION
from kinema.mjcf.place import placed, retold

if TYPE_CHECKING:
    from kinema.mjcf.namescope import NameScope
    from kinema.mjcf.schema import ElementSpec

put = object.__setattr__

# Assets without a name take that of their file.
_NAMED_BY_FILE = frozenset(["mesh", "hfield", "texture"])

# Types of attribute that the rest of the model hears of.
_REACHING_OUT = frozenset(["id", "dir", "file"])

# How an attribute merges on attach when every model keeps its own value of it.
KEPT = frozenset(["own", "unit"])

Place = tuple["str | None", "int | None"]


class AttributeHolder(base.Element):
    """An element as far as its attributes go; children and the rest are in `tree`."""

    __slots__ = (
        "__weakref__",
        "_attachments",
        "_attributes",
        "_init_stack",
        "_list",
        "_own_attributes",
        "_parent",
        "_removed",
        "_root",
        "_singles",
        "_source",
        "_spec",
        "_stacks",
    )

    def __init__(self, spec: ElementSpec, parent: Any, attributes: dict[str, Any] | None = None, source: Any = None):
        put(self, "_spec", spec)
        put(self, "_parent", parent)
        put(self, "_root", self if parent is None else parent._root)
        put(self, "_attributes", {})
        put(self, "_own_attributes", None)
        put(self, "_singles", None)
        put(self, "_list", [])
        put(self, "_attachments", None)
        put(self, "_removed", False)
        put(self, "_source", source)
        if debugging.debug_mode():
            put(self, "_init_stack", debugging.get_current_stack_trace())
            put(self, "_stacks", dict.fromkeys(spec.attributes, self._init_stack))
        if attributes or spec.required:
            self._initialise(attributes or {})

    def _initialise(self, given: dict[str, Any]) -> None:
        """Set the first attributes, in the schema's order; leave no trace when one of them is wrong."""
        spec = self._spec
        if "dclass" in given:
            given["class"] = given.pop("dclass")
        if spec.name in _NAMED_BY_FILE and "name" not in given:
            file = given.get("file")
            if isinstance(file, str) and not file.startswith("data:"):
                given["name"] = os.path.splitext(os.path.basename(file))[0]
        for name in given:
            if name not in spec.attributes:
                raise self._unknown_attribute(name)
        name = ""
        try:
            for name in sorted(given, key=spec.order.__getitem__) if len(given) > 1 else given:
                value = given[name]
                if value is not None and spec.attributes[name].type in _REACHING_OUT:
                    self._assign(name, value)
                elif (new := attribute.convert(spec.attributes[name], value, self)) is not None:
                    self._attributes[name] = new
            for name in spec.required:
                if name not in self._attributes:
                    raise self._required(name)
        except DocumentError as error:
            path = self._path(given)
            for done in list(self._attributes):
                self._force_clear(done)
            told = f"during initialization of attribute {name!r} of element <{spec.name}>: "
            raise retold(error, told, self, path) from None

    # ------------------------------------------------------------ what it is

    @property
    def tag(self) -> str:
        return self._spec.name

    @property
    def spec(self) -> ElementSpec:
        return self._spec

    @property
    def parent(self) -> Any:
        return self._parent

    @property
    def root(self) -> Any:
        return self._root

    @property
    def namescope(self) -> NameScope:
        return self._root._namescope

    @property
    def is_removed(self) -> bool:
        return self._removed

    @property
    def source_file(self) -> str | None:
        """The file this element was read from, if any."""
        return self._source[0] if self._source else None

    @property
    def source_line(self) -> int | None:
        """The line of its opening tag in that file."""
        return self._source[1] if self._source else None

    def set_source(self, source: Place) -> None:
        """Say where it was read from, unless that is known."""
        if self._source is None:
            put(self, "_source", source)

    @property
    def raw_attributes(self) -> dict[str, Any]:
        """Values that are set, as kept; references to removed elements included."""
        return self._attributes

    def _path(self, given: dict[str, Any] | None = None) -> str:
        """Where it stands, such as ``worldbody/body[torso]/geom``."""
        steps = []
        here: Any = self
        while here is not None and here._parent is not None:
            name = here._path_name(given if here is self and given is not None else here._attributes)
            steps.append(f"{here._spec.name}[{name}]" if isinstance(name, str) else here._spec.name)
            here = here._parent
        return "/".join(reversed(steps))

    def _path_name(self, values: dict[str, Any]) -> str | None:
        return values.get("name") or (values.get("class") if self._spec.name == "default" else None)

    # ------------------------------------------------------------ identifiers

    def prefixed_identifier(self, prefix_root: NameScope | None) -> str | None:
        spec = self._spec
        if spec.name == "worldbody":
            return self.namescope.full_prefix(prefix_root) or WORLD
        if spec.identifier is None:
            return None
        prefix = self.namescope.full_prefix(prefix_root)
        name = self._attributes.get(spec.identifier)
        if name:
            return prefix + name
        return (prefix or PREFIX_SEPARATOR) + self._unnamed_identifier()

    @property
    def full_identifier(self) -> str | None:
        """The identifier of this element in the outermost document."""
        return self.prefixed_identifier(self.namescope.root)

    def _unnamed_identifier(self) -> str:
        number = self.namescope.unnamed_index(self._spec.namespace or "", self)
        return f"{PREFIX_SEPARATOR}unnamed_{self._spec.namespace}_{number}"

    def _identifier_namespace(self) -> str:
        return self._spec.namespace or ""

    # ------------------------------------------------------------ attributes

    def _held(self, name: str) -> dict[str, Any]:
        """The dictionary an attribute lives in: after attach the parent model's, unless each keeps its own."""
        if self._own_attributes is not None and self._spec.attributes[name].merge in KEPT:
            return self._own_attributes
        return self._attributes

    def _get(self, name: str) -> Any:
        value = self._held(name).get(name)
        if isinstance(value, AttributeHolder) and value._removed:
            self._forget_reference(name)
            return None
        return value

    get_reference = _get

    def _forget_reference(self, name: str) -> None:
        """Drop a reference, and what told its kind."""
        self._attributes.pop(name, None)
        namespace = self._spec.attributes[name].namespace or ""
        if namespace.startswith("@"):
            self._attributes.pop(namespace[1:], None)

    def _assign(self, name: str, value: Any) -> None:
        """Check and keep a value; None and empty text clear it."""
        spec = self._spec.attributes[name]
        new = attribute.convert(spec, value, self)
        if new is None:
            if spec.required:
                raise self._required(name)
            self._force_clear(name)
            return
        held = self._held(name)
        if spec.type == "id":
            self._register(new, held.get(name))
        elif spec.type == "dir":
            self.namescope.replace("basepath", spec.namespace or "", new)
        elif spec.type == "file":
            self._root._files[id(self), name] = (self, name)
        held[name] = new
        if debugging.debug_mode():
            self._stamp(name)

    def _stamp(self, name: str) -> None:
        if getattr(self, "_stacks", None) is None:
            put(self, "_stacks", {})
        self._stacks[name] = debugging.get_current_stack_trace()

    def _register(self, new: str, old: str | None) -> None:
        if new != old:
            namespace = self._identifier_namespace()
            self.namescope.add(namespace, new, self)
            if old:
                self.namescope.remove(namespace, old)

    def _force_clear(self, name: str) -> None:
        spec = self._spec.attributes[name]
        old = self._held(name).pop(name, None)
        if debugging.debug_mode():
            self._stamp(name)
        if old is None:
            return
        if spec.type == "id":
            self.namescope.remove(self._identifier_namespace(), old)
        elif spec.type == "dir":
            self.namescope.remove("basepath", spec.namespace or "")
        elif spec.type == "file":
            self._root._files.pop((id(self), name), None)
        elif isinstance(old, AttributeHolder):
            self._forget_reference(name)

    def _required(self, name: str) -> MissingAttribute:
        return MissingAttribute(f"Attribute {name!r} of element <{self._spec.name}> is required")

    def _unknown_attribute(self, name: str) -> DocumentError:
        hint = did_you_mean(name, self._spec.attributes)
        message = f"{name!r} is not a valid attribute for <{self._spec.name}>{hint}"
        return placed(UnknownAttribute(message), self)

    def _check_attribute(self, name: str) -> str:
        if name == "dclass":
            name = "class"
        if name not in self._spec.attributes:
            raise self._unknown_attribute(name)
        return name

    def _set(self, name: str, value: Any) -> None:
        try:
            self._assign(name, value)
        except DocumentError as error:
            placed(error, self)
            raise
        self.namescope.increment_revision()

    def get_attributes(self) -> OrderedDict[str, Any]:
        """The attributes that are set, in the schema's order, with ``dclass`` for ``class``."""
        found = OrderedDict()
        for name in self._ordered_names():
            value = self._get(name)
            if value is not None:
                found["dclass" if name == "class" else name] = value
        return found

    def values(self) -> dict[str, Any]:
        """Values that are set, as kept and not to be changed; those every model keeps for itself are this one's."""
        if self._own_attributes is None:
            return self._attributes
        return {name: self._held(name)[name] for name in self._ordered_names()}

    def _ordered_names(self) -> list[str]:
        names = list(self._attributes)
        if self._own_attributes is not None:
            kept = [name for name in self._own_attributes if self._spec.attributes[name].merge in KEPT]
            names = [name for name in names if self._spec.attributes[name].merge not in KEPT] + kept
        return sorted(names, key=self._spec.order.__getitem__)

    def set_attributes(self, **kwargs: Any) -> None:
        """Set several attributes; when one is wrong, none is changed."""
        values = {self._check_attribute(name): value for name, value in kwargs.items()}
        before: list[tuple[str, Any]] = []
        with debugging.freeze_current_stack_trace():
            for name, value in values.items():
                old = self._get(name)
                try:
                    self._assign(name, value)
                except DocumentError as error:
                    for done, previous in reversed(before):
                        self._force_clear(done) if previous is None else self._assign(done, previous)
                    told = f"during assignment to attribute {name!r} of element <{self._spec.name}>: "
                    raise retold(error, told, self, self._path()) from None
                before.append((name, old))
        self.namescope.increment_revision()

    def get_attribute_xml_string(
        self,
        attribute_name: str,
        prefix_root: NameScope | None = None,
        *,
        precision: int = XML_DEFAULT_PRECISION,
        zero_threshold: float = 0,
    ) -> str | None:
        """The text of one attribute as it would be written, or None."""
        name = self._check_attribute(attribute_name)
        style = write.Style(precision=precision, zero_threshold=zero_threshold)
        return write.attribute_text(self, name, prefix_root, style)
