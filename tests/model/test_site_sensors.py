"""Sensors at sites: against MuJoCo's accelerometer and gyro, and against Newton's frame transforms."""

from __future__ import annotations

import re

import mujoco
import numpy as np
import pytest

import kinema
from kinema import ModelBuilder, SolverConvex
from kinema.errors import BuildError
from kinema.sensors import SensorFrameTransform, SensorIMU

XML = """<mujoco><worldbody><site name="base" pos=".1 .2 .3" euler="20 0 0"/>
  <body name="a" pos="0 0 1"><joint axis="0 1 0"/><geom size=".1" pos=".3 0 0"/><site name="imu_a" pos=".2 .1 0"/>
    <body name="b" pos=".5 0 0"><joint axis="1 0 .3"/><geom size=".05 .1 .2" type="box" pos="0 .2 0"/>
      <site name="imu_b" pos="0 .3 .1" euler="0 30 45"/></body></body></worldbody>
  <sensor><accelerometer site="imu_a"/><gyro site="imu_a"/><accelerometer site="imu_b"/><gyro site="imu_b"/>
    <framepos objtype="site" objname="imu_b" reftype="site" refname="base"/>
    <framequat objtype="site" objname="imu_b" reftype="site" refname="base"/></sensor></mujoco>"""


@pytest.fixture(scope="module")
def swinging():
    """Two worlds, 30 steps on, their sensors made before."""
    one, many = ModelBuilder(), ModelBuilder()
    one.add_mjcf(XML)
    many.replicate(one, 2, spacing=(3.0, 0.0, 0.0))
    model = many.finalize(device="cpu")
    imu = SensorIMU(model, "*/imu_*")
    solver, state, out = SolverConvex(model), model.state(), model.state()
    for _ in range(30):
        solver.step(state, state)
    solver.step(state, out)
    m = mujoco.MjModel.from_xml_string(XML)
    d = mujoco.MjData(m)
    mujoco.mj_step(m, d, 30)
    mujoco.mj_forward(m, d)
    return model, imu, state, out, d


def test_inertial_units(swinging):
    """Accelerations are of the step just made, so they are read with the poses it began at."""
    model, imu, state, out, d = swinging
    state.body_qdd.assign(out.body_qdd)
    imu.update(state)
    felt, turned = imu.accelerometer.numpy().reshape(2, 2, 3), imu.gyroscope.numpy().reshape(2, 2, 3)
    expect = d.sensordata[:12].reshape(2, 2, 3)
    for world in range(2):
        np.testing.assert_allclose(felt[world], expect[:, 0], atol=2e-3)
        np.testing.assert_allclose(turned[world], expect[:, 1], atol=1e-4)
    assert np.abs(expect[:, 1]).max() > 0.1


def test_frames_seen_from_sites(swinging):
    model, _, state, _, d = swinging
    sensor = SensorFrameTransform(model, re.compile(".*/imu_b"), "*/base")
    sensor.update(state)
    found = sensor.transforms.numpy()
    assert len(found) == 2
    np.testing.assert_allclose(found[0, :3], d.sensordata[12:15], atol=1e-5)
    assert abs(found[0, 3:] @ d.sensordata[15:19][[1, 2, 3, 0]]) == pytest.approx(1, abs=1e-6)


def test_refused(swinging):
    model = swinging[0]
    with pytest.raises(BuildError, match="no site matches 'imu_c'"):
        SensorIMU(model, "imu_c")
    with pytest.raises(BuildError, match="is a shape, not a site"):
        SensorIMU(model, [1])
    with pytest.raises(BuildError, match="there are"):
        SensorFrameTransform(model, [999], "*/base")
    plain = ModelBuilder()
    plain.add_mjcf(XML)
    other = plain.finalize(device="cpu")
    solver, before = SolverConvex(other), other.state()
    late = kinema.sensors.SensorIMU(other, "*/imu_a")
    with pytest.raises(BuildError, match="before model.state"):
        late.update(before)
    with pytest.raises(BuildError, match="before the solver is made"):
        solver.step(before, other.state())
