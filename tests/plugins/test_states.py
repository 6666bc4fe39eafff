"""Numbers of a plugin that decide which states it keeps are not changed under a model compiled without them."""

import pytest

from kinema.errors import PluginError
from kinema.simulation import Simulation

XML = """
<mujoco>
  <extension><plugin plugin="mujoco.pid"><instance name="i"><config key="kp" value="4"/></instance></plugin></extension>
  <worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body></worldbody>
  <actuator><plugin joint="j" plugin="mujoco.pid" instance="i"/></actuator>
</mujoco>
"""


def test_a_number_that_needs_a_state_is_refused():
    sim = Simulation(XML, worlds=2, device="cpu", threads=1)
    sim.set_plugin_parameter("mujoco.pid", "kp", [[5.0], [6.0]])
    with pytest.raises(PluginError, match="with this ki it keeps other states .* set ki in the document"):
        sim.set_plugin_parameter("mujoco.pid", "ki", 1.0)
    assert sim.plugin_parameter("mujoco.pid", "ki").max() == 0.0
