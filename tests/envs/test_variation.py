"""Domain randomisation as data: what is drawn is in bounds, reproducible, and what the physics runs with."""

import mujoco
import numpy as np
import pytest

from kinema.envs import Variation, make
from kinema.envs.task import model_path
from kinema.errors import BuildError, UnknownKey

torch = pytest.importorskip("torch")


def cartpole(*ranges, worlds=64, **options):
    return make("CartPole", worlds, ranges=list(ranges), seed=0, max_episode_steps=4, **options)


def test_bounds_elements_and_columns():
    env = cartpole(
        Variation("body_mass", 0.5, 2.0, names="pole", distribution="log_uniform"),
        Variation("actuator_gear", 5.0, 6.0, column=0, operation="set"),
        Variation("dof_damping", 0.1, 0.3, operation="add", together=True, distribution="normal"),
    )
    m, nominal = env.sim.m, env.sim.model
    mass = m.body_mass / np.where(nominal.body_mass > 0, nominal.body_mass, 1)
    assert np.all(mass[:, 1] == 1) and mass[:, 2].min() > 0.5 and mass[:, 2].max() < 2.0
    assert abs(np.mean(mass[:, 2] < 1) - 0.5) < 0.2  # as often below 1 as above
    gear = m.actuator_gear
    assert np.all((gear[:, 0, 0] >= 5) & (gear[:, 0, 0] < 6)) and np.all(gear[:, 0, 1:] == nominal.actuator_gear[0, 1:])
    added = m.dof_damping - nominal.dof_damping
    np.testing.assert_allclose(added[:, 0], added[:, 1], atol=1e-6)
    assert added.min() >= 0.1 - 1e-6 and added.max() <= 0.3 + 1e-6 and len(np.unique(added[:, 0])) > 50


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_what_is_drawn_at_every_reset_changes_with_the_episode(backend):
    env = cartpole(Variation("dof_damping", 0.5, 2.0, when="reset"), worlds=6, backend=backend)
    nominal = np.asarray(env.sim.model.dof_damping)
    env.reset(seed=1)
    first = env.sim.m.dof_damping.copy()
    factor = first / nominal
    assert np.all((factor >= 0.5) & (factor <= 2.0)) and len(np.unique(factor)) == factor.size
    env.step(np.zeros((6, 1)))
    np.testing.assert_array_equal(env.sim.m.dof_damping, first)
    env.reset(options={"reset_mask": np.array([True] + 5 * [False])})
    second = env.sim.m.dof_damping
    assert np.all(second[0] != first[0])
    np.testing.assert_array_equal(second[1:], first[1:])
    for _ in range(4):
        env.step(np.zeros((6, 1)))
    assert np.all(env.sim.m.dof_damping[1:] != first[1:])  # cut off, and begun anew
    env.reset(seed=1)
    np.testing.assert_array_equal(env.sim.m.dof_damping, first)


def test_both_libraries_draw_the_same():
    ranges = [Variation("dof_damping", 0.5, 2.0, when="reset"), Variation("qvel", -1, 1, operation="add", when="reset")]
    found = []
    for backend in ("numpy", "torch"):
        env = cartpole(*ranges, worlds=5, backend=backend)
        observed, _ = env.reset(seed=3)
        found.append((np.asarray(observed), env.sim.m.dof_damping.copy()))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-6)


def test_the_start_of_episodes_varies():
    env = cartpole(Variation("qpos", 1.0, 1.5, names="slider", operation="set", when="reset"), worlds=8)
    observed, _ = env.reset(seed=0)
    plain = make("CartPole", 8).reset(seed=0)[0]
    assert np.all((observed[:, 0] >= 1.0) & (observed[:, 0] < 1.5))
    np.testing.assert_array_equal(observed[:, 1:], plain[:, 1:])


def test_the_motion_is_mujoco_s_with_those_numbers():
    ranges = [Variation("dof_damping", 5.0, 20.0, when="reset"), Variation("gravity", 0.5, 1.5, when="reset")]
    env = cartpole(*ranges, worlds=3)
    env.max_episode_steps = 100
    observed, _ = env.reset(seed=0)
    m = mujoco.MjModel.from_xml_path(str(model_path("cartpole")))
    m.dof_damping[:], m.opt.gravity[:] = env.sim.m.dof_damping[2], env.sim.m.opt.gravity[2]
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:], d.ctrl[0] = observed[2, :2], observed[2, 2:], 0.5
    for _ in range(6):
        observed, *_ = env.step(np.full((3, 1), 0.5))
        mujoco.mj_step(m, d, 2)
    np.testing.assert_allclose(observed[2], np.r_[d.qpos, d.qvel], atol=2e-5)


def test_contacts_follow_friction_drawn_at_every_reset():
    env = make("Hopper", 3, ranges=[Variation("geom_friction", 0.3, 3.0, column=0, when="reset")], seed=0)
    for seed in (0, 1):
        env.reset(seed=seed)
        friction = env.sim.m.geom_friction[..., 0]
        env.sim.set_state(qpos=[0, -0.03, 0, 0, 0, 0])
        env.sim.forward()
        for world in range(3):
            count = int(env.sim.d.ncon[world])
            assert count > 0
            pairs = env.sim.engine.read("contact_geom")[world, :count]
            mixed = env.sim.engine.read("contact_friction")[world, :count, 0]
            np.testing.assert_allclose(mixed, friction[world][pairs].max(-1), rtol=1e-6)


@pytest.mark.parametrize(
    ("made", "error", "text"),
    [
        (lambda: Variation("body_mass", 2, 1), BuildError, "low=2 is above high=1"),
        (lambda: Variation("body_mass", 0, 1, distribution="log_uniform"), BuildError, "positive bounds"),
        (lambda: Variation("body_mass", 0, 1, operation="scael"), BuildError, "did you mean 'scale'"),
        (lambda: Variation("body_mass", 0, 1, when="rest"), BuildError, "did you mean 'reset'"),
        (lambda: cartpole(Variation("body_mass", 1, 2, when="reset")), BuildError, "other numbers of the model follow"),
        (lambda: cartpole(Variation("qpos", 0, 1)), BuildError, "when='reset'"),
        (lambda: cartpole(Variation("dof_dampng", 0, 1)), UnknownKey, "did you mean 'dof_damping'"),
        (lambda: cartpole(Variation("dof_damping", 0, 1, names="hnge")), UnknownKey, "did you mean 'hinge'"),
        (lambda: cartpole(Variation("actuator_gear", 0, 1, column=9)), BuildError, "no column 9"),
        (lambda: cartpole(("body_mass", 1, 2)), BuildError, "expected Variations"),
    ],
)
def test_wrong_ranges(made, error, text):
    with pytest.raises(error, match=text):
        made()
