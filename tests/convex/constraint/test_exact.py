"""The exact diagonal of the constraint-space inertia, <flag diagexact="enable"/>, against MuJoCo."""

import copy
import warnings

import mujoco
import numpy as np
import pytest

from kinema.convex import step as recipe
from kinema.convex.constraint.exact import is_exact
from kinema.convex.stage import lane_kernel
from kinema.errors import KernelsRebuilt
from kinema.gradients import closed
from tests.conformance.dynamics import put_states
from tests.conformance.gradients import error, judge, staged_tangents
from tests.conformance.staged import StagedEngine
from tests.convex.hopper import compile_kernel, stack
from tests.convex.recipes import kernels_of
from tests.convex.test_orders import different
from tests.gradients.models import WALKER, settled

EXACT = int(mujoco.mjtEnableBit.mjENBL_DIAGEXACT)

TIED = """
<mujoco>
  <option integrator="{integrator}" cone="{cone}" solver="{solver}" impratio="3" {more}>
    <flag diagexact="enable"/></option>
  <worldbody>
    <geom type="plane" size="3 3 .1"/>
    <body pos="0 0 .099"><freejoint/><geom type="box" size=".1 .2 .1" condim="4" friction="1 .05 .01"/></body>
    <body pos="-1 0 .099"><freejoint/><geom size=".1" condim="1" priority="1" mass="2"/></body>
    <body pos="2 0 .099"><freejoint/><geom type="capsule" size=".1 .2" euler="0 90 0" adhesion="3"/></body>
    <body pos="2 2 .099"><freejoint/><geom size=".1" condim="6"/></body>
    <body pos="0 1 1">
      <joint name="a" axis="0 1 0" damping=".4" stiffness="3" frictionloss=".3" armature=".01"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".05" mass="1"/>
      <body pos=".3 0 0">
        <joint name="b" axis="0 1 0" range="-20 20" damping=".2"/>
        <geom type="capsule" fromto="-.05 0 0 .3 0 .05" size=".06"/><site name="one"/>
        <body pos=".3 0 0" name="tip">
          <joint name="c" type="ball" range="0 30"/><geom size=".04" mass=".2" contype="0" conaffinity="0"/>
        </body>
      </body>
    </body>
    <body pos="1 1 1" name="load"><freejoint/><geom size=".05" mass=".3"/><site name="two" pos="0 .1 0"/></body>
  </worldbody>
  <tendon>
    <spatial range="0 .3" limited="true" frictionloss=".1" stiffness="40" damping=".3" springlength=".1">
      <site site="one"/><site site="two"/></spatial>
    <fixed damping="1" stiffness="20"><joint joint="a" coef="1"/><joint joint="b" coef="-2"/></fixed>
  </tendon>
  <equality><weld body1="tip" body2="load"/><connect body1="load" body2="tip" anchor=".1 0 0" active="false"/>
    <joint joint1="a" joint2="b" polycoef="0 .5 .1 0 0"/></equality>
  <actuator><position joint="a" kp="50" kv="3"/></actuator>
</mujoco>
"""
"""Five trees: rows of every kind, on one tree, on two, and through springs that tie them."""

CLOTH = """
<mujoco>
  <option integrator="{integrator}" cone="{cone}" solver="Newton"><flag diagexact="enable"/></option>
  <worldbody>
    <geom type="plane" size="3 3 .1"/>
    <flexcomp name="f" type="grid" count="4 4 1" spacing=".1 .1 .1" pos="0 0 .02" radius=".03" mass="1" dim="2">
      {made}<contact selfcollide="none"/></flexcomp>
    <body pos="0 0 .08" quat=".9 .2 .3 .1"><freejoint/><geom type="box" size=".05 .05 .03" mass=".3"/>
      <body pos="0 0 .1"><joint axis="0 1 0" frictionloss=".01" range="-1 1"/><geom size=".02" mass=".1"/></body></body>
  </worldbody>
</mujoco>
"""
ELASTIC = '<elasticity young="1e5" poisson=".2" damping=".01" thickness=".02" elastic2d="both"/>'
HELD = '<edge equality="true"/>'


def moving(m: mujoco.MjModel, speed: float = 0.3, shake: float = 0.0) -> mujoco.MjData:
    """A state where much moves."""
    d, rng = mujoco.MjData(m), np.random.default_rng(0)
    d.qvel[:] = speed * rng.normal(size=m.nv)
    mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), shake)
    d.ctrl[:] = 0.2
    return d


def tied(integrator="Euler", cone="pyramidal", solver="Newton", more="") -> tuple[mujoco.MjModel, mujoco.MjData]:
    m = mujoco.MjModel.from_xml_string(TIED.format(integrator=integrator, cone=cone, solver=solver, more=more))
    d = moving(m)
    d.qpos[m.joint("a").qposadr] = 0.4
    d.qpos[m.joint("c").qposadr[0] :][:4] = [0.3, 0.5, 0.9, 0.1]
    return m, d


def engine_at(m: mujoco.MjModel, d: mujoco.MjData) -> StagedEngine:
    engine = StagedEngine(m, 1, device="cpu")
    for name in ("qpos", "qvel", "ctrl", "qacc_warmstart"):
        if np.size(getattr(d, name)):
            engine.write(name, np.array(getattr(d, name)))
    return engine


def follows(m, d, steps=(1, 10, 100), rtol: float = 1e-4) -> None:
    """R, D, aref and qacc are MuJoCo's, and so is where steps lead."""
    other, engine = copy.copy(d), engine_at(m, d)
    mujoco.mj_forward(m, other)
    engine.forward()
    assert engine.read("nefc").item() == other.nefc > 0
    for name in ("efc_R", "efc_D"):
        np.testing.assert_allclose(engine.read(name)[0][: other.nefc], getattr(other, name), rtol=2e-5, err_msg=name)
    near(engine.read("efc_aref")[0][: other.nefc], other.efc_aref, 1e-5)
    near(engine.read("qacc")[0], other.qacc, rtol)
    other, engine, done = copy.copy(d), engine_at(m, d), 0
    for n in steps:
        mujoco.mj_step(m, other, n - done)
        engine.step(n - done)
        done = n
        near(engine.read("qpos")[0], other.qpos, rtol)
        near(engine.read("qvel")[0], other.qvel, 10 * rtol)


def near(ours, theirs, rtol):
    np.testing.assert_allclose(ours, theirs, atol=rtol * max(1.0, np.abs(theirs).max()))


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicit", "implicitfast", "discrete"])
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_rows_of_every_kind(integrator, cone):
    follows(*tied(integrator, cone))


@pytest.mark.parametrize("integrator", ["Euler", "discrete"])
@pytest.mark.parametrize("solver, more", [("PGS", ""), ("CG", ""), ("Newton", 'noslip_iterations="3"')])
def test_other_solvers(integrator, solver, more):
    follows(*tied(integrator, "elliptic", solver, more), steps=(1, 10))


def test_in_a_fluid():
    follows(*tied("discrete", more='density="200" viscosity=".1"'), steps=(1, 10))


@pytest.mark.parametrize("integrator", ["Euler", "discrete"])
@pytest.mark.parametrize("made", [ELASTIC, HELD])
def test_rows_that_list_their_columns(integrator, made):
    m = mujoco.MjModel.from_xml_string(CLOTH.format(integrator=integrator, cone="elliptic", made=made))
    follows(m, moving(m, 0.1, 0.01), steps=(1, 10))


@pytest.mark.parametrize("integrator", ["Euler", "discrete"])
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_inverse_dynamics(integrator, cone):
    m, d = tied(integrator, cone)
    other, engine = copy.copy(d), engine_at(m, d)
    other.qacc[:] = np.random.default_rng(3).normal(size=m.nv)
    engine.write("qacc", np.array(other.qacc))
    mujoco.mj_inverse(m, other)
    engine.inverse()
    near(engine.read("qfrc_constraint")[0], other.qfrc_constraint, 1e-4)
    near(engine.read("qfrc_inverse")[0], other.qfrc_inverse, 1e-4)


def test_it_has_an_effect():
    """Far from the initial pose, and along a direction, inertia is another."""
    m, d = tied()
    ends = []
    for flags in (EXACT, 0):
        m.opt.enableflags = flags
        other = copy.copy(d)
        mujoco.mj_step(m, other, 10)
        ends.append(other.qvel.copy())
    assert np.abs(ends[0] - ends[1]).max() > 1e-2


def test_switched_while_running():
    """Stages come and go with the flag."""
    m, d = tied()
    m.opt.enableflags = 0
    engine = StagedEngine(m, 1, device="cpu")
    for flags in (0, EXACT, 0):
        m.opt.enableflags = flags
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KernelsRebuilt)
            engine.set_option("enableflags", flags)
        for name in ("qpos", "qvel", "ctrl"):
            engine.write(name, np.array(getattr(d, name)))
        other = copy.copy(d)
        mujoco.mj_forward(m, other)
        engine.forward()
        np.testing.assert_allclose(engine.read("efc_R")[0][: other.nefc], other.efc_R, rtol=2e-5)
        names = {stage.func.key for stage in engine.recipes["step"] if stage.func}
        assert any("exact_rows" in name for name in names) == bool(flags)


def test_without_constraints_nothing_is_exact():
    m, _ = tied()
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    assert not is_exact(m) and not recipe.scratch_sizes(m)["nv_exact"]


@pytest.mark.parametrize("integrator", ["Euler", "discrete"])
def test_derivatives(integrator):
    """Linearized stage by stage, for the closed form knows only the approximate diagonal, and says so."""
    walker = WALKER.replace("<default>", '<option><flag diagexact="enable"/></option><default>')
    m, states = settled(walker.format(integrator=integrator, cone="elliptic"))
    assert m.opt.enableflags == EXACT and "diagexact" in closed.against(m)
    engine = StagedEngine(m, nworld=2)
    put_states(engine, states)
    engine.forward()
    found, nx = staged_tangents(engine).run().numpy().astype(float), 2 * m.nv + m.na
    for world, d in enumerate(states):
        A, B, *_ = judge(m, d, 1e-6)
        assert error(found[world, :, :nx], A) < 5e-4
        assert error(found[world, :, nx:], B) < 5e-4


@pytest.mark.parametrize("integrator", ["Euler", "discrete"])
def test_orders_of_threads_on_cuda_do_not_matter(integrator):
    assert not different(tied(integrator)[0])


@pytest.mark.slow
@pytest.mark.parametrize("integrator", ["Euler", "discrete"])
def test_it_compiles_for_cuda(integrator):
    models = [tied(integrator)[0]]
    cloth = CLOTH.format(integrator=integrator, cone="elliptic", made=HELD)
    models.append(mujoco.MjModel.from_xml_string(cloth))
    for m in models:
        kernels = {k for k in kernels_of(m) if any("exact_rows" in stage.func.key for stage in k)}
        assert kernels
        for kernel in kernels:
            assert stack(compile_kernel(lane_kernel(kernel))) < 4096
