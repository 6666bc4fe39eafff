"""Resetting chosen worlds on the device."""

import mujoco
import numpy as np
import warp as wp

from kinema.convex.engine import Engine
from kinema.convex.reset import StatePutter, initial_state

from . import mechanisms


def test_chosen_worlds_get_the_initial_state_on_the_device():
    m = mujoco.MjModel.from_xml_string(mechanisms.YIELDING)
    engine = Engine(m, 3, device="cpu")
    initial = initial_state(m, np.zeros(0))
    for name, value in initial.items():
        if np.size(value):
            engine.write(name, np.full_like(value, 7.0))
    StatePutter(engine.layout.arrays, initial).put(wp.array([0, 1, 0], dtype=int, device="cpu"))
    for name, value in initial.items():
        if np.size(value):
            values = engine.read(name)
            np.testing.assert_allclose(values[1], value, err_msg=name)
            assert (values[[0, 2]] == 7).all(), name


def test_the_initial_state_is_mujocos():
    m = mujoco.MjModel.from_xml_string(mechanisms.YIELDING)
    d = mujoco.MjData(m)
    for name, value in initial_state(m, np.zeros(0)).items():
        if hasattr(d, name):
            np.testing.assert_allclose(value, getattr(d, name), err_msg=name)
