"""Singular values of 3 by 3 matrices, and what of a symmetric one is positive, by Jacobi's rotations.

    F = U diag(s) V',   U and V rotations,   s1 >= s2 >= |s3|: of a matrix that turns inside out the last is negative

Columns of F are turned in planes until they are orthogonal (Hestenes 1958), which finds small values as well as large
ones: V is the product of the turns, and the columns are then s_i u_i.
"""

import warp as wp

from kinema.math.vector import column, normalize

SWEEPS = 10  # at most: each squares what is left
SMALL = wp.constant(1.0e-6)  # what is not worth a turn, of the geometric mean of the diagonal


@wp.func
def plane_turn(p: int, q: int, cosine: float, sine: float) -> wp.mat33:
    """A turn in the plane of two axes."""
    turn = wp.identity(n=3, dtype=float)
    turn[p, p] = cosine
    turn[q, q] = cosine
    turn[p, q] = sine
    turn[q, p] = -sine
    return turn


@wp.func
def jacobi_turn(p: int, q: int, app: float, aqq: float, apq: float) -> wp.mat33:
    """The turn by less than half a right angle that makes entry (p, q) of a symmetric matrix vanish."""
    tau = (aqq - app) / (2.0 * apq)
    tangent = wp.where(tau >= 0.0, 1.0, -1.0) / (wp.abs(tau) + wp.sqrt(1.0 + tau * tau))
    cosine = 1.0 / wp.sqrt(1.0 + tangent * tangent)
    return plane_turn(p, q, cosine, tangent * cosine)


@wp.func
def positive_part(a: wp.mat33) -> wp.mat33:
    """A symmetric matrix with its negative eigenvalues taken for 0."""
    b = 1.0 * a
    vectors = wp.identity(n=3, dtype=float)
    for _sweep in range(SWEEPS):
        turns = int(0)
        for k in range(3):
            p = (k + 1) % 3
            q = (k + 2) % 3
            if wp.abs(b[p, q]) > SMALL * wp.sqrt(wp.abs(b[p, p] * b[q, q])):
                turn = jacobi_turn(p, q, b[p, p], b[q, q], b[p, q])
                b = wp.transpose(turn) * b * turn
                vectors = vectors * turn
                turns += 1
        if turns == 0:
            break
    sum = wp.mat33()
    for k in range(3):
        v = column(vectors, k)
        sum += wp.max(0.0, b[k, k]) * wp.outer(v, v)
    return sum


@wp.func
def singular_frames(f: wp.mat33):
    """U, s and V of a matrix."""
    x = 1.0 * f
    v = wp.identity(n=3, dtype=float)
    for _sweep in range(SWEEPS):
        turns = int(0)
        for k in range(3):
            p = wp.min((k + 1) % 3, (k + 2) % 3)
            q = wp.max((k + 1) % 3, (k + 2) % 3)
            one = column(x, p)
            two = column(x, q)
            app = wp.dot(one, one)
            aqq = wp.dot(two, two)
            apq = wp.dot(one, two)
            turn = wp.identity(n=3, dtype=float)
            if wp.abs(apq) > SMALL * wp.sqrt(app * aqq):
                turn = jacobi_turn(p, q, app, aqq, apq)
                turns += 1
            elif aqq > app:
                turn = plane_turn(p, q, 0.0, 1.0)  # the longer goes first
                turns += 1
            x = x * turn
            v = v * turn
        if turns == 0:
            break
    u0 = normalize(column(x, 0))
    rest = column(x, 1) - wp.dot(u0, column(x, 1)) * u0
    if wp.length(rest) <= SMALL * wp.length(column(x, 0)):
        away = wp.where(wp.abs(u0[0]) < 0.7, wp.vec3(1.0, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0))
        rest = wp.cross(u0, away)
    u1 = wp.normalize(rest)
    u2 = wp.cross(u0, u1)
    values = wp.vec3(wp.dot(u0, column(x, 0)), wp.dot(u1, column(x, 1)), wp.dot(u2, column(x, 2)))
    return wp.matrix_from_cols(u0, u1, u2), values, v
