"""Projected Gauss-Seidel against MuJoCo's solvers, on MuJoCo's own rows."""

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.convex.constraint import assemble
from kinema.convex.solve.dual import noslip, projected_gauss_seidel
from kinema.convex.stage import Stage, lane_kernel
from tests.convex.constraint.test_rows import SCENE
from tests.convex.stage_harness import Harness

PGS = 0
ISLAND = int(mujoco.mjtDisableBit.mjDSBL_ISLAND)


def solve(m, d, iterations, warm=False):
    """Ours, from MuJoCo's rows, for so many iterations."""
    m.opt.solver, m.opt.iterations, m.opt.tolerance = PGS, iterations, 0.0
    harness = Harness(m, nworld=2, nconmax=64, nefcmax=256)
    harness.inject(d)
    for name in ("efc_J", "dual_B", "dual_block"):  # what lies outside the blocks must never be read
        harness.layout.arrays[name].fill_(np.nan)
    harness.write("qacc_warmstart", d.qacc_warmstart if warm else np.zeros(m.nv))
    harness.run(*(stage for part in assemble.stages(m) for stage in part), Stage(projected_gauss_seidel(), lanes=True))
    return harness


def agree(ours, theirs, rtol, scale=0.0):
    scale = max(scale, np.abs(theirs).max())
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=rtol * scale)


@pytest.fixture
def scene(random_state):
    def make(cone, condim):
        m = mujoco.MjModel.from_xml_string(SCENE.format(cone=cone, condim=condim, impratio=3.5))
        d = mujoco.MjData(m)
        random_state(m, d, scale=0.15)
        return m, d

    return make


@pytest.mark.parametrize("condim", [1, 3, 4, 6])
def test_converges_to_the_optimum(condim, scene):
    """Many sweeps reach what Newton's method finds: they are dual. (Elliptic cones take too many.)"""
    m, d = scene("pyramidal", condim)
    m.opt.solver, m.opt.iterations, m.opt.tolerance = 2, 200, 1e-14
    mujoco.mj_forward(m, d)
    harness = solve(m, d, 2000)
    agree(harness.read("qacc", 1), d.qacc, 1e-3, np.abs(d.qacc_smooth).max())
    agree(harness.read("qfrc_constraint", 1), d.qfrc_constraint, 1e-3)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("condim", [1, 3, 4, 6])
@pytest.mark.parametrize("iterations", [1, 5, 200])
@pytest.mark.parametrize("flags", [0, ISLAND], ids=["apart", "together"])
def test_sweeps_as_mujoco_does(cone, condim, iterations, flags, scene):
    """Order, momentum and updates are MuJoCo's: the answers agree after any number of sweeps, island by island."""
    m, d = scene(cone, condim)
    m.opt.solver, m.opt.iterations, m.opt.tolerance = PGS, iterations, 0.0
    m.opt.disableflags |= flags
    d.qacc_warmstart[:] = 0
    mujoco.mj_forward(m, d)
    harness = solve(m, d, iterations)
    agree(harness.read("efc_force", 1)[: d.nefc], d.efc_force, 1e-3)
    agree(harness.read("qacc", 1), d.qacc, 1e-3, np.abs(d.qacc_smooth).max())
    np.testing.assert_array_equal(harness.read("solver_niter", 1), iterations)


def test_warm_start(dm_control_assets, random_state):
    """Forces of the last acceleration are taken up when they cost less than none."""
    m = mujoco.MjModel.from_xml_path(str(dm_control_assets / "suite/humanoid.xml"))
    d = mujoco.MjData(m)
    random_state(m, d)
    mujoco.mj_step(m, d, 200)
    m.opt.iterations, m.opt.tolerance = 200, 1e-14
    mujoco.mj_forward(m, d)
    d.qacc_warmstart[:] = d.qacc
    warm, cold = solve(m, d, 3, warm=True), solve(m, d, 3)
    off = [np.abs(harness.read("qacc", 0) - d.qacc).max() for harness in (warm, cold)]
    assert off[0] < 0.01 * off[1]
    np.testing.assert_array_equal(warm.read("qacc", 0), warm.read("qacc", 1))


def test_models_that_ask_for_it(dm_control_assets, random_state, twin, agree):
    """Through the engine, on a model whose solver is PGS."""
    m = mujoco.MjModel.from_xml_path(str(dm_control_assets / "mujoco/testing/assets/humanoid.xml"))
    assert m.opt.solver == PGS
    d = mujoco.MjData(m)
    random_state(m, d, scale=0.05)
    mujoco.mj_step(m, d, 200)
    d.qacc_warmstart[:] = 0
    engine = twin(m, d)
    mujoco.mj_forward(m, d)
    engine.forward()
    assert d.nefc > 0
    agree(engine, d, ["qacc", "qfrc_constraint"], rtol=2e-3)


@pytest.mark.parametrize("make", [projected_gauss_seidel, noslip])
def test_compiles_for_cuda(make, tmp_path):
    """Native code for lane groups, on a machine without a GPU."""
    kernel = lane_kernel((Stage(make(), lanes=True),))
    wp.compile_aot_module(kernel.module, arch=90, module_dir=str(tmp_path), use_ptx=True)
    assert list(tmp_path.glob("*.ptx"))
