"""The resource provider example runs and says what it should."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_data_provider_example():
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "data_provider.py")], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "hello world"
    assert lines[1] == "model/obj .obj 37 bytes"
    assert lines[2:5] == ["[[1. 0. 0.]", " [0. 1. 0.]", " [0. 0. 1.]]"]
    assert lines[5].startswith("refused: another resource provider is already registered")
