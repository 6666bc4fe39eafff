"""Writing on pictures: names of a model's elements where they are, and blocks of text in corners.

A point x of the world lies in the camera's frame at R^T (x - p) = (a, b, -depth), and in the picture at the fractions
(1 + (a / depth - c_x) / h_x) / 2 from the left and (1 - (b / depth - c_y) / h_y) / 2 from the top, where the lens has
centre c and half sizes h (camera.py). Names behind the camera or beyond the picture are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinema.errors import BuildError, did_you_mean, need

PLACES = {
    "body": ("xipos", "nbody"), "joint": ("xanchor", "njnt"), "geom": ("geom_xpos", "ngeom"),
    "site": ("site_xpos", "nsite"), "camera": ("cam_xpos", "ncam"), "light": ("light_xpos", "nlight"),
}  # fmt: skip
"""Elements whose names can be written, the array that says where they are, and how many there are."""

CORNERS = ("top left", "top right", "bottom left", "bottom right")
"""Where a block of text may stand, in the order of mjtGridPos."""
SIZE = 12  # of letters [pixels]


def names_at(m, kind: str) -> tuple[list[str], str]:
    """Names of all elements of a kind (empty where one has none), and the array that says where they are."""
    if kind not in PLACES:
        raise BuildError(f"labels={kind!r}{did_you_mean(str(kind), PLACES)}: known are {', '.join(PLACES)}")
    array, size = PLACES[kind]
    if callable(getattr(m, "names", None)):
        return list(m.names(kind)), array
    return [getattr(m, kind)(i).name for i in range(int(getattr(m, size)))], array


def projected(points: np.ndarray, pos, mat, lens, orthographic: bool, width: int, height: int) -> np.ndarray:
    """Columns and rows (n, 2) of points (n, 3) in a picture; NaN behind the camera."""
    local = (np.asarray(points, float) - pos) @ mat
    depth = np.ones(len(local)) if orthographic else -local[:, 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        across = local[:, :2] / np.where(depth > 0, depth, np.nan)[:, None]
    fraction = 0.5 + 0.5 * (across - lens[:2]) / lens[2:]
    found = np.stack([fraction[:, 0] * width, (1 - fraction[:, 1]) * height], axis=1)
    found[-local[:, 2] <= 0] = np.nan
    return found


def write_labels(pictures: np.ndarray, renderer, kind: str) -> None:
    """Write the names of elements on pictures (worlds, height, width, 3), of a renderer's first camera."""
    names, array = names_at(renderer.sim.model, kind)
    places = np.asarray(renderer.sim.engine.read(array))
    views = renderer.views
    pos, mat, lens = views.pos.numpy(), views.mat.numpy(), views.lens.numpy()
    orthographic = bool(views.orthographic.numpy()[0])
    for slot, world in enumerate(renderer.worlds):
        points = places[world].reshape(-1, 3)
        at = projected(points, pos[slot, 0], mat[slot, 0], lens[slot, 0], orthographic, renderer.width, renderer.height)
        pen = Pen(pictures[slot])
        for name, (x, y) in zip(names, at, strict=True):
            if name and 0 <= x < renderer.width and 0 <= y < renderer.height:
                pen.write(name, (float(x), float(y)), middle=True)
        pictures[slot] = pen.picture()


def write_text(picture: np.ndarray, title: str, body: str, corner: str) -> np.ndarray:
    """A picture with two columns of text in a corner, lines side by side."""
    if corner not in CORNERS:
        raise BuildError(f"position {corner!r}{did_you_mean(corner, CORNERS)}: known are {', '.join(CORNERS)}")
    height, width = picture.shape[:2]
    lines = [pair for pair in _lines(title, body) if any(pair)]
    pen, gap = Pen(picture), SIZE + 3
    columns = [max((pen.width(pair[k]) for pair in lines), default=0.0) for k in (0, 1)]
    left = 4.0 if "left" in corner else width - 8.0 - sum(columns)
    top = 3.0 if "top" in corner else height - 3.0 - gap * len(lines)
    for n, (first, second) in enumerate(lines):
        pen.write(first, (left, top + gap * n))
        pen.write(second, (left + columns[0] + 4.0, top + gap * n))
    return pen.picture()


def _lines(title: str, body: str) -> list[tuple[str, str]]:
    first, second = title.split("\n"), body.split("\n")
    count = max(len(first), len(second))
    return list(zip(first + [""] * (count - len(first)), second + [""] * (count - len(second)), strict=True))


class Pen:
    """Writes white letters with a dark rim on a picture (height, width, 3)."""

    def __init__(self, picture: np.ndarray):
        image, draw, font = (need(f"PIL.{name}", "video", "Labels") for name in ("Image", "ImageDraw", "ImageFont"))
        self._image: Any = image.fromarray(picture)
        self._draw: Any = draw.Draw(self._image)
        try:
            self._font: Any = font.load_default(size=SIZE)
        except (TypeError, ImportError):  # Pillow 10.0, or one built without FreeType, has one size
            self._font = font.load_default()

    def width(self, text: str) -> float:
        """How wide a line of text is."""
        return float(self._draw.textlength(text, font=self._font))

    def write(self, text: str, at: tuple[float, float], *, middle: bool = False) -> None:
        """Write a line from a place on, or about it."""
        if middle:
            at = (at[0] - 0.5 * self.width(text), at[1] - 0.5 * SIZE)
        for x, y in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            self._draw.text((at[0] + x, at[1] + y), text, fill=(20, 20, 20), font=self._font)
        self._draw.text(at, text, fill=(255, 255, 255), font=self._font)

    def picture(self) -> np.ndarray:
        """The picture as it is now."""
        return np.asarray(self._image)
