"""Written documents: the same text as PyMJCF's, the same tree as lxml's, names, classes, source places."""

import pathlib

import dm_control
import mujoco
import numpy as np
import pytest
from lxml import etree

from kinema import mjcf
from kinema.mjcf.source import read_xml
from kinema.mjcf.write import serialise

DM_CONTROL = pathlib.Path(dm_control.__file__).parent

# Files without includes that PyMJCF writes correctly; its includes come after the rest, ours stand where they are.
WITHOUT_INCLUDES = [
    "locomotion/walkers/assets/rodent.xml",
    "locomotion/walkers/assets/humanoid_CMU_V2020.xml",
    "locomotion/walkers/assets/fruitfly_v2/fruitfly.xml",
    "locomotion/walkers/assets/dog_v2/dog.xml",
    "third_party/ant/ant.xml",
    "mjcf/test_assets/test_model.xml",
    "mjcf/test_assets/robot_arm.xml",
    "composer/arena.xml",
]


@pytest.mark.parametrize("name", WITHOUT_INCLUDES)
def test_text_is_that_of_pymjcf(name):
    from dm_control import mjcf as pymjcf

    ours, theirs = mjcf.from_path(DM_CONTROL / name), pymjcf.from_path(str(DM_CONTROL / name))
    assert ours.to_xml_string(precision=17) == theirs.to_xml_string()
    rounded = {"precision": 5, "zero_threshold": 1e-3}
    assert ours.to_xml_string(**rounded) == theirs.to_xml_string(**rounded)
    for tag in ("worldbody", "actuator", "option"):
        assert str(getattr(ours, tag)) == str(getattr(theirs, tag))
    pairs = zip(ours.find_all("geom")[:20], theirs.find_all("geom")[:20], strict=True)
    assert all(str(a) == str(b) and a.full_identifier == b.full_identifier for a, b in pairs)


def test_composed_text_is_that_of_pymjcf():
    from dm_control import mjcf as pymjcf

    def compose(package):
        arena = package.RootElement(model="arena")
        arena.worldbody.add("site", name="here", pos=[0, 0, 1])
        arena.default.geom.rgba = [1, 0, 0, 1]
        for name in ("one", "two"):
            arm = package.from_path(str(DM_CONTROL / "mjcf/test_assets/robot_arm.xml"))
            arm.model = name
            hand = package.from_path(str(DM_CONTROL / "mjcf/test_assets/test_model.xml"))
            hand.model = "hand"
            hand.worldbody.add("geom")
            arm.find("site", "fingertip1").attach(hand)
            frame = arena.find("site", "here").attach(arm)
            frame.add("joint", type="slide", axis=[1, 0, 0])
            frame.add("joint", name="y", type="slide", axis=[0, 1, 0])
        return arena

    ours = compose(mjcf).to_xml_string(precision=17)
    # The one difference: units stay with their models, so only the document's own section changes places.
    assert ours == compose(pymjcf).to_xml_string()


def test_lxml_and_text_agree():
    model = mjcf.from_path(DM_CONTROL / "suite" / "dog.xml")
    tree = model.to_xml()
    assert isinstance(tree, etree._Element)
    assert etree.tostring(tree, pretty_print=True).decode() == model.to_xml_string()
    assert etree.tostring(tree).decode() == model.to_xml_string(pretty_print=False)


def test_special_characters():
    model = mjcf.RootElement(model="m")
    model.custom.add("text", name="t", data='<a> & "b" \n\t\r é 漢 \U0001f600')
    assert model.to_xml_string() == etree.tostring(model.to_xml(), pretty_print=True).decode()
    again = mjcf.from_xml_string(model.to_xml_string(), escape_separators=True)
    assert again.custom.text["t"].data == model.custom.text["t"].data


def test_serialise_gives_back_what_was_read():
    text = '<a x="1">\n  <b/>\n  <c y="2" z="&lt;">\n    <d/>\n  </c>\n</a>\n'
    assert serialise(read_xml(text)) == text


def test_self_only():
    model = mjcf.RootElement(model="m")
    body = model.worldbody.add("body", name="b", pos=[1, 2, 3])
    assert str(body) == '<body name="b" pos="1 2 3"/>'
    body.add("geom", size=[0.5])
    assert str(body) == '<body name="b" pos="1 2 3">...</body>'
    assert str(body.geom[0]) == '<geom class="/" size="0.5"/>'
    assert str(model.option) == "<option/>"
    model.option.flag.gravity = "disable"
    assert str(model.option) == "<option>...</option>"
    assert body.to_xml_string(self_only=True) == '<body name="b" pos="1 2 3">...</body>\n'


def test_sources_remember_files_and_lines(tmp_path):
    (tmp_path / "part.xml").write_text('<mujoco>\n<worldbody>\n<geom name="p" size="1"/></worldbody></mujoco>')
    main = tmp_path / "main.xml"
    main.write_text('<mujoco>\n<include file="part.xml"/>\n<worldbody>\n<body name="b"/></worldbody></mujoco>')
    child = mjcf.from_path(main)
    child.model = "child"
    parent = mjcf.RootElement(model="parent")
    parent.worldbody.add("geom", name="made", size=[1])
    parent.attach(child)
    nodes = {node.attributes.get("name"): node for node in mjcf.to_source(parent).walk()}
    assert (nodes["child/p"].file, nodes["child/p"].line) == (str(tmp_path / "part.xml"), 3)
    assert (nodes["child/b"].file, nodes["child/b"].line) == (str(main), 4)
    assert nodes["made"].file is None and nodes["made"].line is None
    assert nodes["child/p"].path == "worldbody/body[child/]/geom[child/p]"
    assert serialise(mjcf.to_source(parent)) == parent.to_xml_string()


def test_unnamed_elements_of_replicates_stay_unnamed():
    text = (
        "<mujoco><worldbody>"
        + '<geom size="1"/>' * 15
        + '<replicate count="12" offset="1 0 0"><body><geom size="2"/><joint/></body></replicate></worldbody></mujoco>'
    )
    model = mjcf.from_xml_string(text)
    m = mujoco.MjModel.from_xml_string(model.to_xml_string())
    reference = mujoco.MjModel.from_xml_string(text)
    assert m.ngeom == reference.ngeom == 27
    np.testing.assert_array_equal(m.body_pos, reference.body_pos)


def test_frames_and_replicates_are_kept():
    text = (
        '<mujoco><worldbody><frame name="f" pos="0 0 1" euler="0 90 0"><geom name="g" size="1"/><frame><site/></frame>'
        '<replicate count="3" offset="0 1 0" sep="_"><geom name="r" size="1"/></replicate></frame></worldbody></mujoco>'
    )
    model = mjcf.from_xml_string(text)
    assert model.find("frame", "f").geom["g"].parent.tag == "frame"
    m, reference = (mujoco.MjModel.from_xml_string(t) for t in (model.to_xml_string(), text))
    np.testing.assert_array_equal(m.geom_quat, reference.geom_quat)
    assert [m.geom(n).name for n in range(m.ngeom)] == [reference.geom(n).name for n in range(m.ngeom)]


def test_a_site_in_a_frame_can_be_attached_to():
    parent = mjcf.from_xml_string(
        '<mujoco model="p"><worldbody><frame pos="1 0 0"><site name="s" pos="0 1 0"/></frame></worldbody></mujoco>'
    )
    child = mjcf.RootElement(model="c")
    child.worldbody.add("geom", size=[1])
    parent.find("site", "s").attach(child)
    np.testing.assert_array_equal(mujoco.MjModel.from_xml_string(parent.to_xml_string()).body("c/").pos, [1, 1, 0])


def test_filenames_without_hash():
    model = mjcf.from_path(DM_CONTROL / "mjcf/test_assets/model_with_assets.xml")
    names = {mesh.file.prefix + mesh.file.extension for mesh in model.find_all("mesh")}
    written = model.to_xml(filename_with_hash=False)
    assert {mesh.get("file") for mesh in written.iter("mesh")} == names
