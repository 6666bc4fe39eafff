"""The larger stages of tendons, actuators and sensors, compiled for CUDA where there is none."""

import re

import pytest
import warp as wp

from kinema.convex import actuation, dcmotor, loads, tendon, transmission
from kinema.convex.sensors import contact, frame, touch
from kinema.convex.stage import Stage, cohort_kernel

ITEMS = {
    tendon.spatial_tendon: "ntendon",
    transmission.site_transmission: "nactuator",
    transmission.adhesion_transmission: "nactuator",
    actuation.simple_actuator: "nactuator",
    dcmotor.dcmotor_actuator: "nactuator",
    frame.frame_pose: "nsensor",
    contact.contact_sensor: "nsensor",
    touch.touch_sensor: "nsensor",
}
STACK = 512  # bytes a thread may keep in local memory; copies of the arguments would be tens of thousands


@pytest.mark.parametrize("stage", [*(Stage(f, over=n) for f, n in ITEMS.items()), Stage(loads.tendon_loads)],
                         ids=lambda stage: stage.func.key)  # fmt: skip
def test_stages_compile_for_cuda_without_copies_of_their_arguments(stage, tmp_path):
    kernel = cohort_kernel((stage,))
    wp.compile_aot_module(kernel.module, arch=90, module_dir=str(tmp_path), use_ptx=True)
    text = next(tmp_path.glob("*.ptx")).read_text()
    frames = [int(size) for size in re.findall(r"__local_depot\d+\[(\d+)\]", text)]
    assert max(frames, default=0) <= STACK
