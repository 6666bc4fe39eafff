"""Wavefront OBJ, the part meshes use: v, vn, vt, f, and where a new object or group begins.

As MuJoCo's reader does it: all vertices of the file are kept, but only the faces of the first object or group that has
any; indices count from 1, or back from the end when negative; quads are cut along the shorter diagonal, larger polygons
by clipping ears; the second texture coordinate is turned upside down. Faces of more than a hundred corners are left
out, texture coordinates that some face lacks dropped, both with a warning. A file of lines alone gives triangles
without area.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kinema.errors import ResourceError
from kinema.geometry.mesh import Float32, MeshData
from kinema.resources import Resource

_LINES = re.compile(rb"^[ \t]*(v|vn|vt|f|l|g|o)(?:[ \t]+([^\r\n]*?))?[ \t]*\r?$", re.M)
_NEGATIVE = re.compile(rb"\nf [^\n]*-")
MOST_CORNERS = 100  # of a face that is read
Corner = tuple[int, int, int]  # vertex, texture coordinate, normal, from 0; -1 where absent


@dataclass
class _Text:
    """The lines of a file by kind, without their tags; faces and line elements of the first part that has any."""

    values: dict[bytes, list[bytes]]
    faces: list[bytes]
    counts: list[tuple[int, int, int]]  # v, vt, vn before each face with negative indices


def _sorted_lines(data: bytes) -> _Text:
    """Lines by kind, for files written plainly (tag, one space, no indentation, no negative indices)."""
    lines = data.split(b"\n")
    values = {
        tag: [line[len(tag) + 1 :] for line in lines if line.startswith(tag + b" ")] for tag in (b"v", b"vn", b"vt")
    }
    start = (b"\n" + data).find(b"\nf ")
    ends = [place for mark in (b"\ng", b"\no") if start >= 0 and (place := data.find(mark, start)) >= 0]
    part = data[: min(ends)].split(b"\n") if ends else lines
    return _Text(values, [line[2:] for line in part if line.startswith(b"f ")], [])


def _scanned_lines(data: bytes) -> _Text:
    """Lines by kind, for any file."""
    values: dict[bytes, list[bytes]] = {b"v": [], b"vn": [], b"vt": []}
    faces: list[bytes] = []
    lines: list[bytes] = []
    counts: list[tuple[int, int, int]] = []
    closed = False
    for tag, rest in _LINES.findall(data):
        if tag == b"f":
            if not closed:
                faces.append(rest)
                if b"-" in rest:
                    counts.append((len(values[b"v"]), len(values[b"vt"]), len(values[b"vn"])))
        elif tag in values:
            values[tag].append(rest)
        elif tag == b"l":
            if not closed:
                lines.append(rest)
        elif faces or lines:
            closed = True
    if not faces:
        faces = [b" ".join((a, b, b)) for line in lines for a, b in pairwise(line.split())]
    return _Text(values, faces, counts)


def _is_plain(data: bytes) -> bool:
    odd = (b"\n ", b"\n\t", b"v\t", b"vn\t", b"vt\t", b"f\t", b"\nl ", b"\r", b"\\")
    return data[:1] not in (b" ", b"\t", b"l") and not any(mark in data for mark in odd) and not _NEGATIVE.search(data)


def decode(resource: Resource) -> MeshData:
    """The mesh of an OBJ file."""
    data = resource.data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    text = _sorted_lines(data) if _is_plain(data) else _scanned_lines(data)
    values, faces, counts = text.values, text.faces, text.counts
    vert = _table(values[b"v"], 3, "v", resource.name)
    normal = _table(values[b"vn"], 3, "vn", resource.name)
    texcoord = _table(values[b"vt"], 2, "vt", resource.name)
    try:
        corners = _uniform_faces(faces, vert) if not counts else None
        if corners is None:
            corners = _general_faces(faces, counts, vert, resource.name)
    except (ValueError, OverflowError) as error:
        raise ResourceError(f"could not parse OBJ file {resource.name!r}: bad face ({error})") from None
    texcoord[:, 1] = 1 - texcoord[:, 1]
    face = corners[:, :, 0]
    if len(texcoord) and ((corners[:, :, 1] < 0) | (corners[:, :, 1] >= len(texcoord))).any():
        warnings.warn(
            f"invalid or missing face texture coordinate in {resource.name!r}; discarding texture coordinates",
            stacklevel=2,
        )
        texcoord = texcoord[:0]
    return MeshData(
        vert=vert,
        face=np.ascontiguousarray(face),
        normal=normal,
        texcoord=texcoord,
        facenormal=np.ascontiguousarray(corners[:, :, 2]) if len(normal) else face[:0],
        facetexcoord=np.ascontiguousarray(corners[:, :, 1]) if len(texcoord) else face[:0],
        media_type="model/obj",
    )


def _numbers(rows: list[bytes], dtype: type) -> np.ndarray:
    """All numbers of lines of text."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # text that is not a number is only warned about
        try:
            return np.fromstring(b" ".join(rows), dtype, sep=" ")
        except DeprecationWarning as error:
            raise ValueError(str(error)) from None


def _table(rows: list[bytes], width: int, tag: str, name: str) -> Float32:
    """Numbers of all lines of one kind; missing ones are 0, extra ones (colours, weights) ignored."""
    if not rows:
        return np.zeros((0, width), np.float32)
    try:
        spaces = rows[0].count(b" ")
        if spaces + 1 >= width and all(row.count(b" ") == spaces for row in rows):
            numbers = _numbers(rows, np.float64)
            if len(numbers) == (spaces + 1) * len(rows):
                return np.ascontiguousarray(numbers.reshape(len(rows), -1)[:, :width], np.float32)
        ragged = [[float(token) for token in row.split(b"#")[0].split()[:width]] for row in rows]
        return np.array([row + [0.0] * (width - len(row)) for row in ragged], np.float32)
    except ValueError as error:
        raise ResourceError(f"could not parse OBJ file {name!r}: bad '{tag}' line ({error})") from None


def _uniform_faces(faces: list[bytes], vert: Float32) -> np.ndarray | None:
    """(n, 3, 3) corner indices where every face is a triangle or a quad written in the same form; None otherwise."""
    if not faces:
        return np.zeros((0, 3, 3), np.int32)
    sample = faces[0].split()[0]
    slashes, double = sample.count(b"/"), b"//" in sample
    form = rb"\d++//\d++" if double else rb"/".join([rb"\d++"] * (slashes + 1))
    if not re.fullmatch(rb"(?:" + form + rb"[ \n]++)*+", b" ".join(faces) + b" "):
        return None
    size = np.array([len(face.split()) for face in faces])
    if not ((size == 3) | (size == 4)).all():
        return None
    corners = int(size.sum())
    width = 2 if double else slashes + 1
    numbers = _numbers([face.replace(b"/", b" ") for face in faces], np.int64)
    if (numbers <= 0).any():
        raise ValueError("zero index")
    corner = np.full((corners, 3), -1, np.int32)
    corner[:, (0, 2) if double else (0, 1, 2)[:width]] = numbers.reshape(-1, width) - 1
    if (corner[:, 0] >= len(vert)).any():
        raise ValueError(f"vertex index {int(corner[:, 0].max()) + 1} of {len(vert)}")
    begin = np.cumsum(size) - size
    quad = size == 4
    result = np.empty((len(faces) + int(quad.sum()), 3, 3), np.int32)
    place = np.arange(len(faces)) + np.cumsum(quad) - quad
    result[place[~quad]] = corner[begin[~quad, None] + (0, 1, 2)]
    p, q, r, s = (corner[begin[quad] + k] for k in range(4))
    first, second = vert[r[:, 0]] - vert[p[:, 0]], vert[s[:, 0]] - vert[q[:, 0]]
    short = ((first * first).sum(1) < (second * second).sum(1))[:, None]
    result[place[quad]] = np.stack([p, q, np.where(short, r, s)], axis=1)
    result[place[quad] + 1] = np.stack([np.where(short, p, q), r, s], axis=1)
    return result


def _general_faces(
    faces: list[bytes], counts: list[tuple[int, int, int]], vert: Float32, name: str
) -> np.ndarray:  # fmt: skip
    """Corner indices of faces of any size and form, triangulated."""
    before = iter(counts)
    result: list[tuple[Corner, Corner, Corner]] = []
    for line in faces:
        sizes = next(before) if b"-" in line else (0, 0, 0)
        polygon = [_corner(token, sizes) for token in line.split()]
        if len(polygon) < 3:  # degenerate faces are skipped
            continue
        if len(polygon) > MOST_CORNERS:
            warnings.warn(
                f"{name!r}: a face of {len(polygon)} corners is left out, as MuJoCo does from {MOST_CORNERS + 1} on: "
                "triangulate the mesh",
                stacklevel=2,
            )
            continue
        if any(not 0 <= corner[0] < len(vert) for corner in polygon):
            raise ValueError(f"vertex index out of range in 'f {line.decode(errors='replace')}'")
        result.extend(triangulate(polygon, vert))
    return np.array(result, np.int32).reshape(-1, 3, 3)


def _corner(token: bytes, sizes: tuple[int, int, int]) -> Corner:
    parts = token.split(b"/")
    index = [-1, -1, -1]
    for k, part in enumerate(parts[:3]):
        if part:
            number = int(part)
            if number == 0:
                raise ValueError(f"zero index in {token.decode(errors='replace')!r}")
            index[k] = number - 1 if number > 0 else sizes[k] + number
    return index[0], index[1], index[2]


def triangulate(polygon: list[Corner], vert: Float32) -> list[tuple[Corner, Corner, Corner]]:
    """Cut a polygon into triangles the way tinyobjloader does."""
    if len(polygon) == 3:
        return [(polygon[0], polygon[1], polygon[2])]
    point = vert[[corner[0] for corner in polygon]]
    if len(polygon) == 4:
        p, q, r, s = polygon
        first, second = point[2] - point[0], point[3] - point[1]
        if (first * first).sum() < (second * second).sum():
            return [(p, q, r), (p, r, s)]
        return [(p, q, s), (q, r, s)]
    return _clip_ears(polygon, point)


def _clip_ears(polygon: list[Corner], point: Float32) -> list[tuple[Corner, Corner, Corner]]:
    """Ear clipping in the coordinate plane the polygon faces most.

    In single precision throughout, as there: where corners lie nearly in a line, rounding decides what is an ear, and a
    polygon in which none is left is cut no further.
    """
    x, y = (point[:, axis] for axis in _plane(point))
    rest = np.arange(len(polygon))
    result = []
    guess, tries = 0, len(rest)
    before = len(rest)
    while len(rest) > 3 and tries > 0:
        n = len(rest)
        guess %= n
        if before != n:
            before = tries = n
        else:
            tries -= 1
        around = np.roll(rest, -guess)
        a, b, c = around[:3]
        turn = (x[b] - x[a]) * (y[c] - y[b]) - (y[b] - y[a]) * (x[c] - x[b])
        area = (x[a] * y[b] - y[a] * x[b]) * np.float32(0.5)
        if turn * area < 0 or _inside(x[around[:3]], y[around[:3]], x[around[3:]], y[around[3:]]).any():
            guess += 1
            continue
        result.append((polygon[a], polygon[b], polygon[c]))
        rest = np.delete(rest, (guess + 1) % n)
    if len(rest) == 3:
        p, q, r = rest
        result.append((polygon[p], polygon[q], polygon[r]))
    return result


def _plane(point: Float32) -> tuple[int, int]:
    """The two axes to work in, from the first corner that is not straight."""
    n = len(point)
    for k in range(n):
        normal = np.abs(np.cross(point[(k + 1) % n] - point[k], point[(k + 2) % n] - point[(k + 1) % n]))
        if (normal > np.finfo(np.float32).eps).any():
            if normal[0] > normal[1] and normal[0] > normal[2]:
                return 1, 2
            return (0, 1) if normal[2] > normal[0] and normal[2] > normal[1] else (0, 2)
    return 1, 2


def _inside(corner_x: Float32, corner_y: Float32, x: Float32, y: Float32) -> np.ndarray:
    """Which points lie in a triangle, by counting crossings to the right."""
    inside = np.zeros(len(x), bool)
    with np.errstate(divide="ignore", invalid="ignore"):  # edges that no point is beside
        for k in range(3):
            xi, yi, xj, yj = corner_x[k], corner_y[k], corner_x[k - 1], corner_y[k - 1]
            inside ^= ((yi > y) != (yj > y)) & (x < (xj - xi) * (y - yi) / (yj - yi) + xi)
    return inside
