"""From a document to a source tree, to lxml, or to text.

`to_source` is the ground: the tree that the document says, with names prefixed, classes named, files under their VFS
names, and on every node the file and line its element was read from. Text and lxml are made from it.

Rules of writing: attributes in the schema's order; elements without a name get one (``//unnamed_geom_3``), so that they
can be referred to, but inside <replicate>, where MuJoCo makes names; elements without a class get the model's global
class, unless a childclass reaches them; empty singletons are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lxml import etree

from kinema.mjcf import attribute, debugging
from kinema.mjcf.constants import XML_DEFAULT_PRECISION
from kinema.mjcf.keyframe import Keyframes
from kinema.mjcf.source import Node
from kinema.mjcf.units import Units

if TYPE_CHECKING:
    from kinema.mjcf.namescope import NameScope


@dataclass(frozen=True, slots=True)
class Style:
    """How values are written.

    Attributes:
        precision: Significant digits of numbers; None: the fewest that read as the same number, 0.1.
        zero_threshold: Numbers below it are written as zero.
        filename_with_hash: Whether names of files carry the hash of their content.
    """

    precision: int | None = XML_DEFAULT_PRECISION
    zero_threshold: float = 0
    filename_with_hash: bool = True


def digits(element: Any, precision: int | None) -> int | None:
    """Digits of numbers where none are asked for: a document has the fewest; an element alone 17, as in dm_control."""
    return precision if precision is not None or element.parent is None else XML_DEFAULT_PRECISION


def attribute_text(element: Any, name: str, prefix_root: NameScope | None, style: Style) -> str | None:
    """The text of one attribute, or None when it is not written."""
    spec = element.spec.attributes[name]
    if spec.type == "ref":
        return attribute.reference_text(element, name, prefix_root)
    if spec.type == "id":
        if element.tag == "default":
            return element.prefixed_identifier(prefix_root)
        value = element.raw_attributes.get(name)
        return element.namescope.full_prefix(prefix_root) + value if value else None
    value = element._get(name)
    return None if value is None else _value_text(spec, value, element, prefix_root, style)


def _value_text(spec: Any, value: Any, element: Any, prefix_root: NameScope | None, style: Style) -> str | None:
    if spec.array:
        return attribute.format_numbers(value, style.precision, style.zero_threshold)
    if spec.type == "float":
        return attribute.format_numbers([value], style.precision, style.zero_threshold)
    if spec.type == "file":
        return value.get_vfs_filename(style.filename_with_hash)
    if spec.type == "dir":
        return None
    if spec.type == "prefix":
        return element.namescope.full_prefix(prefix_root) + value
    if spec.type == "names":
        return attribute.names_text(element, value, prefix_root)
    return str(value)


class _Writer:
    """Writes one element and all below it for the document of one scope."""

    def __init__(self, prefix_root: NameScope, style: Style):
        self.prefix_root = prefix_root
        self.style = style
        self.trace: list[tuple[Node, Any]] = []
        model = prefix_root.mjcf_model
        composed = bool(model.attached_models()) or prefix_root.parent is not None
        self.units = Units(model) if composed else None
        self.keyframes = Keyframes(model) if composed else None
        self._prefixes: dict[NameScope, str] = {}
        self._classes: dict[NameScope, str] = {}

    def prefix(self, scope: NameScope) -> str:
        found = self._prefixes.get(scope)
        if found is None:
            found = self._prefixes[scope] = scope.full_prefix(self.prefix_root)
        return found

    def global_class(self, element: Any) -> str:
        scope = element.namescope
        found = self._classes.get(scope)
        if found is None:
            found = self._classes[scope] = element.root.default.prefixed_identifier(self.prefix_root)
        return found

    def write(self, element: Any) -> Node:
        """The tree of an element."""
        top = Node("")
        # (element, node above, whether a childclass reaches it, whether names are made for unnamed ones)
        todo = [(element, top, _reached_by_childclass(element), not _in_replicate(element))]
        prunable = []
        while todo:
            here, above, reached, naming = todo.pop()
            spec = here._spec
            if spec.name == "default" and here._parent is here._root:
                todo.extend(reversed(self._default_section(here, above)))
                continue
            attributes = self._attributes(here, reached, naming)
            node = Node(spec.name, attributes, file=here.source_file, line=here.source_line, parent=above)
            above.children.append(node)
            self.trace.append((node, here))
            if not (spec.repeated or spec.on_demand) and above is not top:
                prunable.append(node)
            if "childclass" in attributes:
                reached = True
            if spec.name == "replicate":
                naming = False
            todo.extend(reversed(self._children(here, node, reached, naming)))
        for node in reversed(prunable):
            if not node.attributes and not node.children and node.parent is not None:
                node.parent.children.remove(node)
        written = top.children[0]
        written.parent = None
        return written

    def self_only(self, element: Any) -> str:
        """The element's own tag as text, with its own values as they are, and dots for children."""
        if element.tag == "default" and element._parent is element._root:
            return "<default>...</default>"
        self.units = None
        attributes = self._attributes(element, _reached_by_childclass(element), naming=False)
        start = _open_tag(Node(element.tag, attributes))
        if any(_is_written(child) for child in element._present_children()):
            return f"{start}>...</{element.tag}>"
        return f"{start}/>"

    def _children(self, element: Any, node: Node, reached: bool, naming: bool) -> list[tuple[Any, Node, bool, bool]]:
        """Children to write next; a childclass reaches those of the same model only."""
        root = element._root
        return [(child, node, reached and child._root is root, naming) for child in element._present_children()]

    def _default_section(self, element: Any, above: Node) -> list[tuple[Any, Node, bool, bool]]:
        """The <default> at the top: one class for each model, side by side."""
        section = Node("default", parent=above, file=element.source_file, line=element.source_line)
        above.children.append(section)
        children = []
        models = [element]
        while models:
            default = models.pop()
            models.extend(reversed(list((default._attachments or {}).values())))
            name = {"class": default.prefixed_identifier(self.prefix_root)}
            node = Node("default", name, file=default.source_file, line=default.source_line, parent=section)
            section.children.append(node)
            self.trace.append((section if default is element else node, default))
            children += [(child, node, False, True) for child in default._own_children()]
        return children

    def _attributes(self, element: Any, reached: bool, naming: bool) -> dict[str, str]:
        spec = element._spec
        specs = spec.attributes
        scope = element._root._namescope
        text: dict[str, str] = {}
        if spec.identifier is not None:
            name = element._attributes.get(spec.identifier)
            if spec.name == "default":
                text["class"] = element.prefixed_identifier(self.prefix_root)
            elif name:
                text[spec.identifier] = self.prefix(scope) + name
            elif naming:
                text[spec.identifier] = element.prefixed_identifier(self.prefix_root)
        own_name = self._own_name(element)
        if own_name and "name" in element._attributes:
            text["name"] = own_name
        if "class" in specs and specs["class"].type == "ref":
            if element._get("class") is not None:
                text["class"] = str(attribute.reference_text(element, "class", self.prefix_root))
            elif not reached:
                text["class"] = self.global_class(element)
        values = element.values()
        if self.units is not None:
            values = self._composed(element, values)
        for name in sorted(values, key=spec.order.__getitem__) if len(values) > 1 else values:
            kind = specs[name]
            if name in text or kind.type == "id" or name == "class":
                continue
            value = None
            if kind.type == "ref":
                value = attribute.reference_text(element, name, self.prefix_root)
            elif values[name] is not None:
                value = _value_text(kind, values[name], element, self.prefix_root, self.style)
            if value is not None:
                text[name] = value
        if own_name and "name" not in text:
            text["name"] = own_name
        return text

    def _composed(self, element: Any, values: dict[str, Any]) -> dict[str, Any]:
        """The values of an element of a composed document, in the document's units and order."""
        changed = self.units.adjust(element) if self.units else {}
        if element._spec.name == "key" and self.keyframes:
            changed = changed | self.keyframes.adjust(element)
        return values | changed if changed else values

    def _own_name(self, element: Any) -> str | None:
        """The name of attachment frames and their joints, which comes from the attached model."""
        if element._spec.identifier is None and element._spec.namespace is not None:
            return element.prefixed_identifier(self.prefix_root)
        return None


def _is_written(element: Any) -> bool:
    """Whether anything of an element is written: empty singletons are not."""
    spec = element._spec
    if spec.repeated or spec.on_demand or (spec.name == "default" and element._parent is element._root):
        return True
    if any(spec.attributes[name].type != "dir" for name in element._attributes):
        return True
    return any(_is_written(child) for child in element._present_children())


def _reached_by_childclass(element: Any) -> bool:
    ancestor = element.parent
    while ancestor is not None:
        if "childclass" in ancestor._spec.attributes and ancestor._get("childclass"):
            return True
        ancestor = ancestor.parent
    return False


def _in_replicate(element: Any) -> bool:
    ancestor = element.parent
    while ancestor is not None:
        if ancestor.tag == "replicate":
            return True
        ancestor = ancestor.parent
    return False


# ---------------------------------------------------------------- the forms


def to_source(element: Any, prefix_root: NameScope | None = None, style: Style | None = None) -> Node:
    """The source tree of an element: what its document says, and where each part was read from."""
    return _Writer(prefix_root or element.namescope, style or Style(digits(element, None))).write(element)


def to_lxml(
    element: Any, prefix_root: NameScope | None, style: Style, debug_context: Any = None
) -> etree._Element:
    """The same as lxml elements; in debug mode each is followed by a comment that marks its origin."""
    writer = _Writer(prefix_root or element.namescope, style)
    tree = writer.write(element)
    marked = {id(node): origin for node, origin in writer.trace} if debug_context and debugging.debug_mode() else {}
    root = etree.Element(tree.tag, tree.attributes)
    todo = [(tree, root)]
    while todo:
        node, made = todo.pop()
        for child in node.children:
            made_child = etree.SubElement(made, child.tag, child.attributes)
            todo.append((child, made_child))
            if marked:
                _mark(made, made_child, child, marked.get(id(child)), debug_context)
    return root


def _mark(above: etree._Element, made: etree._Element, node: Node, origin: Any, debug_context: Any) -> None:
    """Put the debug comment after an element, and inside it first, so that both its tags carry it."""
    if origin is None:
        return
    above.append(debug_context.register_element_for_debugging(origin))
    if node.children:
        made.append(debug_context.register_element_for_debugging(origin))


def to_string(
    element: Any, prefix_root: NameScope | None, style: Style, self_only: bool, pretty_print: bool, debug_context: Any
) -> str:
    """The same as text."""
    if debug_context and debugging.debug_mode():
        tree = to_lxml(element, prefix_root, style, debug_context)
        text = etree.tostring(tree, pretty_print=pretty_print).decode()
        return debug_context.commit_xml_string(text) if pretty_print else text
    if self_only:
        text = _Writer(prefix_root or element.namescope, style).self_only(element) + ("\n" if pretty_print else "")
    else:
        text = serialise(to_source(element, prefix_root, style), pretty_print=pretty_print)
    if pretty_print and debug_context:
        return debug_context.commit_xml_string(text)
    return text


_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"}
_ESCAPE_TABLE = str.maketrans(_ESCAPES)


def _quoted(value: str) -> str:
    if value.isascii() and value.isprintable() and not ("&" in value or "<" in value or ">" in value or '"' in value):
        return value
    escaped = value.translate(_ESCAPE_TABLE)
    return escaped if escaped.isascii() else escaped.encode("ascii", "xmlcharrefreplace").decode()


def _open_tag(node: Node) -> str:
    if not node.attributes:
        return f"<{node.tag}"
    return f"<{node.tag} " + " ".join([f'{name}="{_quoted(value)}"' for name, value in node.attributes.items()])


MAX_INDENT = 30  # deeper elements are not indented further, as in libxml2


def serialise(node: Node, *, pretty_print: bool = True) -> str:
    """XML text of a source tree, indented by two spaces a level when pretty."""
    parts: list[str] = []
    newline = "\n" if pretty_print else ""
    todo: list[tuple[Any, int]] = [(node, 0)]
    while todo:
        item, depth = todo.pop()
        indent = "  " * min(depth, MAX_INDENT) if pretty_print else ""
        if isinstance(item, str):
            parts.append(f"{indent}</{item}>{newline}")
        elif not item.children:
            parts.append(f"{indent}{_open_tag(item)}/>{newline}")
        else:
            parts.append(f"{indent}{_open_tag(item)}>{newline}")
            todo.append((item.tag, depth))
            todo.extend([(child, depth + 1) for child in reversed(item.children)])
    return "".join(parts)
