"""dm_control's own tests of PyMJCF, with kinema.mjcf in the place of dm_control.mjcf.

The harness that runs them is not part of this repository; where it is not found this is skipped, and the behaviours
stand in the other tests of this folder.
"""

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
HARNESS = ROOT.parent / "shared" / "tools" / "pymjcf"
EXPECTED = json.loads((pathlib.Path(__file__).parent / "dm_control_tests.json").read_text())

SIMULATED = {file: pytest.mark.slow for file in ("element_test", "physics_test")}
"""Files whose tests run models: kernels are compiled on first use."""


@pytest.mark.skipif(not HARNESS.exists(), reason=f"the harness {HARNESS} is not there")
@pytest.mark.parametrize("file", [pytest.param(file, marks=SIMULATED.get(file, ())) for file in sorted(EXPECTED)])
def test_passing_set(file, tmp_path):
    report = tmp_path / "report.json"
    command = [sys.executable, "run.py", "--path", str(ROOT / "src"), "--only", file, "--json", str(report)]
    # absl's tests make folders below one that nobody makes: theirs is made here, and no two runs share it.
    own = {**os.environ, "TEST_TMPDIR": str(tmp_path)}
    subprocess.run(command, cwd=HARNESS, env=own, capture_output=True, text=True, timeout=900)
    tests = json.loads(report.read_text())[file]["result"]["tests"]
    passed = {name for name, result in tests.items() if result["state"] == "pass"}
    missing = {name: tests.get(name, {}).get("detail", "not run") for name in EXPECTED[file] if name not in passed}
    assert not missing
