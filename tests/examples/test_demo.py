"""The main job of `make demo`, in short form: it agrees with MuJoCo, and leaves its pictures behind."""

import importlib.util
import struct
from pathlib import Path

import mujoco
import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def demo():
    spec = importlib.util.spec_from_file_location("demo", EXAMPLES / "demo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_demo_runs_and_agrees_with_mujoco(demo, capsys, tmp_path):
    demo.main(["--worlds", "8", "--steps", "70", "--out", str(tmp_path)])
    out = capsys.readouterr().out
    assert "pack/bag" in out and "steps/s" in out and "8 x 70" in out
    difference = float(out.split("after 50 steps:")[1].split()[0])
    assert 0 < difference < 1e-4
    for name in ("demo.png", "demo_strip.png"):
        data = (tmp_path / name).read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n" and min(struct.unpack(">II", data[16:24])) > 200
    assert (tmp_path / "demo.html").stat().st_size > 100_000


def test_the_humanoid_stands_and_falls_in_mujoco():
    """The model itself: upright without a push, on the ground after a strong one, mirrored left and right."""
    m = mujoco.MjModel.from_xml_path(str(EXAMPLES / "models/humanoid.xml"))
    assert (m.nv, m.nu) == (27, 21)
    d = mujoco.MjData(m)
    heights = {}
    for key, push in (("stand", 0.0), ("crouch", 0.0), ("stand", 1.5)):
        mujoco.mj_resetDataKeyframe(m, d, m.key(key).id)
        d.qvel[0] = push
        mujoco.mj_step(m, d, 600)
        heights[key, push] = d.qpos[2]
    assert heights["stand", 0.0] > 0.93 and 0.6 < heights["crouch", 0.0] < 0.8 and heights["stand", 1.5] < 0.3
    left = [b for b in range(m.nbody) if m.body(b).name.endswith("_left")]
    for b in left:
        other = m.body(m.body(b).name.replace("_left", "_right"))
        np.testing.assert_allclose(m.body_mass[b], other.mass[0])
        np.testing.assert_allclose(m.body_ipos[b] * [1, -1, 1], other.ipos, atol=1e-12)
