"""Real models: what the document writes compiles in MuJoCo to the model of the original file, array by array."""

import pathlib

import dm_control
import mujoco
import numpy as np
import pytest

from kinema import mjcf

PACKAGE = pathlib.Path(dm_control.__file__).parent
SHARED = pathlib.Path(__file__).parents[3] / "shared" / "models"

# Names differ (unnamed elements get names, files are named by content), and so do the sizes of buffers that hold them.
BY_NAME = {"names", "names_map", "paths", "nnames", "npaths", "nbuffer", "narena", "nnames_map"}


def files():
    return sorted(PACKAGE.rglob("*.xml")) + sorted(SHARED.rglob("*.xml"))


def fields(m):
    for name in dir(m):
        if name.startswith(("_", "name_")) or name in BY_NAME or name.endswith("pathadr"):
            continue
        value = getattr(m, name)
        if isinstance(value, np.ndarray | int | float):
            yield name, value


def assert_same(ours, theirs):
    expected = dict(fields(theirs))
    assert len(expected) > 300
    for name, value in fields(ours):
        assert np.shape(value) == np.shape(expected[name]), name
        np.testing.assert_array_equal(value, expected[name], err_msg=name)
    for group in ("opt", "vis", "stat"):
        assert str(getattr(ours, group)) == str(getattr(theirs, group))


def reference(path):
    try:
        return mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        pytest.skip(f"mujoco cannot load it: {str(error)[:60]}")


@pytest.mark.parametrize("path", files(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_written_model_is_the_same(path):
    theirs = reference(path)
    model = mjcf.from_path(path, escape_separators=True)
    ours = mujoco.MjModel.from_xml_string(model.to_xml_string(), model.get_assets())
    assert_same(ours, theirs)


def test_most_models_load():
    """The comparison above is not empty: dm_control alone brings dozens of models that MuJoCo loads."""
    loaded = 0
    for path in sorted((PACKAGE / "suite").glob("*.xml")):
        try:
            mujoco.MjSpec.from_file(str(path))
            loaded += 1
        except ValueError:
            continue
    assert loaded >= 15


@pytest.mark.parametrize("name", ["suite/walker.xml", "suite/manipulator.xml", "locomotion/walkers/assets/rodent.xml"])
def test_attached_model_is_the_same(name):
    """A model attached to an empty one, at the origin, is the model with one more body."""
    theirs = reference(PACKAGE / name)
    model = mjcf.from_path(PACKAGE / name)
    arena = mjcf.RootElement(model="arena")
    model.model = "m"
    arena.attach(model)
    ours = mujoco.MjModel.from_xml_string(arena.to_xml_string(), arena.get_assets())
    assert ours.nbody == theirs.nbody + 1
    for field in ("body_mass", "body_inertia", "body_pos", "body_quat"):
        np.testing.assert_array_equal(getattr(ours, field)[2:], getattr(theirs, field)[1:])
    for field in ("jnt_range", "jnt_axis", "geom_size", "geom_friction", "actuator_gainprm", "sensor_type", "qpos0"):
        np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field))
    data = mujoco.MjData(ours), mujoco.MjData(theirs)
    for m, d in zip((ours, theirs), data, strict=True):
        d.ctrl[:] = 0.1
        mujoco.mj_step(m, d, 5)
    np.testing.assert_allclose(data[0].qpos, data[1].qpos, atol=1e-10)
