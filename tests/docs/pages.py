"""The pages of the documentation, taken apart: blocks of code with their language, title and line, and inline code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```[ ]*$", re.DOTALL | re.MULTILINE)
_TITLE = re.compile(r'title="([^"]*)"')


@dataclass(frozen=True)
class Block:
    """A fenced block: ```language title="..."."""

    language: str
    title: str
    text: str
    line: int
    """Line of its first line of text in the page, from 1."""
    follows: int
    """Lines of prose between it and the block before."""

    @property
    def is_file(self) -> bool:
        """Whether the title names a file, so that the block is its content."""
        return bool(re.fullmatch(r"[\w./-]+\.\w+", self.title))

    @property
    def not_run(self) -> str:
        """Why the block is not run; empty where it is."""
        return self.title.removeprefix("not run: ") if self.title.startswith("not run: ") else ""


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    found, end = [], 0
    for match in _FENCE.finditer(text):
        info = match["info"].strip()
        title = _TITLE.search(info)
        between = len(text[end : match.start()].strip().splitlines())
        line = text.count("\n", 0, match.start("text")) + 1
        found.append(Block(info.partition(" ")[0], title[1] if title else "", match["text"], line, between))
        end = match.end()
    return found


def inline_code(page: Path) -> list[str]:
    """Everything between single backticks, outside blocks."""
    prose = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return re.findall(r"(?<!`)`([^`\n]+)`(?!`)", prose)


def name(page: Path) -> str:
    """Its path in the repository, as the identity of a test."""
    return page.relative_to(ROOT).as_posix()
