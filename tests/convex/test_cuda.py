"""Inverse dynamics, energy and conjugate gradients compile for CUDA (sm_90) on a machine without a GPU.

Steps: test_corpus_on_cuda.py.
"""

import mujoco
import pytest

from kinema.convex import step as recipe
from kinema.convex.solve import sparse
from kinema.convex.stage import cohort_kernel, lane_kernel, runs

from . import mechanisms
from .hopper import compile_kernel, stack

CASES = {
    "Euler": (mechanisms.SPRINGS, 0),
    "RK4": (mechanisms.YIELDING, 1),
    "implicit": (mechanisms.FLUID.format(integrator="implicit"), 2),
    "implicitfast": (mechanisms.FLUID.format(integrator="implicitfast"), 3),
}


def smooth(text: str, integrator: int) -> mujoco.MjModel:
    m = mujoco.MjModel.from_xml_string(text)
    m.opt.integrator = integrator
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    m.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY) | int(mujoco.mjtEnableBit.mjENBL_INVDISCRETE)
    return m


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_kernels_compile_for_hopper(case):
    m = smooth(*CASES[case])
    groups = set(runs([*recipe.energies(m), *recipe.inverse_dynamics(m, [])]))
    assert groups
    for group in groups:
        assert stack(compile_kernel(cohort_kernel(group))) < 4096, "Model and Data must not be copied to each thread"


@pytest.mark.slow
def test_conjugate_gradients_compile_for_hopper():
    m = mujoco.MjModel.from_xml_string(mechanisms.SPRINGS)
    m.opt.solver = mujoco.mjtSolver.mjSOL_CG
    assert stack(compile_kernel(lane_kernel((sparse.stage(m, cuda=True),)))) < 4096
