"""Gymnasium's three autoreset modes, with its SyncVectorEnv of our single worlds as the oracle; and single worlds."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import kinema.envs
from kinema.envs import make
from kinema.envs.single_env import SingleEnv
from kinema.errors import BuildError, WrongMoment

torch = pytest.importorskip("torch")
WORLDS, LONGEST = 3, 4


def singles(mode):
    """Our single worlds, run by Gymnasium one after the other; each is the world of the same index in ours."""
    parts = [lambda k=k: SingleEnv(make("CartPole", 1, autoreset_mode="Disabled", statistics=False, first_world=k,
                                        max_episode_steps=LONGEST + k)) for k in range(WORLDS)]  # fmt: skip
    return gymnasium.vector.SyncVectorEnv(parts, autoreset_mode=mode)


def ours(mode, **options):
    env = make("CartPole", WORLDS, autoreset_mode=mode, **options)
    return env


@pytest.mark.parametrize("backend", ["numpy", "torch"])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_modes_do_what_gymnasium_does(mode, backend):
    theirs, env = singles(mode), ours(mode, backend=backend, max_episode_steps=LONGEST, statistics=False)
    for single in theirs.envs:
        single.env.max_episode_steps = LONGEST
    assert env.metadata["autoreset_mode"] is mode
    a, _ = env.reset(seed=4)
    b, _ = theirs.reset(seed=[4] * WORLDS)
    np.testing.assert_array_equal(np.asarray(a), b)
    rng = np.random.default_rng(0)
    for k in range(15):
        if k == 2:  # one falls, at another time than the clock
            env.sim.set_state(worlds=[1], qpos=[0.0, 0.4], qvel=[0.0, 0.0])
            theirs.envs[1].sim.set_state(qpos=[0.0, 0.4], qvel=[0.0, 0.0])
        action = rng.uniform(-1, 1, (WORLDS, 1)).astype(np.float32)
        found, expected = env.step(action), theirs.step(action)
        for one, two in zip(found[:4], expected[:4], strict=True):
            np.testing.assert_allclose(np.asarray(one), two, rtol=1e-6, atol=1e-7)
        assert ("final_obs" in found[4]) == (mode is AutoresetMode.SAME_STEP)
        over = expected[2] | expected[3]
        if mode is AutoresetMode.SAME_STEP:
            np.testing.assert_array_equal(np.asarray(found[4]["_final_obs"]), over)
            for world in np.flatnonzero(over):
                last = expected[4]["final_obs"][world]
                np.testing.assert_allclose(np.asarray(found[4]["final_obs"])[world], last, rtol=1e-6)
        if mode is AutoresetMode.DISABLED and over.any():
            with pytest.raises(WrongMoment, match="reset_mask"):
                env.step(action)
            one, _ = env.reset(options={"reset_mask": over.copy()})
            two, _ = theirs.reset(options={"reset_mask": over.copy()})
            np.testing.assert_allclose(np.asarray(one), two, rtol=1e-6)


def test_the_step_that_begins_an_episode_counts_for_nothing():
    env = ours("NextStep", max_episode_steps=2)
    env.reset(seed=0)
    env.step(np.ones((WORLDS, 1)))
    _, _, _, truncated, info = env.step(np.ones((WORLDS, 1)))
    assert truncated.all() and info["episode"]["l"].tolist() == [2] * WORLDS
    observed, reward, terminated, truncated, info = env.step(np.ones((WORLDS, 1)))
    assert not reward.any() and not terminated.any() and not truncated.any() and not info["_episode"].any()
    assert env.episode_length.tolist() == [0] * WORLDS and not env.episode_return.any()
    np.testing.assert_array_equal(observed[:, :2], env.worlds.qpos)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_statistics_under_gymnasium_s_wrapper(mode):
    env = gymnasium.make_vec("kinema/CartPole-v0", num_envs=WORLDS, autoreset_mode=mode, max_episode_steps=3)
    env = gymnasium.wrappers.vector.RecordEpisodeStatistics(env)
    env.reset(seed=0)
    for _ in range(9):
        *_, terminated, truncated, info = env.step(env.action_space.sample())
        if mode == "Disabled" and (terminated | truncated).any():
            env.reset(options={"reset_mask": terminated | truncated})
    assert env.episode_count == WORLDS * (2 if mode == "NextStep" else 3)
    assert set(env.length_queue) == {3}


def test_observations_are_normalised_by_gymnasium_s_wrapper():
    env = gymnasium.make_vec("kinema/CartPole-v0", num_envs=8, autoreset_mode="NextStep")
    env = gymnasium.wrappers.vector.NormalizeObservation(env)
    env.reset(seed=0)
    seen = np.concatenate([env.step(env.action_space.sample())[0] for _ in range(60)])
    assert seen.dtype == np.float32 and np.all(np.abs(seen.mean(0)) < 1.0) and np.all(np.abs(seen.std(0) - 1) < 0.6)


def test_modes_go_by_value_name_and_gymnasium_s_own():
    for given in (AutoresetMode.NEXT_STEP, "NextStep", "NEXT_STEP"):
        assert ours(given).metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    with pytest.raises(BuildError, match="did you mean 'NextStep'"):
        ours("NextStpe")


# ------------------------------------------------------------------------------------------ one world


def test_gymnasium_makes_single_worlds():
    env = gymnasium.make("kinema/CartPole-v0", max_episode_steps=5)
    observed, info = env.reset(seed=3)
    assert observed.shape == (4,) and observed.dtype == np.float32 and env.observation_space.contains(observed)
    np.testing.assert_array_equal(observed, make("CartPole", 1).reset(seed=3)[0][0])
    for k in range(5):
        observed, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert type(reward) is float and type(terminated) is bool and truncated == (k == 4)
        assert info["failed"].dtype == bool
    assert isinstance(env.unwrapped, SingleEnv) and env.unwrapped.sim.worlds == 1


@pytest.mark.filterwarnings("ignore:.*Box observation space.*")
@pytest.mark.parametrize("name", ["CartPole-v0", "Hopper-v5"])
def test_gymnasium_s_checker_passes(name):
    check_env(gymnasium.make(f"kinema/{name}").unwrapped)


def test_a_single_world_draws_itself():
    env = gymnasium.make("kinema/CartPole-v0", render_mode="rgb_array", width=40, height=30)
    env.reset(seed=0)
    assert env.render().shape == (30, 40, 3)


def test_a_single_world_is_one_of_numpy():
    with pytest.raises(BuildError, match="2 worlds"):
        SingleEnv(make("CartPole", 2))


# ------------------------------------------------------------------------------------------ pictures as observations


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_a_task_of_pictures(backend):
    env = make("CartPolePixels", 3, backend=backend, pixels=(24, 16), max_episode_steps=3)
    assert env.single_observation_space.shape == (16, 24, 3) and env.single_observation_space.dtype == np.uint8
    first, _ = env.reset(seed=0)
    env.sim.set_state(worlds=[2], qpos=[1.0, 0.3], qvel=[0.0, 0.0])
    observed, reward, terminated, truncated, info = env.step(np.zeros((3, 1)))
    observed = np.asarray(observed)
    assert observed.dtype == np.uint8 and observed.shape == (3, 16, 24, 3)
    assert observed[0].std() > 5 and np.any(observed[0] != observed[2])
    expected = env.sim.render("side", 24, 16, shadows=False, reflections=False, antialias=False)
    np.testing.assert_array_equal(observed, expected)
    kept = observed.copy()
    for _ in range(2):
        last = env.step(np.ones((3, 1)))
    np.testing.assert_array_equal(observed, kept)  # later steps do not write into it
    assert np.asarray(last[3]).all() and np.any(np.asarray(last[4]["final_obs"]) != np.asarray(last[0]))


def test_every_task_is_registered():
    assert {"CartPole", "CartPolePixels", "Ant-v5", "Humanoid-v5"} <= set(kinema.envs.TASKS)
