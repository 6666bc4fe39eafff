"""A and B in closed form: against differences in double precision, and against derivatives of every stage."""

import mujoco
import numpy as np
import pytest

from kinema.gradients import closed
from kinema.simulation import Simulation

from ..conformance.dynamics import put_states
from ..conformance.gradients import error, judge, staged_closed
from ..conformance.staged import StagedEngine
from .models import LINKAGE, WALKER, settled


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "discrete"])
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("xml", [WALKER, LINKAGE])
def test_a_closed_form_agrees_with_differences_in_double_precision(xml, integrator, cone):
    m, states = settled(xml.format(integrator=integrator, cone=cone))
    assert not closed.against(m)
    for d in states:  # forces from outside are part of it
        d.xfrc_applied[2, :] = [1.0, -2.0, 0.5, 0.1, 0.2, -0.3]
        d.qfrc_applied[7] = 0.2
    engine = StagedEngine(m, nworld=2)
    put_states(engine, states)
    engine.write("xfrc_applied", np.array([d.xfrc_applied for d in states]))
    engine.write("qfrc_applied", np.array([d.qfrc_applied for d in states]))
    engine.forward()
    nx = 2 * m.nv + m.na
    run = staged_closed(engine)
    found = run.run().numpy().astype(float)
    rows = engine.read("nefc")
    assert rows.min() > 9
    for world, d in enumerate(states):
        A, B, *_ = judge(m, d, 1e-6)
        errors = error(found[world, :, :nx], A), error(found[world, :, nx:], B)
        assert max(errors) < 2e-4, errors
        assert np.linalg.norm(B) > 1e-2
    np.testing.assert_array_equal(run.run().numpy(), found.astype(np.float32))
    along = np.random.default_rng(0).normal(size=(2, nx))
    run.along.assign(along)
    product = np.einsum("wi,wij->wj", along, found)
    # both in single precision, through a factor whose rounding each of them meets in its own way
    np.testing.assert_allclose(run.pull().numpy()[:, 0], product, atol=5e-5 * np.abs(product).max())


HELD = """
<mujoco>
  <worldbody>
    <site name="post" pos="0 .3 .5"/>
    <body pos="0 0 1"><joint name="a" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
      <site name="one" pos=".1 0 0"/><site name="two" pos=".2 0 0"/>
      <body pos=".3 0 0"><joint name="b" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="held" actuatorfrclimited="true" actuatorfrcrange="-.2 .2">
      <joint joint="a" coef="1"/><joint joint="b" coef="-.5"/></fixed>
    <fixed name="loose"><joint joint="a" coef=".3"/><joint joint="b" coef=".7"/></fixed>
    <spatial name="idle"><site site="one"/><site site="two"/></spatial>
  </tendon>
  <actuator>
    <motor tendon="loose" gear="2"/><motor joint="a" gear="3"/><motor tendon="held"/><motor tendon="held" gear="2"/>
    <motor joint="b"/><muscle tendon="idle" lengthrange=".05 .2"/>
  </actuator>
</mujoco>
"""
"""Forces that are limited together beside some that are not, and a muscle that moves nothing but its activation."""


@pytest.mark.parametrize("push", [0.02, 2.0])
def test_controls_that_a_limit_couples_are_told_apart(push):
    m = mujoco.MjModel.from_xml_string(HELD)
    d = mujoco.MjData(m)
    d.qpos[:], d.ctrl[:], d.act[:] = [0.3, 0.5], push, 0.25
    for name in ("qpos", "ctrl"):
        getattr(d, name)[:] = np.float32(getattr(d, name))
    engine = StagedEngine(m, nworld=1)
    put_states(engine, [d])
    engine.forward()
    found = staged_closed(engine).run().numpy()[0].astype(float)
    A, B, *_ = judge(m, d, 1e-6)
    np.testing.assert_allclose(found, np.hstack([A, B]), atol=1e-5 * np.abs(B).max())
    assert np.count_nonzero(np.abs(B).max(0) > 1e-6) == (6 if push < 1 else 5)  # past 1 a muscle does not listen


def test_what_has_no_closed_form_is_said():
    xml = """<mujoco><option integrator="{}"/><worldbody><body><joint name="a"/><geom size=".1"/>
    <body name="tip" pos="1 0 0"><joint name="b" type="{}" {}/><geom size=".1"/></body></body></worldbody>{}</mujoco>"""

    def why(integrator="Euler", kind="hinge", joint="", more=""):
        return closed.against(mujoco.MjModel.from_xml_string(xml.format(integrator, kind, joint, more)))

    assert why() == ""
    assert "RK4" in why("RK4")
    assert why(kind="ball", joint='range="0 30" limited="true"') == ""
    assert why(more='<equality><joint joint1="a" joint2="b"/></equality>') == ""
    assert why(more='<option density="1000"/>') == ""
    tendon = '<tendon><fixed {}><joint joint="a" coef="1"/></fixed></tendon>'
    assert why(more=tendon.format("")) == ""
    assert "armature" in why(more=tendon.format('armature="1"'))
    assert "contacts" in why(more='<actuator><adhesion body="tip" ctrlrange="0 1"/></actuator>')


def test_a_spring_that_is_written_later_counts():
    """What pushes dofs is looked up again when numbers of the model change."""
    sim = Simulation("""<mujoco><worldbody><body><joint name="a" axis="0 1 0"/><geom size=".1" pos="0 0 -.5"/>
        </body></worldbody></mujoco>""")
    sim.reset()
    before = sim.linearize(sensors=False).A[0]
    sim.m.jnt_stiffness[:] = 30.0
    after = sim.linearize(sensors=False).A[0]
    h, inertia = float(sim.model.opt.timestep), float(sim.d.M[0, 0])
    np.testing.assert_allclose(after[1, 0] - before[1, 0], -h * 30.0 / inertia, rtol=1e-4)


CARRIED = """<mujoco><worldbody><body><freejoint/><geom size=".1"/>
  <body pos=".02 0 .2"><joint axis="0 1 0"/><geom type="cylinder" size=".06 .035" euler="{tilt} 20 0"/></body>
  <body pos="-.01 .02 {high}"><joint axis="1 0 0"/><geom type="cylinder" size=".06 .035" euler="70 {tilt} 0"/></body>
  </body></worldbody><contact><exclude body1="world" body2="world"/></contact></mujoco>"""


@pytest.mark.parametrize("tilt", [10, 25, 40])
def test_what_carries_both_bodies_of_a_contact_does_not_move_it(tilt):
    """Two rims that touch turn fast on each other; what moves both as one turns nothing, to the last digits."""
    for high in np.arange(0.25, 0.35, 0.0003):  # down, or rather up, until they hardly touch
        m = mujoco.MjModel.from_xml_string(CARRIED.format(tilt=tilt, high=high))
        m.opt.gravity = 0
        d = mujoco.MjData(m)
        mujoco.mj_forward(m, d)
        if d.ncon == 1 and d.contact.dist[0] > -4e-4:
            break
    assert d.ncon == 1 and d.contact.dist[0] < 0
    d.qvel[6:] = 0.3, -0.2
    engine = StagedEngine(m, nworld=1)
    put_states(engine, [d])
    engine.forward()
    A = staged_closed(engine).run().numpy()[0].astype(float)
    assert np.abs(A[m.nv :, 6:8]).max() > 0.05, "the contact matters"
    assert not A[m.nv :, :3].any()
