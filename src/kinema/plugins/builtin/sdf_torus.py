"""mujoco.sdf.torus: a ring around z, of a tube of radius2 at radius1."""

import warp as wp

from kinema.plugins import P, field, plugin


@plugin("mujoco.sdf.torus")
class Torus:
    """Radius of the ring and of its tube [m]."""

    radius1: float = field(0.35, above=0.0)
    radius2: float = field(0.15, above=0.0)

    @wp.func
    def sdf(x: wp.vec3d, p: P) -> wp.float64:
        r = wp.sqrt(x[0] * x[0] + x[1] * x[1]) - wp.float64(p.radius1)
        return wp.sqrt(r * r + x[2] * x[2]) - wp.float64(p.radius2)

    @wp.func
    def sdf_gradient(x: wp.vec3d, p: P) -> wp.vec3d:
        outward = wp.float64(1.0) - wp.float64(p.radius1) / wp.sqrt(x[0] * x[0] + x[1] * x[1])
        return wp.normalize(wp.vec3d(x[0] * outward, x[1] * outward, x[2]))

    def aabb(self) -> tuple[float, float, float]:
        return self.radius1 + self.radius2, self.radius1 + self.radius2, self.radius2
