"""The wheel: it builds, has every file the library reads, and works in an environment that has no clone beside it.

Dependencies are taken from the environment that runs the tests, so nothing is downloaded.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.docs.pages import blocks

ROOT = Path(__file__).parents[2]
HOUR = ROOT / "docs" / "first-hour.md"
ARM = '<mujoco model="arm"><worldbody><body><joint/><geom size=".1"/></body></worldbody></mujoco>'


def run(*command, **options) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built from a copy of what a source distribution has."""
    folder = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder / "dist", folder)
    [made] = (folder / "dist").glob("kinema-*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The folder of programs of a fresh environment with the wheel and the dependencies of this one."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    bin = folder / ("Scripts" if os.name == "nt" else "bin")
    python = bin / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index", wheel)
    [site] = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").split()
    (Path(site) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")  # after its own packages
    return bin


def clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def test_every_file_of_the_package_is_in_it(wheel):
    there = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src/kinema").rglob("*") if path.is_file()}
    there = {name for name in there if "__pycache__" not in name}
    assert there <= set(zipfile.ZipFile(wheel).namelist())


def test_it_works_without_the_clone(installed, tmp_path):
    (tmp_path / "arm.xml").write_text(ARM)
    where = run(installed / "python", "-c", "import kinema; print(kinema.__file__)", cwd=tmp_path, env=clean())
    assert Path(where.strip()).is_relative_to(installed.parent)
    assert run(installed / "kinema", "--version", cwd=tmp_path, env=clean()).startswith("kinema ")
    said = run(installed / "kinema", "info", "arm.xml", "--json", cwd=tmp_path, env=clean())
    assert '"nbody": 2' in said
    code = "import kinema; print(kinema.Simulation('arm.xml', worlds=3, device='cpu').d.qpos.shape)"
    assert "(3, 1)" in run(installed / "python", "-c", code, cwd=tmp_path, env=clean())


def test_the_first_hour_begins_with_the_wheel(installed, tmp_path):
    """The page's model, and its commands up to where Python begins, by the installed program."""
    page = blocks(HOUR)
    begin = next(n for n, block in enumerate(page) if block.language == "python")
    for block in page[:begin]:
        if block.is_file:
            (tmp_path / block.title).write_text(block.text)
    commands = [line for block in page[:begin] if block.language == "sh" for line in block.text.splitlines()]
    commands = [shlex.split(line, comments=True) for line in commands if line.startswith("kinema ")]
    assert [words[1] for words in commands] == ["info", "run"]
    for words in commands:
        assert run(installed / words[0], *words[1:], cwd=tmp_path, env=clean())
