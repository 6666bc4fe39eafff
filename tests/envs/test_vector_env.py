"""VectorEnv on the cart and pole: physics against MuJoCo, resets and infos as Gymnasium has them, seeds."""

import gymnasium
import mujoco
import numpy as np
import pytest
import warp as wp

import kinema.envs
from kinema.draws import Draws
from kinema.envs import Task, VectorEnv, make
from kinema.envs.task import model_path
from kinema.envs.tasks import CartPole
from kinema.errors import BuildError, UnknownKey
from kinema.simulation.recompute import DERIVED, INDEPENDENT

torch = pytest.importorskip("torch")
BACKENDS = ("numpy", "torch")


def host(values):
    return values.numpy() if hasattr(values, "numpy") else values


def play(env, steps=40, seed=0, rng_seed=1):
    """Everything an environment returns over some random actions."""
    rng = np.random.default_rng(rng_seed)
    seen = [host(env.reset(seed=seed)[0])]
    flags = []
    for _ in range(steps):
        actions = rng.uniform(-1, 1, (64, 1))[: env.num_envs].astype(np.float32)
        observed, reward, terminated, truncated, info = env.step(actions)
        seen.append(host(observed))
        flags.append([host(reward), host(terminated), host(truncated), host(info["final_obs"]).sum(-1)])
    return np.stack(seen), np.array(flags, dtype=np.float32)


def test_gymnasium_knows_the_tasks():
    env = gymnasium.make_vec("kinema/CartPole-v0", num_envs=3)
    assert isinstance(env, gymnasium.vector.VectorEnv) and env.spec.id == "kinema/CartPole-v0"
    assert env.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.SAME_STEP
    assert env.observation_space.shape == (3, 4) and env.single_action_space.shape == (1,)
    observed, info = env.reset(seed=0)
    assert env.observation_space.contains(observed) and info == {}
    observed, reward, terminated, truncated, info = env.step(env.action_space.sample())
    assert env.observation_space.contains(observed)
    assert reward.shape == terminated.shape == truncated.shape == (3,)
    assert reward.dtype == np.float32 and terminated.dtype == truncated.dtype == bool
    names = {f"kinema/{name}" if "-v" in name else f"kinema/{name}-v0" for name in kinema.envs.TASKS}
    assert names <= set(gymnasium.registry) and "kinema/Ant-v5" in names


def test_gymnasium_can_write_the_environment_down():
    env = gymnasium.make_vec("kinema.envs:kinema/CartPole-v0", num_envs=2, decimation=3)
    again = gymnasium.make_vec(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert again.num_envs == 2 and again.decimation == 3


def test_a_task_of_one_s_own_can_be_registered(monkeypatch):
    monkeypatch.setattr(kinema.envs.registry, "TASKS", dict(kinema.envs.TASKS))
    assert kinema.envs.register(Spin) is Spin
    env = gymnasium.make_vec("kinema/Spin-v0", num_envs=2)
    assert isinstance(env.task, Spin) and env.num_envs == 2


def test_gymnasium_wrappers_fit():
    env = make("CartPole", 4, statistics=False, max_episode_steps=5)
    env = gymnasium.wrappers.vector.RecordEpisodeStatistics(env)
    ours = make("CartPole", 4, max_episode_steps=5)
    env.reset(seed=0), ours.reset(seed=0)
    for _ in range(12):
        theirs, mine = env.step(np.zeros((4, 1)))[-1], ours.step(np.zeros((4, 1)))[-1]
        if "episode" in theirs:
            np.testing.assert_array_equal(theirs["_episode"], mine["_episode"])
            np.testing.assert_array_equal(theirs["episode"]["l"], mine["episode"]["l"])
            np.testing.assert_allclose(theirs["episode"]["r"], mine["episode"]["r"], rtol=1e-6)
    assert env.episode_count == 8


def test_a_world_does_what_mujoco_does():
    env = make("CartPole", 3)
    m = mujoco.MjModel.from_xml_path(str(model_path("cartpole")))
    d = mujoco.MjData(m)
    observed, _ = env.reset(seed=5)
    d.qpos[:], d.qvel[:] = observed[2, :2], observed[2, 2:]
    for k in range(15):
        action = np.float32(np.sin(k))
        observed, reward, terminated, *_ = env.step(np.full((3, 1), action))
        assert not terminated[2]
        d.ctrl[0] = action
        mujoco.mj_step(m, d, 2)
        np.testing.assert_allclose(observed[2], np.r_[d.qpos, d.qvel], atol=2e-5)
        expected = 1 - 0.5 * (d.qpos[1] / 0.35) ** 2 - 0.1 * (d.qpos[0] / 2.4) ** 2 - 0.01 * action**2
        np.testing.assert_allclose(reward[2], expected, atol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_episode_that_is_cut_off_starts_anew_in_the_same_step(backend):
    env = make("CartPole", 4, backend=backend, max_episode_steps=3)
    first, _ = env.reset(seed=0)
    total = 0
    for k in range(3):
        observed, reward, terminated, truncated, info = env.step(np.zeros((4, 1)))
        total = total + reward
        assert not terminated.any() and bool(truncated.all()) == (k == 2)
    assert info["_final_obs"].all() and info["_episode"].all()
    assert host(info["episode"]["l"]).tolist() == [3] * 4
    np.testing.assert_allclose(host(info["episode"]["r"]), host(total), rtol=1e-6)
    np.testing.assert_array_equal(host(observed[:, :2]), host(env.worlds.qpos))  # the new episode's
    assert np.all(np.abs(host(observed)) <= 0.1) and not np.any(host(observed) == host(first))
    assert not np.any(host(info["final_obs"]) == host(observed))
    assert host(env.worlds.time).tolist() == [0.0] * 4
    _, _, _, truncated, info = env.step(np.zeros((4, 1)))
    assert not truncated.any() and not info["_final_obs"].any() and not info["episode"]["l"].any()


@pytest.mark.parametrize("backend", BACKENDS)
def test_only_worlds_that_fell_start_anew(backend):
    env = make("CartPole", 3, backend=backend)
    env.reset(seed=0)
    env.sim.set_state(worlds=[1], qpos=[0.0, 0.4], qvel=[0.0, 0.0])
    before = host(env.worlds.qpos).copy()
    observed, _, terminated, truncated, info = env.step(np.zeros((3, 1)))
    assert host(terminated).tolist() == [False, True, False] and not truncated.any()
    assert abs(host(info["final_obs"])[1, 1]) > 0.4 and abs(host(observed)[1, 1]) <= 0.1
    np.testing.assert_allclose(host(observed)[[0, 2], :2], before[[0, 2]], atol=0.01)
    np.testing.assert_array_equal(host(info["final_obs"])[[0, 2]], host(observed)[[0, 2]])
    assert host(env.episode_length).tolist() == [1, 0, 1]


def test_a_seed_fixes_everything():
    env = make("CartPole", 6, max_episode_steps=15)
    one, two, other = play(env, seed=3), play(env, seed=3), play(env, seed=4)
    again = play(make("CartPole", 6, max_episode_steps=15, seed=99), seed=3)
    for a, b, c in zip(one, two, again, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)
    assert not np.any(one[0] == other[0])


@pytest.mark.parametrize("seed", [1.5, [1, 2], "3", True])
def test_a_seed_is_one_whole_number(seed):
    env = make("CartPole", 2)
    with pytest.raises(BuildError, match="seed=.*whole number"):
        env.reset(seed=seed)
    assert env.reset(seed=np.int64(3))[0].shape == (2, 4)


def test_an_unknown_option_is_refused():
    env = make("CartPole", 2)
    before = env.reset(seed=1)[0]
    with pytest.raises(BuildError, match="reset_maks.*did you mean 'reset_mask'"):
        env.reset(options={"reset_maks": [True, False]})
    assert before.shape == env.reset(options={})[0].shape


def test_a_seed_may_be_given_to_the_constructor():
    one, two = make("CartPole", 2, seed=8), make("CartPole", 2)
    np.testing.assert_array_equal(one.reset()[0], two.reset(seed=8)[0])
    following = one.reset()[0]
    assert not np.any(following == two.reset(seed=8)[0])  # the next episodes
    np.testing.assert_array_equal(following, two.reset()[0])


def test_gymnasium_s_own_generator_is_seeded_and_does_not_interfere():
    env = make("CartPole", 2)
    first = env.reset(seed=3)[0]
    drawn = env.np_random.random()
    assert env.np_random_seed == 3 and drawn == np.random.default_rng(3).random()
    env.np_random.random()
    np.testing.assert_array_equal(env.reset(seed=3)[0], first)
    assert make("CartPole", 2).np_random_seed != make("CartPole", 2).np_random_seed


def test_torch_and_numpy_agree():
    one = play(make("CartPole", 6, max_episode_steps=15))
    two = play(make("CartPole", 6, max_episode_steps=15, backend="torch"))
    np.testing.assert_array_equal(one[0], two[0])  # uniform draws are the same bits, and so is the physics
    np.testing.assert_allclose(one[1], two[1], rtol=1e-6)


def test_neighbours_do_not_matter():
    many, few = play(make("CartPole", 9, max_episode_steps=15)), play(make("CartPole", 2, max_episode_steps=15))
    np.testing.assert_array_equal(many[0][:, :2], few[0])
    late = make("CartPole", 2, first_world=7)
    np.testing.assert_array_equal(late.reset(seed=0)[0], many[0][0, 7:])


def test_pictures():
    env = make("CartPole", 2, render_mode="rgb_array", camera="side", width=40, height=30, seed=0)
    env.reset()
    env.sim.set_state(worlds=[1], qpos=[1.0, 0.0])
    pictures = env.render()
    assert len(pictures) == 2 and all(p.shape == (30, 40, 3) and p.dtype == np.uint8 for p in pictures)
    assert pictures[0].std() > 5 and np.any(pictures[0] != pictures[1])
    assert make("CartPole").render() is None


def test_some_worlds_can_be_reset():
    env = make("CartPole", 3)
    env.reset(seed=0)
    observed, *_ = env.step(np.ones((3, 1)))
    after, _ = env.reset(options={"reset_mask": np.array([False, True, False])})
    np.testing.assert_array_equal(after[[0, 2]], observed[[0, 2]])
    assert not np.any(after[1] == observed[1]) and env.episode_length.tolist() == [1, 0, 1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_arrays_have_mujoco_s_shapes(backend):
    worlds = make("Reacher", 3, backend=backend).worlds
    expected = {"qpos": (2,), "xpos": (4, 3), "xmat": (4, 9), "site_xpos": (2, 3), "mocap_quat": (1, 4)}
    for name, shape in expected.items():
        assert tuple(getattr(worlds, name).shape) == (3, *shape)
        assert getattr(worlds, name) is getattr(worlds, name)
    np.testing.assert_allclose(host(worlds.xmat)[:, 0], np.tile(np.eye(3).ravel(), (3, 1)))


def test_torch_arrays_are_the_engine_s_own():
    env = make("CartPole", 4, backend="torch")
    assert env.worlds.qpos.data_ptr() == env.sim.array("qpos").ptr
    observed, _ = env.reset(seed=0)
    kept = observed.clone()
    actions = torch.zeros(4, 1, requires_grad=True)
    after, *_ = env.step(actions)
    assert torch.equal(observed, kept) and not torch.equal(after, kept)  # what was returned is not overwritten
    assert after.dtype == torch.float32 and not after.requires_grad


@pytest.mark.parametrize("backend", BACKENDS)
def test_worlds_that_lie_interleaved_as_on_a_gpu(backend, monkeypatch):
    """Only what needs no physics: the CPU's kernels want a world's numbers side by side."""

    def interleaved(shape, dtype, device, *, rows=False):
        array = wp.zeros((*shape[1:], shape[0]), dtype=dtype, device=device)
        return array.transpose((len(shape) - 1, *range(len(shape) - 1)))

    expected = make("CartPole", 5, seed=0).reset()[0]
    monkeypatch.setattr("kinema.convex.layout.empty_worlds", interleaved)
    env = make("CartPole", 5, seed=0, backend=backend)
    assert not env.sim.array("qpos").is_contiguous
    np.testing.assert_array_equal(host(env.reset()[0]), expected)
    mask = env.worlds.array([False, True, False, True, False], "bool")
    env.worlds.write({"qpos": [7.0, 8.0], "time": 3.0}, mask)
    expected[[1, 3], :2] = [7.0, 8.0]
    np.testing.assert_array_equal(host(env.worlds.qpos), expected[:, :2])
    np.testing.assert_array_equal(env.sim.d.time, [0, 3, 0, 3, 0])


def test_inference_mode_leaves_nothing_behind():
    env = make("CartPole", 4, backend="torch")
    with torch.inference_mode():
        env.reset(seed=0)
        env.step(torch.zeros(4, 1))
    after, *_ = env.step(torch.zeros(4, 1))
    again, _ = env.reset(seed=1)
    assert not after.is_inference() and not again.is_inference()
    np.testing.assert_array_equal(host(again), host(make("CartPole", 4, backend="torch").reset(seed=1)[0]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_world_gone_bad_ends_its_episode(backend):
    env = make("CartPole", 3, backend=backend)
    env.reset(seed=0)
    env.sim.set_state(worlds=[2], qvel=[np.nan, 0.0])
    observed, reward, terminated, _, info = env.step(np.zeros((3, 1)))
    assert host(info["failed"]).tolist() == host(terminated).tolist() == [False, False, True]
    assert np.isfinite(host(observed)).all() and np.isfinite(host(info["final_obs"])).all() and reward[2] == 0
    _, _, terminated, _, info = env.step(np.zeros((3, 1)))
    assert not terminated.any() and not info["failed"].any()


# ------------------------------------------------------------------------------------------ parameters per world


def test_parameters_differ_from_world_to_world():
    ranges = {"body_mass": (0.5, 2.0), "dof_damping": (0.0, 1.0)}
    env = make("CartPole", 4, ranges=ranges, seed=0)
    mass = env.sim.m.body_mass
    assert mass.shape == (4, 3) and len(np.unique(mass[:, 1])) == 4
    assert np.all(mass[:, 1] >= 0.5) and np.all(mass[:, 1] <= 2.0) and np.all(mass[:, 0] == 0)
    m = mujoco.MjModel.from_xml_path(str(model_path("cartpole")))
    for world in range(4):
        m.body_mass[:], m.dof_damping[:] = mass[world], env.sim.m.dof_damping[world]
        mujoco.mj_setConst(m, mujoco.MjData(m))
        np.testing.assert_allclose(env.sim.m.dof_invweight0[world], m.dof_invweight0, rtol=1e-5)
    env.reset()
    np.testing.assert_array_equal(env.sim.m.body_mass, mass)  # new episodes, the same machines
    env.reset(seed=1)
    assert not np.any(env.sim.m.body_mass[:, 1:] == mass[:, 1:])
    env.reset(seed=0)
    np.testing.assert_array_equal(env.sim.m.body_mass, mass)


def test_parameters_change_the_motion_as_in_mujoco():
    env = make("CartPole", 2, ranges={"actuator_gear": (0.5, 2.0)}, seed=0)
    m = mujoco.MjModel.from_xml_path(str(model_path("cartpole")))
    m.actuator_gear[:] = env.sim.m.actuator_gear[1]
    d = mujoco.MjData(m)
    observed, _ = env.reset()
    d.qpos[:], d.qvel[:] = observed[1, :2], observed[1, 2:]
    d.ctrl[0] = 1
    for _ in range(5):
        observed, *_ = env.step(np.ones((2, 1)))
        mujoco.mj_step(m, d, 2)
    np.testing.assert_allclose(observed[1], np.r_[d.qpos, d.qvel], atol=2e-5)


def test_nothing_derives_from_parameters_that_are_not_recomputed():
    m = mujoco.MjModel.from_xml_path(str(model_path("quadruped")))

    def derived():
        mujoco.mj_setConst(m, mujoco.MjData(m))
        return {name: np.array(getattr(m, name)) for name in DERIVED if hasattr(m, name)}

    before = derived()
    assert len(before) > 10
    for name in INDEPENDENT:
        field = getattr(m if hasattr(m, name) else m.opt, name, None)
        if isinstance(field, np.ndarray) and field.size:
            field *= 1.3
        after = derived()
        for known, values in before.items():
            np.testing.assert_array_equal(after[known], values, err_msg=f"{known} depends on {name}")


# ------------------------------------------------------------------------------------------ tasks of one's own


class Spin(Task):
    """Turn as fast as possible: the fewest functions a task can have."""

    model = """<mujoco><worldbody><body><joint name="axle" axis="0 0 1"/><geom size="0.1"/></body></worldbody>
        <actuator><motor joint="axle" gear="0.1"/></actuator>
        <sensor><jointvel name="speed" joint="axle"/></sensor></mujoco>"""
    max_episode_steps = 10
    refresh = "forward"

    def observe(self, worlds):
        return worlds.sensordata

    def reward(self, worlds, action):
        return worlds.qvel[:, 0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_task_of_one_s_own(backend):
    env = VectorEnv(Spin(), 2, backend=backend)
    env.reset()
    for _ in range(9):
        observed, reward, *_ = env.step(np.full((2, 1), 0.5))
        np.testing.assert_array_equal(host(observed)[:, 0], host(reward))  # sensors are up to date
    assert reward.min() > 0
    observed, _, _, truncated, info = env.step(np.ones((2, 1)))
    assert truncated.all() and not observed.any() and info["final_obs"].all()


def test_forward_for_others_leaves_no_trace():
    def run(num_envs):
        env = VectorEnv(Spin(), num_envs)
        env.reset(seed=0)
        env.episode_length[1:] = 3  # neighbours end their episodes at other times
        return np.stack([env.step(np.full((num_envs, 1), 0.3))[0][0] for _ in range(25)])

    np.testing.assert_array_equal(run(1), run(3))


def test_decimation_and_clipping():
    slow, fast = make("CartPole", 1, decimation=1), make("CartPole", 1, decimation=4)
    slow.reset(seed=0), fast.reset(seed=0)
    for _ in range(4):
        one, *_ = slow.step(np.ones((1, 1)))
    two, *_ = fast.step(np.full((1, 1), 50.0))  # more than an actuator can take
    np.testing.assert_array_equal(one, two)
    assert fast.sim.d.ctrl[0, 0] == 1


class Misspelt(CartPole):
    def randomise(self, worlds, draws: Draws):
        return {"qpso": 0}


class Parametric(CartPole):
    def randomise(self, worlds, draws: Draws):
        return {"body_mass": draws.uniform(1, 2, 3)}


class Flat(CartPole):
    def observe(self, worlds):
        return worlds.qpos[:, 0]


class Lazy(CartPole):
    refresh = "motoin"


@pytest.mark.parametrize(
    ("made", "error", "text"),
    [
        (lambda: make("CartPol"), UnknownKey, "did you mean 'CartPole'"),
        (lambda: make("CartPole", backend="numby"), BuildError, "expected numpy or torch; did you mean 'numpy'"),
        (lambda: VectorEnv(Misspelt), BuildError, "did you mean 'qpos'"),
        (lambda: VectorEnv(Parametric), BuildError, r"drawn by vary\(\)"),
        (lambda: VectorEnv(Flat), BuildError, r"Flat.observe gave shape \(1,\): expected \(1, n\)"),
        (lambda: VectorEnv(Lazy), BuildError, "did you mean 'motion'"),
        (lambda: VectorEnv(Task), BuildError, "no model"),
        (lambda: make("CartPole", 2).step(np.zeros((3, 1))), BuildError, r"expected \(2, 1\)"),
        (lambda: make("CartPole", 2).reset(options={"reset_mask": [True]}), BuildError, r"expected \(2,\)"),
        (lambda: make("CartPole", ranges={"body_maas": (1, 2)}), UnknownKey, "did you mean 'body_mass'"),
        (lambda: make("CartPole", decimation=0), BuildError, "decimation=0"),
        (lambda: make("CartPole", render_mode="human"), BuildError, "rgb_array"),
        (lambda: make("CartPole").worlds.qvle, UnknownKey, "did you mean 'qvel'"),
    ],
)
def test_wrong_calls(made, error, text):
    with pytest.raises(error, match=text):
        made()
