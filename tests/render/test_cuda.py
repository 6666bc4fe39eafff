"""The kernels of pictures compile for CUDA (sm_90) on a machine without a GPU."""

import re

import pytest
import warp as wp

from kinema.render import place, skin
from kinema.render.renderer import look_kernel, paint_kernel, shadow_kernel
from kinema.render.trace import Features

BARE = Features(surfaces=False, tree=False)
FULL = Features(surfaces=True, tree=True, textures=True, clear=True, mirror=True, shadows=True)


@pytest.mark.slow
@pytest.mark.parametrize("features", [BARE, FULL], ids=["bare", "full"])
def test_kernels_compile_for_hopper(features, tmp_path):
    seeing = Features(surfaces=features.surfaces, tree=features.tree)
    drawing = (look_kernel(seeing, True), shadow_kernel(features), paint_kernel(features))
    for kernel in (*drawing, place.place_items, skin._bend):
        wp.compile_aot_module(kernel.module, arch=90, module_dir=tmp_path, use_ptx=True)
    found = list(tmp_path.rglob("*.ptx"))
    assert found
    for path in found:
        depots = [int(size) for size in re.findall(r"__local_depot\d+\[(\d+)\]", path.read_text())]
        assert max(depots, default=0) < 2048, f"{path.name}: the scene must not be copied to each thread"
