"""Gymnasium's MuJoCo tasks: its own environments are the oracle, action by action, in several worlds at once."""

import gymnasium
import numpy as np
import pytest

from kinema.envs import make

NAMES = ("Hopper", "HalfCheetah", "Walker2d", "Ant", "Humanoid")
STEPS, WORLDS = 200, 2
DERIVED = ("xpos", "xipos", "subtree_com")  # as the last time step left them: the reward's "before"


@pytest.fixture(scope="module", params=NAMES)
def pair(request):
    """Theirs, one a world, and ours."""
    theirs = [gymnasium.make(f"{request.param}-v5").unwrapped for _ in range(WORLDS)]
    return theirs, make(f"{request.param}-v5", WORLDS, autoreset_mode="Disabled", max_episode_steps=10**6)


def follow(env, theirs):
    """Put our worlds where theirs are, in the middle of an episode."""
    for name in ("qpos", "qvel", "qacc_warmstart"):
        env.sim.engine.write(name, np.stack([np.array(getattr(one.data, name)) for one in theirs]))
    for name in DERIVED:
        env.sim.engine.write(name, np.stack([np.array(getattr(one.data, name)) for one in theirs]))


def sizes(theirs):
    """Where each part of an observation begins and ends."""
    structure = dict(theirs.observation_structure)
    structure.pop("skipped_qpos")
    ends = np.cumsum(list(structure.values()))
    return {name: slice(end - n, end) for (name, n), end in zip(structure.items(), ends, strict=True) if n}


def test_spaces_are_theirs(pair):
    theirs, env = pair
    assert env.single_observation_space.shape == theirs[0].observation_space.shape
    np.testing.assert_array_equal(env.single_action_space.low, theirs[0].action_space.low)
    np.testing.assert_array_equal(env.single_action_space.high, theirs[0].action_space.high)
    assert env.metadata["render_fps"] == theirs[0].metadata["render_fps"]


def test_a_start_is_observed_as_theirs(pair):
    theirs, env = pair
    observed, _ = env.reset(seed=3)
    for world, one in enumerate(theirs):
        one.reset(seed=0)
        one.set_state(env.sim.d.qpos[world].astype(float), env.sim.d.qvel[world].astype(float))
        np.testing.assert_allclose(observed[world], one._get_obs(), atol=2e-5, rtol=1e-5)
        noise = env.task.reset_noise_scale
        assert 0 < np.abs(env.sim.d.qpos[world] - one.init_qpos).max() <= noise * 1.0001


def test_each_action_gives_their_observation_and_reward(pair):
    """200 random actions, each from their state. Positions and velocities within float32; forces of impacts too, but
    for the few steps in which a contact is won or lost one time step earlier in float32."""
    theirs, env = pair
    rng = np.random.default_rng(1)
    env.reset(seed=0)
    for world, one in enumerate(theirs):
        one.reset(seed=world)
    parts, off, steps = sizes(theirs[0]), {}, 0
    for _ in range(STEPS):
        follow(env, theirs)
        env._episodes.over[...] = 0
        action = rng.uniform(env.action_space.low, env.action_space.high).astype(np.float32)
        observed, reward, terminated, _, info = env.step(action)
        for world, one in enumerate(theirs):
            expected, earned, ended, _, told = one.step(action[world].astype(float))
            steps += 1
            for name, part in parts.items():
                wanted = expected[part]
                error = np.abs(observed[world][part] - wanted).max() / max(1.0, np.abs(wanted).max())
                off.setdefault(name, []).append(error)
            off.setdefault("reward", []).append(abs(reward[world] - earned) / max(1.0, abs(earned)))
            assert bool(terminated[world]) == bool(ended)
            for name in ("reward_forward", "reward_ctrl", "x_velocity", "x_position"):
                np.testing.assert_allclose(info[name][world], told[name], atol=2e-3, rtol=1e-3, err_msg=name)
            if ended:
                one.reset(seed=steps)
    for name, errors in off.items():
        errors = np.array(errors)
        within = np.mean(errors < 1e-3)
        assert np.median(errors) < 1e-4, f"{name}: median {np.median(errors):.1e}"
        assert within > 0.97, f"{name}: {100 * within:.1f} % within 1e-3, largest {errors.max():.1e}"


def test_free_rollouts_agree_until_contacts_part_them(pair):
    theirs, env = pair
    one, rng = theirs[0], np.random.default_rng(2)
    env.reset(seed=0)
    one.reset(seed=5)
    follow(env, [one] * WORLDS)
    agreed = 0
    for _ in range(50):
        env._episodes.over[...] = 0
        action = rng.uniform(env.action_space.low, env.action_space.high).astype(np.float32)
        action[1:] = action[0]
        observed = env.step(action)[0]
        wanted = one.step(action[0].astype(float))[0]
        part = slice(0, one.model.nq + one.model.nv - env.task.skipped)
        if np.abs(observed[0][part] - wanted[part]).max() > 1e-2 * max(1.0, np.abs(wanted[part]).max()):
            break
        np.testing.assert_array_equal(observed[0], observed[1])
        agreed += 1
    assert agreed >= 10, agreed


def test_their_arguments_are_taken():
    options = {"ctrl_cost_weight": 0.3, "forward_reward_weight": 2.0}
    options["exclude_current_positions_from_observation"] = False
    theirs = gymnasium.make("Hopper-v5", healthy_z_range=(0.5, 2.0), **options).unwrapped
    env = make("kinema/Hopper-v5", 1, healthy_z_range=(0.5, 2.0), **options)
    env.reset(seed=0)
    theirs.reset(seed=0)
    follow(env, [theirs])
    action = np.array([[0.3, -0.2, 0.8]], np.float32)
    observed, reward, *_ = env.step(action)
    expected, earned, *_ = theirs.step(action[0].astype(float))
    np.testing.assert_allclose(observed[0], expected, atol=1e-4)
    np.testing.assert_allclose(reward[0], earned, atol=1e-4)


def test_they_are_known_by_name():
    known = {f"kinema/{name}-v5" for name in NAMES}
    assert known <= set(gymnasium.registry)
    assert type(make("Ant", 1).task).__name__ == "Ant"
