"""The built-in providers: file, memory, data, zip."""

import base64
import io
import os
import zipfile

import pytest

from kinema import resources
from kinema.errors import ResourceError
from kinema.resources import builtin


@pytest.fixture(autouse=True)
def clean():
    yield
    resources.memory.clear()
    resources.clear_cache()


def test_file_forms(tmp_path):
    path = tmp_path / "a b.OBJ"
    path.write_bytes(b"x")
    for name in (str(path), f"file:{path}", f"file://{str(path).replace(' ', '%20')}", f"FILE://localhost{path}", path):
        found = resources.read(name)
        assert (found.data, found.extension, found.media_type) == (b"x", ".obj", "model/obj")
    with pytest.raises(ResourceError, match="host 'elsewhere'"):
        resources.read(f"file://elsewhere{path}")


def test_file_is_read_once_until_it_changes(tmp_path, monkeypatch):
    path = tmp_path / "m.obj"
    path.write_bytes(b"one")
    reads = []
    original = builtin._file_read
    served = resources.find_provider("file:x")
    counting = type(served)(
        served.prefix, served.open, lambda r: reads.append(1) or original(r), served.close, None, served.modified
    )
    monkeypatch.setattr("kinema.resources.reading.FILE", counting)
    for _ in range(3):
        assert resources.read(path).data == b"one"
    assert len(reads) == 1
    path.write_bytes(b"two!")
    assert resources.read(path).data == b"two!"
    assert len(reads) == 2


def test_missing_file_names_the_nearest(tmp_path):
    (tmp_path / "torso.stl").write_bytes(b"x")
    with pytest.raises(ResourceError, match=r"no such file \(written as 'torso.obj'\); did you mean 'torso.stl'"):
        resources.read("torso.obj", relative_to=tmp_path / "model.xml")
    with pytest.raises(ResourceError, match="folder .* does not exist either"):
        resources.read(tmp_path / "nowhere" / "a.obj")
    with pytest.raises(ResourceError, match="it is a folder"):
        resources.read(tmp_path)
    assert issubclass(ResourceError, OSError)


def test_unreadable_file(tmp_path):
    path = tmp_path / "locked.obj"
    path.write_bytes(b"x")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user reads everything")
    with pytest.raises(ResourceError, match="cannot read"):
        resources.read(path)


def test_memory():
    resources.memory["a/m.obj"] = b"one"
    for name in ("memory:a/m.obj", "memory:/a/m.obj", "memory://a/m.obj", "MEMORY:a/./b/../m.obj"):
        assert resources.read(name).data == b"one"
    assert resources.read("m.obj", relative_to="memory:a/model.xml").name == "memory:a/m.obj"
    resources.memory["a/m.obj"] = b"two"
    assert resources.read("memory:a/m.obj").data == b"two"
    with pytest.raises(ResourceError, match="nothing named 'a/n.obj' in memory; did you mean 'a/m.obj'"):
        resources.read("memory:a/n.obj")


@pytest.mark.parametrize(
    ("uri", "media_type", "extension", "data"),
    [
        ("data:model/obj;base64," + base64.b64encode(b"v 1 2 3").decode(), "model/obj", ".obj", b"v 1 2 3"),
        ("data:MODEL/OBJ;base64,AAE", "model/obj", ".obj", b"\x00\x01"),  # padding may be left out
        ("data:image/png;charset=x;base64,AA%3D%3D", "image/png", ".png", b"\x00"),
        ("data:,A%20b", "text/plain", "", b"A b"),
        ("data:text/xml;charset=utf-8,<a/>", "text/xml", ".xml", b"<a/>"),
        ("data:model/obj;base64,AA\n  AA", "model/obj", ".obj", b"\x00\x00\x00"),  # wrapped by an XML writer
    ],
)
def test_data(uri, media_type, extension, data):
    found = resources.read(uri, relative_to="memory:a/model.xml")
    assert (found.media_type, found.extension, found.data) == (media_type, extension, data)


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("data:model/obj;base64", "no comma"),
        ("data:model/obj;base65,AAAA", "unknown encoding 'base65'; did you mean 'base64'"),
        ("data:obj;base64,AAAA", "type/subtype"),
        ("data:model/obj;base64,A", "bad base64"),
        ("data:model/obj;base64,A$==", "bad base64"),
    ],
)
def test_bad_data(uri, reason):
    with pytest.raises(ResourceError, match=reason):
        resources.read(uri)


def archive(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zipped:
        for name, data in files.items():
            zipped.writestr(name, data)
    return buffer.getvalue()


def test_zip(tmp_path):
    path = tmp_path / "robots.zip"
    path.write_bytes(archive({"arm/model.xml": "<mujoco/>", "arm/meshes/a.stl": b"A", "shared.obj": b"S"}))
    model = f"zip:{path}!/arm/model.xml"
    assert resources.read(model).media_type == "text/xml"
    assert resources.getdir(model) == f"zip:{path}!/arm/"
    assert resources.read("meshes/a.stl", relative_to=model).data == b"A"
    assert resources.read("../shared.obj", relative_to=model).data == b"S"
    assert resources.read("shared.obj", relative_to=f"zip:{path}!/model.xml").data == b"S"
    assert resources.read("../../../shared.obj", relative_to=model).data == b"S"  # never outside the archive
    with pytest.raises(ResourceError, match="no file 'arm/meshes/b.stl'.*did you mean 'arm/meshes/a.stl'"):
        resources.read("meshes/b.stl", relative_to=model)
    path.write_bytes(archive({"arm/model.xml": "<mujoco model='new'/>"}))
    assert b"new" in resources.read(model).data


def test_zip_in_memory_and_bad_ones(tmp_path):
    resources.memory["r.zip"] = archive({"m.obj": b"M"})
    assert resources.read("zip:memory:r.zip!/m.obj").data == b"M"
    with pytest.raises(ResourceError, match="write zip:archive.zip!/folder/file"):
        resources.read("zip:r.zip")
    with pytest.raises(ResourceError, match="no archive 'gone.zip'"):
        resources.read("zip:gone.zip!/m.obj")
    bad = tmp_path / "bad.zip"
    bad.write_bytes(b"not a zip")
    with pytest.raises(ResourceError, match="not a zip archive"):
        resources.read(f"zip:{bad}!/m.obj")


def test_zip_member_size_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(builtin, "MAX_BYTES", 10)
    resources.memory["r.zip"] = archive({"m.obj": b"M" * 11})
    with pytest.raises(ResourceError, match="unpacks to 11 bytes"):
        resources.read("zip:memory:r.zip!/m.obj")
