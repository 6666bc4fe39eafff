"""implicitfast where dampers and actuators on joints are all that slopes hold: a diagonal is enough."""

import mujoco
import numpy as np
import pytest

from kinema.convex.integrate.derivatives import is_diagonal
from tests.conformance.staged import StagedEngine

ARM = """
<mujoco>
  <option integrator="implicitfast" {option}/>
  <worldbody>
    <body pos="0 0 1"><freejoint/><geom size=".1"/></body>
    <body>
      <joint name="a" axis="0 1 0" damping=".3"/><geom type="capsule" size=".04" fromto="0 0 0 .3 0 0"/>
      <body pos=".3 0 0">
        <joint name="b" axis="0 0 1" damping=".1"/><geom type="capsule" size=".04" fromto="0 0 0 .3 0 0"/>
        <body pos=".3 0 0"><joint name="c" type="{joint}"/><geom type="box" size=".1 .05 .02"/></body>
      </body>
    </body>
  </worldbody>
  <tendon>{tendon}</tendon>
  <actuator>
    <position joint="a" kp="20" kv="3"/><velocity joint="b" kv="2" gear="3"/><motor joint="c" gear="1 .5 .2"/>
    <velocity joint="a" kv="1.5" gear="-2"/>
  </actuator>
</mujoco>"""
TENDON = '<fixed damping=".5"><joint joint="a" coef="1"/><joint joint="b" coef="-2"/></fixed>'


@pytest.mark.parametrize(
    ("given", "diagonal"),
    [
        ({}, True),
        ({"joint": "ball"}, False),
        ({"tendon": TENDON}, False),
        ({"option": 'density="1000"'}, False),
    ],
)
@pytest.mark.parametrize("cuda", [False, True])
def test_it_steps_as_mujoco_does(given: dict[str, str], diagonal: bool, cuda: bool):
    m = mujoco.MjModel.from_xml_string(ARM.format(**{"option": "", "joint": "hinge", "tendon": "", **given}))
    assert is_diagonal(m) == diagonal
    engine, d = StagedEngine(m, 2, device="cpu", cuda=cuda), mujoco.MjData(m)
    d.qvel[:], d.ctrl[:] = np.linspace(-2, 3, m.nv), 0.4
    engine.write("qvel", d.qvel)
    engine.write("ctrl", d.ctrl)
    for _ in range(3):
        mujoco.mj_step(m, d)
        engine.step()
    np.testing.assert_allclose(engine.read("qvel")[1], d.qvel, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(engine.read("qDeriv")[1], d.qDeriv, rtol=1e-4, atol=1e-4)


def test_what_another_integrator_has_left_is_cleared():
    """A free body on its own reads whole rows of qDeriv."""
    m = mujoco.MjModel.from_xml_string(ARM.format(option="", joint="hinge", tendon=""))
    engine, d = StagedEngine(m, 1, device="cpu"), mujoco.MjData(m)
    engine.write("qvel", np.full(m.nv, 2.0))
    d.qvel[:] = 2.0
    for kind in (mujoco.mjtIntegrator.mjINT_IMPLICIT, mujoco.mjtIntegrator.mjINT_IMPLICITFAST):
        engine.set_option("integrator", int(kind))
        m.opt.integrator = kind
        for _ in range(3):
            mujoco.mj_step(m, d)
            engine.step()
    np.testing.assert_allclose(engine.read("qvel")[0], d.qvel, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(engine.read("qDeriv")[0], d.qDeriv, rtol=1e-4, atol=1e-4)
