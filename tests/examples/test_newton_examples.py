"""Examples of Newton's wheel run with their import changed, and pass the tests they bring along.

Two lines are changed: the import, and the name of the solver where Newton has one that Kinema has not. On the CPU a
step cannot be recorded (docs/from-newton.md), so that frames are simulated as the examples do where there is no graph.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import warp as wp

from tests.conformance.staged import StagedEngine

newton = pytest.importorskip("newton", reason="the examples are in its wheel")
FOLDER = Path(newton.__file__).parent / "examples"

IMPORTS = (
    ("import newton\nimport newton.examples\n", "import kinema as newton\nfrom newton import examples\n"),
    ("newton.examples.", "examples."),
)
EXAMPLES = {
    "basic/example_basic_pendulum.py": (("newton.solvers.SolverXPBD(", "newton.solvers.SolverConvex("),),
    "robot/example_robot_cartpole.py": (),
}


class Viewer:
    """A viewer that nobody looks at."""

    def __getattr__(self, name):
        return lambda *args, **options: None


def example(name, monkeypatch, more=()):
    """An example of the wheel as a class."""
    monkeypatch.setattr("kinema.adapter.solver.Engine", StagedEngine)  # kernels that models share
    text = (FOLDER / name).read_text(encoding="utf-8")
    for old, new in (*IMPORTS, *EXAMPLES[name], *more):
        if (old, new) != IMPORTS[1]:
            assert old in text, old
        text = text.replace(old, new)
    text = text.replace("from newton import examples", "examples = __import__('newton.examples').examples")
    scope = {"__name__": "example"}
    exec(compile(text, name, "exec"), scope)
    scope["Example"].capture = lambda self: setattr(self, "graph", None)
    return scope["Example"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_passes_its_own_test(name, monkeypatch):
    if "cartpole" in name:
        pytest.importorskip("pxr", reason="it reads a stage")
    with wp.ScopedDevice("cpu"):
        made = example(name, monkeypatch)(Viewer(), SimpleNamespace(world_count=2, solver="mujoco"))
        before = made.state_0.joint_q.numpy().copy()
        for _ in range(25):
            made.step()
        made.test_final()
    assert np.abs(made.state_0.joint_q.numpy() - before).max() > 0.05
    assert type(made.solver).__module__.startswith("kinema")
