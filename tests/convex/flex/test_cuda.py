"""Stages of flexes that only CUDA compiles so, for sm_90: solvers that work on forces, sleep, materials."""

import mujoco
import pytest

from kinema.convex.schedule import plan
from kinema.convex.stage import cohort_kernel, lane_kernel
from tests.conformance.staged import StagedEngine
from tests.convex.hopper import compile_kernel, stack

from .scenes import GEOMS, model, scene, solid
from .test_yielding import LATTICES, lattice

STACK = 4096  # bytes: Model and Data must not be copied to each thread


def kernels(m: mujoco.MjModel, words: tuple[str, ...]):
    """Of CUDA's recipe of a step the kernels that have a stage of such a name, and the names."""
    engine = StagedEngine(m, 1, device="cpu", cuda=True)
    for run in plan(engine.recipes["step"]):
        stages = tuple(run.stages)
        names = [stage.func.key.split("__")[-1] for stage in stages if stage.func]
        if not stages[0].launch and any(word in name for word in words for name in names):
            yield (lane_kernel if stages[0].lanes else cohort_kernel)(stages), names


@pytest.mark.slow
@pytest.mark.parametrize("option", ['solver="PGS"', 'noslip_iterations="3" cone="elliptic" integrator="discrete"'])
def test_solvers_of_forces_compile_for_hopper(option):
    found = list(kernels(model(scene(2, GEOMS["plane"], option=option)), ("gauss_seidel", "noslip")))
    assert found
    for kernel, names in found:
        assert stack(compile_kernel(kernel)) < STACK, names


@pytest.mark.slow
def test_sleep_compiles_for_hopper():
    text = scene(2, GEOMS["plane"]).replace("<worldbody>", '<option><flag sleep="enable"/></option><worldbody>')
    found = list(kernels(model(text), ("wake", "sleep", "fall", "settle")))
    assert found
    for kernel, names in found:
        assert stack(compile_kernel(kernel)) < STACK, names


@pytest.mark.slow
def test_stable_neo_hookean_solids_compile_for_hopper():
    inside = '<elasticity young="5e3" poisson=".3" damping=".002" yield=".01"/>'
    m = solid(scene(3, GEOMS["plane"], inside=inside, option='integrator="discrete"'))
    found = list(kernels(m, ("neo", "yield", "metric_flexes")))
    assert found
    for kernel, names in found:
        assert stack(compile_kernel(kernel)) < STACK, names


@pytest.mark.slow
@pytest.mark.parametrize("name", ["quadratic cells", "squares"])
def test_yielding_cells_compile_for_hopper(name):
    m = model(lattice(*LATTICES[name], option='integrator="discrete"'))
    found = list(kernels(m, ("yield_cell", "cell_shape", "metric_flexes")))
    assert any("yield_cell" in names for _, names in found)
    for kernel, names in found:
        assert stack(compile_kernel(kernel)) < STACK, names
