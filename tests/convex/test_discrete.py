"""The discrete integrator against MuJoCo: the metric, its rows, its step, and what it is for."""

from contextlib import nullcontext

import mujoco
import numpy as np
import pytest

from kinema.convex.metric_pattern import pattern
from kinema.convex.stage import cohort_kernel, lane_kernel
from kinema.errors import KernelsRebuilt
from tests.conformance.staged import OrderedEngine, StagedEngine

from . import mechanisms
from .hopper import compile_kernel, stack
from .recipes import kernels_of
from .test_orders import different

ARM = """
<mujoco>
  <option timestep="0.01" integrator="discrete"/>
  <worldbody>
    <geom type="plane" size="3 3 .1"/>
    <body pos="0 0 .09"><freejoint/><geom name="ball" size=".1" density="300" friction="1 .05 .01"/></body>
    <body pos="0 0 2"><freejoint/><geom type="box" size=".1 .2 .3"/><site name="thrown" pos=".1 0 0"/></body>
    <body name="upper" pos="0 1 1">
      <joint name="a" axis="0 1 0" damping=".4" stiffness="3" springref="20" frictionloss=".3"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".05" mass="1"/>
      <site name="belly" pos=".1 0 .08"/>
      <body pos=".3 0 0">
        <joint name="b" axis="0 1 0" range="-20 20" damping=".2"/>
        <geom type="capsule" fromto="-.05 0 0 .3 0 .05" size=".06" mass=".5"/>
        <site name="hand" pos=".2 0 .05"/>
        <body pos=".3 0 0"><joint name="c" axis="0 0 1" armature=".05"/><geom size=".04" mass=".2"/>
          <site name="tip"/></body>
      </body>
      <body pos="0 0 .2"><joint name="e" type="ball" stiffness="2" damping=".1"/>
        <geom size=".05" mass=".3" pos="0 0 .1"/></body>
    </body>
    <body pos="2 1 1"><joint name="far" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".05" mass="1"/>
      <site name="far" pos=".3 0 0"/></body>
    <site name="wall" pos=".6 1 1.1"/>
  </worldbody>
  <tendon>
    <fixed name="t" stiffness="40 5 2" damping="2 .5" frictionloss=".1"><joint joint="a" coef="1"/>
      <joint joint="c" coef="-.7"/></fixed>
    <spatial name="muscle" range="0 1"><site site="belly"/><site site="hand"/></spatial>
    {tendon}
  </tendon>
  <equality><connect site1="tip" site2="wall"/>{equality}</equality>
  <actuator>{actuator}</actuator>
</mujoco>
"""
ACROSS = """<spatial name="rope" stiffness="200" damping="3" springlength=".5"><site site="tip"/>
  <site site="far"/></spatial>"""
SERVO = '<position joint="b" kp="500" kv="1"/>'
SOFT = '<position joint="b" kp="5" kv=".1"/>'
ACTUATORS = {
    "servo": SERVO,
    "limited": '<position joint="b" kp="500" forcerange="-3 3"/><position joint="a" kp="50" forcerange="-900 900"/>',
    "muscle": '<muscle tendon="muscle" ctrllimited="true" ctrlrange="0 1" lengthrange=".1 .3"/>',
    "tendon": '<position tendon="t" kp="80" kv="2" gear="3"/>',
    "affine": '<general joint="b" gaintype="affine" gainprm="1 -20 -3" biastype="affine" biasprm="1 -2 -1"/>',
    "intvelocity": '<intvelocity joint="c" kp="30" actrange="-1 1"/>',
    "damper": '<damper joint="b" kv="20" ctrlrange="0 1"/>',
    "unstable": '<general joint="b" biastype="affine" biasprm="0 30 4"/>',
    "dcmotor": '<dcmotor joint="b" motorconst="0.05" resistance="2" damping=".1"/>',
    "site": '<position site="tip" refsite="wall" gear="0 0 1 0 0 0" kp="100" kv="2"/>',
    "free": '<position site="thrown" refsite="wall" gear="1 0 0 0 1 0" kp="10" kv="2"/>',
}  # fmt: skip


def arm(actuator=SERVO, tendon="", equality="", **options):
    m = mujoco.MjModel.from_xml_string(ARM.format(actuator=actuator, tendon=tendon, equality=equality))
    for name, value in options.items():
        setattr(m.opt, name, value)
    return m


def put(m, engine, seed=0):
    d = mujoco.MjData(m)
    rng = np.random.default_rng(seed)
    offset = rng.normal(size=m.nv) * 0.02
    offset[: 3 * bool(m.nu)] = 0  # the ball stays on the floor
    mujoco.mj_integratePos(m, d.qpos, offset, 1.0)
    d.qvel[:] = np.float32(rng.normal(size=m.nv))
    if m.nu:
        d.qvel[:6] *= 0.3
        d.qvel[9:12] = [3, -2, 5]  # what flies also spins
    d.ctrl[:] = 0.3
    d.act[:] = 0.2
    d.qpos[:] = np.float32(d.qpos)
    for name in ("qpos", "qvel", "ctrl", "act", "qacc_warmstart", "time"):
        if np.size(getattr(d, name)):
            engine.write(name, getattr(d, name), worlds=[1])
    return d


def follow(m, agree, rtol=2e-4, steps=5):
    """Forward fields, rows, and a few steps."""
    engine = StagedEngine(m, nworld=2, device="cpu")
    d = put(m, engine)
    mujoco.mj_forward(m, d)
    engine.forward()
    agree(engine, d, ("M", "qfrc_passive", "qfrc_actuator", "qfrc_smooth", "qacc_smooth"), rtol)
    assert engine.read("nefc")[1] == d.nefc
    for name in ("efc_R", "efc_D", "efc_aref"):
        theirs = getattr(d, name)
        ours, small = engine.read(name)[1][: d.nefc], 1e-4 * np.abs(theirs).max(initial=0)
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=small, err_msg=name)
    agree(engine, d, ("qacc", "qfrc_constraint"), 5 * rtol)
    d = put(m, engine)
    mujoco.mj_step(m, d, nstep=steps)
    engine.step(steps)
    agree(engine, d, ("qpos", "qvel", "act", "qacc_warmstart"), 5 * rtol)
    return d


@pytest.mark.parametrize("name", ACTUATORS)
def test_actuators(name, agree):
    follow(arm(ACTUATORS[name]), agree)


@pytest.mark.parametrize("cone", [0, 1])
@pytest.mark.parametrize("solver", ["CG", "NEWTON"])
def test_cones(cone, solver, agree):
    d = follow(arm(cone=cone, impratio=2.0, solver=getattr(mujoco.mjtSolver, f"mjSOL_{solver}")), agree)
    assert d.ncon


def test_forces_that_a_dual_solver_drops(agree):
    follow(arm(SOFT, solver=0, iterations=2000, tolerance=1e-12), agree)


def test_noslip(agree):
    follow(arm(noslip_iterations=5, cone=1), agree, 5e-4)


def test_a_tendon_between_trees(agree):
    m = arm(tendon=ACROSS)
    merged = pattern(m)
    assert len(set(merged["dof_treeid"].tolist())) < m.ntree
    follow(m, agree)


def test_weld_and_joint_rows(agree):
    follow(arm(equality='<weld body1="upper"/><joint joint1="far" polycoef=".1 1 0 0 0"/>'), agree)


@pytest.mark.parametrize("flag", ["SPRING", "DAMPER", "REFSAFE", "ACTUATION", "CONSTRAINT", "ISLAND"])
def test_flags(flag, agree):
    follow(arm(disableflags=int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}"))), agree)


@pytest.mark.parametrize("safe", [True, False])
def test_rows_stiffer_than_a_step_can_resolve(safe, agree):
    m = arm(disableflags=0 if safe else int(mujoco.mjtDisableBit.mjDSBL_REFSAFE), cone=1)
    m.geom_solref[:] = m.jnt_solref[:] = m.eq_solref[:] = [0.002, 0.8]
    m.geom_solref[2] = [-1e5, -50]
    follow(m, agree, steps=2)


@pytest.mark.parametrize("solver", ["Newton", "CG", "PGS"])
def test_tolerances_are_meant_beside_the_inertia(solver):
    """Not beside the metric, in which a damper may be heavier than all that moves: as many iterations as MuJoCo's."""
    text = f"""<mujoco><option integrator="discrete" solver="{solver}"/><worldbody><geom type="plane" size="3 3 .1"/>
      <body pos="0 0 .095"><freejoint/><geom type="box" size=".1 .1 .1"/><body pos="0 0 .3">
        <joint axis="0 0 1" damping="1e9"/><geom size=".05" mass=".1"/></body></body></worldbody></mujoco>"""
    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    d.qvel[:6] = np.float32([0.1, 0.2, -0.3, 0.4, 0.1, 0.2])
    mujoco.mj_forward(m, d)
    engine = StagedEngine(m, nworld=1, device="cpu")
    engine.write("qvel", d.qvel[None].astype(np.float32))
    engine.forward()
    assert engine.read("solver_niter")[0] == d.solver_niter[0]
    np.testing.assert_allclose(engine.read("qacc")[0], d.qacc, atol=2e-4)


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_rows_of_no_inverse_weight(cone):
    """The normal has the least R there is, whatever the metric; friction follows it."""
    text = f"""<mujoco><option integrator="discrete" cone="{cone}"/><worldbody><geom type="plane" size="1 1 .1"/>
      <body pos="0 0 .099"><joint axis="0 1 0" damping=".5"/>
        <geom type="box" size=".1 .1 .1" condim="4" friction="2 .02 .01"/></body></worldbody></mujoco>"""
    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    engine = StagedEngine(m, nworld=1, device="cpu")
    engine.forward()
    assert d.nefc and m.body_invweight0[1, 0] == 0.0
    np.testing.assert_allclose(engine.read("efc_D")[0, : d.nefc], d.efc_D, rtol=1e-5)


@pytest.mark.parametrize("name", ["SPRINGS", "FLUID", "YIELDING"])
def test_mechanisms(name, random_state, twin, agree):
    m = mujoco.MjModel.from_xml_string(getattr(mechanisms, name).replace("{integrator}", "Euler"))
    m.opt.integrator, m.opt.timestep = mujoco.mjtIntegrator.mjINT_DISCRETE, 0.01
    d = mujoco.MjData(m)
    random_state(m, d, scale=0.5)
    engine = twin(m, d)
    mujoco.mj_step(m, d)
    engine.step()
    agree(engine, d, ("qpos", "qvel", "act", "time", "plastic"), 1e-5)
    agree(engine, d, ("qacc", "qacc_smooth"), 1e-3)
    for steps, rtol in ((9, 1e-4), (90, 1e-3)):
        mujoco.mj_step(m, d, nstep=steps)
        engine.step(steps)
        agree(engine, d, ("qpos", "qvel"), rtol)


def test_adhesion(agree, twin):
    m = mujoco.MjModel.from_xml_string("""
      <mujoco><option timestep="0.01" integrator="discrete"/><worldbody><geom type="plane" size="1 1 1"/>
      <body name="b" pos="0 0 .099"><joint type="slide" axis="0 0 1" damping="30"/><joint type="slide" axis="1 0 0"/>
      <geom size=".1"/></body></worldbody>
      <actuator><adhesion body="b" ctrlrange="0 1" gain="20"/></actuator></mujoco>""")
    d = mujoco.MjData(m)
    d.ctrl[:] = 0.7
    d.qvel[:] = [0.1, 0.3]
    engine = twin(m, d)
    mujoco.mj_forward(m, d)
    engine.forward()
    agree(engine, d, ("qacc", "qfrc_constraint"), 1e-4)


@pytest.mark.parametrize("cone", [0, 1])
def test_inverse(cone, agree):
    m = arm(cone=cone)
    engine = StagedEngine(m, nworld=2, device="cpu")
    d = put(m, engine)
    mujoco.mj_forward(m, d)
    for seed in range(2):
        d.qacc[:] = np.float32(d.qacc if seed else np.random.default_rng(1).normal(size=m.nv))
        engine.write("qacc", d.qacc, worlds=[1])
        mujoco.mj_inverse(m, d)
        engine.inverse()
        agree(engine, d, ("qfrc_constraint", "qfrc_inverse"), 1e-3)


def test_the_integrator_changes_between_steps(agree):
    m = arm(SOFT, tendon=ACROSS, integrator=0, timestep=0.001)
    engine = StagedEngine(m, nworld=2, device="cpu")
    for kind in (0, 4, 3, 4):
        m.opt.integrator = kind
        with pytest.warns(KernelsRebuilt) if kind else nullcontext():
            engine.set_option("integrator", kind)
        d = put(m, engine)
        mujoco.mj_step(m, d, nstep=3)
        engine.step(3)
        agree(engine, d, ("qpos", "qvel"), 1e-3)


def test_a_spring_that_is_written_ties(agree):
    m = arm(tendon=ACROSS)
    m.tendon_stiffness[2] = m.tendon_damping[2] = 0
    engine = StagedEngine(m, nworld=2, device="cpu")
    for stiffness in (300.0, 0.0, 50.0):
        m.tendon_stiffness[2] = stiffness
        engine.set_parameter("tendon_stiffness", m.tendon_stiffness)
        d = put(m, engine)
        mujoco.mj_step(m, d, nstep=2)
        engine.step(2)
        agree(engine, d, ("qpos", "qvel"), 1e-3)


# ---------------------------------------------------------------------------------------------- CUDA's recipe


def chain(links: int) -> str:
    """Links on hinges, each with a spring; every second one is tied to the first."""
    link = '<body pos=".1 0 0"><joint name="j{0}" axis="0 1 0" stiffness="5" damping=".1" armature=".5"/>'
    link += '<geom size=".04" mass=".1"/>'
    tied = "".join(f'<fixed stiffness="3"><joint joint="j0" coef="1"/><joint joint="j{k}" coef="1"/></fixed>'
                   for k in range(1, links, 2))  # fmt: skip
    bodies = "".join(link.format(k) for k in range(links)) + "</body>" * links
    return f"""<mujoco><option integrator="discrete" timestep=".01"/><worldbody><geom type="plane" size="3 3 .1"
      pos="0 0 -.2"/>{bodies}</worldbody><tendon>{tied}</tendon></mujoco>"""


RECIPES = {
    "a warp": lambda: arm(tendon=ACROSS),
    "noslip": lambda: arm(ACTUATORS["muscle"], tendon=ACROSS, noslip_iterations=3),
    "PGS": lambda: arm(SOFT, solver=0),
    "fluid": lambda: arm(SOFT, density=2.0, viscosity=0.1, solver=1),
    "a team": lambda: mujoco.MjModel.from_xml_string(chain(40)),
    "any size": lambda: mujoco.MjModel.from_xml_string(chain(140)),
}


@pytest.mark.parametrize("name", RECIPES)
def test_orders_of_threads_do_not_matter(name):
    assert different(RECIPES[name]()) == []


@pytest.mark.parametrize("name", ["a team", "any size"])
def test_the_recipe_of_cuda_agrees(name, agree):
    """Smaller systems have stages that need a lane a dof, which the CPU has not."""
    m = RECIPES[name]()
    engine = OrderedEngine(m, nworld=2, device="cpu")
    d = put(m, engine)
    mujoco.mj_step(m, d, nstep=2)
    engine.step(2)
    agree(engine, d, ("qpos", "qvel"), 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_kernels_compile_for_hopper(name):
    for group in kernels_of(RECIPES[name]()):
        lanes = group[0].lanes
        ptx = compile_kernel(lane_kernel(group) if lanes else cohort_kernel(group))
        assert ".visible .entry" in ptx
        assert lanes or stack(ptx) < 4096, "Model and Data must not be copied to each thread"


# ---------------------------------------------------------------------------------------------- what it is for

STIFF_SERVO = """
<mujoco><option timestep="{h}" integrator="{integrator}"/><worldbody>
  <body><joint name="a" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass=".5"/>
    <body pos=".3 0 0"><joint name="b" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass=".3"/>
  </body></body></worldbody>
  <actuator><position joint="a" kp="4000" kv="1"/><position joint="b" kp="4000" kv="1"/></actuator></mujoco>
"""
STIFF_SPRING = """
<mujoco><option timestep="{h}" integrator="{integrator}"/><worldbody>
  <geom type="plane" size="3 3 .1" pos="0 0 -.5"/>
  <body><joint name="a" axis="0 1 0" stiffness="3000" springref="5"/>
    <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass=".5"/><site name="one" pos=".2 0 0"/></body>
  <body pos="0 0 -.3"><joint name="c" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass=".5"/>
    <site name="two" pos=".2 0 0"/></body>
  </worldbody>
  <tendon><spatial stiffness="20000" springlength=".3"><site site="one"/><site site="two"/></spatial></tendon></mujoco>
"""


@pytest.mark.parametrize(("text", "h"), [(STIFF_SERVO, 0.002), (STIFF_SPRING, 0.006)])
def test_stable_at_ten_times_the_step_at_which_euler_fails(text, h, agree):
    failing = mujoco.MjModel.from_xml_string(text.format(h=h, integrator="Euler"))
    d = mujoco.MjData(failing)
    failing.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    d.ctrl[:] = 0.3
    mujoco.mj_step(failing, d, nstep=2000)
    assert not np.abs(d.qvel).max() < 1e3
    m = mujoco.MjModel.from_xml_string(text.format(h=10 * h, integrator="discrete"))
    d, engine = mujoco.MjData(m), StagedEngine(m, nworld=2, device="cpu")
    d.ctrl[:] = 0.3
    if m.nu:
        engine.write("ctrl", d.ctrl)
    for steps in (1, 9, 190):
        mujoco.mj_step(m, d, nstep=steps)
        engine.step(steps)
        agree(engine, d, ("qpos",), 1e-4)
    assert np.abs(d.qvel).max() < 0.1
    assert np.abs(engine.read("qvel")).max() < 0.1
