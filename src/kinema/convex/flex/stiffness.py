"""What elastic flexes add to the metric of the discrete integrator (metric.py): (h^2 + h c) K, and the force -h K v.

K is the stiffness that the forces of elasticity.py and corotation.py have where the flex is now, without what could
make it indefinite,

    element    2 sum of K_ef s_e s_f d_e d_f'  +  sum of max(0, t_e) s_e s_e I     d: edge vectors, t: their tensions
    hinge      B
    cell       R K R'     squares of shells too; where they bend (crease.py) there is none

in blocks of 3 by 3 between the points of a part, and c is Rayleigh's damping. Rows belong to dofs: each gathers from
the parts that act on the points it moves, J_a' K_ab J_b, so nobody writes what another adds to. A body with three dofs
does its three rows at once.
"""

from __future__ import annotations

import warp as wp

from kinema.convex.data import Data
from kinema.convex.flex.elasticity import edge_corners, triangle_index
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
                    tension += m.flex.elastic[w, adr + triangle_index(edges, i, j)] * (now - rest) * (now + rest)
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
def part_size(m: Model, at: int) -> int:
    """Points of the part that a corner is of: elastic.corners."""
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
        return m.flex.elastic[w, m.flex.hinge[h][5] + 4 * own + b] * wp.identity(n=3, dtype=float)
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
    m: Model, d: Data, w: int, i: int, rows: int, offset: wp.vec3, q: int, block: wp.mat33, weight: float, pull: float
):
    """Rows i to i + rows - 1 += what a block between a point at an offset and point q couples, and shifts."""
    rate = wp.vec3()
    other = point_offset(m, d, w, q)
    j = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, m.flex.point[q][1])
    while j >= 0:
        motion = point_motion(d.inertia.cdof[w, j], other)
        rate += d.state.qvel[w, j] * motion
        force = weight * (block * motion)
        for r in range(rows):
            if j <= i + r:
                at = find_entry(m, i + r, j)
                own = point_motion(d.inertia.cdof[w, i + r], offset)
                d.metric.value[w, at] = d.metric.value[w, at] + wp.dot(own, force)
        j = m.dof.parentid[j]
    force = pull * (block * rate)
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
                    if at >= creases:
                        continue
                    weight = h * springs + dampers * m.flex.number[w, part_flex(m, at)][1]
                    for n in range(part_size(m, at)):
                        block = part_block(m, d, w, at, n)
                        add_block(m, d, w, i, rows, offset, part_point(m, at, n), block, weight, springs)
