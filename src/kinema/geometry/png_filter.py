"""The scan-line filters of PNG, undone.

Each byte of a line is stored as its difference to a guess made from the bytes of the pixels on the left (a), above (b)
and above left (c): nothing, a, b, their mean, or Paeth's choice of the one nearest to a + b - c. The first three undo a
line at a time. The others need the left and the upper neighbour of every pixel, which is a loop: a small image is
restored along its anti-diagonals in NumPy, all lines at once; a large one by a Warp kernel on the CPU, ten times faster
but with Warp to load first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
LARGE = 1 << 17  # bytes


def unfiltered(kind: Bytes, line: Bytes, step: int) -> Bytes:
    """Lines without their filters.

    Args:
        kind: (rows,) filter of each line, 0 to 4.
        line: (rows, length) filtered bytes.
        step: Distance in bytes to the same byte of the pixel on the left.
    """
    if kind.max(initial=0) > 4:
        raise ValueError(f"unknown filter {int(kind.max())}")
    rows, length = line.shape
    if (kind >= 3).any() and line.size > LARGE:
        result = line.copy()
        _restore_by_kernel(kind, result, step)
        return result
    padded = -(-length // step) * step
    pixel = np.zeros((rows, padded // step, step), np.uint8)
    pixel.reshape(rows, padded)[:, :length] = line
    if (kind >= 3).any():
        _restore_along_diagonals(kind, pixel)
    else:
        _restore_by_line(kind, pixel)
    return pixel.reshape(rows, padded)[:, :length]


def _restore_by_line(kind: Bytes, pixel: Bytes) -> None:
    """Restore (rows, columns, step) bytes in place where each line has filter 0, 1 or 2."""
    for row in range(len(pixel)):
        if kind[row] == 1:
            np.cumsum(pixel[row], axis=0, dtype=np.uint8, out=pixel[row])
        elif kind[row] == 2 and row:
            pixel[row] += pixel[row - 1]


def _restore_along_diagonals(kind: Bytes, pixel: Bytes) -> None:
    """Restore (rows, columns, step) bytes in place.

    Line r is shifted r pixels to the right: what one column needs then lies in the two columns before it.
    """
    rows, columns, step = pixel.shape
    skewed = np.zeros((rows + columns - 1, rows + 1, step), np.int16)  # by diagonal; line 0 is the blank one above
    r, column = np.arange(rows)[:, None], np.arange(columns)
    skewed[r + column, r + 1] = pixel
    sub, up, average, paeth = ((kind == k)[:, None] for k in (1, 2, 3, 4))
    blank = np.zeros((rows + 1, step), np.int16)
    for diagonal in range(rows + columns - 1):
        first, last = max(0, diagonal - columns + 1), min(rows, diagonal + 1)
        here, before = skewed[diagonal], skewed[diagonal - 1] if diagonal else blank
        earlier = skewed[diagonal - 2] if diagonal > 1 else blank
        lines = slice(first, last)
        a, b, c = before[first + 1 : last + 1], before[first:last], earlier[first:last]
        to_a, to_b = b - c, a - c  # how far the estimate a + b - c is from a and from b
        far_a, far_b, far_c = np.abs(to_a), np.abs(to_b), np.abs(to_a + to_b)
        nearest = np.where((far_a <= far_b) & (far_a <= far_c), a, np.where(far_b <= far_c, b, c))
        guess = a * sub[lines] + b * up[lines] + ((a + b) >> 1) * average[lines] + nearest * paeth[lines]
        here[first + 1 : last + 1] = (here[first + 1 : last + 1] + guess) & 255
    pixel[...] = skewed[r + column, r + 1]


def _restore_by_kernel(kind: Bytes, line: Bytes, step: int) -> None:
    """Restore (rows, length) bytes in place with one thread on the CPU."""
    import warp as wp

    from kinema.geometry.png_kernel import restore_lines

    kinds = wp.array(np.ascontiguousarray(kind), dtype=wp.uint8, device="cpu")
    lines = wp.array(line, dtype=wp.uint8, device="cpu", copy=False)
    wp.launch(restore_lines, dim=1, inputs=[kinds, lines, step], device="cpu")
