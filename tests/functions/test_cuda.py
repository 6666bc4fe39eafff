"""The functions on CUDA: their kernels compile without a GPU, and where there is one they give what the CPU gives."""

import importlib

import numpy as np
import pytest
import warp as wp

from kinema import Simulation
from kinema.control import ik
from tests.simulation.models import LIMBS

MODULES = ["functions.jacobian", "functions.inertia", "functions.objects", "functions.forces", "functions.positions",
           "control.least_squares"]  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_kernels_compile_for_hopper(name, tmp_path):
    module = importlib.import_module(f"kinema.{name}")
    wp.compile_aot_module(module, arch=90, module_dir=str(tmp_path), use_ptx=True)
    kernels = [value.key for value in vars(module).values() if isinstance(value, wp.Kernel)]
    text = "".join(path.read_text() for path in tmp_path.rglob("*.ptx"))
    assert kernels and all(key in text for key in kernels)


@pytest.mark.gpu
def test_like_the_cpu():
    found = []
    for device in ("cpu", "cuda:0"):
        sim = Simulation(LIMBS, worlds=5, device=device)
        sim.set_state(qpos=[0, 0, 0.55, 0.9, 0.1, 0.4, 0, 0.3], qvel=[1, 2, 3, 0.1, 0.2, 0.3, -1])
        sim.forward()
        reach = ik.solve(sim, ik.Target("tip", position=[0.1, 0.2, 0.4]))
        hit = sim.ray([0.0, 0, 3], [0, 0, -1.0])
        found.append([
            *sim.jac_site("tip"), *sim.jac_dot([0.1, 0.2, 0.3], "shank"), sim.jac_subtree_com("trunk"), sim.full_m(),
            sim.angmom_mat("trunk"), sim.mul_m(np.arange(7.0)), sim.solve_m(np.arange(7.0)), sim.rne(True),
            sim.object_velocity("site", "tip", True), sim.object_acceleration("site", "tip"), hit.dist, hit.geomid,
            sim.geom_distance("belly", "shin").dist, sim.apply_ft([1, 2, 3], [4, 5, 6], [0, 0, 1], "shank"),
            sim.integrate_pos(sim.d.qpos, sim.d.qvel, 0.1), sim.contacts().force, reach.position_error,
        ])  # fmt: skip
        if device != "cpu":
            torch = pytest.importorskip("torch")
            on_device = sim.jac_site("tip", torch=True).jacp
            assert on_device.is_cuda
            np.testing.assert_array_equal(on_device.cpu().numpy(), found[-1][0])
            vec = torch.arange(7.0, device="cuda:0")
            np.testing.assert_allclose(sim.mul_m(vec, torch=True).cpu().numpy(), found[-1][7], atol=1e-6)
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-3 * max(1, np.abs(theirs).max(initial=0)))
