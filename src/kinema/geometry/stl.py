"""Binary STL: an 80-byte header, a face count, and 50 bytes a face (normal, three corners, attribute).

Corners are merged where their coordinates are the same bits; normals are ignored. Text STL is refused, as in MuJoCo.
"""

from __future__ import annotations

import numpy as np

from kinema.errors import ResourceError
from kinema.geometry.mesh import MeshData, remove_repeated_vertices
from kinema.resources import Resource

MAX_FACES = 200_000
MAX_COORDINATE = 2.0**30
_FACE = np.dtype([("normal", "<f4", 3), ("corner", "<f4", (3, 3)), ("attribute", "<u2")])


def decode(resource: Resource) -> MeshData:
    """The mesh of a binary STL file."""
    data, name = resource.data, resource.name
    if not data:
        raise ResourceError(f"STL file {name!r} is empty")
    ascii_hint = " (this is a text STL: save it as binary)" if data[:5].lower() == b"solid" else ""
    if len(data) < 84:
        raise ResourceError(f"invalid header in STL file {name!r}: {len(data)} bytes, at least 84 needed{ascii_hint}")
    nface = int(np.frombuffer(data, "<i4", 1, 80)[0])
    if not 1 <= nface <= MAX_FACES:
        raise ResourceError(
            f"number of faces should be between 1 and {MAX_FACES} in STL file {name!r}, its header says {nface}; "
            f"perhaps this is an ASCII file?{ascii_hint}"
        )
    if nface * 50 != len(data) - 84:
        raise ResourceError(
            f"STL file {name!r} has wrong size: {len(data)} bytes, but its {nface} faces need {84 + 50 * nface}; "
            f"perhaps this is an ASCII file?{ascii_hint}"
        )
    corner = np.frombuffer(data, _FACE, nface, 84)["corner"].reshape(-1, 3).astype(np.float32)
    if (np.abs(corner) > MAX_COORDINATE).any():
        raise ResourceError(f"vertex in STL file {name!r} exceeds maximum bounds (2^30)")
    vert, index = remove_repeated_vertices(corner)
    return MeshData(vert=vert, face=index.reshape(-1, 3), media_type="model/stl")
