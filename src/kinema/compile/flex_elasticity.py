"""Elastic energies of flexes whose vertices move by themselves: stretching of triangles and tetrahedra, bending.

Stretching. An element's Green strain is linear in the squares of its edge lengths, E = sum_e (l_e^2 - L_e^2) B_e, with
B_e = sym(n_a ⊗ n_b) / (8 A^2) of the in-plane normals of the two other edges in a triangle of area A, and
sym(a ⊗ b) / (36 V^2) of the area vectors of the two faces off the edge in a tetrahedron of volume V (Weischedel, "A
discrete geometric view on shear-deformable shell models", section 4.1). The energy of a Saint Venant-Kirchhoff
material is a quadratic form over edges,

    metric[e, f] = V (mu tr(B_e B_f) + lambda / 2 tr B_e tr B_f),   upper triangle stored

with V the volume, or area times thickness and the plane-stress lambda* = E nu / (1 - nu^2).

Bending. Two triangles that share an edge resist folding with the rigidity D = E t^3 / 12 (1 - nu^2): the cotangent
form of Wardetzky et al. ("Discrete quadratic curvature energies"), 4 x 4 over the four vertices of the flap, and one
number more for a reference that is folded already: its triple product over the squared heights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinema.geometry.mesh import Float64, Int32

METRIC = {2: 21, 3: 24}
"""Numbers kept for each element: the upper triangle over its edges, and three of another material's, which are 0."""
BENDING = 17
_FACES = {2: np.array([[1, 2], [2, 0], [0, 1]]), 3: np.array([[2, 1, 0], [0, 1, 3], [1, 2, 3], [2, 0, 3]])}
_OFF_EDGE = {
    2: np.array([[1, 2], [2, 0], [0, 1]]),
    3: np.array([[2, 3], [1, 3], [2, 1], [1, 0], [0, 2], [0, 3]]),
}
"""The two faces of an element that an edge is not part of (of a triangle: its other two edges)."""


def plane_stress(young: float, poisson: float) -> float:
    return young * poisson / (1.0 - poisson * poisson)


def stretching(point: Float64, element: Int32, dim: int, young: float, poisson: float, thickness: float) -> Float64:
    """(nelem, 21 or 24) metrics of edge lengths."""
    mu = young / (2 * (1 + poisson))
    if dim == 2:
        return edge_metric(point[element], mu * thickness, plane_stress(young, poisson) * thickness)
    return edge_metric(point[element], mu, young * poisson / ((1 + poisson) * (1 - 2 * poisson)))


def edge_metric(x: Float64, mu: Float64 | float, lame: Float64 | float) -> Float64:
    """(nelem, 21 or 24) metrics of elements with corners x (nelem, dim + 1, 3), by their Lamé parameters.

    Those of triangles are of a plane, times the thickness [N/m].
    """
    dim = x.shape[1] - 1
    if dim == 2:
        scale = 0.5 * np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1)
        basis = _triangle_basis(x, scale)
    else:
        volume = _triple(x) / 6
        basis, scale = _tetrahedron_basis(x, volume), np.abs(volume)
    mu, lame = (np.broadcast_to(value, len(x))[:, None, None] for value in (mu, lame))
    trace = np.trace(basis, axis1=2, axis2=3)  # (n, k)
    square = np.einsum("neij,nfji->nef", basis, basis)
    metric = scale[:, None, None] * (mu * square + 0.5 * lame * trace[:, :, None] * trace[:, None, :])
    row, column = np.triu_indices(basis.shape[1])
    out = np.zeros((len(x), METRIC[dim]))
    out[:, : len(row)] = metric[:, row, column]
    return out


def _triple(x: Float64) -> Float64:
    return (np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 0])).sum(axis=1)


def _triangle_basis(x: Float64, area: Float64) -> Float64:
    basis = []
    for left, right in _OFF_EDGE[2]:
        a, b = _FACES[2][left], _FACES[2][right]
        one, two = x[:, a[0]] - x[:, a[1]], x[:, b[1]] - x[:, b[0]]
        normal = np.cross(two, one)
        normal = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        basis.append(_symmetric(np.cross(normal, one), np.cross(two, normal)) / (8 * area * area)[:, None, None])
    return np.stack(basis, axis=1)


def _tetrahedron_basis(x: Float64, volume: Float64) -> Float64:
    basis = []
    for left, right in _OFF_EDGE[3]:
        faces = (_FACES[3][left], _FACES[3][right])
        one, two = (np.cross(x[:, f[1]] - x[:, f[0]], x[:, f[2]] - x[:, f[0]]) for f in faces)
        basis.append(_symmetric(one, two) / (72 * volume * volume)[:, None, None])
    return np.stack(basis, axis=1)


def _symmetric(a: Float64, b: Float64) -> Float64:
    outer = a[:, :, None] * b[:, None, :]
    return outer + outer.transpose(0, 2, 1)


def bending(point: Float64, flap: Int32, young: float, poisson: float, thickness: float) -> Float64:
    """(nedge, 17) bending of all flaps; edges of one triangle have none."""
    out = np.zeros((len(flap), BENDING))
    inner = flap[:, 3] >= 0
    v = [point[flap[inner, k]] for k in range(4)]
    rigidity = young * thickness**3 / (12 * (1 - poisson * poisson))
    stiffness = rigidity / (_area(v[0], v[1], v[2]) + _area(v[1], v[0], v[3]))
    edge, one, two = v[1] - v[0], v[2] - v[0], v[3] - v[0]
    normal, other = np.cross(edge, one), np.cross(two, edge)
    cosine = (normal * other).sum(axis=1) / (np.linalg.norm(normal, axis=1) * np.linalg.norm(other, axis=1))
    weight = curvature(v)
    out[inner, :16] = _form(weight, cosine * stiffness)
    heights = (edge * edge).sum(axis=1) / (weight[:, 2] * weight[:, 3])  # h2 h3, over the edge
    out[inner, 16] = -stiffness * (normal * two).sum(axis=1) / heights**2
    return out


def curvature(v: Sequence[Float64]) -> Float64:
    """(n, 4) weights w of the corners of flaps: sum w x is the edge's length times the angle it is folded by."""
    a01, a02 = _cotangent(v[0], v[1], v[2]), _cotangent(v[0], v[3], v[1])
    a03, a04 = _cotangent(v[1], v[2], v[0]), _cotangent(v[1], v[0], v[3])
    return np.stack([a03 + a04, a01 + a02, -(a01 + a03), -(a02 + a04)], axis=1)


def hinges(v: Sequence[Float64], stiffness: Float64, angle: Float64) -> Float64:
    """(n, 17) bending of flaps with a torsion spring [N m/rad] at a rest angle of their own.

    Folding by t costs stiffness (1 - cos(t - angle)); the angle's sign is that of (n1 x n2) (v1 - v0), with the normals
    n1 of (v0, v1, v2) and n2 of (v1, v0, v3). As everywhere in MuJoCo, a flap that is folded at rest also draws its
    triangles together: the form tells bending from stretching only where it is flat.
    """
    edge = v[1] - v[0]
    square = (edge * edge).sum(axis=1)
    weight = curvature(v)
    scale = stiffness / square
    out = np.zeros((len(edge), BENDING))
    out[:, :16] = _form(weight, np.cos(angle) * scale)
    inverse_heights = weight[:, 2] * weight[:, 3] / square  # 1 / (h2 h3), as w2 = - |edge| / h2
    out[:, 16] = scale * np.sqrt(square) * np.sin(angle) * inverse_heights
    return out


def _form(weight: Float64, stiffness: Float64) -> Float64:
    return (weight[:, :, None] * weight[:, None, :] * stiffness[:, None, None]).reshape(-1, 16)


def _cotangent(at: Float64, a: Float64, b: Float64) -> Float64:
    one, two = a - at, b - at
    return (one * two).sum(axis=1) / np.linalg.norm(np.cross(one, two), axis=1)


def _area(a: Float64, b: Float64, c: Float64) -> Float64:
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
