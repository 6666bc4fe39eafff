"""Textures made from colours: gradient, checker, flat, and the marks drawn over them.

Images are (height, width, 3) bytes. A cube has six square faces stacked from top to bottom: right, left, up, down,
front, back. Colours are numbers in [0, 1], turned into bytes by truncation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinema.geometry.mesh import Float64

Bytes = NDArray[np.uint8]


def color_bytes(color: Float64) -> Bytes:
    """255 times a colour, cut to whole bytes."""
    with np.errstate(invalid="ignore"):  # a one-pixel gradient has no colour; C turns that into a byte too
        return (255 * np.asarray(color, np.float64)).astype(np.int64).astype(np.uint8)


def _interpolated(rgb1: Float64, rgb2: Float64, position: Float64) -> Bytes:
    """From rgb2 at -1 to rgb1 at +1 through the sigmoid p / sqrt(1 + p^2)."""
    alpha = 0.5 * (1 + position / np.sqrt(1 + position * position) / (1.0 / np.sqrt(2)))
    alpha = np.clip(alpha, 0, 1)[..., None]
    return color_bytes(alpha * rgb1 + (1 - alpha) * rgb2)


def _coordinates(height: int, width: int) -> tuple[Float64, Float64]:
    """x to the right and y up, both in [-1, 1], of every pixel."""
    with np.errstate(divide="ignore", invalid="ignore"):
        x = 2 * np.arange(width) / np.float64(width - 1) - 1
        y = 1 - 2 * np.arange(height) / np.float64(height - 1)
    return np.broadcast_to(x, (height, width)), np.broadcast_to(y[:, None], (height, width))


def _checker(height: int, width: int, first: Bytes, second: Bytes) -> Bytes:
    below, right = np.arange(height)[:, None] >= height // 2, np.arange(width) >= width // 2
    return np.where((below == right)[..., None], first, second)


def plane(kind: str, height: int, width: int, rgb1: Float64, rgb2: Float64) -> Bytes:
    """A flat texture."""
    if kind == "gradient":
        x, y = _coordinates(height, width)
        return _interpolated(rgb2, rgb1, 2 * np.sqrt(x * x + y * y) - 1)
    if kind == "checker":
        return _checker(height, width, color_bytes(rgb1), color_bytes(rgb2))
    return np.broadcast_to(color_bytes(rgb1), (height, width, 3)).copy()


def cube(kind: str, width: int, rgb1: Float64, rgb2: Float64) -> Bytes:
    """(6 width, width, 3): the faces of a cube."""
    first, second = color_bytes(rgb1), color_bytes(rgb2)
    if kind == "gradient":
        x, y = _coordinates(width, width)
        length = np.sqrt(1 + x * x + y * y)
        side = _interpolated(rgb1, rgb2, np.arcsin(y / length) / (0.5 * np.pi))
        rise = 1 - np.arccos(1.0 / length) / (0.5 * np.pi)
        up, down = _interpolated(rgb1, rgb2, rise), _interpolated(rgb1, rgb2, -rise)
        faces = [side, side, up, down, side, side]
    elif kind == "checker":
        light, dark = _checker(width, width, first, second), _checker(width, width, second, first)
        faces = [light] * 4 + [dark] * 2
    else:
        flat = np.broadcast_to(first, (width, width, 3))
        faces = [flat, flat, flat, np.broadcast_to(second, (width, width, 3)), flat, flat]
    return np.concatenate(faces)


def mark(image: Bytes, kind: str, markrgb: Float64, probability: float) -> None:
    """Draw the edge, a cross or random dots on one image, in place."""
    height, width = image.shape[:2]
    color = color_bytes(markrgb)
    if kind == "edge":
        image[:, [0, -1]] = color
        image[[0, -1]] = color
    elif kind == "cross":
        image[:, width // 2] = color
        image[height // 2] = color
    elif kind == "random" and probability > 0:
        chance = mersenne_twister_64(42, height * width) / 2.0**64
        image[(chance < probability).reshape(height, width)] = color


def mersenne_twister_64(seed: int, count: int) -> NDArray[np.uint64]:
    """The first ``count`` numbers of MT19937-64 (Nishimura 2000), which C++ calls std::mt19937_64."""
    n, m = 312, 156
    mask = (1 << 64) - 1
    state = [seed]
    for i in range(1, n):
        state.append((6364136223846793005 * (state[-1] ^ (state[-1] >> 62)) + i) & mask)
    x = np.empty(n * (-(-count // n) + 1), np.uint64)
    x[:n] = state
    one, lower = np.uint64(1), np.uint64((1 << 31) - 1)
    y, z = np.empty(m, np.uint64), np.empty(m, np.uint64)
    for i in range(0, len(x) - n, m):  # x[i + n] follows from x[i], x[i + 1] and x[i + m]: m at a time
        np.bitwise_and(x[i : i + m], ~lower, out=y)
        np.bitwise_and(x[i + 1 : i + m + 1], lower, out=z)
        y |= z
        np.bitwise_and(y, one, out=z)
        z *= np.uint64(0xB5026F5AA96619E9)
        y >>= one
        y ^= z
        np.bitwise_xor(x[i + m : i + 2 * m], y, out=x[i + n : i + n + m])
    x = x[n : n + count]
    for shift, mask64 in ((-29, 0x5555555555555555), (17, 0x71D67FFFEDA60000), (37, 0xFFF7EEE000000000), (-43, mask)):
        moved = x >> np.uint64(-shift) if shift < 0 else x << np.uint64(shift)
        moved &= np.uint64(mask64)
        x ^= moved
    return x
