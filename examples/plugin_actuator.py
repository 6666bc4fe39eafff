"""An actuator plugin: a spring between motor and joint, with the motor's angle as an activation.

The motor follows the control with a limited speed; the joint feels only the spring. The activation is declared with
`Act`, its rate is what `act_dot` returns, and the engine integrates it. Springs differ from world to world.
"""

import numpy as np
import warp as wp

from kinema import Simulation
from kinema.plugins import A, Act, ActuatorInput, P, field, plugin


@plugin("example.series_elastic")
class SeriesElastic:
    stiffness: float = field(50.0, above=0.0)
    speed: float = field(2.0, min=0.0)
    motor = Act()

    @wp.func
    def act_dot(x: ActuatorInput, act: A, p: P):
        act.motor = wp.clamp((x.ctrl - act.motor) / x.dt, -p.speed, p.speed)
        return act

    @wp.func
    def actuator(x: ActuatorInput, act: A, p: P) -> float:
        return p.stiffness * (act.motor - x.length)


XML = """
<mujoco>
  <option timestep=".002"><flag constraint="disable"/></option>
  <extension><plugin plugin="example.series_elastic"/></extension>
  <worldbody>
    <body>
      <joint name="arm" axis="0 1 0" damping="1"/>
      <geom type="capsule" size=".03" fromto="0 0 0 .5 0 0" mass="1"/>
    </body>
  </worldbody>
  <actuator>
    <plugin plugin="example.series_elastic" joint="arm" actdim="1"><config key="speed" value="1.5"/></plugin>
  </actuator>
</mujoco>
"""


def main() -> None:
    sim = Simulation(XML, worlds=3, device="cpu")
    sim.set_plugin_parameter("example.series_elastic", "stiffness", np.array([[20.0], [50.0], [200.0]]))
    sim.d.ctrl = -0.5
    sim.step(2000)
    for stiffness, angle in zip((20, 50, 200), sim.d.qpos[:, 0], strict=True):
        print(f"stiffness {stiffness:3d}: the arm hangs {np.degrees(angle + 0.5):5.2f} degrees below the motor")


if __name__ == "__main__":
    main()
