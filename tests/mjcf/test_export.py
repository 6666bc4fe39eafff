"""Documents with their files, in a folder or a zip file."""

import pathlib
import zipfile

import dm_control
import mujoco
import pytest

from kinema import mjcf

FILE = pathlib.Path(dm_control.__file__).parent / "mjcf/test_assets/model_with_assets.xml"


def test_folder(tmp_path):
    model = mjcf.from_path(FILE)
    mjcf.export_with_assets(model, tmp_path / "new", "out.xml")
    written = {path.name: path.read_bytes() for path in (tmp_path / "new").iterdir()}
    assert written.pop("out.xml").decode() == model.to_xml_string()
    assert written == model.get_assets() and written
    mujoco.MjModel.from_xml_path(str(tmp_path / "new" / "out.xml"))
    mjcf.export_with_assets(model, tmp_path, precision=4)
    assert (tmp_path / f"{model.model}.xml").read_text() == model.to_xml_string(precision=4)
    with pytest.raises(ValueError, match="must end with '.xml'"):
        mjcf.export_with_assets(model, tmp_path, "out.png")


def test_zip(tmp_path):
    model = mjcf.from_path(FILE)
    path = mjcf.export_with_assets_as_zip(model, tmp_path, "robot")
    assert path == str(tmp_path / "robot.zip")
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    assert files.pop("robot/robot.xml").decode() == model.to_xml_string()
    assert files == {f"robot/{name}": contents for name, contents in model.get_assets().items()}
    again = mjcf.from_zip(path, escape_separators=True)
    assert {file.value.contents for file in again.file_attributes()} == set(model.get_assets().values())
    assert mjcf.export_with_assets_as_zip(model, tmp_path).endswith(f"{model.model}.zip")


def test_names_stay_names_of_functions():
    assert callable(mjcf.export_with_assets) and callable(mjcf.export_with_assets_as_zip)
