"""Examples of Newton's wheel run with their import changed.

One line is changed, the import: solvers of Newton's have their names here. On the CPU a step cannot be recorded
(docs/from-newton.md), so that frames are simulated as the examples do where there is no graph.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import warp as wp

import kinema
from tests.conformance.staged import StagedEngine

newton = pytest.importorskip("newton", reason="the examples are in its wheel")
FOLDER = Path(newton.__file__).parent / "examples"

IMPORTS = (
    ("newton.examples.", "examples."),
    ("import newton\nimport newton.examples\n", "from newton import examples\nimport kinema as newton\n"),
)
EXAMPLES = {
    "basic/example_basic_pendulum.py": (),
    "robot/example_robot_cartpole.py": (),
}


class Viewer:
    """A viewer that nobody looks at."""

    def __getattr__(self, name):
        return lambda *args, **options: None


def example(name, monkeypatch, folder, more=()):
    """An example of the wheel as a class; it lies in a file, since its tests become kernels."""
    monkeypatch.setattr("kinema.adapter.solver.Engine", StagedEngine)  # kernels that models share
    text = (FOLDER / name).read_text(encoding="utf-8")
    for old, new in (*IMPORTS, *EXAMPLES[name], *more):
        assert old in text, old
        text = text.replace(old, new)
    path = folder / Path(name).name
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.Example.capture = lambda self: setattr(self, "graph", None)
    return module.Example


def run(name, monkeypatch, tmp_path, frames, *more):
    with wp.ScopedDevice("cpu"):
        made = example(name, monkeypatch, tmp_path, more)(Viewer(), SimpleNamespace(world_count=2, solver="mujoco"))
        for _ in range(frames):
            made.step()
    assert type(made.solver).__module__.startswith("kinema")
    return made


@pytest.mark.optimised  # its test reads a seventh number of six, which is what the compiler makes of it
def test_the_pendulum_passes_its_own_test(monkeypatch, tmp_path):
    made = run("basic/example_basic_pendulum.py", monkeypatch, tmp_path, 100)
    assert type(made.solver).__name__ == "SolverXPBD" and isinstance(made.solver, kinema.SolverConvex)
    made.test_final()
    assert np.abs(made.state_0.joint_q.numpy()).max() > 0.5


def test_cartpoles_of_a_stage_move_as_mujoco_moves_them(monkeypatch, tmp_path):
    pytest.importorskip("pxr", reason="it reads a stage")
    name = "robot/example_robot_cartpole.py"
    theirs = run(name, monkeypatch, tmp_path, 20)
    ours = run(name, monkeypatch, tmp_path, 20, ("newton.solvers.SolverMuJoCo(", "newton.solvers.SolverConvex("))
    x, y = (made.state_0.joint_q.numpy() for made in (ours, theirs))
    assert type(theirs.solver).__name__ == "SolverMuJoCo" and len(x) == 6
    np.testing.assert_allclose(x, y, atol=2e-4)
    assert np.abs(y - [0.0, 0.3, 0.0] * 2).max() > 0.01
