"""What pages mention exists: names of Kinema, and of MuJoCo, dm_control and Newton in the tables of equivalents;
commands with their options; files that the README links to, and the measurements it repeats.
"""

import importlib
import importlib.util
import re
import shlex

import pytest

from kinema import ModelBuilder, Simulation, mjcf
from kinema.cli.arguments import COMMANDS, parse
from kinema.convex.bundle import bundles_of, fields_of
from kinema.convex.data import Data
from kinema.model import Model
from kinema.model.mujoco_fields import data_fields, model_fields
from kinema.solvers import SolverConvex
from tests.docs.pages import PAGES, inline_code, name

OWNERS = {
    "sim": Simulation, "physics": mjcf.Physics, "builder": ModelBuilder, "model": Model, "solver": SolverConvex,
}  # fmt: skip
"""Names pages use for objects, and their classes."""
ATTRIBUTES = {"sim": {"d", "m", "engine"}}
THEIRS = {
    "model.body", "model.body_mass", "model.opt", "model.attach", "model.detach",  # MuJoCo's mjModel; a document
    "model.temperature", "model.acme", "model.mujoco", "model.xml",  # namespaces; a file
    "physics.model", "physics.data",
}  # fmt: skip
PEERS = ("mujoco", "newton", "dm_control")
PACKAGES = ("kinema", "mjcf", "resources", *PEERS)


def resolve(path: str) -> object:
    """The object a dotted name stands for."""
    first, *rest = {"mjcf": "kinema.mjcf", "resources": "kinema.resources"}.get(path.split(".")[0], "").split(".")
    words = [*([first, *rest] if first else []), *path.split(".")[1 if first else 0 :]]
    found = importlib.import_module(words[0])
    for i, word in enumerate(words[1:], 2):
        try:
            found = getattr(found, word)
        except AttributeError:
            found = importlib.import_module(".".join(words[:i]))
    return found


def dotted(text: str, firsts) -> list[str]:
    return [m[0].rstrip(".") for m in re.finditer(rf"(?<![\w./@'-])(?:{'|'.join(firsts)})(?:\.[A-Za-z_]\w*)+", text)]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_names_of_packages(page):
    files = (".xml", ".npz", ".html", ".sensor", ".pid", ".mlp_actuator", ".dcmotor", ".elasticity", ".sdf")
    wrong = []
    for code in inline_code(page):
        for path in dotted(code, PACKAGES):
            if any(path.split(".")[1] == ending[1:] for ending in files):  # files, and plugins' names
                continue
            if path.split(".")[0] in PEERS and importlib.util.find_spec(path.split(".")[0]) is None:
                continue  # only the tests' own installation has them
            try:
                resolve(path)
            except ImportError as error:
                wrong.append(f"{path}: {error}")
    assert not wrong


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_methods(page):
    bundles = [fields_of(bundle).values() for bundle in bundles_of(Data).values()]
    fields = {*data_fields(), *model_fields(), *(field.name for bundle in bundles for field in bundle)}
    wrong = []
    for code in inline_code(page):  # names in blocks are tried by running them
        for path in dotted(code, OWNERS):
            owner, member, *rest = path.split(".")
            if f"{owner}.{member}" in THEIRS or not owner:
                continue
            if owner == "sim" and member in ("d", "m") and rest:
                if rest[0] not in fields and rest[0] not in ("opt", "name", "contact"):
                    wrong.append(path)
            elif not hasattr(OWNERS[owner], member) and member not in ATTRIBUTES.get(owner, ()):
                wrong.append(path)
    assert not wrong


def commands(page) -> list[str]:
    """Every call of the command that a page shows, in blocks, indented text and prose."""
    text = page.read_text(encoding="utf-8")
    shown = [line.strip() for line in text.splitlines() if line.strip().startswith("kinema ")]
    return [line.partition("  ")[0].partition("#")[0].strip() for line in shown] + [
        code for code in inline_code(page) if code.startswith("kinema ") and "…" not in code
    ]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands(page):
    for command in commands(page):
        words = [word for word in shlex.split(command)[1:] if word != "COMMAND"]
        if len(words) == 1:  # only named
            words.append("--help")
        try:
            known = parse(words).command
        except SystemExit as end:
            assert end.code == 0, command  # --help and --version
        else:
            assert known in COMMANDS


def test_links_of_the_readme():
    readme = PAGES[0]
    for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", readme.read_text(encoding="utf-8")):
        assert (readme.parent / target).is_file(), target


def test_numbers_of_the_readme_were_measured():
    """Speeds stand in one row of docs/performance.md, the models that agree in docs/conformance.md."""
    readme, performance, conformance = (
        (PAGES[0].parent / path).read_text(encoding="utf-8").replace("**", "")
        for path in ("README.md", "docs/performance.md", "docs/conformance.md")
    )
    speed = readme.partition("## Speed")[2].partition("## More")[0]
    rows = [line.strip("| ").split(" | ") for line in speed.splitlines() if line.startswith("|")][2:]
    assert len(rows) >= 3
    for model, *numbers in rows:
        measured = [line.strip("| ").split(" | ") for line in performance.splitlines() if line.startswith(f"| {model}")]
        assert any(row[1 : 1 + len(numbers)] == numbers for row in measured), (model, numbers)
    for share in re.findall(r"\d+ of \d+", readme):
        assert share in conformance, share
    for worlds, pattern in ((1, r"at ([\d.]+)\s+of\s+MuJoCo C"), (256, r"at ([\d.]+)\s+of its own `rollout`")):
        on_cpu = re.search(pattern, speed)[1]
        assert re.search(rf"\| humanoid with contacts \| {worlds} \|.*\| {re.escape(on_cpu)} \|", performance)
