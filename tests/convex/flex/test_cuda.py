"""Stages of flexes that only CUDA compiles so, for sm_90: solvers that work on forces, sleep, materials."""

import mujoco
import pytest

from kinema.convex.schedule import plan
from kinema.convex.stage import cohort_kernel, lane_kernel
from tests.conformance.staged import StagedEngine
from tests.convex.hopper import compile_kernel, stack

from . import test_passive, test_section, test_yielding
from .scenes import GEOMS, model, scene, solid

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
    m = model(test_yielding.lattice(*test_yielding.LATTICES[name], option='integrator="discrete"'))
    found = list(kernels(m, ("yield_cell", "cell_shape", "metric_flexes")))
    assert any("yield_cell" in names for _, names in found)
    for kernel, names in found:
        assert stack(compile_kernel(kernel)) < STACK, names


@pytest.mark.slow
def test_contacts_of_box_sections_compile_for_hopper():
    beside = test_section.BESIDE["plane"] + test_section.BESIDE["box"] + test_section.BESIDE["a round rod"]
    m = model(test_section.scene(beside, itself="auto"))
    found = list(kernels(m, ("near", "element_box", "conjugate", "newton")))
    assert len(found) > 3
    for kernel, names in found:
        assert stack(compile_kernel(kernel)) < STACK, names


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cells", "shell"])
def test_passive_contacts_of_nodes_compile_for_hopper(name):
    flex = test_passive.LATTICES[name]
    m = model(f'<mujoco><option integrator="discrete" solver="CG"/><worldbody>{flex}</worldbody></mujoco>')
    found = list(kernels(m, ("passive", "conjugate")))
    assert found
    for kernel, names in found:
        assert stack(compile_kernel(kernel)) < STACK, names
