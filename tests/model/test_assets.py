"""Models that lie in Newton's wheel: each loads, runs, and has Newton's arrays of bodies and joints.

What differs on purpose is said in docs/from-newton.md, and listed here by name: everything else is compared.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kinema
from kinema.errors import CompileError
from tests.conformance.staged import StagedEngine

from .newton_arrays import compared_fields, differences, quietly, same_sign

newton = pytest.importorskip("newton", reason="the assets are in its wheel")
ROOT = Path(newton.__file__).parent
ASSETS = ROOT / "examples" / "assets"
READERS = {".xml": "add_mjcf", ".urdf": "add_urdf", ".usd": "add_usd", ".usda": "add_usd"}
SLOW = ("ant_multi.usda",)  # 64 ants of ant.usda
FILES = sorted(path.name for path in ASSETS.iterdir() if path.suffix in READERS)
TESTED = sorted(str(path.relative_to(ROOT / "tests" / "assets")) for path in (ROOT / "tests" / "assets").rglob("*")
                if path.suffix in READERS and path.name not in SLOW)  # fmt: skip

ORPHANS = "not belonging to any articulation"
NOT_LOADED = {"curvedSurface.usd": "normals", "boxes_fourbar.usda": ORPHANS}
"""What Newton 1.7 refuses, and with which words."""
NOT_COMPARED = {
    ".urdf": {"body_q": "ours stand where their joints put them, as after Newton's eval_fk"},
}
"""Arrays that differ on purpose, by format."""
TREES = {"joint_articulation", "articulation_label", "articulation_start", "articulation_end", "articulation_world"}
DIFFER = {
    "constraints.xml": ("equalities stay equalities; Newton makes joints of them, and boxes forget their fromto",
                        {key for key in compared_fields("body_", "joint_", "articulation_")}),
    "mjc_schema_import.usda": ("MuJoCo's actuators act though nothing was registered",
                               {"joint_target_mode", "joint_target_ke", "joint_target_kd"}),
    "test_joint_cylindrical_actuated_unary.usda": ("no limit is no limit", {"joint_limit_lower", "joint_limit_upper"}),
    "test_joint_cylindrical_passive_unary.usda": ("no limit is no limit", {"joint_limit_lower", "joint_limit_upper"}),
}  # fmt: skip
"""Assets of Newton's tests: why arrays differ, and which."""
REFUSED = {"humanoid.urdf": "mass and inertia of moving bodies"}
"""What is refused here: links that move and have no mass."""


def load(library, name, folder=ASSETS):
    if Path(name).suffix.startswith(".usd"):
        pytest.importorskip("pxr", reason="stages are read with usd-core")
        if library is newton:
            pytest.importorskip("newton_usd_schemas", reason="Newton reads stages with its schemas")
    builder = library.ModelBuilder()
    quietly(lambda: getattr(builder, READERS[Path(name).suffix])(str(folder / name)))
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


@pytest.mark.parametrize("name", TESTED)
def test_bodies_and_joints_of_its_tests_are_newtons(name):
    folder, short = ROOT / "tests" / "assets", Path(name).name
    if short in REFUSED:
        with pytest.raises(CompileError, match=REFUSED[short]):
            load(kinema, name, folder)
        return
    ours = load(kinema, name, folder)
    try:
        theirs = load(newton, name, folder)
    except ValueError as problem:
        assert ORPHANS in str(problem), name
        return
    different = set(DIFFER.get(short, ("", set()))[1])
    if theirs.articulation_count < ours.articulation_count:  # joints that no articulation of the stage has
        different |= TREES
    found = differences(theirs, ours, compared_fields("body_", "joint_", "articulation_"))
    assert set(found) <= different, found


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".xml")])
def test_shapes_of_documents_are_newtons_by_name(name):
    theirs, ours = load(newton, name), load(kinema, name)
    order = [[list(model.shape_label).index(label) for label in sorted(model.shape_label)] for model in (theirs, ours)]
    assert sorted(theirs.shape_label) == sorted(ours.shape_label)
    for key in ("shape_body", "shape_type", "shape_transform", "shape_scale"):
        a, b = (getattr(model, key).numpy()[rows] for model, rows in zip((theirs, ours), order, strict=True))
        a, b = same_sign(key, a, b)
        planes = theirs.shape_type.numpy()[order[0]] == int(kinema.GeoType.PLANE)  # Newton's have no end
        keep = ~planes if key == "shape_scale" else np.ones(len(a), bool)
        np.testing.assert_allclose(a[keep], b[keep], rtol=2e-5, atol=2e-6, err_msg=key)


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
