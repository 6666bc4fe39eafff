"""State, Control and Contacts: what they hold, copying whole and by world."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from kinema.model import AttributeAssignment, AttributeFrequency, Contacts, CustomAttribute, ModelBuilder

from .rich import rich_model


@pytest.fixture(scope="module")
def model():
    return rich_model(3)


def test_state_is_a_copy(model):
    state = model.state()
    state.joint_q.fill_(7.0)
    assert not np.any(model.joint_q.numpy() == 7.0)
    assert state.body_count == model.body_count and state.particle_count == model.particle_count
    assert state.joint_coord_count == model.joint_coord_count and state.joint_dof_count == model.joint_dof_count
    assert state.body_qdd is None and state.body_f.numpy().sum() == 0.0


def test_assign_and_clear(model):
    a, b = model.state(), model.state()
    a.body_q.fill_(2.0)
    b.assign(a)
    assert (b.body_q.numpy() == 2.0).all()
    a.body_f.fill_(1.0)
    a.clear_forces()
    assert (a.body_f.numpy() == 0.0).all() and (a.body_q.numpy() == 2.0).all()
    b.clear()
    assert all((array.numpy() == 0).all() for _, array in b.arrays())
    assert len(list(b.arrays())) == 8


def test_assign_refuses_what_does_not_match(model):
    other = rich_model(1)
    with pytest.raises(ValueError, match="shape"):
        model.state().assign(other.state())
    other.request_state_attributes("body_qdd")
    with pytest.raises(ValueError, match="'body_qdd'"):
        rich_model(1).state().assign(other.state())


def test_requests():
    model = rich_model(1)
    model.request_state_attributes("body_qdd", "mujoco:qfrc_actuator")
    state = model.state()
    assert state.body_qdd.shape == (model.body_count,)
    assert state.mujoco.qfrc_actuator.shape == (model.joint_dof_count,)
    assert model.get_requested_state_attributes() == ["body_qdd", "mujoco:qfrc_actuator"]
    model.request_contact_attributes("force")
    assert model.contacts().force.dtype == wp.spatial_vector
    with pytest.raises(ValueError, match="body_qd"):
        model.request_state_attributes("body_qddd")


def test_copy_worlds(model):
    """Only rows of the chosen worlds are copied, in every array, whatever its frequency."""
    target, source = model.state(), model.state()
    for _, array in source.arrays():
        array.fill_(5.0)
    before = {field.key: array.numpy().copy() for field, array in target.arrays()}
    target.copy_worlds(source, [False, True, False], model)
    checked = 0
    for field, array in target.arrays():
        worlds = model.row_worlds(field.frequency).numpy()
        found = array.numpy()
        assert (found[worlds == 1] == 5.0).all(), field.key
        np.testing.assert_array_equal(found[worlds != 1], before[field.key][worlds != 1], err_msg=field.key)
        checked += 1
    assert checked == 8


def test_copy_worlds_of_odd_types():
    b = ModelBuilder()
    for name, dtype in (("flag", wp.bool), ("wide", wp.float64), ("pair", wp.vec2h)):
        more = {"frequency": AttributeFrequency.BODY, "assignment": AttributeAssignment.STATE}
        b.add_custom_attribute(CustomAttribute(name=name, dtype=dtype, **more))
    template = ModelBuilder()
    template.add_body(mass=1.0, inertia=np.eye(3))
    b.replicate(template, 2)
    model = b.finalize("cpu")
    target, source = model.state(), model.state()
    source.flag.fill_(True)
    source.wide.fill_(2.0)
    source.pair.fill_(3.0)
    target.copy_worlds(source, [False, True], model)
    assert target.flag.numpy().tolist() == [False, True] and target.wide.numpy().tolist() == [0.0, 2.0]
    assert target.pair.numpy().tolist() == [[0.0, 0.0], [3.0, 3.0]]
    with pytest.raises(ValueError, match="mask"):
        target.copy_worlds(source, [True], model)


def test_targets_by_dof():
    """In the older layout targets have a row per dof, and copies by world know it."""
    model = rich_model(2, use_coord_layout_targets=False)
    assert model.joint_target_q.shape == (model.joint_dof_count,)
    assert model.get_attribute_frequency("joint_target_q") == AttributeFrequency.JOINT_DOF
    target, source = model.control(), model.control()
    source.joint_target_q.fill_(2.0)
    target.copy_worlds(source, [False, True], model)
    found, half = target.joint_target_q.numpy(), model.joint_dof_count // 2
    assert (found[half:] == 2.0).all() and not (found[:half] == 2.0).any()
    assert len(model.world_classes[0].template["joint_target_q"]) == half


def test_control(model):
    control, shared = model.control(), model.control(clone_variables=False)
    assert shared.joint_f is model.joint_f and control.joint_f is not model.joint_f
    control.joint_f.fill_(3.0)
    control.joint_target_q.fill_(3.0)
    control.clear(model)
    assert (control.joint_f.numpy() == 0.0).all()
    np.testing.assert_array_equal(control.joint_target_q.numpy(), model.joint_target_q.numpy())


def test_contacts(model):
    contacts = model.contacts()
    assert contacts.rigid_contact_max == model.rigid_contact_max > 0
    assert contacts.rigid_contact_shape0.numpy().tolist() == [-1] * model.rigid_contact_max
    contacts.rigid_contact_shape0.fill_(3)
    contacts.rigid_contact_count.fill_(2)
    contacts.clear()
    assert contacts.rigid_contact_count.numpy()[0] == 0 and contacts.rigid_contact_shape0.numpy()[0] == -1
    with pytest.raises(ValueError, match="negative"):
        Contacts(-1, 0)


def test_gradients():
    b = ModelBuilder()
    b.add_body(mass=1.0, inertia=np.eye(3))
    model = b.finalize("cpu", requires_grad=True)
    assert model.body_mass.requires_grad and not model.body_flags.requires_grad
    assert model.state().requires_grad and not model.state(requires_grad=False).requires_grad


def test_add_attribute(model):
    rows = wp.zeros(model.body_count, device="cpu")
    model.add_attribute("extra", rows, AttributeFrequency.BODY, namespace="late")
    assert model.late.extra.shape == (model.body_count,)
    assert model.get_attribute_frequency("late:extra") == AttributeFrequency.BODY
    assert model.get_attribute_assignment("joint_q") == AttributeAssignment.STATE
    with pytest.raises(AttributeError, match="taken"):
        model.add_attribute("extra", rows, AttributeFrequency.BODY, namespace="late")
    with pytest.raises(ValueError, match="rows"):
        model.add_attribute("wrong", wp.zeros(1, device="cpu"), AttributeFrequency.BODY)
    with pytest.raises(KeyError, match="joint_qd"):
        model.get_attribute_frequency("joint_qdd")
    with pytest.raises(KeyError):
        model.get_custom_frequency_count("n:nothing")
