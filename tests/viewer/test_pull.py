"""The pull of the mouse against MuJoCo's (mjv_applyPerturbForce)."""

import mujoco
import numpy as np
import pytest

from kinema.viewer.pull import grabbed_point, grip_at, pull_force

MODEL = """
<mujoco>
  <visual><map stiffness="80" stiffnessrot="300"/></visual>
  <worldbody>
    <geom type="plane" size="1 1 .1" contype="0" conaffinity="0"/>
    <body name="a" pos="0 0 1">
      <freejoint/><geom type="box" size=".1 .2 .3" pos=".1 0 0"/>
      <body name="b" pos=".3 0 0" euler="10 20 30"><joint axis="0 1 0"/>
        <geom type="capsule" size=".05 .2" pos="0 .1 .2"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.fixture(scope="module")
def moving():
    m = mujoco.MjModel.from_xml_string(MODEL)
    d = mujoco.MjData(m)
    rng = np.random.default_rng(0)
    d.qvel[:] = rng.normal(size=m.nv)
    mujoco.mj_step(m, d, 20)
    mujoco.mj_forward(m, d)
    return m, d


def pose_of(m, d, body):
    return {
        "xpos": d.xpos[body], "xmat": d.xmat[body], "xipos": d.xipos[body], "cvel": d.cvel[body],
        "subtree_com": d.subtree_com[m.body_rootid[body]],
    }  # fmt: skip


@pytest.mark.parametrize("name", ["a", "b"])
def test_force(moving, name):
    m, d = moving
    body = m.body(name).id
    grip = grip_at(0, body, d.xipos[body] + [0.05, 0.1, 0], d.xpos[body], d.xmat[body])
    np.testing.assert_allclose(grabbed_point(grip, d.xpos[body], d.xmat[body]), d.xipos[body] + [0.05, 0.1, 0])
    grip.target = grip.target + [0.3, -0.2, 0.4]
    pull = mujoco.MjvPerturb()
    pull.select, pull.active = body, mujoco.mjtPertBit.mjPERT_TRANSLATE
    pull.localpos[:], pull.refselpos[:] = grip.local, grip.target
    pull.localmass = 1 / m.body_invweight0[body, 0]
    d.xfrc_applied[:] = 0
    mujoco.mjv_applyPerturbForce(m, d, pull)
    want = d.xfrc_applied[body].copy()
    assert np.linalg.norm(want[:3]) > 1 and np.linalg.norm(want[3:]) > 0.1
    np.testing.assert_allclose(pull_force(m, grip, pose_of(m, d, body)), want, rtol=1e-9, atol=1e-9)


def test_what_cannot_move_is_not_pulled(moving):
    m, d = moving
    grip = grip_at(0, 0, np.zeros(3), d.xpos[0], d.xmat[0])
    grip.target = np.ones(3)
    np.testing.assert_array_equal(pull_force(m, grip, pose_of(m, d, 0)), np.zeros(6))


def test_a_pulled_body_comes_to_the_pointer():
    m = mujoco.MjModel.from_xml_string(MODEL.replace("<worldbody>", "<option gravity='0 0 0'/><worldbody>"))
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    body = m.body("a").id
    grip = grip_at(0, body, d.xipos[body], d.xpos[body], d.xmat[body])
    grip.target = grip.target + [0.5, 0, 0.2]
    for _ in range(2000):
        d.xfrc_applied[body] = pull_force(m, grip, pose_of(m, d, body))
        mujoco.mj_step(m, d)
    point = grabbed_point(grip, d.xpos[body], d.xmat[body])
    assert np.linalg.norm(point - grip.target) < 0.02
