"""Compiled models written as MJCF compile to the same numbers, by Kinema and by MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from kinema import ModelBuilder, Simulation
from kinema.compile import compile_model
from kinema.compile.decompile import decompile, differences, mjcf_text
from kinema.errors import BuildError

RICH = """<mujoco model="rich"><compiler angle="degree"/><size nuser_geom="2" nuserdata="3"/>
<option timestep=".003" integrator="implicitfast" cone="elliptic" density="1.2" wind="1 0 0" impratio="3"
  actuatorgroupdisable="2 5"><flag energy="enable" eulerdamp="disable"/></option>
<visual><global fovy="50"/><map znear=".02"/><headlight active="1" diffuse=".3 .3 .3"/></visual>
<asset><material name="grey" rgba=".4 .4 .4 1" specular=".2"/>
  <mesh name="wedge" vertex="0 0 0 .3 0 0 0 .2 0 0 0 .1 .3 .2 .05"/>
  <hfield name="hills" nrow="3" ncol="4" size="2 3 .5 .1" elevation="0 1 2 3 1 2 3 4 2 1 0 1"/></asset>
<default><geom friction=".8 .01 .001"/><default class="soft"><geom solref=".05 1.2" solmix="2"/></default></default>
<worldbody><light name="lamp" pos="0 0 4" dir="0 .2 -1" type="directional" castshadow="false"/>
  <geom type="hfield" hfield="hills" pos="0 0 -1"/><camera name="eye" pos="0 -3 1" xyaxes="1 0 0 0 .3 1" fovy="60"/>
  <body name="hand" mocap="true" pos="0 0 2"/>
  <body name="base" pos=".1 .2 1" euler="10 20 30" gravcomp=".5"><freejoint name="float"/>
    <geom type="box" size=".1 .2 .05" class="soft" user="1 2" material="grey" contype="2" condim="4"/>
    <geom name="chip" type="mesh" mesh="wedge" pos=".1 0 .1" euler="0 0 40"/>
    <site name="top" pos="0 0 .06" size=".02 .03 .04" type="box"/>
    <camera name="chase" mode="trackcom" pos="-1 0 .5" sensorsize=".01 .008" focal=".02 .02" resolution="64 48"/>
    <body name="arm" pos="0 0 .1"><joint name="elbow" axis="0 1 0" range="-40 80" ref="15" springref="5"
  damping=".1 .02"
        stiffness="2" armature=".01" frictionloss=".03" actuatorfrcrange="-3 3"/>
      <geom name="rod" type="capsule" fromto="0 0 0 .1 0 .3" size=".02" fluidshape="ellipsoid"/><site
  name="tip" pos=".1 0 .3"/>
      <body pos=".1 0 .3"><joint name="wrist" type="ball" pos="0 0 .01" damping=".2" range="0 50"/><geom
  size=".05"/></body>
    </body>
    <body name="rail" pos=".3 0 0"><joint name="slide" type="slide" axis="1 0 1" range="-.1 .2"
  solreflimit=".03 1"/>
      <geom name="drum" type="cylinder" size=".03 .05" mass=".3"/><site name="crank"/></body></body></worldbody>
<contact><pair geom1="rod" geom2="chip" friction="1 1 .1 .01 .01" margin=".01"/><exclude body1="base"
  body2="arm"/></contact>
<equality><connect body1="base" body2="hand" anchor="0 0 .5"/><joint joint1="slide" joint2="elbow"
  polycoef="0 .2 .1"/>
  <weld site1="tip" site2="crank" active="false"/><weld body1="arm" body2="rail" active="false"
  torquescale=".5"/></equality>
<tendon><spatial name="rope" range="0 1.5" stiffness="3" width=".01"><site site="top"/><geom geom="drum"
  sidesite="top"/>
  <site site="crank"/><pulley divisor="2"/><site site="tip"/><site site="crank"/></spatial>
  <fixed name="mix" springlength=".1 .2"><joint joint="elbow" coef=".5"/><joint joint="slide"
  coef="-1"/></fixed></tendon>
<actuator><position name="servo" joint="elbow" kp="20" kv="1" ctrlrange="-1 1"/><motor tendon="rope" gear="2"/>
  <general site="tip" refsite="top" gear="0 0 1 0 0 0" dyntype="filter" dynprm=".1" gainprm="3" group="2"/>
  <cylinder joint="slide" timeconst=".2" area=".01"/><muscle tendon="mix" lengthrange=".1 .5"/>
  <velocity jointinparent="wrist" kv="2" gear="0 0 1"/></actuator>
<sensor><accelerometer site="tip" noise=".1"/><jointpos joint="elbow" cutoff="2"/><framepos objtype="xbody"
  objname="arm"
  reftype="site" refname="top"/><tendonpos tendon="rope"/><actuatorfrc actuator="servo"/><rangefinder site="top"/>
  <distance geom1="rod" geom2="chip" cutoff="1"/><user dim="2" needstage="vel"/><clock/></sensor>
<custom><numeric name="gains" data="1 2 3"/><tuple name="pair"><element objtype="body" objname="arm"
  prm=".5"/></tuple></custom>
<keyframe><key name="home" time=".5" qpos="0 0 2 1 0 0 0 .3 1 0 0 0 .05" ctrl=".1 .2 .3 .4 .5 .6"
  act=".1 .2 .3"/></keyframe>
</mujoco>"""


@pytest.fixture(scope="module")
def rich():
    return compile_model(RICH)


def test_comes_back_as_it_was(rich):
    text = mjcf_text(rich)
    assert differences(compile_model(text), rich) == []


def test_mujoco_reads_the_same_numbers(rich):
    """MuJoCo compiles what was written to what it makes of the author's document."""
    mine, theirs = (mujoco.MjModel.from_xml_string(text) for text in (mjcf_text(rich), RICH))
    for name in ("body_mass", "body_inertia", "geom_size", "geom_friction", "jnt_range", "dof_damping", "eq_data",
                 "actuator_gainprm", "actuator_biasprm", "actuator_gear", "tendon_range", "sensor_cutoff", "wrap_prm",
                 "qpos0", "qpos_spring", "cam_fovy", "hfield_data", "body_gravcomp", "pair_friction",
                 "key_qpos"):  # fmt: skip
        np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), rtol=1e-6, atol=1e-7, err_msg=name)
    ends = []
    for m in (mine, theirs):
        d = mujoco.MjData(m)
        mujoco.mj_resetDataKeyframe(m, d, 0)
        mujoco.mj_step(m, d, 50)
        ends.append(d.qpos.copy())
    np.testing.assert_allclose(*ends, atol=1e-6)


def test_what_differs_is_named(rich):
    other = compile_model(RICH.replace('damping=".1 .02"', 'damping=".3"'))
    assert {"dof_damping", "dof_dampingpoly"} <= set(differences(other, rich))
    assert set(differences(compile_model(RICH.replace("<clock/>", "")), rich)) == {"nsensor", "nsensordata"}


def test_refused():
    with pytest.raises(BuildError, match="a model with plugins cannot be written"):
        decompile(compile_model("""<mujoco><extension><plugin plugin="mujoco.pid"><instance name="p"/></plugin>
          </extension><worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>
          <actuator><plugin joint="j" plugin="mujoco.pid" instance="p"/></actuator></mujoco>"""))


def test_a_model_built_by_hand_and_by_documents(tmp_path):
    """Two documents, a joint made by hand and a placed world: the file runs in MuJoCo as the world does."""
    world = ModelBuilder()
    world.add_mjcf("""<mujoco><worldbody><body name="a" pos="0 0 1"><joint axis="0 1 0"/>
      <geom size=".1 .2" type="capsule"/></body></worldbody></mujoco>""")
    link = world.add_link(mass=2.0, com=(0, 0, -0.3), inertia=np.eye(3) * 0.1, lock_inertia=True)
    world.add_shape_box(link, hx=0.1, hy=0.1, hz=0.3)
    world.add_articulation([world.add_joint_revolute(-1, link, axis=(1, 0, 0), parent_xform=((1, 0, 1), (0, 0, 0, 1)))])
    main = ModelBuilder()
    main.add_ground_plane()
    main.replicate(world, 2, spacing=(3.0, 0.0, 0.0))
    model = main.finalize(device="cpu")
    path = tmp_path / "world.xml"
    text = model.save_mjcf(path, world=1)
    assert path.read_text() == text
    m = mujoco.MjModel.from_xml_path(str(path))
    (sim,) = Simulation.of_model(model)
    np.testing.assert_allclose(m.body_mass, sim.model.body_mass, rtol=1e-6)
    np.testing.assert_allclose(m.qpos0, sim.d.qpos[1], atol=1e-6)
    assert m.nbody == sim.model.nbody and m.ngeom == sim.model.ngeom
    with pytest.raises(IndexError, match="world 2"):
        model.save_mjcf(world=2)


def test_a_recording_of_a_model_holds_its_document():
    world = ModelBuilder()
    world.add_shape_sphere(world.add_body(xform=((0, 0, 1), (0, 0, 0, 1))), radius=0.1)
    sim = Simulation(world.finalize(device="cpu"))
    sim.record()
    recording = sim.stop_recording()
    other = Simulation(recording.source)
    for _ in other.replay(recording):
        pass
    np.testing.assert_allclose(other.d.xpos[0, 1], [0, 0, 1], atol=1e-6)
