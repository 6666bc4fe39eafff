"""The tree of a document: what every element can do.

One class serves every tag; what an element may hold is in its spec. Beside its attributes (`holder`) an element keeps

    _singles      children of which there is always one (<option> of <mujoco>), made when first asked for
    _list         the other children, in document order
    _attachments  elements of attached models that are merged into this one, by their name scope

An element that is not the root belongs to its parent for life: removing it ends it, and references to it read None.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from kinema.errors import BadValue, UnknownAttribute, UnknownChild, did_you_mean
from kinema.mjcf import attribute, compare, debugging, schema, write
from kinema.mjcf.asset import SkinAsset
from kinema.mjcf.constants import PREFIX_SEPARATOR
from kinema.mjcf.element_list import ElementList
from kinema.mjcf.holder import AttributeHolder, Place, put
from kinema.mjcf.place import NoSuchAttribute, placed

if TYPE_CHECKING:
    from lxml import etree

    from kinema.mjcf.namescope import NameScope
    from kinema.mjcf.schema import ElementSpec


class ElementImpl(AttributeHolder):
    """An element with its attributes and children; see the module for what it keeps."""

    __slots__ = ()

    # ------------------------------------------------------------ attributes and children as Python attributes

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
            raise placed(UnknownAttribute(message), self)
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
                raise placed(UnknownChild(f"<{spec.name}> has no <{name}> to delete"), self)
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
            put(self, "_singles", singles)
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
            raise placed(UnknownChild(schema.unknown_child(tag, self._spec)), self)
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
            raise placed(BadValue(f"A <{tag}> child already exists, please access it directly."), self)
        if debugging.debug_mode():
            with debugging.freeze_current_stack_trace():
                child = make_element(child_spec, self, attributes, source)
        else:
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
        scope, parent = self.namescope, self._parent
        for element in reversed(list(self.walk())):  # children first
            element._end(affect_attachments)
        if self._removed:
            parent._list.remove(self)
        scope.structure_changed()

    def _end(self, affect_attachments: bool) -> None:
        """Forget all values and children of an element whose children have ended; it may stay, empty."""
        if affect_attachments and self._attachments:
            for attachment in list(self._attachments.values()):
                attachment.remove(affect_attachments=True)
        for name in list(self._attributes):
            self._force_clear(name)
        self._list.clear()
        if self._spec.repeated or self._spec.on_demand:
            put(self, "_parent", None)
            put(self, "_removed", True)

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
        return compare.same(self, other)

    # ------------------------------------------------------------ writing

    def to_xml(
        self,
        prefix_root: NameScope | None = None,
        debug_context: Any = None,
        *,
        precision: int | None = None,
        zero_threshold: float = 0,
        filename_with_hash: bool = True,
    ) -> etree._Element:
        """This element as an lxml element.

        Args:
            prefix_root: The scope of the document it is written for; its own by default.
            debug_context: Where debug marks are registered, in debug mode.
            precision: Significant digits of numbers; by default a document has the fewest that read as the same
                number, an element by itself 17.
            zero_threshold: Numbers below it are written as zero.
            filename_with_hash: Whether names of files carry the hash of their content.
        """
        style = write.Style(write.digits(self, precision), zero_threshold, filename_with_hash)
        return write.to_lxml(self, prefix_root, style, debug_context)

    def to_xml_string(
        self,
        prefix_root: NameScope | None = None,
        self_only: bool = False,
        pretty_print: bool = True,
        debug_context: Any = None,
        *,
        precision: int | None = None,
        zero_threshold: float = 0,
        filename_with_hash: bool = True,
    ) -> str:
        """This element as text; with `self_only` its children are left out. Other arguments as for `to_xml`."""
        style = write.Style(write.digits(self, precision), zero_threshold, filename_with_hash)
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


def _check_namespace(namespace: str) -> None:
    if namespace not in schema.FINDABLE_NAMESPACES:
        hint = did_you_mean(str(namespace), schema.FINDABLE_NAMESPACES)
        known = sorted(schema.FINDABLE_NAMESPACES)
        raise BadValue(f"{namespace!r} is not a valid namespace{hint} Available: {known}.")


def make_element(spec: ElementSpec, parent: Any, attributes: Any = None, source: Place | None = None) -> ElementImpl:
    """An element of the class that its place in the document asks for."""
    for applies, kind in SPECIAL_CLASSES:
        if applies(spec, parent):
            return kind(spec, parent, attributes, source)
    return ElementImpl(spec, parent, attributes, source)


# Elements that are more than their spec: (whether it applies to a spec under a parent, the class). Filled by `element`.
SPECIAL_CLASSES: list[tuple[Callable[[ElementSpec, Any], bool], type[ElementImpl]]] = []
