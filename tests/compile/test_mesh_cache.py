"""The disk cache of processed meshes: hits, keys, damage, unwritable folders; and the speed it is there for."""

import os
import time

import mujoco
import numpy as np
import pytest

from kinema import resources
from kinema.compile import mesh as mesh_module
from kinema.compile import mesh_cache
from kinema.compile.mesh import mesh_asset, pack_meshes
from tests.compile.mesh_oracle import public_files

OBJ = b"v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.fixture(autouse=True)
def forget():
    mesh_module._recent.clear()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KINEMA_CACHE_DIR", str(tmp_path))
    return tmp_path / "mesh"


@pytest.fixture
def counted(monkeypatch):
    """How often a mesh is really processed."""
    calls = []
    original = mesh_module.compile_mesh

    def counting(*args, **options):
        calls.append(args[0])
        return original(*args, **options)

    monkeypatch.setattr(mesh_module, "compile_mesh", counting)
    return calls


def asset(data: bytes = OBJ, name: str = "m", **options):
    return mesh_asset(name, resource=resources.read("m.obj", assets={"m.obj": data}), **options)


def same(a, b) -> bool:
    first, second = pack_meshes([a]), pack_meshes([b])
    scalars = (a.volume, a.shell, a.name) == (b.volume, b.shell, b.name) and (a.boxsz == b.boxsz).all()
    return scalars and all((first[key] == second[key]).all() and first[key].dtype == second[key].dtype for key in first)


def test_second_time_comes_from_disk_and_is_the_same(cache, counted):
    first = asset()
    mesh_module._recent.clear()
    second = asset()
    assert counted == ["m"] and len(list(cache.iterdir())) == 1
    assert same(first, second) and type(second.volume) is float and type(second.shell) is bool


def test_the_same_process_does_not_even_look_at_the_disk(cache, counted, monkeypatch):
    first = asset()
    monkeypatch.setattr(mesh_cache, "load", lambda key: pytest.fail("the disk was asked"))
    second = asset(name="other")
    assert counted == ["m"] and second.name == "other" and (first.vert == second.vert).all()


def test_shared_arrays_cannot_be_changed(cache):
    for mesh in (asset(), asset()):
        with pytest.raises(ValueError, match="read-only"):
            mesh.vert[0] = 1
    assert pack_meshes([asset()])["mesh_vert"].flags.writeable  # packed ones are the caller's own


def test_memory_is_bounded():
    recent = mesh_cache.Recent(limit=10)
    for key in "abc":
        recent.put(key, key, 4)
    assert recent.get("a") is None and recent.get("b") == "b" and recent.get("c") == "c"
    recent.put("huge", "huge", 11)
    assert recent.get("huge") is None and recent.get("c") is None


def test_the_key_covers_content_and_parameters(cache, counted):
    asset()
    asset(name="other")  # the name is not part of it
    assert len(counted) == 1
    variants = [
        dict(data=OBJ.replace(b"3\n", b"4\n", 1)),
        dict(scale=(1, 1, 2)),
        dict(refpos=(0, 0, 1)),
        dict(refquat=(0, 1, 0, 0)),
        dict(inertia="shell"),
        dict(smoothnormal=True),
        dict(maxhullvert=4),
        dict(needhull=False),
        dict(texcoord=[0, 0, 1, 0, 0, 1, 1, 1]),
    ]
    for variant in variants:
        asset(**variant)
    assert len(counted) == 1 + len(variants)


@pytest.mark.parametrize("damage", [b"", b"not json\n", b'{"format": "kinema-arrays"}\n', None])
def test_damaged_entries_are_made_again(cache, counted, damage):
    first = asset()
    (entry,) = cache.iterdir()
    data = entry.read_bytes()
    middle = len(data) // 2
    entry.write_bytes(data[:middle] + b"wrong" + data[middle + 5 :] if damage is None else damage)
    mesh_module._recent.clear()
    assert same(first, asset()) and len(counted) == 2
    mesh_module._recent.clear()
    asset()
    assert len(counted) == 2  # and stored again


def test_no_cache_where_the_folder_cannot_be_made(tmp_path, monkeypatch, counted):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("KINEMA_CACHE_DIR", str(tmp_path / "file"))
    first = asset()
    mesh_module._recent.clear()
    assert same(first, asset()) and len(counted) == 2


def test_empty_variable_turns_it_off(monkeypatch, counted):
    monkeypatch.setenv("KINEMA_CACHE_DIR", "")
    assert mesh_cache.folder() is None
    asset(), asset()
    assert len(counted) == 2


def test_default_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("KINEMA_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert mesh_cache.folder() == tmp_path / ".cache" / "kinema" / "mesh"


def test_nothing_is_left_behind_when_writing_fails(cache, monkeypatch):
    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", broken)
    assert not mesh_cache.store("key", {"a": np.arange(3)})
    assert list(cache.iterdir()) == []


def test_arrays_keep_dtype_and_shape(cache):
    arrays = {"a": np.arange(6, dtype=np.int32).reshape(2, 3), "b": np.float64(3.5), "c": np.zeros((0, 3), np.float32)}
    assert mesh_cache.store("key", arrays)
    loaded = mesh_cache.load("key")
    for name, array in arrays.items():
        expected = np.asarray(array)
        assert loaded[name].dtype == expected.dtype and loaded[name].shape == expected.shape
        assert (loaded[name] == expected).all()


def test_forty_meshes_in_three_times_mujocos_time(cache, record_property):
    """A robot's worth of meshes. MuJoCo keeps its own cache in memory: it is measured with files it has not seen."""
    paths = [path for path in public_files(".stl", ".obj", ".msh") if 20_000 < path.stat().st_size < 600_000][::9][:40]
    if len(paths) < 20:
        pytest.skip("too few public meshes on this machine")
    files = [(f"{i}_{path.name}", path.read_bytes()) for i, path in enumerate(paths)]
    xml = "<mujoco><asset>" + "".join(f'<mesh name="m{i}" file="{name}"/>' for i, (name, _) in enumerate(files))
    xml += "</asset><worldbody>" + "".join(f'<geom type="mesh" mesh="m{i}"/>' for i in range(len(files)))
    xml += "</worldbody></mujoco>"

    def ours():
        start = time.perf_counter()
        assets = dict(files)
        meshes = [mesh_asset(name, resource=resources.read(name, assets=assets)) for name, _ in files]
        pack_meshes(meshes)
        return time.perf_counter() - start

    start = time.perf_counter()
    mujoco.MjModel.from_xml_string(xml, dict(files))
    reference = time.perf_counter() - start
    cold, warm = ours(), min(ours() for _ in range(3))
    for name, value in (("mujoco", reference), ("cold", cold), ("warm", warm)):
        record_property(name, value)
    print(f"\n{len(files)} meshes: MuJoCo {reference:.3f} s, first time {cold:.3f} s, from the cache {warm:.3f} s")
    assert warm <= 3 * reference
