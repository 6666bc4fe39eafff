"""insidesite with sites that are meshes, against MuJoCo."""

import mujoco
import numpy as np

from kinema.convex.engine import Engine

XML = """
<mujoco>
  <option><flag constraint="disable"/></option>
  <asset>
    <mesh name="hull" vertex="0 0 0  .3 0 0  0 .2 0  0 0 .4  .25 .25 .25"/>
    <mesh name="dented" vertex="0 0 0  .3 0 0  0 .3 0  0 0 .3  .05 .05 .05"
      face="0 2 1  0 1 3  0 3 2  1 2 4  2 3 4  3 1 4" inertia="shell"/>
  </asset>
  <worldbody>
    <site name="zone" type="mesh" mesh="hull" pos=".1 .2 .3" quat=".9 .1 .2 .3"/>
    <site name="ball" size=".5"/>
    <body name="mover"><freejoint/><geom name="g" size=".01" pos=".05 0 0"/>
      <site name="carried" type="mesh" mesh="dented" pos="0 0 .1" euler="20 0 40"/></body>
    <body name="other" pos=".2 0 0"><freejoint/><geom size=".01"/></body>
  </worldbody>
  <sensor>
    <insidesite site="zone" objtype="geom" objname="g"/>
    <insidesite site="ball" objtype="xbody" objname="mover"/>
    <insidesite site="carried" objtype="body" objname="other"/>
  </sensor>
</mujoco>
"""


def test_inside_meshes():
    m = mujoco.MjModel.from_xml_string(XML)
    d, worlds = mujoco.MjData(m), 400
    engine = Engine(m, worlds, device="cpu")
    rng = np.random.default_rng(0)
    qpos = np.tile(m.qpos0, (worlds, 1))
    expected = np.zeros((worlds, 3))
    for w in range(worlds):
        qpos[w, :3] = [0.15, 0.25, 0.4] + rng.uniform(-0.25, 0.25, 3)
        qpos[w, 3:7] = rng.normal(size=4)
        qpos[w, 7:10] = qpos[w, :3] + rng.uniform(-0.3, 0.3, 3)
        d.qpos[:] = qpos[w]
        mujoco.mj_forward(m, d)
        expected[w] = d.sensordata
    engine.write("qpos", qpos)
    engine.forward()
    assert np.array_equal(engine.read("sensordata"), expected)
    assert np.all(expected.sum(axis=0) > 10) and np.all(expected.sum(axis=0) < 390)
