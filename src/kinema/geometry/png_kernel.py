"""The Warp kernel behind `png_filter` for large images; a module of its own, so that only they load Warp."""

import warp as wp

from kinema.dialect import mend

mend()


@wp.func
def paeth(a: int, b: int, c: int) -> int:
    """Whichever of a, b, c is nearest to a + b - c, in that order where they tie."""
    far_a = wp.abs(b - c)
    far_b = wp.abs(a - c)
    far_c = wp.abs(a + b - 2 * c)
    if far_a <= far_b and far_a <= far_c:
        return a
    if far_b <= far_c:
        return b
    return c


@wp.kernel(enable_backward=False)
def restore_lines(kind: wp.array(dtype=wp.uint8), line: wp.array2d(dtype=wp.uint8), step: int):
    """Undo the filters of all lines in place; one thread, since each byte needs those before it."""
    for row in range(line.shape[0]):
        filter = int(kind[row])
        for i in range(line.shape[1]):
            a = int(0)
            b = int(0)
            c = int(0)
            if i >= step:
                a = int(line[row, i - step])
            if row > 0:
                b = int(line[row - 1, i])
                if i >= step:
                    c = int(line[row - 1, i - step])
            guess = int(0)
            if filter == 1:
                guess = a
            elif filter == 2:
                guess = b
            elif filter == 3:
                guess = (a + b) >> 1
            elif filter == 4:
                guess = paeth(a, b, c)
            line[row, i] = wp.uint8((int(line[row, i]) + guess) & 255)
