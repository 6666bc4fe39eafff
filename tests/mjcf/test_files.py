"""Documents and their files from anywhere that has a provider."""

import base64
import pathlib

import dm_control
import mujoco
import pytest

from kinema import mjcf, resources

CUBE = (pathlib.Path(dm_control.__file__).parent / "mjcf/test_assets/meshes/cube.stl").read_bytes()
OBJ = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def test_memory():
    resources.memory["robot/model.xml"] = (
        b'<mujoco><compiler meshdir="meshes"/><include file="parts/leg.xml"/><worldbody><geom type="mesh" mesh="cube"/>'
        b"</worldbody></mujoco>"
    )
    resources.memory["robot/parts/leg.xml"] = b'<mujoco><asset><mesh file="cube.stl"/></asset></mujoco>'
    resources.memory["robot/meshes/cube.stl"] = CUBE
    model = mjcf.from_path("memory:robot/model.xml")
    assert model.asset.mesh["cube"].file.contents == CUBE
    assert model.asset.mesh["cube"].source_file == "memory:robot/parts/leg.xml"
    assert mujoco.MjModel.from_xml_string(model.to_xml_string(), model.get_assets()).nmesh == 1


def test_data():
    uri = "data:model/obj;base64," + base64.b64encode(OBJ).decode()
    model = mjcf.RootElement()
    mesh = model.asset.add("mesh", name="tetrahedron", file=uri)
    model.worldbody.add("geom", type="mesh", mesh=mesh)
    assert mesh.file.extension == ".obj" and mesh.file.contents == OBJ
    m = mujoco.MjModel.from_xml_string(model.to_xml_string(), model.get_assets())
    assert m.nmeshvert == 4


def test_absolute_paths_stand_alone(tmp_path):
    (tmp_path / "cube.stl").write_bytes(CUBE)
    model = mjcf.RootElement(model_dir="/nowhere")
    model.compiler.meshdir = "else"
    assert model.asset.add("mesh", file=str(tmp_path / "cube.stl")).file.contents == CUBE


def test_missing_files_suggest_the_nearest(tmp_path):
    (tmp_path / "cube.stl").write_bytes(CUBE)
    (tmp_path / "m.xml").write_text('<mujoco>\n<asset>\n<mesh file="cubee.stl"/></asset></mujoco>')
    with pytest.raises(OSError, match="there is no such file.*did you mean 'cube.stl'") as caught:
        mjcf.from_path(tmp_path / "m.xml")
    assert (caught.value.line, caught.value.path) == (3, "asset/mesh")
