"""MJCF text as a plain tree that remembers where each element stood.

This is the ground form of a document: what a file says, before any meaning. The parser builds the editable document
from it, and the compiler reads it. XML comes from anyone, so reading is bounded: no entity declarations, a limit on
depth (MuJoCo's own) and on size.
"""

from __future__ import annotations

import xml.parsers.expat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from kinema.errors import MissingFile, SyntaxProblem

MAX_DEPTH = 500
MAX_BYTES = 256 * 2**20


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


def read_xml(text: str | bytes, *, file: str | None = None) -> Node:
    """Parse XML text into a tree; raises SyntaxProblem with file and line for anything malformed or unsafe."""
    data = text.encode() if isinstance(text, str) else bytes(text)
    if len(data) > MAX_BYTES:
        raise SyntaxProblem(f"document of {len(data)} bytes is larger than the limit of {MAX_BYTES}", file=file)
    encoding = "utf-8" if isinstance(text, str) else None
    parser = xml.parsers.expat.ParserCreate(encoding)
    root: list[Node] = []
    stack: list[Node] = []

    def refuse(message: str) -> NoReturn:
        raise SyntaxProblem(message, file=file, line=parser.CurrentLineNumber)

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(stack) >= MAX_DEPTH:
            refuse(f"elements are nested deeper than {MAX_DEPTH}")
        node = Node(tag, attributes, file=file, line=parser.CurrentLineNumber)
        if stack:
            stack[-1].add(node)
        else:
            root.append(node)
        stack.append(node)

    def start_cdata() -> None:
        parts.clear()
        parser.CharacterDataHandler = parts.append

    def end_cdata() -> None:
        parser.CharacterDataHandler = None
        if stack[-1].tag == "text":  # a custom text may hold its data this way instead of in an attribute
            if "data" in stack[-1].attributes:
                refuse("text takes its data once: as an attribute or as one CDATA section")
            stack[-1].attributes["data"] = "".join(parts)

    parts: list[str] = []
    parser.StartCdataSectionHandler, parser.EndCdataSectionHandler = start_cdata, end_cdata
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: stack.pop()
    parser.EntityDeclHandler = lambda name, *_: refuse(f"entity declaration {name!r} is not allowed")
    parser.SkippedEntityHandler = lambda name, *_: refuse(f"entity {name!r} is not defined")
    parser.ExternalEntityRefHandler = lambda *_: refuse("external entities are not allowed")
    try:
        parser.Parse(data, True)
    except xml.parsers.expat.ExpatError as error:
        problem = xml.parsers.expat.errors.messages[error.code]
        raise SyntaxProblem(f"XML error: {problem}", file=file, line=error.lineno) from None
    except (ValueError, LookupError) as error:  # an encoding the machine does not know
        if isinstance(error, SyntaxProblem):
            raise
        raise SyntaxProblem(f"XML error: {error}", file=file) from None
    return root[0]


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
