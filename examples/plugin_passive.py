"""A passive plugin: wind that blows on bodies, a force in the global frame at their centres of mass.

One declared instance serves all bodies that name it; a world is calm where its wind is set to zero.
"""

import numpy as np
import warp as wp

from kinema import Simulation
from kinema.plugins import BodyInput, P, field, plugin


@plugin("example.wind")
class Wind:
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    drag: float = field(0.2, min=0.0)

    @wp.func
    def passive(x: BodyInput, p: P) -> wp.spatial_vector:
        relative = p.velocity - x.linvel
        force = p.drag * wp.length(relative) * relative
        return wp.spatial_vector(force, wp.vec3(0.0))


XML = """
<mujoco>
  <option timestep=".005"><flag constraint="disable"/></option>
  <extension>
    <plugin plugin="example.wind"><instance name="storm"><config key="velocity" value="8 0 0"/></instance></plugin>
  </extension>
  <worldbody>
    <body><joint name="flag" axis="0 1 0" damping=".5"/><geom type="box" size=".2 .2 .01" pos="0 0 -.5" mass="1"/>
      <plugin instance="storm"/></body>
  </worldbody>
</mujoco>
"""


def main() -> None:
    sim = Simulation(XML, worlds=2, device="cpu")
    sim.set_plugin_parameter("example.wind", "velocity", np.array([[[8.0, 0.0, 0.0]], [[0.0, 0.0, 0.0]]]))
    sim.step(2000)
    print(f"in the storm {np.degrees(sim.d.qpos[0, 0]):6.1f} degrees, in calm air {np.degrees(sim.d.qpos[1, 0]):.1f}")


if __name__ == "__main__":
    main()
