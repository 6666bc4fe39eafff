"""Compare the MJCF vocabulary of this repository with the installed mujoco, and bring it up to date.

    python scripts/mjcf_schema.py            print what differs, exit with 1 if anything does
    python scripts/mjcf_schema.py --update   add what is new to src/kinema/mjcf/mjcf.schema and remove what is gone

MuJoCo prints names only, so types of new attributes are taken from the reference manual that ships with it, or else
marked with a comment to be checked by hand.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import sys
from dataclasses import dataclass, field

from kinema.mjcf import schema

TABLE = pathlib.Path(schema.__file__).with_name("mjcf.schema")
Path = tuple[str, ...]


@dataclass
class Row:
    """One element: how often it may stand under its parent, and its attributes."""

    cardinality: str
    attributes: set[str] = field(default_factory=set)


def printed() -> dict[Path, Row]:
    """The vocabulary of the installed mujoco, by path."""
    import mujoco

    rows: dict[Path, Row] = {}
    path: Path = ()
    for line in mujoco.mj_printSchema(False, False).splitlines():
        head = re.match(r"^( *)(\S+) \((.)\)\s*(.*)$", line)
        if head is None:
            rows[path].attributes.update(line.split())
            continue
        name = head[2].replace("(world)body", "body")
        path = (*path[: len(head[1]) // 3], name)
        rows[path] = Row(head[3], set(head[4].split()))
    return rows


def ours() -> dict[Path, Row]:
    """The vocabulary of this repository in the same form: bodies once, nested elements folded, no meta elements."""
    rows: dict[Path, Row] = {}

    def visit(spec: schema.ElementSpec, path: Path) -> None:
        rows[path] = Row(spec.cardinality, set(spec.attributes))
        for tag, child in spec.children.items():
            if not child.meta and tag != spec.name:
                child = child.children["body"] if tag == "worldbody" else child
                visit(child, (*path, "body" if tag == "worldbody" else tag))

    visit(schema.root(), ("mujoco",))
    return rows


def differences() -> list[str]:
    """What differs, one line each: + in mujoco only, - here only, ~ another cardinality."""
    theirs, mine = printed(), ours()
    found = []
    for path in sorted({*theirs, *mine}):
        name = "/".join(path[1:]) or path[0]
        if path not in mine:
            found.append(f"+ <{name}> ({theirs[path].cardinality}) {' '.join(sorted(theirs[path].attributes))}")
        elif path not in theirs:
            found.append(f"- <{name}>")
        else:
            found += [f"+ {name}.{new}" for new in sorted(theirs[path].attributes - mine[path].attributes)]
            found += [f"- {name}.{old}" for old in sorted(mine[path].attributes - theirs[path].attributes)]
            if theirs[path].cardinality != mine[path].cardinality:
                found.append(f"~ <{name}> is ({theirs[path].cardinality}), here ({mine[path].cardinality})")
    return found


def documented_type(attribute: str) -> str:
    """The type that the manual gives an attribute, in the words of the table."""
    import mujoco

    manual = pathlib.Path(mujoco.__file__).parent / "doc" / "XMLreference.rst"
    text = manual.read_text(encoding="utf-8") if manual.exists() else ""
    found = re.search(rf":at:`{re.escape(attribute)}`: :at-val:`([^`]*)`", text)
    if found is None:
        return "string  # check the type"
    value = found[1]
    if keywords := re.match(r"\[([^\]]*)\]", value):
        words = [word.strip() for word in keywords[1].split(",")]
        return "bool" if words == ["false", "true"] else "|".join(words)
    if number := re.match(r"(real|int)(?:\((\d+)(?: or (\d+))?\)|\((\w+)\))?", value):
        kind = "float" if number[1] == "real" else "int"
        if number[3]:
            return f"{kind}[{number[2]}..{number[3]}]"
        return kind if number[2] in (None, "1") and not number[4] else f"{kind}[{number[2] or ''}]"
    return "string  # check the type"


def update(lines: list[str], found: list[str]) -> tuple[list[str], list[str]]:
    """The table with attributes added and removed, and the differences that a person has to settle."""
    left = []
    for difference in found:
        change = re.fullmatch(r"([+-]) ([\w/]+)\.(\w+)", difference)
        place = _block(lines, change[2].split("/")) if change else None
        if change is None or place is None:
            left.append(difference)
            continue
        start, end = place
        if change[1] == "+":
            lines.insert(end, f"  {change[3]:<20} {documented_type(change[3])}")
        else:
            row = next((n for n in range(start, end) if lines[n].split()[:1] == [change[3]]), None)
            if row is None:
                left.append(difference + "  (in a group)")
            else:
                del lines[row]
    return lines, left


def _block(lines: list[str], path: list[str]) -> tuple[int, int] | None:
    """Where the attribute rows of an element stand: (first, one past the last); None inside default classes."""
    if path[0] == "default":
        return None
    names = [f"{path[-2]}.{path[-1]}" if len(path) > 1 else path[-1], path[-1]]
    for name in names:
        for number, line in enumerate(lines):
            if line.startswith("element ") and name in line.split()[1].split(","):
                end = number + 1
                while end < len(lines) and lines[end].strip() and lines[end].split()[0] not in _NOT_ATTRIBUTES:
                    end += 1
                return number + 1, end
    return None


_NOT_ATTRIBUTES = ("has", "exclusive", "together", "oneof")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write the changes into the table")
    options = parser.parse_args()
    found = differences()
    print("\n".join(found) if found else "no difference")
    if found and options.update:
        lines, left = update(TABLE.read_text(encoding="utf-8").splitlines(), found)
        TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print("\nto be settled by hand:\n" + "\n".join(left) if left else "\nthe table is up to date")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
