"""Stable Neo-Hookean solids (Smith et al. 2018), as MuJoCo writes them: tetrahedra that bear to be turned inside out.

With the gradient F of an element, C = F'F, J = det F, Lamé's μ and λ, and the volume V of the element at rest,

    E = V (μ/2 (tr C - 3) - μ (J - 1) + (λ + μ)/2 (J - 1)^2)

which is exactly, with Green's strain ε = (C - I - P) / 2,

    E = V (μ (tr ε^2 - (tr ε)^2) - 4 μ det ε + (λ + 2 μ)/2 (J - 1)^2)  =  s'Ks / 4 + a det g(s) + b (J - 1)^2

where s are squares of lengths of edges less those at rest and less what the element keeps (yielding.py), P the latter
as a strain, and g Gram's matrix. Near rest nothing of it is a small difference of large numbers. mjModel has K, then

    a = -μ / 72 V,    b = V (λ + 2 μ) / 2,    c = ±1 / 6 V,   J = c e_1 x e_2 . e_3   along edges from the first corner

**Stiffness.** In the frames of F = U diag(s) V' the second derivative of E by F, but for P_ij of i != j outside of
B = cof(C - P), falls into one 3 by 3 matrix of changes of size and three pairs of entries ij and ji,

    H_ii = μ (1 - B_i) + (λ + 2 μ) c_i^2                         A_i = s_i^2 - P_ii,   c_i = s_j s_k
    H_jk = -2 μ s_j s_k A_i + (λ + 2 μ) (c_j c_k + (J - 1) s_i)
    pairs  α ± β,   α = μ (1 - (B_j + B_k) / 2 + (s_j^2 + s_k^2) / 2 A_i),   β = μ s_j s_k A_i - (λ + 2 μ) (J - 1) s_i

Negative eigenvalues count as 0. The same stiffness is in the metric of the discrete integrator and, times Rayleigh's
coefficient, in the damper.
"""

from __future__ import annotations

import warp as wp

from kinema.convex.bundle import vec6
from kinema.convex.data import Data
from kinema.convex.flex.edges import span_between
from kinema.convex.flex.element import edge_corners, kept, triangle_index
from kinema.convex.flex.gram import gram_matrix, gram_slope
from kinema.convex.flex.rod_force import point_velocity
from kinema.convex.flex.singular import positive_part, singular_frames
from kinema.convex.model import Model
from kinema.mujoco_enums import MINVAL

CUBIC, BULK, UNIT = wp.constant(21), wp.constant(22), wp.constant(23)  # a, b and c among the numbers of an element


@wp.func
def is_neo_hookean(m: Model, w: int, e: int) -> bool:
    """Is an element of such a solid?"""
    neo = bool(False)
    if m.size.nflexelem_neo > 0:
        adr = m.flex.elemlist[e][2]
        if adr >= 0 and m.flex.elemvert[e][3] >= 0:
            neo = m.flex.elastic[w, adr + CUBIC] != 0.0
    return neo


@wp.func
def rest_inverse(square: vec6, sign: float) -> wp.mat33:
    """The inverse of the edges of an element at rest, as columns; Cholesky's, for turns of it do not count."""
    g = gram_matrix(square)
    l00 = wp.sqrt(wp.max(MINVAL, g[0, 0]))
    l10 = g[1, 0] / l00
    l20 = g[2, 0] / l00
    l11 = wp.sqrt(wp.max(MINVAL, g[1, 1] - l10 * l10))
    l21 = (g[2, 1] - l20 * l10) / l11
    l22 = sign * wp.sqrt(wp.max(MINVAL, g[2, 2] - l20 * l20 - l21 * l21))
    return wp.mat33(
        1.0 / l00, -l10 / (l00 * l11), (l10 * l21 / l11 - l20) / (l00 * l22),
        0.0, 1.0 / l11, -l21 / (l11 * l22),
        0.0, 0.0, 1.0 / l22,
    )  # fmt: skip


@wp.func
def principal_stiffness(s: wp.vec3, p: wp.mat33, mu: float, bulk: float):
    """The positive part of H of sizes; then of each pair half the sum of its eigenvalues, and half their difference."""
    sizes = wp.mat33()
    pairs = wp.mat33()
    swell = bulk * (s[0] * s[1] * s[2] - 1.0)
    a = wp.vec3(s[0] * s[0] - p[0, 0], s[1] * s[1] - p[1, 1], s[2] * s[2] - p[2, 2])
    b = wp.vec3(a[1] * a[2] - p[1, 2] * p[1, 2], a[2] * a[0] - p[2, 0] * p[2, 0], a[0] * a[1] - p[0, 1] * p[0, 1])
    for i in range(3):
        j = (i + 1) % 3
        k = (i + 2) % 3
        area = s[j] * s[k]
        both = -2.0 * mu * area * a[i] + bulk * s[i] * s[i] * area + swell * s[i]
        sizes[i, i] = mu * (1.0 - b[i]) + bulk * area * area
        sizes[j, k] = both
        sizes[k, j] = both
        alpha = mu * (1.0 - 0.5 * (b[j] + b[k]) + 0.5 * (s[j] * s[j] + s[k] * s[k]) * a[i])
        beta = mu * area * a[i] - swell * s[i]
        plus = wp.max(0.0, alpha + beta)
        minus = wp.max(0.0, alpha - beta)
        pairs[0, i] = 0.5 * (plus + minus)
        pairs[1, i] = 0.5 * (plus - minus)
    return positive_part(sizes), pairs


@wp.func
def principal_block(sizes: wp.mat33, pairs: wp.mat33, one: wp.vec3, two: wp.vec3) -> wp.mat33:
    """K between two corners whose weights in F are such vectors, in the frames of F."""
    block = wp.mat33()
    for i in range(3):
        j = (i + 1) % 3
        k = (i + 2) % 3
        block[i, i] = sizes[i, i] * one[i] * two[i] + pairs[0, k] * one[j] * two[j] + pairs[0, j] * one[k] * two[k]
        block[j, k] = sizes[j, k] * one[j] * two[k] + pairs[1, i] * one[k] * two[j]
        block[k, j] = sizes[k, j] * one[k] * two[j] + pairs[1, i] * one[j] * two[k]
    return block


# ---------------------------------------------------------------------------------------------- one element


@wp.func
def corner_spans(m: Model, d: Data, w: int, corner: wp.vec4i) -> wp.mat33:
    """From the first corner to the others, as columns."""
    return wp.matrix_from_cols(
        span_between(m, d, w, corner[0], corner[1]),
        span_between(m, d, w, corner[0], corner[2]),
        span_between(m, d, w, corner[0], corner[3]),
    )


@wp.func
def neo_shape(m: Model, d: Data, w: int, e: int):
    """The stiffness of one element between its second, third and fourth corner: neo_block."""
    if is_neo_hookean(m, w, e):
        adr = m.flex.elemlist[e][2]
        square = vec6()
        keeps = vec6()
        for k in range(6):
            rest = m.flex.edgenumber[w, m.flex.elemlist[e][3 + k]][0]
            square[k] = rest * rest
            keeps[k] = kept(m, d, w, e, k)
        unit = m.flex.elastic[w, adr + UNIT]
        volume = 1.0 / (6.0 * wp.abs(unit))
        mu = -72.0 * volume * m.flex.elastic[w, adr + CUBIC]
        bulk = 2.0 * m.flex.elastic[w, adr + BULK] / volume
        weights = rest_inverse(square, wp.sign(unit))
        u, s, v = singular_frames(corner_spans(m, d, w, m.flex.elemvert[e]) * weights)
        weights = weights * v
        p = wp.transpose(weights) * gram_matrix(keeps) * weights
        sizes, pairs = principal_stiffness(s, p, mu, bulk)
        for a in range(3):
            for b in range(a, 3):
                block = principal_block(sizes, pairs, weights[a], weights[b])
                d.flex.neo[w, e, triangle_index(3, a, b)] = volume * (u * block * wp.transpose(u))


@wp.func
def inner_block(d: Data, w: int, e: int, a: int, b: int) -> wp.mat33:
    """K between two corners, 0 being the second."""
    block = d.flex.neo[w, e, triangle_index(3, a, b)]
    if a > b:
        block = wp.transpose(block)
    return block


@wp.func
def neo_block(d: Data, w: int, e: int, a: int, b: int) -> wp.mat33:
    """K between two corners of an element: moved as a whole it bears nothing, so those of the first are sums."""
    sum = wp.mat33()
    for i in range(3):
        for j in range(3):
            if (a == 0 or a == i + 1) and (b == 0 or b == j + 1):
                sum += inner_block(d, w, e, i, j)
    return wp.where((a == 0) == (b == 0), 1.0, -1.0) * sum


@wp.func
def neo_force(m: Model, d: Data, w: int, e: int):
    """Forces of one element on its corners: of its spring, then of its damper."""
    if is_neo_hookean(m, w, e):
        corner = m.flex.elemvert[e]
        adr = m.flex.elemlist[e][2]
        long = vec6()
        for k in range(6):
            edge = m.flex.elemlist[e][3 + k]
            now = d.flex.edge_length[w, edge]
            rest = m.flex.edgenumber[w, edge][0]
            long[k] = (now - rest) * (now + rest) - kept(m, d, w, e, k)
        pull = 2.0 * m.flex.elastic[w, adr + CUBIC] * gram_slope(long)
        for i in range(6):
            for j in range(6):
                pull[i] = pull[i] + m.flex.elastic[w, adr + triangle_index(6, i, j)] * long[j]
        for k in range(4):
            d.flex.part_force[w, 4 * e + k] = wp.spatial_vector()
        spans = corner_spans(m, d, w, corner)
        unit = m.flex.elastic[w, adr + UNIT]
        press = -2.0 * m.flex.elastic[w, adr + BULK] * (unit * wp.determinant(spans) - 1.0) * unit
        damping = m.flex.number[w, m.flex.elemlist[e][0]][1]
        zero = point_velocity(m, d, w, corner[0])
        span = wp.transpose(spans)
        for a in range(3):
            drag = wp.vec3()
            for b in range(3):
                drag += inner_block(d, w, e, a, b) * (point_velocity(m, d, w, corner[b + 1]) - zero)
            swell = press * wp.cross(span[(a + 1) % 3], span[(a + 2) % 3])
            push(d, w, e, a + 1, 0, wp.spatial_vector(swell, -damping * drag))
        for k in range(6):
            ends = edge_corners(4, k)
            along = d.flex.vert_xpos[w, corner[ends[0]]] - d.flex.vert_xpos[w, corner[ends[1]]]
            push(d, w, e, ends[0], ends[1], wp.spatial_vector(-pull[k] * along, wp.vec3()))


@wp.func
def push(d: Data, w: int, e: int, a: int, b: int, force: wp.spatial_vector):
    """Force a corner of an element away from another."""
    d.flex.part_force[w, 4 * e + a] = d.flex.part_force[w, 4 * e + a] + force
    d.flex.part_force[w, 4 * e + b] = d.flex.part_force[w, 4 * e + b] - force
