"""Every loader reads through providers: a model, its includes and its assets from memory, archives, data: URIs."""

import base64
import io
import struct
import zipfile

import mujoco
import numpy as np
import pytest

from kinema import resources
from kinema.compile import compile_model

OBJ = b"v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
HFIELD = struct.pack("<ii6f", 2, 3, 0, 1, 2, 3, 4, 5)
INCLUDED = '<mujoco><worldbody><geom name="ball" size=".1"/></worldbody></mujoco>'
MODEL = """<mujoco>
  <compiler meshdir="assets"/>
  <include file="inc.xml"/>
  <asset><mesh name="m" file="{mesh}"/><hfield name="h" file="h.bin" size="1 1 1 1"/></asset>
  <worldbody><geom type="mesh" mesh="m"/><geom type="hfield" hfield="h"/></worldbody>
</mujoco>"""


def files(mesh: str = "m.obj") -> dict[str, bytes]:
    return {
        "model.xml": MODEL.format(mesh=mesh).encode(),
        "inc.xml": INCLUDED.encode(),
        "assets/m.obj": OBJ,
        "assets/h.bin": HFIELD,
    }


@pytest.fixture
def reference(tmp_path) -> mujoco.MjModel:
    """The same model from ordinary files, by MuJoCo."""
    for name, data in files().items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    return mujoco.MjModel.from_xml_path(str(tmp_path / "model.xml"))


def check(model, reference: mujoco.MjModel) -> None:
    assert model.ngeom == reference.ngeom == 3
    assert (np.asarray(model.mesh_face) == reference.mesh_face).all()
    assert np.asarray(model.mesh_vert) == pytest.approx(reference.mesh_vert)
    assert np.asarray(model.hfield_data) == pytest.approx(reference.hfield_data)


@pytest.fixture
def in_memory():
    def put(mesh: str = "m.obj") -> str:
        for name, data in files(mesh).items():
            resources.memory[f"robot/{name}"] = data
        return "memory:robot/model.xml"

    yield put
    resources.memory.clear()
    resources.clear_cache()


def test_memory(in_memory, reference):
    check(compile_model(in_memory()), reference)


def test_mesh_inside_the_document(in_memory, reference):
    check(compile_model(in_memory("data:model/obj;base64," + base64.b64encode(OBJ).decode())), reference)


def test_archive(tmp_path, reference):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files().items():
            archive.writestr(f"robot/{name}", data)
    (tmp_path / "robot.zip").write_bytes(buffer.getvalue())
    check(compile_model(f"zip:{tmp_path}/robot.zip!/robot/model.xml"), reference)


def test_own_provider(reference):
    content = files()

    def open_(resource) -> bool:
        resource.data = content.get(resource.name.partition(":")[2])
        return resource.data is not None

    resources.register_provider("shelf", open=open_, read=lambda r: r.data, close=lambda r: None)
    try:
        check(compile_model("shelf:model.xml"), reference)
        check(compile_model("SHELF:model.xml"), reference)
    finally:
        resources.unregister_provider("shelf")


def test_a_missing_asset_names_the_element_and_the_file(in_memory):
    name = in_memory("missing.obj")
    with pytest.raises(Exception, match="missing.obj") as caught:
        compile_model(name)
    assert "model.xml" in str(caught.value)
