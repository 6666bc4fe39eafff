"""What elastic flexes add to the metric of the discrete integrator (metric.py): (h^2 + h c) K, and the force -h K v.

K is the stiffness that the forces of elasticity.py and corotation.py have where the flex is now, without what could
make it indefinite,

    element    2 sum of K_ef s_e s_f d_e d_f'  +  sum of max(0, t_e) s_e s_e I     d: edge vectors, t: their tensions
               of Stable Neo-Hookean solids: neohookean.py
    hinge      B, unless it is negative: of obtuse triangles it may be
    cell       R K R'     squares of shells too; where they bend (crease.py) there is none
    bend       S'WS + 2 kt p p'   p: how twist changes with the vertices, κ / 2 |e| of both segments: rod.py

in blocks of 3 by 3 between the points of a part, and c is Rayleigh's damping; of a bend it multiplies S'DS instead. The
hinges of a rod's segments are tied by 2 kt, and stiffened by bending (rod_chain.py). MuJoCo has p p' in the metric, not
in the force, and so it is here. Rows belong to dofs: each gathers from
the parts that act on the points it moves, J_a' K_ab J_b, so nobody writes what another adds to. A body with three dofs
does its three rows at once.
"""

from __future__ import annotations

import warp as wp

from kinema.convex.data import Data
from kinema.convex.flex.element import edge_corners, kept, triangle_index
from kinema.convex.flex.neohookean import is_neo_hookean, neo_block
from kinema.convex.flex.rod import curvature, is_bendable, shape_slope
from kinema.convex.flex.rod_force import DAMPING, STIFFNESS, TWIST, bend_list, bend_span
from kinema.convex.jacobian import last_dof, point_motion
from kinema.convex.model import Model
from kinema.mujoco_enums import Disable


@wp.func
def is_end(ends: wp.vec2i, corner: int) -> float:
    """1 for the first end of an edge, -1 for the second, 0 for corners it does not touch."""
    return wp.where(ends[0] == corner, 1.0, wp.where(ends[1] == corner, -1.0, 0.0))


@wp.func
def element_block(m: Model, d: Data, w: int, e: int, a: int, b: int) -> wp.mat33:
    """K between two corners of an element."""
    corner = m.flex.elemvert[e]
    corners = wp.where(corner[3] >= 0, 4, 3)
    edges = wp.where(corners == 4, 6, 3)
    adr = m.flex.elemlist[e][2]
    sum = wp.mat33()
    for i in range(edges):
        ends = edge_corners(corners, i)
        sa = is_end(ends, a)
        if sa != 0.0:
            along = d.flex.vert_xpos[w, corner[ends[0]]] - d.flex.vert_xpos[w, corner[ends[1]]]
            turned = wp.vec3()
            for j in range(edges):
                other = edge_corners(corners, j)
                sb = is_end(other, b)
                if sb != 0.0:
                    stiffness = m.flex.elastic[w, adr + triangle_index(edges, i, j)]
                    span = d.flex.vert_xpos[w, corner[other[0]]] - d.flex.vert_xpos[w, corner[other[1]]]
                    turned += sb * stiffness * span
            sum += wp.outer((2.0 * sa) * along, turned)
            sb = is_end(ends, b)
            if sb != 0.0:
                tension = float(0.0)
                for j in range(edges):
                    edge = m.flex.elemlist[e][3 + j]
                    now = d.flex.edge_length[w, edge]
                    rest = m.flex.edgenumber[w, edge][0]
                    long = (now - rest) * (now + rest) - kept(m, d, w, e, j)
                    tension += m.flex.elastic[w, adr + triangle_index(edges, i, j)] * long
                sum += (sa * sb * wp.max(0.0, tension)) * wp.identity(n=3, dtype=float)
    return sum


@wp.func
def cell_block(m: Model, d: Data, w: int, k: int, b: int) -> wp.mat33:
    """K between a node of a cell and the b-th."""
    node = m.flex.cell[m.size.nflexcell + k]
    cell = m.flex.cell[node[0]]
    turn = d.flex.cell_turn[w, node[0]]
    base = m.flex.point[node[1]][5]
    if base >= 0:
        turn = d.pose.xmat[w, base] * turn
    block = wp.mat33()
    for r in range(3):
        row = cell[1] + (3 * (k - cell[2]) + r) * 3 * cell[3] + 3 * b
        for c in range(3):
            block[r, c] = -m.flex.elastic[w, row + c]
    return turn * block * wp.transpose(turn)


@wp.func
def twist_slope(kappa: wp.vec3, l0: float, l1: float, i: int) -> wp.vec3:
    """How the twist at a bend changes with its i-th vertex."""
    if i == 0:
        return -0.5 / l0 * kappa
    if i == 1:
        return (0.5 / l0 - 0.5 / l1) * kappa
    return 0.5 / l1 * kappa


@wp.func
def bend_block(
    m: Model, d: Data, w: int, b: int, i: int, j: int, spring: float, damper: float, twist: float
) -> wp.mat33:
    """What two vertices of a bend couple, for weights of its stiffness, of its damping, and of its twist."""
    pair = m.flex.rod[bend_list(m, b)][3] >= 0
    e0 = bend_span(m, d, w, b, 0)
    e1 = bend_span(m, d, w, b, 1)
    e2 = bend_span(m, d, w, b, 2)
    block = wp.mat33()
    sound = is_bendable(e0, e1)
    if pair:
        sound = sound and is_bendable(e1, e2)
    if sound:
        weight = spring * d.flex.bend[w, b, STIFFNESS] + damper * d.flex.bend[w, b, DAMPING]
        own = shape_slope(e0, e1, e2, pair, i)
        block = wp.transpose(own) * (weight * shape_slope(e0, e1, e2, pair, j))
        kt = twist * 2.0 * d.flex.bend[w, b, TWIST][1, 1]
        if kt > 0.0:
            kappa = curvature(e0, e1)
            l0 = wp.length(e0)
            l1 = wp.length(e1)
            block += wp.outer(kt * twist_slope(kappa, l0, l1, i), twist_slope(kappa, l0, l1, j))
    return block


@wp.func
def part_size(m: Model, at: int) -> int:
    """Points of the part that a corner is of: elastic.corners."""
    if at >= m.size.nflexbendpart and m.size.nflexbend > 0:
        return wp.where(m.flex.rod[bend_list(m, (at - m.size.nflexbendpart) / 4)][3] >= 0, 4, 3)
    hinges = 4 * m.size.nflexelem
    cells = hinges + 4 * m.size.nflexhinge
    if at >= cells:
        return m.flex.cell[m.flex.cell[m.size.nflexcell + at - cells][0]][3]
    if at >= hinges:
        return 4
    return wp.where(m.flex.elemvert[at / 4][3] >= 0, 4, 3)


@wp.func
def part_flex(m: Model, at: int) -> int:
    """The flex of the part that a corner is of."""
    if at >= m.size.nflexbendpart and m.size.nflexbend > 0:
        return m.flex.rod[bend_list(m, (at - m.size.nflexbendpart) / 4)][4]
    hinges = 4 * m.size.nflexelem
    cells = hinges + 4 * m.size.nflexhinge
    if at >= cells:
        return m.flex.cell[m.flex.cell[m.size.nflexcell + at - cells][0]][0]
    if at >= hinges:
        return m.flex.hinge[(at - hinges) / 4][4]
    return m.flex.elemlist[at / 4][0]


@wp.func
def part_point(m: Model, at: int, b: int) -> int:
    """The b-th point of the part that a corner is of."""
    if at >= m.size.nflexbendpart and m.size.nflexbend > 0:
        return m.flex.rod[bend_list(m, (at - m.size.nflexbendpart) / 4)][b]
    hinges = 4 * m.size.nflexelem
    cells = hinges + 4 * m.size.nflexhinge
    if at >= cells:
        return m.flex.cell[m.size.nflexcell + m.flex.cell[m.flex.cell[m.size.nflexcell + at - cells][0]][2] + b][1]
    if at >= hinges:
        return m.flex.hinge[(at - hinges) / 4][b]
    return m.flex.elemvert[at / 4][b]


@wp.func
def part_block(m: Model, d: Data, w: int, at: int, b: int) -> wp.mat33:
    """K between a corner and the b-th point of its part."""
    hinges = 4 * m.size.nflexelem
    cells = hinges + 4 * m.size.nflexhinge
    if at >= cells:
        return cell_block(m, d, w, at - cells, b)
    if at >= hinges:
        h = (at - hinges) / 4
        own = (at - hinges) % 4
        first = m.flex.hinge[h][5]
        stiff = m.flex.elastic[w, first + 4 * own + b]
        trace = float(0.0)
        for k in range(4):
            trace += m.flex.elastic[w, first + 5 * k]
        return wp.where(trace < 0.0, 0.0, stiff) * wp.identity(n=3, dtype=float)
    if is_neo_hookean(m, w, at / 4):
        return neo_block(d, w, at / 4, at % 4, b)
    return element_block(m, d, w, at / 4, at % 4, b)


@wp.func
def point_offset(m: Model, d: Data, w: int, p: int) -> wp.vec3:
    """Where a point that is part of a body is, from what cdof is about."""
    first = m.flex.point[p][3]
    b = m.flex.supportbody[first]
    place = m.flex.supportplace[w, first]
    x = d.pose.xpos[w, b] + d.pose.xmat[w, b] * wp.vec3(place[0], place[1], place[2])
    return x - d.inertia.subtree_com[w, m.body.rootid[b]]


@wp.func
def find_entry(m: Model, i: int, j: int) -> int:
    """Where entry (i, j) of the metric is."""
    low = m.dof.metric_rowadr[i]
    high = low + m.dof.metric_rownnz[i] - 1
    while low < high:
        middle = (low + high) / 2
        if m.dof.metric_colind[middle] < j:
            low = middle + 1
        else:
            high = middle
    return low


@wp.func
def add_block(
    m: Model, d: Data, w: int, i: int, rows: int, offset: wp.vec3, q: int, block: wp.mat33, pull: wp.mat33
):
    """Rows i to i + rows - 1 += what a block between a point at an offset and point q couples, and another shifts."""
    rate = wp.vec3()
    other = point_offset(m, d, w, q)
    j = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, m.flex.point[q][1])
    while j >= 0:
        motion = point_motion(d.inertia.cdof[w, j], other)
        rate += d.state.qvel[w, j] * motion
        force = block * motion
        for r in range(rows):
            if j <= i + r:
                at = find_entry(m, i + r, j)
                own = point_motion(d.inertia.cdof[w, i + r], offset)
                d.metric.value[w, at] = d.metric.value[w, at] + wp.dot(own, force)
        j = m.dof.parentid[j]
    force = pull * rate
    for r in range(rows):
        own = point_motion(d.inertia.cdof[w, i + r], offset)
        d.metric.shift[w, i + r] = d.metric.shift[w, i + r] - wp.dot(own, force)


@wp.func
def metric_flexes(m: Model, d: Data, w: int, i: int):
    """Rows of the metric, and of the force it shifts, += what elastic flexes add."""
    body = m.dof.bodyid[i]
    rows = int(1)
    if m.body.dofnum[body] == 3:
        rows = wp.where(i == m.body.dofadr[body], 3, 0)
    h = m.opt.timestep[w]
    springs = wp.where((m.opt.disableflags & Disable.SPRING) == 0, h, 0.0)
    dampers = wp.where((m.opt.disableflags & Disable.DAMPER) == 0, h, 0.0)
    creases = 4 * (m.size.nflexelem + m.size.nflexhinge) + m.size.nflexcellnode
    if rows > 0:
        for b in range(body, m.dof.bodyend[i]):
            for k in range(m.flex.bodypoint[b], m.flex.bodypoint[b + 1]):
                p = m.flex.bodypoint[k]
                offset = point_offset(m, d, w, p)
                first = m.flex.bodypoint[m.size.nbody]
                if p > 0:
                    first = m.flex.point[p - 1][2]
                for c in range(first, m.flex.point[p][2]):
                    at = m.flex.bodypoint[c]
                    bent = at >= m.size.nflexbendpart and m.size.nflexbend > 0
                    if at >= creases and not bent:
                        continue
                    damping = dampers * m.flex.number[w, part_flex(m, at)][1]
                    for n in range(part_size(m, at)):
                        block = wp.mat33()
                        pull = wp.mat33()
                        if bent:
                            bend = (at - m.size.nflexbendpart) / 4
                            own = (at - m.size.nflexbendpart) % 4
                            block = bend_block(m, d, w, bend, own, n, h * springs, damping, h * springs + damping)
                            pull = bend_block(m, d, w, bend, own, n, springs, 0.0, 0.0)
                        else:
                            stiffness = part_block(m, d, w, at, n)
                            block = (h * springs + damping) * stiffness
                            pull = springs * stiffness
                        add_block(m, d, w, i, rows, offset, part_point(m, at, n), block, pull)


@wp.func
def metric_turns(m: Model, d: Data, w: int, e: int):
    """The diagonal of the hinge of a segment, and the force it shifts, += what bending stiffens it by."""
    segment = m.flex.rod[m.size.nflexrod + e]
    i = segment[2]
    if i >= 0 and (m.opt.disableflags & Disable.SPRING) == 0:
        stiffness = float(0.0)
        if segment[5] >= 0:
            stiffness += d.flex.bend[w, segment[5], TWIST][0, 3]
        if segment[6] >= 0:
            stiffness += d.flex.bend[w, segment[6], TWIST][0, 2]
        h = m.opt.timestep[w]
        at = m.dof.metric_rowadr[i] + m.dof.metric_rownnz[i] - 1
        d.metric.value[w, at] = d.metric.value[w, at] + h * h * stiffness
        d.metric.shift[w, i] = d.metric.shift[w, i] - h * stiffness * d.state.qvel[w, i]


@wp.func
def metric_twists(m: Model, d: Data, w: int, e: int):
    """The row of the hinge of a segment, and the force it shifts, += what ties it to its neighbours."""
    segment = m.flex.rod[m.size.nflexrod + e]
    i = segment[2]
    if i >= 0:
        h = m.opt.timestep[w]
        springs = wp.where((m.opt.disableflags & Disable.SPRING) == 0, h, 0.0)
        dampers = wp.where((m.opt.disableflags & Disable.DAMPER) == 0, h, 0.0)
        for side in range(2):
            b = segment[5 + side]
            if b >= 0:
                bend = m.flex.rod[bend_list(m, b)]
                kt = 2.0 * m.flex.elastic[w, bend[5] + 8]
                weight = kt * (h * springs + dampers * m.flex.number[w, bend[4]][1])
                j = m.flex.rod[m.size.nflexrod + wp.where(side == 0, e - 1, e + 1)][2]
                at = m.dof.metric_rowadr[i] + m.dof.metric_rownnz[i] - 1
                d.metric.value[w, at] = d.metric.value[w, at] + weight
                rate = d.state.qvel[w, i]
                if j >= 0:
                    rate -= d.state.qvel[w, j]
                    if j < i:
                        at = find_entry(m, i, j)
                        d.metric.value[w, at] = d.metric.value[w, at] - weight
                d.metric.shift[w, i] = d.metric.shift[w, i] - springs * kt * rate
