"""Meshes made from a few numbers: the ``builtin`` shapes of mesh assets.

Every shape has unit size about the origin; the asset's scale does the rest. Exponents of superspheres and supertori act
on cosines and sines, keeping the sign: c(w, m) = sign(cos w) |cos w|^m (see Wikipedia, Superellipsoid, Supertoroid).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kinema.errors import CompileError, did_you_mean
from kinema.geometry.flex_shapes import FLEX_SHAPES, flex_shape, flex_shape_dim
from kinema.geometry.inertia import cross
from kinema.geometry.mesh import Float32, Float64, Int32, MeshData


def _power(value: Float64, exponent: float) -> Float64:
    return np.copysign(np.abs(value) ** exponent, value)


def _quads(a: Int32, b: Int32, c: Int32, d: Int32) -> Int32:
    """Two triangles for each quad a b c d: (a, b, d) and (b, c, d)."""
    return np.stack([np.stack([a, b, d], -1), np.stack([b, c, d], -1)], axis=-2).reshape(-1, 3).astype(np.int32)


def sphere(subdivision: int) -> MeshData:
    """An icosahedron, each triangle cut in four ``subdivision`` times and pushed out to the sphere."""
    phi = np.float32((1.0 + math.sqrt(5.0)) / 2.0)
    vert = np.array(
        [[-1, phi, 0], [1, phi, 0], [-1, -phi, 0], [1, -phi, 0], [0, -1, phi], [0, 1, phi]]
        + [[0, -1, -phi], [0, 1, -phi], [phi, 0, -1], [phi, 0, 1], [-phi, 0, -1], [-phi, 0, 1]],
        np.float32,
    )
    vert = (vert / math.sqrt(1.0 + float(phi * phi))).astype(np.float32)
    face = np.array(
        [[0, 11, 5], [0, 5, 1], [0, 1, 7], [0, 7, 10], [0, 10, 11], [1, 5, 9], [5, 11, 4], [11, 10, 2], [10, 7, 6]]
        + [[7, 1, 8], [3, 9, 4], [3, 4, 2], [3, 2, 6], [3, 6, 8], [3, 8, 9], [4, 9, 5], [2, 4, 11], [6, 2, 10]]
        + [[8, 6, 7], [9, 8, 1]],
        np.int32,
    )
    for _ in range(subdivision):
        vert, face = _subdivided(vert, face)
    return MeshData(vert=vert, face=face)


def _subdivided(vert: Float32, face: Int32) -> tuple[Float32, Int32]:
    edge = np.sort(face[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    code = edge[:, 0].astype(np.int64) * len(vert) + edge[:, 1]
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    order = np.argsort(first)  # midpoints are numbered as the faces first ask for them
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    a, b = edge[first[order]].T
    middle = (vert[a] + vert[b]) / np.float32(2)
    squared = middle[:, 0] * middle[:, 0] + middle[:, 1] * middle[:, 1] + middle[:, 2] * middle[:, 2]
    middle = middle / np.sqrt(squared)[:, None]
    m12, m23, m31 = (len(vert) + rank[inverse.reshape(-1, 3)]).T
    v1, v2, v3 = face.T
    corners = [[v1, m12, m31], [v2, m23, m12], [v3, m31, m23], [m12, m23, m31]]
    return np.concatenate([vert, middle]), np.array(corners).transpose(2, 0, 1).reshape(-1, 3).astype(np.int32)


def hemisphere(resolution: int) -> MeshData:
    """Rows of points from the pole to the equator on four sides, closed by a flat cap."""
    pole = np.array([0.0, 0.0, 1.0])
    equator = np.array([[1.0, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]])
    points = [pole[None]]
    for row in range(resolution + 1):
        factor = (row + 1) / (resolution + 1)
        for side in range(4):
            start = pole + factor * (equator[side] - pole)
            end = pole + factor * (equator[(side + 1) % 4] - pole)
            line = start + np.arange(row + 1)[:, None] * ((end - start) / (row + 1))
            points.append(line / np.sqrt((line * line).sum(1))[:, None])
    points.append(np.zeros((1, 3)))
    faces = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1]]
    for row in range(resolution):
        here, n = 2 * row * (row + 1) + 1, 4 * (row + 1)
        below, m = here + n, 4 * (row + 2)
        for side in range(4):
            for i in range(row + 2):
                v, w = i + (row + 1) * side, i + (row + 2) * side
                faces.append([here + v % n, below + w % m, below + (w + 1) % m])
                if i < row + 1:
                    faces.append([here + v % n, below + (w + 1) % m, here + (v + 1) % n])
    vert = np.concatenate(points).astype(np.float32)
    rim, n = 2 * resolution * (resolution + 1) + 1, 4 * (resolution + 1)
    faces += [[rim + i, len(vert) - 1, rim + (i + 1) % n] for i in range(n)]
    return MeshData(vert=vert, face=np.array(faces, np.int32))


def cone(nvert: int, radius: float) -> MeshData:
    """Vertices of a polygon below and a smaller one (or a point) above; the hull makes the faces."""
    angle = 2 * np.arange(2 * nvert) * math.pi / nvert
    ring = np.stack([np.cos(angle), np.sin(angle), np.full(2 * nvert, -1.0)], axis=1)
    top = ring[nvert:] * (radius, radius, -1) if radius > 0 else np.array([[0.0, 0.0, 1.0]])
    return MeshData(vert=np.concatenate([ring[:nvert], top]).astype(np.float32))


def supersphere(resolution: int, e: float, n: float) -> MeshData:
    """A superellipsoid of unit half axes, exponents ``e`` east-west and ``n`` north-south."""
    res = resolution
    v = -math.pi / 2 + np.arange(1, res) * math.pi / res
    u = -math.pi + np.arange(res) * 2 * math.pi / res
    ring = np.stack(
        [
            _power(np.cos(v), n)[:, None] * _power(np.cos(u), e),
            _power(np.cos(v), n)[:, None] * _power(np.sin(u), e),
            np.broadcast_to(_power(np.sin(v), n)[:, None], (res - 1, res)),
        ],
        axis=-1,
    )
    vert = np.concatenate([[[0, 0, -1]], ring.reshape(-1, 3), [[0, 0, 1]]]).astype(np.float32)
    j = np.arange(res)
    after = (j + 1) % res
    south = np.stack([np.zeros_like(j), 1 + after, 1 + j], axis=1)
    row = 1 + np.arange(res - 2)[:, None] * res
    middle = _quads(row + j, row + after, row + res + after, row + res + j)
    last = 1 + (res - 2) * res
    north = np.stack([last + j, last + after, np.full_like(j, len(vert) - 1)], axis=1)
    return MeshData(vert=vert, face=np.concatenate([south, middle, north]).astype(np.int32))


def supertorus(resolution: int, radius: float, s: float, t: float) -> MeshData:
    """A supertoroid of major radius 1; ``s`` shapes the minor sections, ``t`` the major one."""
    i, j = np.meshgrid(np.arange(resolution), np.arange(resolution), indexing="ij")
    u, v = 2 * math.pi * i / resolution, 2 * math.pi * j / resolution
    arm = 1 + radius * _power(np.cos(v), s)
    vert = np.stack([arm * _power(np.cos(u), t), arm * _power(np.sin(u), t), radius * _power(np.sin(v), s)], axis=-1)
    i_next, j_next = (i + 1) % resolution, (j + 1) % resolution
    face = _quads(i * resolution + j, i_next * resolution + j, i_next * resolution + j_next, i * resolution + j_next)
    return MeshData(vert=vert.reshape(-1, 3).astype(np.float32), face=face)


def wedge(res_phi: int, res_theta: int, fov_phi: float, fov_theta: float, gamma: float) -> MeshData:
    """A slice of the unit sphere seen from inside, for tactile sensors; three normals (a frame) a vertex."""

    def middles(count: int, field_of_view: float) -> Float64:
        step = 2.0 / count
        edge = np.add.accumulate(np.concatenate([[-1.0], np.full(count, step)]))
        # foveal deformation: finer in the middle
        edge = gamma * edge**5 + (1 - gamma) * edge if gamma else edge
        edge = edge * (field_of_view * math.pi / 180)
        return 0.5 * (edge[1:] + edge[:-1])

    a, e = np.meshgrid(middles(res_phi, fov_phi), middles(res_theta, fov_theta), indexing="ij")
    a, e = a.ravel(), e.ravel()
    vert = np.stack([np.cos(e) * np.sin(a), np.sin(e), -np.cos(e) * np.cos(a)], axis=1)
    ta = np.stack([np.cos(e) * np.cos(a), np.zeros_like(a), np.cos(e) * np.sin(a)], axis=1)
    te = np.stack([-np.sin(e) * np.sin(a), np.cos(e), np.sin(e) * np.cos(a)], axis=1)
    ta /= np.sqrt((ta * ta).sum(1))[:, None]
    te /= np.sqrt((te * te).sum(1))[:, None]
    frame = np.stack([cross(te, ta), ta, te], axis=1)
    return MeshData(vert=vert.astype(np.float32), normal=frame.reshape(-1, 3).astype(np.float32))


def plate(res_x: int, res_y: int) -> MeshData:
    """A flat grid of points at z = -1, for tactile sensors; three normals (a frame) a vertex."""
    i, j = np.meshgrid(np.arange(res_x), np.arange(res_y), indexing="ij")
    x, y = -1 + (i + 0.5) * (2.0 / res_x), -1 + (j + 0.5) * (2.0 / res_y)
    vert = np.stack([x, y, np.full_like(x, -1)], axis=-1).reshape(-1, 3)
    i, j = i[1:, 1:].ravel(), j[1:, 1:].ravel()
    a, b = (i - 1) * res_y + j - 1, i * res_y + j - 1
    c, d = (i - 1) * res_y + j, i * res_y + j
    face = np.stack([np.stack([a, b, c], -1), np.stack([d, c, b], -1)], axis=1).reshape(-1, 3)
    frame = np.tile(np.eye(3, dtype=np.float32), (len(vert), 1))
    return MeshData(vert=vert.astype(np.float32), normal=frame, face=face.astype(np.int32))


@dataclass(frozen=True)
class _Shape:
    """A builtin: its function, how many leading parameters are integers, names and what they must satisfy."""

    make: Callable[..., MeshData]
    integers: int
    rules: tuple[tuple[str, Callable[[float], bool], str], ...]


def _rule(name: str, test: Callable[[float], bool], text: str) -> tuple[str, Callable[[float], bool], str]:
    return name, test, text


_AT_LEAST_3 = (lambda x: x >= 3, "must be greater than 2")
_POSITIVE = (lambda x: x > 0, "must be positive")
_NOT_NEGATIVE = (lambda x: x >= 0, "cannot be negative")

SHAPES: dict[str, _Shape] = {
    "sphere": _Shape(sphere, 1, (_rule("subdivision", lambda x: 0 <= x <= 4, "must be in [0, 4]"),)),
    "hemisphere": _Shape(hemisphere, 1, (_rule("resolution", lambda x: 0 <= x <= 10, "must be in [0, 10]"),)),
    "cone": _Shape(
        cone, 1, (_rule("nvert", *_AT_LEAST_3), _rule("radius", lambda x: 0 <= x <= 1, "must be in [0, 1]"))
    ),
    "supersphere": _Shape(
        supersphere, 1, (_rule("resolution", *_AT_LEAST_3), _rule("e", *_NOT_NEGATIVE), _rule("n", *_NOT_NEGATIVE))
    ),
    "supertorus": _Shape(
        supertorus,
        1,
        (
            _rule("resolution", *_AT_LEAST_3),
            _rule("radius", lambda x: 0 < x <= 1, "must be in (0, 1]"),
            _rule("s", *_POSITIVE),
            _rule("t", *_POSITIVE),
        ),
    ),
    "wedge": _Shape(
        wedge,
        2,
        (
            _rule("res_phi", *_POSITIVE),
            _rule("res_theta", *_POSITIVE),
            _rule("fov_phi", lambda x: 0 < x <= 180, "must be in (0, 180] degrees"),
            _rule("fov_theta", lambda x: 0 < x <= 90, "must be in (0, 90] degrees"),
            _rule("gamma", lambda x: 0 <= x <= 1, "must be in [0, 1]"),
        ),
    ),
    "plate": _Shape(plate, 2, (_rule("res_x", *_POSITIVE), _rule("res_y", *_POSITIVE))),
}


def builtin_mesh(kind: str, params: Sequence[float] | np.ndarray) -> MeshData:
    """The mesh of a builtin shape.

    Raises:
        CompileError: an unknown shape, a wrong number of parameters, or one out of range.
    """
    values = [float(x) for x in np.asarray(params, np.float64).ravel()]
    if kind in FLEX_SHAPES:
        return flex_shape(kind, values)
    if kind not in SHAPES:
        known = [*SHAPES, *FLEX_SHAPES]
        raise CompileError(f"unknown builtin mesh {kind!r}{did_you_mean(kind, known)}; known: {', '.join(known)}")
    shape = SHAPES[kind]
    names = [name for name, _, _ in shape.rules]
    if len(values) != len(names):
        raise CompileError(
            f"builtin mesh {kind!r} requires {len(names)} parameters ({', '.join(names)}), got {len(values)}"
        )
    arguments = [int(value) if k < shape.integers else value for k, value in enumerate(values)]
    for argument, (name, test, text) in zip(arguments, shape.rules, strict=True):
        if not test(argument):
            raise CompileError(f"parameter {name!r} of builtin mesh {kind!r} {text}, got {argument:g}")
    return shape.make(*arguments)


def builtin_inertia(kind: str, params: Sequence[float] | np.ndarray, inertia: str) -> str:
    """The inertia mode a builtin really uses: shapes without volume are shells."""
    if kind == "plate":
        return "shell"
    if kind in FLEX_SHAPES and flex_shape_dim(kind, list(params)) < 3 and inertia == "legacy":
        return "shell"
    return inertia
