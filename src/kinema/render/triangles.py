"""Surfaces of triangles: meshes, height fields and skins, each with a bounding volume hierarchy of its own.

Every corner of a triangle has a normal and a texture coordinate. A mesh has smooth normals where neighbouring faces
are nearly in one plane; at a crease (angle above acos 0.8) the corner takes the face's normal, unless the mesh has
texture coordinates, whose author is trusted with the normals too. Height fields are flat, with sides and a base.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import warp as wp

from kinema.mujoco_enums import Geom
from kinema.render.items import Items, has_texcoords

CREASE = 0.8


@dataclass
class Surface:
    """One surface: vertices, faces, and normals and texture coordinates by corner."""

    vertices: np.ndarray
    faces: np.ndarray
    normals: np.ndarray
    texcoords: np.ndarray | None = None

    @property
    def density(self) -> np.ndarray:
        """How many textures lie on a unit of length, by face."""
        if self.texcoords is None:
            return np.zeros(len(self.faces))
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
        s, t = (self.texcoords[:, k] - self.texcoords[:, 0] for k in (1, 2))
        covered = np.abs(s[:, 0] * t[:, 1] - s[:, 1] * t[:, 0])
        return np.sqrt(covered / np.maximum(area, 1e-12))


def face_normals(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return normals / np.where(length > 0, length, 1.0)


def mesh_surface(m, i: int) -> Surface:
    """A mesh of the model."""
    first, count = int(m.mesh_vertadr[i]), int(m.mesh_vertnum[i])
    vertices = np.asarray(m.mesh_vert, np.float32).reshape(-1, 3)[first : first + count]
    chosen = slice(int(m.mesh_faceadr[i]), int(m.mesh_faceadr[i]) + int(m.mesh_facenum[i]))
    faces = np.asarray(m.mesh_face).reshape(-1, 3)[chosen]
    rows = np.asarray(m.mesh_facenormal).reshape(-1, 3)[chosen] + int(m.mesh_normaladr[i])
    normals = np.asarray(m.mesh_normal, np.float32).reshape(-1, 3)[rows]
    texcoords = None
    if int(m.mesh_texcoordadr[i]) >= 0:
        rows = np.asarray(m.mesh_facetexcoord).reshape(-1, 3)[chosen] + int(m.mesh_texcoordadr[i])
        texcoords = np.asarray(m.mesh_texcoord, np.float32).reshape(-1, 2)[rows]
    else:
        flat = face_normals(vertices, faces)[:, None]
        crease = (normals * flat).sum(axis=2, keepdims=True) < CREASE
        normals = np.where(crease, flat, normals)
    return Surface(vertices, faces, normals, texcoords)


def skin_surface(m, i: int) -> Surface:
    """A skin as it was bound; its normals are found anew for every picture."""
    first, count = int(m.skin_vertadr[i]), int(m.skin_vertnum[i])
    vertices = np.asarray(m.skin_vert, np.float32).reshape(-1, 3)[first : first + count]
    faces = np.asarray(m.skin_face).reshape(-1, 3)[int(m.skin_faceadr[i]) :][: int(m.skin_facenum[i])]
    texcoords = None
    if has_texcoords(m, Geom.SKIN, i):
        texcoords = np.asarray(m.skin_texcoord, np.float32).reshape(-1, 2)[faces + int(m.skin_texcoordadr[i])]
    return Surface(vertices, faces, np.zeros((len(faces), 3, 3), np.float32), texcoords)


def hfield_surface(m, i: int) -> Surface:
    """A height field: the ground, four sides down to the base, and the base."""
    nrow, ncol, first = int(m.hfield_nrow[i]), int(m.hfield_ncol[i]), int(m.hfield_adr[i])
    x_half, y_half, top, base = np.asarray(m.hfield_size, float).reshape(-1, 4)[i]
    z = np.asarray(m.hfield_data, float)[first : first + nrow * ncol].reshape(nrow, ncol) * top
    x, y = np.meshgrid(np.linspace(-x_half, x_half, ncol), np.linspace(-y_half, y_half, nrow))
    grid = np.arange(nrow * ncol).reshape(nrow, ncol)
    a, b, c, d = (part.ravel() for part in (grid[:-1, :-1], grid[:-1, 1:], grid[1:, :-1], grid[1:, 1:]))
    pieces_v = [np.stack([x, y, z], axis=2).reshape(-1, 3)]
    pieces_f = [np.stack([c, a, d], axis=1), np.stack([a, b, d], axis=1)]
    count = nrow * ncol
    # a rim seen from outside runs counterclockwise: front, right, back, left
    for rim in (grid[0], grid[:, -1], grid[-1, ::-1], grid[::-1, 0]):
        upper = pieces_v[0][rim]
        lower = np.concatenate([upper[:, :2], np.full((len(rim), 1), -base)], axis=1)
        k = np.arange(len(rim) - 1)
        up, low = count, count + len(rim)
        pieces_v += [upper, lower]
        pieces_f += [
            np.stack([low + k, low + k + 1, up + k + 1], axis=1), np.stack([low + k, up + k + 1, up + k], axis=1)
        ]  # fmt: skip
        count += 2 * len(rim)
    corners = [(-x_half, -y_half), (x_half, -y_half), (x_half, y_half), (-x_half, y_half)]
    pieces_v.append(np.array([(*corner, -base) for corner in corners]))
    pieces_f.append(np.array([[count, count + 2, count + 1], [count, count + 3, count + 2]]))
    vertices, faces = np.concatenate(pieces_v).astype(np.float32), np.concatenate(pieces_f)
    return Surface(vertices, faces, np.repeat(face_normals(vertices, faces)[:, None], 3, axis=1))


MAKERS = {Geom.MESH: mesh_surface, Geom.SDF: mesh_surface, Geom.HFIELD: hfield_surface, Geom.SKIN: skin_surface}
"""Shapes that are surfaces of triangles, and how they are made."""


@dataclass
class Surfaces:
    """All surfaces that the items use, on the device.

    Attributes:
        id: By item: the surface's identifier in kernels; 0: none, or a skin that is still to be bent.
        faces: By item: number of faces.
        corner: By item: where the corners of its surface begin.
        normal: By corner, three a face.
        vertex: By corner: the vertex of a skin, numbered through all skins.
        texcoord: By corner.
        density: By face: textures a unit of length.
        ball: By item: centre and radius of a ball around its surface.
        half: By item: half sizes of the box about the same centre.
    """

    id: wp.array
    faces: wp.array
    corner: wp.array
    normal: wp.array
    vertex: wp.array
    texcoord: wp.array
    density: wp.array
    ball: np.ndarray
    half: np.ndarray
    kept: list[wp.Mesh] = field(default_factory=list)


def upload_surfaces(m, items: Items, device) -> Surfaces:
    """Build the surfaces that items need, each once."""
    made: dict[tuple[int, int], tuple] = {}
    normals, vertices, texcoords, densities, kept, count = [], [], [], [], [], 0
    ids, corners, numbers = (np.zeros(len(items), kind) for kind in (np.uint64, np.int32, np.int32))
    ball, half = np.zeros((len(items), 4), np.float32), np.zeros((len(items), 3), np.float32)
    for row, (shape, dataid) in enumerate(zip(items.shape.tolist(), items.dataid.tolist(), strict=True)):
        if shape not in MAKERS or dataid < 0:
            continue
        key = (Geom.MESH if shape == Geom.SDF else shape, dataid)
        if key not in made:
            surface = MAKERS[shape](m, dataid)
            first = int(m.skin_vertadr[dataid]) if shape == Geom.SKIN else 0
            identifier = 0
            if shape != Geom.SKIN:
                kept.append(_mesh(surface, device))
                identifier = kept[-1].id
            made[key] = (identifier, count, len(surface.faces), *_bounds(surface.vertices))
            normals.append(surface.normals.reshape(-1, 3))
            vertices.append(surface.faces.ravel() + first)
            densities.append(surface.density)
            empty = np.zeros((len(normals[-1]), 2))
            texcoords.append(empty if surface.texcoords is None else surface.texcoords.reshape(-1, 2))
            count += len(normals[-1])
        ids[row], corners[row], numbers[row], ball[row], half[row] = made[key]
    return Surfaces(
        id=wp.array(ids, dtype=wp.uint64, device=device),
        faces=wp.array(numbers, dtype=int, device=device),
        corner=wp.array(corners, dtype=int, device=device),
        normal=wp.array(_joined(normals, 3), dtype=wp.vec3, device=device),
        vertex=wp.array(np.concatenate([*vertices, []]).astype(np.int32), dtype=int, device=device),
        texcoord=wp.array(_joined(texcoords, 2), dtype=wp.vec2, device=device),
        density=wp.array(np.concatenate([*densities, []]).astype(np.float32), dtype=float, device=device),
        ball=ball,
        half=half,
        kept=kept,
    )


def _mesh(surface: Surface, device) -> wp.Mesh:
    return wp.Mesh(
        points=wp.array(np.ascontiguousarray(surface.vertices, np.float32), dtype=wp.vec3, device=device),
        indices=wp.array(np.ascontiguousarray(surface.faces.ravel(), np.int32), dtype=int, device=device),
    )


def _bounds(vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    lower, upper = vertices.min(axis=0), vertices.max(axis=0)
    centre = 0.5 * (lower + upper)
    return np.append(centre, np.linalg.norm(vertices - centre, axis=1).max()), 0.5 * (upper - lower)


def _joined(pieces: list[np.ndarray], width: int) -> np.ndarray:
    return np.concatenate([*pieces, np.zeros((0, width))]).astype(np.float32)
