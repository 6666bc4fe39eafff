"""The oldest versions that pyproject.toml allows, as requirements that pip takes: numpy>=1.26 becomes numpy==1.26.

    python scripts/oldest.py view rl        # of the library and of these extras

Kinema's own extras among the requirements are followed. A requirement without a floor is printed as it stands.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def requirements(text: str, extras: list[str]) -> list[str]:
    """All requirements of the library and some of its extras, as they stand."""
    found = _list(text, "dependencies")
    for extra in extras:
        for requirement in _list(text, extra):
            own = re.fullmatch(r"kinema\[(.*)\]", requirement)
            found += requirements(text, own[1].split(","))[len(_list(text, "dependencies")) :] if own else [requirement]
    return list(dict.fromkeys(found))


def _list(text: str, key: str) -> list[str]:
    """The strings of a list in the file. Python 3.10 cannot read TOML, and nothing may be installed for this."""
    found = re.search(rf"^{key} = \[(.*?)\]$", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise SystemExit(f"pyproject.toml has no list {key!r}")
    return re.findall(r'"([^"]+)"', re.sub(r"#.*", "", found[1]))


def oldest(requirement: str) -> str:
    """A requirement at its floor."""
    floor = re.fullmatch(r"([\w.\-]+(?:\[[\w,]+\])?)\s*>=\s*([\w.]+).*", requirement)
    return f"{floor[1]}=={floor[2]}" if floor else requirement


if __name__ == "__main__":
    print("\n".join(map(oldest, requirements(PROJECT.read_text(encoding="utf-8"), sys.argv[1:]))))
