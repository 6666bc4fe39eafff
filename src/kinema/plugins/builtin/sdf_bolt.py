"""mujoco.sdf.bolt: a threaded shaft with a hexagonal head."""

import warp as wp

from kinema.plugins import P, field, plugin
from kinema.plugins.builtin.thread import DIAGONAL, HALF, cone, hexagon, thread


@plugin("mujoco.sdf.bolt")
class Bolt:
    """Radius of the shaft [m]."""

    radius: float = field(0.26, above=0.0)

    @wp.func
    def sdf(x: wp.vec3d, p: P) -> wp.float64:
        radius = wp.float64(p.radius)
        shaft = wp.max(thread(x, radius), -(HALF - wp.abs(x[2] + HALF)))
        shaft = wp.max(shaft, -(cone(x, radius) + DIAGONAL))
        return wp.min(shaft, hexagon(x, radius))

    def aabb(self) -> tuple[float, float, float]:
        return 0.6, 0.6, 1.0
