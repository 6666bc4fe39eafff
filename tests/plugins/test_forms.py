"""The forms a plugin may have give the same physics, and that physics is what its formulae say."""

import numpy as np
import pytest

from kinema.compile import compile_model
from kinema.convex.engine import Engine
from kinema.plugins import find_plugin
from kinema.plugins.bind import kernels_of
from tests.plugins import samples  # noqa: F401 (registers plugins)
from tests.plugins.forms import FORMS
from tests.plugins.forms import drive as host_kernel
from tests.plugins.scenes import forms

FIELDS = ("qpos", "qvel", "act", "act_dot", "plugin_state", "sensordata", "actuator_force", "qfrc_passive")


@pytest.fixture(scope="module")
def engines():
    made = [Engine(compile_model(forms(plugin)), 3, device="cpu") for plugin in FORMS]
    for engine in made:
        engine.write("ctrl", [[0.5, -0.3], [0.0, 0.0], [1.0, 2.0]])
        engine.write("qvel", [[1.0, 2.0], [0.0, -1.0], [0.0, 0.0]])
        engine.step(30)
    return made


@pytest.mark.parametrize("k", [1, 2], ids=["instance", "host"])
def test_forms_agree(engines, k):
    for name in FIELDS:
        np.testing.assert_allclose(engines[k].read(name), engines[0].read(name), rtol=1e-5, atol=1e-6, err_msg=name)


def test_forms_compute_what_they_say(engines):
    """Forces, rates, readings and states after a forward pass at the present state, by NumPy."""
    for engine in engines:
        engine.forward()
        act, ctrl, length = (engine.read(name) for name in ("act", "ctrl", "actuator_length"))
        np.testing.assert_allclose(engine.read("actuator_force"), 3 * (ctrl - length) + act, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(engine.read("act_dot"), 5 * (ctrl - act), rtol=1e-5, atol=1e-6)
        sensed = engine.read("sensordata")
        np.testing.assert_allclose(sensed[:, 1], 0.5 + 30 * 0.005, rtol=1e-5)
        hip, knee = engine.read("qpos").T
        rate, bend = engine.read("qvel")[:, 0], engine.read("qvel").sum(axis=1)
        speed = 0.4 * np.sqrt(rate**2 + bend**2 + 2 * rate * bend * np.cos(knee))
        np.testing.assert_allclose(sensed[:, 0], speed, rtol=1e-4, atol=1e-5)
        # drag -0.4 v on the shin, whose centre is 0.2 below the knee, and damping of the joints
        vx = -0.4 * rate * np.cos(hip) - 0.2 * bend * np.cos(hip + knee)
        vz = 0.4 * rate * np.sin(hip) + 0.2 * bend * np.sin(hip + knee)
        at_knee = 0.4 * 0.2 * (vx * np.cos(hip + knee) - vz * np.sin(hip + knee))
        at_hip = at_knee + 0.4 * 0.4 * (vx * np.cos(hip) - vz * np.sin(hip))
        expected = np.stack([at_hip, at_knee], axis=1) - 0.1 * engine.read("qvel")
        np.testing.assert_allclose(engine.read("qfrc_passive"), expected, rtol=1e-4, atol=1e-5)


def test_kernels_of_host_code_are_known_before_a_graph_is_captured():
    assert host_kernel in kernels_of(find_plugin("test.form.host"))
    assert kernels_of(find_plugin("test.recorder")) == []
