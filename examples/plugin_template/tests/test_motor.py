"""The motor against its closed form."""

from pathlib import Path

import acme_motor
import numpy as np
import pytest

from kinema import Simulation
from kinema.errors import KinemaError

MODEL = Path(acme_motor.__file__).with_name("arm.xml")
DT, TAU, GAIN = 0.01, 0.2, 3.0


@pytest.fixture(scope="module")
def sim():
    return Simulation(MODEL, worlds=3, device="cpu")


def test_torque_follows_the_command(sim):
    sim.reset()
    ctrl = np.array([0.5, 1.0, -2.0])
    sim.d.ctrl = ctrl[:, None]
    for n in range(1, 31):
        sim.step()
        before = GAIN * ctrl * (1 - (1 - DT / TAU) ** (n - 1))  # the force of a step is that at its beginning
        np.testing.assert_allclose(sim.d.actuator_force[:, 0], before, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(sim.sensor("torque").data[:, 0], before, rtol=1e-4)


def test_worlds_have_motors_of_their_own(sim):
    sim.reset()
    sim.set_plugin_parameter("acme.motor", "tau", [[0.1], [0.2], [0.4]])
    sim.d.ctrl = 1.0
    sim.step(5)
    torque = sim.d.plugin_state[:, 0]
    np.testing.assert_allclose(torque, GAIN * (1 - (1 - DT / np.array([0.1, 0.2, 0.4])) ** 5), rtol=1e-4)


def test_a_time_constant_of_zero_is_refused():
    with pytest.raises(KinemaError, match="tau"):
        Simulation(MODEL.read_text().replace('key="tau" value="0.2"', 'key="tau" value="0"'), device="cpu")
