"""The no-slip pass against MuJoCo's, and what it is for: bodies that do not creep."""

import mujoco
import numpy as np
import pytest

from kinema.convex.constraint import assemble
from kinema.convex.solve.dual import noslip
from kinema.convex.solve.primal import newton
from kinema.convex.stage import Stage
from tests.conformance.staged import StagedEngine
from tests.convex.stage_harness import Harness

SLOPE = """
<mujoco>
  <option cone="{cone}" noslip_iterations="{noslip}" gravity="3 0 -9.81" timestep=".004"/>
  <worldbody>
    <geom type="plane" size="9 9 9"/>
    <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" solimp=".8 .8 .01"/></body>
  </worldbody>
</mujoco>
"""


RESTING = """
<mujoco>
  <option cone="{cone}" gravity="2 1 -9.81" noslip_tolerance="0" iterations="200" tolerance="1e-14"/>
  <default><geom condim="{condim}" friction=".8 .05 .02" solimp=".7 .8 .01"/></default>
  <worldbody>
    <geom type="plane" size="9 9 9"/>
    <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
    <body pos=".02 .01 .29"><freejoint/><geom type="box" size=".08 .1 .09"/></body>
    <body pos="1 0 .1"><freejoint/><geom size=".1"/></body>
    <body pos="0 1 .08"><joint type="slide" axis="1 0 0" frictionloss="1.5"/><joint type="slide" axis="0 0 1"/>
      <joint axis="0 1 0" frictionloss=".05"/><geom type="capsule" size=".08 .1"/></body>
  </worldbody>
</mujoco>
"""


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("condim", [3, 4, 6])
def test_like_mujoco(cone, condim):
    """Bodies at rest on a slope, where friction holds."""
    m = mujoco.MjModel.from_xml_string(RESTING.format(cone=cone, condim=condim))
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ISLAND)
    d = mujoco.MjData(m)
    mujoco.mj_step(m, d, 150)
    mujoco.mj_forward(m, d)
    without = d.qfrc_constraint.copy()
    m.opt.noslip_iterations = 20
    mujoco.mj_forward(m, d)
    assert np.abs(without - d.qfrc_constraint).max() > 5e-3 * np.abs(without).max(), "the pass changes forces"
    harness = Harness(m, nworld=2, nconmax=64, nefcmax=256)
    harness.inject(d)
    for name in ("efc_J", "dual_B", "dual_block"):  # what lies outside the blocks must never be read
        harness.layout.arrays[name].fill_(np.nan)
    rows = (stage for part in assemble.stages(m) for stage in part)
    harness.run(*rows, Stage(newton(), lanes=True), Stage(noslip(), lanes=True))
    for name in ("qfrc_constraint", "qacc"):
        theirs = getattr(d, name)
        scale = np.abs(theirs).max() + (np.abs(d.qacc_smooth).max() if name == "qacc" else 0)
        np.testing.assert_allclose(harness.read(name, 1), theirs, rtol=0, atol=1e-3 * scale, err_msg=name)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_box_on_a_slope_stays(cone):
    """Regularized friction creeps; the pass holds the box."""
    crept = {}
    for iterations in (0, 10):
        engine = StagedEngine(mujoco.MjModel.from_xml_string(SLOPE.format(cone=cone, noslip=iterations)), device="cpu")
        engine.step(250)
        settled = engine.read("qpos")[0, 0]
        engine.step(500)
        crept[iterations] = engine.read("qpos")[0, 0] - settled
    assert crept[0] > 1e-3 and abs(crept[10]) < 0.05 * crept[0]


LIGHT_FEET = """
<mujoco>
  <option cone="elliptic" noslip_iterations="3"/>
  <default><geom condim="6" friction="1 .05 .02"/><joint type="slide" damping=".01"/></default>
  <worldbody>
    <geom type="plane" size="9 9 9"/>
    <body pos="0 0 .296"><freejoint/>
      <geom type="box" size=".1 .1 .05" mass="5" contype="0" conaffinity="0"/>
      <body pos=".1 .02 -.28"><joint axis="1 .7 0"/><geom size=".02" mass="1e-8"/></body>
    </body>
  </worldbody>
</mujoco>
"""


def test_blocks_keep_their_small_eigenvalues():
    """A foot of next to no inertia is light along its slide and heavy across it: inertias far apart in one block."""
    m = mujoco.MjModel.from_xml_string(LIGHT_FEET)
    d = mujoco.MjData(m)
    mujoco.mj_integratePos(m, d.qpos, np.full(m.nv, 0.03), 1.0)
    d.qpos[2] = 0.29
    mujoco.mj_forward(m, d)
    harness = Harness(m, nworld=1, nconmax=4, nefcmax=16)
    harness.inject(d)
    rows = (stage for part in assemble.stages(m) for stage in part)
    harness.run(*rows, Stage(newton(), lanes=True), Stage(noslip(), lanes=True))
    jacobian = d.efc_J.reshape(d.nefc, m.nv)
    solved = np.zeros_like(jacobian)
    mujoco.mj_solveM(m, d, solved, jacobian)
    theirs = np.linalg.eigvalsh((jacobian @ solved.T)[1:6, 1:6])
    ours = np.linalg.eigvalsh(harness.layout.arrays["dual_block"].numpy()[0, 1:6, 1:6].astype(float))
    assert theirs[-1] > 1e7 * theirs[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-3)


WEDGED = """<mujoco><option cone="elliptic" impratio="10" noslip_iterations="3"/><worldbody>
  <geom type="plane" size="9 9 1"/><geom type="box" size="1 1 .1" pos="0 0 .55"/>
  <body pos="0 0 .225"><freejoint/><geom type="box" size=".2 .2 .24" mass="20"/>
    <body pos=".3 0 -.18"><joint axis="0 0 1"/><geom size=".03" mass="1" pos=".05 0 0"/>
      <body pos=".06 0 -.02"><joint axis="0 1 0"/><geom size=".012" mass=".001" pos=".01 0 -.02"/></body></body></body>
  </worldbody></mujoco>"""


def test_large_forces_that_cancel_leave_accelerations_their_digits():
    """Wedged in by thousands of newtons, a body hardly turns: what the solver found is kept, and not added up again."""
    m = mujoco.MjModel.from_xml_string(WEDGED)
    d = mujoco.MjData(m)
    d.qvel[:] = np.linspace(-0.3, 0.4, m.nv)
    engine = StagedEngine(m, 1, device="cpu")
    engine.write("qvel", np.array(d.qvel))
    mujoco.mj_forward(m, d)
    engine.forward()
    assert np.abs(d.efc_force).max() > 1e4 and d.solver_niter[0] < m.opt.iterations
    np.testing.assert_allclose(engine.read("qacc")[0][:6], d.qacc[:6], rtol=1e-5, atol=3e-5)
    np.testing.assert_allclose(engine.read("qfrc_constraint")[0], d.qfrc_constraint, rtol=1e-4)


TIED = """
<mujoco>
  <option integrator="discrete" cone="pyramidal" noslip_iterations="5" timestep=".004" noslip_tolerance="0"/>
  <default><geom friction=".5 .02 .01" condim="4" solimp=".7 .8 .01"/></default>
  <worldbody>
    <geom type="plane" size="3 3 .1"/>
    <body pos="0 0 .3">
      <joint name="x" type="slide" axis="1 0 0" frictionloss=".3"/><joint type="slide" axis="0 0 1"/>
      <joint name="h" axis="0 1 0" damping=".1"/><geom type="capsule" fromto="0 0 0 .2 0 -.2" size=".03"/>
      <body pos=".2 0 -.2">
        <joint name="k" axis="0 1 0" frictionloss=".05"/><geom type="capsule" fromto="0 0 0 .1 0 -.1" size=".03"/>
      </body>
    </body>
    <body pos="0 1 .3">
      <joint name="y" type="slide" axis="1 0 0" frictionloss=".3"/><joint type="slide" axis="0 0 1"/>
      <geom type="capsule" fromto="0 0 0 .2 0 -.28" size=".03"/>
    </body>
  </worldbody>
  <tendon>
    <fixed name="t" stiffness="20" damping="1"><joint joint="h" coef="1"/><joint joint="y" coef="2"/></fixed>
  </tendon>
  <actuator><position tendon="t" kp="30" kv="2"/><position joint="k" kp="5"/></actuator>
</mujoco>
"""


def test_a_metric_that_is_more_than_its_factor():
    """A tendon ties dofs: the pass knows the factor alone, and starts from forces added up by it."""
    m = mujoco.MjModel.from_xml_string(TIED)
    m.opt.iterations, m.opt.tolerance = 200, 1e-12
    d = mujoco.MjData(m)
    mujoco.mj_step(m, d, 120)
    d.ctrl[:] = 0.3
    d.qvel[0] += 0.1
    d.qpos[:], d.qvel[:] = np.float32(d.qpos), np.float32(d.qvel)
    engine = StagedEngine(m, 1, device="cpu")
    for name in ("qpos", "qvel", "ctrl", "qacc_warmstart"):
        engine.write(name, np.array(getattr(d, name)))
    mujoco.mj_forward(m, d)
    engine.forward()
    for name in ("qacc", "qfrc_constraint"):
        theirs = getattr(d, name)
        np.testing.assert_allclose(engine.read(name)[0], theirs, atol=2e-5 * np.abs(theirs).max(), err_msg=name)
