"""The suite: worlds part, both sides are driven alike, tables and plots say what was measured, failures included."""

import json

import mujoco
import numpy as np
import pytest
import warp as wp
from benchmarks import parted, suite

from tests.conformance.staged import StagedEngine

XML = """
<mujoco>
  <worldbody><geom type="plane" size="3 3 1"/>
    <body pos="0 0 .3"><joint name="h" axis="0 1 0"/><geom type="capsule" size=".05" fromto="0 0 0 .3 0 0"/></body>
  </worldbody>
  <actuator><motor joint="h" ctrllimited="true" ctrlrange="-.5 1"/><motor joint="h"/></actuator>
  <keyframe><key qpos=".2" ctrl=".3 -.1"/></keyframe>
</mujoco>
"""


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "lever.xml"
    path.write_text(XML)
    return path


def test_a_scene_is_measured(scene, monkeypatch):
    monkeypatch.setattr("kinema.convex.engine.Engine", StagedEngine)
    found = parted.measure(scene, "kinema", 5, 12, wp.get_device("cpu"))
    assert found["rate"] > 0 and len(found["rates"]) == parted.CHUNKS
    assert found["bad"] == 0 and found["nv"] == 1 and found["bytes"] > 1000
    assert found["parted"] > 1e-5, "worlds are driven apart"


def test_controls_stay_in_range_and_do_not_depend_on_who_is_driven(scene):
    m = mujoco.MjModel.from_xml_path(str(scene))
    d = mujoco.MjData(m)
    recorded = np.array([[0.9, 0.0], [-0.4, 2.0]])
    runs = []
    for _ in range(2):
        controls = parted.Controls(m, d, recorded, wp.get_device("cpu"))
        ctrl = wp.zeros((7, 2), dtype=float, device="cpu")
        for _ in range(400):
            controls.drive(ctrl)
        runs.append(ctrl.numpy().copy())
    np.testing.assert_array_equal(*runs)
    low, high = runs[0].min(axis=0), runs[0].max(axis=0)
    assert low[0] >= -0.5 and high[0] <= 1.0 and (high > low).all()
    assert abs(runs[0][:, 1].mean() - 2.0) < 0.5, "they follow the last row of what was recorded"


def test_tables_and_plots(scene, tmp_path, monkeypatch, capsys):
    """One side that fails is named in the table; the rest is told all the same."""
    ours = {"rate": 2e6, "bytes": 3e4, "setup": 1.0, "bad": 0, "rows": 4.0, "room": "16/32", "nv": 1}
    said = {"kinema": ours, "mujoco-warp": {**ours, "rate": 1e6, "bad": 3}}
    monkeypatch.setattr(suite, "call", lambda path, side, *rest: said[side])
    suite.main([str(scene), "--device", "cpu", "--worlds", "8", "--out", str(tmp_path), "--no-prepare"])
    table = (tmp_path / "suite.md").read_text()
    assert "| lever |" in table and "2.00" in table and "30 / 30" in table and "0 / 3" in table
    assert json.loads((tmp_path / "suite.json").read_text())[0]["mujoco-warp"]["bad"] == 3
    assert (tmp_path / "suite.png").stat().st_size > 1000
    assert capsys.readouterr().out.strip().endswith(table.strip().splitlines()[-1])
    said["mujoco-warp"] = {"error": "out of memory"}
    suite.main([str(scene), "--device", "cpu", "--sweep", "--out", str(tmp_path), "--no-prepare"])
    table = (tmp_path / "suite.md").read_text()
    assert table.count("mujoco-warp: out of memory") == len(suite.SWEEP) and "65,536" in table


def test_scenes_are_found_and_unknown_ones_refused(scene, tmp_path):
    (tmp_path / "humanoid.mjb").touch()
    assert [path.stem for path in suite.scenes([str(tmp_path)], [])] == ["humanoid", "lever"]
    assert [path.stem for path in suite.scenes([str(scene)], ["lever"])] == ["lever"]
    with pytest.raises(SystemExit, match="levre"):
        suite.scenes([str(tmp_path)], ["levre"])
