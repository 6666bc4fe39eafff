"""The same memory in other libraries."""

import sys

import numpy as np
import pytest

from kinema.errors import MissingExtra, UnknownKey
from kinema.simulation import Simulation
from tests.simulation.models import ARM


@pytest.fixture
def sim():
    return Simulation(ARM, worlds=3, device="cpu", threads=1)


def test_torch_reads_and_writes_the_same_memory(sim):
    torch = pytest.importorskip("torch")
    qpos, ctrl = sim.torch("qpos"), sim.torch("ctrl")
    assert qpos.shape == (3, 2) and qpos.dtype == torch.float32
    assert qpos.data_ptr() == sim.array("qpos").ptr
    qpos.copy_(torch.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]))
    ctrl[1] = 2.0
    np.testing.assert_allclose(sim.d.qpos, [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], rtol=1e-6)
    sim.step(5)
    np.testing.assert_array_equal(qpos.numpy(), sim.d.qpos)
    sim.set_state(qpos=0.25)
    assert (qpos == 0.25).all()
    assert sim.torch("xpos").shape == (3, 4, 3) and sim.torch("time").dtype == torch.float64


def test_torch_writes_what_a_step_begins_with(sim):
    pytest.importorskip("torch")
    other = Simulation(ARM, worlds=3, device="cpu", threads=1)
    other.set_state(qpos=[0.3, 0.1], ctrl=0.7)
    sim.torch("qpos")[:, 0], sim.torch("qpos")[:, 1], sim.torch("ctrl")[:] = 0.3, 0.1, 0.7
    sim.step(10)
    other.step(10)
    np.testing.assert_array_equal(sim.d.qpos, other.d.qpos)


def test_any_library_that_speaks_dlpack(sim):
    view = np.from_dlpack(sim.array("qvel"))
    sim.set_state(qvel=[1.0, 2.0])
    np.testing.assert_array_equal(view, [[1, 2]] * 3)
    assert view.__array_interface__["data"][0] == sim.array("qvel").ptr
    assert sim.array("qvel").__dlpack_device__()[0] == 1  # kDLCPU


def test_shared_parameters_have_a_world_stride_of_zero(sim):
    pytest.importorskip("torch")
    mass = sim.torch("body_mass")
    assert mass.shape == (3, sim.m.nbody) and mass.stride(0) == 0
    np.testing.assert_allclose(mass[2].numpy(), sim.m.body_mass)


def test_mistakes_are_explained(sim, monkeypatch):
    with pytest.raises(UnknownKey, match="did you mean 'qpos'"):
        sim.torch("qposs")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match="pip install torch"):
        sim.torch("qpos")
