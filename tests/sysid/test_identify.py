"""Identification against what is known: data that MuJoCo made, and least squares over MuJoCo's own rollouts."""

import importlib.util
from pathlib import Path

import mujoco
import numpy as np
import pytest
import scipy.optimize

from kinema import Simulation, sysid
from kinema.errors import BuildError, UnknownKey
from kinema.sysid import Measured, Parameter
from kinema.sysid.measured import Signals
from kinema.sysid.parameter import Placed
from kinema.sysid.sensitivity import Sensitivities

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("identify_arm", EXAMPLES / "identify_arm.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def sim(example):
    return Simulation(example.ARM)


def test_masses_damping_and_friction_are_found_within_a_percent(example, capsys):
    found, true = example.main(["--small"])
    assert found.converged and not found.warnings
    np.testing.assert_allclose(found.values, true, rtol=0.01)
    assert np.abs(found.start / true - 1).max() > 0.4
    inside = (found.intervals[:, 0] <= true) & (true <= found.intervals[:, 1])
    assert inside.sum() >= len(true) - 2
    assert found.residual["sensordata[0]"] == pytest.approx(1e-3, rel=0.1)
    assert "body_mass[fore]" in capsys.readouterr().out


def test_values_and_errors_are_those_of_least_squares_over_mujoco(example, sim):
    """The same residuals, simulated by MuJoCo in double precision and made small by SciPy."""
    ctrl, read = example.experiment(0.6, 2e-3)
    asked = [Parameter("dof_damping", "elbow", start=0.3), Parameter("dof_frictionloss", "wrist", start=0.08)]
    found = sysid.identify(sim, Measured(ctrl, {"sensordata": read}), asked, noise={"sensordata": 2e-3})
    m = mujoco.MjModel.from_xml_string(example.ARM)
    dofs = m.joint("elbow").dofadr[0], m.joint("wrist").dofadr[0]

    def residual(p):
        m.dof_damping[dofs[0]], m.dof_frictionloss[dofs[1]] = p
        d, rows = mujoco.MjData(m), []
        for action in ctrl:
            d.ctrl[:] = action
            mujoco.mj_step(m, d)
            rows.append(d.sensordata.copy())
        return ((np.array(rows) - read) / 2e-3).ravel()

    theirs = scipy.optimize.least_squares(residual, [0.3, 0.08], x_scale=[0.3, 0.08], diff_step=1e-4)
    s2 = 2 * theirs.cost / (theirs.fun.size - 2)
    errors = np.sqrt(np.diag(np.linalg.inv(theirs.jac.T @ theirs.jac)) * s2)
    mine = np.sqrt(np.diag(found.covariance))
    assert (np.abs(found.values - theirs.x) < 0.1 * errors).all(), (found.values, theirs.x, errors)
    np.testing.assert_allclose(mine, errors, rtol=0.1)
    assert 2 * found.costs[-1] == pytest.approx(2 * theirs.cost, rel=1e-3)


def test_what_the_data_do_not_tell_is_said(example, sim):
    ctrl, read = example.experiment(0.3, 1e-3)
    asked = [
        Parameter("actuator_gear", "elbow", 0, start=6.0), Parameter("actuator_gainprm", "elbow", 0, start=1.2),
        Parameter("body_mass", "stand"), Parameter("dof_damping", "elbow", start=0.3),
    ]  # fmt: skip
    with pytest.warns(UserWarning, match="told apart"):
        found = sysid.identify(sim, Measured(ctrl, {"sensordata": read}), asked, iterations=8)
    told = " ".join(found.warnings)
    assert "actuator_gear[elbow] and actuator_gainprm[elbow] cannot be told apart" in told
    assert "body_mass[stand] does nothing that was measured" in told
    assert np.isinf(found.intervals[2]).all() and np.isfinite(found.intervals[3]).all()
    assert found.values[0] * found.values[1] == pytest.approx(5.0, rel=0.02)  # what counts is known


def test_recordings_and_pieces_of_them_are_measurements(example, sim):
    other = Simulation(example.ARM, worlds=2)
    other.m.dof_damping[1] = 0.35
    other.set_state(qpos=[[0.1, 0.2, 0.0], [-0.2, 0.0, 0.3]])
    other.record(every=5)
    for k in range(40):
        other.d.ctrl = [[np.sin(0.2 * k), 0.3, 0.1], [0.4, np.cos(0.3 * k), -0.1]]
        other.step(5)
    recording = other.stop_recording()
    before = sim.get_state()
    for window in (None, 8):
        found = sysid.identify(sim, recording, [Parameter("dof_damping", "elbow")], window=window)
        assert found["dof_damping[elbow]"] == pytest.approx(0.35, rel=1e-3)
    for name, value in sim.get_state().items():
        np.testing.assert_array_equal(value, before[name])
    assert sim.m.dof_damping[1] == pytest.approx(0.2)
    found.apply(other)
    assert other.m.dof_damping[1] == pytest.approx(0.35, rel=1e-3)


def test_missing_numbers_do_not_count_and_bounds_hold(example, sim):
    ctrl, read = example.experiment(0.4, 0.0)
    read[::2] = np.nan
    angles = {name: read[:, k] for k, name in enumerate(example.JOINTS)}
    run = Measured(ctrl, {"elbow": angles["elbow"], "wrist": angles["wrist"]})
    found = sysid.identify(sim, run, [Parameter("dof_damping", "elbow", start=0.3)])
    assert found.values[0] == pytest.approx(0.2, rel=1e-3)
    with pytest.warns(UserWarning, match="ends at its bound"):
        found = sysid.identify(sim, run, [Parameter("dof_damping", "elbow", start=0.3, bounds=(0.25, 1.0))])
    assert found.values[0] == pytest.approx(0.25)


def test_wrong_calls_say_what_is_expected(sim):
    run = Measured(np.zeros((4, 3)), {"qpos": np.zeros((4, 3))})
    with pytest.raises(UnknownKey, match="dof_dampin.*dof_damping"):
        sysid.identify(sim, run, [Parameter("dof_dampin", "elbow")])
    with pytest.raises(UnknownKey, match="elbw"):
        sysid.identify(sim, run, [Parameter("dof_damping", "elbw")])
    with pytest.raises(BuildError, match="say which body"):
        sysid.identify(sim, run, [Parameter("body_mass")])
    with pytest.raises(BuildError, match=r"dof_damping\[shoulder, 1\]: the joint has 1 dofs"):
        sysid.identify(sim, run, [Parameter("dof_damping", "shoulder", index=1)])  # the next joint's
    with pytest.raises(BuildError, match=r"dof_damping\[elbow\] is given twice"):
        sysid.identify(sim, run, [Parameter("dof_damping", "elbow"), Parameter("dof_damping", "elbow", start=0.2)])
    with pytest.raises(BuildError, match="outside of"):
        sysid.identify(sim, run, [Parameter("dof_damping", "elbow", start=-1.0)])
    with pytest.raises(UnknownKey, match="'quos' is no signal.*qpos"):
        sysid.identify(sim, Measured(np.zeros((4, 3)), {"quos": np.zeros((4, 3))}), [Parameter("dof_damping", "elbow")])
    with pytest.raises(BuildError, match=r"signal 'qpos' of shape \(3, 3\)"):
        sysid.identify(sim, Measured(np.zeros((4, 3)), {"qpos": np.zeros((3, 3))}), [Parameter("dof_damping", "elbow")])
    with pytest.raises(BuildError, match="qvel is not there"):
        sysid.identify(sim, run, [Parameter("dof_damping", "elbow")], window=2)


PUCK = """
<mujoco>
  <option timestep="0.002" iterations="100" tolerance="1e-10"/>
  <worldbody>
    <geom type="plane" size="9 9 .1" friction="0.1"/>
    <body name="puck" pos="0 0 .0995">
      <joint name="x" type="slide" axis="1 0 0" damping=".3"/>
      <geom name="puck" size=".1" pos=".05 0 0" mass="1.5" friction="0.4" solref=".04 1"/>
    </body>
  </worldbody>
  <actuator><motor joint="x" gear="10"/></actuator>
  <sensor><accelerometer site="s" name="acc"/></sensor>
</mujoco>
""".replace("<geom name=", '<site name="s"/><geom name=')
"""A puck is pushed over a floor that it is pressed on; contacts mix their friction from that of geoms."""


def pushed(m: mujoco.MjModel, frames: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Controls, positions and readings of a run."""
    d, ctrl, read = mujoco.MjData(m), np.sin(0.02 * np.arange(frames))[:, None] * 1.5, []
    for action in ctrl:
        d.ctrl[:] = action
        mujoco.mj_step(m, d)
        read.append((d.qpos.copy(), d.sensordata.copy()))
    return ctrl, np.array([one for one, _ in read]), np.array([one for _, one in read])


@pytest.mark.parametrize("exact", [False, True])
def test_friction_of_contacts_is_found(exact):
    ctrl, qpos, _ = pushed(mujoco.MjModel.from_xml_string(PUCK), 400)
    asked = [Parameter("geom_friction", "puck", 0, start=0.6)]
    found = sysid.identify(Simulation(PUCK), Measured(ctrl, {"qpos": qpos}), asked, exact=exact)
    assert found.converged and found.values[0] == pytest.approx(0.4, rel=0.01)


def test_exact_derivatives_are_those_of_runs_in_double_precision():
    """Of positions and readings of sensors by friction, damping, and a mass with what is tied to it."""
    m, frames, eps = mujoco.MjModel.from_xml_string(PUCK), 250, 1e-5
    ctrl, qpos, readings = pushed(m, frames)
    sim = Simulation(PUCK)
    asked = [
        Parameter("geom_friction", "puck"), Parameter("dof_damping", "x"),
        Parameter("body_mass", "puck", ties=("body_inertia",)), Parameter("actuator_gear", 0, 0),
    ]  # fmt: skip
    measured = Measured(ctrl, {"qpos": qpos, "acc": readings})
    signals, placed = Signals(sim, [measured]), [Placed(sim, one) for one in asked]
    point = np.array([one.start for one in placed])
    r, J = Sensitivities(sim, signals, placed).at(point, {}, frames)
    assert np.abs(r).max() < 1e-3
    change = {
        0: lambda m, x: m.geom_friction.__setitem__((1, 0), x), 1: lambda m, x: m.dof_damping.__setitem__(0, x),
        2: lambda m, x: (m.body_inertia.__setitem__(1, m.body_inertia[1] * x / m.body_mass[1]),
                         m.body_mass.__setitem__(1, x)),
        3: lambda m, x: m.actuator_gear.__setitem__((0, 0), x),
    }  # fmt: skip
    for k, put in change.items():
        runs = []
        for side in (1, -1):
            other = mujoco.MjModel.from_xml_string(PUCK)
            put(other, point[k] + side * eps)
            runs.append(np.concatenate(pushed(other, frames)[1:], 1) / signals.noise)
        judge = (runs[0] - runs[1]) / (2 * eps)
        assert np.linalg.norm(judge) > 1e-3
        assert np.linalg.norm(J[:, 0, :, k] - judge) < 2e-3 * np.linalg.norm(judge), asked[k].name


def test_exact_derivatives_are_refused_where_other_constants_follow():
    measured = Measured(np.zeros((3, 1)), {"qpos": np.zeros((3, 1))})
    with pytest.raises(BuildError, match="follow from body_pos"):
        sysid.identify(Simulation(PUCK), measured, [Parameter("body_pos", "puck")], exact=True)


HOPPER = """
<mujoco>
  <option timestep="0.002" cone="elliptic"/>
  <worldbody>
    <geom type="plane" size="9 9 .1" friction=".05"/>
    <body pos="0 0 .35">
      <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
      <geom type="box" size=".1 .05 .05" mass="2" contype="0" conaffinity="0"/>
      <body pos="0 0 -.25">
        <joint name="leg" type="slide" axis="0 0 1" stiffness="400" damping="6"/>
        <geom name="foot" size=".05" mass=".2" friction=".5"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="leg" gear="90"/><motor site="hull" gear="6 0 0 0 0 0"/></actuator>
</mujoco>
""".replace("<geom type=\"box\"", '<site name="hull"/><geom type="box"')


def test_friction_of_a_foot_that_hops_is_found_in_windows():
    m = mujoco.MjModel.from_xml_string(HOPPER)
    d, t, read, touching = mujoco.MjData(m), 0.002 * np.arange(500), [], []
    ctrl = np.stack([-np.abs(np.sin(9 * t + 0.5)), np.sin(5 * t)], 1)
    for action in ctrl:
        d.ctrl[:] = action
        mujoco.mj_step(m, d)
        read.append((d.qpos.copy(), d.qvel.copy()))
        touching.append(d.ncon)
    assert np.count_nonzero(np.diff(touching)) >= 6  # it hops
    signals = {name: np.array([one[k] for one in read]) for k, name in enumerate(("qpos", "qvel"))}
    asked = [Parameter("geom_friction", "foot", 0, start=0.8)]
    found = sysid.identify(Simulation(HOPPER), Measured(ctrl, signals), asked, window=25)
    assert found.converged and found.values[0] == pytest.approx(0.5, rel=0.01)
