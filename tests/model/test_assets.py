"""Models that lie in Newton's wheel: each loads, runs, and has Newton's arrays of bodies and joints.

What differs on purpose is said in docs/from-newton.md, and listed here by name: everything else is compared.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kinema
from tests.conformance.staged import StagedEngine

from .newton_arrays import compared_fields, differences, quietly

newton = pytest.importorskip("newton", reason="the assets are in its wheel")
ASSETS = Path(newton.__file__).parent / "examples" / "assets"
READERS = {".xml": "add_mjcf", ".urdf": "add_urdf", ".usd": "add_usd", ".usda": "add_usd"}
FILES = sorted(path.name for path in ASSETS.iterdir() if path.suffix in READERS)

NOT_LOADED = {"curvedSurface.usd": "normals", "boxes_fourbar.usda": "not belonging to any articulation"}
"""What Newton 1.7 refuses, and with which words."""
NOT_COMPARED = {
    ".urdf": {"body_q": "ours stand where their joints put them, as after Newton's eval_fk"},
}
"""Arrays that differ on purpose, by format."""


def load(library, name):
    if Path(name).suffix.startswith(".usd"):
        pytest.importorskip("pxr", reason="stages are read with usd-core")
        if library is newton:
            pytest.importorskip("newton_usd_schemas", reason="Newton reads stages with its schemas")
    builder = library.ModelBuilder()
    quietly(lambda: getattr(builder, READERS[Path(name).suffix])(str(ASSETS / name)))
    return quietly(lambda: builder.finalize("cpu"))


def test_the_assets_are_there():
    assert {"nv_ant.xml", "nv_humanoid.xml", "tabletop.xml", "cartpole.urdf", "quadruped.urdf"} <= set(FILES)
    assert len([name for name in FILES if name.endswith((".usd", ".usda"))]) > 10


@pytest.mark.parametrize("name", FILES)
def test_bodies_and_joints_are_newtons(name):
    ours = load(kinema, name)
    if name in NOT_LOADED:
        with pytest.raises(Exception, match=NOT_LOADED[name]):
            load(newton, name)
        return
    theirs = load(newton, name)
    fields = [key for key in compared_fields("body_", "joint_", "articulation_")
              if key not in NOT_COMPARED.get(Path(name).suffix, {})]  # fmt: skip
    assert not differences(theirs, ours, fields)
    if "body_q" not in fields:
        for library, model in ((newton, theirs), (kinema, ours)):
            state = model.state()
            library.eval_fk(model, model.joint_q, model.joint_qd, state)
            model.body_q.assign(state.body_q)
        assert not differences(theirs, ours, ["body_q"])


@pytest.mark.parametrize("name", [name for name in FILES if name not in ("bear.usd", "bunny.usd")])
def test_every_model_with_bodies_runs(name, monkeypatch):
    monkeypatch.setattr("kinema.adapter.solver.Engine", StagedEngine)  # kernels that models share
    model = load(kinema, name)
    if not model.body_count:
        pytest.skip("nothing in it moves")
    solver, state = kinema.SolverConvex(model), model.state()
    state.joint_qd.fill_(0.1)
    before = state.joint_q.numpy().copy()
    for _ in range(10):
        solver.step(state, state, None, None, 0.002)
    assert np.isfinite(state.joint_q.numpy()).all() and not solver.trouble()
    assert np.abs(state.joint_q.numpy() - before).max() > 0.0
