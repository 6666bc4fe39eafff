"""Inverse kinematics against closed forms: a planar arm, slides, balls and free bodies."""

import numpy as np
import pytest

from kinema import Simulation
from kinema.control import ik
from kinema.errors import BuildError, UnknownKey

MODEL = """
<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <body name="upper">
      <joint name="shoulder" axis="0 0 1"/>
      <geom type="capsule" fromto="0 0 0 .5 0 0" size=".02" contype="0" conaffinity="0"/>
      <body name="fore" pos=".5 0 0">
        <joint name="elbow" axis="0 0 1" range="-3 -.1"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" contype="0" conaffinity="0"/>
        <site name="hand" pos=".3 0 0"/>
      </body>
    </body>
    <body name="first" pos="0 0 1">
      <joint name="x1" type="slide" axis="1 0 0"/><geom size=".1" contype="0" conaffinity="0"/>
      <body name="second">
        <joint name="x2" type="slide" axis="1 0 0" range="-1 .4"/><geom size=".1" contype="0" conaffinity="0"/>
        <site name="ends"/><site name="far" pos="1 0 0"/>
      </body>
    </body>
    <body name="head" pos="0 0 2"><joint name="neck" type="ball"/><geom size=".1" contype="0" conaffinity="0"/></body>
    <body name="flier" pos="0 0 3">
      <freejoint name="fly"/><geom name="hull" size=".1" contype="0" conaffinity="0"/>
    </body>
  </worldbody>
</mujoco>
"""
UPPER, FORE = 0.5, 0.3
ARM, X1, X2, NECK, FLY = slice(0, 2), 2, 3, slice(4, 8), slice(8, 15)
WORLDS = 16


@pytest.fixture(scope="module")
def sim():
    sim = Simulation(MODEL, worlds=WORLDS, device="cpu", threads=1)
    sim.set_state(qpos=np.r_[0.3, -0.8, 0, 0, 1, 0, 0, 0, 0, 0, 3, 1, 0, 0, 0])
    sim.engine.motion()  # no kernel of a whole step
    return sim


def elbow_down(x, y):
    """Angles of a planar arm whose elbow bends to the negative side."""
    cosine = (x * x + y * y - UPPER**2 - FORE**2) / (2 * UPPER * FORE)
    elbow = -np.arccos(cosine)
    return np.arctan2(y, x) - np.arctan2(FORE * np.sin(elbow), UPPER + FORE * np.cos(elbow)), elbow


def test_a_planar_arm_in_every_world(sim):
    rng = np.random.default_rng(0)
    angle, radius = rng.uniform(-2, 2, WORLDS), rng.uniform(0.3, 0.75, WORLDS)
    goal = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.zeros(WORLDS)], axis=1)
    before = {name: np.array(sim.engine.read(name)) for name in ("qpos", "xpos", "site_xpos", "cdof", "cvel")}
    found = ik.solve(sim, ik.Target("hand", position=goal))
    assert found.success.all() and found.position_error.max() < 1e-4
    shoulder, elbow = elbow_down(goal[:, 0], goal[:, 1])
    np.testing.assert_allclose(found.qpos[:, 1], elbow, atol=2e-3)
    turn = (found.qpos[:, 0] - shoulder + np.pi) % (2 * np.pi) - np.pi
    np.testing.assert_allclose(turn, 0, atol=2e-3)
    np.testing.assert_array_equal(found.qpos[:, 2:], sim.d.qpos[:, 2:])  # what has no target stays
    for name, values in before.items():
        np.testing.assert_array_equal(sim.engine.read(name), values, err_msg=name)


def test_a_limit_is_held_and_the_rest_does_what_it_can(sim):
    """Out of reach for the elbow's range: stretched as far as it may, the shoulder points at the goal."""
    found = ik.solve(sim, ik.Target("hand", position=[0, 2.0, 0]))
    assert not found.success.any()
    np.testing.assert_allclose(found.qpos[:, 1], -0.1, atol=1e-5)
    x, y = UPPER + FORE * np.cos(0.1), -FORE * np.sin(0.1)
    np.testing.assert_allclose(found.qpos[:, 0], np.pi / 2 - np.arctan2(y, x), atol=2e-3)
    np.testing.assert_allclose(found.position_error[:, 0], 2 - np.hypot(x, y), atol=1e-4)
    free = ik.solve(sim, ik.Target("hand", position=[0, 2.0, 0]), limits=False, iterations=200)
    np.testing.assert_allclose(free.qpos[:, 1], 0, atol=0.02)


def test_a_posture_shares_out_what_targets_leave_free(sim):
    """min (t - x1 - x2)^2 + w |x - p|^2: x = p + (t - sum p) / (2 + w), up to the limit of x2."""
    posture = np.array(sim.d.qpos[0])
    posture[[X1, X2]] = 0.1, -0.3
    w, goal = 0.5, 0.4
    found = ik.solve(sim, ik.Target("ends", position=[goal, 0, 1]), posture=posture, posture_weight=w)
    share = (goal + 0.2) / (2 + w)
    np.testing.assert_allclose(found.qpos[:, [X1, X2]], np.tile([0.1 + share, -0.3 + share], (WORLDS, 1)), atol=1e-4)
    far = 3.0  # x2 stops at 0.4: x1 = (t - 0.4 + w p1) / (1 + w)
    found = ik.solve(sim, ik.Target("ends", position=[far, 0, 1]), posture=posture, posture_weight=w)
    wanted = (far - 0.4 + w * 0.1) / (1 + w)
    np.testing.assert_allclose(found.qpos[:, [X1, X2]], np.tile([wanted, 0.4], (WORLDS, 1)), atol=1e-4)


def test_weights_settle_what_cannot_both_be(sim):
    """Two sites on one slide with goals that differ: the weighted mean of where each would have it."""
    targets = [ik.Target("ends", position=[0.2, 0, 1], position_weight=3.0), ik.Target("far", position=[1.6, 0, 1])]
    found = ik.solve(sim, targets, joints=["x1"])
    np.testing.assert_allclose(found.qpos[:, X1], (3 * 0.2 + 0.6) / 4, atol=1e-4)
    assert not found.qpos[:, X2].any() and found.position_error.shape == (WORLDS, 2)


def test_orientation_alone_and_whole_poses(sim):
    rng = np.random.default_rng(1)
    quat = rng.normal(size=(WORLDS, 4))
    quat /= np.linalg.norm(quat, axis=1, keepdims=True)
    place = rng.normal(size=(WORLDS, 3))
    targets = [ik.Target("head", "body", orientation=quat), ik.Target("hull", "geom", position=place, orientation=quat)]
    found = ik.solve(sim, targets)
    assert found.success.all()
    for part in (found.qpos[:, NECK], found.qpos[:, FLY][:, 3:]):
        np.testing.assert_allclose(np.abs((part * quat).sum(axis=1)), 1, atol=1e-5)
    np.testing.assert_allclose(found.qpos[:, FLY][:, :3], place, atol=1e-3)


def test_several_beginnings_and_tensors(sim):
    torch = pytest.importorskip("torch")
    start = np.tile(sim.d.qpos[0], (WORLDS, 1))
    start[::2, 0] = -2.0
    found = ik.solve(sim, ik.Target("hand", position=[0.3, 0.3, 0]), start=start, torch=True)
    assert isinstance(found.qpos, torch.Tensor) and found.success.all()


def test_what_is_refused(sim):
    with pytest.raises(UnknownKey, match="did you mean 'hand'"):
        ik.solve(sim, ik.Target("hnad", position=[0, 0, 0]))
    with pytest.raises(UnknownKey, match="did you mean 'site'"):
        ik.solve(sim, ik.Target("hand", "sit", position=[0, 0, 0]))
    with pytest.raises(BuildError, match="give a position, an orientation, or both"):
        ik.solve(sim, ik.Target("hand"))
    with pytest.raises(BuildError, match=r"position: an array of shape \(2,\)"):
        ik.solve(sim, ik.Target("hand", position=[0, 0]))
    with pytest.raises(BuildError, match="at least one Target"):
        ik.solve(sim, [])
