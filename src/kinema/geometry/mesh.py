"""A triangle mesh as files and documents give it, before any processing.

Vertices, normals and texture coordinates are float32, as MuJoCo stores them; faces index vertices, and may index
normals and texture coordinates separately. An absent array is empty.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
Int32 = NDArray[np.int32]


def _floats(width: int) -> Float32:
    return np.zeros((0, width), np.float32)


def _ints() -> Int32:
    return np.zeros((0, 3), np.int32)


@dataclass
class MeshData:
    """Raw mesh arrays.

    Attributes:
        vert: (nvert, 3) positions.
        face: (nface, 3) vertex indices, counter-clockwise seen from outside.
        normal: (nnormal, 3), or empty.
        texcoord: (ntexcoord, 2), or empty.
        facenormal: (nface, 3) normal indices, or empty.
        facetexcoord: (nface, 3) texture coordinate indices, or empty.
        media_type: Format of the file it came from; empty for data written in the document.
    """

    vert: Float32 = field(default_factory=lambda: _floats(3))
    face: Int32 = field(default_factory=_ints)
    normal: Float32 = field(default_factory=lambda: _floats(3))
    texcoord: Float32 = field(default_factory=lambda: _floats(2))
    facenormal: Int32 = field(default_factory=_ints)
    facetexcoord: Int32 = field(default_factory=_ints)
    media_type: str = ""


def remove_repeated_vertices(corner: Float32) -> tuple[Float32, Int32]:
    """Distinct rows of ``corner`` in order of first appearance, and the index of each row among them.

    Rows are the same when their bits are, so 0.0 and -0.0 stay apart.
    """
    bits = np.ascontiguousarray(corner, np.float32).view(np.uint32).astype(np.uint64)
    order = np.lexsort((bits[:, 2], bits[:, 0] << np.uint64(32) | bits[:, 1]))
    ordered = bits[order]
    starts = np.ones(len(order), bool)
    starts[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    group = np.cumsum(starts) - 1
    # lexsort is stable, so the first of each run is the first occurrence
    first = order[starts]
    rank = np.empty(len(first), np.int32)
    by_appearance = np.argsort(first)
    rank[by_appearance] = np.arange(len(first), dtype=np.int32)
    index = np.empty(len(order), np.int32)
    index[order] = rank[group]
    return corner[first[by_appearance]], index
