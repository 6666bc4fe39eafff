"""The template of a plugin project: its own tests pass, and its entry point is enough for a model to find it."""

import os
import subprocess
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:  # pytest brings it where Python does not
    import tomli as tomllib

TEMPLATE = Path(__file__).parents[2] / "examples" / "plugin_template"


def test_its_tests_pass_with_its_entry_point(tmp_path):
    """As if it were installed: its sources are found, and a metadata folder names its entry point."""
    project = tomllib.loads((TEMPLATE / "pyproject.toml").read_text())["project"]
    info = tmp_path / "acme_motor-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1.0\n")
    points = project["entry-points"]["kinema.plugins"]
    (info / "entry_points.txt").write_text("[kinema.plugins]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()))
    paths = [str(tmp_path), str(TEMPLATE / "src"), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    code = (
        "import sys; from kinema.compile import compile_model; "
        f"compile_model({str(TEMPLATE / 'src/acme_motor/arm.xml')!r}); print('acme_motor' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert found.stdout.split()[-1:] == ["True"], found.stderr
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(TEMPLATE)]
    done = subprocess.run(command, cwd=TEMPLATE, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout + done.stderr
