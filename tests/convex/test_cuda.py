"""Every kernel of smooth dynamics compiles for CUDA (sm_90) on a machine without a GPU."""

import re

import mujoco
import pytest
import warp as wp

from kinema.convex import step as recipe
from kinema.convex.stage import cohort_kernel, runs

from . import mechanisms

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
def test_kernels_compile_for_hopper(case, tmp_path):
    m = smooth(*CASES[case])
    kernels = set()
    for stages in (recipe.step(m, []), recipe.inverse_dynamics(m, [])):
        for group in runs(stages):
            kernels.add(cohort_kernel(group))
    for kernel in kernels:
        wp.compile_aot_module(kernel.module, arch=90, module_dir=tmp_path, use_ptx=True)
    for path in tmp_path.rglob("*.ptx"):
        depots = [int(size) for size in re.findall(r"__local_depot\d+\[(\d+)\]", path.read_text())]
        assert max(depots, default=0) < 4096, f"{path.name}: Model and Data must not be copied to each thread"
