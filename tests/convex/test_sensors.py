"""Sensors against MuJoCo, each family on what MuJoCo computed before it."""

from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

from kinema.convex import loads, sensors, velocity
from kinema.convex.constraint.contact import want_contact
from kinema.convex.sensors import reading
from kinema.convex.stage import Stage
from kinema.errors import BuildError

from .stage_harness import Harness

SCENE = """
<mujoco>
  <option timestep="0.002" magnetic="1 2 3"/>
  <worldbody>
    <geom type="plane" size="3 3 .1"/>
    <site name="w0" pos="0.3 0 1" euler="20 30 40"/>
    <site name="zone" size=".5 .5 .5" type="box"/>
    <camera name="cam" pos="0 -2 1" xyaxes="1 0 0 0 0 1" resolution="640 480"/>
    <body name="free" pos="0 0 .26">
      <freejoint/>
      <geom name="fg" size=".1 .2 .3" type="box" condim="6"/>
      <site name="f0" pos=".1 .05 .2" euler="10 20 30"/>
      <site name="under" type="box" size=".11 .21 .02" pos="0 0 -.25"/>
      <site name="corner" type="box" size=".04 .04 .04" pos=".1 .2 -.3"/>
      <site name="round" type="sphere" size=".1" pos=".1 .2 -.3"/>
      <site name="tube" type="capsule" size=".03 .3" pos=".1 0 -.3" euler="90 0 0"/>
      <site name="egg" type="ellipsoid" size=".1 .3 .05" pos="0 0 -.2"/>
      <site name="can" type="cylinder" size=".16 .02" pos="0 .1 -.1"/>
      <camera name="cam2" pos="0 0 .5" euler="10 20 30" mode="targetbody" target="arm" resolution="100 50"
              focal=".02 .03" sensorsize=".03 .02"/>
    </body>
    <body name="arm" pos=".2 1 1">
      <joint name="ball" type="ball" range="0 .1"/>
      <geom type="capsule" size=".05" fromto="0 0 0 .3 0 0"/>
      <site name="a0" pos=".3 0 0" euler="5 40 10"/>
      <body name="fore" pos=".3 0 0">
        <joint name="h" axis="0 1 0" range="-.01 .01"/>
        <joint name="s" type="slide" axis="1 0 0"/>
        <geom name="g1" size=".05"/>
        <site name="r0" pos=".1 .02 .01" euler="50 0 10"/>
      </body>
      <body name="fore2" pos=".3 .08 0">
        <joint name="h2" axis="0 1 1"/>
        <geom name="g2" size=".05"/>
        <site name="r1" pos=".1 .02 .05"/>
      </body>
    </body>
  </worldbody>
  <equality>
    <connect body1="fore" body2="fore2" anchor=".1 0 0"/>
    <weld body1="arm" body2="world" torquescale=".3"/>
    <weld site1="r1" site2="w0"/>
    <tendon tendon1="t2" tendon2="t1" polycoef="0 1 .5 .1 0" solref="-100 -10"/>
  </equality>
  <tendon>
    <spatial name="t1" range="0 .2" solreflimit="-100 -10" stiffness="3" damping="2" armature=".2" frictionloss=".3">
      <site site="w0"/><site site="f0"/><pulley divisor="2"/><site site="f0"/><site site="a0"/>
    </spatial>
    <spatial name="around" stiffness="3"><site site="f0"/><geom geom="g1" sidesite="r0"/><site site="r1"/></spatial>
    <fixed name="t2" range="-.01 .01"><joint joint="h" coef="2"/><joint joint="h2" coef="-1"/></fixed>
  </tendon>
  <actuator>
    <motor name="m1" joint="h"/><position name="m2" tendon="t2" kp="10"/><orientation name="m3" joint="ball" kp="10"/>
    <motor name="m4" tendon="t1" gear="2"/>
  </actuator>
  <sensor>
    <accelerometer site="r0"/><velocimeter site="r0"/><gyro site="r0"/><magnetometer site="r0"/>
    <accelerometer site="w0"/><framelinacc objtype="site" objname="r0"/><frameangacc objtype="body" objname="fore"/>
    <force site="r0"/><torque site="r0"/><force site="f0"/><torque site="f0"/><force site="a0"/><torque site="a0"/>
    <camprojection site="r0" camera="cam"/><camprojection site="r0" camera="cam2"/>
    <jointpos joint="h"/><jointvel joint="s"/><ballquat joint="ball"/><ballangvel joint="ball"/>
    <jointactuatorfrc joint="h"/>
    <tendonpos tendon="t1"/><tendonvel tendon="t1"/><tendonactuatorfrc tendon="t1"/>
    <actuatorpos actuator="m2"/><actuatorvel actuator="m3"/><actuatorfrc actuator="m3"/><actuatorfrc actuator="m1"/>
    <jointlimitpos joint="h"/><jointlimitvel joint="h"/><jointlimitfrc joint="h"/>
    <tendonlimitpos tendon="t1"/><tendonlimitvel tendon="t1"/><tendonlimitfrc tendon="t1"/>
    <framepos objtype="site" objname="r0"/><framepos objtype="body" objname="fore" reftype="site" refname="f0"/>
    <framequat objtype="site" objname="r0" reftype="body" refname="free"/><framequat objtype="camera" objname="cam2"/>
    <framequat objtype="geom" objname="g1" reftype="xbody" refname="arm"/>
    <framexaxis objtype="geom" objname="g1"/><frameyaxis objtype="camera" objname="cam2"/>
    <framezaxis objtype="xbody" objname="fore" reftype="camera" refname="cam2"/>
    <framelinvel objtype="site" objname="r0" reftype="site" refname="f0"/>
    <frameangvel objtype="site" objname="r0" reftype="site" refname="f0"/>
    <framelinvel objtype="body" objname="fore"/><frameangvel objtype="geom" objname="g1"/>
    <subtreecom body="arm"/><subtreelinvel body="arm"/><subtreeangmom body="free"/>
    <insidesite site="zone" objtype="body" objname="free"/><insidesite site="zone" objtype="site" objname="r0"/>
    <clock/>
    <touch site="under"/><touch site="corner"/><touch site="round"/><touch site="tube"/><touch site="egg"/>
    <touch site="can"/>
    <contact geom1="fg" data="found force torque dist pos normal tangent" num="4"/>
    <contact body2="free" data="found force torque dist pos normal tangent linvel angvel" num="3" reduce="mindist"/>
    <contact subtree1="arm" data="found force dist" num="3" reduce="maxforce"/>
    <contact subtree1="free" data="found force torque pos normal tangent" reduce="netforce"/>
    <contact site="zone" data="found force torque dist" num="6" reduce="maxforce"/>
    <contact geom1="g1" geom2="g2" data="found force normal"/><contact geom1="g2" geom2="g1" data="found force normal"/>
    <accelerometer site="r0" cutoff=".5"/><clock cutoff=".001"/>
  </sensor>
</mujoco>
"""
NEEDS = (
    Stage(want_contact, over="ncon"),
    *velocity.subtree_stages(),
    Stage(loads.body_acceleration, sweep="down"),
    Stage(loads.applied_loads, over="nbody"),
    Stage(loads.equality_loads),
    Stage(loads.tendon_loads),
    Stage(loads.joint_loads, sweep="up"),
    Stage(loads.contact_wrench, over="ncon"),
    Stage(loads.contact_loads, over="nbody"),
    Stage(loads.contact_joint_loads, over="nbody"),
)
FUNCTIONS = (*(func for func, _ in sensors.FAMILIES.values()), reading.cut_off)
READINGS = tuple(sensors.together(FUNCTIONS))
ROWS = ("efc_force", "efc_type", "efc_id", "efc_pos", "efc_margin", "efc_vel")


def pushed(m, seed: int) -> mujoco.MjData:
    """MuJoCo's data at a random state with contacts, forces and time."""
    d = mujoco.MjData(m)
    rng = np.random.default_rng(seed)
    mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 0.02)
    d.qvel[:] = rng.normal(size=m.nv) * 0.3
    d.ctrl[:] = rng.normal(size=m.nu)
    d.xfrc_applied[1:] = rng.normal(size=(m.nbody - 1, 6))
    d.xfrc_applied[m.body("free").id, 2] = -2000  # onto the ground
    d.time = 0.3
    mujoco.mj_forward(m, d)
    return d


def inject(m, d) -> Harness:
    """Everything of MuJoCo's but the readings and what only they need."""
    harness = Harness(m)
    harness.inject(d)
    for name, count in (("ne", d.ne), ("nf", d.nf), ("nl", d.nl), ("nefc", d.nefc)):
        harness.write(name, count)
    for name in ROWS:
        harness.layout.arrays[name].numpy()[0, : d.nefc] = getattr(d, name)
    harness.layout.arrays["contact_address"].numpy()[0, : d.ncon] = d.contact.efc_address
    for name, size in (("ten_wrapadr", m.ntendon), ("ten_wrapnum", m.ntendon), ("wrap_xpos", None), ("wrap_obj", None)):
        harness.write(name, getattr(d, name)[:size])
    for name in ("cacc", "cfrc_int", "cfrc_ext", "sensordata", "subtree_linvel", "subtree_angmom"):
        harness.write(name, np.full(getattr(d, name).shape, 77.0))
    return harness


@pytest.fixture(scope="module", params=["pyramidal", "elliptic"])
def scene(request) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(SCENE.replace("<option ", f'<option cone="{request.param}" '))


def name_of(m, i: int) -> str:
    return f"{i} {mujoco.mjtSensor(m.sensor_type[i]).name}"


def check(m, ours, d, rtol: float):
    for i in range(m.nsensor):
        part = slice(m.sensor_adr[i], m.sensor_adr[i] + m.sensor_dim[i])
        theirs = d.sensordata[part]
        scale = max(1.0, np.abs(theirs).max())
        if m.sensor_type[i] in (4, 5):  # force and torque: differences of much larger loads
            scale = np.abs(d.cfrc_ext).max()
        np.testing.assert_allclose(ours[part], theirs, atol=rtol * scale, err_msg=name_of(m, i))


def test_every_type_agrees_with_mujoco(scene):
    served = set().union(*(types for _, types in sensors.FAMILIES.values()))
    assert served - set(scene.sensor_type.tolist()) == {7, 43, 44}  # rays and energies have their own tests
    for seed in range(3):
        d = pushed(scene, seed)
        assert d.ncon > 3 and d.nl > 1
        harness = inject(scene, d)
        harness.run(*NEEDS, *READINGS)
        check(scene, harness.read("sensordata"), d, 2e-5)
        for name in ("cacc", "cfrc_ext", "cfrc_int", "subtree_linvel", "subtree_angmom"):
            theirs = getattr(d, name)
            ours = harness.read(name).reshape(theirs.shape)
            np.testing.assert_allclose(ours, theirs, atol=2e-5 * np.abs(theirs).max(), err_msg=name)


GRIP = """
<mujoco>
  <option gravity="0 0 -9.81"/>
  <worldbody>
    <body pos="0 0 1"><joint axis="0 1 0"/><geom size=".05" mass="1" contype="0" conaffinity="0"/><site name="wrist"/>
      <body pos="-.05 0 .1"><joint type="slide" axis="1 0 0" armature=".1"/><geom size=".06" mass=".01"/>
        <site name="left"/></body>
      <body pos=".05 0 .1"><joint type="slide" axis="1 0 0" armature=".1"/><geom size=".06" mass=".01"/></body>
    </body>
    <body pos="0 0 1.2"><freejoint/><geom size=".045" mass=".3"/></body>
  </worldbody>
  <sensor><force site="wrist"/><torque site="wrist"/><force site="left"/></sensor>
</mujoco>
"""


def test_a_wrist_feels_nothing_of_fingers_that_press_each_other():
    m = mujoco.MjModel.from_xml_string(GRIP)
    d = mujoco.MjData(m)
    d.qpos[:3] = [0.2, 0.03, -0.02]
    mujoco.mj_forward(m, d)
    d.efc_force[:4] *= 1e6 / d.efc_force[:4].max()  # of the fingers, the first contact
    d.efc_force[:] = d.efc_force.astype(np.float32)
    assert sorted(m.geom_bodyid[d.contact[0].geom]) == [2, 3] and d.ncon > 1
    mujoco.mj_rnePostConstraint(m, d)
    mujoco.mj_sensorAcc(m, d)
    harness = inject(m, d)
    harness.run(*NEEDS, *READINGS)
    assert np.abs(d.cfrc_ext).max() > 1e6 and 0.1 < np.abs(d.sensordata[:3]).max() < 1e3
    for part in (slice(0, 6), slice(6, 9)):
        ours, theirs = harness.read("sensordata")[part], d.sensordata[part]
        np.testing.assert_allclose(ours, theirs, atol=1e-5 * np.abs(theirs).max())


def test_the_recipe_has_only_the_families_a_model_has():
    m = mujoco.MjModel.from_xml_string("""
    <mujoco>
      <worldbody><body><joint name="j"/><geom size=".1"/><site name="s"/></body></worldbody>
      <sensor><jointpos joint="j"/><gyro site="s"/></sensor>
    </mujoco>""")
    assert [stage.func.key for stage in sensors.stages(m)] == ["joint_sensor_then_frame_velocity"]
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
    assert sensors.stages(m) == []


def test_sensors_that_are_not_simulated_are_refused():
    m = SimpleNamespace(opt=SimpleNamespace(disableflags=0), sensor_type=np.array([45, 99]))
    with pytest.raises(BuildError, match=r"sensors \[1\]"):
        sensors.stages(m)


DELAYED = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody><body name="b"><joint name="j" damping="1"/><geom size=".1" pos=".3 0 0"/></body></worldbody>
  <sensor>
    <jointpos joint="j" nsample="4"/>
    <jointpos joint="j" delay=".03" nsample="5"/>
    <jointpos joint="j" delay=".025" nsample="5" interp="linear"/>
    <framepos objtype="body" objname="b" delay=".025" nsample="6" interp="cubic"/>
    <jointvel joint="j" interval=".03" nsample="3"/>
    <clock interval=".035 -.01" nsample="2"/>
    <framepos objtype="body" objname="b" interval=".02" delay=".05" nsample="6" interp="cubic"/>
  </sensor>
</mujoco>
"""


def test_delays_and_intervals_follow_mujoco():
    m = mujoco.MjModel.from_xml_string(DELAYED)
    d = mujoco.MjData(m)
    d.qvel[0] = 3
    history = d.history.copy()
    for _ in range(40):
        mujoco.mj_forward(m, d)
        harness = Harness(m)
        harness.inject(d)
        harness.write("history", history)
        harness.run(*READINGS, Stage(reading.recall, over="nsensor"), Stage(reading.remember, over="nsensor"))
        np.testing.assert_allclose(harness.read("sensordata"), d.sensordata, atol=2e-6)
        history = harness.read("history").copy()
        mujoco.mj_step(m, d)
        np.testing.assert_allclose(history, d.history, atol=1e-5)
    assert np.ptp(d.sensordata) > 0.1
