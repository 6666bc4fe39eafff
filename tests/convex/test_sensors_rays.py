"""Sensors that look around: rangefinders and distances between geoms, against MuJoCo."""

import mujoco
import numpy as np
import pytest

from kinema.convex.collision import Collider
from kinema.convex.model import Model
from kinema.convex.present import Present
from kinema.convex.sensors import distance, rangefinder, reading
from kinema.convex.stage import Stage

from .stage_harness import Harness

ROOM = """
<mujoco>
  <asset>
    <mesh name="rock" vertex="0 0 0  .4 0 0  0 .5 0  .1 .1 .6  .3 .3 .2"/>
    <hfield name="hill" nrow="5" ncol="6" size="1 1 .5 .1"
            elevation="0 1 2 3 4 5  1 0 1 0 1 0  2 3 4 3 2 1  0 0 1 1 0 0  3 2 1 0 1 2"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="4 4 .1"/>
    <geom name="hill" type="hfield" hfield="hill" pos="2 2 0"/>
    <geom name="ball" size=".3" pos="1 0 .5"/>
    <geom name="pill" type="capsule" size=".2 .3" pos="0 1 .5" euler="20 30 0"/>
    <geom name="egg" type="ellipsoid" size=".2 .3 .4" pos="-1 0 .5" euler="20 30 0"/>
    <geom name="can" type="cylinder" size=".2 .3" pos="0 -1 .5" euler="40 30 0"/>
    <geom name="crate" type="box" size=".2 .3 .4" pos="1 1 .5" euler="20 30 50"/>
    <geom name="rock" type="mesh" mesh="rock" pos="-1 -1 .5"/>
    <geom name="ghost" size="1" pos="0 0 3" rgba="1 1 1 0"/>
    <body name="probe" pos="0 0 .7">
      <freejoint/>
      <geom name="head" size=".05"/>
      <geom name="nose" type="box" size=".02 .03 .1" pos=".1 0 0"/>
      {sites}
      <camera name="eye" pos=".1 0 0" euler="80 10 0" resolution="5 4" fovy="60"/>
      <camera name="lens" pos="0 0 .2" euler="30 20 10" resolution="4 3" focal=".02 .03" sensorsize=".04 .03"
              principal=".001 .002"/>
      <camera name="scan" pos="0 0 1" resolution="4 4" projection="orthographic" fovy="3"/>
    </body>
  </worldbody>
  <sensor>
    {rays}
    <rangefinder camera="eye" data="dist dir origin point normal depth"/>
    <rangefinder camera="lens" data="dist depth"/>
    <rangefinder camera="scan" data="dist origin"/>
    <rangefinder site="s0" data="dist dir origin point normal depth"/>
    <rangefinder site="s1" cutoff=".5"/>
  </sensor>
</mujoco>
"""
DISTANCES = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="4 4 .1"/>
    <body name="a" pos="0 0 1"><freejoint/>
      <geom name="a0" size=".1"/><geom name="a1" type="capsule" size=".1 .2" pos=".2 .1 0" euler="30 20 0"/></body>
    <body name="b" pos=".5 .3 1.2"><freejoint/>
      <geom name="b0" size=".12"/><geom name="b1" type="{shape}" size=".1 .15 .2" pos="-.1 .3 .1"/></body>
  </worldbody>
  <sensor>
    <distance body1="a" body2="b" cutoff="5"/><normal body1="a" body2="b" cutoff="5"/>
    <fromto body1="b" body2="a" cutoff="5"/><fromto geom1="a1" geom2="floor" cutoff="5"/>
    <distance geom1="a1" geom2="b1" cutoff="5"/><fromto geom1="b1" geom2="a1" cutoff="5"/>
    <distance geom1="a0" geom2="b0" cutoff=".1"/><normal geom1="a0" geom2="b0" cutoff=".1"/>
  </sensor>
</mujoco>
"""


def look(m, d, *stages) -> np.ndarray:
    """Our readings on MuJoCo's poses."""
    harness = Harness(m)
    collider = Collider(harness.layout, Present(m))
    harness.model = harness.layout.fill(Model, {"collision": collider.bundle})
    harness.inject(d)
    harness.write("sensordata", np.full(m.nsensordata, 77.0))
    harness.run(*stages, Stage(reading.cut_off, over="nsensor"))
    return harness.read("sensordata")


def test_rangefinders_agree_with_mujoco():
    rng = np.random.default_rng(0)
    zaxes = rng.normal(size=(40, 3))
    sites = "".join(f'<site name="s{i}" zaxis="{x} {y} {z}"/>' for i, (x, y, z) in enumerate(zaxes))
    rays = "".join(f'<rangefinder site="s{i}"/>' for i in range(40))
    m = mujoco.MjModel.from_xml_string(ROOM.format(sites=sites, rays=rays))
    hits = 0
    for seed in range(4):
        d = mujoco.MjData(m)
        mujoco.mj_integratePos(m, d.qpos, np.random.default_rng(seed).normal(size=m.nv), 0.3)
        mujoco.mj_forward(m, d)
        ours = look(m, d, Stage(rangefinder.range_sensor, over="nsensor"))
        np.testing.assert_allclose(ours, d.sensordata, atol=2e-5)
        hits += (d.sensordata[:40] > 0).sum()
    assert 40 < hits < 160


@pytest.mark.parametrize("shape", ["sphere", "box", "cylinder"])
def test_distances_agree_with_mujoco(shape):
    m = mujoco.MjModel.from_xml_string(DISTANCES.format(shape=shape))
    for seed in range(4):
        d = mujoco.MjData(m)
        mujoco.mj_integratePos(m, d.qpos, np.random.default_rng(seed).normal(size=m.nv), 0.2)
        mujoco.mj_forward(m, d)
        np.testing.assert_allclose(look(m, d, distance.stage(m)), d.sensordata, atol=2e-5)


BOXES = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
  <body pos="0 0 .5"><freejoint/><geom name="a" type="box" size=".1 .2 .3"/></body>
  <body pos=".2 .1 .6"><freejoint/><geom name="b" type="box" size=".2 .1 .15"/></body></worldbody>
  <sensor><fromto geom1="a" geom2="b" cutoff="1"/><distance geom1="a" geom2="floor" cutoff="1"/></sensor></mujoco>"""


def test_boxes_that_overlap_and_no_other_convex_pair():
    """Contacts of boxes need no EPA, their depth does: there is room for it though no other pair asks."""
    m = mujoco.MjModel.from_xml_string(BOXES)
    d = mujoco.MjData(m)
    mujoco.mj_integratePos(m, d.qpos, np.random.default_rng(0).normal(size=m.nv), 0.05)
    mujoco.mj_forward(m, d)
    assert d.sensordata[6] > 0 and mujoco.mj_geomDistance(m, d, 1, 2, 1.0, None) < -0.01
    np.testing.assert_allclose(look(m, d, distance.stage(m)), d.sensordata, atol=2e-5)
