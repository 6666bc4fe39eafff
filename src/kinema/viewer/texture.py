"""Textures: the picture of a material, and where each corner of a surface looks it up.

Flat ("2d") textures lie on a surface by its texture coordinates, repeated `texrepeat` times over the object, or over a
metre where `texuniform` is set. Meshes without coordinates, and planes without end, are projected along their z axis.

Cube textures are looked up by direction from the object's centre: the largest component names one of six square faces,
the others the place on it. Here a triangle takes one face, that of its centre, so corners are cut apart where needed;
the faces lie one below another in one picture (+x, -x, +y, -y, +z, -z), as the model stores them.

(s, t) = (0, 0) is the first pixel of the first row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinema.mujoco_enums import Texture, TextureRole
from kinema.viewer.surface import Surface

ROLES = (TextureRole.RGB, TextureRole.RGBA)  # columns of mat_texid that carry colour

LARGEST = {"2d": 1024, "cube": 256}
"""Longest side of a picture, or of a cube's face, that is sent to a page [pixels]."""

# Faces of a cube: the axis that is largest and its sign, then s and t as signed axes (OpenGL's table)
CUBE = (
    (0, 1, (2, -1), (1, -1)), (0, -1, (2, 1), (1, -1)),
    (1, 1, (0, 1), (2, 1)), (1, -1, (0, 1), (2, -1)),
    (2, 1, (0, 1), (1, -1)), (2, -1, (0, -1), (1, -1)),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Paint:
    """What a textured surface is covered with.

    Attributes:
        image: (height, width, 3 or 4) picture, uint8; None for a colour that glows.
        rgba: Colour it is multiplied by.
        metallic, roughness, emission: Of the material, in [0, 1].
    """

    image: np.ndarray | None
    rgba: tuple[float, float, float, float]
    metallic: float
    roughness: float
    emission: float


def texture_of(m, material: int) -> int:
    """Id of the texture that colours a material, -1 where it has none."""
    if material < 0:
        return -1
    roles = np.asarray(m.mat_texid[material]).reshape(-1)
    return next((int(roles[role]) for role in ROLES if role < len(roles) and roles[role] >= 0), -1)


def picture(m, texture: int) -> np.ndarray:
    """Pixels of a texture (height, width, 3 or 4), thinned out where it is larger than a page needs."""
    height, width, channels = (int(getattr(m, f"tex_{name}")[texture]) for name in ("height", "width", "nchannel"))
    first = int(m.tex_adr[texture])
    pixels = np.asarray(m.tex_data[first : first + height * width * channels]).reshape(height, width, channels)
    if channels < 3:
        pixels = np.repeat(pixels[..., :1], 3, axis=-1)
    flat = int(m.tex_type[texture]) == Texture.TEXTURE_2D
    side, most = (max(height, width), LARGEST["2d"]) if flat else (width, LARGEST["cube"])
    step = -(-side // most)
    return np.ascontiguousarray(pixels[step // 2 :: step, step // 2 :: step]) if step > 1 else pixels


def mean_color(pixels: np.ndarray) -> np.ndarray:
    """Average colour of a picture in [0, 1]."""
    return pixels[..., :3].reshape(-1, 3).mean(axis=0) / 255


def is_flat_color(pixels: np.ndarray) -> bool:
    """Whether all pixels are the same, so that a plain colour does as well."""
    return bool((pixels == pixels[:1, :1]).all())


def lay_2d(surface: Surface, size, repeat, uniform: bool, *, endless: bool = False) -> Surface:
    """A surface with the coordinates of a flat texture.

    Args:
        surface: The surface at its real size, its own coordinates in [0, 1] if it has any.
        size: Sizes of the geom, that `uniform` refers to.
        repeat: texrepeat.
        uniform: texuniform.
        endless: A plane without end: the texture is repeated every two metres / texrepeat.
    """
    repeat = np.where(np.asarray(repeat, dtype=float) > 0, repeat, 1.0)
    size = np.asarray(size, dtype=float)[:2]
    if endless or surface.uv is None:
        scale = repeat if endless or uniform else repeat / np.where(size > 0, size, 1.0)
        uv = surface.vertices[:, :2] * [0.5, -0.5] * scale - 0.5
    else:
        uv = surface.uv * (repeat * np.where(size > 0, size, 1.0) if uniform else repeat)
    return Surface(surface.vertices, surface.faces, surface.normals, uv.astype(np.float32))


def lay_cube(surface: Surface, unit_scale, *, single: bool) -> Surface:
    """A surface with the coordinates of a cube texture; triangles no longer share corners.

    Args:
        surface: The surface at its real size.
        unit_scale: What to divide positions by before taking directions.
        single: The picture is one face, repeated on all six.
    """
    corners = surface.vertices[surface.faces].astype(float)  # (F, 3, 3)
    look = corners / np.asarray(unit_scale, dtype=float)
    centre = look.mean(axis=1)
    axis = np.abs(centre).argmax(axis=1)
    side = 2 * axis + (np.take_along_axis(centre, axis[:, None], 1)[:, 0] < 0)
    uv = np.empty((*look.shape[:2], 2))
    for k, (main, sign, (s_axis, s_sign), (t_axis, t_sign)) in enumerate(CUBE):
        mine = side == k
        depth = np.maximum(sign * look[mine][..., main], 1e-9)
        uv[mine, :, 0] = 0.5 + 0.5 * np.clip(s_sign * look[mine][..., s_axis] / depth, -1, 1)
        uv[mine, :, 1] = 0.5 + 0.5 * np.clip(t_sign * look[mine][..., t_axis] / depth, -1, 1)
    if not single:
        inset = np.clip(uv, 0.002, 0.998)  # neighbours in the picture must not bleed in
        uv = np.stack([inset[..., 0], (inset[..., 1] + side[:, None]) / 6], axis=-1)
    return Surface(
        corners.reshape(-1, 3).astype(np.float32),
        np.arange(3 * len(corners), dtype=np.uint32).reshape(-1, 3),
        surface.normals[surface.faces].reshape(-1, 3),
        uv.reshape(-1, 2).astype(np.float32),
    )
