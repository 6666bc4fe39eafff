"""What has nothing to move, or is switched off, leaves no rows and no velocities; as in MuJoCo."""

import mujoco
import numpy as np
import pytest

HELD = """<mujoco><worldbody><body name="a" mocap="true"><geom size=".1" contype="0"/></body>
  <body name="s" pos="0 0 1"><geom size=".1" contype="0"/></body>{more}</worldbody>
  <equality><connect body1="a" body2="s" anchor="0 0 0"/><weld body1="a" body2="s"/>{ties}</equality></mujoco>"""
FREE = '<body name="f" pos="1 0 1"><freejoint/><geom size=".1"/></body>'


@pytest.mark.parametrize("ties", ["", '<connect body1="f" body2="s" anchor="0 0 0"/>'])
def test_equalities_between_bodies_that_nothing_moves(ties, twin, agree):
    m = mujoco.MjModel.from_xml_string(HELD.format(more=FREE, ties=ties))
    d = mujoco.MjData(m)
    engine = twin(m, d)
    mujoco.mj_forward(m, d)
    engine.forward()
    assert d.ne == (3 if ties else 0)
    assert engine.read("ne")[1] == d.ne and engine.read("nefc")[1] == d.nefc
    agree(engine, d, ("qacc",), 1e-4)


def test_actuators_switched_off_have_no_velocity(twin):
    m = mujoco.MjModel.from_xml_string("""<mujoco><option><flag actuation="disable"/></option><worldbody><body>
      <joint name="j"/><geom size=".1"/></body></worldbody><actuator><motor joint="j"/></actuator></mujoco>""")
    d = mujoco.MjData(m)
    d.qvel[:] = 1
    engine = twin(m, d)
    mujoco.mj_forward(m, d)
    engine.forward()
    np.testing.assert_array_equal(engine.read("actuator_velocity")[1], d.actuator_velocity)
    np.testing.assert_array_equal(d.actuator_velocity, 0)
