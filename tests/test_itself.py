"""No test compares memory with itself.

On the CPU `array.numpy()` and `engine.read(name)` are the simulation's own memory: what was read before a step is what
is read after it, whatever the step did. So a name that such a reading was given, without a copy, may not be compared
with the same reading later on; nor may a loop collect readings of one array.
"""

import ast
import pathlib

import pytest

TESTS = pathlib.Path(__file__).parent


def reading(node: ast.expr) -> str:
    """The text of a reading that shares memory; empty: it is none, or one number."""
    inner = node
    while isinstance(inner, ast.Subscript):
        index = inner.slice.elts if isinstance(inner.slice, ast.Tuple) else [inner.slice]
        if len(index) > 1 and all(isinstance(each, ast.Constant) for each in index):
            return ""
        inner = inner.value
    called = isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute)
    return ast.unparse(inner) if called and inner.func.attr in ("numpy", "read") else ""


def compared(function: ast.FunctionDef) -> list[str]:
    """Names that were given a reading, and stand beside the same reading in a later statement."""
    held: dict[str, tuple[int, str]] = {}
    found = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and (text := reading(node.value)):
            held[node.targets[0].id] = node.lineno, text
    for node in ast.walk(function):
        if not isinstance(node, ast.Assert | ast.Expr | ast.Assign):
            continue
        names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
        texts = {ast.unparse(one) for one in ast.walk(node) if isinstance(one, ast.Call)}
        for name in names & held.keys():
            line, text = held[name]
            if node.lineno > line and text in texts:
                found.append(f"{node.lineno}: {name} is {text} of line {line}, without a copy")
    return found


def collected(function: ast.FunctionDef) -> list[str]:
    """Readings that a loop appends, of something that is not of the loop."""
    found = []
    for loop in ast.walk(function):
        if not isinstance(loop, ast.For | ast.While):
            continue
        own = {one.id for one in ast.walk(loop) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        for node in ast.walk(loop):
            appends = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append"
            text = reading(node.args[0]) if appends and node.args else ""
            of = {one.id for one in ast.walk(node.args[0]) if isinstance(one, ast.Name)} if text else set()
            if text and not of & own:
                found.append(f"{node.lineno}: {text} is collected without a copy")
    return found


def faults(text: str) -> list[str]:
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    return [fault for each in functions for fault in (*compared(each), *collected(each))]


def test_readings_are_copied():
    found = {str(path.relative_to(TESTS)): faults(path.read_text()) for path in TESTS.rglob("*.py")}
    assert not {name: each for name, each in found.items() if each}


@pytest.mark.parametrize(
    ("read", "then"),
    [
        ("before = q.numpy(){}", "assert same(q.numpy(), before)"),
        ("row = engine.read('qpos')[0]{}", "change = engine.read('qpos')[0] - row"),
        ("for lanes in (1, 4):", "    found.append(q.numpy(){})"),
    ],
)
def test_what_is_not_copied_is_found(read, then):
    text = f"def test():\n    {read}\n    {then}"
    assert faults(text.replace("{}", "")) and not faults(text.replace("{}", ".copy()"))
