"""Adapters: each library's own interface over the same environment; where a library is absent, what to install."""

import subprocess
import sys

import numpy as np
import pytest

from kinema.envs import adapters, make
from kinema.errors import BuildError, MissingExtra

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_stable_baselines(backend):
    pytest.importorskip("stable_baselines3")
    env = adapters.StableBaselinesEnv(make("CartPole", 3, backend=backend, max_episode_steps=4))
    plain = make("CartPole", 3, max_episode_steps=4)
    env.seed(7)
    np.testing.assert_array_equal(env.reset(), plain.reset(seed=7)[0])
    for k in range(4):
        actions = np.full((3, 1), 0.1 * k, dtype=np.float32)
        observed, reward, done, infos = env.step(actions)
        expected, gained, _, truncated, told = plain.step(actions)
        assert isinstance(observed, np.ndarray) and isinstance(reward, np.ndarray)
        np.testing.assert_array_equal(observed, expected)
        np.testing.assert_allclose(reward, gained, rtol=1e-6)
        np.testing.assert_array_equal(done, truncated)
    for world, info in enumerate(infos):
        assert info["TimeLimit.truncated"] is True and info["episode"]["l"] == 4
        np.testing.assert_array_equal(info["terminal_observation"], told["final_obs"][world])
    assert env.get_attr("max_episode_steps") == [4] * 3 and env.get_attr("decimation", [0, 2]) == [2, 2]
    assert env.env_is_wrapped(object) == [True] * 3 and env.has_attr("sim") and not env.has_attr("simm")
    env.close()


def test_stable_baselines_trains():
    sb3 = pytest.importorskip("stable_baselines3")
    env = adapters.StableBaselinesEnv(make("CartPole", 8, max_episode_steps=50))
    learner = sb3.PPO("MlpPolicy", env, n_steps=32, batch_size=64, n_epochs=1, seed=0, device="cpu")
    learner.learn(512)
    assert learner.num_timesteps == 512 and len(learner.ep_info_buffer) > 0


def test_rsl_rl():
    pytest.importorskip("tensordict")
    env = adapters.RslRlEnv(make("CartPole", 3, backend="torch", max_episode_steps=4, seed=1))
    assert (env.num_envs, env.num_actions, env.max_episode_length) == (3, 1, 4) and env.cfg["task"] == "CartPole"
    assert env.get_observations()["policy"].shape == (3, 4) and env.get_observations().batch_size == torch.Size([3])
    env.episode_length_buf = torch.tensor([3, 0, 1])
    observed, reward, dones, extras = env.step(torch.zeros(3, 1))
    assert dones.tolist() == extras["time_outs"].tolist() == [True, False, False]
    assert env.episode_length_buf.tolist() == [0, 1, 2] and reward.shape == (3,)
    assert torch.equal(observed["policy"], env.get_observations()["policy"])


def test_rsl_rl_trains():
    runners = pytest.importorskip("rsl_rl.runners")
    env = adapters.RslRlEnv(make("CartPole", 8, backend="torch"))
    model = {"class_name": "MLPModel", "hidden_dims": [16], "activation": "elu"}
    noise = {"class_name": "GaussianDistribution", "init_std": 1.0}
    config = {
        "num_steps_per_env": 8, "save_interval": 100, "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "actor": model | {"distribution_cfg": noise}, "critic": dict(model),
        "algorithm": {"class_name": "PPO", "num_learning_epochs": 1, "num_mini_batches": 1},
    }  # fmt: skip
    runner = runners.OnPolicyRunner(env, config, device="cpu")
    runner.learn(2, init_at_random_ep_len=True)
    assert env.unwrapped.sim.d.time.max() > 0 and np.isfinite(env.unwrapped.sim.d.qpos).all()


def test_skrl():
    pytest.importorskip("skrl")
    env = adapters.SkrlEnv(make("CartPole", 3, backend="torch", max_episode_steps=4, seed=1))
    observed, _ = env.reset()
    assert env.observation_space.shape == (4,) and env.action_space.shape == (1,) and env.num_envs == 3
    for _ in range(4):
        after, reward, terminated, truncated, _ = env.step(torch.zeros(3, 1))
    assert reward.shape == terminated.shape == truncated.shape == (3, 1) and truncated.all() and not terminated.any()
    assert env.reset()[0] is after and env.state() is None and env.num_agents == 1
    assert env.device == torch.device("cpu")


def test_skrl_and_rsl_rl_want_torch():
    pytest.importorskip("tensordict")
    with pytest.raises(BuildError, match='backend="torch"'):
        adapters.RslRlEnv(make("CartPole"))


USES = {
    "gymnasium": ("import kinema.envs", "kinema[rl]"),
    "torch": ("import kinema.envs as e; e.make('CartPole', backend='torch')", "kinema[torch]"),
    "stable_baselines3": ("from kinema.envs.adapters import StableBaselinesEnv", "kinema[sb3]"),
    "skrl": ("from kinema.envs.adapters import SkrlEnv", "kinema[skrl]"),
    "ray": ("import kinema.cluster as c; c.RayExecutor(2)", "kinema[cluster]"),
}
"""Packages, what fails without them, and what is advised then."""


def test_what_to_install():
    code = """
import sys, kinema.errors
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == absent:
            raise ModuleNotFoundError(name, name=absent)
sys.meta_path.insert(0, Absent())
for absent, (use, advice) in USES.items():
    for name in [name for name in sys.modules if name.split(".")[0] == absent]:
        del sys.modules[name]
    try:
        exec(use)
    except kinema.errors.MissingExtra as error:
        assert advice in str(error), error
        print(absent)
"""
    code = f"USES = {USES!r}\n{code}"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert [line for line in told.splitlines() if line in USES] == list(USES)


def test_kinema_itself_imports_none_of_them():
    code = "import kinema, sys; print([m for m in ('gymnasium', 'torch', 'ray', 'tensordict') if m in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.strip() == "[]"
    assert issubclass(MissingExtra, ImportError)
