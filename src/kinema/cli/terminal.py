"""What commands write: tables on standard output, progress on standard error.

At a terminal both are rich's; in a pipe or a log they are plain lines.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

LINES_APART = 5.0
"""Seconds between lines of progress where there is no terminal."""

Advance = Callable[..., None]


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None) -> None:
    """Print a table; columns whose names end in '>' are aligned to the right."""
    names = [name.rstrip(">") for name in columns]
    right = [name.endswith(">") for name in columns]
    cells = [[str(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _rich_table(names, right, cells, title)
        return
    widths = [max(len(row[k]) for row in [names, *cells]) for k in range(len(names))]
    if title:
        print(title)
    for row in [*([names] if any(names) else []), *cells]:
        parts = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)]
        print("  " + "  ".join(parts).rstrip())


def _rich_table(names: Sequence[str], right: Sequence[bool], cells: list[list[str]], title: str | None) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=title, box=box.SIMPLE_HEAD, show_header=any(names), title_justify="left")
    for name, to_right in zip(names, right, strict=True):
        shown.add_column(name, justify="right" if to_right else "left", overflow="fold")
    for row in cells:
        shown.add_row(*(Text(cell, style=STYLES.get(cell, "")) for cell in row))
    Console().print(shown)


STYLES = {"ok": "green", "differs": "bold red", "not compared": "dim"}
"""Words that stand for a verdict."""


def note(text: str) -> None:
    """A line on standard error: what is going on, apart from the result."""
    print(text, file=sys.stderr, flush=True)


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Say that something takes a while, until it is done; where kernels are compiled meanwhile, which."""
    from kinema.building import listening

    if not sys.stderr.isatty():
        note(f"{text} ...")
        with listening(note):
            yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text) as status, listening(lambda now: status.update(f"{text}: {now}")):
        yield


@contextmanager
def progress(label: str, total: int) -> Iterator[Advance]:
    """A bar for `total` units of work; yields `advance(done, text)`, to be called with units done since last time."""
    if sys.stderr.isatty():
        with _bar(label, total) as fill:
            yield fill
        return
    begin = last = time.monotonic()
    finished = 0

    def advance(done: int, text: str = "") -> None:
        nonlocal finished, last
        finished += done
        now = time.monotonic()
        if now - last >= LINES_APART or finished >= total:
            last = now
            note(f"{label}: {100 * finished // max(total, 1)} % after {now - begin:.1f} s{', ' if text else ''}{text}")

    yield advance


@contextmanager
def _bar(label: str, total: int) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = [TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[text]}")]
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total, text="")
        yield lambda done, text="": bar.update(task, advance=done, text=text)


def quantity(number: float) -> str:
    """A number in few characters: 8,700,000 -> 8.70 M."""
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(number) >= limit:
            return f"{number / limit:.2f}{unit}"
    return f"{number:.3g}"


def size(number: float) -> str:
    """A number of bytes."""
    for limit, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if number >= limit:
            return f"{number / limit:.1f} {unit}"
    return f"{int(number)} bytes"
