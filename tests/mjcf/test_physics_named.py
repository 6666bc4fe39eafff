"""Named indexing beside dm_control's tables and MuJoCo's own names."""

import numpy as np
import pytest

from kinema import mjcf
from kinema.model.mujoco_fields import data_fields, model_fields
from kinema.physics.named import columns_of
from tests.mjcf.physics_model import Oracle, document


@pytest.fixture(scope="module")
def physics():
    return mjcf.Physics.from_mjcf_model(document())


@pytest.fixture(scope="module")
def oracle():
    return Oracle()


def test_columns_are_named_as_in_dm_control():
    from dm_control.mujoco import index

    fields = {**model_fields(), **data_fields()}
    for key, names in index._COLUMN_ID_TO_FIELDS.items():
        for name in names:
            if name in fields and fields[name].shape[1:] == (len(index._COLUMN_NAMES[key]),):
                assert columns_of(name, fields[name].shape[1]).names == index._COLUMN_NAMES[key], name
    for name in ("geom_friction", "jnt_solref", "cvel", "actuator_gear", "geom_aabb"):
        assert not columns_of(name, fields[name].shape[1]).names, name


@pytest.mark.parametrize(
    ("field", "kind", "attribute"),
    [
        ("xpos", "body", "xpos"), ("geom_xmat", "geom", "xmat"), ("site_xpos", "site", "xpos"),
        ("qpos", "joint", "qpos"), ("qvel", "joint", "qvel"), ("ctrl", "actuator", "ctrl"),
        ("sensordata", "sensor", "data"),
        ("xanchor", "joint", "xanchor"), ("cam_xpos", "camera", "xpos"),
    ],
)  # fmt: skip
def test_rows_are_mujocos(physics, oracle, field, kind, attribute):
    rng = np.random.default_rng(0)
    oracle.d.qpos[11:] = physics.data.qpos[11:] = [0.3, 0.01]
    oracle.after_reset()
    physics.after_reset()
    names = [getattr(oracle.m, kind)(i).name for i in range(len(physics._run.model.names(kind)))]
    indexer = getattr(physics.named.data, field)
    parts = [np.atleast_1d(getattr(getattr(oracle.d, kind)(name), attribute)) for name in names]
    for name, part in zip(names, parts, strict=True):
        np.testing.assert_allclose(np.ravel(indexer[name]), part.ravel(), atol=1e-4)
    order = rng.permutation(len(names))
    wanted = np.concatenate([parts[i].ravel() for i in order])
    np.testing.assert_allclose(np.ravel(indexer[[names[i] for i in order]]), wanted, atol=1e-4)


def test_keys(physics):
    xpos = physics.named.data.xpos
    np.testing.assert_array_equal(xpos["ball", "z"], physics.data.xpos[3, 2])
    np.testing.assert_array_equal(xpos[["ball", "upper"], "x"], physics.data.xpos[3:5, 0])
    np.testing.assert_array_equal(xpos["ball", ["x", "z"]], physics.data.xpos[3, [0, 2]])
    np.testing.assert_array_equal(xpos[:, "y"], physics.data.xpos[:, 1])
    np.testing.assert_array_equal(xpos[1:3], physics.data.xpos[1:3])
    np.testing.assert_array_equal(xpos[-1, 0], physics.data.xpos[-1, 0])
    outer = np.ix_(["ball", "upper"], ["x", "z"])
    np.testing.assert_array_equal(xpos[outer], physics.data.xpos[3:5][:, [0, 2]])
    np.testing.assert_array_equal(np.asarray(xpos), physics.data.xpos)
    assert xpos.shape == physics.data.xpos.shape
    assert len(xpos) == physics.model.nbody
    assert physics.named.model.numeric_data["gains"].tolist() == [1, 2, 3]
    assert physics.named.data.mocap_pos["target", "x"] == 0.5
    for key, text in ((..., "Ellipsis"), (None, "None"), ("", "Empty strings"), (("ball", 0, 0), "3 elements")):
        with pytest.raises(IndexError, match=text):
            xpos[key]
    with pytest.raises(KeyError, match="'bal'; did you mean 'ball'"):
        xpos["bal"]


def test_activations(physics):
    assert np.ndim(physics.named.data.act["muscle"]) == 0
    assert physics.named.data.act["servo"].shape == (0,)
    assert physics.named.data.act[["servo", "muscle"]].shape == (1,)


def test_repr_and_dir(physics):
    text = repr(physics.named.data.qpos)
    assert text.startswith("FieldIndexer(qpos):")
    assert "elbow" in text
    assert "qx" in repr(physics.named.model.body_quat)
    assert "xpos" in dir(physics.named.data)
    assert "qpos" in physics.named.data._asdict()
