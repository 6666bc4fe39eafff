"""Random sequences of attaching, detaching, copying, renaming and editing keep every invariant of documents."""

import copy
import random

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kinema import mjcf


def make(chance, number):
    model = mjcf.RootElement(model=chance.choice(["arm", "leg", "hand", f"m{number}"]))
    if chance.random() < 0.3:
        model.compiler.angle = "radian"
    model.worldbody.add("geom", size=[0.1])
    for index in range(chance.randint(1, 3)):
        body = model.worldbody.add("body", name=f"b{index}", pos=[index, 0, 0], euler=[0.1, 0.2, 0.3])
        body.add("geom", size=[0.1])
        joint = body.add("joint", name=f"j{index}", type=chance.choice(["hinge", "slide", "ball"]), range=[0, 1])
        body.add("site", name=f"s{index}", pos=[0, 0, 1])
        if joint.type != "ball" and chance.random() < 0.7:
            model.actuator.add("motor", name=f"a{index}", joint=joint)
        model.sensor.add("jointpos" if joint.type != "ball" else "ballquat", joint=joint)
    sizes = [4 if joint.type == "ball" else 1 for joint in model.find_all("joint")]
    model.keyframe.add("key", name="key", qpos=[1] * sum(sizes))
    return model


def check(model):
    """What must hold of any document."""
    text = model.to_xml_string()
    assert text == model.to_xml_string()
    mujoco.MjSpec.from_string(text)
    names = [element.full_identifier for element in model.find_all("joint")]
    assert len(set(names)) == len(names)
    for element in model.find_all("joint"):
        assert not element.is_removed and element.root.root_model is model.root_model
        if element.name and element.parent.tag == "body" and not element.full_identifier.endswith("/"):
            assert element.root.find("joint", element.name) is element
    for attached in model.attached_models():
        assert attached.parent_model is model
        frame = mjcf.get_attachment_frame(attached)
        assert frame.root is model and frame.full_identifier.endswith(f"{attached.model}/")
        assert model.enter_scope(attached.model) is attached
        assert attached.option.timestep == model.option.timestep


def check_angles(model):
    """Every body is turned as its own model means it, or the nearest model above that says so."""
    m = mujoco.MjModel.from_xml_string(model.to_xml_string())
    for body in model.find_all("body"):
        if getattr(body, "euler", None) is None:
            continue
        owner = body.root
        while owner is not None and owner.compiler.angle is None:
            owner = owner.parent_model
        scale = 1 if owner is not None and owner.compiler.angle == "radian" else np.pi / 180
        expected = Rotation.from_euler("XYZ", np.array(body.euler) * scale).as_quat(scalar_first=True)
        np.testing.assert_allclose(m.body(body.full_identifier).quat, expected, atol=1e-12)


def step(models, chance, number):
    model = chance.choice(models)
    kind = chance.randrange(8)
    if kind == 0 and len(models) < 12:
        models.append(make(chance, number))
    elif kind in (1, 2):
        if len(models) == 1:
            models.append(make(chance, number))
        other = chance.choice([m for m in models if m is not model])
        spots = [*model.find_all("site", exclude_attachments=True), model.worldbody]
        frame = chance.choice(spots).attach(other)
        if chance.random() < 0.5:
            frame.add("joint", type="slide", name=chance.choice([None, "x"]))
    elif kind == 3 and model.parent_model is not None:
        model.detach()
    elif kind == 4 and len(models) < 12:
        models.append(copy.deepcopy(model))
        todo = list(models[-1].attached_models())
        while todo:
            models.append(todo.pop())
            todo.extend(models[-1].attached_models())
    elif kind == 5:
        model.model = chance.choice(["arm", "leg", "hand", f"n{number}"])
    elif kind == 6:
        model.option.timestep = chance.choice([0.001, 0.002])
    elif kind == 7:
        bodies = model.find_all("body", exclude_attachments=True)
        named = [body for body in bodies if getattr(body, "name", None)]
        if len(named) > 1:
            chance.choice(named).name = f"renamed{number}"


@pytest.mark.parametrize("seed", range(12))
def test_random_operations(seed):
    chance = random.Random(seed)
    models = [make(chance, 0)]
    refused = 0
    for number in range(60):
        try:
            step(models, chance, number)
        except ValueError as error:
            expected = ("already attached", "attached to it", "Conflicting values", "Duplicated identifier", "itself")
            assert any(reason in str(error) for reason in expected), error
            refused += 1
        check(chance.choice(models).root_model)
        if number % 10 == 9:
            check_angles(chance.choice(models).root_model)
    assert refused < 55
    for model in models:
        if model.parent_model is not None:
            model.detach()
    for model in models:
        assert not model.attached_models()
        check(model)
