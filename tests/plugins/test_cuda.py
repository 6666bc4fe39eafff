"""The kernels of plugins compile for CUDA (sm_90) on a machine without a GPU."""

import pytest
import warp as wp

from kinema.compile import compile_model
from kinema.convex.engine import Engine
from kinema.convex.stage import item_kernel, world_kernel
from kinema.plugins import find_plugin
from kinema.plugins.builtin import mlp_actuator, shell
from kinema.plugins.distance import dispatch
from tests.plugins import test_contact, test_physics

FIELDS = ("torus", "bowl", "gear", "nut", "bolt")


@pytest.mark.slow
def test_stages_compile_for_hopper(tmp_path):
    engine = Engine(compile_model(test_physics.document()), 1, device="cpu")
    grid = f"""<mujoco><extension><plugin plugin="mujoco.sensor.touch_grid"/></extension>
        <worldbody><site name="s"/></worldbody><sensor>{test_contact.GRID}</sensor></mujoco>"""
    other = Engine(compile_model(grid), 1, device="cpu")
    kernels = [
        world_kernel((stage,)) if stage.whole else item_kernel(stage)
        for e in (engine, other) for stages in e.extension.stages.values() for stage in stages
    ]  # fmt: skip
    assert len(kernels) > 12
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
    for module in (mlp_actuator, shell):
        wp.compile_aot_module(wp.get_module(module.__name__), arch=90, module_dir=tmp_path, use_ptx=True)
