"""MuJoCo's binary skin format, little-endian:

int32 nvertex, ntexcoord, nface, nbone
float vertex[3 nvertex], texcoord[2 ntexcoord];  int32 face[3 nface]
for each bone: char body[40]; float bindpos[3], bindquat[4]; int32 n, vertid[n]; float vertweight[n]
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kinema.errors import ResourceError
from kinema.geometry.binary import read_sizes
from kinema.geometry.mesh import Float32, Int32
from kinema.resources import Resource


@dataclass
class Bone:
    """A body that carries part of a skin."""

    body: str
    bindpos: Float32
    bindquat: Float32
    vertid: Int32
    vertweight: Float32


@dataclass
class SkinData:
    """A skin as files and documents give it; texture coordinates may be empty."""

    vert: Float32
    face: Int32
    texcoord: Float32
    bones: list[Bone] = field(default_factory=list)


def decode(resource: Resource) -> SkinData:
    """The skin of an SKN file."""
    data, name = resource.data, resource.name
    nvert, ntexcoord, nface, nbone = read_sizes(resource, "SKN", 4)
    if min(nvert, ntexcoord, nface, nbone) < 0:
        raise ResourceError(f"negative size in header of SKN file {name!r}: {(nvert, ntexcoord, nface, nbone)}")
    if len(data) < 16 + 12 * nvert + 8 * ntexcoord + 12 * nface + 72 * nbone:
        raise ResourceError(f"insufficient data in SKN file {name!r}: {len(data)} bytes")
    offset = 16

    def take(dtype: str, count: int) -> np.ndarray:
        nonlocal offset
        values = np.frombuffer(data, dtype, count, offset)
        offset += values.nbytes
        return values.copy()

    skin = SkinData(
        vert=take("<f4", 3 * nvert).reshape(-1, 3),
        texcoord=take("<f4", 2 * ntexcoord).reshape(-1, 2),
        face=take("<i4", 3 * nface).reshape(-1, 3),
    )
    for index in range(nbone):
        if len(data) - offset < 72:
            raise ResourceError(f"insufficient data in SKN file {name!r}, bone {index}")
        body = data[offset : offset + 39].split(b"\0")[0].decode("utf-8", errors="replace")
        offset += 40
        bindpos, bindquat = take("<f4", 3), take("<f4", 4)
        count = int(take("<i4", 1)[0])
        if count < 1:
            raise ResourceError(f"vertex count must be positive in SKN file {name!r}, bone {index} has {count}")
        if len(data) - offset < 8 * count:
            raise ResourceError(f"insufficient vertex data in SKN file {name!r}, bone {index}")
        skin.bones.append(Bone(body, bindpos, bindquat, take("<i4", count), take("<f4", count)))
    if offset != len(data):
        raise ResourceError(f"unexpected file size in SKN file {name!r}: {len(data)} bytes, {offset} used")
    return skin
