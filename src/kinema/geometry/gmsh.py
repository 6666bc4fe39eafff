"""GMSH meshes, format 2.2 and 4.1, text and binary: points, and triangles or tetrahedra over them.

    2.2   $Nodes     number, then tag x y z each
          $Elements  number, then tag type ntags tags... points... each; binary: type, how many follow, ntags before
    4.1   $Nodes     blocks, nodes, least and greatest tag; then one block: dim tag parametric number, tags, coordinates
          $Elements  the same; then one block: dim tag type number, then tag points... each

As in MuJoCo all nodes and all elements of a 4.1 file are in one block, tags follow each other, and all elements have
one type: 1 a segment (4.1 only), 2 a triangle, 4 a tetrahedron. Of binary 2.2 files two kinds are about: a header a
element with two tags (Gmsh), and one header for all without any (fTetWild).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from kinema.errors import ResourceError
from kinema.geometry.mesh import Float64, Int32, MeshData
from kinema.resources import Resource

DIMS = {1: 1, 2: 2, 4: 3}
"""Dimension of the types of elements that are read."""
MOST = 2**31 // 4
_SIDES = np.array([[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]])
"""Sides of a tetrahedron of positive volume, looking outwards."""


@dataclass(frozen=True)
class GmshMesh:
    """Points (n, 3) and elements (m, dim + 1)."""

    dim: int
    point: Float64
    element: Int32


class _Broken(ValueError):
    """What is wrong, without the file's name."""


def is_gmsh(data: bytes) -> bool:
    return data.startswith(b"$MeshFormat")


def decode(resource: Resource) -> MeshData:
    """The surface of a GMSH file, as a mesh."""
    mesh = read_gmsh(resource)
    if mesh.dim == 1:
        raise ResourceError(f"GMSH file {resource.name!r}: it holds segments, which are not a surface")
    face = mesh.element if mesh.dim == 2 else _surface(mesh)
    return MeshData(mesh.point.astype(np.float32), face, media_type="model/vnd.gmsh")


def _surface(mesh: GmshMesh) -> Int32:
    """Sides that one tetrahedron alone has, looking outwards, in the order of the tetrahedra."""
    x = mesh.point[mesh.element]
    inward = (np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 0])).sum(axis=1) < 0
    element = np.where(inward[:, None], mesh.element[:, [0, 2, 1, 3]], mesh.element)
    side = element[:, _SIDES].reshape(-1, 3)
    _, inverse, count = np.unique(np.sort(side, axis=1), axis=0, return_inverse=True, return_counts=True)
    return side[count[inverse.reshape(-1)] == 1].astype(np.int32)


def read_gmsh(resource: Resource) -> GmshMesh:
    """The mesh of a GMSH file."""
    try:
        return _read(resource.data)
    except _Broken as error:
        raise ResourceError(f"GMSH file {resource.name!r}: {error}") from None


def _read(data: bytes) -> GmshMesh:
    if not data:
        raise _Broken("it is empty")
    if not is_gmsh(data):
        raise _Broken("it must begin with $MeshFormat")
    head = re.match(rb"\s*(\S+)\s+(\d+)", data[11:200])
    try:
        version, binary = round(100 * float(head[1])), int(head[2]) != 0  # type: ignore[index]
    except (TypeError, ValueError):
        raise _Broken("its header does not say version and mode") from None
    if version not in (220, 410):
        raise _Broken("only versions 2.2 and 4.1 are read")
    nodes, elements = _section(data, b"Nodes"), _section(data, b"Elements")
    if version == 410:
        mesh = _binary41(nodes, elements) if binary else _text41(nodes.split(), elements.split())
    else:
        mesh = _binary22(nodes, elements) if binary else _text22(nodes, elements)
    if not len(mesh.point):
        raise _Broken("it has no nodes")
    outside = (mesh.element < 0) | (mesh.element >= len(mesh.point))
    if outside.any():
        raise _Broken(f"element {int(np.argwhere(outside)[0][0])} has a node that is not there")
    return mesh


def _section(data: bytes, name: bytes) -> bytes:
    """What stands between $Name and $EndName, the line's end left out."""
    start, end = data.find(b"$" + name), data.find(b"$End" + name)
    if start < 0:
        raise _Broken(f"it has no ${name.decode()}")
    start += len(name) + 2
    if end < start:
        raise _Broken(f"$End{name.decode()} is missing after ${name.decode()}")
    return data[start:end]


def _numbers(words: list[bytes], dtype: type, what: str) -> np.ndarray:
    try:
        return np.array([dtype(word) for word in words])
    except ValueError:
        raise _Broken(f"{what} cannot be read") from None


def _shape(dim: int, kind: int) -> None:
    if dim not in (1, 2, 3):
        raise _Broken("its entity must have one, two or three dimensions")
    if DIMS.get(kind) != dim:
        raise _Broken(f"elements of type {kind} in an entity of dimension {dim}")


# ---- 4.1


def _one_block(header: np.ndarray, what: str) -> int:
    """Number of items of a section with one block."""
    blocks, total, number = int(header[0]), int(header[1]), int(header[7])
    if blocks != 1 or total != number:
        raise _Broken(f"all {what} must be in a single block")
    if not 0 <= total < MOST:
        raise _Broken(f"it has {total} {what}")
    return total


def _check_tags(tags: np.ndarray, first: int) -> None:
    if (tags != np.arange(first, first + len(tags))).any():
        raise _Broken("node tags must be sequential")


def _text41(nodes: list[bytes], elements: list[bytes]) -> GmshMesh:
    if len(nodes) < 8 or len(elements) < 8:
        raise _Broken("the header of $Nodes or $Elements is incomplete")
    head = _numbers(nodes[:8], int, "the header of $Nodes")
    number = _one_block(head, "nodes")
    if head[3] != number:
        raise _Broken("the greatest node tag must be the number of nodes")
    dim, first = int(head[4]), int(head[2])
    _check_tags(_numbers(nodes[8 : 8 + number], int, "a node tag"), first)
    coordinates = nodes[8 + number : 8 + 4 * number]
    if len(coordinates) != 3 * number:
        raise _Broken(f"it has {len(coordinates) // 3} of {number} nodes")
    point = _numbers(coordinates, float, "a node").reshape(-1, 3)
    head = _numbers(elements[:8], int, "the header of $Elements")
    count = _one_block(head, "elements")
    if head[4] != dim:
        raise _Broken("nodes and elements have different dimensions")
    _shape(dim, int(head[6]))
    rows = elements[8 : 8 + (dim + 2) * count]
    if len(rows) != (dim + 2) * count:
        raise _Broken(f"it has {len(rows) // (dim + 2)} of {count} elements")
    element = _numbers(rows, int, "an element").reshape(count, dim + 2)[:, 1:] - first
    return GmshMesh(dim, point, element.astype(np.int32))


_HEAD41 = np.dtype([("many", "<u8", 4), ("entity", "<i4", 3), ("number", "<u8")])


def _header41(data: bytes, what: str) -> np.ndarray:
    if len(data) < _HEAD41.itemsize:
        raise _Broken(f"the header of {what} is incomplete")
    head = np.frombuffer(data, _HEAD41, 1)[0]
    return np.array([*head["many"], *head["entity"], head["number"]], dtype=np.int64)


def _binary41(nodes: bytes, elements: bytes) -> GmshMesh:
    head = _header41(nodes, "$Nodes")
    number, first, dim = _one_block(head, "nodes"), int(head[2]), int(head[4])
    start = _HEAD41.itemsize
    if len(nodes) < start + 32 * number:
        raise _Broken(f"$Nodes is too short for {number} nodes")
    _check_tags(np.frombuffer(nodes, "<u8", number, start).astype(np.int64), first)
    point = np.frombuffer(nodes, "<f8", 3 * number, start + 8 * number).reshape(-1, 3).astype(float)
    head = _header41(elements, "$Elements")
    count = _one_block(head, "elements")
    if head[4] != dim:
        raise _Broken("nodes and elements have different dimensions")
    _shape(dim, int(head[6]))
    if len(elements) < start + 8 * (dim + 2) * count:
        raise _Broken(f"$Elements is too short for {count} elements")
    rows = np.frombuffer(elements, "<u8", (dim + 2) * count, start).astype(np.int64).reshape(count, dim + 2)
    return GmshMesh(dim, point, (rows[:, 1:] - first).astype(np.int32))


# ---- 2.2


def _count22(section: bytes, what: str) -> tuple[int, bytes]:
    """The number on the first line, and what follows it."""
    found = re.match(rb"[\r\n]*(\d+)\r?\n", section)
    if found is None:
        raise _Broken(f"invalid {what} header")
    number = int(found[1])
    if number >= MOST:
        raise _Broken(f"it has {number} {what}s")
    return number, section[found.end() :]


def _kind22(kind: int) -> int:
    if kind not in (2, 4):
        raise _Broken(f"elements of type {kind}: only 2 (triangles) and 4 (tetrahedra) are read")
    return DIMS[kind]


def _text22(nodes: bytes, elements: bytes) -> GmshMesh:
    number, rest = _count22(nodes, "node")
    words = rest.split()[: 4 * number]
    if len(words) != 4 * number:
        raise _Broken(f"it has {len(words) // 4} of {number} nodes")
    point = _numbers(words, float, "a node").reshape(number, 4)[:, 1:]
    count, rest = _count22(elements, "element")
    values = _numbers(rest.split(), int, "an element")
    if len(values) < 3:
        raise _Broken("it has no elements")
    dim = _kind22(int(values[1]))
    element, at = np.zeros((count, dim + 1), np.int32), 0
    for row in element:
        tags = 2 if at + 2 < len(values) and values[at + 2] > 0 else 0
        start = at + 3 + tags
        at = start + dim + 1
        if at > len(values):
            raise _Broken(f"it has fewer than {count} elements")
        row[:] = values[start:at]
    return GmshMesh(dim, point, _from_one(element, number))


def _from_one(element: np.ndarray, number: int) -> Int32:
    """Node tags that count from 1, as indices."""
    wrong = element[(element < 1) | (element > number)]
    if len(wrong):
        raise _Broken(f"an element has the node tag {int(wrong[0])}, but there are {number} nodes")
    return (element - 1).astype(np.int32)


def _binary22(nodes: bytes, elements: bytes) -> GmshMesh:
    number, rest = _count22(nodes, "node")
    node = np.dtype([("tag", "<i4"), ("point", "<f8", 3)])
    if len(rest) < node.itemsize * number:
        raise _Broken(f"$Nodes is too short for {number} nodes")
    point = np.frombuffer(rest, node, number)["point"].astype(float)
    count, rest = _count22(elements, "element")
    if len(rest) < 12:
        raise _Broken("the header of $Elements is incomplete")
    kind, _, tags = np.frombuffer(rest, "<i4", 3)
    dim = _kind22(int(kind))
    if tags > 0:  # a header, a tag and two more for each
        width, skip, start = 4 + 2 + dim + 1, 6, 0
    else:  # one header for all, a tag for each
        width, skip, start = 1 + dim + 1, 1, 12
    if len(rest) < start + 4 * width * count:
        raise _Broken(f"$Elements is too short for {count} elements")
    rows = np.frombuffer(rest, "<i4", width * count, start).reshape(count, width)
    return GmshMesh(dim, point, _from_one(rows[:, skip:], number))
