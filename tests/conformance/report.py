"""docs/conformance.md: one section per stage, each rewritten by its own test when asked, the others left alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "conformance.md"
HERE = Path(__file__).resolve().parent
HEAD = """# Conformance with MuJoCo

Written by the tests in `tests/conformance`, one section per stage. MuJoCo is the judge: each section lists the models
of the corpus that do not conform, and why, and the last one says of every number which device it is from. Two tests
write the first two sections, where they are asked to; the survey of contacts and constraints takes longer:

    KINEMA_UPDATE_BASELINE=1 python -m pytest tests/conformance/test_compile.py tests/conformance/test_smooth.py
    python -m tests.conformance.survey --scores scores.pickle --states states --jobs 2
    python -m tests.conformance.pack corpus.tar --states states      # for a machine with a GPU
    python -m tests.conformance.survey --device cuda:0 --corpus corpus.tar --scores gpu.pickle --jobs 16
    python -m tests.conformance.survey --scores scores.pickle --merge gpu.pickle --write-page
"""


def write_section(stage: str, text: str, *, page: Path = PAGE) -> None:
    """Replace (or append) the section of one stage, leaving the rest of the page as it is."""
    old = page.read_text() if page.exists() else HEAD
    begin, end = f"<!-- {stage} -->", f"<!-- end of {stage} -->"
    block = f"{begin}\n{text.strip()}\n{end}"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    new = pattern.sub(lambda _: block, old) if pattern.search(old) else f"{old.rstrip()}\n\n{block}\n"
    page.parent.mkdir(exist_ok=True)
    if new != old:
        page.write_text(new)


def is_refused(fields: Mapping[str, str]) -> bool:
    """Was the model refused by name, rather than compared?"""
    return "refused" in fields


def tally(failing: Mapping[str, Mapping[str, str]], total: int) -> str:
    """The score in a sentence: of the models that were compared, and how many were refused."""
    refused = sum(map(is_refused, failing.values()))
    compared, good = total - refused, total - len(failing)
    more = f" {refused} more of the {total} are refused by name." if refused else ""
    return f"{good} of {compared} models conform on all fields ({100 * good / max(compared, 1):.1f} %).{more}"


def section(stage: str, failing: Mapping[str, Mapping[str, str]], total: int, *, notes: str = "") -> str:
    """Text of a section: the score, and a table of models by failing fields with one difference each."""
    lines = [f"## {stage}", "", tally(failing, total), ""]
    if notes:
        lines += [notes.strip(), ""]
    if failing:
        lines += ["| model | fields | example |", "|---|---|---|"]
        for name, fields in sorted(failing.items()):
            first = next(iter(fields.items()))
            shown = ", ".join(list(fields)[:6]) + (f" and {len(fields) - 6} more" if len(fields) > 6 else "")
            example = f"{first[0]}: {first[1]}".replace("|", "\\|").replace("\n", " ")
            lines.append(f"| {name} | {shown} | {example[:200]} |")
    return "\n".join(lines)


def print_table(failing: Mapping[str, Mapping[str, str]], total: int) -> None:
    """The same on the terminal."""
    print(f"\n{tally(failing, total)}")
    for name, fields in sorted(failing.items()):
        print(f"  {name}")
        for field, problem in list(fields.items())[:8]:
            print(f"      {field:24} {problem[:110]}")


class Baseline:
    """Names of models that conformed before, kept as data; a model on the list must not fall off it."""

    def __init__(self, stage: str, folder: Path = HERE):
        self.path = folder / f"baseline_{stage}.txt"

    def names(self) -> set[str]:
        return set(self.path.read_text().split("\n")) - {""} if self.path.exists() else set()

    def lost(self, conforming: Iterable[str], present: Iterable[str]) -> list[str]:
        """Models that conformed before, are present now, and do not conform any more."""
        return sorted((self.names() & set(present)) - set(conforming))

    def extend(self, conforming: Sequence[str]) -> None:
        """Add models that conform now."""
        names = sorted(self.names() | set(conforming))
        self.path.write_text("\n".join(names) + "\n")
