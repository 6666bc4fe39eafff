"""MuJoCo's enumerations are declared once: the table is MuJoCo's, and nothing else declares or spells them.

The rule that keeps it so is read from the syntax trees: no flag is tested as a bare number, no array of codes is
compared with one, and no module gives a name of the table its value again.
"""

import ast
import os
import pathlib
import re

import mujoco
import pytest

from kinema import mujoco_enums
from kinema.convex.solve.native import source

SOURCE = pathlib.Path(__file__).parents[1] / "src" / "kinema"
OWNERS = {"mujoco_enums.py", "model/enums.py"}
FLAGS = re.compile(r"\b(disableflags|enableflags)\b")
CODES = re.compile(
    r"\b(geom_type|jnt_type|eq_type|wrap_type|sensor_type|tendon_type|light_type|tex_type|cam_mode|light_mode|"
    r"(actuator_)?(trntype|dyntype|gaintype|biastype)|\w*objtype|\w*reftype|\w*datatype|\w*needstage|"
    r"opt\.(integrator|cone|solver)|efc\.(type|state)|(geoms?|jnt|sensor|eq|tendon)\.type|cam_projection|"
    r"con(tacts?)?\.exclude)\b"
)
PREFIXES = ("", *(f"{word}_" for word in "DISABLE ENABLE OBJ GEOM WRAP TRN DYN GAIN BIAS EQ INPUT ROLE".split()))
OTHER_THINGS = {
    ("collide/epa.py", "FOUND"),  # how the search of a polytope ended
    ("render/items.py", "NONE"),  # how a texture is laid on
    ("render/items.py", "FLAT"),
    ("collide/ray.py", "STATIC"),  # a switch of rays
}


def members(kind) -> dict[str, int]:
    """The members of one of MuJoCo's enumerations without prefix; counts (mjNGEOMTYPES) are not members."""
    found = {name: int(value) for name, value in kind.__members__.items() if not name.startswith("mjN")}
    prefix = os.path.commonprefix(list(found)).rpartition("_")[0] + "_"
    short = {name: name[len(prefix) :] for name in found}
    return {(short[n] if short[n].isidentifier() else n[2:]): value for n, value in found.items()}


@pytest.mark.parametrize("name", mujoco_enums.MJT)
def test_the_table_is_mujocos(name):
    ours = {member.name: int(member) for member in mujoco_enums.MJT[name]}
    assert ours == members(getattr(mujoco, name))


def test_native_code_gets_the_same_numbers():
    text = source("rows.cpp")
    for state in mujoco_enums.ConstraintState:
        assert re.search(rf"struct ConstraintState .*\b{state.name} = {int(state)}\b", text)
    assert f"WARMSTART = {int(mujoco.mjtDisableBit.mjDSBL_WARMSTART)}" in text


def test_native_code_spells_no_flag():
    for path in SOURCE.rglob("*.cpp"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            assert not re.search(r"(disable|enable)flags\s*&\s*\(?\d", line), f"{path}:{number}: {line.strip()}"
            assert not re.search(r"\btype\[[^]]*\]\s*[!=]=\s*\d", line), f"{path}:{number}: {line.strip()}"


def is_number(node: ast.AST) -> bool:
    """Whether an expression is an integer written out: 3, 1 << 2, (0, 1), wp.constant(4)."""
    if isinstance(node, ast.Tuple | ast.Set | ast.List):
        return any(is_number(item) for item in node.elts)
    if isinstance(node, ast.Call):
        return len(node.args) == 1 and ast.unparse(node.func) == "wp.constant" and is_number(node.args[0])
    return value_of(node) is not None


def value_of(node: ast.AST) -> int | None:
    if isinstance(node, ast.Call) and len(node.args) == 1 and ast.unparse(node.func) in ("wp.constant", "int"):
        return value_of(node.args[0])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.LShift):
        sides = value_of(node.left), value_of(node.right)
        return sides[0] << sides[1] if None not in sides else None
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None


def declarations(tree: ast.Module) -> list[tuple[str, int, int]]:
    """Names that a module gives integers at its top level: (name, value, line)."""
    found = []
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        target, value = node.targets[0], node.value
        names = [item.id for item in getattr(target, "elts", [target]) if isinstance(item, ast.Name)]
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "range" and len(value.args) == 1:
            values = list(range(value_of(value.args[0]) or 0))
        elif isinstance(value, ast.Tuple):
            values = [value_of(item) for item in value.elts]
        else:
            values = [value_of(value)]
        if len(names) == len(values):
            found += [(n, v, node.lineno) for n, v in zip(names, values, strict=True) if v is not None]
    return found


def wrongs(text: str, name: str = "module.py") -> list[str]:
    """What a module spells or declares that the table has."""
    tree = ast.parse(text)
    known = {(m.name, int(m)) for kind in mujoco_enums.MJT.values() for m in kind}
    found = []
    for declared, value, line in declarations(tree):
        bare = {declared.removeprefix(prefix) for prefix in PREFIXES if declared.startswith(prefix)}
        if any((short, value) in known for short in bare) and (name, declared) not in OTHER_THINGS:
            found.append(f"{name}:{line}: {declared} = {value} is declared in mujoco_enums")
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
            if any(is_number(side) for side in (node.left, node.right)) and FLAGS.search(ast.unparse(node)):
                found.append(f"{name}:{node.lineno}: {ast.unparse(node)} tests a flag by its number")
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            codes = [side for side in sides if CODES.search(ast.unparse(side)) and "&" not in ast.unparse(side)]
            if codes and any(is_number(side) for side in sides) and "len(" not in ast.unparse(node):
                found.append(f"{name}:{node.lineno}: {ast.unparse(node)} compares a code with a number")
    return found


def test_nothing_else_declares_or_spells_them():
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name not in OWNERS:
            found += wrongs(path.read_text(encoding="utf-8"), name)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("SPHERE = wp.constant(2)", True),
        ("FREE, BALL, SLIDE, HINGE = range(4)", True),
        ("DISABLE_GRAVITY = 1 << 7", True),
        ("SPHERE = 3", False),
        ("DEPTH = 100", False),
        ("def f(m):\n    return m.opt.disableflags & 512", True),
        ("def f(m):\n    return m.opt.disableflags & (1 << 4)", True),
        ("def f(m):\n    return m.opt.disableflags & Disable.CONTACT", False),
        ("def f(m):\n    return np.asarray(m.geom_type) == 7", True),
        ("def f(m):\n    return m.geom_type[0] in (7, 8)", True),
        ("def f(m):\n    return m.geom_type[0] == Geom.MESH", False),
        ("def f(m):\n    return (m.opt.disableflags & Disable.CONTACT) == 0", False),
    ],
)
def test_the_rule_itself(text, wrong):
    assert bool(wrongs(text)) == wrong
