"""Fixtures shared by all tests."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def dm_control_assets() -> Path:
    """The folder of dm_control's models."""
    spec = importlib.util.find_spec("dm_control")
    if spec is None:
        pytest.skip("dm_control is not installed")
    return Path(spec.submodule_search_locations[0])


@pytest.fixture
def random_state():
    """Puts mjData into a random, reproducible state: qpos on the manifold, qvel, ctrl, mocap."""

    def randomize(m, d, seed: int = 0, scale: float = 0.3):
        import mujoco

        rng = np.random.default_rng(seed)
        d.qvel[:] = rng.normal(size=m.nv) * scale
        mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), scale)
        d.ctrl[:] = rng.normal(size=m.nu) * scale
        d.act[:] = rng.uniform(size=m.na)
        for i in range(m.nmocap):
            d.mocap_pos[i] += rng.normal(size=3) * 0.1
            quat = d.mocap_quat[i] + rng.normal(size=4) * 0.1
            d.mocap_quat[i] = quat / np.linalg.norm(quat)
        return d

    return randomize
