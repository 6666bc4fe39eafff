"""The tasks that come with Kinema: what they observe against MuJoCo on the same model, and that they can be done."""

import mujoco
import numpy as np
import pytest

from kinema.envs import TASKS, make
from kinema.envs.attitude import to_body, up_in_body

torch = pytest.importorskip("torch")
SIZES = {"CartPole": (4, 1), "Reacher": (10, 2), "Hopper": (11, 3), "Quadruped": (48, 12), "Humanoid": (67, 19)}


class Mirror:
    """MuJoCo's mjData under the names a task reads, with an axis of one world."""

    def __init__(self, worlds, m, d):
        self.xp, self.count, self.model, self._worlds, self._d = np, 1, m, worlds, d

    def __getattr__(self, name):
        return np.array(getattr(self._d, name), dtype=np.float32)[None]


def test_every_task_is_tested():
    elsewhere = {"CartPolePixels"} | {name for name in TASKS if name.endswith("-v5")}  # autoreset, gymnasium_v5
    assert set(SIZES) == set(TASKS) - elsewhere


@pytest.fixture(scope="module", params=SIZES)
def env(request):
    return make(request.param, 6, seed=0)


def test_sizes(env):
    name = type(env.task).__name__
    assert (env.single_observation_space.shape[0], env.single_action_space.shape[0]) == SIZES[name]


def test_episodes_start_differently_and_healthy(env):
    observed, _ = env.reset(seed=0)
    assert len(np.unique(observed.round(6), axis=0)) == 6
    assert not env.task.terminated(env.worlds).any()


def test_what_is_seen_is_what_mujoco_sees(env):
    """Random actions; MuJoCo is put into the environment's state before each and makes the same steps."""
    m = mujoco.MjModel.from_xml_path(str(env.task.model))
    d = mujoco.MjData(m)
    mirror = Mirror(env.worlds, m, d)
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    moved = 0.0
    for _ in range(8):
        for name in ("qpos", "qvel", "act", "userdata", "mocap_pos", "qacc_warmstart"):
            getattr(d, name)[:] = getattr(env.sim.d, name)[2].reshape(getattr(d, name).shape)
        action = rng.uniform(-0.5, 0.5, env.action_space.shape).astype(np.float32)
        _, reward, terminated, _, info = env.step(action)
        d.ctrl[:] = env.sim.d.ctrl[2] if not terminated[2] else d.ctrl
        assert not terminated[2]
        mujoco.mj_step(m, d, env.decimation)
        mujoco.mj_kinematics(m, d)
        expected = env.task.observe(mirror)[0]
        np.testing.assert_allclose(info["final_obs"][2], expected, atol=5e-4, rtol=5e-4)
        np.testing.assert_allclose(reward[2], env.task.reward(mirror, action[2:3])[0], atol=5e-4, rtol=5e-4)
        moved += np.abs(d.qvel).max()
    assert moved > 0.1


def test_random_actions_do_no_harm(env):
    rng = np.random.default_rng(1)
    env.reset(seed=1)
    ended = 0
    for _ in range(60):
        observed, reward, terminated, _, info = env.step(rng.uniform(-1, 1, env.action_space.shape))
        assert np.isfinite(observed).all() and np.isfinite(reward).all() and not info["failed"].any()
        ended += terminated.sum()
    if type(env.task).__name__ in ("Hopper", "Humanoid"):
        assert ended > 0  # nobody walks by chance


def test_torch_sees_the_same(env):
    name = type(env.task).__name__
    other = make(name, 6, backend="torch", seed=0)
    rng = np.random.default_rng(2)
    np.testing.assert_allclose(other.reset(seed=2)[0].numpy(), env.reset(seed=2)[0], atol=1e-6)
    for _ in range(3):
        action = rng.uniform(-0.3, 0.3, env.action_space.shape).astype(np.float32)
        theirs, ours = other.step(torch.as_tensor(action)), env.step(action)
        np.testing.assert_allclose(theirs[0].numpy(), ours[0], atol=1e-4)
        np.testing.assert_allclose(theirs[1].numpy(), ours[1], atol=1e-4)


def test_the_quadruped_stands():
    env = make("Quadruped", 2, seed=0)
    env.reset()
    for _ in range(60):
        *_, terminated, _, _ = env.step(np.zeros((2, 12)))
        assert not terminated.any()
    assert np.all(env.sim.d.qpos[:, 2] > 0.24)


def test_the_reacher_is_rewarded_for_reaching():
    env = make("Reacher", 3, seed=0)
    env.reset()
    tip = env.sim.d.site_xpos[:, env.task.tip]
    far = env.task.reward(env.worlds, np.zeros((3, 2)))
    env.sim.set_state(mocap_pos=tip[:, None])
    near = env.task.reward(env.worlds, np.zeros((3, 2)))
    np.testing.assert_allclose(near, 1, atol=1e-5)
    assert np.all(far < 1)


@pytest.mark.parametrize("xp", [np, torch])
def test_attitude(xp):
    rng = np.random.default_rng(0)
    quat = rng.normal(size=(5, 4))
    quat /= np.linalg.norm(quat, axis=1, keepdims=True)
    vector = rng.normal(size=(5, 3))
    matrices = np.zeros((5, 9))
    for matrix, q in zip(matrices, quat, strict=True):
        mujoco.mju_quat2Mat(matrix, q)
    matrices = matrices.reshape(5, 3, 3)
    asarray = np.asarray if xp is np else torch.as_tensor
    found = np.asarray(to_body(xp, asarray(quat), asarray(vector)))
    np.testing.assert_allclose(found, np.einsum("nji,nj->ni", matrices, vector), atol=1e-12)
    np.testing.assert_allclose(np.asarray(up_in_body(xp, asarray(quat))), matrices[:, 2], atol=1e-12)
