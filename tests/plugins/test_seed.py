"""The examples in MuJoCo's chapter on extensions load, and do what the chapter says."""

import numpy as np
import pytest
import warp as wp

from kinema.compile import compile_model
from kinema.errors import CompileError
from kinema.plugins import ActuatorInput, P, SensorInput, State, field, plugin


@plugin("mujoco.test.simple_sensor_plugin")
class SimpleSensor:
    @wp.func
    def sensor(x: SensorInput, k: int) -> float:
        return x.time


@plugin("mujoco.test.actuator_sensor_plugin")
class ActuatorSensor:
    level = State()

    @wp.func
    def actuator(x: ActuatorInput) -> float:
        return x.ctrl

    @wp.func
    def sensor(x: SensorInput, k: int) -> float:
        return x.time


@plugin("mujoco.test.simple_actuator_plugin")
class SimpleActuator:
    resistance: float = field(1.0, above=0.0)
    inductance: float = 0.0

    @wp.func
    def actuator(x: ActuatorInput, p: P) -> float:
        return x.ctrl / p.resistance


BODY = '<worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>'
DECLARATION = f"""<mujoco>
  <extension>
    <plugin plugin="mujoco.test.simple_sensor_plugin"/>
    <plugin plugin="mujoco.test.actuator_sensor_plugin"><instance name="explicit_instance"/></plugin>
  </extension>
  {BODY}
  <sensor>
    <plugin name="sensor0" plugin="mujoco.test.simple_sensor_plugin"/>
    <plugin name="sensor1" plugin="mujoco.test.simple_sensor_plugin"/>
    <plugin name="sensor2" instance="explicit_instance"/>
  </sensor>
  <actuator><plugin name="actuator2" instance="explicit_instance" joint="j"/></actuator>
</mujoco>"""
CONFIGURATION = f"""<mujoco>
  <extension>
    <plugin plugin="mujoco.test.simple_actuator_plugin">
      <instance name="explicit_instance">
        <config key="resistance" value="1.0"/>
        <config key="inductance" value="2.0"/>
      </instance>
    </plugin>
  </extension>
  {BODY}
  <actuator>
    <plugin name="actuator0" instance="explicit_instance" joint="j"/>
    <plugin name="actuator1" plugin="mujoco.test.simple_actuator_plugin" joint="j">
      <config key="resistance" value="3.0"/>
      <config key="inductance" value="4.0"/>
    </plugin>
  </actuator>
</mujoco>"""


def test_declaration():
    m = compile_model(DECLARATION)
    assert m.nplugin == 3 and m.npluginstate == 1
    assert m.names("plugin") == ["explicit_instance", "", ""]
    assert m.actuator_plugin.tolist() == [0] and m.sensor_plugin.tolist() == [1, 2, 0]


def test_configuration():
    from kinema.plugins.bind import configurations

    m = compile_model(CONFIGURATION)
    assert configurations(m) == [
        {"resistance": "1.0", "inductance": "2.0"}, {"resistance": "3.0", "inductance": "4.0"}
    ]  # fmt: skip
    both = CONFIGURATION.replace(
        'instance="explicit_instance" joint="j"/>',
        'instance="explicit_instance" joint="j"><config key="resistance" value="2"/></plugin>',
    )
    with pytest.raises(CompileError, match="cannot configure it") as caught:
        compile_model(both)
    assert caught.value.line == 12


def test_they_run():
    from kinema import Simulation

    sim = Simulation(CONFIGURATION.replace("<mujoco>", '<mujoco><option><flag constraint="disable"/></option>', 1),
                     worlds=2, device="cpu")  # fmt: skip
    sim.d.ctrl = [[6.0, 6.0], [3.0, 0.0]]
    sim.step()
    np.testing.assert_allclose(sim.d.actuator_force, [[6.0, 2.0], [3.0, 0.0]], rtol=1e-6)
