"""Dense linear algebra of one rigid body: six equations, not symmetric."""

import warp as wp


@wp.func
def solve6(a: wp.spatial_matrix, b: wp.spatial_vector) -> wp.spatial_vector:
    """x with a x = b, by elimination with row pivots; b itself where a is singular."""
    n = int(6)  # a variable, so that the loops stay loops
    singular = bool(False)
    x = b
    for k in range(n):
        pivot = int(k)
        for i in range(k + 1, n):
            if wp.abs(a[i, k]) > wp.abs(a[pivot, k]):
                pivot = i
        if a[pivot, k] == 0.0:
            singular = True
        else:
            for j in range(n):
                swap = a[k, j]
                a[k, j] = a[pivot, j]
                a[pivot, j] = swap
            swap = x[k]
            x[k] = x[pivot]
            x[pivot] = swap
            for i in range(k + 1, n):
                scale = a[i, k] / a[k, k]
                for j in range(k, n):
                    a[i, j] = a[i, j] - scale * a[k, j]
                x[i] = x[i] - scale * x[k]
    if singular:
        return b
    for r in range(n):
        k = n - 1 - r
        sum = x[k]
        for j in range(k + 1, n):
            sum -= a[k, j] * x[j]
        x[k] = sum / a[k, k]
    return x
