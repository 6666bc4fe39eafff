"""Bending of interpolated shells: the normal jumps where two squares of the shell meet (Crouzeix-Raviart).

At the middle of the edge between squares A and B, with tangents t = sum of x_j dphi_j of each,

    n = t1 x t2 / |t1 x t2|,   r = (n_A - n_B) - R n_0,   E = k / 2 |r|^2
    w = (r - n (n . r)) / |t1 x t2|,   f_j = +-k (dphi1_j w x t2 - dphi2_j w x t1)     + of A, - of B

where n_0 is the jump at rest and R the mean of how the two squares have turned (corotation.py). It has no damping, and
no part in the metric of the discrete integrator.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.math.quaternion import from_mat, normalize, rotate
from kinema.mujoco_enums import MINVAL


@wp.func
def basis(order: int, k: int, s: float) -> float:
    """A basis function on [0, 1]: 1 at node k, 0 at the others."""
    if order == 1:
        return wp.where(k == 0, 1.0 - s, s)
    return wp.where(k == 0, (2.0 * s - 1.0) * (s - 1.0), wp.where(k == 1, 4.0 * s * (1.0 - s), s * (2.0 * s - 1.0)))


@wp.func
def basis_slope(order: int, k: int, s: float) -> float:
    """Its derivative."""
    if order == 1:
        return wp.where(k == 0, -1.0, 1.0)
    return wp.where(k == 0, 4.0 * s - 3.0, wp.where(k == 1, 4.0 - 8.0 * s, 4.0 * s - 1.0))


@wp.func
def square_slopes(order: int, j: int, at: wp.vec2) -> wp.vec2:
    """Derivatives of the basis function of node j of a square along its two axes."""
    a = j / (order + 1)
    b = j % (order + 1)
    return wp.vec2(
        basis_slope(order, a, at[0]) * basis(order, b, at[1]), basis(order, a, at[0]) * basis_slope(order, b, at[1])
    )


@wp.func
def tangents(m: Model, d: Data, w: int, c: int, count: int, at: wp.vec2) -> wp.spatial_vector:
    """Both tangents of a square at a place, in the frame its nodes slide in."""
    order = wp.where(count == 4, 1, 2)
    first = m.flex.cell[c][2]
    zero = d.flex.node_place[w, m.flex.cell[m.size.nflexcell + first][1] - m.size.nflexvert]
    t1 = wp.vec3()
    t2 = wp.vec3()
    for j in range(count):
        slopes = square_slopes(order, j, at)
        x = d.flex.node_place[w, m.flex.cell[m.size.nflexcell + first + j][1] - m.size.nflexvert] - zero
        t1 += slopes[0] * x
        t2 += slopes[1] * x
    return wp.spatial_vector(t1, t2)


@wp.func
def crease_force(m: Model, d: Data, w: int, k: int):
    """Forces of one crease on the nodes of its two squares."""
    crease = m.flex.hinge[m.size.nflexhinge + k]
    count = crease[3]
    slot = 4 * (m.size.nflexelem + m.size.nflexhinge) + m.size.nflexcellnode + crease[2]
    for j in range(2 * count):
        d.flex.part_force[w, slot + j] = wp.spatial_vector()
    order = wp.where(count == 4, 1, 2)
    adr = crease[5]
    normal = wp.mat33()
    size = wp.vec2()
    for side in range(2):
        at = wp.vec2(m.flex.elastic[w, adr + 2 + 2 * side], m.flex.elastic[w, adr + 3 + 2 * side])
        t = tangents(m, d, w, crease[side], count, at)
        cross = wp.cross(wp.vec3(t[0], t[1], t[2]), wp.vec3(t[3], t[4], t[5]))
        size[side] = wp.length(cross)
        normal[side] = cross / wp.max(MINVAL, size[side])
    if size[0] >= MINVAL and size[1] >= MINVAL:
        one = from_mat(d.flex.cell_turn[w, crease[0]])
        two = from_mat(d.flex.cell_turn[w, crease[1]])
        mean = normalize(one + wp.where(wp.dot(one, two) < 0.0, -1.0, 1.0) * two)
        rest = wp.vec3(m.flex.elastic[w, adr + 7], m.flex.elastic[w, adr + 8], m.flex.elastic[w, adr + 9])
        jump = normal[0] - normal[1] - rotate(mean, rest)
        base = m.flex.point[m.flex.cell[m.size.nflexcell + m.flex.cell[crease[0]][2]][1]][5]
        for side in range(2):
            at = wp.vec2(m.flex.elastic[w, adr + 2 + 2 * side], m.flex.elastic[w, adr + 3 + 2 * side])
            t = tangents(m, d, w, crease[side], count, at)
            n = normal[side]
            pull = (jump - n * wp.dot(n, jump)) / size[side]
            along1 = wp.cross(pull, wp.vec3(t[0], t[1], t[2]))
            along2 = wp.cross(pull, wp.vec3(t[3], t[4], t[5]))
            stiffness = m.flex.elastic[w, adr + 6] * (1.0 - 2.0 * float(side))
            for j in range(count):
                slopes = square_slopes(order, j, at)
                force = stiffness * (slopes[0] * along2 - slopes[1] * along1)
                if base >= 0:
                    force = d.pose.xmat[w, base] * force
                d.flex.part_force[w, slot + side * count + j] = wp.spatial_vector(force, wp.vec3())
