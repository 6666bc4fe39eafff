"""Poses of everything, against MuJoCo at random states."""

import mujoco
import numpy as np
import pytest

from kinema.convex.engine import Engine

MODELS = {
    "humanoid": "suite/humanoid.xml",
    "quadruped": "suite/quadruped.xml",
    "manipulator": "suite/manipulator.xml",
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_poses_agree_with_mujoco(model, dm_control_assets, random_state):
    m = mujoco.MjModel.from_xml_path(str(dm_control_assets / model))
    d = mujoco.MjData(m)
    random_state(m, d)
    mujoco.mj_kinematics(m, d)
    engine = Engine(m, nworld=2, device="cpu")
    engine.write("qpos", d.qpos)
    if m.nmocap:
        engine.write("mocap_pos", d.mocap_pos)
        engine.write("mocap_quat", d.mocap_quat)
    engine.forward()
    for name in ("xpos", "xquat", "xmat", "xipos", "ximat", "xanchor", "xaxis", "geom_xpos", "geom_xmat", "site_xpos"):
        ours = engine.read(name)[1].reshape(getattr(d, name).shape)
        np.testing.assert_allclose(ours, getattr(d, name), atol=3e-6, err_msg=name)
