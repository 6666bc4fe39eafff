"""Fixtures shared by all tests, and what `gpu` means.

A test that needs a CUDA device is marked `gpu`, and skipped where there is none. `pytest -m gpu` looks only into files
that have such tests, and skips those whose packages are missing: so it runs on a machine with a GPU and little else.
"""

import importlib.util
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from . import levels


def _only_gpu(config) -> bool:
    return config.option.markexpr == "gpu"


def pytest_configure(config):
    """Kernels at the level of tests, if there is one."""
    if not _only_gpu(config):
        levels.begin()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """Compile as users do for tests that are marked so, what they share with others included."""
    with levels.optimised() if item.get_closest_marker("optimised") else nullcontext():
        return (yield)


def pytest_ignore_collect(collection_path: Path, config):
    """With `-m gpu`: leave files alone that have no such test, and folders without such files."""
    if _only_gpu(config) and collection_path != config.rootpath and config.rootpath in collection_path.parents:
        files = collection_path.rglob("test_*.py") if collection_path.is_dir() else [collection_path]
        if not any("mark.gpu" in file.read_text(encoding="utf-8") for file in files):
            return True
    return None


class _Frugal(pytest.Module):
    """A file of tests that is skipped where a package it needs is missing."""

    def _getobj(self):
        from kinema.errors import MissingExtra

        try:
            return super()._getobj()
        except (MissingExtra, self.CollectError) as error:
            missing = error if isinstance(error, MissingExtra) else error.__cause__
            if isinstance(missing, MissingExtra):
                pytest.skip(str(missing), allow_module_level=True)
            if isinstance(missing, ModuleNotFoundError) and missing.name.split(".")[0] not in ("kinema", "tests"):
                pytest.skip(f"needs {missing.name}, which is not installed", allow_module_level=True)
            raise


def pytest_pycollect_makemodule(module_path: Path, parent):
    """With `-m gpu`: files that may be skipped."""
    return _Frugal.from_parent(parent, path=module_path) if _only_gpu(parent.config) else None


def pytest_collection_modifyitems(items):
    """Files with slow tests first, so that workers end together. Skip what needs a GPU where there is none."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if on_gpu:
        import warp as wp

        if not wp.is_cuda_available():
            for item in on_gpu:
                item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))


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
