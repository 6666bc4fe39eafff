"""Stages of flexes that only CUDA compiles so, for sm_90: solvers that work on forces, and sleep."""

import pytest

from kinema.convex.schedule import plan
from kinema.convex.stage import cohort_kernel, lane_kernel
from tests.conformance.staged import StagedEngine
from tests.convex.hopper import compile_kernel, stack

from . import test_section as section
from .scenes import GEOMS, model, scene
from .test_passive import LATTICES

STACK = 4096  # bytes: Model and Data must not be copied to each thread


def kernels(text: str, words: tuple[str, ...]):
    """Of CUDA's recipe of a step the kernels that have a stage of such a name, and the names."""
    engine = StagedEngine(model(text), 1, device="cpu", cuda=True)
    for run in plan(engine.recipes["step"]):
        stages = tuple(run.stages)
        names = [stage.func.key.split("__")[-1] for stage in stages if stage.func]
        if not stages[0].launch and any(word in name for word in words for name in names):
            yield (lane_kernel if stages[0].lanes else cohort_kernel)(stages), names


@pytest.mark.slow
@pytest.mark.parametrize("option", ['solver="PGS"', 'noslip_iterations="3" cone="elliptic" integrator="discrete"'])
def test_solvers_of_forces_compile_for_hopper(option):
    found = list(kernels(scene(2, GEOMS["plane"], option=option), ("gauss_seidel", "noslip")))
    assert found
    for kernel, names in found:
        assert stack(compile_kernel(kernel)) < STACK, names


@pytest.mark.slow
def test_sleep_compiles_for_hopper():
    text = scene(2, GEOMS["plane"]).replace("<worldbody>", '<option><flag sleep="enable"/></option><worldbody>')
    found = list(kernels(text, ("wake", "sleep", "fall", "settle")))
    assert found
    for kernel, names in found:
        assert stack(compile_kernel(kernel)) < STACK, names


@pytest.mark.slow
def test_contacts_of_box_sections_compile_for_hopper():
    beside = section.BESIDE["plane"] + section.BESIDE["box"] + section.BESIDE["a round rod"]
    found = list(kernels(section.scene(beside, itself="auto"), ("near", "element_box", "conjugate", "newton")))
    assert len(found) > 3
    for kernel, names in found:
        assert stack(compile_kernel(kernel)) < STACK, names


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cells", "shell"])
def test_passive_contacts_of_nodes_compile_for_hopper(name):
    text = f'<mujoco><option integrator="discrete" solver="CG"/><worldbody>{LATTICES[name]}</worldbody></mujoco>'
    found = list(kernels(text, ("passive", "conjugate")))
    assert found
    for kernel, names in found:
        assert stack(compile_kernel(kernel)) < STACK, names
