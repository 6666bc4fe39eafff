"""What a simulation is made of: files, archives, robot descriptions, specs, models that come compiled."""

import zipfile

import mujoco
import numpy as np
import pytest

from kinema.errors import BuildError, ResourceError
from kinema.simulation.source import document_of, load
from tests.simulation.models import ARM

URDF = """
<robot name="two">
  <link name="base"/>
  <link name="arm">
    <inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
</robot>
"""


def same(m) -> None:
    reference = mujoco.MjModel.from_xml_string(ARM)
    for name in ("body_mass", "jnt_axis", "geom_size", "qpos0"):
        np.testing.assert_allclose(getattr(m, name), getattr(reference, name), atol=1e-12)


def test_a_zip(tmp_path):
    with zipfile.ZipFile(tmp_path / "arm.zip", "w") as archive:
        archive.writestr("arm/arm.xml", ARM)
        archive.writestr("arm/other.xml", "<mujoco/>")
    same(load(tmp_path / "arm.zip"))
    same(load(str(tmp_path / "arm.zip")))
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
        archive.writestr("a.xml", ARM)
        archive.writestr("b.xml", ARM)
    with pytest.raises(ResourceError, match="which of its 2 XML files is the model"):
        load(tmp_path / "many.zip")


def test_a_spec():
    spec = mujoco.MjSpec.from_string(ARM)
    spec.body("hand").add_geom(name="more", size=[0.1, 0, 0])
    m = load(spec)
    assert m.ngeom == 4 and "more" in document_of(spec).xml
    spec.body("hand").add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="absent")
    with pytest.raises(BuildError, match="MuJoCo does not compile the MjSpec"):
        load(spec)


def test_a_robot_description(tmp_path):
    (tmp_path / "two.urdf").write_text(URDF)
    for source in (tmp_path / "two.urdf", URDF):
        m = load(source)
        assert m.njnt == 1 and m.nbody == 2


def test_compiled_models(tmp_path):
    reference = mujoco.MjModel.from_xml_string(ARM)
    same(load(reference))
    mujoco.mj_saveModel(reference, str(tmp_path / "arm.mjb"))
    same(load(tmp_path / "arm.mjb"))
    (tmp_path / "bad.mjb").write_bytes(b"nothing")
    with pytest.raises(BuildError, match="MuJoCo does not read it"):
        load(tmp_path / "bad.mjb")


def test_what_is_no_model():
    with pytest.raises(BuildError, match="cannot simulate int: give a path"):
        load(3)
