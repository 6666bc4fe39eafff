"""Tendons against MuJoCo on real and made-up models, and against finite differences."""

import mujoco
import numpy as np
import pytest

from kinema.convex import com, kinematics, tendon, velocity
from kinema.convex.stage import Stage

from . import pulled
from .stage_harness import Harness

POSITION = (
    *kinematics.stages(),
    *com.stages(),
    Stage(tendon.fixed_tendon, over="ntendon"),
    Stage(tendon.spatial_tendon, over="ntendon"),
    Stage(tendon.tendon_paths),
    Stage(tendon.tendon_velocity, over="ntendon"),
)
ROBOTS = [
    "myo_sim/finger/myofinger_v0.xml",
    "myo_sim/leg/myolegs.xml",
    "menagerie/iit_softfoot/scene.xml",
    "menagerie/tetheria_aero_hand_open/scene_right.xml",
    "menagerie/shadow_hand/scene_right.xml",
    "menagerie/robotiq_2f85/scene.xml",
    "mujoco/test/user/testdata/discardvisual_false.xml",
]


def run(m, qpos, qvel) -> Harness:
    """Our tendons at states, one a world."""
    qpos, qvel = np.atleast_2d(qpos), np.atleast_2d(qvel)
    harness = Harness(m, nworld=len(qpos))
    harness.layout.arrays["qpos"].numpy()[:] = qpos
    harness.layout.arrays["qvel"].numpy()[:] = qvel
    for name, values in (("mocap_pos", m.body_pos), ("mocap_quat", m.body_quat)):
        if m.nmocap:
            harness.write(name, values[m.body_mocapid >= 0])
    harness.run(*POSITION)
    return harness


def compare(m, seeds):
    states = [pulled.moved(m, seed) for seed in seeds]
    ours = run(m, [d.qpos for d in states], [d.qvel for d in states])
    for w, d in enumerate(states):
        scale = max(1.0, np.abs(d.ten_length).max())
        np.testing.assert_allclose(ours.read("ten_length", w), d.ten_length, atol=1e-6 * scale)
        theirs = pulled.dense_tendon(m, d.ten_J)
        scale = max(1e-2, np.abs(theirs).max())
        np.testing.assert_allclose(pulled.dense_tendon(m, ours.read("ten_J", w)), theirs, atol=2e-6 * scale)
        scale = max(1e-2, np.abs(d.ten_velocity).max())
        np.testing.assert_allclose(ours.read("ten_velocity", w), d.ten_velocity, atol=3e-6 * scale)
        same = ours.read("ten_wrapnum", w) == d.ten_wrapnum  # paths that only touch a geom may or may not show it
        assert same.mean() > 0.8
        points, objects = ours.read("wrap_xpos", w).reshape(-1, 3), ours.read("wrap_obj", w).reshape(-1)
        for i in np.flatnonzero(same):
            here, there = ours.read("ten_wrapadr", w)[i], d.ten_wrapadr[i]
            n = d.ten_wrapnum[i]
            theirs = d.wrap_xpos.reshape(-1, 3)[there : there + n]
            np.testing.assert_allclose(points[here : here + n], theirs, atol=1e-6 * (1 + np.abs(points).max()))
            np.testing.assert_array_equal(objects[here : here + n], d.wrap_obj.reshape(-1)[there : there + n])


@pytest.mark.parametrize("path", ROBOTS)
def test_robots_agree_with_mujoco(path):
    compare(pulled.shared_model(path), range(3))


def test_pulleys_and_fixed_tendons_agree_with_mujoco():
    m = mujoco.MjModel.from_xml_string(pulled.TRANSMISSIONS)
    compare(m, range(3))


@pytest.mark.parametrize("path", [None, "myo_sim/finger/myofinger_v0.xml"])
def test_velocity_is_the_finite_difference_of_length(path):
    m = mujoco.MjModel.from_xml_string(pulled.TRANSMISSIONS) if path is None else pulled.shared_model(path)
    d = pulled.moved(m, 5, scale=0.1)
    h = 1e-3
    before, after = d.qpos.copy(), d.qpos.copy()
    mujoco.mj_integratePos(m, before, d.qvel, -h)
    mujoco.mj_integratePos(m, after, d.qvel, h)
    ours = run(m, [before, d.qpos, after], [d.qvel] * 3)
    difference = (ours.read("ten_length", 2).astype(float) - ours.read("ten_length", 0)) / (2 * h)
    assert np.abs(difference).max() > 1e-3
    np.testing.assert_allclose(ours.read("ten_velocity", 1), difference, atol=2e-3 * np.abs(difference).max())


def test_a_straight_spatial_tendon_along_a_slide_equals_the_fixed_one():
    m = mujoco.MjModel.from_xml_string("""
    <mujoco>
      <worldbody>
        <site name="wall"/>
        <body pos="1 0 0"><joint name="j" type="slide" axis="1 0 0"/><geom size=".1"/><site name="cart"/></body>
      </worldbody>
      <tendon>
        <spatial><site site="wall"/><site site="cart"/></spatial>
        <fixed><joint joint="j" coef="1"/></fixed>
      </tendon>
    </mujoco>""")
    ours = run(m, [[0.3], [-0.7]], [[2.0], [-1.0]])
    for w in range(2):
        straight, fixed = ours.read("ten_length", w)
        assert straight == pytest.approx(1 + fixed)
        np.testing.assert_allclose(ours.read("ten_J", w), [1, 1])
        assert np.ptp(ours.read("ten_velocity", w)) == 0


@pytest.mark.parametrize("text", [pulled.TRANSMISSIONS])
def test_passive_forces_agree_with_mujoco(text):
    m = mujoco.MjModel.from_xml_string(text)
    for seed in range(2):
        d = pulled.moved(m, seed)
        harness = Harness(m)
        harness.inject(d)
        harness.write("qfrc_spring", np.zeros(m.nv))
        harness.write("qfrc_damper", np.zeros(m.nv))
        harness.run(Stage(tendon.tendon_passive))
        assert np.abs(d.qfrc_spring).max() > 0.01 and np.abs(d.qfrc_damper).max() > 0.01
        for name in ("qfrc_spring", "qfrc_damper"):
            theirs = getattr(d, name)
            np.testing.assert_allclose(harness.read(name), theirs, atol=2e-6 * max(1, np.abs(theirs).max()))


def test_the_deadband_of_a_spring_is_slack():
    m = pulled.shared_model("mujoco/test/engine/testdata/tendon_springlength.xml")
    for seed in range(4):
        d = pulled.moved(m, seed, scale=1.0)
        harness = Harness(m)
        harness.inject(d)
        harness.write("qfrc_spring", np.zeros(m.nv))
        harness.run(Stage(tendon.tendon_passive))
        np.testing.assert_allclose(harness.read("qfrc_spring"), d.qfrc_spring, atol=1e-6)


ARMATURE = """
<mujoco>
  <worldbody>
    <site name="wall" pos="0 0 1"/>
    <body pos=".2 0 1"><joint type="ball"/><geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/>
      <site name="elbow" pos=".3 0 .05"/>
      <body pos=".3 0 0"><joint axis="0 1 0"/><joint axis="0 0 1"/>
        <geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/>
        <site name="hand" pos=".3 .1 0"/></body></body>
    <body pos="-.5 0 1"><freejoint/><geom size=".1"/><site name="load" pos="0 .1 .1"/></body>
  </worldbody>
  <tendon>
    <spatial name="rope" armature="2">
      <site site="wall"/><site site="elbow"/><site site="hand"/>
      <pulley divisor="2"/><site site="hand"/><site site="load"/>
    </spatial>
  </tendon>
  <actuator><motor tendon="rope" gear="3" armature=".5"/></actuator>
</mujoco>
"""


def test_the_bias_of_armature_agrees_with_mujoco():
    m = mujoco.MjModel.from_xml_string(ARMATURE)
    light = mujoco.MjModel.from_xml_string(ARMATURE.replace('armature="2"', "").replace('armature=".5"', ""))
    for seed in range(3):
        d, without = pulled.moved(m, seed), pulled.moved(light, seed)
        theirs = d.qfrc_bias - without.qfrc_bias
        harness = Harness(m)
        harness.inject(d)
        harness.write("qfrc_bias", np.zeros(m.nv))
        harness.run(Stage(velocity.com_vel, sweep="down"), Stage(tendon.tendon_bias))
        assert np.abs(theirs).max() > 0.1
        np.testing.assert_allclose(harness.read("qfrc_bias"), theirs, atol=1e-5 * np.abs(theirs).max())
