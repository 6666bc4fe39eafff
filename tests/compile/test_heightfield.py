"""Height fields against MuJoCo: images, the binary format, numbers in the document; and what both refuse."""

import struct
import zlib

import mujoco
import numpy as np
import pytest

from kinema import resources
from kinema.compile.heightfield import compile_hfield, hfield_aabb, hfield_rbound, pack_hfields
from kinema.errors import CompileError, ResourceError
from tests.compile.mesh_oracle import public_files
from tests.compile.oracle import agree, both_refuse

SIZE = (2.0, 3.0, 0.5, 0.1)


def png(samples: np.ndarray, *, color: int = 0, depth: int = 8) -> bytes:
    """A PNG file of (height, width * channels) samples, unfiltered."""
    height = len(samples)
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[color]
    body = samples.astype(">u2" if depth == 16 else "u1")
    lines = b"".join(b"\0" + line.tobytes() for line in body)

    def chunk(tag: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + tag + data + struct.pack(">I", zlib.crc32(tag + data))

    head = struct.pack(">IIBBBBB", samples.shape[1] // channels, height, depth, color, 0, 0, 0)
    signature = b"\x89PNG\r\n\x1a\n"
    return signature + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def reference(attributes: str, assets: dict[str, bytes] | None = None) -> mujoco.MjModel:
    xml = (
        f'<mujoco><asset><hfield name="h" size="{" ".join(map(str, SIZE))}" {attributes}/></asset>'
        '<worldbody><geom type="hfield" hfield="h"/></worldbody></mujoco>'
    )
    return mujoco.MjModel.from_xml_string(xml, assets or {})


def check(field, model: mujoco.MjModel) -> None:
    ours = pack_hfields([field])
    for name in (name for name in dir(model) if name.startswith("hfield_") and name != "hfield_pathadr"):
        assert (ours[name] == getattr(model, name)).all(), name
        assert ours[name].shape == getattr(model, name).shape
    assert hfield_aabb(field) == pytest.approx(model.geom_aabb[0])
    assert hfield_rbound(field) == pytest.approx(model.geom_rbound[0])


@pytest.mark.parametrize(("color", "depth"), [(0, 8), (0, 16), (2, 8), (6, 8), (4, 8)])
def test_png(color, depth):
    rng = np.random.default_rng(1)
    width = 7 * {0: 1, 2: 3, 4: 2, 6: 4}[color]
    data = png(rng.integers(0, 1 << depth, (5, width)), color=color, depth=depth)
    field = compile_hfield("h", size=SIZE, resource=resources.read("h.png", assets={"h.png": data}))
    assert field.data.shape == (5, 7)
    check(field, reference('file="h.png"', {"h.png": data}))


@pytest.mark.parametrize("name", ["h.bin", "h.hf", "h"])
def test_custom_binary(name):
    values = np.random.default_rng(2).normal(size=(4, 6)).astype("<f4")
    data = struct.pack("<ii", 4, 6) + values.tobytes()
    field = compile_hfield("h", size=SIZE, resource=resources.read(name, assets={name: data}))
    check(field, reference(f'file="{name}"', {name: data}))


def test_numbers():
    values = np.random.default_rng(3).uniform(-2, 5, 12).round(3)
    field = compile_hfield("h", size=SIZE, nrow=3, ncol=4, elevation=values)
    check(field, reference(f'nrow="3" ncol="4" elevation="{" ".join(map(str, values))}"'))


def test_flat_and_empty():
    check(compile_hfield("h", size=SIZE, nrow=3, ncol=4), reference('nrow="3" ncol="4"'))
    flat = [1.5] * 6
    field = compile_hfield("h", size=SIZE, nrow=2, ncol=3, elevation=flat)
    check(field, reference(f'nrow="2" ncol="3" elevation="{" ".join(map(str, flat))}"'))


def test_public_image():
    paths = [path for path in public_files(".png") if "hfield" in path.name.lower() or "terrain" in path.name.lower()]
    for path in paths[:3]:
        data = path.read_bytes()
        field = compile_hfield("h", size=SIZE, resource=resources.read(path))
        check(field, reference(f'file="{path.name}"', {path.name: data}))


def test_several_and_none():
    fields = [compile_hfield("a", size=SIZE, nrow=2, ncol=3), compile_hfield("b", size=SIZE, nrow=4, ncol=5)]
    arrays = pack_hfields(fields)
    assert arrays["hfield_adr"].tolist() == [0, 6] and len(arrays["hfield_data"]) == 26
    empty = pack_hfields([])
    assert empty["hfield_size"].shape == (0, 4) and len(empty["hfield_data"]) == 0


BAD = [
    (dict(nrow=2, ncol=2, elevation=[1, 2, 3]), 'nrow="2" ncol="2" elevation="1 2 3"', "must match nrow"),
    (dict(nrow=1, ncol=4), 'nrow="1" ncol="4"', "at least 2"),
    (dict(nrow=0, ncol=0), "", "not specified"),
]


@pytest.mark.parametrize(("options", "attributes", "message"), BAD)
def test_bad_numbers_are_refused_by_both(options, attributes, message):
    with pytest.raises(ValueError):
        reference(attributes)
    with pytest.raises(CompileError, match=message):
        compile_hfield("h", size=SIZE, **options)


BAD_FILES = [
    (b"\0\0\0", "missing header"),
    (struct.pack("<ii", 0, 3), "non-positive"),
    (struct.pack("<ii", 2, 2) + b"\0" * 8, "unexpected file size"),
]


@pytest.mark.parametrize(("data", "message"), BAD_FILES)
def test_bad_files_are_refused_by_both(data, message):
    with pytest.raises(ValueError):
        reference('file="h.bin"', {"h.bin": data})
    with pytest.raises(ResourceError, match=message):
        compile_hfield("h", size=SIZE, resource=resources.read("h.bin", assets={"h.bin": data}))


def test_bad_size_and_type():
    resource = resources.read("h.bin", assets={"h.bin": struct.pack("<ii4f", 2, 2, 1, 2, 3, 4)})
    with pytest.raises(CompileError, match="size parameter is not positive"):
        compile_hfield("h", size=(1, 1, 0, 1), resource=resource)
    with pytest.raises(CompileError, match="unsupported content type: 'image/jpeg'"):
        compile_hfield("h", size=SIZE, resource=resource, content_type="image/jpeg")


@pytest.mark.parametrize("numbers", ['nrow="3" ncol="2"', 'nrow="2" ncol="2" elevation="1 2 3 4"', 'elevation="1 2"'])
def test_a_file_wins_over_numbers(numbers):
    xml = f'<mujoco><asset><hfield name="h" file="a.png" size="1 1 1 1" {numbers}/></asset></mujoco>'
    agree(xml, {"a.png": png(np.arange(12).reshape(3, 4), color=0)})


def test_a_file_without_a_name():
    both_refuse(
        '<mujoco><asset><hfield name="h" file="" nrow="2" ncol="2" size="1 1 1 1"/></asset></mujoco>', "not specified"
    )
