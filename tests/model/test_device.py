"""The same model on the CPU and on a GPU: arrays, states, copies by world, BVHs."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from .rich import host, rich_builder

DEVICES = ["cpu", pytest.param("cuda:0", marks=pytest.mark.gpu)]


@pytest.fixture(scope="module", params=DEVICES)
def models(request):
    return rich_builder(3).finalize("cpu"), rich_builder(3).finalize(request.param)


def test_arrays_are_on_the_device(models):
    expected, found = models
    for key, field in found.fields.items():
        if field.runtime or field.hidden:
            continue
        array = found.array_of(field)
        if isinstance(array, wp.array):
            assert array.device == found.device, key
            np.testing.assert_array_equal(array.numpy(), host(expected.array_of(field)), err_msg=key)
    np.testing.assert_array_equal(found.shape_contact_pairs.numpy(), expected.shape_contact_pairs.numpy())


def test_templates_are_on_the_host(models):
    expected, found = models
    for key in ("joint_parent", "shape_body", "body_mass", "tri_indices", "mujoco:equality_constraint_body1"):
        rows = found.world_classes[0].template[key]
        assert isinstance(rows, np.ndarray)
        np.testing.assert_array_equal(rows, expected.world_classes[0].template[key])


def test_states(models):
    _, model = models
    target, source = model.state(), model.state()
    source.joint_q.fill_(4.0)
    target.copy_worlds(source, wp.array([False, False, True], dtype=wp.bool, device=model.device), model)
    worlds = model.row_worlds("joint_coord").numpy()
    assert (target.joint_q.numpy()[worlds == 2] == 4.0).all() and not (target.joint_q.numpy()[worlds != 2] == 4.0).any()
    assert model.control().joint_f.device == model.contacts().rigid_contact_normal.device == model.device


def test_bounding_volumes(models):
    expected, model = models
    np.testing.assert_allclose(model.bvh_shapes.lowers.numpy(), expected.bvh_shapes.lowers.numpy(), atol=1e-4)
    state = model.state()
    state.particle_q.fill_(1.0)
    model.bvh_refit_shapes(state)
    model.bvh_refit_particles(state)
    assert (model.bvh_particles.uppers.numpy() > 1.0).all()
    assert len(model.bvh_shapes_group_roots) == len(model.bvh_particles_group_roots) == 4


def test_gravity(models):
    _, model = models
    model.set_gravity((0.0, 0.0, -1.0), world=1)
    assert model.gravity.numpy()[1].tolist() == [0.0, 0.0, -1.0]
