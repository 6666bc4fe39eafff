"""Where the vertices of flexes are, and the boxes around their elements.

    x = sum of w_k (x_b + R_b p_k)     over the supports (b, w, p) of the vertex: tables.py
"""

import warp as wp

from kinema.convex.bundle import vec6
from kinema.convex.data import Data
from kinema.convex.flex.section import section_of
from kinema.convex.model import Model


@wp.func
def vertex_position(m: Model, d: Data, w: int, v: int):
    """flexvert_xpos of one vertex."""
    x = wp.vec3()
    point = m.flex.point[v]
    for k in range(point[3], point[4]):
        b = m.flex.supportbody[k]
        place = m.flex.supportplace[w, k]
        at = d.pose.xpos[w, b]
        if place[0] != 0.0 or place[1] != 0.0 or place[2] != 0.0:  # most nodes are at the origin of their bodies
            at += d.pose.xmat[w, b] * wp.vec3(place[0], place[1], place[2])
        x += place[3] * at
    d.flex.vert_xpos[w, v] = x


@wp.func
def element_box(m: Model, d: Data, w: int, e: int):
    """flexelem_aabb of one element: centre and half size, the radius included, or that around a box section."""
    corners = m.flex.elemvert[e]
    low = d.flex.vert_xpos[w, corners[0]]
    high = low
    for k in range(1, 4):
        if corners[k] >= 0:
            x = d.flex.vert_xpos[w, corners[k]]
            low = wp.min(low, x)
            high = wp.max(high, x)
    radius = wp.length(section_of(m, w, e))
    if radius == 0.0:
        radius = m.flex.number[w, m.flex.elemlist[e][0]][0]
    half = 0.5 * (high - low) + wp.vec3(radius)
    center = 0.5 * (high + low)
    d.flex.elem_aabb[w, e] = vec6(center[0], center[1], center[2], half[0], half[1], half[2])
