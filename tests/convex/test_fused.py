"""The engine that programs run is the one that conformance looks at.

Conformance runs a kernel a stage, which models share (tests/conformance/staged.py); programs run stages that were
compiled together in parts, made for the model. Both are given every integrator, solver and cone, and what is chosen by
them besides: they must agree to rounding. One mechanism for all, so that most parts are compiled once.
"""

import mujoco
import numpy as np
import pytest

from kinema.convex.engine import Engine
from tests.conformance.staged import StagedEngine

XML = """
<mujoco>
  <option timestep="0.002" {option}><flag {flag}/></option>
  <default><geom condim="4" friction=".6 .01 .01"/></default>
  <worldbody>
    <geom type="plane" size="3 3 .1"/>
    <body pos="0 0 .097"><freejoint/><geom size=".1"/></body>
    <body pos=".5 0 .4">
      <joint name="a" axis="0 1 0" damping=".2" stiffness="2" frictionloss=".05"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".04"/>
      <body pos=".3 0 0">
        <joint name="b" axis="0 1 0" range="-.2 .2" limited="true" armature=".01"/>
        <geom type="capsule" fromto="0 0 0 .25 0 -.35" size=".05"/>
        <site name="tip" pos=".25 0 -.35"/>
      </body>
    </body>
    <body pos="-.5 0 .5"><joint name="c" axis="1 0 0" damping=".1"/><geom size=".05" pos="0 .1 0"/></body>
  </worldbody>
  <tendon><fixed name="t" damping=".1"><joint joint="a" coef=".5"/><joint joint="c" coef="-1"/></fixed></tendon>
  <equality><joint joint1="c" joint2="a" polycoef="0 .5 0 0 0"/></equality>
  <actuator><position joint="b" kp="20" kv=".5"/><general tendon="t" dyntype="filter" dynprm=".05"/></actuator>
  <sensor><accelerometer site="tip"/><jointlimitfrc joint="b"/><tendonvel tendon="t"/></sensor>
</mujoco>
"""

CASES = [
    ('integrator="Euler" cone="pyramidal" solver="Newton"', ""),
    ('integrator="Euler" cone="elliptic" solver="Newton"', ""),
    ('integrator="Euler" cone="pyramidal" solver="CG"', ""),
    ('integrator="Euler" cone="elliptic" solver="PGS"', ""),
    ('integrator="RK4" cone="pyramidal" solver="PGS"', ""),
    ('integrator="RK4" cone="elliptic" solver="Newton" iterations="2"', ""),
    ('integrator="implicit" cone="elliptic" solver="CG" density="10"', ""),
    ('integrator="implicitfast" cone="pyramidal" solver="Newton"', 'island="disable"'),
    ('integrator="implicitfast" cone="elliptic" solver="Newton" noslip_iterations="2"', ""),
    ('integrator="discrete" cone="elliptic" solver="Newton"', ""),
    ('integrator="discrete" cone="pyramidal" solver="CG"', ""),
    ('integrator="discrete" cone="elliptic" solver="PGS" noslip_iterations="1"', ""),
]
FORWARD = ("xpos", "qfrc_bias", "qfrc_passive", "actuator_force", "qacc_smooth", "qacc", "qfrc_constraint",
           "sensordata")  # fmt: skip
STATE = ("qpos", "qvel", "act", "qacc_warmstart")


@pytest.mark.parametrize(("option", "flag"), CASES, ids=[o.replace('"', "") for o, _ in CASES])
def test_parts_do_what_stages_do(option, flag):
    m = mujoco.MjModel.from_xml_string(XML.format(option=option, flag=flag))
    rng = np.random.default_rng(1)
    qpos = np.array(m.qpos0) + np.array([0.0] * 7 + [0.2, 0.25, 0.1])
    qvel, ctrl = 0.5 * rng.normal(size=m.nv), np.array([0.4, -0.3])
    engines = [kind(m, 1, device="cpu") for kind in (StagedEngine, Engine)]
    for engine in engines:
        engine.write("qpos", qpos)
        engine.write("qvel", qvel)
        engine.write("ctrl", ctrl)
        engine.forward()
    assert engines[0].read("ncon")[0] > 1 and engines[0].read("nefc")[0] > 8
    agree(*engines, FORWARD, 2e-5)
    for engine in engines:
        engine.step(5)
    agree(*engines, STATE, 1e-4)


def agree(staged: Engine, fused: Engine, names: tuple[str, ...], rtol: float) -> None:
    for name in ("ncon", "nefc"):
        assert staged.read(name)[0] == fused.read(name)[0]
    for name in names:
        one, other = staged.read(name)[0], fused.read(name)[0]
        np.testing.assert_allclose(other, one, atol=rtol * max(1.0, np.abs(one).max()), rtol=0, err_msg=name)
