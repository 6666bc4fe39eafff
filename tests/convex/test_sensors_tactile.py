"""Tactile sensors against MuJoCo: depths and sliding speeds of every taxel, over primitives and a distance field."""

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.convex.engine import Engine
from kinema.convex.sensors import tactile

XML = """
<mujoco>
  <option timestep="0.002"/>
  <extension><plugin plugin="mujoco.sdf.torus"><instance name="ring">
    <config key="radius1" value=".03"/><config key="radius2" value=".012"/></instance></plugin></extension>
  <asset>
    <mesh name="plate" builtin="plate" params="9 7" scale="0.04 0.04 0.005"/>
    <mesh name="wedge" builtin="wedge" params="6 5 80 60 0" scale=".03 .03 .03"/>
    <mesh name="lump" vertex="0 0 0 .02 0 0 0 .02 0 0 0 .02"/>
    <mesh name="ring"><plugin instance="ring"/></mesh>
  </asset>
  <default><geom density="3000" contype="0" conaffinity="1"/></default>
  <worldbody>
    <geom type="plane" size="1 1 .1" contype="1" conaffinity="0"/>
    <geom name="surface" type="mesh" mesh="plate" pos="0 0 .005" contype="0" conaffinity="0"/>
    <body pos="0 .02 .0185"><freejoint/><geom type="sphere" size=".02"/></body>
    <body pos=".02 -.02 .0085" euler="0 90 20"><freejoint/><geom type="capsule" size=".01 .01"/></body>
    <body pos="-.025 -.015 .0085"><freejoint/><geom type="box" size=".01 .01 .01"/></body>
    <body pos="-.02 .02 .0185" euler="10 0 0"><freejoint/><geom type="ellipsoid" size=".01 .015 .02"/></body>
    <body pos=".03 .02 .0085"><freejoint/><geom type="cylinder" size=".01 .01"/></body>
    <body pos="0 0 .01"><freejoint/><geom type="sdf" mesh="ring"><plugin instance="ring"/></geom></body>
    <body pos=".02 0 0"><freejoint/><geom type="mesh" mesh="lump"/></body>
    <body pos=".5 0 .5"><freejoint/>
      <geom name="finger" size=".03" contype="2" conaffinity="0"/>
      <geom name="hidden" size=".01" contype="0" conaffinity="0" mass="0" pos=".002 0 0" quat=".9 .1 .2 .3"/>
    </body>
    <body pos=".5 0 .535"><freejoint/><geom size=".02" contype="0" conaffinity="2"/></body>
    <body pos=".5 .025 .515"><freejoint/><geom size=".02" contype="0" conaffinity="2"/></body>
  </worldbody>
  <sensor>
    <tactile geom="surface" mesh="plate"/>
    <tactile geom="surface" mesh="plate" cutoff=".0004"/>
    <tactile geom="hidden" mesh="wedge"/>
    <tactile geom="hidden" mesh="lump"/>
    <clock/>
  </sensor>
</mujoco>
"""


@pytest.fixture(scope="module")
def pair():
    m = mujoco.MjModel.from_xml_string(XML)
    return m, Engine(m, 2, device="cpu", nconmax=300)


def test_readings_are_those_of_mujoco(pair):
    m, engine = pair
    d = mujoco.MjData(m)
    rng = np.random.default_rng(0)
    felt = np.zeros(m.nsensordata)
    for _ in range(6):
        mujoco.mj_resetData(m, d)
        d.qpos += 0.001 * rng.normal(size=m.nq)
        d.qvel[:] = rng.normal(size=m.nv)
        mujoco.mj_forward(m, d)
        engine.write("qpos", d.qpos)
        engine.write("qvel", d.qvel)
        engine.forward()
        read = engine.read("sensordata")
        assert np.array_equal(read[0], read[1])
        for i in range(m.nsensor):
            part = slice(m.sensor_adr[i], m.sensor_adr[i] + m.sensor_dim[i])
            scale = max(1e-3, np.abs(d.sensordata[part]).max())
            np.testing.assert_allclose(read[0, part], d.sensordata[part], atol=2e-4 * scale, err_msg=str(i))
        felt += np.abs(d.sensordata)
    for i in range(3):
        assert np.count_nonzero(felt[m.sensor_adr[i] : m.sensor_adr[i] + m.sensor_dim[i]]) > 15


def test_nothing_is_felt_in_the_air(pair):
    m, engine = pair
    qpos = m.qpos0.copy()
    qpos[2::7] += 0.3 + 0.1 * np.arange(m.nbody - 1)
    engine.write("qpos", qpos)
    engine.write("qvel", 0.0)
    engine.step()
    assert np.abs(engine.read("sensordata")[:, :-1]).max() == 0.0


@pytest.mark.slow
def test_compiles_for_hopper(tmp_path):
    for module in (wp.get_module(tactile.__name__), tactile.read_taxels(tactile.no_field).module):
        wp.compile_aot_module(module, arch=90, module_dir=tmp_path, use_ptx=True)
    assert len(list(tmp_path.glob("*.ptx"))) == 2
