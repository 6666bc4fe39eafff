"""Actuator, sensor and passive plugins at work, one model for all: against MuJoCo, formulae and beam theory."""

import pickle

import mujoco
import numpy as np
import pytest

from kinema import Simulation
from kinema.errors import PluginError, UnknownKey
from kinema.mjcf import Physics
from tests.plugins import samples  # noqa: F401 (registers plugins)
from tests.plugins.scenes import BEND, LINK, LINKS, LOAD, MOTOR, PID, RADIUS, robot, slides, workshop

SERVOS = slice(0, 8)
MOTOR_ID, STEP_ID, NAN_ID, WINDING_ID = 8, 9, 10, 11
NU = 12


@pytest.fixture(scope="module")
def shared():
    return Simulation(workshop(), worlds=3, device="cpu", threads=1)


@pytest.fixture
def sim(shared):
    shared.reset()
    shared.d.ctrl = 0.0
    return shared


def test_pid_step_response(sim):
    bodies, actuators = slides()
    m = mujoco.MjModel.from_xml_string(f"""<mujoco><option timestep="0.002"/><extension><plugin plugin="mujoco.pid"/>
        </extension><worldbody>{bodies}</worldbody><actuator>{actuators}</actuator></mujoco>""")
    d = mujoco.MjData(m)
    ctrl = np.zeros(NU)
    for steps in (50, 200, 750):
        mujoco.mj_step(m, d, steps)
        sim.step(steps)
        np.testing.assert_allclose(sim.d.qpos[1, :8], d.qpos, atol=2e-6)
        np.testing.assert_allclose(sim.d.act[1, : m.na], d.act, atol=5e-6)
        d.ctrl[:] = ctrl[SERVOS] = 0.5
        sim.d.ctrl = ctrl
    np.testing.assert_allclose(sim.d.qpos[1, :8], [expected for _, _, expected in PID.values()], atol=2e-6)


def test_dcmotor_and_its_thermometer(sim):
    ctrl = np.zeros((3, NU))
    ctrl[:, MOTOR_ID] = [0.0, 3.0, -6.0]
    sim.d.ctrl = ctrl
    velocity, temperature = np.zeros(3), np.full(3, MOTOR["ambient"])
    index = sim.model.jnt_dofadr[sim.model.id("joint", "motor")]
    inertia = 0.4 * 2 * 0.01
    for _ in range(200):
        warmth = temperature - MOTOR["ambient"]
        resistance = MOTOR["resistance"] * (1 + MOTOR["alpha"] * warmth)
        current = (ctrl[:, MOTOR_ID] - MOTOR["constant"] * velocity) / resistance
        force = MOTOR["constant"] * current
        velocity = velocity + 0.002 * (force - 0.02 * velocity) / (inertia + 0.002 * 0.02)
        heat = resistance * current**2 - warmth / MOTOR["thermal_resistance"]
        sim.step()
        np.testing.assert_allclose(sim.d.sensordata[:, 0], temperature, rtol=1e-5)
        temperature = temperature + 0.002 * heat / MOTOR["heat_capacity"]
    np.testing.assert_allclose(sim.d.qvel[:, index], velocity, rtol=2e-4)
    assert sim.d.sensordata[2, 0] > 20.05 and sim.d.sensordata[0, 0] == 20.0


def test_current_in_a_winding(sim):
    """With inductance the current is an activation that follows the exact exponential, whatever the time step."""
    ctrl = np.zeros(NU)
    ctrl[WINDING_ID] = 6.0
    sim.d.ctrl = ctrl
    first = int(sim.model.actuator_actadr[WINDING_ID])
    for k in (5, 20, 60):
        sim.step(k)
        expected = 3.0 * (1 - np.exp(-sim.d.time[0] * 2 / 0.05))
        np.testing.assert_allclose(sim.d.act[:, first], expected, rtol=1e-4)
    sim.forward()
    np.testing.assert_allclose(sim.d.actuator_force[:, WINDING_ID], 0.3 * sim.d.act[:, first], rtol=1e-6)


def test_activation_layout_rates_and_overwriting(sim):
    """The plugin's activation comes before the dyntype's; advance_act puts it back to 0 beyond the limit."""
    ctrl = np.zeros(NU)
    ctrl[STEP_ID] = 3.0
    sim.d.ctrl = ctrl
    sim.forward()
    first = int(sim.model.actuator_actadr[STEP_ID])
    assert sim.d.act_dot[0, first : first + 2].tolist() == [2.0, 3.0]
    seen = []
    for _ in range(30):
        sim.step()
        seen.append(sim.d.act[0, first])
    np.testing.assert_allclose(seen[:22], 0.004 * np.arange(1, 23), rtol=1e-5)
    assert max(seen) <= 0.09 and seen[22] == 0.0
    np.testing.assert_allclose(sim.d.act[0, first + 1], 30 * 0.006, rtol=1e-5)


def test_drag_and_speedometer(sim):
    sim.step(1500)
    fall = np.sqrt(9.81 / 0.8)
    np.testing.assert_allclose(sim.d.sensordata[:, 1], fall, rtol=1e-3)
    ball = sim.model.id("site", "ball")
    sim.forward()
    np.testing.assert_allclose(sim.d.sensordata[:, 2], 3 * sim.d.site_xpos[:, ball, 2], rtol=1e-6)


def test_cable_bends_as_a_beam(sim):
    """The tip of a cantilever; half of the fixed link belongs to the rod that bends."""
    xfrc = np.zeros(sim.d.xfrc_applied.shape)
    last = sim.model.id("body", f"link{LINKS}")
    site = sim.model.id("site", "tip")
    xfrc[1, last] = [0, 0, LOAD, 0, LOAD * LINK / 2, 0]  # at the link's beginning, where the site is
    sim.d.xfrc_applied = xfrc
    sim.step(5000)
    moment, length = np.pi * RADIUS**4 / 4, (LINKS - 0.5) * LINK
    expected = LOAD * length**3 / (3 * BEND * moment)
    assert abs(sim.d.site_xpos[1, site, 2] / expected - 1) < 0.02
    assert abs(sim.d.site_xpos[0, site, 2]) < 1e-5


def test_state_is_saved_restored_and_reset(sim):
    assert sim.model.npluginstate == 3  # two temperatures and steps; `unused` is not there
    ctrl = np.zeros(NU)
    ctrl[MOTOR_ID] = 5.0
    sim.d.ctrl = ctrl
    sim.step(20)
    saved = sim.get_state()
    assert 22.0 in saved["plugin_state"][0]
    sim.step(30)
    after = sim.get_state()
    sim.reset([False, True, False])
    assert np.array_equal(np.sort(sim.d.plugin_state[1]), [2.0, 20.0, 25.0])
    assert np.array_equal(sim.d.plugin_state[2], after["plugin_state"][2])
    sim.set_state(**saved)
    sim.step(30)
    for name, value in sim.get_state().items():
        assert np.array_equal(value, after[name]), name


def test_copies_continue_equal(sim, tmp_path):
    """Of one world, of a physics, and through a file: the same bits as the simulation they were taken from."""
    ctrl = np.zeros((3, NU))
    ctrl[:, MOTOR_ID], ctrl[:, SERVOS] = [5.0, 6.0, 7.0], 0.3
    sim.d.ctrl = ctrl
    sim.step(20)
    sim.save(tmp_path / "state.npz")
    one = sim.copy_of_world(1)
    one.set_state(**{name: value[1:2] for name, value in sim.get_state().items()})
    one.d.ctrl = ctrl[1]
    sim.step(30)
    one.step(30)
    after = sim.get_state()
    assert all(np.array_equal(value[0], after[name][1]) for name, value in one.get_state().items())
    sim.load(tmp_path / "state.npz")
    sim.step(30)
    assert all(np.array_equal(value, after[name]) for name, value in sim.get_state().items())


def test_copy_of_a_physics():
    """mjcf.Physics copied while its motor is warm."""
    physics = Physics.from_xml_string(robot("kinema.dcmotor", constant=0.5, heat_capacity=0.5))
    physics.data.ctrl[:] = [4.0, -3.0]
    physics.step(20)
    other = physics.copy()
    again = pickle.loads(pickle.dumps(physics))
    assert physics.data.plugin_state[0] > 25.0
    for p in (physics, other, again):
        p.step(20)
    for p in (other, again):
        assert np.array_equal(p.data.plugin_state, physics.data.plugin_state)
        assert np.array_equal(p.data.qpos, physics.data.qpos)


def test_parameters_per_world(sim):
    values = sim.plugin_parameter("mujoco.pid", "kp")
    assert values.shape == (3, 8) and np.all(values == 40)
    assert sim.plugin_parameter("test.speedometer", "gain").shape == (3, 1, 2)
    with pytest.raises(UnknownKey, match="kpp"):
        sim.plugin_parameter("mujoco.pid", "kpp")
    with pytest.raises(UnknownKey, match="did you mean 'mujoco.pid'"):
        sim.plugin_parameter("mujoco.pit", "kp")
    sim.set_plugin_parameter("mujoco.pid", "kp", np.array([40.0, 80.0, 40.0])[:, None])
    sim.step(100)
    sim.set_plugin_parameter("mujoco.pid", "kp", 40.0)
    q = sim.d.qpos
    assert np.array_equal(q[0], q[2]) and np.all(np.abs(q[1, :8]) < np.abs(q[0, :8]))


def test_a_plugin_that_gives_nan_freezes_its_world_only(sim):
    sim.step(5)
    before = sim.get_state()
    ctrl = np.zeros((3, NU))
    ctrl[1, NAN_ID] = 2.0
    sim.d.ctrl = ctrl
    sim.step(5)
    with pytest.raises(PluginError, match=r"world 1.*plugin test\.nan \(instance \d+\)"):
        sim.check()
    for name in ("qpos", "qvel", "act", "plugin_state", "time"):
        assert np.array_equal(sim.get_state()[name][1], before[name][1]), name
        assert np.all(np.isfinite(sim.get_state()[name]))
    assert sim.d.time[0] > sim.d.time[1]
    sim.reset([False, True, False])
    sim.check()
