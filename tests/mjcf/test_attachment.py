"""Attaching models: frames, names, merged sections, options, defaults, and what goes wrong."""

import mujoco
import numpy as np
import pytest

from kinema import mjcf


def make(name, **options):
    """A model with a base, and a body with a joint, a motor on it and a site to attach to."""
    model = mjcf.RootElement(model=name)
    model.option.set_attributes(**options)
    model.worldbody.add("geom", name="base", size=[0.1])
    body = model.worldbody.add("body", name="body")
    body.add("geom", name="geom", size=[0.1])
    joint = body.add("joint", name="joint")
    body.add("site", name="tip", pos=[1, 2, 3], quat=[0, 1, 0, 0])
    model.actuator.add("motor", name="motor", joint=joint)
    return model


def compiled(model):
    return mujoco.MjModel.from_xml_string(model.to_xml_string(), model.get_assets())


def test_frame_copies_the_site(capsys):
    parent, child = make("parent"), make("child")
    site = parent.find("site", "tip")
    frame = site.attach(child)
    np.testing.assert_array_equal(frame.pos, [1, 2, 3])
    site.pos = [0, 0, 0]
    np.testing.assert_array_equal(frame.pos, [1, 2, 3])
    assert frame.tag == "body" and frame.parent is site.parent and frame.root is parent
    assert frame.full_identifier == "child/"
    assert frame.to_xml_string().splitlines()[0] == '<body pos="1 2 3" quat="0 1 0 0" name="child/">'
    assert frame.all_children() == child.worldbody.all_children()
    assert parent.find("attachment_frame", "child") is frame is mjcf.get_attachment_frame(child)
    m = compiled(parent)
    assert m.body("child/").parentid == m.body("body").id and m.joint("child/joint") is not None


def test_frames_follow_their_site_in_order():
    parent = make("parent")
    site = parent.find("site", "tip")
    site.parent.add("geom", name="after", size=[1])
    frames = [site.attach(make(name)) for name in ("one", "two")]
    assert site.parent.all_children()[-3:-1] == frames and site.parent.all_children()[-1].name == "after"
    assert parent.attach(make("three")) is parent.worldbody.all_children()[-1]


def test_what_cannot_be_attached():
    parent, child = make("parent"), make("child")
    with pytest.raises(ValueError, match="Cannot merge a model to itself"):
        parent.attach(parent)
    with pytest.raises(ValueError, match="Expected a mjcf.RootElement"):
        parent.attach(child.worldbody)
    parent.attach(child)
    with pytest.raises(ValueError, match="already attached elsewhere"):
        make("other").attach(child)
    with pytest.raises(ValueError, match="attached to it"):
        child.attach(parent)
    with pytest.raises(RuntimeError, match="not attached"):
        parent.detach()


def test_clashing_names_of_models_get_numbers():
    parent = make("parent")
    children = [make("child") for _ in range(3)]
    for child in children:
        parent.attach(child)
    assert [child.model for child in children] == ["child", "child_1", "child_2"]
    children[1].model = "renamed"
    assert parent.find("geom", "renamed/geom") is children[1].find("geom", "geom")
    assert parent.find("attachment_frame", "renamed").full_identifier == "renamed/"
    with pytest.raises(ValueError, match="Duplicated identifier 'child'"):
        children[1].model = "child"
    assert children[1].model == "renamed" and 'model="renamed"' in children[1].to_xml_string()
    compiled(parent)


def test_frame_joints():
    parent, one, two = make("parent"), make("one"), make("two")
    frame_one, frame_two = parent.attach(one), parent.attach(two)
    slide = frame_one.add("joint", type="slide", name="x")
    other = frame_two.add("joint", type="slide", name="x")
    free = parent.attach(make("three")).add("freejoint")
    assert (slide.full_identifier, other.full_identifier) == ("one/x/", "two/x/")
    assert free.full_identifier == "three/" and free.to_xml_string(pretty_print=False) == '<freejoint name="three/"/>'
    with pytest.raises(ValueError, match="Duplicated identifier 'x' in namespace <joint>"):
        frame_one.add("joint", name="x")
    with pytest.raises(AttributeError, match="<geom> is not a valid child of <body>"):
        frame_one.add("geom")
    inner = parent.find("site", "tip").attach(make("four"))
    with pytest.raises(AttributeError, match="not a valid child"):
        inner.add("freejoint")
    parent.actuator.add("position", name="x", joint=slide)
    parent.sensor.add("framepos", objtype="body", objname=frame_one)
    assert mjcf.get_frame_joints(one) == [slide] and mjcf.get_frame_freejoint(one) is None
    m = compiled(parent)
    assert m.joint("one/x/").id in m.actuator_trnid[:, 0]
    assert {"one/x/", "two/x/"} <= {m.joint(n).name for n in range(m.njnt)}


def test_sections_are_merged_in_order():
    parent, child, grandchild, second = (make(name) for name in ("parent", "child", "grandchild", "second"))
    child.attach(grandchild)
    parent.attach(child)
    parent.attach(second)
    names = ["motor", "child/motor", "child/grandchild/motor", "second/motor"]
    assert [motor.full_identifier for motor in parent.actuator.motor] == names
    assert parent.actuator.motor["child/motor"] is child.actuator.motor["motor"]
    assert parent.actuator.motor["child/grandchild/motor"] is grandchild.actuator.motor["motor"]
    with pytest.raises(KeyError, match="name='child/nope' does not exist"):
        parent.actuator.motor["child/nope"]
    m = compiled(parent)
    assert [m.actuator(number).name for number in range(m.nu)] == names
    assert [joint.root for joint in parent.find_all("joint")] == [parent, child, grandchild, second]
    assert parent.find_all("joint", exclude_attachments=True) == [parent.find("joint", "joint")]
    assert parent.enter_scope("child/grandchild") is grandchild and parent.enter_scope("child/nope") is None
    assert grandchild.root_model is parent and grandchild.parent_model is child
    assert len(parent.find_all("body")) == 7
    assert parent.find_all("attachment_frame") == [mjcf.get_attachment_frame(m) for m in (child, grandchild, second)]


def test_options_must_agree():
    parent, child = make("parent", integrator="RK4"), make("child", integrator="Euler")
    before = parent.to_xml_string()
    with pytest.raises(ValueError, match="Conflicting values for attribute `integrator`: RK4 vs Euler"):
        parent.attach(child)
    assert parent.to_xml_string() == before and child.parent_model is None
    gravity = make("gravity", gravity=[0, 0])
    with pytest.raises(ValueError, match="Conflicting values for attribute `gravity`"):
        make("full", gravity=[0, 0, 0]).attach(gravity)


def test_options_are_shared_until_detached():
    parent, child = make("parent"), make("child", density=3)
    parent.attach(child)
    assert parent.option.density == 3
    parent.option.density = 4
    assert child.option.density == 4
    child.option.viscosity = 1
    assert parent.option.viscosity == 1
    child.visual.map.znear = 0.5
    assert parent.visual.map.znear == 0.5
    child.detach()
    parent.option.density = 5
    assert child.option.density == 4 and parent.option.viscosity == 1


def test_options_are_shared_through_all_levels():
    parent, child, grandchild = make("parent"), make("child"), make("grandchild")
    child.attach(grandchild)
    parent.attach(child)
    parent.option.density = 7
    assert grandchild.option.density == 7
    grandchild.option.density = 8
    assert parent.option.density == child.option.density == 8
    child.detach()
    parent.option.density = 1
    assert grandchild.option.density == child.option.density == 8


def test_options_that_combine():
    parent, child = make("parent", timestep=0.01, iterations=10), make("child", timestep=0.002, iterations=50)
    parent.size.set_attributes(nconmax=100, memory="10000")
    child.size.set_attributes(nconmax=50, memory="1M")
    child.visual.map.zfar = 9
    parent.attach(child)
    assert (parent.option.timestep, parent.option.iterations, parent.size.nconmax) == (0.002, 50, 100)
    assert parent.size.memory == "1048576" and parent.visual.map.zfar == 9
    broken = make("broken")
    broken.size.memory = "3X"
    with pytest.raises(ValueError, match="unit of `size.memory`"):
        parent.attach(broken)
    assert broken.parent_model is None


def test_folders_stay_with_their_model(tmp_path):
    parent, child = make("parent"), make("child")
    parent.compiler.meshdir, child.compiler.meshdir = "p", "c"
    parent.attach(child)
    assert parent.compiler.meshdir == "p" and child.compiler.meshdir == "c"
    child.compiler.angle = "radian"
    assert str(child.compiler) == '<compiler angle="radian"/>' and str(parent.compiler) == "<compiler/>"
    child.detach()
    assert child.compiler.meshdir == "c"


def test_detach_and_attach_again():
    parent, child = make("parent"), make("child")
    alone, child_alone = parent.to_xml_string(), child.to_xml_string()
    parent.attach(child).add("freejoint")
    together = parent.to_xml_string()
    child.detach()
    assert parent.to_xml_string() == alone and child.to_xml_string() == child_alone
    assert parent.find("attachment_frame", "child") is None and parent.enter_scope("child") is None
    parent.attach(child).add("freejoint")
    assert parent.to_xml_string() == together


def test_removing_what_is_attached():
    parent, child = make("parent", density=1), make("child")
    frame = parent.attach(child)
    for remove in (frame.remove, lambda: delattr(parent, "option"), parent.worldbody.remove):
        with pytest.raises(ValueError, match=r"use remove\(affect_attachments=True\)"):
            remove()
    parent.option.remove(affect_attachments=True)
    assert child.option.density is None
    frame.remove(affect_attachments=True)
    assert frame.is_removed and child.parent_model is None and not child.worldbody.body
    assert parent.find("geom", "child/geom") is None and "child" not in parent.to_xml_string()


def test_defaults_never_reach_the_other_model():
    parent, child = make("parent"), make("child")
    parent.default.geom.rgba = [1, 0, 0, 1]
    child.default.joint.damping = 2
    stiff = child.default.add("default", dclass="stiff")
    stiff.joint.stiffness = 5
    child.find("joint", "joint").dclass = stiff
    parent.attach(child)
    assert parent.default.full_identifier == "/" and child.default.full_identifier == "child/"
    assert stiff.full_identifier == "child/stiff"
    m = compiled(parent)
    np.testing.assert_allclose(m.geom("child/geom").rgba, [0.5, 0.5, 0.5, 1])
    np.testing.assert_allclose(m.geom("geom").rgba, [1, 0, 0, 1])
    assert m.joint("child/joint").damping[0] == 2 and m.joint("joint").damping[0] == 0
    assert m.joint("child/joint").stiffness[0] == 5


def test_childclass_of_the_parent_does_not_reach_the_child():
    parent, child = make("parent"), make("child")
    parent.default.add("default", dclass="big").geom.size = [3]
    parent.find("body", "body").childclass = "big"
    child.worldbody.add("geom", name="plain", type="sphere", size=[1])
    child.default.geom.size = [2]
    child.find("geom", "geom").size = None
    parent.find("site", "tip").attach(child)
    m = compiled(parent)
    assert m.geom("child/geom").size[0] == 2


# ---------------------------------------------------------------- better than PyMJCF


def test_reference_to_world_survives_attach():
    parent = make("parent")
    child = mjcf.from_xml_string(
        '<mujoco model="child"><worldbody><body name="b"><freejoint/><geom size="1"/></body></worldbody>'
        '<equality><weld body1="b" body2="world"/></equality>'
        '<sensor><framepos objtype="xbody" objname="b" reftype="xbody" refname="world"/></sensor></mujoco>'
    )
    child.worldbody.body["b"].freejoint.remove()
    parent.attach(child)
    m = compiled(parent)
    assert m.eq_obj2id[0] == 0 and m.sensor_refid[0] == 0


def test_class_main_is_the_global_default():
    child = mjcf.from_xml_string(
        '<mujoco model="child"><default class="main"><geom size="2"/><default class="small"><geom size="1"/></default>'
        '</default><worldbody><geom name="a"/><geom name="b" class="main"/><geom name="c" class="small"/>'
        '<body childclass="main"><geom name="d"/></body></worldbody></mujoco>'
    )
    assert child.default.dclass == "main" and child.find("geom", "b").dclass is child.default
    np.testing.assert_array_equal(compiled(child).geom_size[:, 0], [2, 2, 1, 2])
    parent = make("parent")
    parent.default.geom.size = [9]
    parent.attach(child)
    m = compiled(parent)
    assert [m.geom(f"child/{name}").size[0] for name in "abcd"] == [2, 2, 1, 2]


def test_class_main_needs_no_declaration():
    model = mjcf.from_xml_string(
        '<mujoco><default><geom size="2"/></default><worldbody><geom class="main"/></worldbody></mujoco>'
    )
    assert compiled(model).geom_size[0, 0] == 2


def test_bodies_of_flexes_are_prefixed():
    child = mjcf.from_xml_string(
        '<mujoco model="child"><worldbody><body name="a"/><body name="b" pos="1 0 0"/><body name="c" pos="0 1 0"/>'
        '</worldbody><deformable><flex name="f" dim="2" body="a b c" vertex="0 0 0 0 0 0 0 0 0" element="0 1 2"/>'
        "</deformable></mujoco>"
    )
    parent = mjcf.RootElement(model="parent")
    parent.attach(child)
    assert 'body="child/a child/b child/c"' in parent.to_xml_string()
    assert compiled(parent).nflex == 1


def test_several_materials_of_a_flex_are_prefixed():
    child = mjcf.from_xml_string(
        '<mujoco model="child"><asset><material name="m"/><material name="n"/></asset><worldbody>'
        '<flexcomp name="f" type="grid" dim="2" count="2 2 1" spacing=".1 .1 .1" material="m n"/></worldbody></mujoco>'
    )
    parent = mjcf.RootElement(model="parent")
    parent.attach(child)
    assert 'material="child/m child/n"' in parent.to_xml_string()
    assert compiled(parent).flex_matid.tolist() == [0, 1]
    child.find("flexcomp", "f").material = child.find("material", "n")
    assert compiled(parent).flex_matid.tolist() == [1, 1]


@pytest.mark.parametrize("tag", ["motor", "pid", "dcmotor", "position"])
def test_joints_of_all_actuators_are_prefixed(tag):
    child = make("child")
    needed = {"dcmotor": {"motorconst": [1], "resistance": 1}, "pid": {"kp": 1}}.get(tag, {})
    child.actuator.add(tag, name="x", jointinparent="joint", **needed)
    parent = make("parent")
    parent.attach(child)
    m = compiled(parent)
    assert m.actuator_trnid[m.actuator("child/x").id, 0] == m.joint("child/joint").id


def test_prefixes_of_attached_files_are_scoped():
    inner = '<mujoco><worldbody><body name="leg"><geom size="1"/></body></worldbody></mujoco>'
    text = (
        '<mujoco model="m"><asset><model name="inner" file="inner.xml"/></asset><worldbody>'
        '<body><attach model="inner" body="leg" prefix="left_"/></body></worldbody></mujoco>'
    )
    parent = mjcf.RootElement(model="parent")
    for name in ("one", "two"):
        child = mjcf.from_xml_string(text, assets={"inner.xml": inner.encode()})
        child.model = name
        parent.attach(child)
    m = compiled(parent)
    assert m.body("one/left_leg").id > 0 and m.body("two/left_leg").id > 0
