"""Textured and glowing surfaces as binary glTF, which is how a page takes them."""

from __future__ import annotations

import numpy as np

from kinema.errors import need
from kinema.viewer.surface import Surface
from kinema.viewer.texture import Paint


def linear(rgb) -> np.ndarray:
    """Colours as seen (sRGB, in [0, 1]) as intensities of light, which is what renderers multiply."""
    rgb = np.clip(np.asarray(rgb, dtype=float), 0, 1)
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def to_glb(surface: Surface, paint: Paint) -> bytes:
    """A surface under its paint."""
    trimesh = need("trimesh", "view", "Pages in the browser")
    pillow = need("PIL.Image", "view", "Pages in the browser")
    image = None if paint.image is None else pillow.fromarray(paint.image)
    see_through = paint.rgba[3] < 1 or (image is not None and image.mode == "RGBA")
    material = trimesh.visual.material.PBRMaterial(
        baseColorTexture=image,
        baseColorFactor=np.array([*linear(paint.rgba[:3]), paint.rgba[3]]),
        metallicFactor=paint.metallic,
        roughnessFactor=paint.roughness,
        emissiveFactor=np.clip(linear(paint.rgba[:3]) * paint.emission, 0, 1),
        emissiveTexture=image if paint.emission > 0 else None,
        alphaMode="BLEND" if see_through else "OPAQUE",
        doubleSided=False,
    )
    uv = np.zeros((len(surface.vertices), 2)) if surface.uv is None else surface.uv
    uv = uv * [1, -1] + [0, 1]  # trimesh counts rows of pictures from below
    visual = trimesh.visual.TextureVisuals(uv=uv, material=material)
    mesh = trimesh.Trimesh(
        surface.vertices, surface.faces, vertex_normals=surface.normals, visual=visual, process=False
    )
    return mesh.export(file_type="glb", include_normals=True)
