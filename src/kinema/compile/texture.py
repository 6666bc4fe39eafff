"""Textures: from files or colours to mjModel's tex arrays.

    texture = compile_texture(
        name, type="cube", colorspace="auto", builtin="none", rgb1=..., rgb2=..., mark="none", markrgb=..., random=0.01,
        width=0, height=0, gridsize=(1, 1), gridlayout="............", hflip=False, vflip=False, nchannel=3,
        file=resource or None, content_type=None, cubefiles=[right, left, up, down, front, back] or None)
    arrays = pack_textures([texture, ...])

What a texture says about itself is checked when it is compiled; patterns are drawn when somebody reads the pixels.
Builtin patterns win over files, a single file over separate ones. A cube whose six faces are the same image stores it
once (height = width); otherwise its faces are stacked (height = 6 width). A texture left by reference (embed="false",
or compiler passthrough="textures" where `can_be_by_reference`) is `texture_by_reference(...)`. KTX files are not
decoded: their bytes are the texture's data, as in MuJoCo.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from kinema.compile.deferred import DeferredArrays
from kinema.errors import CompileError, did_you_mean
from kinema.geometry import procedural_texture
from kinema.mujoco_enums import Builtin, ColorSpace, Mark, Texture, words
from kinema.resources import Resource, decode

TYPES = {"2d": int(Texture.TEXTURE_2D), **words(Texture, "cube", "skybox")}
COLORSPACES = words(ColorSpace, "auto", "linear", "sRGB")
BUILTINS = tuple(words(Builtin))
MARKS = tuple(words(Mark))
FACES = "RLUDFB"

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class CompiledTexture:
    """One texture: mjModel's numbers for type and colour space, (height, width, nchannel), how its bytes are drawn."""

    type: int
    colorspace: int
    shape: tuple[int, int, int]
    draw: Callable[[], Bytes]

    @cached_property
    def data(self) -> Bytes:
        """(height, width, nchannel) bytes."""
        return self.draw()


def _drawn(type: int, colorspace: int, image: Bytes) -> CompiledTexture:
    """A texture whose pixels are there."""
    return CompiledTexture(type, colorspace, image.shape, lambda: image)


def _keyword(name: str, what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        hint = f"{did_you_mean(value, known)}; one of {', '.join(known)}"
        raise CompileError(f"texture {name!r} has {what}={value!r}{hint}")


def compile_texture(
    name: str,
    *,
    type: str = "cube",
    colorspace: str = "auto",
    builtin: str = "none",
    rgb1: Sequence[float] | np.ndarray = (0.8, 0.8, 0.8),
    rgb2: Sequence[float] | np.ndarray = (0.5, 0.5, 0.5),
    mark: str = "none",
    markrgb: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0),
    random: float = 0.01,
    width: int = 0,
    height: int = 0,
    gridsize: Sequence[int] = (1, 1),
    gridlayout: str = "............",
    hflip: bool = False,
    vflip: bool = False,
    nchannel: int = 3,
    file: Resource | None = None,
    content_type: str | None = None,
    cubefiles: Sequence[Resource | None] | None = None,
) -> CompiledTexture:
    """One texture from its attributes.

    Raises:
        CompileError: for whatever MuJoCo refuses.
        ResourceError: an image that does not decode.
    """
    for what, value, known in (
        ("type", type, tuple(TYPES)),
        ("colorspace", colorspace, tuple(COLORSPACES)),
        ("builtin", builtin, BUILTINS),
        ("mark", mark, MARKS),
    ):
        _keyword(name, what, value, known)
    fill = procedural_texture.color_bytes(np.asarray(rgb1, np.float64))
    space = COLORSPACES[colorspace]
    if builtin != "none":
        colors = np.asarray(rgb1, np.float64), np.asarray(rgb2, np.float64)
        shape = _builtin_shape(name, type, width, height, nchannel)

        def draw() -> Bytes:
            data = _builtin(type, builtin, width, height, *colors)
            _mark(data, type, mark, np.asarray(markrgb, np.float64), random)
            return data

        return CompiledTexture(TYPES[type], space, shape, draw)
    if file is not None:
        image, is_srgb = _image(name, file, content_type, nchannel, hflip, vflip)
        if type != "2d":
            image = _cube_of_grid(name, image, gridsize, gridlayout, fill)
    elif type == "2d":
        raise CompileError(f"Cannot load 2D texture from separate files, texture {name!r}; give it a file or a builtin")
    elif cubefiles is None or not any(cubefiles):
        raise CompileError(f"No cubefiles defined in cube or skybox texture {name!r}, no file and no builtin either")
    else:
        image, is_srgb = _cube_of_files(name, cubefiles, content_type, nchannel, hflip, vflip, fill)
    if space == COLORSPACES["auto"]:
        space = COLORSPACES["sRGB" if is_srgb else "linear"]
    return _drawn(TYPES[type], space, image)


def can_be_by_reference(
    *, builtin: str = "none", has_file: bool, gridsize: Sequence[int] = (1, 1), hflip: bool = False, vflip: bool = False
) -> bool:
    """Whether a texture may stay by reference: one file on disk, used as it is (embed="false", passthrough)."""
    return builtin == "none" and has_file and tuple(gridsize) == (1, 1) and not hflip and not vflip


def texture_by_reference(
    name: str, *, type: str = "cube", colorspace: str = "auto", nchannel: int = 3
) -> CompiledTexture:
    """A texture whose pixels stay in its file: the model holds its path and no data."""
    _keyword(name, "type", type, tuple(TYPES))
    _keyword(name, "colorspace", colorspace, tuple(COLORSPACES))
    return _drawn(TYPES[type], COLORSPACES[colorspace], np.zeros((0, 0, nchannel), np.uint8))


def _builtin_shape(name: str, type: str, width: int, height: int, nchannel: int) -> tuple[int, int, int]:
    """Height, width and channels of a pattern; faces of a cube are stacked."""
    if width < 1:
        raise CompileError(f"Invalid width of builtin texture {name!r}: {width}")
    if type == "2d" and height < 1:
        raise CompileError(f"Invalid height of builtin texture {name!r}: {height}")
    if nchannel != 3:
        raise CompileError(f"builtin texture {name!r} must have 3 channels, got {nchannel}")
    return (height if type == "2d" else 6 * width), width, 3


def _builtin(type: str, builtin: str, width: int, height: int, rgb1: np.ndarray, rgb2: np.ndarray) -> Bytes:
    if type == "2d":
        return procedural_texture.plane(builtin, height, width, rgb1, rgb2)
    return procedural_texture.cube(builtin, width, rgb1, rgb2)


def _mark(data: Bytes, type: str, mark: str, markrgb: np.ndarray, random: float) -> None:
    """Edges and crosses are drawn on each face, random dots on all of them at once."""
    faces = [data] if type == "2d" or mark == "random" else np.split(data, 6)
    for face in faces:
        procedural_texture.mark(face, mark, markrgb, random)


def _image(
    name: str, file: Resource, content_type: str | None, nchannel: int, hflip: bool, vflip: bool
) -> tuple[Bytes, bool]:
    """Pixels of a file, flipped if asked, and whether it says it is sRGB."""
    declared = (content_type or file.media_type or "").partition(";")[0].strip().lower()
    if declared == "image/ktx":
        if hflip or vflip:
            raise CompileError(f"cannot flip KTX textures: {name!r}")
        if not file.data:
            raise CompileError(f"texture file is empty: {file.name!r}")
        return np.frombuffer(file.data, np.uint8).reshape(1, -1, 1), False
    if declared != "image/png":
        raise CompileError(f"unsupported content type: '{declared}' of texture {name!r}; use PNG or KTX files")
    if nchannel not in (1, 3, 4):
        raise CompileError(f"Unsupported number of channels: {nchannel} in texture {name!r}; use 1, 3 or 4")
    png = decode("image", file, content_type="image/png")
    image = png.channels(nchannel)
    if hflip:
        image = image[:, ::-1]
    if vflip:
        image = image[::-1]
    return np.ascontiguousarray(image), png.srgb


def _cube_of_grid(name: str, image: Bytes, gridsize: Sequence[int], gridlayout: str, fill: Bytes) -> Bytes:
    """The faces of a cube cut out of one image; the whole image for all of them with a 1 x 1 grid."""
    rows, columns = (int(n) for n in gridsize)
    if rows < 1 or columns < 1 or rows * columns > 12:
        raise CompileError(f"gridsize must be non-zero and no more than 12 squares in texture {name!r}: {gridsize}")
    height, width, channels = image.shape
    if width % columns or height % rows or width // columns != height // rows:
        raise CompileError(
            f"PNG size must be integer multiple of gridsize in texture {name!r}: image {width} x {height}, "
            f"grid of {rows} rows and {columns} columns"
        )
    side = width // columns
    if rows == columns == 1:
        return image
    if channels != 3:
        raise CompileError(f"cube and skybox texture {name!r} must have 3 channels, got {channels}")
    if gridlayout.strip(".") and len(gridlayout) != rows * columns:
        raise CompileError(
            f"gridlayout length must match gridsize in texture {name!r}: {gridlayout!r} for {rows * columns} cells"
        )
    faces = np.broadcast_to(fill, (6, side, side, 3)).copy()
    for cell, symbol in enumerate(gridlayout[: rows * columns]):
        if symbol == ".":
            continue
        if symbol not in FACES:
            raise CompileError(f"gridlayout symbol is not among '.RLUDFB' in texture {name!r}: {symbol!r}")
        top, left = side * (cell // columns), side * (cell % columns)
        faces[FACES.index(symbol)] = image[top : top + side, left : left + side]
    return faces.reshape(6 * side, side, 3)


def _cube_of_files(
    name: str,
    files: Sequence[Resource | None],
    content_type: str | None,
    nchannel: int,
    hflip: bool,
    vflip: bool,
    fill: Bytes,
) -> tuple[Bytes, bool]:
    """The faces of a cube from a file each; missing ones take the fill colour."""
    faces: Bytes | None = None
    is_srgb = False
    for index, file in enumerate(files):
        if file is None:
            continue
        image, file_srgb = _image(name, file, content_type, nchannel, hflip, vflip)
        height, width, channels = image.shape
        if width != height:
            raise CompileError(f"Non-square PNG file {file.name!r} in cube or skybox {name!r}: {width} x {height}")
        if channels != 3:
            raise CompileError(f"cube and skybox texture {name!r} must have 3 channels, got {channels}")
        if faces is None:
            faces, is_srgb = np.broadcast_to(fill, (6, width, width, 3)).copy(), file_srgb
        elif faces.shape[1] != width:
            raise CompileError(f"PNG file {file.name!r} has incompatible size in texture {name!r}: {width}")
        faces[index] = image
    if faces is None:
        raise CompileError(f"No cubefiles defined in cube or skybox texture {name!r}")
    return faces.reshape(-1, faces.shape[2], 3), is_srgb


def pack_textures(textures: Sequence[CompiledTexture]) -> DeferredArrays:
    """All textures as mjModel arrays (tex_pathadr and tex_contenttypeadr excepted); pixels when they are read."""
    counts = [prod(texture.shape) for texture in textures]
    packed = DeferredArrays({
        "tex_type": np.array([texture.type for texture in textures], np.int32),
        "tex_colorspace": np.array([texture.colorspace for texture in textures], np.int32),
        "tex_height": np.array([texture.shape[0] for texture in textures], np.int32),
        "tex_width": np.array([texture.shape[1] for texture in textures], np.int32),
        "tex_nchannel": np.array([texture.shape[2] for texture in textures], np.int32),
        "tex_adr": np.where(counts, np.cumsum([0, *counts])[:-1], -1).astype(np.int64),
    })  # fmt: skip
    packed.later(
        "tex_data",
        lambda: np.concatenate([np.zeros(0, np.uint8), *(texture.data.ravel() for texture in textures)]),
    )
    return packed
