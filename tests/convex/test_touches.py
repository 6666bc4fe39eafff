"""What native functions say that they touch is what their C++ names."""

import importlib
import pathlib
import pkgutil
import re

import pytest
import warp as wp

import kinema.collide
import kinema.convex
import kinema.math
from kinema.collide import bound, cull, gather, workspace
from kinema.convex import factor, inverse, last_good, mass, parts
from kinema.convex.bundle import PER_WORLD, fields_of
from kinema.convex.constraint import columns, contact_columns, place
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.reader import holds_arrays, is_array
from kinema.convex.sleep import touch
from kinema.convex.solve import dense, dual, islands, primal, sparse
from kinema.convex.solve.groups import group
from kinema.math import store
from kinema.math.touches import declared

DIRECTIVE = re.compile(r"^\s*#\s*(if|elif|else|endif|define|undef)\b(.*)$")


def compiled(text: str, *, cuda: bool) -> str:
    """The text a compiler sees, conditions decided; macros with arguments stay as they are."""
    values = {"__CUDA_ARCH__": 900} if cuda else {}
    taken: list[tuple[bool, bool]] = []  # is this branch read, was one before
    lines = []
    for line in re.sub(r"//.*", "", text).replace("\\\n", " ").splitlines():
        found = DIRECTIVE.match(line)
        alive = all(now for now, _ in taken)
        if not found:
            lines += [line] * alive
            continue
        word, rest = found.groups()
        if word == "if":
            now = alive and truth(rest, values)
            taken.append((now, now))
        elif word in ("elif", "else"):
            _, before = taken.pop()
            alive = all(now for now, _ in taken)
            now = alive and not before and (word == "else" or truth(rest, values))
            taken.append((now, before or now))
        elif word == "endif":
            taken.pop()
        elif alive and (name := re.match(r"\s*(\w+)\b(?!\()\s*(.*)$", rest)):
            values.pop(name[1], None)
            if word == "define" and is_known(name[2], values):
                values[name[1]] = number(name[2], values)
            elif word == "define":
                lines.append(name[2])
    return "\n".join(lines)


def is_known(text: str, values: dict[str, int]) -> bool:
    """Is it made of numbers, of names of numbers, and of comparisons?"""
    words = re.findall(r"\w+", text)
    made = re.fullmatch(r"[\s\w()<>=]+", text) is not None
    return made and bool(words) and all(word.isdigit() or word in values for word in words)


def number(text: str, values: dict[str, int]) -> int:
    return int(eval(text, {"__builtins__": {}}, dict(values)))


def truth(condition: str, values: dict[str, int]) -> bool:
    text = re.sub(r"defined\((\w+)\)", lambda name: str(int(name[1] in values)), condition)
    text = text.replace("&&", " and ").replace("||", " or ")
    text = re.sub(r"!(?!=)", " not ", text)
    unknown = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text), 0)  # to a preprocessor such a name is 0
    return bool(eval(text, {"__builtins__": {}}, unknown | values))


def named(function: wp.Function, text: str) -> tuple[set[str], set[str], set[str]]:
    """The arrays that C++ surely reads, that it writes, and those it does so by a pointer, which it may read through.

    Written is what is assigned to, and what a pointer that is not const points to; the rest is read.
    """
    arrays = {name: kind for name, kind in function.input_types.items() if is_array(kind)}
    words = [rf"(?<![.\w]){name}\b(?:\.data\b)?" for name in arrays]
    if any(kind is Model or kind is Data for kind in function.input_types.values()):
        words = [r"\b[md]\.\w+\.\w+"]
    reads, writes, pointed = set(), set(), set()
    for word in words:
        for found in re.finditer(word, text):
            path = found[0].removesuffix(".data")
            if not leads_to_array(function, path):
                continue
            statement = text[max(text.rfind(c, 0, found.start()) for c in ";{}") + 1 : found.end() + 60]
            before = text[: found.start()]
            after = text[found.end() :]
            opening = re.search(r"(KN_AT|KN_ROW|wp::index)\([\w, ]*$", before)
            assigned = False
            if opening:  # an element, or a row: what follows its closing parenthesis decides
                rest = closing(after)
                assigned = bool(re.match(r"\s*(\[[^\]]*\])?\s*[-+*/|&]?=(?!=)", rest))
            if re.match(r"^\s*\.strides|^\s*\.shape", after):
                continue
            line = statement.strip()
            is_pointer = re.match(r"^(const )?(\w+)\s*\*\s*(__restrict__ )?\w+ = ", line) or re.match(
                r"^(const )?auto\s*\*\s*\w+ = ", line
            )
            if assigned:
                writes.add(path)
                reads |= {path} if re.match(r"\s*(\[[^\]]*\])?\s*[-+*/|&]=", closing(after)) else set()
            elif is_pointer and not line.startswith("const"):
                writes.add(path)
                pointed.add(path)
            else:
                reads.add(path)
    return reads, writes, pointed


def closing(text: str) -> str:
    """What follows the parenthesis that is open."""
    depth = 1
    for k, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return text[k + 1 :]
    return ""


def leads_to_array(function: wp.Function, path: str) -> bool:
    root, *steps = path.split(".")
    kind = function.input_types[root]
    for step in steps:
        kind = kind.vars[step].type
    return is_array(kind)


FUNCTIONS = {
    "newton": islands._island(group(27), elliptic=True),
    "newton, any size": primal.newton(),
    "newton, islands": islands._island(group(40), elliptic=True, bucket=1),
    "newton, few dofs": islands._island(group(6), elliptic=False, bucket=0),
    "newton, discrete": islands._island(group(27), elliptic=True, discrete=True),
    "newton, beyond": primal.newton(2),
    "islands": islands._find((8, 32), (32, 64), False),
    "conjugate gradients": sparse.conjugate_gradient(),
    "conjugate gradients, rows that list their columns": sparse.conjugate_gradient(listed=True),
    "projected Gauss-Seidel": dual.projected_gauss_seidel(),
    "noslip": dual.noslip(),
    "noslip, discrete": dual.noslip(discrete=True),
    "mass solve": dense._solve(dense.Blocks(28, 1)),
    "mass solve, a team": dense._solve(dense.Blocks(40, 2)),
    "mass solve, of what is awake": dense._solve(dense.Blocks(8, 2, True)),
    "factor": factor.factor_rows,
    "factor of a tree": factor.factor_range,
    "solve": factor.solve_rows,
    "solve of a tree": factor.solve_range,
    "not 0": touch.any_bit,
    "not 0, of spatial vectors": touch.any_bit6,
    "differ": touch.differ,
    "project": mass.project,
    "place": place.place,
    "clear rows": columns.clear_rows,
    "next column": columns.next_moved,
    "few numbers": columns.put_few,
    "clear a row": columns.clear_row,
    "count": gather.count_contacts,
    "before": gather.contacts_before,
    "mark near pairs": cull.mark_near,
    "next near pair": cull.next_near,
    "room of an octet": workspace.octet_room,
    "boxes apart": bound.boxes_apart_early,
    "columns of a contact": contact_columns.put_columns,
    "row forces": inverse.row_forces,
    "put": store._put_vec3,
    "parts of a recipe": parts.call_parts,
    "a row of the state": last_good.copy_bytes,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_declarations_name_what_the_code_names(name):
    function = FUNCTIONS[name]
    said = declared(function.func)
    reads, writes, pointed = set(), set(), set()
    for cuda in (False, True):
        found = named(function, compiled(function.native_snippet, cuda=cuda))
        for kept, more in zip((reads, writes, pointed), found, strict=True):
            kept |= more
    told = {".".join(word.path) for word in said.reads}
    assert reads <= told <= reads | pointed
    assert {".".join(word.path) for word in said.writes} == writes


def test_no_native_function_is_left_out():
    """Those made by factories are listed by hand; functions of one text need be listed once."""
    texts = {function.native_snippet for function in FUNCTIONS.values()} | {store.ALIGNED}
    for package in (kinema.math, kinema.collide, kinema.convex):
        for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            for value in vars(importlib.import_module(info.name)).values():
                native = isinstance(value, wp.Function) and getattr(value, "native_snippet", None)
                if native and any(map(holds_arrays, value.input_types.values())):
                    assert native in texts, f"{info.name}: {value.key}"


ROW = re.compile(r"\bKN_ROW\(\w+, ([md])\.(\w+)\.(\w+)\)")
IN_DUALS = {("implicit_solve.cpp", "qacc"), ("implicit_solve.cpp", "qfrc_constraint")}  # whose arrays are all rows


def test_what_is_read_as_a_row_lies_as_one():
    """KN_ROW indexes the numbers of a world as neighbours; on CUDA only `rows` are, or what has one number a world."""
    source = pathlib.Path(kinema.convex.__file__).parents[1]
    wrong, seen = [], 0
    for path in sorted([*source.rglob("*.cpp"), *source.rglob("*.py")]):
        for who, bundle, name in ROW.findall(path.read_text(encoding="utf-8")):
            field = fields_of({"m": Model, "d": Data}[who].vars[bundle].type)[name]
            seen += 1
            if not field.rows and field.size != PER_WORLD and (path.name, name) not in IN_DUALS:
                wrong.append(f"{path.name}: {who}.{bundle}.{name} is interleaved on CUDA: declare it with rows=True")
    assert seen > 100
    assert not wrong, "\n".join(wrong)
