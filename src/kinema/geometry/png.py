"""PNG images (ISO/IEC 15948) to arrays of 8-bit samples.

All colour types, depths and interlacing are read. What comes out has 1, 3 or 4 channels as asked: 16-bit samples keep
their high byte, smaller ones are stretched to 0..255, grey spreads to red, green and blue, colour asked for as grey
keeps its red, and missing alpha is opaque.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinema.errors import ResourceError
from kinema.geometry.png_filter import unfiltered
from kinema.resources import Resource

Bytes = NDArray[np.uint8]
SIGNATURE = b"\x89PNG\r\n\x1a\n"
MAX_PIXELS = 1 << 28
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # by colour type: grey, rgb, palette, grey + alpha, rgba
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_ADAM7 = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))


@dataclass(frozen=True)
class Png:
    """A decoded image.

    Attributes:
        rgba: (height, width, 4) samples; grey images have equal colours.
        srgb: Whether the file says its colours are sRGB.
    """

    rgba: Bytes
    srgb: bool

    def channels(self, count: int) -> Bytes:
        """(height, width, count) samples for 1, 3 or 4 channels."""
        return np.ascontiguousarray(self.rgba[:, :, :count])


def decode(resource: Resource) -> Png:
    """The image of a PNG file."""
    try:
        return _decode(resource.data)
    except (ValueError, struct.error, zlib.error) as error:
        raise ResourceError(f"error decoding PNG file {resource.name!r}: {error}") from None


def _decode(data: bytes) -> Png:
    if not data:
        raise ValueError("the file is empty")
    if not data.startswith(SIGNATURE):
        raise ValueError("it does not start with the PNG signature")
    chunks = _chunks(data)
    if not chunks or chunks[0][0] != b"IHDR":
        raise ValueError("the header chunk is missing")
    width, height, depth, color, compression, filtering, interlace = struct.unpack(">IIBBBBB", chunks[0][1])
    if width == 0 or height == 0 or width * height > MAX_PIXELS:
        raise ValueError(f"dimensions {width} x {height} are invalid or too large")
    if color not in _CHANNELS or depth not in _DEPTHS[color] or compression or filtering or interlace > 1:
        raise ValueError(f"colour type {color} with {depth} bits, or its compression or interlacing, is not PNG's")
    by_tag = dict(reversed(chunks))  # the first of each kind
    samples = _samples(b"".join(body for tag, body in chunks if tag == b"IDAT"), width, height, depth, color, interlace)
    rgba = _colors(samples, depth, color, by_tag.get(b"PLTE"), by_tag.get(b"tRNS"))
    return Png(rgba, b"sRGB" in by_tag)


def _chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    """Tags and bodies up to the end chunk, with checksums of what matters verified."""
    result: list[tuple[bytes, bytes]] = []
    offset = len(SIGNATURE)
    while offset + 12 <= len(data):
        length, tag = struct.unpack_from(">I4s", data, offset)
        end = offset + 8 + length
        if end + 4 > len(data):
            raise ValueError(f"the chunk {tag!r} is cut off")
        if zlib.crc32(data[offset + 4 : end]) != struct.unpack_from(">I", data, end)[0]:
            raise ValueError(f"the chunk {tag!r} has a wrong checksum")
        if tag == b"IEND":
            return result
        result.append((tag, data[offset + 8 : end]))
        offset = end + 4
    raise ValueError("the end chunk is missing")


def _samples(packed: bytes, width: int, height: int, depth: int, color: int, interlace: int) -> NDArray[np.uint16]:
    """(height, width, channels) samples of ``depth`` bits."""
    channels = _CHANNELS[color]
    passes = _ADAM7 if interlace else ((0, 0, 1, 1),)
    sizes = [(-(-(height - y) // dy), -(-(width - x) // dx)) for y, x, dy, dx in passes]
    line_bytes = [(columns * channels * depth + 7) // 8 for _, columns in sizes]
    total = sum(rows * (1 + line) for (rows, columns), line in zip(sizes, line_bytes, strict=True) if columns)
    raw = zlib.decompressobj().decompress(packed, total)
    if len(raw) < total:
        raise ValueError(f"{len(raw)} bytes of pixels where {total} are needed")
    result = np.zeros((height, width, channels), np.uint16)
    offset = 0
    for (y, x, dy, dx), (rows, columns), line in zip(passes, sizes, line_bytes, strict=True):
        if rows <= 0 or columns <= 0:
            continue
        lines = np.frombuffer(raw, np.uint8, rows * (1 + line), offset).reshape(rows, 1 + line)
        offset += lines.size
        restored = unfiltered(lines[:, 0], lines[:, 1:], max(1, channels * depth // 8))
        result[y::dy, x::dx] = _unpacked(restored, columns * channels, depth).reshape(rows, columns, channels)
    return result


def _unpacked(line: Bytes, count: int, depth: int) -> NDArray[np.uint16]:
    """The first ``count`` samples of each line."""
    if depth == 8:
        return line[:, :count].astype(np.uint16)
    if depth == 16:
        return line.reshape(len(line), -1, 2)[:, :count].astype(np.uint16) @ np.array([256, 1], np.uint16)
    bits = np.unpackbits(line, axis=1).reshape(len(line), -1, depth)
    return (bits[:, :count] @ (1 << np.arange(depth)[::-1])).astype(np.uint16)


# ---- colours


def _colors(samples: NDArray[np.uint16], depth: int, color: int, palette: bytes | None, clear: bytes | None) -> Bytes:
    """(height, width, 4) 8-bit colours of samples."""
    height, width, channels = samples.shape
    if color == 3:
        return _from_palette(samples[:, :, 0], palette, clear)
    if depth == 16:
        eight = (samples >> 8).astype(np.uint8)
    else:
        eight = (samples * (255 // ((1 << depth) - 1))).astype(np.uint8)
    rgba = np.full((height, width, 4), 255, np.uint8)
    rgba[:, :, :3] = eight[:, :, :3] if channels >= 3 else eight[:, :, :1]
    if channels in (2, 4):
        rgba[:, :, 3] = eight[:, :, -1]
    elif clear is not None:
        key = np.frombuffer(clear, ">u2")
        rgba[(samples == key[:channels]).all(axis=2), 3] = 0
    return rgba


def _from_palette(index: NDArray[np.uint16], palette: bytes | None, clear: bytes | None) -> Bytes:
    if palette is None or len(palette) % 3:
        raise ValueError("the palette is missing or damaged")
    colors = np.full((256, 4), 255, np.uint8)
    entries = np.frombuffer(palette, np.uint8).reshape(-1, 3)[:256]
    colors[:, :3] = 0
    colors[: len(entries), :3] = entries
    if clear is not None:
        alpha = np.frombuffer(clear, np.uint8)[:256]
        colors[: len(alpha), 3] = alpha
    return colors[index]
