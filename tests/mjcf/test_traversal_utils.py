"""Default classes written into elements, and joints of bodies and frames."""

import mujoco
import numpy as np
import pytest

from kinema import mjcf


@pytest.fixture
def root():
    model = mjcf.RootElement()
    model.default.geom.set_attributes(type="box", size=[1, 1, 1])
    outer = model.default.add("default", dclass="outer")
    outer.geom.set_attributes(size=[2, 2, 2], margin=0.5)
    outer.add("default", dclass="inner").geom.margin = 0.1
    return model


def test_nearest_class_wins(root):
    inner = root.find("default", "inner")
    geom = root.worldbody.add("geom", dclass=inner, priority=3)
    mjcf.commit_defaults(geom)
    values = geom.get_attributes()
    assert values["type"] == "box" and values["margin"] == 0.1 and values["priority"] == 3
    np.testing.assert_array_equal(values["size"], [2, 2, 2])


def test_childclass_of_the_nearest_body(root):
    body = root.worldbody.add("body", childclass="inner")
    geom = body.add("body").add("frame").add("geom")
    mjcf.commit_defaults(geom)
    assert geom.margin == 0.1
    plain = root.worldbody.add("geom")
    mjcf.commit_defaults(plain, attributes=(name for name in ["size"]))
    assert list(plain.get_attributes()) == ["size"]


def test_actuators_share_classes(root):
    root.default.general.ctrlrange = [0, 1]
    root.default.position.kp = 5
    motor = root.actuator.add("motor", joint="j")
    position = root.actuator.add("position", joint="j")
    for actuator in (motor, position):
        mjcf.commit_defaults(actuator)
        np.testing.assert_array_equal(actuator.ctrlrange, [0, 1])
    assert position.kp == 5


def test_tendons_use_the_class_of_tendons(root):
    root.default.tendon.width = 0.3
    tendon = root.tendon.add("spatial")
    mjcf.commit_defaults(tendon)
    assert tendon.width == 0.3


def test_committed_documents_compile_the_same(root):
    root.worldbody.add("body", childclass="inner").add("geom", name="g")
    before = mujoco.MjModel.from_xml_string(root.to_xml_string())
    mjcf.commit_defaults(root.find("geom", "g"))
    root.default.remove()
    root.worldbody.body[0].childclass = None
    after = mujoco.MjModel.from_xml_string(root.to_xml_string())
    np.testing.assert_array_equal(before.geom_size, after.geom_size)
    assert before.geom_margin[0] == after.geom_margin[0] == 0.1


def test_joints(root):
    body = root.worldbody.add("body")
    assert mjcf.get_freejoint(body) is None and mjcf.get_freejoint(root.worldbody) is None
    joint = body.add("joint", type="free")
    assert mjcf.get_freejoint(body) is joint
    joint.remove()
    assert mjcf.get_freejoint(body) is None
    free = body.add("freejoint")
    assert mjcf.get_freejoint(body) is free
    child = mjcf.RootElement(model="child")
    frame = root.attach(child)
    assert mjcf.get_frame_freejoint(child) is None and mjcf.get_frame_joints(child) == []
    joint = frame.add("freejoint")
    assert mjcf.get_frame_freejoint(child) is joint and mjcf.get_frame_joints(child) == [joint]
    assert mjcf.get_attachment_frame(child) is frame
