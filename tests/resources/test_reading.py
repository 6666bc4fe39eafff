"""Resolving names, assets, foreign schemes, decoders."""

import sys

import pytest

from kinema import resources
from kinema.errors import ResourceError
from kinema.resources.uri import directory_of, scheme_of


@pytest.mark.parametrize(
    ("name", "scheme"),
    [("a:b", "a"), ("HTTP://x", "http"), ("x", None), ("a/b:c", None), ("1a:b", None), (":x", None), ("C:\\x", "c")],
)
def test_scheme(name, scheme):
    assert scheme_of(name) == scheme


@pytest.mark.parametrize(
    ("uri", "base", "full"),
    [
        ("m.obj", None, "m.obj"),
        ("m.obj", "model.xml", "m.obj"),
        ("m.obj", "dir/model.xml", "dir/m.obj"),
        ("meshes/m.obj", "dir/", "dir/meshes/m.obj"),
        ("/abs/m.obj", "dir/model.xml", "/abs/m.obj"),
        ("C:\\m.obj", "dir/model.xml", "C:\\m.obj"),
        ("m.obj", "C:\\dir\\model.xml", "C:\\dir\\m.obj"),
        ("m.obj", "memory:model.xml", "memory:m.obj"),
        ("m.obj", "memory:a/model.xml", "memory:a/m.obj"),
        ("memory:b.obj", "memory:a/model.xml", "memory:b.obj"),
        ("m.obj", "data:text/xml,<mujoco/>", "m.obj"),
        ("m.obj", "file:///a/b/model.xml", "file:///a/b/m.obj"),
    ],
)
def test_resolve(uri, base, full):
    assert resources.resolve(uri, base) == full


def test_directory_keeps_the_scheme():
    assert directory_of("memory:model.xml", scheme="memory") == "memory:"
    assert directory_of("model.xml") == ""


@pytest.mark.parametrize(
    ("name", "key"),
    [("a.obj", "a.obj"), ("d/a.obj", "a.obj"), ("d/a.obj", "d/a.obj"), ("a.obj", "x/a.obj"), ("A.obj", "a.obj")]
    + [("/nowhere/a.obj", "a.obj"), ("../a.obj", "a.obj"), ("d/./a.obj", "d/a.obj"), ("e/../d/a.obj", "d/a.obj")],
)
def test_assets_are_found_as_mujoco_finds_them(name, key):
    mujoco = pytest.importorskip("mujoco")
    data = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\n"
    xml = f'<mujoco><asset><mesh name="m" file="{name}" inertia="shell"/></asset></mujoco>'
    mujoco.MjModel.from_xml_string(xml, {key: data})
    assert resources.read(name, assets={key: data}).data == data


def test_assets_prefer_the_exact_name():
    assets = {"x/a.obj": b"x", "y/a.obj": b"y"}
    assert resources.read("a.obj", relative_to="y/model.xml", assets=assets).data == b"y"
    with pytest.raises(ResourceError):
        resources.read("b.obj", assets=assets)


def test_network_needs_permission(monkeypatch):
    with pytest.raises(ResourceError, match=r"allow_schemes\('https'\)"):
        resources.read("https://example.com/m.obj")
    with pytest.raises(ResourceError, match=r"allow_schemes\('http'\)"):
        resources.read("m.obj", relative_to="http://example.com/model.xml")
    with pytest.raises(ResourceError, match=r"allow_schemes\('https'\)"):
        resources.read("simplecache::https://example.com/m.obj")


def test_foreign_scheme_through_fsspec():
    fsspec = pytest.importorskip("fsspec")
    from fsspec.implementations.memory import MemoryFileSystem

    class Shop(MemoryFileSystem):
        protocol = "shop"
        store = {}
        pseudo_dirs = [""]

    fsspec.register_implementation("shop", Shop, clobber=True)
    with fsspec.open("shop://robots/m.obj", "wb") as file:
        file.write(b"v 1 2 3")
    with pytest.raises(ResourceError, match=r"allow_schemes\('shop'\)"):
        resources.read("shop://robots/m.obj")
    with resources.allow_schemes("shop"):
        assert resources.read("shop://robots/m.obj").data == b"v 1 2 3"
        assert resources.read("m.obj", relative_to="SHOP://robots/model.xml").extension == ".obj"
        with pytest.raises(ResourceError, match="cannot read 'shop://robots/n.obj'"):
            resources.read("shop://robots/n.obj")
    with pytest.raises(ResourceError, match="not allowed"):
        resources.read("shop://robots/m.obj")


def test_without_fsspec(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with resources.allow_schemes("https"):
        with pytest.raises(ResourceError, match="fsspec, which is not installed"):
            resources.read("https://example.com/m.obj")


def test_registered_provider_comes_before_fsspec_and_needs_no_permission():
    resources.register_provider("https", open=lambda r: True, read=lambda r: b"mine", close=lambda r: None)
    try:
        assert resources.read("https://example.com/m.obj").data == b"mine"
        assert resources.resolve("n.obj", "https://example.com/m.obj") == "https://example.com/n.obj"
    finally:
        resources.unregister_provider("https")


@pytest.fixture
def toy_decoders():
    from kinema.resources import decoder

    resources.register_decoder("toy", "A", media_types=("x/a",), extensions=(".a",), decode=lambda r: ("A", r.data))
    resources.register_decoder("toy", "B", media_types=("x/b",), extensions=(".b",), decode="json:loads")
    yield
    del decoder._decoders["toy"]


def test_decoders(toy_decoders):
    a = resources.Resource("f.a", b"1", None, ".a")
    b = resources.Resource("f.b", b"1", None, ".b")
    assert resources.decode("toy", a) == ("A", b"1")
    assert resources.decode("toy", b, content_type="X/A; q=1") == ("A", b"1")  # declared before guessed
    assert resources.find_decoder("toy", b).name == "B"
    with pytest.raises(ResourceError, match=r"no decoder found for toy 'f.c'.*A \(.a, x/a\)"):
        resources.decode("toy", resources.Resource("f.c", b"", None, ".c"))
    with pytest.raises(ResourceError, match="x/other"):
        resources.decode("toy", a, content_type="x/other")  # a declared type is final
    with pytest.raises(ResourceError, match="already read by the decoder 'A'"):
        resources.register_decoder("toy", "C", media_types=(), extensions=(".a",), decode="json:loads")
