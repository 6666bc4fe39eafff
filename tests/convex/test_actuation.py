"""Actuators of every family against MuJoCo: forces, rates, limits, delays, and what steps make of them."""

import mujoco
import numpy as np
import pytest

from kinema.convex import actuation, dcmotor
from kinema.convex.activation import family
from kinema.convex.actuation import FAMILIES, initial_control
from kinema.convex.history import advance_controls, delay_controls, initial
from kinema.convex.stage import Stage

from . import pulled
from .stage_harness import Harness

FORCES = (
    Stage(actuation.read_control, over="nu"),
    Stage(delay_controls),
    Stage(actuation.limit_control, over="nu"),
    Stage(actuation.refuse_controls),
    Stage(actuation.simple_actuator, over="nactuator"),
    *(Stage(func, over="nactuator") for func in FAMILIES.values()),
    Stage(actuation.sum_tendon_forces),
    Stage(actuation.limit_tendon_forces),
    Stage(actuation.limit_force, over="nactuator"),
    Stage(actuation.sum_tendon_forces),
    Stage(dcmotor.mechanical_force, over="nactuator"),
    Stage(actuation.joint_force, over="nv"),
    Stage(actuation.force_slope, over="nactuator"),
    Stage(dcmotor.dcmotor_slope, over="nactuator"),
)
ADVANCE = (
    Stage(advance_controls),
    Stage(actuation.advance_activations, over="nactuator"),
    Stage(dcmotor.advance_dcmotor, over="nactuator"),
)


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(pulled.ACTUATORS.format(integrator="Euler"))


def moment(harness: Harness, d) -> np.ndarray:
    """MuJoCo's actuator_moment in the engine's rows, which hold every dof that may ever matter."""
    full = np.zeros((len(d.moment_rownnz), harness.m.nv))
    mujoco.mju_sparse2dense(full, d.actuator_moment, d.moment_rownnz, d.moment_rowadr, d.moment_colind)
    adr, nnz, col = (harness.read(f"moment_{name}") for name in ("rowadr", "rownnz", "colind"))
    value = np.zeros(len(col))
    for out in range(len(adr)):
        entries = slice(adr[out], adr[out] + nnz[out])
        value[entries] = full[out, col[entries]]
    return value


def inject(m, d) -> Harness:
    """Everything MuJoCo knows before it computes actuation."""
    harness = Harness(m)
    harness.inject(d)
    harness.write("actuator_moment", moment(harness, d))
    for name in ("actuator_force", "qfrc_actuator", "act_dot"):
        harness.write(name, np.full(getattr(d, name).shape, 77.0))
    return harness


def close(ours, theirs, rtol: float, what: str = ""):
    np.testing.assert_allclose(ours, theirs, atol=rtol * max(1.0, np.abs(theirs).max()), err_msg=what)


def test_the_model_has_every_family(model):
    assert set(family(model).tolist()) == {0, *FAMILIES}
    assert set(model.actuator_dyntype.tolist()) == {*range(8)}


@pytest.mark.parametrize("disabled", [0, 0b110])
def test_forces_and_rates_agree_with_mujoco(model, disabled):
    model.opt.disableactuator = disabled
    for seed in range(4):
        d = pulled.moved(model, seed)
        harness = inject(model, d)
        harness.run(*FORCES)
        defined = np.concatenate([
            np.arange(a, a + n) for a, n in zip(model.actuator_actadr, model.actuator_actnum, strict=True) if a >= 0
        ])  # fmt: skip
        for k in defined:  # each with its own scale: rates of the fastest motor hide the others
            assert harness.read("act_dot")[k] == pytest.approx(d.act_dot[k], rel=2e-5, abs=1e-5), k
        close(harness.read("actuator_force"), d.actuator_force, 1e-6, "actuator_force")
        close(harness.read("qfrc_actuator"), d.qfrc_actuator, 1e-6, "qfrc_actuator")
    model.opt.disableactuator = 0


def test_actuators_advance_as_in_mujoco(model):
    for seed in range(3):
        d = pulled.moved(model, seed)
        harness = inject(model, d)
        harness.run(*FORCES, *ADVANCE)
        mujoco.mj_step(model, d)
        np.testing.assert_allclose(harness.read("act"), d.act, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(harness.read("history"), d.history, rtol=1e-7, atol=1e-7)


def test_limits_hold(model):
    """Not only parity: forces stay inside what the document asks for."""
    d = pulled.moved(model, 0)
    d.ctrl[:] *= 100
    mujoco.mj_forward(model, d)
    harness = inject(model, d)
    harness.run(*FORCES)
    force = harness.read("actuator_force")
    for t in range(model.ntendon):
        if model.tendon_actfrclimited[t]:
            on_it = (model.actuator_trntype == mujoco.mjtTrn.mjTRN_TENDON) & (model.actuator_trnid[:, 0] == t)
            total = force[model.actuator_outadr[on_it]].sum()
            assert model.tendon_actfrcrange[t, 0] - 1e-4 <= total <= model.tendon_actfrcrange[t, 1] + 1e-4
    joint = model.joint("h").id
    torque = harness.read("qfrc_actuator")[model.jnt_dofadr[joint]]
    assert model.jnt_actfrcrange[joint, 0] <= torque <= model.jnt_actfrcrange[joint, 1]
    assert torque in model.jnt_actfrcrange[joint]  # and this one is reached


def test_a_control_that_is_not_a_number_silences_the_world(model):
    d = pulled.moved(model, 0)
    harness = inject(model, d)
    ctrl = d.ctrl.copy()
    ctrl[3] = np.nan
    harness.write("ctrl", ctrl)
    harness.run(*FORCES[:4])
    assert (harness.read("actuator_control") == 0).all()
    assert harness.read("status") == 8


def test_initial_controls_and_histories_are_mujocos(model):
    d = mujoco.MjData(model)
    np.testing.assert_array_equal(initial_control(model), d.ctrl)
    np.testing.assert_allclose(initial(model), d.history, atol=1e-15)


def test_slopes_are_derivatives_of_forces_by_velocity(model):
    """Where MuJoCo's is the exact derivative: not for thermal or rate-limited motors, whose terms it leaves out."""
    d = pulled.moved(model, 2)
    h = 1e-3
    base = inject(model, d)
    base.run(*FORCES)
    slope = base.read("actuator_slope")
    forces = []
    for sign in (-1, 1):
        harness = inject(model, d)
        harness.write("actuator_velocity", d.actuator_velocity + sign * h)
        harness.run(*FORCES)
        forces.append(harness.read("actuator_force").astype(float).copy())
    difference = (forces[1] - forces[0]) / (2 * h)
    free = base.read("actuator_force").astype(float)
    checked = 0
    for i in range(model.nactuator):
        out = model.actuator_outadr[i]
        lugre = model.actuator_dynprm[i, 5] > 0 and model.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_DCMOTOR
        held = slope[i] == 0 and difference[out] != 0  # by the limit of a joint, which forces do not show
        if lugre or held:
            continue
        assert slope[i] == pytest.approx(difference[out], rel=1e-2, abs=2e-3 * max(1, abs(free[out]))), i
        checked += slope[i] != 0
    assert checked > 5


def test_states_and_delays_follow_mujoco_over_steps(model):
    """Our activations and histories over a run whose motion is MuJoCo's."""
    d = pulled.moved(model, 1)
    rng = np.random.default_rng(3)
    harness = inject(model, d)
    act, history = d.act.copy(), d.history.copy()
    for _ in range(20):
        d.ctrl[:] = rng.normal(size=model.nu)
        mujoco.mj_forward(model, d)
        harness = inject(model, d)
        harness.write("act", act)
        harness.write("history", history)
        harness.run(*FORCES, *ADVANCE)
        act, history = harness.read("act").copy(), harness.read("history").copy()
        close(harness.read("actuator_force"), d.actuator_force, 1e-5)
        mujoco.mj_step(model, d)
    np.testing.assert_allclose(act, d.act, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(history, d.history, rtol=1e-6, atol=1e-6)
    assert np.abs(d.history).max() > 1 and np.abs(d.act).max() < 10


AT_SITES = """
<mujoco>
  <worldbody>
    <site name="base" euler="10 20 30"/>
    <geom name="drum" type="cylinder" size=".1 .3" pos=".4 0 1.08" euler="90 0 0"/>
    <body pos="0 0 1">
      <joint axis="0 1 0"/><joint axis="0 0 1"/><geom type="capsule" size=".03" fromto="0 0 0 .4 0 0"/>
      <site name="start" pos=".1 0 .05"/>
      <body pos=".4 0 0">
        <joint axis="0 1 0"/><geom type="capsule" size=".03" fromto="0 0 0 .4 0 0"/>
        <site name="tip" pos=".4 0 .05" euler="30 0 60"/>
      </body>
    </body>
  </worldbody>
  <tendon><spatial name="belt"><site site="start"/><geom geom="drum"/><site site="tip"/></spatial></tendon>
  <actuator>
    <motor site="tip" gear="1 2 3 .1 .2 .3"/>
    <position site="tip" refsite="base" gear="1 0 0 0 0 0" kp="20" kv="2"/>
    <general site="tip" refsite="base" gear="0 0 1 0 0 0" gaintype="affine" gainprm="1 2 3" biastype="affine"
             biasprm="3 2 1"/>
    <general site="tip" refsite="base" gear="0 0 -1 0 0 0" lengthrange="-1.4 -.6" dyntype="muscle" dynprm=".01 .04"
             gaintype="muscle" gainprm=".75 1.05 100 200 .5 1.6 1.5 1.3 1.2" biastype="muscle"
             biasprm=".75 1.05 100 200 .5 1.6 1.5 1.3 1.2"/>
    <motor tendon="belt" gear="3"/><position tendon="belt" kp="20"/><muscle tendon="belt" lengthrange=".4 1.2"/>
  </actuator>
</mujoco>
"""


def test_sites_and_wrapped_tendons_take_all_gains_and_biases():
    m = mujoco.MjModel.from_xml_string(AT_SITES)
    for seed in range(3):
        d = pulled.moved(m, seed, scale=0.1)
        assert d.ten_wrapnum[0] == 4 and (np.abs(d.actuator_force) > 1e-3).all()
        harness = inject(m, d)
        harness.run(*FORCES)
        close(harness.read("actuator_force"), d.actuator_force, 1e-6)
        close(harness.read("qfrc_actuator"), d.qfrc_actuator, 1e-6)


def test_actuators_do_the_work_that_joints_receive():
    """Power is force times rate of length at the actuator, and torque times velocity at the joints."""
    m = mujoco.MjModel.from_xml_string(AT_SITES)
    d = pulled.moved(m, 4, scale=0.1)
    harness = inject(m, d)
    harness.run(*FORCES)
    given = harness.read("actuator_force") @ d.actuator_velocity
    received = harness.read("qfrc_actuator") @ d.qvel
    assert abs(given) > 0.1
    assert received == pytest.approx(given, rel=1e-5)


SERVO = """
<mujoco>
  <worldbody>
    <site name="w"/>
    <body pos="0 0 1">
      <joint name="a" axis="0 1 0" range="-.2 .2"/><geom type="capsule" size=".03" fromto="0 0 0 .4 0 0"/>
      <body pos=".4 0 0">
        <joint name="b" axis="0 1 0"/><geom type="capsule" size=".03" fromto="0 0 0 .4 0 0"/>
        <site name="s" pos=".2 0 0"/>
      </body>
    </body>
  </worldbody>
  <tendon><spatial name="t"><site site="w"/><site site="s"/></spatial></tendon>
  <actuator>
    <position joint="a" kp="20" kv="1" delay=".01" nsample="6"/>
    <muscle tendon="t" lengthrange=".8 1.3"/>
    <motor site="s" gear="0 0 1 0 0 0"/>
  </actuator>
  <sensor><jointpos joint="a" delay=".01" nsample="6"/><clock/></sensor>
</mujoco>
"""


def test_a_whole_step_agrees_with_mujoco(twin):
    m = mujoco.MjModel.from_xml_string(SERVO)
    d = pulled.moved(m, 1, scale=0.1)
    engine = twin(m, d)
    rng = np.random.default_rng(3)
    for _ in range(30):
        ctrl = rng.uniform(size=m.nu)
        d.ctrl[:] = ctrl
        engine.write("ctrl", ctrl, worlds=[1])
        mujoco.mj_step(m, d)
        engine.step()
    for name in ("qpos", "qvel", "act", "history", "sensordata"):
        close(engine.read(name)[1], getattr(d, name), 1e-4, name)
