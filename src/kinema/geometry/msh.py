"""MuJoCo's own binary mesh format, little-endian:

    int32 nvertex, nnormal, ntexcoord, nface
    float vertex[3 nvertex], normal[3 nnormal], texcoord[2 ntexcoord]
    int32 face[3 nface]

Normals and texture coordinates are absent or one per vertex; without faces the convex hull is used.
"""

from __future__ import annotations

import numpy as np

from kinema.errors import ResourceError
from kinema.geometry.binary import read_sizes
from kinema.geometry.mesh import MeshData
from kinema.resources import Resource


def decode(resource: Resource) -> MeshData:
    """The mesh of an MSH file."""
    data, name = resource.data, resource.name
    nvert, nnormal, ntexcoord, nface = read_sizes(resource, "MSH", 4)
    if nvert < 4 or nface < 0 or nnormal not in (0, nvert) or ntexcoord not in (0, nvert):
        raise ResourceError(
            f"invalid sizes in MSH file {name!r}: {nvert} vertices (at least 4), {nnormal} normals and {ntexcoord} "
            f"texture coordinates (0 or as many as vertices), {nface} faces"
        )
    expected = 16 + 12 * (nvert + nnormal + nface) + 8 * ntexcoord
    if len(data) != expected:
        raise ResourceError(f"unexpected file size in MSH file {name!r}: {len(data)} bytes, expected {expected}")
    counts = (3 * nvert, 3 * nnormal, 2 * ntexcoord)
    offsets = 16 + 4 * np.cumsum((0, *counts))
    vert, normal, texcoord = (
        np.frombuffer(data, "<f4", n, o).astype(np.float32) for n, o in zip(counts, offsets[:3], strict=True)
    )
    face = np.frombuffer(data, "<i4", 3 * nface, offsets[3]).astype(np.int32).reshape(-1, 3)
    return MeshData(
        vert=vert.reshape(-1, 3),
        face=face,
        normal=normal.reshape(-1, 3),
        texcoord=texcoord.reshape(-1, 2),
        facenormal=face.copy() if nnormal else face[:0],
        facetexcoord=face.copy() if ntexcoord else face[:0],
        media_type="model/vnd.mujoco.msh",
    )
