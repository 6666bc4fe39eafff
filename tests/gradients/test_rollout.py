"""Gradients through rollouts against differences of MuJoCo's rollouts in double precision."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

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
