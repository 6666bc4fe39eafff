"""Which bodies bear one side of a contact that is of a flex, and each how much of it.

    vertex              the body of the vertex
    element             bodies of its corners, by how near each is to the contact (collide/simplex.py)
    interpolated flex   bodies of the nodes around the contact (flex/interpolation.py)
    segment of a rod    the two at its ends, and the hinge it turns by, where it has one
"""

import warp as wp

from kinema.collide.precision import mat43r, vec3r
from kinema.collide.simplex import nearest_weights
from kinema.convex.data import Data
from kinema.convex.flex.interpolation import bearer, bearer_count, vertex_coordinates
from kinema.convex.model import Model


@wp.func
def side_vertices(m: Model, d: Data, w: int, c: int, side: int) -> wp.vec4i:
    """The vertices, over all flexes, that one side of a contact is of; -1: none."""
    f = d.fcon.flex[w, c][side]
    none = wp.vec4i(-1, -1, -1, -1)
    if f < 0:
        return none
    v = d.fcon.vert[w, c][side]
    if v >= 0:
        return wp.vec4i(m.flex.span[f][0] + v, -1, -1, -1)
    return m.flex.elemvert[m.flex.span[f][2] + d.fcon.elem[w, c][side]]


@wp.func
def side_weights(m: Model, d: Data, w: int, c: int, corners: wp.vec4i) -> wp.vec4:
    """How much of a contact each of those vertices bears: the weights of the point of their element that is nearest.

    In doubles: which face of a tetrahedron is nearest hangs on squares of distances, and floats lose shares below 1e-4
    there. Such a share may be all that moves, beside a pinned vertex; a row weighs as much as it is small.
    """
    x = mat43r()
    n = int(0)
    for k in range(4):
        if corners[k] >= 0:
            x[k] = vec3r(d.flex.vert_xpos[w, corners[k]]) - vec3r(d.con.pos[w, c])
            n += 1
    return wp.vec4(nearest_weights(n, x))


@wp.func
def side_coordinates(m: Model, w: int, corners: wp.vec4i, share: wp.vec4) -> wp.vec3:
    """Where in the lattice of an interpolated flex a contact is."""
    x = wp.vec3()
    for k in range(4):
        if corners[k] >= 0:
            x += share[k] * vertex_coordinates(m, w, corners[k])
    return x


@wp.func
def bearers(m: Model, f: int) -> int:
    """How many bodies may bear one side of a contact: those of the corners, or of the nodes around it."""
    return wp.max(4, bearer_count(m, f))


@wp.func
def bearing(m: Model, f: int, corners: wp.vec4i, share: wp.vec4, x: wp.vec3, k: int):
    """One of those bodies, and its share; 0 where there is none."""
    body = int(0)
    part = float(0.0)
    if m.flex.span[f][4] != 0:
        node, part = bearer(m, f, x, k)
        body = m.flex.point[node][1]
    elif corners[k] >= 0:
        body = m.flex.point[corners[k]][1]
        part = share[k]
    return body, part


@wp.func
def is_corner(m: Model, f: int, corners: wp.vec4i, k: int) -> bool:
    """Is a bearer a vertex of the element itself, whatever its share?"""
    return m.flex.span[f][4] == 0 and k < 4 and corners[wp.min(k, 3)] >= 0


@wp.func
def side_segment(m: Model, d: Data, w: int, c: int, side: int) -> int:
    """The segment of a rod that turns, of which one side of a contact is; -1: it is none."""
    f = d.fcon.flex[w, c][side]
    if f < 0 or m.size.nflexsegment == 0:
        return -1
    v = d.fcon.vert[w, c][side]
    if v >= 0:
        return -2 - m.flex.point[m.flex.span[f][0] + v][6]
    if m.flex.elemlist[m.flex.span[f][2] + d.fcon.elem[w, c][side]][2] >= 0:
        return -1
    return m.flex.elemlist[m.flex.span[f][2] + d.fcon.elem[w, c][side]][3]


@wp.func
def turning_segment(m: Model, d: Data, w: int, c: int, side: int) -> int:
    """The segment that bears one side of a contact with its turn; -1: none does, as where both ends are of one body."""
    e = side_segment(m, d, w, c, side)
    if e >= 0:
        segment = m.flex.rod[m.size.nflexrod + e]
        if m.flex.point[segment[0]][1] == m.flex.point[segment[1]][1]:
            return -1
    return e
