"""Gram's matrix of a tetrahedron, (x_i - x_0) . (x_j - x_0), out of squares of the lengths of its edges.

Edges stand as in elasticity.edge_corners: (0 1) (1 2) (2 0) (2 3) (0 3) (1 3).
"""

import warp as wp

from kinema.convex.bundle import vec6


@wp.func
def gram_matrix(q: vec6) -> wp.mat33:
    """The matrix: linear in the squares of lengths."""
    d = 0.5 * (q[0] + q[2] - q[1])
    e = 0.5 * (q[0] + q[4] - q[5])
    f = 0.5 * (q[2] + q[4] - q[3])
    return wp.mat33(q[0], d, e, d, q[2], f, e, f, q[4])


@wp.func
def gram(q: vec6) -> float:
    """Its determinant: 36 times the square of the volume."""
    return wp.determinant(gram_matrix(q))


@wp.func
def gram_slope(q: vec6) -> vec6:
    """The gradient of the determinant."""
    d = 0.5 * (q[0] + q[2] - q[1])
    e = 0.5 * (q[0] + q[4] - q[5])
    f = 0.5 * (q[2] + q[4] - q[3])
    c0 = q[2] * q[4] - f * f
    c1 = q[0] * q[4] - e * e
    c2 = q[0] * q[2] - d * d
    c3 = e * f - q[4] * d
    c4 = d * f - q[2] * e
    c5 = d * e - q[0] * f
    return vec6(c0 + c3 + c4, -c3, c1 + c3 + c5, -c5, c2 + c4 + c5, -c4)
