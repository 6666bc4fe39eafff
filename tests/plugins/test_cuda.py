"""Plugins on CUDA: their kernels compile for sm_90 without a GPU; with one, they compute what the CPU computes."""

import pytest
import warp as wp

from kinema.compile import compile_model
from kinema.convex.engine import Engine
from kinema.convex.stage import cohort_kernel
from kinema.plugins import find_plugin
from kinema.plugins.builtin import mlp_actuator, shell
from kinema.plugins.distance import dispatch
from tests.plugins import cuda_check, forms
from tests.plugins.forms import FORMS
from tests.plugins.scenes import GRID, workshop
from tests.plugins.scenes import forms as scene

FIELDS = ("torus", "bowl", "gear", "nut", "bolt")


@pytest.mark.slow
def test_stages_compile_for_hopper(tmp_path):
    engine = Engine(compile_model(workshop()), 1, device="cpu")
    grid = f"""<mujoco><extension><plugin plugin="mujoco.sensor.touch_grid"/></extension>
        <worldbody><site name="s"/></worldbody><sensor>{GRID}</sensor></mujoco>"""
    others = [Engine(compile_model(xml), 1, device="cpu") for xml in (grid, *(scene(name) for name in FORMS))]
    kernels = [
        cohort_kernel((stage,))
        for e in (engine, *others) for stages in e.extension.stages.values() for stage in stages
        if stage.launch is None
    ]  # fmt: skip
    assert len(kernels) > 20
    for kernel in kernels:
        wp.compile_aot_module(kernel.module, arch=90, module_dir=tmp_path, use_ptx=True)


@pytest.mark.slow
def test_fields_and_large_plugins_compile_for_hopper(tmp_path):
    kinds = tuple(find_plugin(f"mujoco.sdf.{name}") for name in FIELDS) + (find_plugin("test.sdf.cone"),)
    value, gradient = dispatch(kinds, "distance"), dispatch(kinds, "gradient")

    @wp.kernel(enable_backward=False, module="unique")
    def fields(x: wp.array(dtype=wp.vec3d), p: wp.array(dtype=float), y: wp.array(dtype=wp.vec3d)):
        i = wp.tid()
        y[i] = gradient(i, x[i], p) * value(i, x[i], p)

    wp.compile_aot_module(fields.module, arch=90, module_dir=tmp_path, use_ptx=True)
    for module in (mlp_actuator, shell, forms):
        wp.compile_aot_module(wp.get_module(module.__name__), arch=90, module_dir=tmp_path, use_ptx=True)
    assert len(list(tmp_path.glob("*.ptx"))) == 4


@pytest.mark.gpu
@pytest.mark.parametrize("name", cuda_check.CHECKS)
def test_on_the_gpu(name):
    good, text = cuda_check.run(name, "cuda:0")
    assert good, text
