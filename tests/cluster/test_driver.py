"""Rollouts over workers in this process: against a plain loop, and independent of how they are cut up."""

import runpy
from pathlib import Path

import mujoco
import numpy as np
import pytest

from kinema.cluster import LocalExecutor, WorkerLost, rollout
from kinema.draws import Draws
from kinema.envs.task import model_path
from kinema.errors import BuildError, SimulationError, UnknownKey
from kinema.simulation import Simulation
from tests.cluster.samples import PENDULUM, broken, damp, scattered


def test_open_loop_is_a_plain_loop():
    rng = np.random.default_rng(0)
    controls = rng.uniform(-1, 1, (30, 5, 1)).astype(np.float32)
    start = rng.uniform(-1, 1, (5, 1))
    found = rollout(PENDULUM, worlds=5, steps=30, controls=controls, initial={"qpos": start}, block=2, chunk=7)
    sim = Simulation(PENDULUM, worlds=5)
    sim.set_state(qpos=start)
    for k in range(30):
        sim.d.ctrl = controls[k]
        sim.step()
        np.testing.assert_array_equal(found.arrays["qpos"][k], sim.d.qpos)
    np.testing.assert_array_equal(found.state["qvel"], sim.d.qvel)
    np.testing.assert_allclose(found.state["time"], 0.3)
    assert found.trouble == {} and found.lost == 0


def test_a_world_does_what_mujoco_does():
    controls = np.sin(np.arange(100) / 10)[:, None]
    found = rollout(PENDULUM, worlds=2, steps=100, controls=controls, initial={"qpos": [0.5]}, decimation=2)
    m = mujoco.MjModel.from_xml_string(PENDULUM)
    d = mujoco.MjData(m)
    d.qpos[0] = 0.5
    for k in range(100):
        d.ctrl[:] = controls[k]
        mujoco.mj_step(m, d, 2)
        np.testing.assert_allclose(found.arrays["qpos"][k, 1], d.qpos, atol=1e-4)


def test_policy_is_a_plain_loop():
    found = rollout(PENDULUM, worlds=3, steps=12, policy=damp, initial=scattered, seed=4, decimation=3, chunk=5)
    sim = Simulation(PENDULUM, worlds=3)
    draws = Draws(4, np.arange(3), 0xFFFFFFFF)
    sim.set_state(qpos=draws.uniform(-2.0, 2.0, 1), qvel=draws.normal(0.0, 0.5, 1))
    for k in range(12):
        sim.d.ctrl = -0.3 * sim.d.qvel + 0.1 * Draws(4, np.arange(3), k).normal(shape=1)
        sim.step(3)
        np.testing.assert_array_equal(found.arrays["qvel"][k], sim.d.qvel)


@pytest.mark.parametrize(("workers", "block", "chunk"), [(1, 64, 100), (2, 3, 7), (3, 1, 1), (2, 4, 25)])
def test_the_cut_does_not_matter(workers, block, chunk):
    given = dict(worlds=7, steps=25, policy=damp, initial=scattered, seed=1, record=("qpos", "sensordata", "time"))
    whole = rollout(PENDULUM, **given, block=7, chunk=25)
    cut = rollout(PENDULUM, **given, block=block, chunk=chunk, executor=LocalExecutor(workers))
    assert set(cut.arrays) == {"qpos", "sensordata", "time"}
    for name in whole.arrays:
        np.testing.assert_array_equal(whole.arrays[name], cut.arrays[name])
    for name in whole.state:
        np.testing.assert_array_equal(whole.state[name], cut.state[name])


def test_seeds_and_worlds_differ():
    given = dict(worlds=6, steps=3, policy=damp, initial=scattered)
    one, two = rollout(PENDULUM, **given, seed=1), rollout(PENDULUM, **given, seed=2)
    assert len(np.unique(one.arrays["qpos"][-1])) == 6
    assert not np.any(one.arrays["qpos"] == two.arrays["qpos"])
    fewer = rollout(PENDULUM, **(given | {"worlds": 4}), seed=1)
    np.testing.assert_array_equal(one.arrays["qpos"][:, :4], fewer.arrays["qpos"])


@pytest.mark.parametrize("every", [1, 3, 4, 50])
def test_records_every_so_many_steps(every):
    given = dict(worlds=2, steps=11, initial=scattered)
    every_step = rollout(PENDULUM, **given)
    some = rollout(PENDULUM, **given, every=every, chunk=5)
    assert some.steps.tolist() == list(range(every - 1, 11, every))
    if len(some.steps):
        np.testing.assert_array_equal(some.arrays["qpos"], every_step.arrays["qpos"][some.steps])
    np.testing.assert_array_equal(some.state["qpos"], every_step.state["qpos"])


def test_the_last_state_can_be_taken_up():
    given = dict(worlds=3, policy=damp, seed=2)
    whole = rollout(PENDULUM, **given, steps=20, initial=scattered)
    half = rollout(PENDULUM, **given, steps=10, initial=scattered)
    sim = Simulation(PENDULUM, worlds=3)
    sim.set_state(**half.state)
    for k in range(10, 20):
        sim.d.ctrl = -0.3 * sim.d.qvel + 0.1 * Draws(2, np.arange(3), k).normal(shape=1)
        sim.step()
    np.testing.assert_array_equal(sim.d.qpos, whole.state["qpos"])


class Unreliable(LocalExecutor):
    """Loses a worker at some calls."""

    def __init__(self, workers: int, losses: int):
        super().__init__(workers)
        self.losses, self.calls, self.replaced = losses, 0, []

    def result(self, ticket):
        self.calls += 1
        if self.calls % 3 == 0 and self.losses:
            self.losses -= 1
            self._staff[ticket.worker] = None
            raise WorkerLost("gone")
        return super().result(ticket)

    def replace(self, worker):
        self.replaced.append(worker)
        super().replace(worker)


def test_a_lost_worker_loses_nothing():
    given = dict(worlds=6, steps=20, policy=damp, initial=scattered, block=2, chunk=4)
    unreliable = Unreliable(2, losses=3)
    found = rollout(PENDULUM, **given, executor=unreliable)
    np.testing.assert_array_equal(found.arrays["qpos"], rollout(PENDULUM, **given).arrays["qpos"])
    assert found.lost == 3 and len(unreliable.replaced) == 3


def test_a_call_that_kills_every_worker_is_given_up():
    class Doomed(Unreliable):
        def result(self, ticket):
            raise WorkerLost("gone")

    with pytest.raises(SimulationError, match=r"worlds 0 to 1, control steps 0 to 3: lost 3 workers"):
        rollout(PENDULUM, worlds=2, steps=4, retries=2, executor=Doomed(1, 0))


def test_a_mistake_in_the_policy_is_shown_at_once():
    with pytest.raises(BuildError, match=r"controls: an array of shape \(2, 3\) does not fit \(2, 1\)") as caught:
        rollout(PENDULUM, worlds=2, steps=4, policy=broken)
    assert "worlds 0 to 1" in caught.value.__notes__[0]


def test_derived_fields_need_refresh():
    def by_sight(batch):
        return batch.xpos[:, 1, :1] + batch.qpos

    with pytest.raises(UnknownKey, match="refresh=True"):
        rollout(PENDULUM, worlds=2, steps=4, policy=by_sight)
    given = dict(worlds=3, steps=9, policy=by_sight, initial=scattered, refresh=True)
    one, two = rollout(PENDULUM, **given), rollout(PENDULUM, **given, block=2, chunk=2, executor=LocalExecutor(2))
    np.testing.assert_array_equal(one.arrays["qvel"], two.arrays["qvel"])


def test_the_example_balances():
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "cluster_rollout.py"))
    given = dict(worlds=8, steps=300, policy=example["balance"], initial=example["scattered"], decimation=2, every=50)
    found = rollout(model_path("cartpole"), **given)
    assert np.all(np.abs(found.arrays["qpos"][-1, :, 1]) < 0.1)


def test_an_executor_is_a_context():
    with LocalExecutor(2) as executor:
        rollout(PENDULUM, worlds=2, steps=2, executor=executor)
        assert len(executor._staff) == 2
    assert executor._staff == []


def test_trouble_is_told_and_stays():
    start = {"qvel": np.array([[0.0], [np.nan], [0.0]])}
    found = rollout(PENDULUM, worlds=3, steps=6, initial=start, chunk=2)
    assert list(found.trouble) == [1] and "finite" in found.trouble[1][0]
    assert np.isfinite(found.arrays["qpos"][:, [0, 2]]).all()


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (dict(controls=np.zeros((4, 2))), BuildError, r"expected \(4, 1\) or \(4, 2, 1\)"),
        (dict(controls=np.zeros((4, 1)), policy=damp), BuildError, "not both"),
        (dict(record=("qpso",)), UnknownKey, "did you mean 'qpos'"),
        (dict(initial={"qpso": 0}), UnknownKey, "did you mean 'qpos'"),
        (dict(initial={"qpos": np.zeros(5)}), BuildError, "initial qpos: an array of shape"),
        (dict(chunk=0), BuildError, "chunk=0"),
    ],
)
def test_wrong_calls(wrong, error, text):
    with pytest.raises(error, match=text):
        rollout(PENDULUM, worlds=2, steps=4, **wrong)
