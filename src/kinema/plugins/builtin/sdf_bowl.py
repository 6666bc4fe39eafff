"""mujoco.sdf.bowl: a spherical shell around z, cut off at a height, with a round rim."""

import warp as wp

from kinema.plugins import P, field, plugin


@plugin("mujoco.sdf.bowl")
class Bowl:
    """Height of the cut, radius of the sphere, half thickness of the shell [m]."""

    height: float = field(0.4)
    radius: float = field(1.0, above=0.0)
    thickness: float = field(0.02, above=0.0)

    def check(self) -> str | None:
        return None if abs(self.height) < self.radius else "height must be within the radius"

    @wp.func
    def sdf(x: wp.vec3d, p: P) -> wp.float64:
        height = wp.float64(p.height)
        radius = wp.float64(p.radius)
        width = wp.sqrt(radius * radius - height * height)
        r = wp.sqrt(x[0] * x[0] + x[1] * x[1])
        distance = wp.abs(wp.length(x) - radius)
        if height * r < width * x[2]:
            distance = wp.length(wp.vec2d(r - width, x[2] - height))
        return distance - wp.float64(p.thickness)

    def aabb(self) -> tuple[float, float, float]:
        half = self.radius + self.thickness
        return half, half, half
