"""A signed distance field as a plugin: a dice-like box with round edges, on which a ball comes to rest.

The field is one function of a point in the geom's frame. Its gradient comes from automatic differentiation, the mesh
that shows it and gives its inertia from marching cubes over the box aabb() names.
"""

import warp as wp

from kinema import Simulation
from kinema.plugins import P, field, plugin


@plugin("example.round_box")
class RoundBox:
    half: float = field(0.3, above=0.0)
    radius: float = field(0.08, above=0.0)

    @wp.func
    def sdf(x: wp.vec3, p: P) -> float:
        edge = p.half - p.radius
        q = wp.vec3(wp.abs(x[0]) - edge, wp.abs(x[1]) - edge, wp.abs(x[2]) - edge)
        outside = wp.length(wp.vec3(wp.max(q[0], 0.0), wp.max(q[1], 0.0), wp.max(q[2], 0.0)) + wp.vec3(1.0e-9))
        return outside + wp.min(wp.max(q[0], wp.max(q[1], q[2])), 0.0) - p.radius

    def aabb(self) -> tuple[float, float, float]:
        return 1.1 * self.half, 1.1 * self.half, 1.1 * self.half


XML = """
<mujoco>
  <extension><plugin plugin="example.round_box"><instance name="dice"/></plugin></extension>
  <asset><mesh name="dice"><plugin instance="dice"/></mesh></asset>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .31"><freejoint/><geom type="sdf" mesh="dice"><plugin instance="dice"/></geom></body>
    <body pos=".02 0 .75"><freejoint/><geom size=".1" density="300"/></body>
  </worldbody>
</mujoco>
"""


def main() -> None:
    sim = Simulation(XML, worlds=1, device="cpu")
    sim.step(400)
    dice, ball = sim.d.qpos[0, 2], sim.d.qpos[0, 9]
    print(f"{sim.model.nmeshvert} vertices; the dice lies at {dice:.3f} m, the ball on it at {ball:.3f} m")


if __name__ == "__main__":
    main()
