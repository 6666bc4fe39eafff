"""mujoco.sdf.nut: a hexagon with a threaded hole."""

import warp as wp

from kinema.plugins import P, field, plugin
from kinema.plugins.builtin.thread import DIAGONAL, HALF, cone, hexagon, thread


@plugin("mujoco.sdf.nut")
class Nut:
    """Radius of the hole [m]."""

    radius: float = field(0.26, above=0.0)

    @wp.func
    def sdf(x: wp.vec3d, p: P) -> wp.float64:
        radius = wp.float64(p.radius)
        bevel = cone(x, radius)
        hole = wp.max(thread(x, radius), -(bevel + HALF * DIAGONAL))
        hole = wp.min(hole, -bevel - wp.float64(0.05) * DIAGONAL)
        return wp.max(hexagon(x, radius), -hole)

    def aabb(self) -> tuple[float, float, float]:
        return 0.6, 0.6, 1.0
