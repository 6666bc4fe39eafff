"""Which nodes bear a place in an interpolated flex, and how much.

A place has coordinates in [0, 1]^3 of the lattice of nodes: those of a vertex are constant, those of a point of an
element are the barycentric mean of its vertices'. In the cell it is in, a node bears the product of three basis
functions. Nodes inside of a shell are borne by those on the boundary (cells.py): where of three axes some are moved to
an end, with the sign of transfinite interpolation.
"""

import warp as wp

from kinema.convex.flex.crease import basis
from kinema.convex.model import Model

ENDS = wp.constant(27)  # each axis stays, goes to its begin, or to its end


@wp.func
def bearer_count(m: Model, f: int) -> int:
    """How many nodes may bear a place of a flex; 0 where vertices are bodies."""
    order = wp.abs(m.flex.span[f][4])
    if order == 0:
        return 0
    return (order + 1) * (order + 1) * (order + 1) * wp.where(m.flex.span[f][4] < 0, ENDS, 1)


@wp.func
def vertex_coordinates(m: Model, w: int, v: int) -> wp.vec3:
    """Where a vertex is in the lattice: kept with the first of its supports, which bears nothing."""
    place = m.flex.supportplace[w, m.flex.point[v][3]]
    return wp.vec3(place[0], place[1], place[2])


@wp.func
def bearer(m: Model, f: int, x: wp.vec3, number: int):
    """One of the nodes that bear a place, as a point, and its share."""
    span = m.flex.span[f]
    order = wp.abs(span[4])
    shell = span[4] < 0
    local = number
    moved = int(0)
    if shell:
        local = number / ENDS
        moved = number % ENDS
    share = float(1.0)
    at = int(0)
    inner = bool(True)
    stays = bool(True)
    turns = int(0)
    blend = float(1.0)
    for axis in range(3):
        cells = span[5 + axis]
        cell = wp.clamp(int(wp.floor(x[axis] * float(cells))), 0, cells - 1)
        s = wp.clamp(x[axis] * float(cells) - float(cell), 0.0, 1.0)
        k = local / (order + 1) / (order + 1)
        end = moved / 9
        if axis == 1:
            k = local / (order + 1) % (order + 1)
            end = moved / 3 % 3
        if axis == 2:
            k = local % (order + 1)
            end = moved % 3
        share *= basis(order, k, s)
        last = cells * order
        place = cell * order + k
        inner = inner and place > 0 and place < last
        along = float(place) / float(last)
        if end > 0:
            stays = False
            turns += 1
            blend *= wp.where(end == 1, 1.0 - along, along)
            place = wp.where(end == 1, 0, last)
        at = at * (last + 1) + place
    if shell and inner:
        share *= wp.where(stays, 0.0, blend * wp.where(turns == 2, -1.0, 1.0))
    elif not stays:
        share = 0.0
    return span[8] + at, share
