"""The registry: MuJoCo's rules for prefixes, registration and the order of callbacks."""

import pytest

from kinema import resources
from kinema.errors import ResourceError


class Recorder:
    """A provider that logs its calls and serves one dictionary."""

    def __init__(self, files, *, with_modified=True):
        self.files, self.log = dict(files), []
        self.with_modified = with_modified

    def callbacks(self):
        calls = dict(open=self.open, read=self.read, close=self.close)
        return calls | ({"modified": self.modified} if self.with_modified else {})

    def open(self, resource):
        self.log.append("open")
        name = resource.name.partition(":")[2]
        if name not in self.files:
            return False
        resource.data, resource.timestamp = self.files[name], str(hash(self.files[name]))
        return True

    def read(self, resource):
        self.log.append("read")
        return resource.data

    def close(self, resource):
        self.log.append("close")
        resource.data = None

    def modified(self, resource, timestamp):
        self.log.append("modified")
        return resource.timestamp != timestamp


@pytest.fixture
def register():
    """Register a provider for one test."""
    done = []

    def add(prefix, **callbacks):
        found = resources.register_provider(prefix, **callbacks)
        done.append(prefix)
        return found

    yield add
    for prefix in dict.fromkeys(p.lower() for p in done):
        resources.unregister_provider(prefix)
    resources.clear_cache()


def test_callbacks_run_in_mujocos_order_and_unchanged_is_not_read_twice(register):
    source = Recorder({"a.obj": b"one"})
    register("rec", **source.callbacks())
    assert resources.read("rec:a.obj").data == b"one"
    assert source.log == ["open", "read", "close"]
    source.log.clear()
    assert resources.read("rec:a.obj").data == b"one"
    assert source.log == ["open", "modified", "close"]
    source.files["a.obj"] = b"two"
    source.log.clear()
    assert resources.read("rec:a.obj").data == b"two"
    assert source.log == ["open", "modified", "read", "close"]


def test_without_modified_every_read_goes_to_the_source(register):
    source = Recorder({"a.obj": b"one"}, with_modified=False)
    register("rec", **source.callbacks())
    resources.read("rec:a.obj")
    resources.read("rec:a.obj")
    assert source.log == ["open", "read", "close"] * 2


def test_failed_open_is_an_error_and_close_is_not_called(register):
    source = Recorder({})
    register("rec", **source.callbacks())
    with pytest.raises(ResourceError, match="cannot open 'rec:missing'.*'rec' has no such resource"):
        resources.read("rec:missing")
    assert source.log == ["open"]


def test_failed_read_is_an_error_and_close_is_called(register):
    closed = []
    register("bad", open=lambda r: True, read=lambda r: None, close=lambda r: closed.append(r.name))
    with pytest.raises(ResourceError, match="cannot read 'bad:x'"):
        resources.read("bad:x")
    assert closed == ["bad:x"]


def test_scheme_is_case_insensitive_and_exact(register):
    source = Recorder({"a.obj": b"one"})
    register("Rec", **source.callbacks())
    assert resources.read("REC:a.obj").data == b"one"
    assert resources.find_provider("recs:a.obj") is None
    assert resources.find_provider("re:a.obj") is None
    with pytest.raises(ResourceError, match="no such file"):
        resources.read("recs:a.obj")


@pytest.mark.parametrize("prefix", ["", "1a", "a b", "a:", "a/b", "-x", "ä"])
def test_bad_prefix(prefix):
    with pytest.raises(ResourceError, match="not a URI scheme"):
        resources.register_provider(prefix, open=bool, read=bytes, close=print)


@pytest.mark.parametrize("prefix", ["a", "A1", "a+b.c-d"])
def test_good_prefix(prefix, register):
    register(prefix, open=bool, read=bytes, close=print)
    assert resources.find_provider(f"{prefix.upper()}:x").prefix == prefix


def test_missing_callback():
    with pytest.raises(ResourceError, match="callable 'read'"):
        resources.register_provider("nope", open=bool, read=None, close=print)
    with pytest.raises(ResourceError, match="no method 'close'"):

        @resources.provider("nope")
        class Half:
            def open(self, resource): ...

            def read(self, resource): ...


def test_registering_again(register):
    source, other = Recorder({}), Recorder({})
    first = register("rec", **source.callbacks())
    assert register("REC", **source.callbacks()) is first
    with pytest.raises(ResourceError, match="already registered"):
        resources.register_provider("rec", **other.callbacks())
    with pytest.raises(ResourceError, match="already registered"):
        resources.register_provider("rec", data=object(), **source.callbacks())


def test_decorated_class_and_provider_data():
    class Shelf:
        def open(self, resource):
            resource.data = resource.provider.data.get(resource.name)
            return resource.data is not None

        def read(self, resource):
            return resource.data

        def close(self, resource):
            resource.data = None

        def getdir(self, name):
            return "shelf:root/"

    store = {"shelf:x": b"book", "shelf:root/y": b"leaf"}
    decorate = resources.provider("shelf", data=store)
    try:
        assert decorate(Shelf) is Shelf
        decorate(Shelf)  # the same again: nothing
        assert resources.read("shelf:x").data == b"book"
        assert resources.read("y", relative_to="shelf:deep/er/x").data == b"leaf"
    finally:
        resources.unregister_provider("shelf")


def test_unregister_unknown():
    with pytest.raises(ResourceError, match="no resource provider"):
        resources.unregister_provider("never")


def test_mujoco_agrees_on_scheme_syntax():
    """MuJoCo takes an unserved scheme for an ordinary file name: so do we."""
    mujoco = pytest.importorskip("mujoco")
    xml = '<mujoco><asset><mesh name="m" file="nobody:a.obj"/></asset></mujoco>'
    with pytest.raises(ValueError, match="Error opening file"):
        mujoco.MjModel.from_xml_string(xml)
    with pytest.raises(ResourceError, match="no such file.*no provider is registered for the scheme 'nobody'"):
        resources.read("nobody:a.obj")
