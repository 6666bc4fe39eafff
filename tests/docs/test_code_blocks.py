"""Every block of Python in the README and in docs/ runs, and prints what the page says it prints.

Blocks of a page run in order, in one namespace, in a folder of their own. A block with a file's name as its title is
that file. A block of `text` right after a block of Python is what that prints. Lines of `sh` that begin with `kinema`
are run by the command's own `main`, and must succeed. What cannot run says so in its title, `title="not run: why"`, and
stands in NOT_RUN.
"""

import contextlib
import io
import linecache
import re
import shlex
import sys
from pathlib import Path

import pytest
import warp as wp

from kinema.cli import main
from kinema.plugins import find_plugin, unregister
from tests.docs.pages import PAGES, ROOT, Block, blocks, name

ARM = next(block.text for block in blocks(ROOT / "docs/first-model.md") if block.title == "arm.xml")
"""The model most pages use; it stands in "A first model"."""

NOT_RUN = {
    "it installs packages",
    "it serves a page until Ctrl-C",
    "it takes minutes",
    "it takes a quarter of an hour",
    "it needs a GPU",
    "it never ends",
    "it wants a running Ray cluster",
}
"""Reasons for which a block is not run."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the model that pages share, where the page's code runs; nothing of it stays behind."""
    (tmp_path / "arm.xml").write_text(ARM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(wp.config, "log_level", wp.LOG_WARNING)  # Warp would tell what it loads
    modules = set(sys.modules)
    with wp.ScopedDevice("cpu"):  # what pages print was printed there
        yield tmp_path
    for module in set(sys.modules) - modules:
        if str(getattr(sys.modules[module], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[module]
    if find_plugin("acme.motor"):
        unregister("acme.motor")


def run_python(block: Block, page: Path, names: dict) -> str:
    """Run a block; what it printed. Errors show the page's own lines."""
    text = "\n" * (block.line - 1) + block.text
    where = f"<{name(page)}>"
    linecache.cache[where] = (len(text), None, text.splitlines(keepends=True), where)
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard):
        exec(compile(text, where, "exec"), names)
    return heard.getvalue()


def run_shell(block: Block) -> None:
    """Run the lines that call kinema."""
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words and words[0] == "kinema":
            assert main(words[1:]) == 0, line


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_page(page, folder, capsys):
    names: dict = {"__name__": "__main__"}
    printed = None
    for block in blocks(page):
        if block.is_file:
            target = folder / block.title
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text)
        elif block.not_run:
            continue
        elif block.language == "python":
            printed = run_python(block, page, names)
            continue
        elif block.language == "sh":
            run_shell(block)
        elif block.language == "text" and printed is not None and not block.follows:
            assert lines(printed) == lines(block.text), f"{name(page)}:{block.line}"
        printed = None


def test_most_blocks_run():
    python = [block for page in PAGES for block in blocks(page) if block.language == "python"]
    left_out = [block for page in PAGES for block in blocks(page) if block.not_run]
    assert {block.not_run for block in left_out} == NOT_RUN
    assert len(python) > 50
    assert len([block for block in left_out if block.language == "python"]) <= 6


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_languages_are_known(page):
    """A block that is misspelt, such as `pyhton`, would silently not be run."""
    assert {block.language for block in blocks(page)} <= {"python", "sh", "text", "xml", "toml"}
    indented = re.findall(r"^    (?:import |from kinema|sim\.)[^\n]*", page.read_text(encoding="utf-8"), re.MULTILINE)
    inside = [line for block in blocks(page) for line in block.text.splitlines()]
    assert [line for line in indented if line not in inside] == []


def test_pages_name_no_place_of_this_machine():
    for page in PAGES:
        assert not re.search(r"(?<![\w.])/(?:work|tmp|home|root)/", page.read_text(encoding="utf-8")), name(page)
