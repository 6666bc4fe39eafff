"""PID servos under other integrators, against MuJoCo's own plugin: when rates and forces are evaluated matters."""

import mujoco
import numpy as np
import pytest

from kinema.convex.engine import Engine
from tests.plugins.test_physics import slides


@pytest.mark.parametrize("integrator", ["RK4", "implicitfast"])
def test_pid(integrator):
    bodies, actuators = slides()
    m = mujoco.MjModel.from_xml_string(f"""<mujoco>
        <option timestep="0.004" integrator="{integrator}"><flag constraint="disable"/></option>
        <extension><plugin plugin="mujoco.pid"/></extension>
        <worldbody>{bodies}</worldbody><actuator>{actuators}</actuator></mujoco>""")
    d, engine = mujoco.MjData(m), Engine(m, 2, device="cpu")
    rng = np.random.default_rng(2)
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
