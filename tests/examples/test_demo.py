"""The main job of `make demo`, in short form."""

import importlib.util
from pathlib import Path


def test_demo_runs_and_agrees_with_mujoco(capsys):
    path = Path(__file__).parents[2] / "examples/demo.py"
    spec = importlib.util.spec_from_file_location("demo", path)
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    demo.main(worlds=8, steps=100)
    out = capsys.readouterr().out
    assert "leg3/knee" in out and "steps/s" in out
    difference = float(out.split("after 50 steps:")[1].split()[0])
    assert difference < 1e-4
