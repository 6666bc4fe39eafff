"""PNG: filters, depths, colours, interlacing, damage. MuJoCo's own decoder judges whole files in tests/compile."""

import struct
import zlib

import mujoco
import numpy as np
import pytest

from kinema.errors import ResourceError
from kinema.geometry import png_filter
from kinema.geometry.png import decode
from kinema.geometry.procedural_texture import mersenne_twister_64
from kinema.resources import Resource

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def chunk(tag: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + tag + data + struct.pack(">I", zlib.crc32(tag + data))


def filtered(line: np.ndarray, above: np.ndarray, kind: int, step: int) -> np.ndarray:
    """One scan line with a filter applied, byte by byte, from the standard's text."""
    out = []
    for i, x in enumerate(line.tolist()):
        a = int(line[i - step]) if i >= step else 0
        b = int(above[i])
        c = int(above[i - step]) if i >= step else 0
        p = a + b - c
        nearest = min((abs(p - v), order, v) for order, v in enumerate((a, b, c)))[2]
        out.append((x - (0, a, b, (a + b) // 2, nearest)[kind]) % 256)
    return np.array(out, np.uint8)


def write(raw: np.ndarray, *, width: int, depth: int, color: int, kinds=None, extra: bytes = b"") -> bytes:
    """A PNG of packed scan lines (height, bytes)."""
    step = max(1, CHANNELS[color] * depth // 8)
    above, lines = np.zeros(raw.shape[1], np.uint8), b""
    for row, line in enumerate(raw):
        kind = 0 if kinds is None else int(kinds[row])
        lines += bytes([kind]) + filtered(line, above, kind, step).tobytes()
        above = line
    head = struct.pack(">IIBBBBB", width, len(raw), depth, color, 0, 0, 0)
    body = chunk(b"IHDR", head) + extra + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def rgba(data: bytes) -> np.ndarray:
    return decode(Resource("a.png", data, "image/png", ".png")).rgba


def mujoco_rgba(data: bytes) -> np.ndarray:
    xml = '<mujoco><asset><texture name="t" type="2d" file="a.png" nchannel="4"/></asset></mujoco>'
    model = mujoco.MjModel.from_xml_string(xml, {"a.png": data})
    return model.tex_data.reshape(model.tex_height[0], model.tex_width[0], 4)


@pytest.mark.parametrize("kind", [0, 1, 2, 3, 4, "mixed"])
@pytest.mark.parametrize("color", [0, 2, 4, 6])
def test_filters(kind, color):
    rng = np.random.default_rng(0)
    raw = rng.integers(0, 256, (9, 7 * CHANNELS[color])).astype(np.uint8)
    kinds = rng.integers(0, 5, 9) if kind == "mixed" else np.full(9, kind)
    data = write(raw, width=7, depth=8, color=color, kinds=kinds)
    assert (rgba(data) == mujoco_rgba(data)).all()


def test_kernel_and_diagonals_agree():
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 5, 60).astype(np.uint8)
    line = rng.integers(0, 256, (60, 40 * 3)).astype(np.uint8)
    by_diagonal = png_filter.unfiltered(kind, line, 3)
    by_kernel = line.copy()
    png_filter._restore_by_kernel(kind, by_kernel, 3)
    assert (by_kernel == by_diagonal).all()


@pytest.mark.parametrize("depth", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("clear", [False, True])
def test_grey_depths(depth, clear):
    width = 13
    raw = np.random.default_rng(2).integers(0, 256, (6, (width * depth + 7) // 8)).astype(np.uint8)
    value = 1 if depth < 16 else int(raw[0, 0]) * 256 + int(raw[0, 1])
    extra = chunk(b"tRNS", struct.pack(">H", value)) if clear else b""
    data = write(raw, width=width, depth=depth, color=0, extra=extra)
    assert (rgba(data) == mujoco_rgba(data)).all()


@pytest.mark.parametrize("depth", [1, 2, 4, 8])
def test_palettes(depth):
    rng = np.random.default_rng(3)
    width, entries = 11, 1 << depth
    raw = rng.integers(0, 256, (5, (width * depth + 7) // 8)).astype(np.uint8)
    extra = chunk(b"PLTE", rng.integers(0, 256, 3 * entries).astype(np.uint8).tobytes())
    extra += chunk(b"tRNS", rng.integers(0, 256, entries // 2).astype(np.uint8).tobytes())
    data = write(raw, width=width, depth=depth, color=3, extra=extra)
    assert (rgba(data) == mujoco_rgba(data)).all()


@pytest.mark.parametrize("color", [2, 4, 6])
def test_sixteen_bits(color):
    raw = np.random.default_rng(4).integers(0, 256, (4, 5 * 2 * CHANNELS[color])).astype(np.uint8)
    data = write(raw, width=5, depth=16, color=color)
    assert (rgba(data) == mujoco_rgba(data)).all()


@pytest.mark.parametrize("size", [(1, 1), (3, 2), (9, 13)])
def test_interlaced(size):
    height, width = size
    pixels = np.random.default_rng(5).integers(0, 256, (height, width, 3)).astype(np.uint8)
    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    lines = b""
    for y, x, dy, dx in passes:
        part = pixels[y::dy, x::dx]
        if part.size:
            lines += b"".join(b"\0" + line.tobytes() for line in part)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 1)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    assert (rgba(data)[:, :, :3] == pixels).all()
    assert (rgba(data) == mujoco_rgba(data)).all()


GOOD = write(np.zeros((2, 6), np.uint8), width=2, depth=8, color=2)
DAMAGED = [
    (b"", "empty"),
    (b"GIF89a", "signature"),
    (GOOD[:20], "cut off|missing"),
    (GOOD[:-12], "end chunk is missing"),
    (GOOD[:45] + bytes([GOOD[45] ^ 1]) + GOOD[46:], "checksum"),
    (write(np.zeros((2, 6), np.uint8), width=200, depth=8, color=2), "bytes of pixels"),
    (write(np.zeros((2, 6), np.uint8), width=0, depth=8, color=2), "dimensions"),
    (write(np.zeros((2, 6), np.uint8), width=1 << 30, depth=8, color=2), "too large"),
    (write(np.zeros((2, 6), np.uint8), width=2, depth=3, color=2), "not PNG's"),
    (write(np.zeros((2, 6), np.uint8), width=2, depth=8, color=3), "palette"),
]


@pytest.mark.parametrize(("data", "message"), DAMAGED, ids=[message for _, message in DAMAGED])
def test_damage(data, message):
    with pytest.raises(ResourceError, match=message):
        rgba(data)


def test_random_bytes_never_do_worse_than_an_error():
    rng = np.random.default_rng(6)
    good = write(rng.integers(0, 256, (9, 27)).astype(np.uint8), width=9, depth=8, color=2, kinds=rng.integers(0, 5, 9))
    refused = 0
    for _ in range(300):
        data = bytearray(good)
        for place in rng.integers(0, len(data), 3):
            data[place] = rng.integers(0, 256)
        try:
            assert rgba(bytes(data)).dtype == np.uint8
        except ResourceError:
            refused += 1
    assert refused > 100


def test_mersenne_twister():
    """The ten thousandth number of std::mt19937_64 with its default seed is fixed by the C++ standard."""
    assert int(mersenne_twister_64(5489, 10000)[-1]) == 9981545732273789042
