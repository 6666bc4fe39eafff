"""PID servos under other integrators and with every limit, against MuJoCo's own plugin: when rates and forces are
evaluated matters, and which of the limits of an actuator hold for a plugin's."""

import mujoco
import numpy as np
import pytest

from kinema.convex.engine import Engine
from tests.plugins.scenes import config, slides

GAINS = dict(kp=40, kd=4, ki=40)
LIMITED = {
    "force": 'actdim="1" forcerange="-5 5"',
    "control": 'actdim="1" ctrlrange="-.3 .3"',
    "activation": 'actdim="2" dyntype="filter" dynprm="0.1" actrange="-.05 .05"',  # also of the plugin's own
    "integrator": 'actdim="2" dyntype="integrator" actrange="-1 1"',
    "early": 'actdim="2" dyntype="filter" dynprm="0.1" actearly="true"',
    "early, exact": 'actdim="2" dyntype="filterexact" dynprm="0.1" actearly="true"',
}


def document(integrator: str) -> str:
    """The servos of the step responses, and limited ones."""
    bodies, actuators = slides()
    for i, attributes in enumerate(LIMITED.values()):
        bodies += f"""<body pos="{i} 1 0"><joint name="limited{i}" type="slide" axis="0 0 1"/>
            <geom size=".1" mass="1"/></body>"""
        actuators += f'<plugin plugin="mujoco.pid" joint="limited{i}" {attributes}>{config(**GAINS)}</plugin>'
    return f"""<mujoco><option timestep="0.004" integrator="{integrator}"><flag constraint="disable"/></option>
        <extension><plugin plugin="mujoco.pid"/></extension>
        <worldbody>{bodies}</worldbody><actuator>{actuators}</actuator></mujoco>"""


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicitfast"])
def test_pid(integrator):
    m = mujoco.MjModel.from_xml_string(document(integrator))
    d, engine = mujoco.MjData(m), Engine(m, 2, device="cpu")
    rng = np.random.default_rng(2)
    held = np.zeros(m.nu, dtype=bool)
    for _ in range(5):
        ctrl = rng.normal(size=m.nu)
        d.ctrl[:] = ctrl
        engine.write("ctrl", ctrl)
        mujoco.mj_step(m, d, 50)
        engine.step(50)
        # float32 against float64: setpoints that slew are sums of many small steps
        np.testing.assert_allclose(engine.read("qpos")[1], d.qpos, atol=2e-5)
        np.testing.assert_allclose(engine.read("act")[1], d.act, atol=5e-5)
        np.testing.assert_allclose(engine.read("actuator_force")[1], d.actuator_force, rtol=1e-4, atol=2e-4)
        held |= np.abs(d.actuator_force) == 5.0
    assert held.tolist().index(True) == len(m.actuator_forcelimited) - len(LIMITED)
    limited = m.actuator_actadr[-4]
    assert np.all(np.abs(engine.read("act")[1, limited : limited + 2]) <= 0.05)
