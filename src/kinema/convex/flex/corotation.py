"""Elastic forces of interpolated flexes: linear elasticity in cells that turn (Müller and Gross 2004).

    F = sum of x_j g_j',   F = R S,   u_j = R' (x_j - x_0) - (I + P) (X_j - X_0),   f = R K u,   damper: c R K R' v

with the places x of the nodes of a cell, X at rest, the rotation R of the cell by the polar decomposition of the
gradient F in its middle, K, minus the stiffness of the cell, and the strain P that it keeps where it yields
(cell_yielding.py). Places are taken from the first node, for K does not
mind where a cell is, and in the frame that the nodes slide in: there they are rest places and slides, without the
rounding of where that frame is in the world.

R is the rotation that maximizes tr(R' F), so it is there also for a cell that was turned inside out. With A = F R' the
slope along a turn w is w . axial(A - A'), and the curvature -w' T w with T = tr(A) I - (A + A') / 2. Where T is
positive definite, w = T^-1 axial(A - A') is a step of Newton's; elsewhere R is U V' of F = U diag(s) V' (singular.py),
for uphill is slow where one stretch is much larger than the others. At a saddle R stays as it is, as MuJoCo's does.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.flex.edges import slid_place
from kinema.convex.flex.singular import singular_frames
from kinema.convex.model import Model
from kinema.math.quaternion import from_mat, mul_quat, normalize, rotate, to_mat
from kinema.math.spatial import angular, linear
from kinema.math.vector import column
from kinema.mujoco_enums import MINVAL

TURNS = 20  # at most: each squares what is left
STILL = wp.constant(1.0e-6)  # a turn that is none [rad]


@wp.func
def polar_rotation(f: wp.mat33) -> wp.mat33:
    """R of F = R S."""
    quat = wp.vec4(1.0, 0.0, 0.0, 0.0)
    one = wp.identity(n=3, dtype=float)
    looked = int(0)
    for _turn in range(TURNS):
        a = f * wp.transpose(to_mat(quat))
        lever = wp.vec3(a[2, 1] - a[1, 2], a[0, 2] - a[2, 0], a[1, 0] - a[0, 1])
        size = wp.abs(wp.trace(a)) + MINVAL
        curve = (wp.trace(a) * one - 0.5 * (a + wp.transpose(a))) / size
        minor = curve[0, 0] * curve[1, 1] - curve[0, 1] * curve[0, 1]
        step = lever / size
        angle = wp.length(step)
        if curve[0, 0] > 1.0e-4 and minor > 1.0e-4 and wp.determinant(curve) > 1.0e-4:
            step = wp.inverse(curve) * step
            angle = wp.length(step)
            half = 0.5 * wp.min(1.0, 1.0 / wp.max(angle, MINVAL)) * step
            quat = normalize(mul_quat(wp.vec4(1.0, half[0], half[1], half[2]), quat))  # smooth where the step is 0
        elif looked == 0 and angle > STILL:
            u, _s, v = singular_frames(f)
            quat = from_mat(u * wp.transpose(v))
            looked = 1
        else:
            break  # a saddle, or stretches so alike that turns about one axis are
        if angle < STILL:
            break
    return to_mat(quat)


@wp.func
def slid_rate(m: Model, d: Data, w: int, base: int, p: int) -> wp.vec3:
    """How fast a point slides in the frame of a body."""
    b = m.flex.supportbody[m.flex.point[p][3]]
    rate = wp.vec3()
    if b != base:
        for j in range(m.body.jntadr[b], m.body.jntadr[b] + m.body.jntnum[b]):
            rate += m.jnt.axis[w, j] * d.state.qvel[w, m.jnt.dofadr[j]]
        rate = rotate(m.body.quat[w, b], rate)
    return rate


@wp.func
def node_place(m: Model, d: Data, w: int, n: int):
    """Where a node is in the frame it slides in; in the world if there is none."""
    p = m.size.nflexvert + n
    base = m.flex.point[p][5]
    x = wp.vec3()
    if base >= 0:
        x = slid_place(m, d, w, base, p)
    else:
        first = m.flex.point[p][3]
        b = m.flex.supportbody[first]
        place = m.flex.supportplace[w, first]
        x = d.pose.xpos[w, b] + d.pose.xmat[w, b] * wp.vec3(place[0], place[1], place[2])
    d.flex.node_place[w, n] = x


@wp.func
def node_rate(m: Model, d: Data, w: int, p: int, x: wp.vec3) -> wp.vec3:
    """The velocity of a node that is at x, by the axes of the frame it slides in, less that of the frame."""
    base = m.flex.point[p][5]
    v = wp.vec3()
    if base >= 0:
        spin = wp.transpose(d.pose.xmat[w, base]) * angular(d.vel.cvel[w, base])
        v = slid_rate(m, d, w, base, p) + wp.cross(spin, x)
    else:
        b = m.flex.supportbody[m.flex.point[p][3]]
        cvel = d.vel.cvel[w, b]
        v = linear(cvel) + wp.cross(angular(cvel), x - d.inertia.subtree_com[w, m.body.rootid[b]])
    return v


@wp.func
def cell_gradient(m: Model, d: Data, w: int, c: int) -> wp.mat33:
    """F in the middle of a cell."""
    cell = m.flex.cell[c]
    f = wp.mat33()
    for k in range(cell[2], cell[2] + cell[3]):
        node = m.flex.cell[m.size.nflexcell + k]
        g = wp.vec3(m.flex.elastic[w, node[2]], m.flex.elastic[w, node[2] + 1], m.flex.elastic[w, node[2] + 2])
        f += wp.outer(d.flex.node_place[w, node[1] - m.size.nflexvert], g)
    return with_normal(f, cell[4])


@wp.func
def with_normal(f: wp.mat33, axis: int) -> wp.mat33:
    """The gradient of a square with the normal its columns make as that across it; of a cell, axis -1, as it is."""
    found = 1.0 * f
    if axis >= 0:
        normal = wp.cross(column(f, (axis + 1) % 3), column(f, (axis + 2) % 3))
        for k in range(3):
            found[k, axis] = normal[k]
    return found


@wp.func
def kept_strain(m: Model, d: Data, w: int, c: int) -> wp.mat33:
    """The strain P that a cell keeps: xx, yy, zz, then twice xy, xz, yz; of a square so along its own two axes."""
    strain = wp.mat33()
    if m.size.nflexplastic > 0:
        at = m.flex.bodypoint[m.size.nflexplastic + m.size.nflexelem + 2 * m.size.nflexhinge + c]
        if at >= 0:
            strain = strain_matrix(d.state.plastic, w, at, m.flex.cell[c][4])
    return strain


@wp.func
def strain_matrix(plastic: wp.array2d(dtype=float), w: int, at: int, axis: int) -> wp.mat33:
    """A strain from its numbers, as kept_strain has them."""
    strain = wp.mat33()
    if axis >= 0:
        a = (axis + 1) % 3
        b = (axis + 2) % 3
        strain[a, a] = plastic[w, at]
        strain[b, b] = plastic[w, at + 1]
        strain[a, b] = 0.5 * plastic[w, at + 2]
        strain[b, a] = 0.5 * plastic[w, at + 2]
    else:
        for k in range(3):
            strain[k, k] = plastic[w, at + k]
            i = wp.max(0, k - 1)  # (0, 1) (0, 2) (1, 2)
            j = wp.min(2, k + 1)
            strain[i, j] = 0.5 * plastic[w, at + 3 + k]
            strain[j, i] = 0.5 * plastic[w, at + 3 + k]
    return strain


@wp.func
def cell_turn(m: Model, d: Data, w: int, c: int):
    """How one cell has turned from rest, in the frame its nodes slide in."""
    d.flex.cell_turn[w, c] = polar_rotation(cell_gradient(m, d, w, c))


@wp.func
def cell_shape(m: Model, d: Data, w: int, k: int):
    """Displacement and velocity of one node of a cell, turned back."""
    node = m.flex.cell[m.size.nflexcell + k]
    zero = m.flex.cell[m.size.nflexcell + m.flex.cell[node[0]][2]]
    back = wp.transpose(d.flex.cell_turn[w, node[0]])
    x = d.flex.node_place[w, node[1] - m.size.nflexvert]
    x0 = d.flex.node_place[w, zero[1] - m.size.nflexvert]
    rest = wp.vec3(m.flex.elastic[w, node[2] + 3], m.flex.elastic[w, node[2] + 4], m.flex.elastic[w, node[2] + 5])
    rate = node_rate(m, d, w, node[1], x) - node_rate(m, d, w, zero[1], x0)
    keeps = kept_strain(m, d, w, node[0]) * rest
    d.flex.cell_shape[w, k] = wp.spatial_vector(back * (x - x0) - rest - keeps, back * rate)


@wp.func
def cell_force(m: Model, d: Data, w: int, k: int):
    """Forces of a cell on one of its nodes, in the world: of its spring, then of its damper."""
    node = m.flex.cell[m.size.nflexcell + k]
    cell = m.flex.cell[node[0]]
    at = 4 * (m.size.nflexelem + m.size.nflexhinge) + k
    d.flex.part_force[w, at] = wp.spatial_vector()
    if cell[1] >= 0:
        turn = d.flex.cell_turn[w, node[0]]
        base = m.flex.point[node[1]][5]
        if base >= 0:
            turn = d.pose.xmat[w, base] * turn
        spring = wp.vec3()
        damper = wp.vec3()
        for a in range(3):
            row = cell[1] + (3 * (k - cell[2]) + a) * 3 * cell[3]
            for j in range(cell[3]):
                shape = d.flex.cell_shape[w, cell[2] + j]
                for b in range(3):
                    stiffness = m.flex.elastic[w, row + 3 * j + b]
                    spring[a] = spring[a] + stiffness * shape[b]
                    damper[a] = damper[a] + stiffness * shape[3 + b]
        damping = m.flex.number[w, cell[0]][1]
        d.flex.part_force[w, at] = wp.spatial_vector(turn * spring, damping * (turn * damper))
