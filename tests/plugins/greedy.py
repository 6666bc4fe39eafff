"""A plugin whose kernel takes more than CUDA hands a kernel: Model and Data twice."""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.plugins import plugin


@wp.kernel(enable_backward=False)
def twice(m: Model, d: Data, other_m: Model, other_d: Data):
    d.act.force[wp.tid(), 0] = 0.0


@plugin("test.greedy")
class Greedy:
    """Would run on a CPU."""

    capabilities = ("actuator",)

    def compute(self, m, d, instance) -> None:
        wp.launch(twice, instance.nworld, [m, d, m, d], device=instance.device)
