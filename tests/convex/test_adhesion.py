"""Contacts that adhere pull their bodies together, beside what their rows do; as in MuJoCo."""

import mujoco
import numpy as np
import pytest

from tests.convex.flex import scenes as flex_scenes

STICKY = """<mujoco><option cone="{cone}" integrator="{integrator}"/><worldbody>
  <geom name="floor" type="plane" size="1 1 1" adhesion=".3"/>
  <body pos="0 0 .099"><freejoint/><geom type="box" size=".1 .1 .1" adhesion=".4" gap=".02"/>
    <body pos="0 .25 0"><joint axis="1 0 0"/><geom name="end" type="capsule" size=".05" fromto="0 0 0 0 .1 0"/></body>
  </body>
  <body pos=".5 0 .105"><freejoint/><geom size=".1" gap=".02" priority="1" adhesion="2" condim="4"/></body>
  <body pos="-.5 0 .4"><freejoint/><geom size=".1" adhesion="1"/></body></worldbody>
  <contact><pair geom1="floor" geom2="end" margin=".2" gap=".1" adhesion=".7" condim="6"/></contact></mujoco>"""


@pytest.mark.parametrize("integrator", ["Euler", "discrete"])
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_adhesive_contacts_pull(cone, integrator, twin, agree):
    m = mujoco.MjModel.from_xml_string(STICKY.format(cone=cone, integrator=integrator))
    d = mujoco.MjData(m)
    d.qvel[:] = np.float32(np.random.default_rng(0).normal(size=m.nv) * 0.2)
    engine = twin(m, d)
    mujoco.mj_forward(m, d)
    engine.forward()
    assert d.ncon > 5 and np.abs(d.qfrc_adhesion).max() > 1
    agree(engine, d, ("qfrc_adhesion", "qfrc_passive"), 1e-5)
    agree(engine, d, ("qacc", "qfrc_constraint"), 1e-3)
    mujoco.mj_step(m, d, nstep=20)
    engine.step(20)
    agree(engine, d, ("qpos", "qvel"), 1e-3)


CLOTH = """<mujoco><option timestep=".002"/><worldbody><geom type="plane" size="1 1 .1" adhesion=".2" condim="3"/>
  <flexcomp name="cloth" type="grid" dim="2" count="3 3 1" spacing=".1 .1 .1" pos="0 0 .004" radius=".005" mass=".1">
  <edge equality="true"/><contact condim="3" selfcollide="none"/></flexcomp></worldbody></mujoco>"""


def test_a_flex_on_what_adheres(twin, agree):
    m = mujoco.MjModel.from_xml_string(CLOTH)
    d = mujoco.MjData(m)
    engine = twin(m, d)
    mujoco.mj_forward(m, d)
    engine.forward()
    assert np.abs(d.qfrc_adhesion).max() > 0.1
    agree(engine, d, ("qfrc_adhesion", "qacc"), 1e-3)


ROD = """<mujoco><worldbody>
  <body pos="{place}" euler="20 35 10" mocap="true"><geom type="box" size=".03 .04 .02" adhesion="1"/></body>
  <flexcomp name="rod" type="direct" dim="1" point="0 0 0 .08 0 0 .16 .02 0 .2 .08 .01" element="0 1 1 2 2 3"
    radius=".011" mass=".14"><elasticity young="5e4" damping=".006"/><contact selfcollide="none"/><pin id="0 2"/>
  </flexcomp></worldbody></mujoco>"""


@pytest.mark.parametrize("place", [".05 .01 -.03", ".12 .01 -.02"])
def test_what_adheres_turns_segments_of_rods(place):
    """The point that is pulled is on the surface of a segment, off its axis, and moves as its rows have it."""
    m = flex_scenes.model(ROD.format(place=place))
    d = flex_scenes.disturbed(m, 5, 0.5)
    engine = flex_scenes.engine_at(m, d)
    assert d.ncon and np.abs(d.qfrc_adhesion).max() > 0.3
    assert flex_scenes.off(engine.read("qfrc_adhesion")[0], d.qfrc_adhesion) < 1e-5
