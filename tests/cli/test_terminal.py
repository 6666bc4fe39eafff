"""Tables and progress, at a terminal and in a pipe."""

import io
import sys

import pytest

from kinema.cli import terminal


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_plain_tables_are_aligned(capsys):
    terminal.table(("name", "number>"), [("a", 1), ("long name", 1000)], title="title")
    assert capsys.readouterr().out == "title\n  name       number\n  a               1\n  long name    1000\n"


def test_tables_at_a_terminal(monkeypatch):
    heard = Terminal()
    monkeypatch.setattr(sys, "stdout", heard)
    terminal.table(("name", "verdict"), [("[red]x[/red]", "ok")])
    assert "[red]x[/red]" in heard.getvalue() and "ok" in heard.getvalue()  # text is text, not markup


def test_progress_in_a_pipe_is_lines(capsys, monkeypatch):
    monkeypatch.setattr(terminal, "LINES_APART", 0.0)
    with terminal.progress("work", 10) as advance:
        advance(4, "fast")
        advance(6)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("work: 40 % after") and lines[0].endswith(", fast") and "100 %" in lines[1]


def test_progress_at_a_terminal_is_a_bar(monkeypatch):
    heard = Terminal()
    monkeypatch.setattr(sys, "stderr", heard)
    monkeypatch.setenv("TERM", "xterm")
    with terminal.progress("work", 10) as advance:
        advance(10, "done")
    assert "work" in heard.getvalue() and "100%" in heard.getvalue()


@pytest.mark.parametrize(
    ("number", "text"), [(8_700_000, "8.70 M"), (1500, "1.50 k"), (12.345, "12.3"), (2e9, "2.00 G")]
)
def test_quantities(number, text):
    assert terminal.quantity(number) == text


@pytest.mark.parametrize(
    ("number", "text"), [(12, "12 bytes"), (2048, "2.0 KiB"), (3 << 20, "3.0 MiB"), (5 << 30, "5.0 GiB")]
)
def test_sizes(number, text):
    assert terminal.size(number) == text
