"""Linearizations against MuJoCo's centered differences in double precision."""

from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

from kinema.errors import BuildError
from kinema.gradients.differences import Differences
from kinema.gradients.stages import refuse
from kinema.simulation import Simulation

from ..conformance.dynamics import put_states
from ..conformance.gradients import converging, error, judge, staged_tangents
from ..conformance.staged import StagedEngine

MECHANISM = """
<mujoco>
  <option timestep="0.003" integrator="{integrator}" cone="{cone}"/>
  <worldbody>
    <geom type="plane" size="3 3 .1" friction="0.6"/>
    <body name="base" pos="0 0 0.11" quat="1 0.02 0.05 0.3">
      <freejoint/>
      <geom type="ellipsoid" size=".2 .15 .1" mass="2"/>
      <site name="imu" pos=".1 0 0" quat="1 .2 0 0"/>
      <body pos=".2 0 0">
        <joint name="ball" type="ball" damping=".1" stiffness="1" range="0 20" limited="true"/>
        <geom type="capsule" fromto="0 0 0 .2 0 .05" size=".04" condim="4" friction=".8 .02 .001"/>
        <body pos=".2 0 .05">
          <joint name="hinge" axis="0 1 .2" damping=".2 .05" frictionloss=".05" range="-10 5" limited="true"/>
          <joint name="slide" type="slide" axis="1 0 0" stiffness="30" damping="1"/>
          <geom type="sphere" size=".05" pos=".1 0 -.1"/>
          <site name="tip" pos=".1 0 0"/>
        </body>
      </body>
    </body>
    <body pos="-.5 0 .5"><joint name="post" axis="0 1 0"/><geom size=".05" pos=".1 0 0"/><site name="far"/></body>
  </worldbody>
  <tendon>
    <spatial name="rope" stiffness="5" damping=".3" springlength=".1"><site site="tip"/><site site="far"/></spatial>
    <fixed name="mix" frictionloss=".02"><joint joint="hinge" coef="1"/><joint joint="slide" coef="3"/></fixed>
  </tendon>
  <equality><joint joint1="post" joint2="hinge" polycoef="0 .5 .1 0 0"/></equality>
  <actuator>
    <position name="servo" joint="hinge" kp="5" kv=".3" forcerange="-2 2"/>
    <motor tendon="rope" gear="2" ctrlrange="-1 1" ctrllimited="true"/>
    <general joint="slide" dyntype="filter" dynprm=".1" gainprm="3"/>
    <velocity site="imu" gear="0 0 1 0 .2 0" kv=".5"/>
  </actuator>
  <sensor>
    <accelerometer site="imu"/><framequat objtype="site" objname="tip"/><tendonpos tendon="rope"/>
    <jointvel joint="hinge"/><subtreeangmom body="base"/><actuatorfrc actuator="servo"/>
  </sensor>
</mujoco>
"""
INTEGRATORS = ("Euler", "implicitfast", "implicit", "discrete")


def settled(integrator: str, cone: str) -> tuple[mujoco.MjModel, list[mujoco.MjData]]:
    """The mechanism lying on the floor, moving a little, in two states that single numbers hold."""
    xml = MECHANISM.format(integrator=integrator, cone=cone)
    m = converging(mujoco.MjModel.from_xml_string(xml))
    d, rng, found = mujoco.MjData(m), np.random.default_rng(3), []
    for k in range(240):
        d.ctrl[:] = 0.3 * rng.normal(size=m.nu)
        mujoco.mj_step(m, d)
        if k in (120, 239):
            state = mujoco.MjData(m)
            for name in ("qpos", "qvel", "act", "ctrl"):
                getattr(state, name)[:] = np.float32(getattr(d, name))
            found.append(state)
    return m, found


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_a_linearization_agrees_with_differences_in_double_precision(integrator, cone):
    m, states = settled(integrator, cone)
    engine = StagedEngine(m, nworld=2)
    put_states(engine, states)
    engine.forward()
    assert engine.read("nefc").min() > 5
    tangents = staged_tangents(engine, sensors=True)
    found, nx = tangents.run().numpy().astype(float), 2 * m.nv + m.na
    for world, d in enumerate(states):
        A, B, C, D = judge(m, d, 1e-6, sensors=True)
        mine = found[world, :nx, :nx], found[world, :nx, nx:], found[world, nx:, :nx], found[world, nx:, nx:]
        errors = [error(*pair) for pair in zip(mine, (A, B, C, D), strict=True)]
        assert max(errors) < 2e-4, errors
        assert np.linalg.norm(B) > 1e-3 and np.linalg.norm(D) > 1e-3
    np.testing.assert_array_equal(tangents.run().numpy(), found.astype(np.float32))


def test_differences_of_steps_come_near():
    m, states = settled("implicitfast", "pyramidal")
    engine = StagedEngine(m, nworld=2)
    put_states(engine, states)
    before = {name: engine.read(name).copy() for name in ("qpos", "qvel", "qacc_warmstart")}
    for centered, worst in ((True, 0.02), (False, 0.15)):  # to one side the error is of first order in eps
        found, nx = Differences(engine)(centered=centered), 2 * m.nv + m.na
        for world, d in enumerate(states):
            A, B, *_ = judge(m, d, 1e-6)
            assert error(found[world, :nx, :nx], A) < worst
            assert error(found[world, :nx, nx:], B) < worst
    for name, value in before.items():
        np.testing.assert_array_equal(engine.read(name), value)


PENDULUM = """
<mujoco><option integrator="{}"/><worldbody><body><joint name="j" axis="0 1 0" damping=".1"/>
<geom size=".1" pos="0 0 -.5" mass="1"/></body></worldbody><actuator><motor joint="j" gear="2"/></actuator></mujoco>
"""


def test_a_simulation_is_linearized_and_stays_as_it_is():
    sim = Simulation(PENDULUM.format("Euler"), worlds=3)
    sim.set_state(qpos=[[0.0], [0.5], [3.0]], qvel=0.25, ctrl=0.0)  # forces of zero are skipped, not their derivatives
    A, B, C, D = sim.linearize()
    assert A.shape == (3, 2, 2) and B.shape == (3, 2, 1) and C.shape == (3, 0, 2) and D.shape == (3, 0, 1)
    m = mujoco.MjModel.from_xml_string(PENDULUM.format("Euler"))
    for world, angle in enumerate((0.0, 0.5, 3.0)):
        d = mujoco.MjData(m)
        d.qpos, d.qvel, d.ctrl = angle, 0.25, 0.0
        theirs = judge(m, d, 1e-6)
        np.testing.assert_allclose(A[world], theirs[0], atol=2e-6)
        np.testing.assert_allclose(B[world], theirs[1], atol=2e-6)
        assert B[world, 1, 0] > 1e-3
    np.testing.assert_array_equal(sim.d.qpos[:, 0], np.float32([0.0, 0.5, 3.0]))
    assert not np.any(sim.d.qacc_warmstart)
    near = sim.linearize(method="fd")
    np.testing.assert_allclose(near.A, A, atol=2e-3)


def test_what_has_no_derivative_is_refused_by_name():
    sleeping = '<option><flag sleep="enable"/></option><worldbody>'
    sim = Simulation(PENDULUM.format("Euler").replace("<worldbody>", sleeping))
    with pytest.raises(BuildError, match='sleep.*use method="fd"'):
        sim.linearize()
    assert sim.linearize(method="fd").A.shape == (1, 2, 2)
    with pytest.raises(BuildError, match="method='exat'.*exact"):
        sim.linearize(method="exat")
    with pytest.raises(BuildError, match="eps"):
        sim.linearize(eps=1e-3)


@pytest.mark.parametrize(
    "options, flex, named",
    [
        ({"enableflags": 1 << 4}, 0, "sleep"),
        ({"enableflags": 1 << 7}, 0, "speculative"),
        ({"noslip_iterations": 2}, 1, "noslip_iterations beside flexes"),
    ],
)
def test_every_refusal_names_what_it_is_about(options, flex, named):
    opt = SimpleNamespace(**{"integrator": 0, "enableflags": 0, "disableflags": 0, "noslip_iterations": 0, **options})
    with pytest.raises(BuildError, match=f'{named}.*use method="fd"'):
        refuse(SimpleNamespace(opt=opt, nflex=flex), [])


TIED = """
<mujoco><option integrator="discrete" gravity="0 0 0"><flag constraint="disable"/></option><worldbody>
<body><joint name="a" type="slide" axis="1 0 0"/><geom size=".1" mass="1"/></body>
<body pos="0 1 0"><joint name="b" type="slide" axis="1 0 0"/><geom size=".1" mass="2"/></body></worldbody>
<tendon><fixed damping="2"><joint joint="a" coef="1"/><joint joint="b" coef="-1"/></fixed></tendon>
<actuator><motor joint="a"/></actuator></mujoco>
"""


def test_where_forces_are_zero_they_have_slopes():
    """Conjugate gradients, which solve what is tied, end where forces do."""
    m = mujoco.MjModel.from_xml_string(TIED)
    engine = StagedEngine(m, nworld=1)
    put_states(engine, [mujoco.MjData(m)])
    engine.forward()
    found = staged_tangents(engine).run().numpy()[0]
    A, B, *_ = judge(m, mujoco.MjData(m), 1e-6)
    assert error(found[:, :4], A) < 1e-5 and error(found[:, 4:], B) < 1e-5


def test_a_tendon_at_its_rest_length_has_its_stiffness():
    xml = """<mujoco><worldbody><body><joint name="a" type="slide"/><geom size=".1" mass="1"/></body></worldbody>
      <tendon><fixed stiffness="30"><joint joint="a" coef="1"/></fixed></tendon></mujoco>"""
    sim, m = Simulation(xml), mujoco.MjModel.from_xml_string(xml)
    sim.reset()
    np.testing.assert_allclose(sim.linearize().A[0], judge(m, mujoco.MjData(m), 1e-6)[0], atol=1e-6)
