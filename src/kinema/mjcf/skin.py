"""MuJoCo's binary skin files, as tuples and back.

A file is four counts (vertices, texture coordinates, faces, bones), then the arrays, then for each bone the name of its
body in 40 bytes, bind position, bind quaternion, and the vertices it moves with their weights. Numbers are little
endian, 4 bytes each.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kinema.errors import BadValue

MAX_BODY_NAME_LENGTH = 40


class Bone(NamedTuple):
    """`body` is a callable that gives the element, so that names are read when the skin is written."""

    body: Callable[[], Any]
    bindpos: np.ndarray
    bindquat: np.ndarray
    vertex_ids: np.ndarray
    vertex_weights: np.ndarray


class Skin(NamedTuple):
    vertices: np.ndarray
    texcoords: np.ndarray
    faces: np.ndarray
    bones: list[Bone]


class _Reader:
    def __init__(self, data: bytes):
        self.data = memoryview(data)
        self.at = 0

    def take(self, size: int) -> memoryview:
        if size < 0 or self.at + size > len(self.data):
            raise BadValue(f"skin file ends at byte {len(self.data)}, expected {size} more from byte {self.at}")
        piece = self.data[self.at : self.at + size]
        self.at += size
        return piece

    def integers(self, count: int) -> tuple[int, ...]:
        return struct.unpack(f"<{count}i", self.take(4 * count))

    def array(self, count: int, dtype: str, columns: int = 0) -> np.ndarray:
        values = np.frombuffer(self.take(4 * count * max(columns, 1)), dtype=dtype)
        return values.reshape(-1, columns) if columns else values


def parse(contents: bytes, body_getter: Callable[[str], Any]) -> Skin:
    """Read a skin file; `body_getter` turns the name of a body into its element."""
    reader = _Reader(contents)
    vertices, texcoords, faces, bones = reader.integers(4)
    return Skin(
        vertices=reader.array(vertices, "<f4", 3),
        texcoords=reader.array(texcoords, "<f4", 2),
        faces=reader.array(faces, "<i4", 3),
        bones=[_parse_bone(reader, body_getter) for _ in range(bones)],
    )


def _parse_bone(reader: _Reader, body_getter: Callable[[str], Any]) -> Bone:
    raw = bytes(reader.take(MAX_BODY_NAME_LENGTH)).partition(b"\0")[0]
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        raise BadValue(f"skin file names a body with bytes that are not UTF-8: {raw!r}") from None
    bindpos = reader.array(3, "<f4").astype(float)
    bindquat = reader.array(4, "<f4").astype(float)
    (count,) = reader.integers(1)
    return Bone(lambda: body_getter(name), bindpos, bindquat, reader.array(count, "<i4"), reader.array(count, "<f4"))


def serialize(skin: Skin) -> bytes:
    """Write a skin file with the present names of its bodies."""
    counts = (len(skin.vertices), len(skin.texcoords), len(skin.faces), len(skin.bones))
    parts = [struct.pack("<4i", *counts)]
    parts += [skin.vertices.astype("<f4").tobytes(), skin.texcoords.astype("<f4").tobytes()]
    parts.append(skin.faces.astype("<i4").tobytes())
    for bone in skin.bones:
        name = bone.body().full_identifier.encode()
        if len(name) > MAX_BODY_NAME_LENGTH:
            limit = f"(maximum {MAX_BODY_NAME_LENGTH})"
            raise BadValue(f"body name is longer than permitted by the skin file format {limit}: {name.decode()!r}")
        parts.append(name.ljust(MAX_BODY_NAME_LENGTH, b"\0"))
        parts += [bone.bindpos.astype("<f4").tobytes(), bone.bindquat.astype("<f4").tobytes()]
        parts.append(struct.pack("<i", len(bone.vertex_ids)))
        parts += [bone.vertex_ids.astype("<i4").tobytes(), bone.vertex_weights.astype("<f4").tobytes()]
    return b"".join(parts)
