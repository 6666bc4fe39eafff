"""What pyproject.toml promises about versions: floors that are tried together, a bound where internals are edited."""

import ast
import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.fixture
def oldest(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("oldest")


def test_every_requirement_has_a_floor(oldest):
    for requirement in oldest.requirements(PROJECT, ["mujoco", "resources", "view", "video", "plot", "rl", "cluster"]):
        assert re.fullmatch(r"[\w.\-\[\],]+==[\w.]+", oldest.oldest(requirement)), requirement


def test_floors_are_read_as_they_stand(oldest):
    text = 'dependencies = [\n  "a>=1.2,<2", # why\n  "b",\n]\none = ["c[x]>=3", "kinema[two]"]\ntwo = ["d>=4"]\n'
    found = [oldest.oldest(requirement) for requirement in oldest.requirements(text, ["one"])]
    assert found == ["a==1.2", "b", "c[x]==3", "d==4"]


def test_warp_is_bounded_where_its_internals_are_edited():
    edits = [path for path in (ROOT / "src").rglob("*.py") if "warp._src" in path.read_text(encoding="utf-8")]
    assert edits and re.search(r'"warp-lang>=1\.(\d+),<1\.(\d+)"', PROJECT)
    low, high = map(int, re.search(r'"warp-lang>=1\.(\d+),<1\.(\d+)"', PROJECT).groups())
    assert high == low + 1


def test_the_source_is_of_the_oldest_python():
    minor = int(re.search(r'requires-python = ">=3\.(\d+)"', PROJECT)[1])
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "examples").rglob("*.py")]:
        ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, minor))
    late = re.compile(r"\b(?:import tomllib|from typing import [^\n]*\b(?:Self|assert_never)|\.add_note\(|StrEnum)")
    if minor < 11:
        assert [path for path in (ROOT / "src").rglob("*.py") if late.search(path.read_text(encoding="utf-8"))] == []


def test_extras_are_imported_on_use():
    """Nothing but the library's own dependencies is imported by its main doors."""
    import subprocess

    extras = ("mujoco", "mujoco_warp", "fsspec", "viser", "trimesh", "PIL", "pxr", "coacd", "imageio_ffmpeg",
              "matplotlib", "gymnasium", "torch", "ray")  # fmt: skip
    code = (
        "import sys, kinema, kinema.simulation, kinema.render, kinema.plugins, kinema.cli, kinema.mjcf, kinema.solvers;"
        f"print([name for name in {extras} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]"), done.stdout
