"""Simulation on CUDA: its kernels compile without a GPU, and where there is one it is the same door."""

import numpy as np
import pytest
import warp as wp

from kinema.collide.parameters import mix_pairs
from kinema.convex.last_good import keep_state
from kinema.simulation import Simulation
from tests.simulation.models import ARM


@pytest.mark.parametrize("kernel", [keep_state, mix_pairs], ids=lambda kernel: kernel.key)
def test_kernels_compile_for_hopper(kernel, tmp_path):
    wp.compile_aot_module(kernel.module, arch=90, module_dir=tmp_path, use_ptx=True)
    assert any(kernel.key in path.read_text() for path in tmp_path.rglob("*.ptx"))


@pytest.mark.gpu
def test_records_saves_and_fails_as_on_the_cpu(tmp_path):
    sims = [Simulation(ARM, worlds=5, device=device) for device in ("cpu", "cuda:0")]
    for sim in sims:
        sim.expand("gravity")
        gravity = np.tile([0, 0, -9.81], (5, 1))
        gravity[3] = [0, 0, -1e12]
        sim.m.opt.gravity = gravity
        sim.set_state(qpos=np.linspace(0, 1, 10).reshape(5, 2), ctrl=0.3)
        sim.record(every=5)
        sim.step(20)
    recordings = [sim.stop_recording() for sim in sims]
    good = [0, 1, 2, 4]
    np.testing.assert_allclose(*(r.qpos[:, good] for r in recordings), atol=1e-4)
    failures = [sim.last_failure for sim in sims]
    assert [f.worlds.tolist() for f in failures] == [[3], [3]]
    np.testing.assert_allclose(*(f.qpos[0] for f in failures), atol=1e-4)
    for sim in sims:
        sim.reset([3])
        sim.step(3)
    sim = sims[1]
    other = Simulation.restore(sim.save(tmp_path / "run.npz"), device="cuda:0")
    for each in (sim, other):
        each.step(7)
    np.testing.assert_array_equal(sim.d.qpos, other.d.qpos)
    assert Simulation.estimate(ARM, 5, "cuda:0").total == Simulation(ARM, 5, "cuda:0").memory().total


@pytest.mark.gpu
def test_a_step_can_be_captured_and_sees_torch_writes():
    sim = Simulation(ARM, worlds=4, device="cuda:0")
    sim.step()
    with wp.ScopedCapture(device="cuda:0") as capture:
        sim.step(3)
    wp.capture_launch(capture.graph)
    np.testing.assert_allclose(sim.d.time, 0.01 * 4, atol=1e-9)
