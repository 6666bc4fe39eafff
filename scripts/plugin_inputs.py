"""The tables in docs/plugins.md of what a plugin's functions are given, from the structs themselves.

    python scripts/plugin_inputs.py            # exit status 1 if the page is not what the structs say
    python scripts/plugin_inputs.py --write    # rewrite the tables

A member's meaning is the comment beside it in src/kinema/plugins/inputs.py.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import sys
from pathlib import Path

from kinema.plugins import inputs

PAGE = Path(__file__).resolve().parent.parent / "docs" / "plugins.md"
BEGIN, END = "<!-- inputs: begin -->", "<!-- inputs: end -->"


def structs() -> dict[str, ast.ClassDef]:
    """The structs of the module by name, in order: every class in it is one."""
    tree = ast.parse(inspect.getsource(inputs))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def members(struct: ast.ClassDef) -> list[tuple[str, str, str]]:
    """Name, type and meaning of every member of a struct."""
    lines = inspect.getsource(inputs).splitlines()
    rows = []
    for node in struct.body:
        if isinstance(node, ast.AnnAssign):
            _, _, meaning = lines[node.lineno - 1].partition("  # ")
            kind = ast.unparse(node.annotation).removeprefix("wp.")
            rows.append((ast.unparse(node.target), kind, meaning.strip()))
    return rows


def tables() -> str:
    """All tables as Markdown."""
    parts = []
    for name, struct in structs().items():
        says = (ast.get_docstring(struct) or "").partition("\n")[0]
        rows = [f"| `x.{member}` | {kind} | {meaning} |" for member, kind, meaning in members(struct)]
        head = [f"`{name}`: {says[0].lower()}{says[1:]}", "", "| member | type | |", "|---|---|---|"]
        parts.append("\n".join([*head, *rows]))
    return "\n\n".join(parts)


def page_with(text: str) -> str:
    """The page with its tables made anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="rewrite the tables")
    args = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    wanted = page_with(text)
    if args.write:
        PAGE.write_text(wanted, encoding="utf-8")
    elif text != wanted:
        print(f"{PAGE.name} is not what the structs say: python scripts/plugin_inputs.py --write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
