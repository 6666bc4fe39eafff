"""Textures: pyramids of ever smaller copies, and how a point of a surface finds its colour.

A texture is stored with all its halvings (mip levels), as packed RGBA. A pixel that covers f texels of the full size
reads levels floor(log2 f) and the next, each between four texels, and mixes them: what OpenGL calls trilinear. The six
faces of a cube lie one after another, in OpenGL's order +x -x +y -y +z -z and with its orientation of each face.
"""

from __future__ import annotations

import warnings

import numpy as np
import warp as wp

from kinema.errors import ResourceError
from kinema.geometry import png as png_files
from kinema.mujoco_enums import ColorSpace, Geom, Texture
from kinema.resources import read

MAX_LEVELS = 14
TWO_PI = wp.constant(2.0 * np.pi)


@wp.struct
class Textures:
    """All textures of a model."""

    texel: wp.array(dtype=wp.uint32)  # packed RGBA, all levels of all faces of all textures
    address: wp.array2d(dtype=int)  # (ntex, MAX_LEVELS) where a level begins
    size: wp.array(dtype=wp.vec3i)  # (ntex,) width, height (of one face), levels


def upload_textures(m, device) -> Textures:
    """Textures of the model with their mip levels."""
    texels, count = [], 0
    addresses = np.zeros((max(m.ntex, 1), MAX_LEVELS), np.int32)
    sizes = np.ones((max(m.ntex, 1), 3), np.int32)
    for i in range(m.ntex):
        faces = _faces(m, i)
        sizes[i] = faces.shape[2], faces.shape[1], 0
        for level in range(MAX_LEVELS):
            addresses[i, level] = count
            packed = np.clip(np.rint(faces), 0, 255).astype(np.uint32)
            packed = packed[..., 0] | packed[..., 1] << 8 | packed[..., 2] << 16 | packed[..., 3] << 24
            texels.append(packed.ravel())
            count += packed.size
            sizes[i, 2] = level + 1
            if faces.shape[1] == 1 and faces.shape[2] == 1:
                break
            faces = _halved(faces)
    textures = Textures()
    joined = np.concatenate(texels) if texels else np.zeros(1, np.uint32)
    textures.texel = wp.array(joined.astype(np.uint32), dtype=wp.uint32, device=device)
    textures.address = wp.array(addresses, dtype=int, device=device)
    textures.size = wp.array(sizes, dtype=wp.vec3i, device=device)
    return textures


def _faces(m, i: int) -> np.ndarray:
    """(faces, height, width, 4): one face of a flat texture, six of a cube. White where there is no picture."""
    data, is_srgb = _pixels(m, i)
    height, width, channels = data.shape
    image = np.full((height, width, 4), 255.0)
    if channels in (3, 4):  # others are no colours, or compressed in ways that only other renderers know
        image[..., :channels] = data
    if int(m.tex_type[i]) == Texture.TEXTURE_2D:
        if is_srgb:
            image[..., :3] = _linear(image[..., :3] / 255.0) * 255.0
        return image[None]
    if width == height:
        return np.repeat(image[None], 6, axis=0)
    return image.reshape(6, width, width, 4)


def _pixels(m, i: int) -> tuple[np.ndarray, bool]:
    """(height, width, channels) bytes of a texture and whether they are sRGB; read from its file where the model holds
    only the path."""
    width, height, channels = int(m.tex_width[i]), int(m.tex_height[i]), int(m.tex_nchannel[i])
    first, space = int(m.tex_adr[i]), int(np.asarray(m.tex_colorspace)[i])
    if first >= 0:
        data = np.asarray(m.tex_data)[first : first + width * height * channels]
        return data.reshape(height, width, channels), space == ColorSpace.SRGB
    start = int(m.tex_pathadr[i])
    path = bytes(np.asarray(bytearray(m.paths) if isinstance(m.paths, bytes) else m.paths, np.uint8)[start:])
    path = path.partition(b"\0")[0].decode()
    try:
        png = png_files.decode(read(path))
    except ResourceError as error:
        warnings.warn(f"texture {i} is left white: {error}", stacklevel=2)
        return np.full((1, 1, 3), 255, np.uint8), False
    return png.channels(channels), space == ColorSpace.SRGB or (space == ColorSpace.AUTO and png.srgb)


def _linear(c: np.ndarray) -> np.ndarray:
    """Light of an sRGB value."""
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def _halved(faces: np.ndarray) -> np.ndarray:
    """Half the size: the mean of each four texels; the last row or column of an odd size goes with its neighbour."""
    for axis in (1, 2):
        size = faces.shape[axis]
        if size > 1:
            even = np.take(faces, np.arange(0, size - size % 2, 2), axis)
            odd = np.take(faces, np.arange(1, size, 2), axis)
            faces = 0.5 * (even + odd)
    return faces


@wp.func
def texel_at(t: Textures, address: int) -> wp.vec4:
    p = t.texel[address]
    m = wp.uint32(255)
    return wp.vec4(
        float(p & m), float((p >> wp.uint32(8)) & m), float((p >> wp.uint32(16)) & m), float((p >> wp.uint32(24)) & m)
    )


@wp.func
def wrap(i: int, n: int, repeat: bool) -> int:
    """A texel's index brought into range: around, or held at the edge."""
    if repeat:
        k = i % n
        return wp.where(k < 0, k + n, k)
    return wp.clamp(i, 0, n - 1)


@wp.func
def sample_level(t: Textures, id: int, face: int, level: int, u: float, v: float, repeat: bool) -> wp.vec4:
    """Between the four nearest texels of one level."""
    w = wp.max(t.size[id][0] >> level, 1)
    h = wp.max(t.size[id][1] >> level, 1)
    base = t.address[id, level] + face * w * h
    x = u * float(w) - 0.5
    y = v * float(h) - 0.5
    x0 = int(wp.floor(x))
    y0 = int(wp.floor(y))
    fx = x - float(x0)
    fy = y - float(y0)
    xa = wrap(x0, w, repeat)
    xb = wrap(x0 + 1, w, repeat)
    ya = wrap(y0, h, repeat) * w
    yb = wrap(y0 + 1, h, repeat) * w
    low = texel_at(t, base + ya + xa) * (1.0 - fx) + texel_at(t, base + ya + xb) * fx
    high = texel_at(t, base + yb + xa) * (1.0 - fx) + texel_at(t, base + yb + xb) * fx
    return (low * (1.0 - fy) + high * fy) / 255.0


@wp.func
def sample(t: Textures, id: int, face: int, u: float, v: float, footprint: float, repeat: bool) -> wp.vec4:
    """Colour at (u, v) where a pixel covers `footprint` texels of the full size."""
    lod = wp.clamp(wp.log2(wp.max(footprint, 1.0)), 0.0, float(t.size[id][2] - 1))
    level = int(lod)
    part = lod - float(level)
    if repeat:
        u = u - wp.floor(u)  # keeps the fraction exact far away
        v = v - wp.floor(v)
    colour = sample_level(t, id, face, level, u, v, repeat)
    if part > 0.0 and level + 1 < t.size[id][2]:
        colour = colour * (1.0 - part) + sample_level(t, id, face, level + 1, u, v, repeat) * part
    return colour


@wp.func
def sample_flat(t: Textures, id: int, uv: wp.vec2, density: wp.vec2, pixel: float) -> wp.vec4:
    """2d texture; `density` is textures a unit of length, `pixel` the length that a pixel covers."""
    covered = wp.max(density[0] * float(t.size[id][0]), density[1] * float(t.size[id][1])) * pixel
    return sample(t, id, 0, uv[0], uv[1], covered, True)


@wp.func
def sample_cube(t: Textures, id: int, r: wp.vec3, pixel: float) -> wp.vec4:
    """Cube texture in direction r; `pixel` is the angle that a pixel covers."""
    a = wp.vec3(wp.abs(r[0]), wp.abs(r[1]), wp.abs(r[2]))
    face = int(0)
    s = float(0.0)
    c = float(0.0)
    major = float(0.0)
    if a[0] >= a[1] and a[0] >= a[2]:
        face = wp.where(r[0] >= 0.0, 0, 1)
        s = wp.where(r[0] >= 0.0, -r[2], r[2])
        c = -r[1]
        major = a[0]
    elif a[1] >= a[2]:
        face = wp.where(r[1] >= 0.0, 2, 3)
        s = r[0]
        c = wp.where(r[1] >= 0.0, r[2], -r[2])
        major = a[1]
    else:
        face = wp.where(r[2] >= 0.0, 4, 5)
        s = wp.where(r[2] >= 0.0, r[0], -r[0])
        c = -r[1]
        major = a[2]
    major = wp.max(major, 1.0e-12)
    return sample(t, id, face, 0.5 * (s / major + 1.0), 0.5 * (c / major + 1.0), 0.5 * pixel * float(t.size[id][0]),
                  False)  # fmt: skip


@wp.func
def around(x: wp.vec3) -> float:
    """Azimuth as a part of the whole circle."""
    a = wp.atan2(x[1], x[0]) / TWO_PI
    return wp.where(a < 0.0, a + 1.0, a)


@wp.func
def shape_coordinates(shape: int, x: wp.vec3, normal: wp.vec3, size: wp.vec3) -> wp.vec2:
    """Texture coordinates on a shape: x is the point in the shape's frame. Without repetition they run from 0 to 1."""
    uv = wp.vec2(0.0, 0.0)
    if shape == Geom.PLANE:
        u = 0.5 * x[0]
        v = -0.5 * x[1]
        if size[0] > 0.0:
            u = 0.5 * (x[0] / size[0] + 1.0)
        if size[1] > 0.0:
            v = 0.5 * (1.0 - x[1] / size[1])
        uv = wp.vec2(u, v)
    elif shape == Geom.SPHERE or shape == Geom.ELLIPSOID:
        q = wp.normalize(wp.cw_div(x, size))
        uv = wp.vec2(around(q), 0.5 - 2.0 * wp.asin(wp.clamp(q[2], -1.0, 1.0)) / TWO_PI)
    elif shape == Geom.CAPSULE:
        over = wp.asin(wp.clamp((wp.abs(x[2]) - size[2]) / size[0], 0.0, 1.0)) * 4.0 / TWO_PI
        v = 0.5 * (1.0 - x[2] / wp.max(size[2], 1.0e-9))
        if x[2] > size[2]:
            v = 1.0 - over
        elif x[2] < -size[2]:
            v = over
        uv = wp.vec2(around(x), v)
    elif shape == Geom.CYLINDER:
        if wp.abs(normal[2]) > 0.5:
            uv = wp.vec2(0.5 + 0.5 * x[0] / size[0], 0.5 + 0.5 * x[1] / size[0])
        else:
            uv = wp.vec2(around(x), 0.5 * (1.0 - x[2] / size[2]))
    elif shape == Geom.BOX:
        q = wp.cw_div(x, size)
        a = wp.where(wp.abs(normal[0]) > 0.5, q[1], q[0])
        b = wp.where(wp.abs(normal[2]) > 0.5, q[1], q[2])
        uv = wp.vec2(0.5 * (1.0 + a), 0.5 * (1.0 - b))
    return uv
