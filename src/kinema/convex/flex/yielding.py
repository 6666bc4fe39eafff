"""Flexes that yield: elements stretched, and hinges bent, beyond what they bear keep a part of it (return mapping).

Cells of interpolated flexes: cell_yielding.py.

Elements. With the squares of rest lengths g, the elastic part e = s - g - p of the squares of lengths s, p being what
is kept, and the stiffness K between edges (elasticity.py), the part that changes size is a g, a = g'Ke / g'Kg, and the
rest r = e - a g changes shape. In Saint Venant-Kirchhoff's material r'Kr = 4 μV |dev E|^2, so the equivalent strain is

    q = sqrt(2/3 r'Kr / 4 μV + a^2)     a: only of triangles, and only where they grow, for they thin out then

and where q exceeds the yield y, p grows by (1 - y / q) times r, of triangles plus a g. Of tetrahedra p is then made to
keep the volume: p = r_p + (u - 1) g with the root u of det(r_p + u g) = det g, det being Gram's determinant. μV follows
from the trace of the stiffness as a map of strains, tr, for which shapes count n - 1 times and sizes once:

    μV = (tr - g'Kg / dim) / (n - 1)

Hinges. A hinge is bent by θ, of which it keeps θ_p, tan θ_p = -l (b + p) / B_23 with its rest number b and stiffness B.
It bears a curvature of 2 yield / thickness, times the mean height of its triangles; what θ - θ_p exceeds that by is
kept.

Both look at where vertices will be when the step is over.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from kinema.convex.bundle import vec6
from kinema.convex.data import Data
from kinema.convex.flex.cell_yielding import yield_cell
from kinema.convex.flex.edges import common_base, point_rate, span_between
from kinema.convex.flex.elastic import has_yielding_cells, has_yielding_mesh
from kinema.convex.flex.element import edge_corners, triangle_index
from kinema.convex.flex.gram import gram, gram_slope
from kinema.convex.model import Model
from kinema.convex.stage import Stage
from kinema.mujoco_enums import MINVAL

MOST = wp.constant(1.3)  # radians that a hinge may keep
LEAST = wp.constant(-0.99)  # of the square of an edge that may be lost


@wp.func
def next_span(m: Model, d: Data, w: int, v1: int, v2: int) -> wp.vec3:
    """From one vertex to another when the step is over: slides have moved already, other bodies have not."""
    span = span_between(m, d, w, v1, v2)
    if common_base(m, v1, v2) < 0:
        one = point_rate(m, d, w, m.flex.point[v1][1], d.flex.vert_xpos[w, v1])
        two = point_rate(m, d, w, m.flex.point[v2][1], d.flex.vert_xpos[w, v2])
        span += m.opt.timestep[w] * (two - one)
    return span


@wp.func
def isochoric(part: vec6, rest: vec6) -> float:
    """u of det(part + u rest) = det rest: the largest root of a cubic without a square."""
    c3 = gram(rest)
    u = float(1.0)
    if c3 > 0.0:
        square = wp.max(0.0, -wp.dot(gram_slope(part), rest) / (3.0 * c3))
        if square > MINVAL:
            size = wp.sqrt(square)
            r = (c3 - gram(part)) / (2.0 * c3 * size * square)
            if r >= 1.0:
                root = wp.pow(r + wp.sqrt(wp.max(0.0, r * r - 1.0)), 1.0 / 3.0)
                u = size * (root + 1.0 / root)
            else:
                u = 2.0 * size * wp.cos(wp.acos(wp.max(-1.0, r)) / 3.0)
    return u


@wp.func
def face_trace(m: Model, w: int, adr: int, edges: int, g: vec6, a: int, b: int, c: int) -> float:
    """What the angles of a face add to the trace."""
    ab = g[a] + g[b] - g[c]
    ac = g[a] + g[c] - g[b]
    bc = g[b] + g[c] - g[a]
    kab = m.flex.elastic[w, adr + triangle_index(edges, a, b)]
    kac = m.flex.elastic[w, adr + triangle_index(edges, a, c)]
    kbc = m.flex.elastic[w, adr + triangle_index(edges, b, c)]
    return 0.5 * (ab * ab * kab + ac * ac * kac + bc * bc * kbc)


@wp.func
def strain_trace(m: Model, w: int, adr: int, edges: int, g: vec6) -> float:
    """tr."""
    sum = float(0.0)
    for a in range(edges):
        sum += g[a] * g[a] * m.flex.elastic[w, adr + triangle_index(edges, a, a)]
    sum += face_trace(m, w, adr, edges, g, 0, 1, 2)
    if edges == 6:
        sum += face_trace(m, w, adr, edges, g, 0, 4, 5)
        sum += face_trace(m, w, adr, edges, g, 1, 3, 5)
        sum += face_trace(m, w, adr, edges, g, 2, 3, 4)
        for k in range(3):  # edges that do not meet
            other = (k + 1) % 3
            last = (k + 2) % 3
            apart = g[other] + g[other + 3] - g[last] - g[last + 3]
            sum += 0.5 * apart * apart * m.flex.elastic[w, adr + triangle_index(edges, k, k + 3)]
    return sum


@wp.func
def yield_element(m: Model, d: Data, w: int, item: int):
    """What one element keeps."""
    at = m.flex.bodypoint[m.size.nflexplastic + item]
    if at >= 0:
        adr = m.flex.elemlist[item][2]
        corner = m.flex.elemvert[item]
        corners = wp.where(corner[3] >= 0, 4, 3)
        edges = wp.where(corners == 4, 6, 3)
        limit = wp.max(0.0, m.flex.number[w, m.flex.elemlist[item][0]][2])
        g = vec6()
        e = vec6()
        p = vec6()
        for k in range(edges):
            ends = edge_corners(corners, k)
            span = next_span(m, d, w, corner[ends[0]], corner[ends[1]])
            rest = m.flex.edgenumber[w, m.flex.elemlist[item][3 + k]][0]
            length = wp.length(span)
            p[k] = d.state.plastic[w, at + k]
            g[k] = rest * rest
            e[k] = (length - rest) * (length + rest) - p[k]
        pull = vec6()
        press = vec6()
        for i in range(edges):
            for j in range(edges):
                stiffness = m.flex.elastic[w, adr + triangle_index(edges, i, j)]
                pull[i] = pull[i] + stiffness * e[j]
                press[i] = press[i] + stiffness * g[j]
        size = wp.dot(g, press)
        if wp.abs(size) > MINVAL:
            growth = wp.dot(g, pull) / size
            shape = e - growth * g
            shear = (strain_trace(m, w, adr, edges, g) - size / float(corners - 1)) / float(edges - 1)
            if shear > MINVAL:
                wide = wp.where(corners == 3, wp.max(0.0, growth), 0.0)
                square = wp.max(0.0, wp.dot(shape, pull - growth * press) / (4.0 * shear))
                strain = wp.sqrt(2.0 * square / 3.0 + wide * wide)
                if strain > limit:
                    scale = 1.0 - limit / strain
                    p += scale * (shape + wide * g)
                    if corners == 4:
                        p -= (wp.dot(press, p) / size) * g
                        p += (isochoric(p, g) - 1.0) * g
                    for k in range(edges):
                        d.state.plastic[w, at + k] = wp.max(p[k], LEAST * g[k])


@wp.func
def yield_hinge(m: Model, d: Data, w: int, h: int):
    """What one hinge keeps."""
    place = m.size.nflexplastic + m.size.nflexelem + h
    at = m.flex.bodypoint[place]
    hinge = m.flex.hinge[h]
    adr = hinge[5]
    b23 = m.flex.elastic[w, adr + 11]
    most = m.flex.number[w, hinge[4]][3]
    if at >= 0 and b23 > MINVAL and most >= 0.0:
        along = next_span(m, d, w, hinge[0], hinge[1])
        one = next_span(m, d, w, hinge[0], hinge[2])
        two = next_span(m, d, w, hinge[0], hinge[3])
        other = wp.cross(two, along)
        normal = wp.cross(along, one)
        areas = wp.vec2(wp.length(normal), wp.length(other))
        length = m.flex.edgenumber[w, m.flex.bodypoint[place + m.size.nflexhinge]][0]
        if areas[0] * areas[1] > MINVAL and length > MINVAL:
            bend = wp.atan2(wp.dot(two, normal) * length, wp.dot(other, normal))
            limit = 0.5 * (areas[0] + areas[1]) / length * most
            rest = m.flex.elastic[w, adr + 16]
            keeps = wp.atan2(-(rest + d.state.plastic[w, at]) * length, b23)
            if wp.abs(bend - keeps) > limit:
                keeps = wp.clamp(bend - wp.sign(bend - keeps) * limit, -MOST, MOST)
                d.state.plastic[w, at] = -(b23 / length) * wp.tan(keeps) - rest


def stages(m: Any) -> list[Stage]:
    """What flexes keep of a step: elements and hinges of meshes, and cells."""
    own: dict[str, Any] = {"own": ("plastic",), "apart": ("plastic",)}
    found = []
    if has_yielding_mesh(m):
        found += [Stage(yield_element, over="nflexelem", **own), Stage(yield_hinge, over="nflexhinge", **own)]
    if has_yielding_cells(m):
        found += [Stage(yield_cell, over="nflexcell", **own)]
    return found
