"""The C++ that Warp generates for a part of a recipe, as a list of functions.

Warp (1.19) writes a function as declarations, a line `// forward`, and simple statements, one a line: a name is given
the value of one call, one comparison or one member; blocks of conditions; labels and jumps of loops.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

FLOATS = re.compile(r"wp::(float32|vec_t<\d+, wp::float32>|mat_t<\d+, \d+, wp::float32>)$")
FUNCTION = re.compile(r"^static (?:CUDA_CALLABLE )?([^\n(]+?) (\w+)\(\n(.*?)\)\n\{\n(.*?)^\}$", re.S | re.M)
DECLARED = re.compile(r"^(const )?(.+?)( ?[*&])? ?(\w+)(?: = (.+))?$")
CALL = re.compile(r"^(wp::)?([\w:]+(?:<[^()]*>)?)\((.*)\)$", re.S)
MEMBER = re.compile(r"^&\(\(\((var_m|var_d)\)\.(\w+)\)\.(\w+)\)$")
OF_STRUCT = re.compile(r"^&\(\((var_\w+)\)\.(\w+)\)$")
NAME = re.compile(r"\bvar_\w+")
GIVEN = re.compile(r"(?:wp::assign\()?(var_\w+)(?: = |, )")
ENTRY = re.compile(r"^WP_API void (\w+)_cpu_forward\(", re.M)
KERNEL = re.compile(r"_cpu_kernel_forward\((.*?)^\}", re.S | re.M)
CONSTANT = re.compile(r"const (?:bool|wp::int32) (var_\d+) = (\w+);")
STAGE = re.compile(
    r"var_\d+ = (due_\d+)\(var_\d+, var_\d+, var_advancing, (var_\d+), (var_\d+)\);\n"
    r"\s*if \(var_\d+\) \{\n(?:\s*//[^\n]*\n)*\s*(\w+)\(var_m, var_d, var_w(?:, (var_\d+))?\);\n\s*\}"
)


class Narrow(Exception):
    """A function whose lanes cannot go together."""


@dataclass
class Function:
    """A function of the generated text.

    Attributes:
        name: In C++: that of Python, with a number behind it.
        result: Type of what it returns.
        params: (type, name) of its parameters.
        body: What stands between its braces.
    """

    name: str
    result: str
    params: list[tuple[str, str]]
    body: str

    @property
    def native(self) -> bool:
        """Is it native code of ours, which only lanes.cpp can have for eight worlds?"""
        return "    // forward\n" not in self.body

    @property
    def base(self) -> str:
        """Its name in Python."""
        return self.name.rpartition("_")[0]

    @property
    def types(self) -> list[str]:
        """Types of its parameters; a reference is what it refers to."""
        return [plain(of) for of, _ in self.params]

    def declarations(self) -> list[tuple[bool, str, str, str | None]]:
        """(constant?, type, name, value) of its variables."""
        text = self.body.partition("// primal vars\n")[2].partition("    //---------")[0]
        found = []
        for line in text.splitlines():
            match = DECLARED.match(line.strip().rstrip(";"))
            if match is None:
                raise Narrow(line)
            found.append((bool(match[1]), match[2] + (match[3] or "").strip(), match[4], match[5]))
        return found

    def statements(self) -> list[str]:
        """Its statements, one a line."""
        lines = [line.strip() for line in self.body.partition("    // forward\n")[2].splitlines()]
        return [line for line in lines if line and not line.startswith("//")]


def set_apart(source: str, functions: Collection[str]) -> str:
    """The text with functions that are compiled once, not wherever they are called; structs go to them by reference."""

    def edit(match: re.Match[str]) -> str:
        params = [re.sub(r"^(\s*(?!wp::|bool )\w+) (?=var_)", r"\1& ", param) for param in match[2].split(",\n")]
        return f"static __attribute__((noinline)) {match[1]}(\n" + ",\n".join(params) + ")\n{"

    for name in sorted(functions):
        source = re.sub(rf"^static ([^\n(]+? {name})\(\n(.*?)\)\n\{{", edit, source, flags=re.S | re.M)
    return source


def plain(type_of: str) -> str:
    """A type without the mark of a reference."""
    return type_of.rstrip("& ")


def is_float(type_of: str) -> bool:
    """Is it a number, a vector or a matrix of floats?"""
    return bool(FLOATS.match(type_of))


def arguments(text: str) -> list[str]:
    """The arguments of a call, which are names."""
    return [part.strip() for part in text.strip().strip("{}").split(",") if part.strip()]


def condition(line: str) -> str | None:
    """What decides whether the block that a line opens is run: var_4, or !var_4; None: it opens none."""
    return line[4:-3] if line.startswith("if (") and line.endswith("{") else None


def functions_of(source: str) -> dict[str, list[Function]]:
    """The functions of a module by name; a generic one has one name for several types."""
    found: dict[str, list[Function]] = {}
    for match in FUNCTION.finditer(source):
        if match[2].startswith("adj_"):
            continue
        params = []
        for param in match[3].split(",\n"):
            said = DECLARED.match(param.strip().replace("& __restrict__ ", "&"))
            if said is not None:
                params.append((said[2] + (said[3] or "").strip(), said[4]))
        found.setdefault(match[2], []).append(Function(match[2], match[1], params, match[4]))
    return found
