"""Running sums over the items of one world."""

import warp as wp

EXCLUSIVE = """
    const char* in = (const char*)count.data + w * (size_t)count.strides[0];
    char* out = (char*)start.data + w * (size_t)start.strides[0];
    const size_t ahead = count.strides[1], on = start.strides[1];
    int sum = 0;
    for (int k = 0; k < n; k += 16) {
        int c[16];
        for (int q = 0; q < 16; ++q) c[q] = k + q < n ? *(const int*)(in + (k + q) * ahead) : 0;
        for (int q = 0; q < 16; ++q)
            if (k + q < n) {
                *(int*)(out + (k + q) * on) = sum;
                sum += c[q];
            }
    }
    return sum;
"""


@wp.func_native(EXCLUSIVE)
def exclusive_sum(count: wp.array2d(dtype=int), start: wp.array2d(dtype=int), w: int, n: int) -> int:
    """start[w, k] = sum of count[w, j] over j < k; returns the sum of all.

    Sixteen counts are read before any sum is written: a thread that waits for one read at a time is slow on CUDA.
    """
