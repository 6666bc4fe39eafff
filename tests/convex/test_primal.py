"""The constraint solver against MuJoCo's, on MuJoCo's own rows."""

import mujoco
import numpy as np
import pytest

from kinema.convex.constraint import assemble
from kinema.convex.engine import Engine
from kinema.convex.solve.primal import newton
from kinema.convex.solve.sparse import conjugate_gradient
from kinema.convex.stage import Stage
from tests.conformance.dynamics import put_states
from tests.conformance.staged import StagedEngine
from tests.convex.constraint.test_rows import SCENE
from tests.convex.stage_harness import Harness


def solve_both(m, d, warm=False, solver=None):
    """MuJoCo at convergence, and ours from the same rows."""
    m.opt.iterations, m.opt.tolerance = 200, 1e-14
    mujoco.mj_forward(m, d)
    harness = Harness(m, nworld=2)
    harness.inject(d)
    for name in ("efc_J", "solver_H", "solver_treeM"):  # what lies outside the blocks must never be read
        harness.layout.arrays[name].fill_(np.nan)
    if not warm:
        harness.write("qacc_warmstart", np.zeros(m.nv))
    harness.run(*(stage for part in assemble.stages(m) for stage in part), Stage(solver or newton(), lanes=True))
    return harness


def check(m, d, harness):
    scale = np.abs(d.qacc).max() + np.abs(d.qacc_smooth).max()
    np.testing.assert_allclose(harness.read("qacc", 1), d.qacc, rtol=5e-3, atol=5e-4 * scale)
    force = np.abs(d.qfrc_constraint).max()
    np.testing.assert_allclose(harness.read("qfrc_constraint", 1), d.qfrc_constraint, rtol=5e-3, atol=1e-3 * force)
    assert force > 0


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("condim", [1, 3, 4, 6])
def test_every_kind_of_row(cone, condim, random_state):
    m = mujoco.MjModel.from_xml_string(SCENE.format(cone=cone, condim=condim, impratio=3.5))
    d = mujoco.MjData(m)
    random_state(m, d, scale=0.15)
    check(m, d, solve_both(m, d))


@pytest.mark.parametrize("model", ["suite/humanoid.xml", "suite/quadruped.xml", "suite/finger.xml"])
@pytest.mark.parametrize("cone", [0, 1])
def test_real_models_in_contact(model, cone, dm_control_assets, random_state):
    m = mujoco.MjModel.from_xml_path(str(dm_control_assets / model))
    m.opt.cone = cone
    d = mujoco.MjData(m)
    random_state(m, d)
    mujoco.mj_step(m, d, 200)
    check(m, d, solve_both(m, d))
    harness = solve_both(m, d, warm=True)
    assert harness.read("solver_niter", 1) <= 2, "a warm start at the solution has nothing left to do"


@pytest.mark.parametrize("model", ["suite/humanoid.xml", "suite/quadruped.xml"])
def test_conjugate_gradients_reach_the_same_acceleration(model, dm_control_assets, random_state):
    m = mujoco.MjModel.from_xml_path(str(dm_control_assets / model))
    m.opt.solver = mujoco.mjtSolver.mjSOL_CG
    d = mujoco.MjData(m)
    random_state(m, d)
    mujoco.mj_step(m, d, 200)
    harness = solve_both(m, d, solver=conjugate_gradient())
    check(m, d, harness)
    assert 3 < harness.read("solver_niter", 1) < 200


def test_room_for_fewer_rows_than_a_vector_has():
    m = mujoco.MjModel.from_xml_string("""<mujoco><worldbody><body><joint axis="0 1 0" frictionloss=".3" limited="true"
        range="-10 10"/><geom size=".1" pos=".3 0 0"/></body></worldbody></mujoco>""")
    d = mujoco.MjData(m)
    d.qpos[0] = 0.3
    engine = Engine(m, 1, device="cpu")
    engine.write("qpos", d.qpos[None])
    engine.step(1)
    mujoco.mj_step(m, d)
    assert d.nefc == 2 and engine.d.efc.D.shape[1] < 8
    np.testing.assert_allclose(engine.read("efc_force")[0, :2], d.efc_force, rtol=1e-4)
    np.testing.assert_allclose(engine.read("qvel")[0], d.qvel, rtol=1e-4)


def test_conjugate_gradients_of_stiff_rows_go_on_to_the_minimum(dm_control_assets, random_state):
    """Directions stay conjugate to those before them: with floats the search ends half way, far from the minimum."""
    m = mujoco.MjModel.from_xml_path(str(dm_control_assets / "suite/humanoid.xml"))
    m.opt.solver, m.opt.iterations, m.opt.tolerance = mujoco.mjtSolver.mjSOL_CG, 200, 1e-8
    m.opt.o_solimp[:] = [0.99, 0.999, 0.001, 0.5, 2]
    m.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_OVERRIDE)
    d = mujoco.MjData(m)
    random_state(m, d)
    mujoco.mj_step(m, d, 200)
    d.qacc_warmstart[:] = 0
    mujoco.mj_forward(m, d)
    taken = int(d.solver_niter[: d.nisland].max())
    assert taken > 20
    engine = StagedEngine(m, nworld=1)
    put_states(engine, [d])
    engine.forward()
    assert engine.read("solver_niter")[0] > 0.8 * taken
    np.testing.assert_allclose(engine.read("qacc")[0], d.qacc, atol=2e-4 * np.abs(d.qacc).max())


TABLE = """<body>
  <joint type="slide" axis="0 0 1" stiffness="500" damping="5" range="-.1 .0005" limited="true" margin=".001"/>
  <geom type="box" size=".5 .5 .1" mass="3"/></body>"""
PUCK = """<body name="puck" pos="0 0 .299"><joint type="slide" axis="1 0 0" frictionloss=".2"/>
  <joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/><geom size=".2" mass="2"/></body>"""
CHAIN = '<body pos="{k} 0 3"><joint name="j{k}" axis="0 1 0" frictionloss=".1"/><geom size=".1" pos=".2 0 0"/></body>'


@pytest.mark.parametrize("order", [(TABLE, PUCK), (PUCK, TABLE)])
def test_rows_with_one_number_beside_others(order):
    """A puck slides on a table: of the rows of the cone one has numbers in both trees, the others in one, far apart."""
    between = "".join(CHAIN.format(k=k) for k in range(2, 14))
    m = mujoco.MjModel.from_xml_string(f"""
    <mujoco><option cone="elliptic" timestep=".001"/><default><geom friction=".3"/></default>
    <worldbody>{order[0]}{between}{order[1]}</worldbody>
    <equality><joint joint1="j3" joint2="j12" polycoef="0 .5 0 0 0"/></equality></mujoco>""")
    d = mujoco.MjData(m)
    d.joint(int(m.body("puck").jntadr[0])).qvel = 0.7
    d.qvel += 0.01 * np.random.default_rng(0).normal(size=m.nv)
    mujoco.mj_forward(m, d)
    rows = d.efc_J.reshape(d.nefc, m.nv)
    assert d.ncon == 1 and mujoco.mjtConstraintState.mjCNSTRSTATE_CONE in d.efc_state
    assert (np.count_nonzero(rows[-3:], axis=1) == [2, 1, 1]).all() and d.nf == 13 and d.ne == 1 and d.nl == 1
    check(m, d, solve_both(m, d))


def test_many_trees():
    """A heap of free bodies: the Hessian is sparse, and elimination fills it in."""
    heap = "".join(
        f'<body pos="{0.15 * (i % 3)} {0.15 * (i // 3 % 3)} {0.1 + 0.15 * (i // 9)}"><freejoint/>'
        f'<geom type="{("box", "sphere")[i % 2]}" size=".08 .08 .08"/></body>'
        for i in range(40)
    )
    ground = '<geom type="plane" size="9 9 9"/>'
    m = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{ground}{heap}</worldbody></mujoco>")
    d = mujoco.MjData(m)
    mujoco.mj_step(m, d, 60)
    assert m.ntree == 40 and d.nefc > 200
    check(m, d, solve_both(m, d))


def test_worlds_do_not_touch_each_other(dm_control_assets, random_state):
    m = mujoco.MjModel.from_xml_path(str(dm_control_assets / "suite/humanoid.xml"))
    d = mujoco.MjData(m)
    random_state(m, d)
    mujoco.mj_step(m, d, 200)
    harness = solve_both(m, d)
    np.testing.assert_array_equal(harness.read("qacc", 0), harness.read("qacc", 1))


def solve_as_given(m, d):
    """MuJoCo at its own iterations, and ours from the same rows and the same start."""
    mujoco.mj_forward(m, d)
    harness = Harness(m)
    harness.inject(d)
    harness.run(*(stage for part in assemble.stages(m) for stage in part), Stage(newton(), lanes=True))
    return harness


FLYWHEEL = """<mujoco><option cone="{cone}" tolerance="1e-12"/><worldbody><geom type="plane" size="9 9 1" condim="1"/>
  <body pos="0 0 .019"><freejoint/><inertial pos="0 0 0" mass=".02" diaginertia="1e6 1e6 1e6"/>
    <geom type="sphere" size=".02" condim="{condim}"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("condim", [1, 4])
def test_a_large_inertia_does_not_hide_small_forces(cone, condim):
    """The weight of 20 g is less than 1e-6 of the sum of the inertias: it is carried all the same."""
    m = mujoco.MjModel.from_xml_string(FLYWHEEL.format(cone=cone, condim=condim))
    d = mujoco.MjData(m)
    d.qvel[:3] = 0.3, 0.1, -0.2
    harness = solve_as_given(m, d)
    assert d.qfrc_constraint[2] > 0.1
    np.testing.assert_allclose(harness.read("qacc")[:3], d.qacc[:3], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(harness.read("qfrc_constraint")[:3], d.qfrc_constraint[:3], rtol=1e-3, atol=1e-5)


SPINNER = """<mujoco><option iterations="{iterations}" ls_iterations="{search}"/><worldbody><body>
  <joint name="spin" frictionloss=".1"/><geom size=".05" mass="5"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("iterations, search", [(1, 2), (1, 4), (2, 8), (100, 50)])
def test_a_search_cut_short_leaves_the_force_of_its_rows(iterations, search):
    """Where few iterations end before the minimum, J'f is not M (a - a_s), and MuJoCo's answer is J'f."""
    m = mujoco.MjModel.from_xml_string(SPINNER.format(iterations=iterations, search=search))
    d, short = mujoco.MjData(m), 0
    for velocity in np.linspace(-0.2, 0.2, 21):
        d.qvel[:] = velocity
        harness = solve_as_given(m, d)
        inertial = d.M[0] * (d.qacc[0] - d.qacc_smooth[0])
        short += abs(d.qfrc_constraint[0] - inertial) > 0.01 * abs(d.qfrc_constraint[0])
        np.testing.assert_allclose(harness.read("qacc"), d.qacc, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(harness.read("qfrc_constraint"), d.qfrc_constraint, rtol=1e-3, atol=1e-6)
    assert short == 0 or iterations < 100


BAR = """<mujoco><option iterations="10" ls_iterations="6"/><worldbody><geom type="plane" size="1 1 1"/>
  <body><joint type="free" frictionloss=".005"/>
    <geom type="box" size=".048 .01 .01" mass=".044" condim="6" friction="1 .05 .001"/></body></worldbody></mujoco>"""


def test_a_search_cut_short_may_step_backwards():
    """A search that runs out of evaluations while it looks for a bracket ends where it is, be that behind its start."""
    m = mujoco.MjModel.from_xml_string(BAR)
    rng, backwards = np.random.default_rng(0), 0
    for _ in range(200):
        d = mujoco.MjData(m)
        d.qpos[2] = rng.uniform(0, 0.01)
        mujoco.mj_integratePos(m, d.qpos, np.r_[0, 0, 0, rng.normal(size=3)], 0.1)
        d.qvel[:] = rng.normal(size=m.nv) * [0, 0, 0.3, 1, 0, 0]
        mujoco.mj_forward(m, d)
        if not (d.solver_niter[0] and d.solver[0].improvement < -1e-3):
            continue
        backwards += 1
        harness = solve_as_given(m, d)
        np.testing.assert_allclose(harness.read("qacc"), d.qacc, atol=1e-3 * np.abs(d.qacc).max())
    assert backwards > 3


STIFF = """<mujoco><option cone="{cone}" impratio="{impratio}" iterations="{iterations}" ls_iterations="6"/>
  <default><geom solimp=".015 1 .03" friction=".6" condim="3" contype="0"/></default><worldbody>
  <geom type="plane" size="9 9 1" contype="1"/>
  <body pos="0 0 .5"><freejoint/><geom type="box" size=".3 .15 .1" mass="30"/>
    {legs}</body></worldbody></mujoco>"""
LEG = """<body pos="{x} {y} 0"><joint axis="1 0 0"/><geom type="capsule" fromto="0 0 0 0 .05 0" size=".03" mass="2"/>
  <body pos="0 .05 0"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 -.1 0 -.25" size=".03" mass="1.5"/>
  <body pos="-.1 0 -.25"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .1 0 -.25" size=".03" mass=".5"/>
  </body></body></body>"""


@pytest.mark.parametrize("iterations", [1, 3])
def test_stiff_rows_take_no_digits_from_the_direction(iterations):
    """Rows 1e6 times as stiff as the legs are heavy: where MuJoCo's few steps end at the minimum, ours do."""
    legs = "".join(LEG.format(x=x, y=y) for x in (-0.25, 0.25) for y in (-0.15, 0.1))
    text = STIFF.format(cone="pyramidal", impratio=100, iterations=iterations, legs=legs)
    m = mujoco.MjModel.from_xml_string(text)
    rng, worst = np.random.default_rng(0), []
    for _ in range(40):
        d = mujoco.MjData(m)
        mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 0.05)
        d.qvel[:] = rng.normal(size=m.nv) * 0.2
        harness = solve_as_given(m, d)
        scale = np.abs(d.qacc).max()
        inertial = np.zeros(m.nv)
        mujoco.mj_mulM(m, d, inertial, d.qacc - d.qacc_smooth)
        if d.ncon and np.abs(inertial - d.qfrc_constraint).max() < 1e-6 * np.abs(d.qfrc_constraint).max():
            worst.append(np.abs(harness.read("qacc") - d.qacc).max() / scale)
    assert len(worst) > 2
    assert max(worst) < 5e-3, worst


SLIPPERY = """
<mujoco><option timestep=".001"/><default><geom friction="{friction}"/></default>
  <worldbody><geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .05"><freejoint/><geom type="box" size=".08 .08 .005" mass=".3"/>
      <geom type="cylinder" size=".008 .1" euler="90 0 45" mass=".2"/>
      <geom type="cylinder" size=".008 .1" euler="90 0 -45" mass=".2"/></body>
    <body pos=".02 .01 .062" euler="2 1 20"><freejoint/><geom type="box" size=".08 .08 .005" mass=".3"/>
      <geom type="cylinder" size=".008 .1" euler="90 0 45" mass=".2"/>
      <geom type="cylinder" size=".008 .1" euler="90 0 -45" mass=".2"/></body>
  </worldbody></mujoco>"""


def slippery_states(friction: float, runs: int = 16, steps: int = 40) -> tuple[mujoco.MjModel, list[mujoco.MjData]]:
    """Plates that fall on each other, with the accelerations that MuJoCo's next step starts at."""
    m = mujoco.MjModel.from_xml_string(SLIPPERY.format(friction=friction))
    rng, found = np.random.default_rng(0), []
    for _ in range(runs):
        d = mujoco.MjData(m)
        d.qvel[:] = 0.5 * rng.normal(size=m.nv)
        for _ in range(steps):
            other = mujoco.MjData(m)
            for name in ("qpos", "qvel", "qacc_warmstart"):
                getattr(other, name)[:] = np.float32(getattr(d, name))
            mujoco.mj_forward(m, other)
            other.qacc_warmstart[:] = np.float32(d.qacc_warmstart)
            if other.ncon:
                found.append(other)
            mujoco.mj_step(m, d)
    return m, found


def worst_acceleration(engine: Engine, states: list[mujoco.MjData]) -> float:
    """The largest error of an acceleration, as a part of the largest of its state."""
    for name in ("qpos", "qvel", "qacc_warmstart"):
        engine.write(name, np.array([getattr(d, name) for d in states]))
    engine.forward()
    theirs = np.array([d.qacc for d in states])
    return float((np.abs(engine.read("qacc") - theirs).max(axis=1) / np.abs(theirs).max(axis=1)).max())


@pytest.mark.parametrize(("friction", "bound"), [(0.01, 1e-3), (0.001, 5e-2)])
def test_a_direction_that_rounding_has_lost_is_found_again(friction, bound):
    """Little friction makes pyramids 1e4 and 1e6 times as stiff: summed in floats, H has lost what M adds to it,
    and is no longer positive. A solve that ends there keeps the acceleration it began with."""
    m, states = slippery_states(friction)
    assert len(states) > 200
    assert worst_acceleration(Engine(m, nworld=len(states)), states) < bound
