"""Gradients through rollouts against differences of MuJoCo's rollouts in double precision."""

import copy
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

from kinema.errors import BuildError
from kinema.gradients.rollout import rollout

from ..conformance.staged import StagedEngine

torch = pytest.importorskip("torch")
STEPS = 32


@pytest.fixture(scope="module")
def hopper() -> mujoco.MjModel:
    folder = Path(importlib.util.find_spec("dm_control").submodule_search_locations[0])
    m = mujoco.MjModel.from_xml_path(str(folder / "suite" / "hopper.xml"))
    m.opt.iterations, m.opt.ls_iterations, m.opt.tolerance = 100, 50, 1e-12
    return m


def start(m: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray]:
    """Standing on the floor."""
    d = mujoco.MjData(m)
    for _ in range(400):
        mujoco.mj_step(m, d)
    return np.float32(d.qpos), np.float32(d.qvel)


def cost(qpos, qvel):
    """Something of all states; the same for tensors and arrays."""
    return (qpos[..., 2:] ** 2).sum() + 0.1 * (qvel**2).sum() + qpos[-1, ..., 0].sum()


def cost_in_double(m: mujoco.MjModel, qpos, qvel, ctrl) -> float:
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:] = qpos, qvel
    positions, velocities = [], []
    for action in ctrl:
        d.ctrl[:] = action
        mujoco.mj_step(m, d)
        positions.append(d.qpos.copy())
        velocities.append(d.qvel.copy())
    return cost(np.array(positions), np.array(velocities))


def differences(f, x: np.ndarray, eps: float) -> np.ndarray:
    found = np.zeros_like(x, float)
    for k in np.ndindex(x.shape):
        up, down = x.astype(float), x.astype(float)
        up[k] += eps
        down[k] -= eps
        found[k] = (f(up) - f(down)) / (2 * eps)
    return found


def test_a_gradient_through_a_hop_agrees_with_differences(hopper):
    qpos, qvel = start(hopper)
    rng = np.random.default_rng(1)
    ctrl = np.float32(0.3 * rng.uniform(-1, 1, (STEPS, hopper.nu)))
    sim = SimpleNamespace(engine=StagedEngine(hopper, nworld=1))

    def gradients(every):
        sim.engine.reset()
        begin = {"qpos": qpos, "qvel": qvel}
        inputs = {name: torch.tensor(value[None], requires_grad=True) for name, value in begin.items()}
        actions = torch.tensor(ctrl[:, None], requires_grad=True)
        found = rollout(sim, actions, every=every, **inputs)
        cost(found.qpos, found.qvel).backward()
        return [actions.grad[:, 0].numpy(), inputs["qpos"].grad[0].numpy(), inputs["qvel"].grad[0].numpy()]

    found = gradients(5)
    theirs = [
        differences(lambda u: cost_in_double(hopper, qpos, qvel, u), ctrl, 1e-6),
        differences(lambda q: cost_in_double(hopper, q, qvel, ctrl), qpos, 1e-6),
        differences(lambda v: cost_in_double(hopper, qpos, v, ctrl), qvel, 1e-6),
    ]
    # by the start, all 32 steps are multiplied up, on a path that single numbers have drawn
    for mine, judge, most in zip(found, theirs, (1e-4, 5e-4, 5e-4), strict=True):
        size = np.linalg.norm(judge)
        assert size > 1e-3
        assert np.linalg.norm(mine - judge) / size < most
        assert float(np.vdot(mine, judge) / (np.linalg.norm(mine) * size)) > 0.99999
    for mine, again in zip(found, gradients(5), strict=True):
        np.testing.assert_array_equal(mine, again)


def test_masses_and_damping_have_gradients(hopper):
    qpos, qvel = start(hopper)
    ctrl = np.full((8, hopper.nu), 0.2, np.float32)
    sim = SimpleNamespace(engine=StagedEngine(hopper, nworld=1))
    names = ("body_mass", "dof_damping")
    values = {name: torch.tensor(np.float32(getattr(hopper, name)), requires_grad=True) for name in names}
    start_at = {"qpos": torch.tensor(qpos[None]), "qvel": torch.tensor(qvel[None])}
    found = rollout(sim, torch.tensor(ctrl[:, None]), parameters=values, every=4, **start_at)
    cost(found.qpos, found.qvel).backward()
    for name in names:

        def of(value, name=name):
            kept = getattr(hopper, name).copy()
            getattr(hopper, name)[:] = value
            result = cost_in_double(hopper, qpos, qvel, ctrl)
            getattr(hopper, name)[:] = kept
            return result

        judge = differences(of, np.float32(getattr(hopper, name)), 1e-5)
        moving = judge != 0
        assert np.linalg.norm((values[name].grad.numpy() - judge)[moving]) / np.linalg.norm(judge) < 1e-3


def test_friction_and_softness_of_geoms_have_gradients(hopper):
    m = copy.copy(hopper)
    m.geom_friction[:, 0] = np.linspace(0.2, 0.5, m.ngeom)  # it slides, and no two geoms tie
    qpos, qvel = start(m)
    qvel = qvel + np.float32([0.8, *[0] * (m.nv - 1)])
    ctrl = np.full((6, m.nu), 0.2, np.float32)
    sim = SimpleNamespace(engine=StagedEngine(m, nworld=1))
    names = ("geom_friction", "geom_solref", "geom_margin")
    values = {name: torch.tensor(np.float32(getattr(m, name)), requires_grad=True) for name in names}
    start_at = {"qpos": torch.tensor(qpos[None]), "qvel": torch.tensor(qvel[None])}
    found = rollout(sim, torch.tensor(ctrl[:, None]), parameters=values, every=4, **start_at)
    cost(found.qpos, found.qvel).backward()
    for name, eps in zip(names, (1e-5, 1e-6, 1e-7), strict=True):

        def of(value, name=name):
            kept = getattr(m, name).copy()
            getattr(m, name)[:] = value
            result = cost_in_double(m, qpos, qvel, ctrl)
            getattr(m, name)[:] = kept
            return result

        judge = differences(of, np.float32(getattr(m, name)), eps)
        assert np.linalg.norm(judge) > 1e-3, name
        assert np.linalg.norm(values[name].grad.numpy() - judge) / np.linalg.norm(judge) < 2e-3, name


def test_sensors_have_gradients_and_memory_is_said_beforehand(hopper, capsys):
    assert hopper.nsensordata
    qpos, qvel = start(hopper)
    ctrl = np.float32(0.3 * np.random.default_rng(1).uniform(-1, 1, (6, hopper.nu)))
    sim = SimpleNamespace(engine=StagedEngine(hopper, nworld=1))
    actions, weights = torch.tensor(ctrl[:, None], requires_grad=True), np.linspace(1, 2, hopper.nsensordata)
    start_at = {"qpos": torch.tensor(qpos[None]), "qvel": torch.tensor(qvel[None])}
    found = rollout(sim, actions, sensors=True, every=4, verbose=True, **start_at)
    assert "6 steps in 1 worlds" in capsys.readouterr().out
    (found.sensordata * torch.tensor(weights, dtype=torch.float32)).sum().backward()

    def of(controls):
        d, total = mujoco.MjData(hopper), 0.0
        d.qpos[:], d.qvel[:] = qpos, qvel
        for action in controls:
            d.ctrl[:] = action
            mujoco.mj_step(hopper, d)
            total += weights @ d.sensordata
        return total

    judge = differences(of, ctrl, 1e-6)
    assert np.linalg.norm(actions.grad[:, 0].numpy() - judge) / np.linalg.norm(judge) < 1e-3


def test_a_margin_for_derivatives_alone_lets_them_know_of_the_floor():
    m = mujoco.MjModel.from_xml_string("""<mujoco><worldbody><geom type="plane" size="1 1 .1"/>
    <body pos="0 0 .12"><joint type="slide" axis="0 0 1"/><geom size=".1"/></body></worldbody></mujoco>""")
    sim = SimpleNamespace(engine=StagedEngine(m, nworld=1))

    def gradient(**options):
        sim.engine.reset()
        begin = torch.zeros(1, 1, requires_grad=True)
        path = rollout(sim, torch.zeros(2, 1, 0), qpos=begin, **options)
        path.qvel[-1].sum().backward()
        return float(begin.grad[0, 0]), path.qpos.detach().numpy()

    (hard, states), (soft, same) = gradient(), gradient(smooth={"geom_margin": np.full(2, 0.02)})
    assert hard == 0.0 and soft < -0.01  # nearer the floor, it would be pushed up more
    np.testing.assert_array_equal(states, same)
    np.testing.assert_array_equal(sim.engine.read("geom_margin"), 0.0)
    with pytest.raises(BuildError, match="smooth.*geom_margin"):
        gradient(smooth={"geom_margni": 0.1})
