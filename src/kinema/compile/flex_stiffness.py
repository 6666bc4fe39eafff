"""Stiffness K = -∫ Bᵀ C B of one cell, or one face, of an interpolated flex: isotropic, linear.

    K[i k, j l] = -∫ λ ∂_k φ_i ∂_l φ_j + 2 μ ε(φ_i e_k) : ε(φ_j e_l)

over products φ of Lagrange polynomials of degree 1 or 2 in s, t, u along the cell. A whole cell is integrated by Gauss
points, term by term in MuJoCo's order: of its deformations many have the same stiffness, and which of them eigenvectors
single out hangs on the last digit. A cut cell is a sum over moments of what lies inside.

A face of a shell does the same in its plane, with the plane-stress λ* = E ν / (1 - ν²), times the thickness.
"""

from __future__ import annotations

import math

import numpy as np

BASIS = {1: np.array([[1, -1], [0, 1.0]]), 2: np.array([[1, -3, 2], [0, 4, -4], [0, -1, 2.0]])}
"""Coefficients of φ_i in powers of s, by degree."""


def values(s: float, order: int) -> list[float]:
    """φ_i(s)."""
    if order == 1:
        return [1 - s, s]
    return [2 * s * s - 3 * s + 1, 4 * (s - s * s), 2 * s * s - s]


def slopes(s: float, order: int) -> list[float]:
    """φ'_i(s)."""
    if order == 1:
        return [-1.0, 1.0]
    return [4 * s - 3, 4 * (1 - 2 * s), 4 * s - 1]


def gauss(order: int) -> tuple[list[float], list[float]]:
    """Points and weights on [0, 1], as many as a polynomial of this degree has nodes."""
    if order == 1:
        away = 0.5 / math.sqrt(3.0)
        return [0.5 - away, 0.5 + away], [0.5, 0.5]
    away = 0.5 * math.sqrt(3.0 / 5.0)
    return [0.5, 0.5 - away, 0.5 + away], [8.0 / 9.0 * 0.5, 5.0 / 9.0 * 0.5, 5.0 / 9.0 * 0.5]


def _symmetric(gradient: np.ndarray) -> np.ndarray:
    """ε(φ_i e_k) for gradients of φ_i (n, 3): (n, 3, 3, 3)."""
    strain = np.zeros((len(gradient), 3, 3, 3))
    for k in range(3):
        strain[:, k, k, :] = gradient
    return (strain + strain.transpose(0, 1, 3, 2)) / 2


def _contracted(gradient: np.ndarray, lame: float, mu: float, volume: float) -> tuple[np.ndarray, np.ndarray]:
    """Both terms of K at one point: (n, 3, n, 3) each."""
    strain = _symmetric(gradient)
    one, two = strain[:, :, None, None], strain[None, None]
    rows = [
        one[..., a, 0] * two[..., 0, a] + one[..., a, 1] * two[..., 1, a] + one[..., a, 2] * two[..., 2, a]
        for a in range(3)
    ]
    inner = rows[0] + rows[1] + rows[2]
    trace = lame * gradient[:, :, None, None] * gradient[None, None]
    return trace * volume, 2 * mu * inner * volume


def whole_stiffness(size: np.ndarray, order: int, young: float, poisson: float) -> np.ndarray:
    """K of a cell that is full, (3 N, 3 N)."""
    lame, mu = young * poisson / (1 + poisson) / (1 - 2 * poisson), young / (2 * (1 + poisson))
    points, weights = gauss(order)
    volume, scale = size[0] * size[1] * size[2], 1.0 / size
    number = (order + 1) ** 3
    out = np.zeros((number, 3, number, 3))
    for s, a in zip(points, weights, strict=True):
        for t, b in zip(points, weights, strict=True):
            for u, c in zip(points, weights, strict=True):
                at = [(values(x, order), slopes(x, order)) for x in (s, t, u)]
                gradient = np.array(
                    [
                        [at[0][k == 0][i] * at[1][k == 1][j] * at[2][k == 2][m] for k in range(3)]
                        for i in range(order + 1)
                        for j in range(order + 1)
                        for m in range(order + 1)
                    ]
                )
                for term in _contracted(gradient * scale, lame, mu, a * b * c * volume):
                    out -= term
    return out.reshape(3 * number, 3 * number)


def cut_stiffness(moments: np.ndarray, size: np.ndarray, order: int, young: float, poisson: float) -> np.ndarray:
    """K of cells with these moments, (m, 3 N, 3 N)."""
    basis, number = BASIS[order], order + 1
    slope = np.zeros_like(basis)
    slope[:, :-1] = basis[:, 1:] * np.arange(1, number)
    lame, mu = young * poisson / (1 + poisson) / (1 - 2 * poisson), young / (2 * (1 + poisson))
    product = {}  # coefficients of φ_a φ_b, φ'_a φ_b, ... in powers
    for one, left in enumerate((basis, slope)):
        for two, right in enumerate((basis, slope)):
            product[one, two] = np.array([[np.convolve(a, b) for b in right] for a in left])
    count, n = len(moments), number**3
    gradient = np.zeros((3, 3, count, n, n))  # ∫ ∂_k φ_a ∂_l φ_b
    for k, m in np.ndindex(3, 3):
        factor = [product[int(axis == k), int(axis == m)] for axis in range(3)]
        full = np.einsum("qijk,adi,bej,cfk->qabcdef", moments, *factor, optimize=True)
        gradient[k, m] = full.reshape(count, n, n) * (float(np.prod(size)) / (size[k] * size[m]))
    out = np.zeros((count, n, 3, n, 3))
    trace = gradient[0, 0] + gradient[1, 1] + gradient[2, 2]
    for k, m in np.ndindex(3, 3):
        out[:, :, k, :, m] = lame * gradient[k, m] + mu * gradient[m, k] + (k == m) * mu * trace
    return -out.reshape(count, 3 * n, 3 * n)


def face_stiffness(
    size: tuple[float, float], axes: tuple[int, int], order: int, young: float, poisson: float, thickness: float
) -> np.ndarray:
    """K of a face with these sides along two axes of space, (3 N, 3 N): stretching in its plane alone."""
    lame, mu = young * poisson / (1.0 - poisson * poisson), young / (2.0 * (1.0 + poisson))
    points, weights = gauss(order)
    number = (order + 1) ** 2
    area = size[0] * size[1]
    out = np.zeros((number, 3, number, 3))
    for s, a in zip(points, weights, strict=True):
        for t, b in zip(points, weights, strict=True):
            one, two = (values(s, order), slopes(s, order)), (values(t, order), slopes(t, order))
            gradient = np.zeros((number, 3))
            gradient[:, axes[0]] = [x * y * (1.0 / size[0]) for x in one[1] for y in two[0]]
            gradient[:, axes[1]] = [x * y * (1.0 / size[1]) for x in one[0] for y in two[1]]
            for term in _contracted(gradient, lame, mu, a * b * area * thickness):
                kept = np.zeros_like(term)
                plane = np.ix_(range(number), axes, range(number), axes)
                kept[plane] = term[plane]
                out -= kept
    return out.reshape(3 * number, 3 * number)
