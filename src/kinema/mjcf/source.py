"""MJCF text as a plain tree that remembers where each element stood.

This is the ground form of a document: what a file says, before any meaning. The parser builds the editable document
from it, and the compiler reads it. XML comes from anyone, so reading is bounded: no entity declarations, a limit on
depth (MuJoCo's own) and on size. What the standard forbids and MuJoCo's reader forgives is forgiven, with a warning.
"""

from __future__ import annotations

import warnings
import xml.parsers.expat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn

from kinema.errors import MissingFile, SyntaxProblem
from kinema.mjcf import lenient

MAX_DEPTH = 500
MAX_BYTES = 256 * 2**20
MOST_NAMED = 5
_NUMERIC = frozenset("0123456789+-.") | {""}


@dataclass(slots=True, eq=False)
class Node:
    """One element: its tag, attributes as written, children in order, and where it came from."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)
    file: str | None = None
    line: int | None = None
    parent: Node | None = field(default=None, repr=False)

    def add(self, child: Node) -> Node:
        child.parent = self
        self.children.append(child)
        return child

    def find(self, *tags: str) -> Iterator[Node]:
        """Children with one of these tags, in document order."""
        return (child for child in self.children if child.tag in tags)

    def walk(self) -> Iterator[Node]:
        """This node and all below it, parents first."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    @property
    def path(self) -> str:
        """Where this element stands, such as ``worldbody/body[torso]/geom``; the root itself is left out."""
        steps: list[str] = []
        node: Node | None = self
        while node is not None and (node.parent is not None or not steps):
            name = node.attributes.get("name") or node.attributes.get("class")
            steps.append(f"{node.tag}[{name}]" if name else node.tag)
            node = node.parent
        return "/".join(reversed(steps))


def is_xml(text: str) -> bool:
    """Whether text is a document rather than the name of one."""
    return text.lstrip(" \t\r\n\v\f\ufeff").startswith("<") or "<mujoco" in text


def read_xml(text: str | bytes, *, file: str | None = None) -> Node:
    """Parse XML text into a tree; raises SyntaxProblem with file and line for anything malformed or unsafe.

    What is not XML but MuJoCo's reader takes (`lenient`) is taken with a warning that says what and in which line.
    """
    data = text.encode(errors="surrogatepass") if isinstance(text, str) else bytes(text)
    if len(data) > MAX_BYTES:
        raise SyntaxProblem(f"document of {len(data)} bytes is larger than the limit of {MAX_BYTES}", file=file)
    try:
        return _Strict(data, "utf-8" if isinstance(text, str) else None, file).read()
    except NotWellFormed as error:
        tree = _Tree(file)
        try:
            forgiven = lenient.read(data, lenient.Events(tree.start, tree.end, tree.cdata))
        except lenient.Refused:
            raise SyntaxProblem(error.message, file=file, line=error.line) from None
        found = forgiven or [(error.line or 1, error.message)]
        places = "; ".join(f"line {line}: {what}" for line, what in found[:MOST_NAMED])
        more = f"; and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        warnings.warn(
            f"{file or 'document'}: not well-formed XML, read as MuJoCo reads it: {places}{more}", stacklevel=3
        )
        return tree.root


class NotWellFormed(SyntaxProblem):
    """What the strict parser refuses."""


class _Tree:
    """Nodes as a parser tells of them."""

    def __init__(self, file: str | None):
        self.file = file
        self.stack: list[Node] = []
        self.roots: list[Node] = []

    @property
    def root(self) -> Node:
        root = self.roots[0]
        for name in [name for name in root.attributes if name == "xmlns" or ":" in name]:
            del root.attributes[name]  # namespaces mean nothing to MJCF
        return root

    def start(self, tag: str, attributes: dict[str, str], line: int) -> None:
        if len(self.stack) >= MAX_DEPTH:
            raise SyntaxProblem(f"elements are nested deeper than {MAX_DEPTH}", file=self.file, line=line)
        node = Node(tag, attributes, file=self.file, line=line)
        if self.stack:
            self.stack[-1].add(node)
        else:
            self.roots.append(node)
        self.stack.append(node)

    def end(self) -> None:
        self.stack.pop()

    def cdata(self, text: str, line: int) -> None:
        node = self.stack[-1]
        if node.tag == "text":  # a custom text may hold its data this way instead of in an attribute
            if "data" in node.attributes:
                message = "text takes its data once: as an attribute or as one CDATA section"
                raise SyntaxProblem(message, file=self.file, line=line)
            node.attributes["data"] = text


class _Strict:
    """The standard's grammar, by expat. Nothing is expanded: a document cannot declare entities."""

    def __init__(self, data: bytes, encoding: str | None, file: str | None):
        self.data, self.file, self.tree = data, file, _Tree(file)
        self.parser = parser = xml.parsers.expat.ParserCreate(encoding)
        self.parts: list[str] = []
        self.bytes_are_utf8 = True
        parser.XmlDeclHandler = self._declared
        parser.StartCdataSectionHandler, parser.EndCdataSectionHandler = self._start_cdata, self._end_cdata
        parser.StartElementHandler = self._start
        parser.EndElementHandler = lambda tag: self.tree.end()
        parser.EntityDeclHandler = lambda name, *_: self._refuse(f"entity declaration {name!r} is not allowed")
        parser.SkippedEntityHandler = lambda name, *_: self._refuse(f"entity {name!r} is not defined")
        parser.ExternalEntityRefHandler = lambda *_: self._refuse("external entities are not allowed")

    def read(self) -> Node:
        try:
            self.parser.Parse(self.data, True)
        except xml.parsers.expat.ExpatError as error:
            problem = xml.parsers.expat.errors.messages[error.code]
            if problem == xml.parsers.expat.errors.XML_ERROR_MISPLACED_XML_PI:
                problem += "; move the line <?xml ...?> to the top of the file, before any comment, or leave it out"
            raise NotWellFormed(f"XML error: {problem}", file=self.file, line=error.lineno) from None
        except (ValueError, LookupError) as error:  # an encoding the machine does not know
            if isinstance(error, SyntaxProblem):
                raise
            raise NotWellFormed(f"XML error: {error}", file=self.file) from None
        return self.tree.root

    @cached_property
    def raw(self) -> lenient.Reader:
        return lenient.Reader(self.data)

    def _refuse(self, message: str) -> NoReturn:
        raise SyntaxProblem(message, file=self.file, line=self.parser.CurrentLineNumber)

    def _declared(self, version: str, encoding: str | None, standalone: int) -> None:
        self.bytes_are_utf8 = encoding is None or encoding.lower() in ("utf-8", "us-ascii")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        for value in attributes.values():
            if " " in value and value.lstrip()[:1] not in _NUMERIC and self.bytes_are_utf8:
                # words: the standard makes line breaks in them spaces, MuJoCo keeps them
                attributes |= self.raw.attributes_at(self.parser.CurrentByteIndex)
                break
        self.tree.start(tag, attributes, self.parser.CurrentLineNumber)

    def _start_cdata(self) -> None:
        self.parts.clear()
        self.parser.CharacterDataHandler = self.parts.append

    def _end_cdata(self) -> None:
        self.parser.CharacterDataHandler = None
        self.tree.cdata("".join(self.parts), self.parser.CurrentLineNumber)


Opener = Callable[[str, "str | None"], "tuple[bytes, str]"]
"""Opens the file an <include> names: (file as written, file it is relative to) -> (bytes, canonical name).

Raises OSError when there is no such file."""


def expand_includes(root: Node, open_file: Opener) -> Node:
    """Replace every <include file="..."/> by the children of the root of that file, at any depth, in place.

    MuJoCo's rules: a file may be included once, whatever way leads to it; its name is taken relative to the main file
    first, then relative to the file that includes it. Each element keeps the file and line it was written at.
    """
    main = root.file
    seen = {main} if main else set()
    todo = [root]
    while todo:
        node = todo.pop()
        if any(child.tag == "include" for child in node.children):
            node.children = _expanded(node, main, open_file, seen)
        todo.extend(node.children)
    return root


def _expanded(node: Node, main: str | None, open_file: Opener, seen: set[str]) -> list[Node]:
    """The children of a node with includes replaced; a stack rather than recursion, since files can nest deeply."""
    done: list[Node] = []
    stack = [iter(node.children)]
    while stack:
        child = next(stack[-1], None)
        if child is None:
            stack.pop()
        elif child.tag == "include":
            stack.append(iter(_included(child, main, open_file, seen)))
        else:
            child.parent = node
            done.append(child)
    return done


def _included(include: Node, main: str | None, open_file: Opener, seen: set[str]) -> list[Node]:
    name = include.attributes.get("file")
    where: dict[str, Any] = {"file": include.file, "line": include.line, "path": include.path}
    if not name:
        raise SyntaxProblem("include needs a 'file'", **where)
    if include.children:
        raise SyntaxProblem("include cannot have children", **where)
    try:
        data, canonical = _open(name, main, include.file, open_file)
    except OSError as error:
        raise MissingFile(f"include: cannot open {name!r}: {error}", **where) from error
    if canonical in seen:
        raise SyntaxProblem(f"file {name!r} already included", **where)
    seen.add(canonical)
    inner = read_xml(data, file=canonical)
    if not inner.children:
        raise SyntaxProblem(f"included file {name!r} is empty", **where)
    return inner.children


def _open(name: str, main: str | None, includer: str | None, open_file: Opener) -> tuple[bytes, str]:
    try:
        return open_file(name, main)
    except OSError:
        if includer == main:
            raise
    return open_file(name, includer)
