"""One file holds a model and a state; reading it gives the same model, and another version is refused."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
import warp as wp

from kinema.model import CustomAttribute, Model, ModelBuilder

from .rich import host, rich_model
from .test_worlds import assert_equal_models


@pytest.fixture
def saved(tmp_path):
    model = rich_model(3)
    model.request_state_attributes("body_qdd")
    state = model.state()
    state.body_q.fill_(0.25)
    state.body_qdd.fill_(3.0)
    path = tmp_path / "model.kinema"
    model.save(path, state)
    return model, state, path


def test_everything_comes_back(saved, tmp_path):
    model, state, path = saved
    loaded, loaded_state = Model.load(path, "cpu")
    assert_equal_models(model, loaded, except_for=("shape_source",))
    for field, array in state.arrays():
        found = dict((f.key, a) for f, a in loaded_state.arrays())[field.key]
        np.testing.assert_array_equal(array.numpy(), found.numpy(), err_msg=field.key)
    assert [c.worlds.tolist() for c in loaded.world_classes] == [c.worlds.tolist() for c in model.world_classes]
    for key in ("joint_parent", "shape_body", "mujoco:equality_constraint_body2", "tri_indices"):
        np.testing.assert_array_equal(loaded.world_classes[0].template[key], model.world_classes[0].template[key])
    assert loaded.body_shapes == model.body_shapes
    assert loaded.shape_collision_filter_pairs == model.shape_collision_filter_pairs
    assert loaded.mujoco.equality_constraint_count == 9
    assert loaded.bvh_shapes is not None and loaded.get_requested_state_attributes() == ["body_qdd"]
    for name in ("gravity", "heightfield_elevations", "shape_edge_range", "mesh_edge_indices", "body_world_start"):
        np.testing.assert_array_equal(host(getattr(loaded, name)), host(getattr(model, name)), err_msg=name)
    again = tmp_path / "again"
    loaded.save(again, loaded_state)
    assert again.read_bytes() == path.read_bytes()


def test_a_model_without_state(tmp_path):
    rich_model(1).save(tmp_path / "m")
    model, state = Model.load(tmp_path / "m", "cpu")
    assert state is None and model.body_count == 3


def test_templates_survive_without_their_hooks(tmp_path):
    """A hook is code and cannot be saved, but what it makes of a world's rows can."""

    def remap(values, offsets, columns):
        return np.where(values >= 0, values + offsets["body"], values)

    template = ModelBuilder()
    template.add_custom_attribute(CustomAttribute("who", wp.int32, references=remap))
    template.add_body(mass=1.0, inertia=np.eye(3))
    template.add_custom_values_batch({"who": np.array([0, -1])})
    b = ModelBuilder()
    b.add_body(mass=1.0, inertia=np.eye(3))
    b.replicate(template, 2)
    model = b.finalize("cpu")
    assert model.who.numpy().tolist() == [1, -1, 2, -1]
    model.save(tmp_path / "first")
    loaded, _ = Model.load(tmp_path / "first", "cpu")
    assert loaded.who.numpy().tolist() == [1, -1, 2, -1]
    assert loaded.world_classes[0].template["who"].tolist() == [0, -1]
    loaded.save(tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_other_files_are_refused(saved, tmp_path):
    _, _, path = saved
    (tmp_path / "text").write_text("hello")
    with pytest.raises(OSError, match="not a file"):
        Model.load(tmp_path / "text")
    newer = tmp_path / "newer"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(newer, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "model.json":
                data = json.dumps({**json.loads(data), "version": 99}).encode()
            new.writestr(name, data)
    with pytest.raises(OSError, match="version 99"):
        Model.load(newer)
