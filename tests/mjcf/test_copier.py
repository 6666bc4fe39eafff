"""Copies of models: same content, own elements, with skins and attachments."""

import copy
import pathlib

import dm_control
import mujoco
import pytest

from kinema import mjcf

ASSETS = pathlib.Path(dm_control.__file__).parent


def make(name="model"):
    model = mjcf.RootElement(model=name)
    soft = model.default.add("default", dclass="soft")
    soft.geom.margin = 0.1
    body = model.worldbody.add("body", name="body", childclass=soft)
    body.add("geom", name="geom", size=[0.1])
    joint = body.add("joint", name="joint")
    body.add("site", name="tip")
    model.actuator.add("motor", name="motor", joint=joint)
    return model


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy])
def test_copies_are_the_same_and_independent(how):
    model = make()
    twin = how(model)
    assert twin.is_same_as(model) and twin is not model and twin.to_xml_string() == model.to_xml_string()
    assert twin.actuator.motor["motor"].joint is twin.find("joint", "joint")
    assert twin.find("body", "body").childclass is twin.find("default", "soft")
    twin.find("geom", "geom").name = "changed"
    assert model.find("geom", "changed") is None and not twin.is_same_as(model)


def test_include_copy_merges_and_checks():
    model, other = make(), mjcf.RootElement(model="other")
    other.compiler.boundmass = 1
    other.option.timestep = 0.5
    model.include_copy(other)
    assert model.model == "model" and model.compiler.boundmass == 1 and model.option.timestep == 0.5
    other.compiler.boundmass = 2
    with pytest.raises(ValueError, match="Conflicting values for attribute `boundmass`"):
        model.include_copy(other)
    other.worldbody.add("body", name="body", pos=[1, 2, 3])
    model.include_copy(other, override_attributes=True)
    assert model.compiler.boundmass == 2 and list(model.worldbody.body["body"].pos) == [1, 2, 3]
    assert model.find("geom", "geom") is not None
    clash = mjcf.RootElement(model="clash")
    clash.worldbody.add("geom", name="geom")
    with pytest.raises(ValueError, match="already a child of another element"):
        model.include_copy(clash, override_attributes=True)
    with pytest.raises(ValueError, match="same spec"):
        mjcf.copier.Copier(clash).copy_into(model.worldbody)


def test_files_are_shared_not_copied():
    model = mjcf.from_path(ASSETS / "mjcf/test_assets/model_with_assets.xml")
    twin = copy.deepcopy(model)
    files = {name: element.file for element in model.find_all("mesh") for name in [element.name]}
    assert files and all(twin.find("mesh", name).file is file for name, file in files.items())
    assert twin.get_assets() == model.get_assets()


def test_models_with_skins_can_be_copied():
    model = mjcf.from_path(ASSETS / "locomotion/walkers/assets/rodent.xml")
    twin = copy.deepcopy(model)
    assert twin.is_same_as(model) and twin.to_xml_string() == model.to_xml_string()
    assert twin.get_assets() == model.get_assets()
    arena = mjcf.RootElement(model="a")
    twin.model = "r"
    arena.attach(twin)
    m = mujoco.MjModel.from_xml_string(arena.to_xml_string(), arena.get_assets())
    alone = mujoco.MjModel.from_xml_string(model.to_xml_string(), model.get_assets())
    assert m.nskin == alone.nskin == 1 and m.nskinbone == alone.nskinbone
    names = [m.body(bone).name for bone in m.skin_bonebodyid]
    assert names == ["r/" + alone.body(bone).name for bone in alone.skin_bonebodyid]


def test_skins_follow_renamed_bodies():
    model = mjcf.from_path(ASSETS / "locomotion/walkers/assets/rodent.xml")
    model.find("body", "torso").name = "renamed"
    twin = copy.deepcopy(model)
    for each in (model, twin):
        m = mujoco.MjModel.from_xml_string(each.to_xml_string(), each.get_assets())
        assert m.body("renamed").id in m.skin_bonebodyid


def test_models_with_attachments_can_be_copied():
    parent, child, grandchild, second = (make(name) for name in ("parent", "child", "grandchild", "second"))
    child.find("site", "tip").attach(grandchild)
    frame = parent.find("site", "tip").attach(child)
    slide = frame.add("joint", name="x", type="slide")
    parent.attach(second).add("freejoint")
    frame.pos = [9, 9, 9]
    parent.actuator.add("motor", name="lift", joint=slide)
    parent.sensor.add("framepos", objtype="body", objname=frame)
    parent.contact.add("exclude", body1=child.find("body", "body"), body2=second.find("body", "body"))
    parent.option.density = 2
    twin = copy.deepcopy(parent)
    assert twin.to_xml_string() == parent.to_xml_string()
    assert [model.model for model in twin.attached_models()] == ["child", "second"]
    inner = twin.enter_scope("child/grandchild")
    assert inner is not grandchild and inner.root_model is twin
    assert twin.actuator.motor["lift"].joint.root is twin
    assert twin.contact.exclude[0].body1 is twin.find("body", "child/body")
    inner.find("geom", "geom").remove()
    assert grandchild.find("geom", "geom") is not None
    twin.option.density = 3
    assert parent.option.density == 2 and inner.option.density == 3
    twin.enter_scope("child").detach()
    assert parent.enter_scope("child") is child


def test_including_a_composed_model():
    parent, child = make("parent"), make("child")
    parent.attach(child)
    target = mjcf.RootElement(model="target")
    target.include_copy(parent)
    assert target.find("geom", "child/geom") is not None
    assert parent.to_xml_string().replace('model="parent"', 'model="target"') == target.to_xml_string()
