"""Keyframes of attached models land on the joints and actuators they were written for."""

import mujoco
import numpy as np
import pytest

from kinema import mjcf

PARENT = """
<mujoco model="parent">
  <worldbody>
    <body name="a"><joint name="j0"/><geom size=".1"/>
      <body name="b" pos="0 0 1"><joint name="j1" type="slide" ref="0.25"/><geom size=".1"/></body>
    </body>
    <body name="mocap" mocap="true" pos="1 2 3" quat="0 1 0 0"/>
  </worldbody>
  <actuator><motor name="m" joint="j0"/></actuator>
  <keyframe><key name="home" qpos="0.1 0.2" ctrl="3" mpos="4 5 6"/></keyframe>
</mujoco>
"""

CHILD = """
<mujoco model="child">
  <compiler angle="degree"/>
  <worldbody>
    <body name="c"><joint name="j0" ref="30"/><joint name="k" type="ball"/><geom size=".1"/></body>
    <frame pos="0 1 0" euler="0 0 90">
      <body name="d" pos="1 0 0"><joint name="s" type="slide"/><geom size=".1"/></body>
    </frame>
  </worldbody>
  <actuator><position name="p" joint="j0" timeconst="1"/><general name="g" joint="s" dyntype="integrator"/></actuator>
  <keyframe><key name="bent" qpos="0.5 1 0 0 0 0.7" qvel="1 2 3 4 5" ctrl="8 9" act="0.1 0.2" time="2"/></keyframe>
</mujoco>
"""


def compiled(model):
    return mujoco.MjModel.from_xml_string(model.to_xml_string())


def joint_values(m, key, joint):
    row = m.key(key).qpos
    at = m.joint(joint).qposadr[0]
    return row[at : at + len(m.joint(joint).qpos0)]


@pytest.fixture
def pair():
    return mjcf.from_xml_string(PARENT), mjcf.from_xml_string(CHILD)


def test_values_land_on_their_owners(pair):
    parent, child = pair
    parent.worldbody.body["a"].add("site", name="here")
    parent.find("site", "here").attach(child)
    m = compiled(parent)
    key = m.key("child/bent")
    assert key.time[0] == 2
    np.testing.assert_allclose(joint_values(m, "child/bent", "child/j0"), [0.5])
    np.testing.assert_allclose(joint_values(m, "child/bent", "child/k"), [1, 0, 0, 0])
    np.testing.assert_allclose(joint_values(m, "child/bent", "child/s"), [0.7])
    np.testing.assert_allclose(joint_values(m, "child/bent", "j1"), [0.25])
    assert key.ctrl[m.actuator("child/p").id] == 8 and key.ctrl[m.actuator("child/g").id] == 9
    assert key.ctrl[m.actuator("m").id] == 0
    np.testing.assert_allclose(key.act, [0.1, 0.2])
    np.testing.assert_allclose(key.qvel[m.joint("child/k").dofadr[0] :][:3], [2, 3, 4])
    home = m.key("home")
    np.testing.assert_allclose(joint_values(m, "home", "j0"), [0.1])
    np.testing.assert_allclose(joint_values(m, "home", "j1"), [0.2])
    np.testing.assert_allclose(joint_values(m, "home", "child/j0"), [np.pi / 6])
    assert home.ctrl[m.actuator("m").id] == 3
    np.testing.assert_allclose(home.mpos[:3], [4, 5, 6])


def test_others_keep_their_initial_values(pair):
    parent, child = pair
    parent.compiler.angle = "degree"
    free = mjcf.RootElement(model="free")
    free.worldbody.add("geom", size=[0.1])
    frame = parent.attach(free)
    frame.pos, frame.euler = [1, 1, 1], [90, 0, 0]
    frame.add("freejoint")
    parent.attach(child)
    m = compiled(parent)
    reference = mujoco.MjData(m)
    for name in ("home", "child/bent"):
        at = m.joint("free/").qposadr[0]
        np.testing.assert_allclose(m.key(name).qpos[at : at + 7], reference.qpos[at : at + 7], atol=1e-15)


def test_mocap_bodies_inside_frames():
    parent = mjcf.from_xml_string(PARENT)
    child = mjcf.from_xml_string(
        '<mujoco model="child"><worldbody><body name="x" pos="5 0 0"><joint/><geom size=".1"/></body></worldbody>'
        '<keyframe><key name="k" qpos="1"/></keyframe></mujoco>'
    )
    frame = parent.worldbody.add("frame", pos=[0, 1, 0], euler=[0, 0, 90])
    frame.add("body", name="framed", mocap="true", pos=[1, 0, 0], quat=[0, 1, 0, 0])
    parent.attach(child)
    parent.keyframe.key["home"].mpos = [0, 0, 0, 1, 1, 1]
    m = compiled(parent)
    assert m.nmocap == 2
    np.testing.assert_allclose(m.key("child/k").mpos, [1, 2, 3, *m.body("framed").pos])
    parent.keyframe.key["home"].mpos = None
    other = mjcf.RootElement(model="other")
    other.worldbody.add("body", name="own", mocap="true")
    other.keyframe.add("key", name="moved", mpos=[7, 7, 7], mquat=[0, 0, 1, 0])
    parent.attach(other)
    written = parent.to_xml().find("keyframe").find("key[@name='other/moved']")
    np.testing.assert_allclose(np.array(written.get("mpos").split(), float), [1, 2, 3, *m.body("framed").pos, 7, 7, 7])
    quats = np.array(written.get("mquat").split(), float).reshape(3, 4)
    np.testing.assert_allclose(quats[1] * np.sign(quats[1, 1]), m.body("framed").quat, atol=1e-15)
    np.testing.assert_allclose(quats[2], [0, 0, 1, 0])


def test_keys_written_for_the_whole_composition_stay(pair):
    parent, child = pair
    parent.attach(child)
    whole = np.arange(8) / 10
    parent.keyframe.add("key", name="all", qpos=whole)
    np.testing.assert_allclose(compiled(parent).key("all").qpos[[0, 1, 2, 7]], whole[[0, 1, 2, 7]])


def test_keys_of_a_model_with_attachments(pair):
    parent, child = pair
    child.keyframe.key.clear()
    parent.keyframe.key.clear()
    parent.find("body", "mocap").remove()
    parent.attach(child)
    parent.keyframe.add("key", name="both", ctrl=[1, 2, 3])
    arena = mjcf.RootElement(model="arena")
    arena.worldbody.add("body", name="first").add("joint", name="first")
    arena.worldbody.body["first"].add("geom", size=[0.1])
    arena.actuator.add("motor", name="first", joint="first")
    arena.attach(parent)
    m = compiled(arena)
    np.testing.assert_allclose(m.key("parent/both").ctrl, [0, 1, 2, 3])


def test_values_that_fit_nothing_are_an_error(pair):
    parent, child = pair
    parent.attach(child)
    child.keyframe.key["bent"].qpos = [1, 2, 3]
    with pytest.raises(ValueError, match=r"keyframe 'child/bent' has 3 values of qpos, which fit neither.*\(8\)"):
        parent.to_xml_string()
    assert "bent" in repr(child.keyframe.key["bent"])


@pytest.mark.parametrize("tag", ["replicate", "flexcomp", "pid"])
def test_what_cannot_be_counted_is_an_error(pair, tag):
    parent, child = pair
    if tag == "replicate":
        parent.worldbody.add("replicate", count=2).add("body").add("joint")
    elif tag == "flexcomp":
        parent.worldbody.add("flexcomp", name="f", type="grid", count=[2, 2, 1])
    else:
        parent.actuator.add("pid", joint="j0")
    parent.attach(child)
    with pytest.raises(ValueError, match=f"keyframe 'child/bent' cannot be placed in the composed model.*<{tag}>"):
        parent.to_xml_string()
    child.keyframe.key.clear()
    parent.to_xml_string()


def test_plastic_values_cannot_be_placed(pair):
    parent, child = pair
    parent.keyframe.key["home"].plastic = [1]
    parent.attach(child)
    assert 'plastic="1"' in parent.to_xml_string()
    child.keyframe.key["bent"].plastic = [1]
    with pytest.raises(ValueError, match="keyframe 'child/bent' cannot be placed.*plastic"):
        parent.to_xml_string()


def test_a_model_alone_is_written_as_it_is():
    model = mjcf.from_xml_string(PARENT)
    model.keyframe.add("key", name="wrong", qpos=[1, 2, 3, 4])
    assert 'qpos="1 2 3 4"' in model.to_xml_string()
