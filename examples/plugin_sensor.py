"""A sensor plugin: height, speed, and how often it was read, which is a state of the instance.

`State` variables live in plugin_state, so they are saved, restored and reset with everything else. `sensor` gives the
reading, `advance` moves the state when a step ends.
"""

import warp as wp

from kinema import Simulation
from kinema.plugins import Clock, P, S, SensorInput, State, plugin


@plugin("example.altimeter")
class Altimeter:
    scale: float = 1.0
    samples = State()
    needstage = "vel"

    def nsensordata(self) -> int:
        return 3

    @wp.func
    def sensor(x: SensorInput, state: S, p: P, k: int) -> float:
        value = p.scale * x.pos[2]  # height
        if k == 1:
            value = wp.dot(x.linvel, wp.vec3(x.mat[0, 2], x.mat[1, 2], x.mat[2, 2]))  # speed along the probe
        if k == 2:
            value = state.samples
        return value

    @wp.func
    def advance(x: Clock, state: S):
        state.samples = state.samples + 1.0
        return state


XML = """
<mujoco>
  <option><flag constraint="disable"/></option>
  <extension><plugin plugin="example.altimeter"/></extension>
  <worldbody>
    <body pos="0 0 100"><freejoint/><geom size=".1"/><site name="probe"/></body>
  </worldbody>
  <sensor>
    <plugin plugin="example.altimeter" objtype="site" objname="probe"><config key="scale" value="3.28084"/></plugin>
  </sensor>
</mujoco>
"""


def main() -> None:
    sim = Simulation(XML, worlds=2, device="cpu")
    for _ in range(3):
        sim.step(500)
        feet, speed, samples = sim.d.sensordata[0]
        print(f"t = {sim.d.time[0]:.1f} s: {feet:6.1f} ft, {speed:6.2f} m/s, sample {samples:.0f}")
    sim.reset([True, False])
    print("samples after resetting world 0:", sim.d.plugin_state[:, 0].tolist())


if __name__ == "__main__":
    main()
