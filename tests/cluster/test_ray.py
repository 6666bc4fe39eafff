"""The same on a local Ray cluster of two workers: equal bits, and a worker killed in the middle loses nothing."""

import os
from pathlib import Path

import numpy as np
import pytest
import warp as wp

from kinema.cluster import RayExecutor, read_shards, rollout
from kinema.errors import BuildError
from tests.cluster.samples import PENDULUM, Murderous, broken, damp, scattered

GIVEN = dict(worlds=10, steps=40, initial=scattered, seed=3, block=2, chunk=10)


@pytest.fixture(scope="session")
def executor(tmp_path_factory):
    """Two workers. Ray writes a token into the home folder, so it gets one of its own; Warp keeps its cache."""
    pytest.importorskip("ray")
    wp.init()
    home = {
        "HOME": str(tmp_path_factory.mktemp("home")),
        "WARP_CACHE_PATH": os.path.dirname(wp.config.kernel_cache_dir),
        "RAY_USAGE_STATS_ENABLED": "0",
        "PYTHONPATH": str(Path(__file__).parents[2]),  # workers import tests.cluster.samples
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in home.items():
            patch.setenv(name, value)
        made = RayExecutor(2)
        yield made
        made.close()


def test_bits_are_those_of_one_process(executor):
    alone = rollout(PENDULUM, **GIVEN, policy=damp)
    spread = rollout(PENDULUM, **GIVEN, policy=damp, executor=executor)
    for name in alone.arrays:
        np.testing.assert_array_equal(alone.arrays[name], spread.arrays[name])
    for name in alone.state:
        np.testing.assert_array_equal(alone.state[name], spread.state[name])
    assert spread.lost == 0 and np.abs(spread.arrays["qvel"]).max() > 0.1


def test_a_killed_worker_loses_nothing(executor, tmp_path):
    marker = tmp_path / "killed"
    policy = Murderous(str(marker), step=25, world=5)
    found = rollout(PENDULUM, **GIVEN, policy=policy, executor=executor)
    assert found.lost == 1 and int(marker.read_text()) != os.getpid()
    np.testing.assert_array_equal(found.arrays["qpos"], rollout(PENDULUM, **GIVEN, policy=damp).arrays["qpos"])


def test_workers_lost_between_rollouts_are_replaced(executor):
    executor._ray.kill(executor._actors[1])
    test_bits_are_those_of_one_process(executor)


def test_too_few_cores_are_told(executor):
    with pytest.warns(RuntimeWarning, match="5 workers want 10 CPUs, the cluster has 2"):
        RayExecutor(5, cpus=2)


def test_workers_write_shards(executor, tmp_path):
    controls = np.sin(np.arange(40) / 5)[:, None]
    rollout(PENDULUM, **GIVEN, controls=controls, out=tmp_path, executor=executor)
    alone = rollout(PENDULUM, **GIVEN, controls=controls)
    np.testing.assert_array_equal(read_shards(tmp_path)["qvel"], alone.arrays["qvel"])


def test_a_mistake_in_the_policy_comes_back_as_it_is(executor):
    with pytest.raises(BuildError, match=r"the policy's controls: an array of shape \(2, 3\)"):
        rollout(PENDULUM, **GIVEN, policy=broken, executor=executor)
