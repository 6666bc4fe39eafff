"""The example of inverse kinematics reaches its goals, and MuJoCo agrees that it does."""

import importlib.util
from pathlib import Path

import mujoco
import numpy as np

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_every_world_reaches_its_goal(capsys):
    spec = importlib.util.spec_from_file_location("inverse_kinematics", EXAMPLES / "inverse_kinematics.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.main(["--worlds", "6"])
    assert "6 of 6 worlds reach their goals" in capsys.readouterr().out
    m = mujoco.MjModel.from_xml_path(str(EXAMPLES / "models" / "humanoid.xml"))
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, m.key("stand").id)
    mujoco.mj_kinematics(m, d)
    feet = d.body("foot_left").xpos.copy()
    for w in range(6):
        d.qpos[:] = found.qpos[w]
        mujoco.mj_kinematics(m, d)
        angle = 2 * np.pi * w / 6
        goal = np.array([0.3, -0.25 + 0.2 * np.cos(angle), 1.0 + 0.2 * np.sin(angle)])
        np.testing.assert_allclose(d.geom("hand_right").xpos, goal, atol=3e-3)
        np.testing.assert_allclose(d.body("foot_left").xpos, feet, atol=3e-3)
        hinges = m.jnt_limited.astype(bool)
        q = d.qpos[m.jnt_qposadr[hinges]]
        assert (q >= m.jnt_range[hinges, 0] - 1e-5).all() and (q <= m.jnt_range[hinges, 1] + 1e-5).all()
