"""How much a rod is bent: the curvature at a vertex, its energy, and the slopes of both (Bergou et al. 2008).

Between segments e0 and e1 a rod turns by θ. Its curvature binormal, 2 tan(θ/2) long and normal to both, is

    κ = 2 e0 x e1 / (|e0| |e1| + e0 . e1),   dκ/de0 = (-2 [e1]x - κ g0') / n,   dκ/de1 = (2 [e0]x - κ g1') / n

with the denominator n and its gradients g0 = |e1|/|e0| e0 + e1, g1 = |e0|/|e1| e1 + e0. A bend's energy is a function
of what is here called its shape, s: κ of a single vertex; of a pair of vertices, both κ along two normals of the
segment between them. From it come a slope g = dE/ds, a stiffness W that is not indefinite, and what damping resists, D:

    force -S'g,   stiffness S'WS,   damper -c S'D S v,     S: how the shape changes with the vertices

    straight single    k |κ|^2                    D = 2 k n n', n: along κ, so that turning as a whole is not resisted
    curved single      k (|κ| - κ0)^2
    pair               w1 (|κ1| - κ01)^2 + w2 (|κ2| - κ02)^2 + kd |R(ψ) n1 - n2|^2       ψ: between their planes at rest

Where κ vanishes the direction of a curved rest shape is not defined; there r = |κ| / κ0 is sqrt(r^2 + ε^2), and the
rest shape has sqrt(1 + ε^2). Bends of chains, whose segments turn, are in rod_chain.py.
"""

from __future__ import annotations

import warp as wp

from kinema.mujoco_enums import MINVAL

mat43 = wp.types.matrix(shape=(4, 3), dtype=float)
SMOOTH = wp.constant(1.0e-8)  # ε^2
ROUND = wp.constant((1.0 + 1.0e-8) ** 0.5)


@wp.func
def is_bendable(e0: wp.vec3, e1: wp.vec3) -> bool:
    """Is the curvature defined? Not where a segment has no length, or the rod folds back."""
    l0 = wp.length(e0)
    l1 = wp.length(e1)
    return l0 >= MINVAL and l1 >= MINVAL and l0 * l1 + wp.dot(e0, e1) >= MINVAL


@wp.func
def curvature(e0: wp.vec3, e1: wp.vec3) -> wp.vec3:
    """κ."""
    return 2.0 / (wp.length(e0) * wp.length(e1) + wp.dot(e0, e1)) * wp.cross(e0, e1)


@wp.func
def curvature_slope(e0: wp.vec3, e1: wp.vec3, second: bool) -> wp.mat33:
    """dκ/de0, or dκ/de1."""
    l0 = wp.length(e0)
    l1 = wp.length(e1)
    size = l0 * l1 + wp.dot(e0, e1)
    kappa = curvature(e0, e1)
    if second:
        return (2.0 * wp.skew(e0) - wp.outer(kappa, (l0 / l1) * e1 + e0)) / size
    return (-2.0 * wp.skew(e1) - wp.outer(kappa, (l1 / l0) * e0 + e1)) / size


@wp.func
def vertex_slope(e0: wp.vec3, e1: wp.vec3, i: int) -> wp.mat33:
    """dκ/dx of the vertex before, at, or behind the bend; 0 for others."""
    slope = wp.mat33()
    if i == 0 or i == 1:
        slope = wp.where(i == 0, -1.0, 1.0) * curvature_slope(e0, e1, False)
    if i == 1 or i == 2:
        slope += wp.where(i == 1, -1.0, 1.0) * curvature_slope(e0, e1, True)
    return slope


@wp.func
def normals(t: wp.vec3) -> wp.spatial_vector:
    """Two normals of a direction."""
    u = wp.where(wp.abs(t[1]) < 0.5, wp.vec3(0.0, 1.0, 0.0), wp.vec3(0.0, 0.0, 1.0))
    u = wp.normalize(u - t * wp.dot(t, u))
    return wp.spatial_vector(u, wp.cross(t, u))


@wp.func
def shape_slope(e0: wp.vec3, e1: wp.vec3, e2: wp.vec3, pair: bool, i: int) -> mat43:
    """S of the i-th vertex of a bend."""
    found = mat43()
    slope = vertex_slope(e0, e1, i)
    if pair:
        axes = normals(wp.normalize(e1))
        u = wp.vec3(axes[0], axes[1], axes[2])
        v = wp.vec3(axes[3], axes[4], axes[5])
        other = vertex_slope(e1, e2, i - 1)
        found[0] = wp.transpose(slope) * u
        found[1] = wp.transpose(slope) * v
        found[2] = wp.transpose(other) * u
        found[3] = wp.transpose(other) * v
    else:
        for r in range(3):
            found[r] = slope[r]
    return found


@wp.func
def shape_of(e0: wp.vec3, e1: wp.vec3, e2: wp.vec3, pair: bool) -> wp.vec4:
    """s."""
    kappa = curvature(e0, e1)
    found = wp.vec4(kappa[0], kappa[1], kappa[2], 0.0)
    if pair:
        axes = normals(wp.normalize(e1))
        u = wp.vec3(axes[0], axes[1], axes[2])
        v = wp.vec3(axes[3], axes[4], axes[5])
        other = curvature(e1, e2)
        found = wp.vec4(wp.dot(kappa, u), wp.dot(kappa, v), wp.dot(other, u), wp.dot(other, v))
    return found


@wp.func
def widened(a: wp.mat33) -> wp.mat44:
    """A matrix of three rows among four."""
    found = wp.mat44()
    for r in range(3):
        for c in range(3):
            found[r, c] = a[r, c]
    return found


@wp.func
def radial_part(size: float, rest: float) -> float:
    """1 - sqrt(1 + ε^2) / sqrt(r^2 + ε^2), which is small, without a difference of large numbers."""
    r = size / rest
    ratio = wp.sqrt(r * r + SMOOTH)
    return (size - rest) / rest * (r + 1.0) / (ratio * (ratio + ROUND))


# ---------------------------------------------------------------------------------------------- singles


@wp.func
def single_energy(kappa: wp.vec3, k: float, rest: float):
    """g, W and D of a single vertex that may bend in any plane."""
    size = wp.length(kappa)
    one = wp.identity(n=3, dtype=float)
    along = wp.mat33()
    damping = 2.0 * k * one
    if size >= MINVAL:
        along = wp.outer(kappa / size, kappa / size)
        damping = 2.0 * k * along
    slope = 2.0 * k * kappa
    stiffness = 2.0 * k * one
    if rest != 0.0:
        square = size * size / (rest * rest) + SMOOTH
        ratio = wp.sqrt(square)
        part = radial_part(size, rest)
        slope = part * slope
        stiffness = wp.mat33()
        if size >= MINVAL:
            radial = wp.max(0.0, 1.0 - ROUND * SMOOTH / (ratio * square))
            stiffness = 2.0 * k * (wp.max(0.0, part) * (one - along) + radial * along)
    return wp.vec4(slope[0], slope[1], slope[2], 0.0), widened(stiffness), widened(damping)


# ---------------------------------------------------------------------------------------------- pairs


@wp.func
def smooth_ratio(kappa: wp.vec2, rest: float) -> float:
    """sqrt(r^2 + ε^2) of a curvature; 1 where the rest shape is straight."""
    if rest <= 0.0:
        return 1.0
    return wp.sqrt(wp.dot(kappa, kappa) / (rest * rest) + SMOOTH)


@wp.func
def direction_slope(kappa: wp.vec2, rest: float) -> wp.mat22:
    """How the direction n of a curvature changes with it."""
    if rest <= 0.0:
        return wp.mat22()
    ratio = smooth_ratio(kappa, rest)
    size = wp.length(kappa)
    scale = ROUND / (ratio * rest)
    one = wp.identity(n=2, dtype=float)
    if size < MINVAL:
        return scale * one
    along = wp.outer(kappa / size, kappa / size)
    return scale * (one - along + SMOOTH / (ratio * ratio) * along)


@wp.func
def radial_stiffness(kappa: wp.vec2, weight: float, rest: float) -> wp.mat22:
    """W of w (|κ| - κ0)^2."""
    one = wp.identity(n=2, dtype=float)
    if rest <= 0.0:
        return 2.0 * weight * one
    size = wp.length(kappa)
    if size < MINVAL:
        return wp.mat22()
    ratio = smooth_ratio(kappa, rest)
    along = wp.outer(kappa / size, kappa / size)
    radial = wp.max(0.0, 1.0 - ROUND * SMOOTH / (ratio * ratio * ratio))
    return 2.0 * weight * (wp.max(0.0, radial_part(size, rest)) * (one - along) + radial * along)


@wp.func
def radial_damping(kappa: wp.vec2, weight: float) -> wp.mat22:
    """D of the same."""
    size = wp.length(kappa)
    if size < MINVAL:
        return 2.0 * weight * wp.identity(n=2, dtype=float)
    return 2.0 * weight * wp.outer(kappa / size, kappa / size)


@wp.func
def turned_direction(kappa: wp.vec2, rest: float) -> wp.vec2:
    """n."""
    if rest <= 0.0:
        return wp.vec2()
    return ROUND / (smooth_ratio(kappa, rest) * rest) * kappa


@wp.func
def direction_pull(kappa: wp.vec2, rest: float, own: wp.vec2, wanted: wp.vec2, kd: float) -> wp.vec2:
    """Slope of kd |n - ...|^2 / 2 by κ: what is along n and what is across it apart, for their sizes differ much."""
    size = wp.length(kappa)
    if rest <= 0.0 or size < MINVAL:
        return direction_slope(kappa, rest) * (kd * own - wanted)
    n = kappa / size
    across = wp.vec2(-n[1], n[0])
    ratio = smooth_ratio(kappa, rest)
    scale = ROUND / (ratio * rest)
    radial = SMOOTH / (ratio * ratio) * wp.dot(n, kd * own - wanted)
    return scale * (-wp.dot(across, wanted) * across + radial * n)


@wp.func
def pair_energy(shape: wp.vec4, w1: float, w2: float, rest1: float, rest2: float, turn: wp.vec2):
    """g, W and D of a pair; turn: kd (cos ψ, sin ψ)."""
    one = wp.vec2(shape[0], shape[1])
    two = wp.vec2(shape[2], shape[3])
    kd = wp.length(turn)
    slope = wp.vec4()
    stiffness = wp.mat44()
    damping = wp.mat44()
    if w1 > 0.0 or w2 > 0.0 or kd > 0.0:
        n1 = turned_direction(one, rest1)
        n2 = turned_direction(two, rest2)
        to1 = wp.vec2(turn[0] * n2[0] + turn[1] * n2[1], -turn[1] * n2[0] + turn[0] * n2[1])
        to2 = wp.vec2(turn[0] * n1[0] - turn[1] * n1[1], turn[1] * n1[0] + turn[0] * n1[1])
        g1 = 2.0 * direction_pull(one, rest1, n1, to1, kd)
        g2 = 2.0 * direction_pull(two, rest2, n2, to2, kd)
        part1 = float(1.0)
        part2 = float(1.0)
        if rest1 > 0.0:
            part1 = radial_part(wp.length(one), rest1)
        if rest2 > 0.0:
            part2 = radial_part(wp.length(two), rest2)
        g1 += 2.0 * w1 * part1 * one
        g2 += 2.0 * w2 * part2 * two
        slope = wp.vec4(g1[0], g1[1], g2[0], g2[1])
        m1 = direction_slope(one, rest1)
        m2 = direction_slope(two, rest2)
        k1 = radial_stiffness(one, w1, rest1) + 2.0 * kd * m1 * m1
        k2 = radial_stiffness(two, w2, rest2) + 2.0 * kd * m2 * m2
        cross = -2.0 * m1 * wp.mat22(turn[0], turn[1], -turn[1], turn[0]) * m2
        d1 = radial_damping(one, w1)
        d2 = radial_damping(two, w2)
        rate = wp.vec4()
        size1 = wp.length(one)
        size2 = wp.length(two)
        if size1 >= MINVAL and size2 >= MINVAL and rest1 > 0.0 and rest2 > 0.0:
            turn1 = wp.length(n2) / (smooth_ratio(one, rest1) * rest1 * size1)
            turn2 = wp.length(n1) / (smooth_ratio(two, rest2) * rest2 * size2)
            rate = wp.vec4(turn1 * one[1], -turn1 * one[0], -turn2 * two[1], turn2 * two[0])
        for r in range(2):
            for c in range(2):
                stiffness[r, c] = k1[r, c]
                stiffness[2 + r, 2 + c] = k2[r, c]
                stiffness[r, 2 + c] = cross[r, c]
                stiffness[2 + c, r] = cross[r, c]
                damping[r, c] = d1[r, c]
                damping[2 + r, 2 + c] = d2[r, c]
        damping += 2.0 * kd * wp.outer(rate, rate)
    return slope, stiffness, damping
