"""The tree of a document: what every element can do.

One class serves every tag; what an element may hold is in its spec. An element keeps

    _attributes   values that are set, by name: numbers, arrays, strings, assets, other elements
    _singles      children of which there is always one (<option> of <mujoco>), made when first asked for
    _list         the other children, in document order
    _attachments  elements of attached models that are merged into this one, by their name scope

An element that is not the root belongs to its parent for life: removing it ends it, and references to it read None.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kinema.errors import (
    BadValue,
    DocumentError,
    MissingAttribute,
    UnknownAttribute,
    UnknownChild,
    did_you_mean,
)
from kinema.mjcf import attribute, base, debugging, schema, write
from kinema.mjcf.asset import SkinAsset
from kinema.mjcf.constants import PREFIX_SEPARATOR, WORLD, XML_DEFAULT_PRECISION
from kinema.mjcf.element_list import ElementList

if TYPE_CHECKING:
    from lxml import etree

    from kinema.mjcf.namescope import NameScope
    from kinema.mjcf.schema import ElementSpec

_put = object.__setattr__

# Assets without a name take that of their file.
_NAMED_BY_FILE = frozenset(["mesh", "hfield", "texture"])

# How an attribute merges on attach when every model keeps its own value of it.
_KEPT = frozenset(["own", "unit"])

Place = tuple["str | None", "int | None"]


class ElementImpl(base.Element):
    """An element with its attributes and children; see the module for what it keeps."""

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
        _put(self, "_spec", spec)
        _put(self, "_parent", parent)
        _put(self, "_root", self if parent is None else parent._root)
        _put(self, "_attributes", {})
        _put(self, "_own_attributes", None)
        _put(self, "_singles", None)
        _put(self, "_list", [])
        _put(self, "_attachments", None)
        _put(self, "_removed", False)
        _put(self, "_source", source)
        if debugging.debug_mode():
            _put(self, "_init_stack", debugging.get_current_stack_trace())
            _put(self, "_stacks", dict.fromkeys(spec.attributes, self._init_stack))
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
                if given[name] is not None:
                    self._assign(name, given[name])
            for name in spec.required:
                if name not in self._attributes:
                    raise self._required(name)
        except DocumentError as error:
            path = self._path(given)
            for done in list(self._attributes):
                self._force_clear(done)
            told = f"during initialization of attribute {name!r} of element <{spec.name}>: "
            raise _retold(error, told, self, path) from None

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
            _put(self, "_source", source)

    @property
    def raw_attributes(self) -> dict[str, Any]:
        """Values that are set, as kept; references to removed elements included."""
        return self._attributes

    def _path(self, given: dict[str, Any] | None = None) -> str:
        """Where it stands, such as ``worldbody/body[torso]/geom``."""
        steps = []
        here: Any = self
        while here is not None and here._parent is not None:
            values = given if here is self and given is not None else here._attributes
            name = values.get("name") or (values.get("class") if here._spec.name == "default" else None)
            steps.append(f"{here._spec.name}[{name}]" if isinstance(name, str) else here._spec.name)
            here = here._parent
        return "/".join(reversed(steps))

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
        if self._own_attributes is not None and self._spec.attributes[name].merge in _KEPT:
            return self._own_attributes
        return self._attributes

    def _get(self, name: str) -> Any:
        value = self._held(name).get(name)
        if isinstance(value, ElementImpl) and value._removed:
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
            _put(self, "_stacks", {})
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
        elif isinstance(old, ElementImpl):
            self._forget_reference(name)

    def _required(self, name: str) -> MissingAttribute:
        return MissingAttribute(f"Attribute {name!r} of element <{self._spec.name}> is required")

    def _unknown_attribute(self, name: str) -> DocumentError:
        hint = did_you_mean(name, self._spec.attributes)
        message = f"{name!r} is not a valid attribute for <{self._spec.name}>{hint}"
        return _placed(UnknownAttribute(message), self)

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
            _placed(error, self)
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

    def _ordered_names(self) -> list[str]:
        names = list(self._attributes)
        if self._own_attributes is not None:
            kept = [name for name in self._own_attributes if self._spec.attributes[name].merge in _KEPT]
            names = [name for name in names if self._spec.attributes[name].merge not in _KEPT] + kept
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
                    raise _retold(error, told, self, self._path()) from None
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

    def __getattr__(self, name: str) -> Any:
        spec = self._spec
        if name in spec.children:
            return self.get_children(name)
        if name in spec.attributes:
            return self._get(name)
        if name == "dclass" and "class" in spec.attributes:
            return self._get("class")
        raise NoSuchAttribute(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        known = "class" if name == "dclass" else name
        if known not in self._spec.attributes:
            hint = did_you_mean(name, self._spec.attributes)
            message = f"can't set attribute: {name}{hint}"
            if name in self._spec.children:
                message = f"can't set attribute: {name}, it is a child; use add({name!r}, ...) or its own attributes"
            raise _placed(UnknownAttribute(message), self)
        self._set(known, value)

    def __delattr__(self, name: str) -> None:
        spec = self._spec
        known = "class" if name == "dclass" else name
        if name in spec.children:
            if spec.children[name].repeated:
                raise UnknownAttribute(
                    f"`{name}` is a collection of child elements, which cannot be deleted. "
                    f"Did you mean to call `{name}.clear()`?"
                )
            child = self.get_children(name)
            if child is None:
                raise _placed(UnknownChild(f"<{spec.name}> has no <{name}> to delete"), self)
            child.remove()
        elif known in spec.attributes:
            self._set(known, None)
        else:
            raise NoSuchAttribute(self, name)

    def __dir__(self) -> list[str]:
        names = set(object.__dir__(self)) | set(self._spec.children) | set(self._spec.attributes)
        if "class" in self._spec.attributes:
            names.discard("class")
            names.add("dclass")
        return sorted(names)

    # ------------------------------------------------------------ children

    def _single(self, tag: str) -> ElementImpl:
        singles = self._singles
        if singles is None:
            singles = {}
            _put(self, "_singles", singles)
        child = singles.get(tag)
        if child is None:
            child = singles[tag] = make_element(self._spec.children[tag], self)
        return child

    def _own_children(self) -> list[Any]:
        """Own children in document order, without singletons that nobody has asked for."""
        singles = self._singles
        if not singles:
            return self._list
        return [singles[tag] for tag in self._spec.singletons if tag in singles] + self._list

    def _present_children(self) -> list[Any]:
        """Own children, then those of attached models that are merged in."""
        if not self._attachments:
            return self._own_children()
        children = list(self._own_children())
        for attachment in self._attachments.values():
            children += [child for child in attachment._present_children() if child._spec.repeated]
        return children

    def all_children(self) -> list[Any]:
        """Own children, singletons first, then those of attached models that are merged in."""
        for tag in self._spec.singletons:
            self._single(tag)
        return list(self._present_children())

    def get_children(self, element_name: str) -> Any:
        """The child of a tag, or a list view when there may be several."""
        child_spec = self._check_child(element_name)
        if child_spec.repeated:
            return ElementList(child_spec, self)
        if not child_spec.on_demand:
            return self._single(element_name)
        return next((child for child in self._list if child._spec.name == element_name), None)

    def _check_child(self, tag: str) -> ElementSpec:
        child_spec = self._spec.children.get(tag)
        if child_spec is None:
            hint = did_you_mean(tag, self._spec.children)
            raise _placed(UnknownChild(f"<{tag}> is not a valid child of <{self._spec.name}>{hint}"), self)
        return child_spec

    def add(self, element_name: str, **kwargs: Any) -> Any:
        """Add a child after the others.

        Args:
            element_name: The child's tag.
            **kwargs: Its attributes.

        Returns:
            The new element.

        Raises:
            AttributeError: For a tag or attribute that the schema does not allow here.
            ValueError: For a wrong value, or a second child where there may be one; nothing is changed then.
        """
        return self._insert(element_name, None, kwargs, None)

    def insert(self, element_name: str, position: int, **kwargs: Any) -> Any:
        """Add a child at a position among all children, as `list.insert` counts."""
        return self._insert(element_name, position, kwargs, None)

    def _insert(self, tag: str, position: int | None, attributes: dict[str, Any], source: Place | None) -> Any:
        child_spec = self._check_child(tag)
        if not child_spec.repeated and not (child_spec.on_demand and self.get_children(tag) is None):
            raise _placed(BadValue(f"A <{tag}> child already exists, please access it directly."), self)
        with debugging.freeze_current_stack_trace():
            child = make_element(child_spec, self, attributes, source)
        if position is None:
            self._list.append(child)
        else:
            singles = len(self._spec.singletons)
            index = position if position >= 0 else max(position + singles + len(self._list), 0)
            self._list.insert(max(index - singles, 0), child)
        self.namescope.structure_changed()
        return child

    def remove(self, affect_attachments: bool = False) -> None:
        """Remove this element and all below it; a child of which there is always one is emptied instead."""
        self._check_removable(affect_attachments)
        if affect_attachments and self._attachments:
            for attachment in list(self._attachments.values()):
                attachment.remove(affect_attachments=True)
        for child in list(self._own_children()):
            child.remove(affect_attachments)
        for name in list(self._attributes):
            self._force_clear(name)
        if self._spec.repeated or self._spec.on_demand:
            self._parent._list.remove(self)
            _put(self, "_parent", None)
            _put(self, "_removed", True)
        self.namescope.structure_changed()

    def _check_removable(self, affect_attachments: bool) -> None:
        todo: list[Any] = [] if affect_attachments else [self]
        while todo:
            element = todo.pop()
            if element._attachments:
                raise BadValue(
                    "please use remove(affect_attachments=True) as this will affect some "
                    "attributes and/or children belonging to an attached model"
                )
            todo.extend(element._own_children())

    # ------------------------------------------------------------ finding

    def find(self, namespace: str, identifier: str) -> Any:
        """The element of a kind with a name, or None.

        Args:
            namespace: The kind, usually the tag; ``actuator``, ``sensor``, ``joint``... for families of tags.
            identifier: Its name, ``child/name`` for elements of attached models.
        """
        for what, value in (("namespace", namespace), ("identifier", identifier)):
            if not isinstance(value, str):
                raise BadValue(f"`{what}` should be a string: got {value!r}")
        _check_namespace(namespace)
        scope, separator, rest = identifier.partition(PREFIX_SEPARATOR)
        if separator:
            attached = self.enter_scope(scope)
            return attached.find(namespace, rest) if attached is not None else None
        if not self.namescope.has_identifier(namespace, identifier):
            return None
        found = self.namescope.get(namespace, identifier)
        ancestor = found
        while ancestor is not None and ancestor is not self:
            ancestor = ancestor._parent
        return found if ancestor is self and found is not self or self._parent is None else None

    def find_all(
        self, namespace: str, immediate_children_only: bool = False, exclude_attachments: bool = False
    ) -> list[Any]:
        """All elements of a kind below this one, in document order.

        Args:
            namespace: The kind, as for `find`.
            immediate_children_only: Leave out grandchildren and below.
            exclude_attachments: Leave out elements of attached models.
        """
        _check_namespace(namespace)
        children = ElementImpl._own_children if exclude_attachments else ElementImpl._present_children_of
        found = []
        todo = list(reversed(children(self)))
        while todo:
            element = todo.pop()
            if element._spec.namespace == namespace or element._is_kind(namespace):
                found.append(element)
            if not immediate_children_only:
                todo.extend(reversed(children(element)))
        return found

    @staticmethod
    def _present_children_of(element: Any) -> list[Any]:
        return element._present_children()

    def _is_kind(self, namespace: str) -> bool:
        return False

    def enter_scope(self, scope_identifier: str) -> Any:
        """The root of an attached model, by its name or ``name/of/nested``, or None."""
        model = self._root
        for name in scope_identifier.rstrip(PREFIX_SEPARATOR).split(PREFIX_SEPARATOR):
            if not model.namescope.has_identifier("attached_model", name):
                return None
            model = model.namescope.get("attached_model", name)
        return model

    def walk(self, exclude_attachments: bool = True) -> Iterator[Any]:
        """This element and all below it, parents first."""
        todo = [self]
        while todo:
            element = todo.pop()
            yield element
            children = element._own_children() if exclude_attachments else element._present_children()
            todo.extend(reversed(children))

    def resolve_references(self) -> None:
        """Turn references by name into references to elements, where there is such an element."""
        main = self._root.default if self._root.has_main_class else None
        for element in self.walk(exclude_attachments=False):
            attributes = element._attributes
            for name in element._spec.references:
                value = attributes.get(name)
                if type(value) is not str:
                    continue
                namespace = attribute.reference_namespace(element._spec.attributes[name], element)
                scope = element.namescope
                if namespace in schema.FINDABLE_NAMESPACES and scope.has_identifier(namespace, value):
                    attributes[name] = scope.get(namespace, value)
                elif namespace == "default" and value == "main" and element._root is self._root and main is not None:
                    attributes[name] = main
            if element._spec.name == "skin" and isinstance(attributes.get("file"), SkinAsset):
                attributes["file"].resolve()

    # ------------------------------------------------------------ comparing

    def is_same_as(self, other: Any) -> bool:
        """Whether another element says the same: attributes and children, their order only within one tag.

        Elements of tendons must be in the same order altogether. References are compared by what they are written as.
        """
        if other is None or other.spec is not self._spec:
            return False
        if not self._same_attributes(other):
            return False
        in_tendon = self._parent is not None and self._parent.tag == "tendon" and self._parent.parent is self._root
        return self._same_sequence(other) if in_tendon else self._same_children(other)

    def _same_attributes(self, other: Any) -> bool:
        names = {*self._ordered_names(), *other._ordered_names()}
        return all(_same_value(self._get(name), other._get(name)) for name in names)

    def _same_sequence(self, other: Any) -> bool:
        mine, theirs = self._present_children(), other._present_children()
        return len(mine) == len(theirs) and all(a.is_same_as(b) for a, b in zip(mine, theirs, strict=True))

    def _same_children(self, other: Any) -> bool:
        mine, theirs = _by_tag(self._present_children()), _by_tag(other._present_children())
        for tag in {*mine, *theirs}:
            if tag in self._spec.singletons:
                if not self._single(tag).is_same_as(other._single(tag)):
                    return False
            elif len(mine.get(tag, ())) != len(theirs.get(tag, ())):
                return False
            elif not all(a.is_same_as(b) for a, b in zip(mine[tag], theirs[tag], strict=True)):
                return False
        return True

    # ------------------------------------------------------------ writing

    def to_xml(
        self,
        prefix_root: NameScope | None = None,
        debug_context: Any = None,
        *,
        precision: int = XML_DEFAULT_PRECISION,
        zero_threshold: float = 0,
        filename_with_hash: bool = True,
    ) -> etree._Element:
        """This element as an lxml element.

        Args:
            prefix_root: The scope of the document it is written for; its own by default.
            debug_context: Where debug marks are registered, in debug mode.
            precision: Significant digits of numbers.
            zero_threshold: Numbers below it are written as zero.
            filename_with_hash: Whether names of files carry the hash of their content.
        """
        style = write.Style(precision, zero_threshold, filename_with_hash)
        return write.to_lxml(self, prefix_root, style, debug_context)

    def to_xml_string(
        self,
        prefix_root: NameScope | None = None,
        self_only: bool = False,
        pretty_print: bool = True,
        debug_context: Any = None,
        *,
        precision: int = XML_DEFAULT_PRECISION,
        zero_threshold: float = 0,
        filename_with_hash: bool = True,
    ) -> str:
        """This element as text; with `self_only` its children are left out. Other arguments as for `to_xml`."""
        style = write.Style(precision, zero_threshold, filename_with_hash)
        return write.to_string(self, prefix_root, style, self_only, pretty_print, debug_context)

    def __str__(self) -> str:
        return self.to_xml_string(self_only=True, pretty_print=False)

    def __repr__(self) -> str:
        return f"MJCF Element: {self}"

    # ------------------------------------------------------------ debug mode

    def get_init_stack(self) -> list[debugging.StackTraceEntry] | None:
        """The stack where this element was made, in debug mode."""
        return getattr(self, "_init_stack", None) if debugging.debug_mode() else None

    def get_last_modified_stacks_for_all_attributes(self) -> OrderedDict[str, Any]:
        """The stack where each attribute was last changed, in debug mode."""
        stacks = (getattr(self, "_stacks", None) or {}) if debugging.debug_mode() else {}
        return OrderedDict((name, stacks.get(name)) for name in self._spec.attributes)


class NoSuchAttribute(UnknownAttribute):
    """Asked for an attribute or child that the schema does not know; the suggestion is only worked out when read."""

    def __init__(self, element: Any, name: str):
        self._element = element
        self._name = name
        super().__init__("")

    @property
    def message(self) -> str:  # type: ignore[override]
        spec = self._element._spec
        hint = did_you_mean(self._name, [*spec.attributes, *spec.children])
        return f"<{spec.name}> object has no attribute: {self._name}{hint}"

    @message.setter
    def message(self, text: str) -> None:
        pass


def _same_value(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, ElementImpl) or isinstance(theirs, ElementImpl):
        names = [value.full_identifier if isinstance(value, ElementImpl) else value for value in (mine, theirs)]
        return names[0] == names[1]
    if isinstance(mine, np.ndarray) or isinstance(theirs, np.ndarray):
        return mine is not None and theirs is not None and np.array_equal(mine, theirs)
    return mine == theirs


def _by_tag(children: list[Any]) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for child in children:
        groups.setdefault(child._spec.name, []).append(child)
    return groups


def _check_namespace(namespace: str) -> None:
    if namespace not in schema.FINDABLE_NAMESPACES:
        hint = did_you_mean(str(namespace), schema.FINDABLE_NAMESPACES)
        known = sorted(schema.FINDABLE_NAMESPACES)
        raise BadValue(f"{namespace!r} is not a valid namespace{hint} Available: {known}.")


def _placed(error: DocumentError, element: Any) -> DocumentError:
    """The error with the place of an element, unless it already has one."""
    if error.file is None and error.line is None:
        error.file, error.line = element.source_file, element.source_line
    if error.path is None:
        error.path = element._path() or None
    return error


def _retold(error: DocumentError, prefix: str, element: Any, path: str) -> DocumentError:
    file, line = (error.file, error.line) if error.line else (element.source_file, element.source_line)
    return type(error)(prefix + error.message, file=file, line=line, path=path or None).with_traceback(
        error.__traceback__
    )


def make_element(spec: ElementSpec, parent: Any, attributes: Any = None, source: Place | None = None) -> ElementImpl:
    """An element of the class that its place in the document asks for."""
    for applies, kind in SPECIAL_CLASSES:
        if applies(spec, parent):
            return kind(spec, parent, attributes, source)
    return ElementImpl(spec, parent, attributes, source)


# Elements that are more than their spec: (whether it applies to a spec under a parent, the class). Filled by `element`.
SPECIAL_CLASSES: list[tuple[Callable[[ElementSpec, Any], bool], type[ElementImpl]]] = []
