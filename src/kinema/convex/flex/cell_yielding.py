"""Interpolated flexes that yield: cells strained beyond what they bear keep a part of it (return mapping).

A cell has one strain, that of its middle: ε = S - I - P with F = R S (corotation.py) and what it keeps, P. Its deviator
D = ε - tr ε / n I changes shape, n = 3 of cells and 2 of the squares of shells, and the equivalent strain is

    q = sqrt(2/3 |D|^2 + a^2)      a: 0 of cells; of squares tr ε / 2 where they grow, for they thin out then

Where q exceeds the yield y, P grows by (1 - y / q) (D + a I), but not beyond |P| = 0.35. Cells look at where nodes will
be when the step is over.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.flex.corotation import polar_rotation, strain_matrix, with_normal
from kinema.convex.flex.edges import point_rate, slid_place
from kinema.convex.model import Model

MOST = wp.constant(0.35)  # that a cell may keep


@wp.func
def returned(strain: wp.mat33, keeps: wp.mat33, axis: int, limit: float) -> wp.mat33:
    """What is kept of a strain, of which so much is kept already; of a square, axis >= 0, it lies in its plane."""
    one = wp.identity(n=3, dtype=float)
    elastic = strain - keeps
    share = float(1.0 / 3.0)
    if axis >= 0:
        share = 0.5
        one[axis, axis] = 0.0
        for k in range(3):
            elastic[axis, k] = 0.0
            elastic[k, axis] = 0.0
    growth = share * wp.trace(elastic)
    shape = elastic - growth * one
    wide = wp.where(axis >= 0, wp.max(0.0, growth), 0.0)
    size = wp.sqrt(2.0 / 3.0 * wp.ddot(shape, shape) + wide * wide)
    found = 1.0 * keeps
    if size > limit:
        found += (1.0 - limit / size) * (shape + wide * one)
        length = wp.sqrt(wp.ddot(found, found))
        if length > MOST:
            found *= MOST / length
    return found


@wp.func
def next_place(m: Model, d: Data, w: int, p: int) -> wp.vec3:
    """Where a node is when the step is over: slides have moved already, other bodies have not."""
    base = m.flex.point[p][5]
    x = wp.vec3()
    if base >= 0:
        x = slid_place(m, d, w, base, p)
    else:
        x = d.flex.node_place[w, p - m.size.nflexvert]
        x += m.opt.timestep[w] * point_rate(m, d, w, m.flex.point[p][1], x)
    return x


@wp.func
def yield_cell(m: Model, d: Data, w: int, c: int):
    """What one cell keeps."""
    at = m.flex.bodypoint[m.size.nflexplastic + m.size.nflexelem + 2 * m.size.nflexhinge + c]
    if at >= 0:
        cell = m.flex.cell[c]
        axis = cell[4]
        f = wp.mat33()
        for k in range(cell[2], cell[2] + cell[3]):
            node = m.flex.cell[m.size.nflexcell + k]
            g = wp.vec3(m.flex.elastic[w, node[2]], m.flex.elastic[w, node[2] + 1], m.flex.elastic[w, node[2] + 2])
            f += wp.outer(next_place(m, d, w, node[1]), g)
        f = with_normal(f, axis)
        stretch = wp.transpose(polar_rotation(f)) * f
        strain = 0.5 * (stretch + wp.transpose(stretch)) - wp.identity(n=3, dtype=float)
        keeps = strain_matrix(d.state.plastic, w, at, axis)
        keeps = returned(strain, keeps, axis, wp.max(0.0, m.flex.number[w, cell[0]][2]))
        if axis >= 0:
            a = (axis + 1) % 3
            b = (axis + 2) % 3
            d.state.plastic[w, at] = keeps[a, a]
            d.state.plastic[w, at + 1] = keeps[b, b]
            d.state.plastic[w, at + 2] = 2.0 * keeps[a, b]
        else:
            for k in range(3):
                d.state.plastic[w, at + k] = keeps[k, k]
                d.state.plastic[w, at + 3 + k] = 2.0 * keeps[wp.max(0, k - 1), wp.min(2, k + 1)]
