"""XML as MuJoCo's reader takes it, for documents that are not quite XML.

MuJoCo reads with a small parser that lets much pass which the standard forbids. Its grammar, all of it:

    document     declarations, then anything; the first element is the root. An end tag outside ends the reading
    node         `<?...?>` | `<!--...-->` | `<![CDATA[...]]>` | `<!...>` | tag | text up to the next `<`
    tag          `<` space* `/`? name (space* name space* `=` space* quoted)* space* (`>` | `/>`)
    quoted       anything up to the same quote. `&name;` of the five known names and `&#number;` are read, any other `&`
                 is itself; a line break stays one
    name         a letter, `_`, `:` or any byte past 127, then also digits, `.` and `-`

So attributes need no space between them, end tags may have attributes, comments may hold `--`, values may hold `<` and
control characters. `read` gives what it gives, and a list of what was forgiven, each with its line. It is asked only
when the strict parser refused; what both refuse is refused with the strict parser's words.

Text is looked at as Latin-1, a character a byte, since the grammar speaks of bytes; names and values are decoded after.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

_SPACES = re.compile(r"[ \t\n\v\f\r]*")
_NAME = re.compile(r"[A-Za-z_:\x80-\xff][A-Za-z0-9_:.\x80-\xff-]*")
_ATTRIBUTE = re.compile(
    r"(?P<space>[ \t\n\v\f\r]*)(?P<name>[A-Za-z_:\x80-\xff][A-Za-z0-9_:.\x80-\xff-]*)[ \t\n\v\f\r]*=[ \t\n\v\f\r]*"
    r"(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)')"
)
_BREAK = re.compile(r"\r\n?|\n\r?")
_REFERENCE = re.compile(r"&(?:#(\d+);|#x([0-9a-fA-F]+);|(quot|amp|apos|lt|gt);)")
_KNOWN = {"quot": '"', "amp": "&", "apos": "'", "lt": "<", "gt": ">"}
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_BOM = "\xef\xbb\xbf"
_QUOTED: tuple[tuple[str, str, str], ...] = (
    ("<?", "?>", "declaration"), ("<!--", "-->", "comment"), ("<![CDATA[", "]]>", "cdata"), ("<!", ">", "unknown"),
)  # fmt: skip
"""Nodes that are read up to a fixed end: how they begin, how they end, what they are."""


class Refused(Exception):
    """Not a document for MuJoCo either."""


@dataclass
class Tag:
    """One tag: `kind` is "open", "closed" (`<a/>`) or "end"."""

    name: str
    kind: str
    attributes: dict[str, str]
    start: int
    end: int


@dataclass
class Events:
    """Who is told what was read: as the strict parser tells it."""

    start: Callable[[str, dict[str, str], int], Any]
    end: Callable[[], Any]
    cdata: Callable[[str, int], Any]


class Reader:
    """One text being read."""

    def __init__(self, data: bytes):
        self.text = data.decode("latin-1")
        self.decode = _decoder(data)
        self.forgiven: list[tuple[int, str]] = []

    @cached_property
    def breaks(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self.text)]

    def attributes_at(self, start: int) -> dict[str, str]:
        """Attributes of the tag that begins at a byte, line breaks and tabs in them as written."""
        return self._tag(start).attributes

    def line(self, place: int) -> int:
        return bisect_right(self.breaks, place - 1) + 1

    def forgive(self, place: int, what: str) -> None:
        self.forgiven.append((self.line(place), what))

    # ---- the document

    def run(self, events: Events) -> None:
        open_names: list[str] = []
        roots, seen = 0, False
        for kind, place, item in self._nodes():
            if kind == "declaration":
                if seen:
                    raise Refused
                continue
            seen = True
            if kind == "cdata" and open_names and roots < 2:
                events.cdata(self.decode(_BREAK.sub("\n", item)), self.line(place))
            elif kind == "text" and not open_names:
                self.forgive(place, f"text {'after' if roots else 'before'} the root element")
            elif isinstance(item, Tag):
                if item.kind == "end":
                    if not open_names:
                        if not roots:
                            raise Refused
                        self.forgive(place, f"</{item.name}> after the root element; what follows it is not read")
                        return
                    if open_names.pop() != item.name:
                        raise Refused
                    if roots == 1:
                        events.end()
                    continue
                if not open_names:
                    roots += 1
                    if roots == 2:
                        self.forgive(place, f"<{item.name}> after the root element, which is not read")
                if roots == 1:
                    events.start(item.name, item.attributes, self.line(place))
                if item.kind == "open":
                    open_names.append(item.name)
                elif roots == 1:
                    events.end()
        if open_names or not roots:
            raise Refused

    def _nodes(self) -> Iterator[tuple[str, int, Any]]:
        """What stands in the text, one after another: kind, place, and its text or tag."""
        text, place = self.text, _SPACES.match(self.text).end()  # type: ignore[union-attr]
        if text.startswith(_BOM, place):
            place += len(_BOM)
        while True:
            place = _SPACES.match(text, place).end()  # type: ignore[union-attr]
            if place == len(text):
                return
            for begin, end, kind in _QUOTED:
                if text.startswith(begin, place):
                    stop = text.find(end, place + len(begin))
                    if stop < 0:
                        raise Refused
                    self._look_at(kind, place, inside := text[place + len(begin) : stop])
                    yield kind, place, inside
                    place = stop + len(end)
                    break
            else:
                if text[place] == "<":
                    tag = self._tag(place)
                    yield "tag", place, tag
                    place = tag.end
                else:
                    stop = text.find("<", place)
                    if stop < 0 or stop + 1 == len(text):
                        raise Refused
                    self._look_at("text", place, text[place:stop])
                    yield "text", place, text[place:stop]
                    place = stop

    def _look_at(self, kind: str, place: int, inside: str) -> None:
        """Note what the standard forbids in a piece of text."""
        if kind == "comment" and ("--" in inside or inside.endswith("-")):
            self.forgive(place, "'--' in a comment")
        elif kind == "unknown" and not inside.startswith("DOCTYPE"):
            self.forgive(place, f"<!{inside[:20]}> is passed over")
        elif kind == "text" and ("&" in _REFERENCE.sub("", inside) or "]]>" in inside):
            self.forgive(place, "'&' or ']]>' in text")
        if _CONTROL.search(inside):
            self.forgive(place, "a control character")

    # ---- tags

    def _tag(self, start: int) -> Tag:
        text = self.text
        place = _SPACES.match(text, start + 1).end()  # type: ignore[union-attr]
        if place != start + 1:
            self.forgive(start, "a space after '<'")
        ends = text.startswith("/", place)
        name = _NAME.match(text, place + ends)
        if name is None:
            raise Refused
        tag, place = self.decode(name[0]), name.end()
        attributes, place = self._attributes(place, tag)
        if text.startswith("/>", place):
            if ends:
                self.forgive(start, f"</{tag}/> is read as <{tag}/>")
            return Tag(tag, "closed", attributes, start, place + 2)
        if not text.startswith(">", place):
            raise Refused
        if ends and attributes:
            self.forgive(start, f"attributes on the end tag </{tag}>")
        return Tag(tag, "end" if ends else "open", attributes, start, place + 1)

    def _attributes(self, place: int, tag: str) -> tuple[dict[str, str], int]:
        found: dict[str, str] = {}
        while match := _ATTRIBUTE.match(self.text, place):
            name = self.decode(match["name"])
            if name in found:
                raise Refused
            if not match["space"]:
                self.forgive(place, f"no space before attribute {name!r} of <{tag}>")
            raw = match["double"] if match["double"] is not None else match["single"]
            if "<" in raw or _CONTROL.search(raw) or "&" in _REFERENCE.sub("", raw):
                self.forgive(place, f"'<', a bare '&' or a control character in attribute {name!r} of <{tag}>")
            found[name] = self._value(raw)
            place = match.end()
        return found, _SPACES.match(self.text, place).end()  # type: ignore[union-attr]

    def _value(self, raw: str) -> str:
        return self.decode(_BREAK.sub("\n", raw)) if "&" not in raw else self._referred(_BREAK.sub("\n", raw))

    def _referred(self, raw: str) -> str:
        value = _REFERENCE.sub(_character, self.decode(raw))
        return value.partition("\0")[0]  # a zero ends the string, as in C


def _character(match: re.Match[str]) -> str:
    decimal, hexadecimal, name = match.groups()
    if name:
        return _KNOWN[name]
    digits = (decimal or hexadecimal).lstrip("0") or "0"
    code = int(digits[:12], 10 if decimal else 16)
    if 0xD800 <= code < 0xE000:
        raise Refused  # half of a character
    return chr(code) if code <= 0x10FFFF else match[0]


def _decoder(data: bytes) -> Callable[[str], str]:
    """Bytes are UTF-8; where a document is not, each stands for a character of Latin-1."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return str
    return lambda text: text if text.isascii() else text.encode("latin-1").decode()


def read(data: bytes, events: Events) -> list[tuple[int, str]]:
    """Tell `events` of the elements of a document; returns what was forgiven, by line. Raises Refused."""
    data = data.partition(b"\0")[0]  # a zero ends the text
    reader = Reader(data)
    reader.run(events)
    return reader.forgiven
